// Uploads with a progress bar, by choosing or by dropping a file. Without this script, the form sends itself.
import { say } from "./say.js";

const form = document.querySelector("form[data-upload]");
const part = (name) => form.querySelector(`[data-part=${name}]`);
const input = form.querySelector("input[type=file]");
const button = form.querySelector("button");
const token = document.querySelector("meta[name=csrf]").content;

function complain(text) {
  part("complaint").textContent = text;
  part("complaint").hidden = !text;
  part("progress").hidden = true;
  button.disabled = false;
  delete form.dataset.sent;
}

function size(bytes) {
  return bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}

function send(file) {
  if (file.size > Number(form.dataset.limit)) return complain(say("%(file)s has %(size)s; at most %(most)s are accepted.", { file: file.name, size: size(file.size), most: size(Number(form.dataset.limit)) }));
  complain("");
  button.disabled = true;
  const [bar, said] = [form.querySelector("progress"), form.querySelector("output")];
  part("progress").hidden = false;
  const request = new XMLHttpRequest(); // fetch tells nothing of an upload's progress
  request.upload.addEventListener("progress", (event) => {
    bar.value = event.loaded / event.total;
    said.textContent = event.loaded < event.total ? say("%(part)s of %(whole)s", { part: size(event.loaded), whole: size(event.total) }) : say("looking at it …");
  });
  request.addEventListener("load", () => {
    let answer = {};
    try { answer = JSON.parse(request.responseText); } catch { /* a proxy's own page */ }
    if (request.status === 202) location.assign(form.dataset.then + answer.number);
    else complain(answer.detail ?? say("The server answered %(status)s.", { status: request.status }));
  });
  request.addEventListener("error", () => complain(say("The connection was lost. The file may be too large, or the server unavailable.")));
  request.open("POST", form.dataset.upload);
  request.setRequestHeader("X-CSRF-Token", token);
  const body = new FormData();
  body.append("file", file);
  request.send(body);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (input.files.length && !button.disabled) send(input.files[0]);
});

const drop = part("drop");
part("hint").hidden = false;
for (const kind of ["dragenter", "dragover"]) {
  drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
}
for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  if (button.disabled) return; // one is on its way
  if (event.dataTransfer.files.length !== 1) return complain(say("Please choose one file; zip several files first."));
  input.files = event.dataTransfer.files;
  send(input.files[0]);
});
