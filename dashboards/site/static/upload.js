// Sends a program with a progress bar, as text or as a file, chosen or dropped. Without this script, the form sends itself.
// A refused form comes back with its complaints; what was typed and chosen stays.
import { say } from "./say.js";

const form = document.querySelector("form[data-upload]");
const part = (name) => form.querySelector(`[data-part=${name}]`);
const file = () => form.elements.file;
const text = () => form.elements.program;
let typed = false;
let sending = false;

function rest() {
  sending = false;
  part("progress").hidden = true;
  part("hint").hidden = false;
  form.querySelector("button:not([type])").disabled = false;
  delete form.dataset.sent;
  choose();
}

function choose() { // which of both is sent
  text().disabled = file().files.length > 0;
  part("clear").hidden = !text().disabled;
}

function complain(words) {
  part("complaint").textContent = words;
  part("complaint").hidden = !words;
  rest();
}

function size(bytes) {
  return bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}

function tooLarge() {
  const [chosen] = file().files;
  const bytes = chosen ? chosen.size : new Blob([text().value]).size;
  const most = Number(chosen ? form.dataset.limit : form.dataset.textLimit);
  return bytes > most && say("%(file)s has %(size)s; at most %(most)s are accepted.", { file: chosen?.name ?? say("The text"), size: size(bytes), most: size(most) });
}

function send() {
  complain(tooLarge() || "");
  if (!part("complaint").hidden) return;
  sending = true;
  form.querySelector("button:not([type])").disabled = true;
  const [bar, said] = [form.querySelector("progress"), form.querySelector("output")];
  part("progress").hidden = false;
  const request = new XMLHttpRequest(); // fetch tells nothing of an upload's progress
  request.upload.addEventListener("progress", (event) => {
    bar.value = event.loaded / event.total;
    said.textContent = event.loaded < event.total ? say("%(part)s of %(whole)s", { part: size(event.loaded), whole: size(event.total) }) : say("looking at it …");
  });
  request.addEventListener("load", () => {
    if (!/\/versions\/\d+$/.test(request.responseURL)) return refused(new DOMParser().parseFromString(request.responseText, "text/html"), request.status);
    typed = false;
    location.assign(request.responseURL);
  });
  request.addEventListener("error", () => complain(say("The connection was lost. The file may be too large, or the server unavailable.")));
  request.open("POST", form.action);
  request.setRequestHeader("accept", "text/html");
  request.send(new FormData(form));
}

function refused(page, status) {
  const next = page.querySelector("form[data-upload]");
  if (!next && status === 200) return complain(say("You are signed out. Copy your program before you sign in again."));
  if (!next) return complain(page.querySelector("main p")?.textContent ?? say("The server answered %(status)s.", { status }));
  const [chosen, program] = [file().files, text().value];
  form.replaceChildren(...next.childNodes);
  file().files = chosen;
  text().value = program;
  rest();
  const wrong = form.querySelector("[aria-invalid]") ?? form.querySelector("[role=alert]:not([hidden])");
  wrong?.scrollIntoView({ block: "center" });
  wrong?.focus({ preventScroll: true });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!sending) send();
});
form.addEventListener("change", choose);
form.addEventListener("input", () => { typed = true; });
form.addEventListener("click", (event) => {
  if (event.target !== part("clear")) return;
  file().value = "";
  choose();
});
for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
  form.addEventListener(kind, (event) => {
    const over = kind === "dragenter" || kind === "dragover";
    if (![...event.dataTransfer.items].some((item) => item.kind === "file")) return; // marked text, which the field takes by itself
    part("drop").classList.toggle("over", over);
    if (kind !== "dragleave") event.preventDefault();
    if (kind !== "drop" || sending) return;
    if (event.dataTransfer.files.length !== 1) return complain(say("Please choose one file; zip several files first."));
    file().files = event.dataTransfer.files;
    complain("");
  });
}
addEventListener("beforeunload", (event) => { if (typed && !sending) event.preventDefault(); });
addEventListener("pageshow", rest);
rest();
