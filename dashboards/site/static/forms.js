// Improves forms: asks before an action that cannot be undone, sends nothing twice, copies a secret.
import { say } from "./say.js";

for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    const asked = event.submitter?.dataset.confirm ?? form.dataset.confirm;
    if (asked && !confirm(asked)) {
      event.preventDefault();
      return;
    }
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
addEventListener("pageshow", () => { // coming back, a form may be sent again
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// Instants are shown and chosen in the reader's time, and sent in UTC; where a form asks for the time zone, it is filled in.
const { timeZone: zone } = new Intl.DateTimeFormat().resolvedOptions();
const asked = document.querySelector("input[name=zone]");
if (asked?.value === "UTC" && !document.querySelector("[role=alert]")) asked.value = zone;
const shifted = (at, minutes) => new Date(at.getTime() + minutes * 60_000).toISOString().slice(0, 19);
for (const field of document.querySelectorAll("input[type=datetime-local][name]")) {
  if (field.form.elements.zone) continue;
  const sent = Object.assign(document.createElement("input"), { type: "hidden", name: field.name, value: field.defaultValue, disabled: field.disabled });
  const at = new Date(`${field.defaultValue}Z`);
  field.removeAttribute("name");
  if (field.defaultValue) field.value = shifted(at, -at.getTimezoneOffset());
  field.addEventListener("input", () => { sent.value = field.value && shifted(new Date(field.value), 0); });
  field.after(sent);
  field.closest("fieldset").querySelector("legend").textContent = say("Dates, in your time (%(zone)s)", { zone });
}

for (const secret of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "second";
  button.textContent = say("Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(secret.textContent);
    button.textContent = say("Copied");
  });
  secret.after(" ", button);
}
const wrong = document.querySelector("[aria-invalid]"); // the field to correct, so that a reader can type at once
(wrong ?? document.querySelector("[role=alert]:not([hidden])"))?.scrollIntoView({ block: "center" });
wrong?.focus({ preventScroll: true });
const here = new URL(location);
if (here.searchParams.has("done")) { // said once, not whenever the page is loaded again
  here.searchParams.delete("done");
  history.replaceState(history.state, "", here);
}
