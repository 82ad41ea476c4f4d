// Improves forms: asks before an action that cannot be undone, sends nothing twice, copies a secret.
import { say } from "./say.js";

for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.confirm && !confirm(form.dataset.confirm)) {
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
document.querySelector("[role=alert]:not([hidden])")?.scrollIntoView({ block: "center" });
document.querySelector("[aria-invalid]")?.focus({ preventScroll: true }); // what to mend, for who types on
