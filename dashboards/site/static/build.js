// Follows a build: its state and log, asked for every second, then the page as it stands when it is over.

const EVERY_MS = 1000;
const build = document.getElementById("build");
const log = build.querySelector("[data-part=log]");
const state = document.querySelector("[data-part=state]");
build.querySelector("[data-part=wait]").textContent = "This page follows the build.";

// Control and direction marks as text, like the server's filter `lines`.
const marks = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const plain = (text) => text.replace(marks, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);

async function look() {
  const [version, told] = await Promise.all(["", "/log"].map(async (path) => {
    const response = await fetch(build.dataset.version + path, { cache: "no-store" });
    if (!response.ok) throw new Error(response.status);
    return response.json();
  }));
  if (version.state === "ready" || version.state === "broken") return location.reload();
  state.textContent = version.state;
  state.className = `state ${version.state}`;
  for (const step of build.querySelectorAll("[data-step]")) {
    if (step.dataset.step === version.state) step.setAttribute("aria-current", "step");
    else step.removeAttribute("aria-current");
  }
  const text = plain(told.log) || "Nothing yet.";
  if (text !== log.textContent) {
    const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
    log.textContent = text;
    if (atEnd) log.scrollTop = log.scrollHeight;
  }
}

setInterval(() => { if (document.visibilityState === "visible") look().catch(() => {}); }, EVERY_MS);
