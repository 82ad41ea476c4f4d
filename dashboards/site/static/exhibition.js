// A match of one's own: hears from the server when something happened (or asks now and then), exchanges the form for the
// next one, and lets the viewer grow. Moves are made by the forms themselves, as without scripts.
import { viewer } from "./replay.js";

const EVERY_MS = 3000; // where there is no stream
const root = document.getElementById("table");
const turn = () => document.getElementById("turn");
let shown = null;
let drawing = Promise.resolve();

async function draw() {
  const response = await fetch(root.dataset.document, { cache: "no-store" });
  if (!response.ok) return;
  const { match } = await response.json();
  if (!match || match.scenes.length === 0) return;
  if (shown) { shown.grow(match, false); return; }
  shown = await viewer(root, match);
  shown?.show(match.scenes.length - 1);
}

async function renew(version) {
  if (version !== null && version === turn().dataset.version) return;
  const response = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store" });
  if (!response.ok) return;
  const wanted = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("turn");
  if (!wanted) { // it is over: the record opens at its end, not at the move that was shown
    shown?.still();
    history.replaceState(null, "", location.pathname + location.search);
    location.reload();
    return;
  }
  if (wanted.dataset.version === turn().dataset.version) return;
  const lost = turn().contains(document.activeElement) || document.activeElement === document.body;
  turn().replaceWith(wanted);
  if (lost) document.getElementById("your-turn")?.focus({ preventScroll: true });
  await draw();
}

// One after the other: a page that is fetched twice at once could come back in the wrong order.
function soon(version) {
  drawing = drawing.then(() => renew(version)).catch(() => {});
}

// The form may be exchanged at any time, so the page listens, not the form.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.confirm && !confirm(form.dataset.confirm)) { event.preventDefault(); return; }
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});
addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent; });

function listen() {
  const stream = new EventSource(turn().dataset.events);
  stream.addEventListener("table", (event) => soon(event.data));
  stream.addEventListener("error", () => { if (stream.readyState === EventSource.CLOSED) setInterval(() => soon(null), EVERY_MS); });
}

if (root) {
  drawing = draw().catch(() => {});
  listen();
  document.querySelector("[role=alert]")?.scrollIntoView({ block: "center" });
}
