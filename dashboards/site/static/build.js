// Follows a build: its state and log, fetched every second (as often as a builder writes them), then the finished page.
import { say } from "./say.js";
import { plain } from "./text.js";

const EVERY_MS = 1000;
const build = document.getElementById("build");
const log = build.querySelector("[data-part=log]");
const state = document.querySelector("[data-part=state]");
build.querySelector("[data-part=wait]").textContent = say("This page follows the build.");

async function look() {
  const [version, told] = await Promise.all(["", "/log"].map(async (path) => {
    const response = await fetch(build.dataset.version + path, { cache: "no-store" });
    if (!response.ok) throw new Error(response.status);
    return response.json();
  }));
  if (version.state === "ready" || version.state === "broken") return location.reload();
  state.textContent = version.state === "building" ? say("building") : say("uploaded");
  state.className = `state ${version.state}`;
  const at = version.state === "building" && told.log.includes(build.dataset.trial) ? "trial" : version.state;
  for (const step of build.querySelectorAll("[data-step]")) {
    if (step.dataset.step === at) step.setAttribute("aria-current", "step");
    else step.removeAttribute("aria-current");
  }
  show(plain(told.log, "\n\t") || say("Nothing yet."));
}

// Existing text stays, with what a reader has marked in it; only new text is added (and read out).
function show(text) {
  const before = log.textContent;
  if (text === before) return;
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  if (text.startsWith(before)) log.append(text.slice(before.length));
  else log.textContent = text;
  if (atEnd) log.scrollTop = log.scrollHeight;
}

const follow = () => { if (document.visibilityState === "visible") look().catch(() => {}); };
follow();
setInterval(follow, EVERY_MS);
document.addEventListener("visibilitychange", follow);
