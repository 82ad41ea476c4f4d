// The reader's own match: learns from the server when something has happened (or asks now and then), replaces the form
// by the next one, and extends the viewer move by move, so that the opponent's moves are seen. Moves are therefore sent
// without leaving the page. The form is a bar below the board, on which moves are made (play.js). The page also says
// when the reader has signed out in another tab.
import { attach } from "./play.js";
import { viewer } from "./replay.js";
import { say } from "./say.js";

const EVERY_MS = 3000; // where there is no stream
const MOVE_MS = 600; // how long each new move is shown
const MOST_MOVES = 6; // shown one after the other
const root = document.getElementById("table");
const turn = () => document.getElementById("turn");
const form = () => document.querySelector("form.move");
const token = (part) => part.querySelector("[name=csrf]")?.value; // it changes when the reader signs in again; none: there is no form
let shown = null;
let drawing = Promise.resolve();
let fetched = 0; // how often this page was
let over = false;

// Fetches an address; null if the server is away for a moment, or this browser's session is over.
async function asked(address) {
  const response = await fetch(address, { headers: { accept: "text/html" }, cache: "no-store" });
  if (response.redirected) signedOut();
  else if (response.status === 404) location.replace(location.pathname); // somebody else is signed in now
  return response.ok && !response.redirected ? response : null;
}

function signedOut() {
  if (document.getElementById("signed-out")) return;
  const said = document.createElement("p");
  const way = document.createElement("a");
  Object.assign(said, { id: "signed-out", className: "complaint" });
  said.setAttribute("role", "alert");
  Object.assign(way, { href: `/sign-in?next=${encodeURIComponent(location.pathname)}`, textContent: say("Sign in") });
  const [before, after] = say("You are signed out in this browser, but the match continues. %(link)s to play on.", { link: "\n" }).split("\n");
  said.append(before, way, after);
  turn().prepend(said);
}

async function draw() {
  const response = await asked(root.dataset.document);
  if (!response) return;
  const { match } = await response.json();
  if (!match || match.scenes.length === 0) return;
  if (shown) await grow(match);
  else {
    shown = await viewer(root, match);
    shown?.show(match.scenes.length - 1);
    shown?.part("stage").after(turn());
  }
  if (!shown) return;
  await attach(form(), shown);
  if (!form()) return;
  const stage = shown.part("stage");
  stage.style.scrollMarginBottom = `${form().offsetHeight + 8}px`;
  stage.scrollIntoView({ block: "nearest" });
}

// Counts down the reader's time as the server told it, because a browser's clock may be wrong.
function tick() {
  const clock = document.querySelector(".clock");
  if (!clock) return;
  clock.ends ??= performance.now() + 1000 * Number(clock.dataset.seconds);
  const left = Math.max(0, Math.round((clock.ends - performance.now()) / 1000));
  clock.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  clock.classList.toggle("fault", left < 60);
}

// Shows new moves one by one to a reader at the end; a reader who looks back, or prefers no motion, is left in peace.
// Returns whether all was shown.
async function grow(match) {
  const seen = shown.scenes.length - 1;
  const watches = shown.at === seen && !shown.timer && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  const newest = match.scenes.length - 1;
  shown.grow(match, false);
  if (!watches || newest <= seen) return false;
  shown.part("stage").scrollIntoView({ block: "nearest" });
  for (let at = Math.max(seen + 1, newest - MOST_MOVES); at <= newest; at += 1) {
    shown.show(at);
    if (at < newest) await new Promise((resolve) => { setTimeout(resolve, MOVE_MS); });
    if (shown.at !== at) return false; // somebody took the controls
  }
  return true;
}

async function renew(version) {
  if (version !== null && version === turn().dataset.version) return;
  const response = await asked(location.href);
  fetched += 1;
  if (response) await exchange(await response.text(), null);
}

// Replaces the form with that of a fetched page. `sent`: a form that must go because it was sent.
async function exchange(page, sent) {
  if (over) return; // the page is about to be reloaded
  const next = new DOMParser().parseFromString(page, "text/html");
  const wanted = next.getElementById("turn");
  if (!wanted) { // the record opens at its end, not at the move that was shown
    over = true;
    await last(next.getElementById("replay")?.dataset.document).catch(() => {});
    shown?.still();
    history.replaceState(null, "", location.pathname + location.search);
    location.reload();
    return;
  }
  if (wanted.dataset.version === turn().dataset.version && token(wanted) === token(turn()) && !turn().contains(sent)) return;
  const lost = turn().contains(document.activeElement) || document.activeElement === document.body;
  if (shown) wanted.querySelector("form.move")?.classList.add("waits"); // until the reader has seen what it answers
  turn().replaceWith(wanted);
  tick();
  if (shown) await attach(null, shown); // what is still drawn is the last form's
  try { await draw(); } finally { form()?.classList.remove("waits"); } // whatever the viewer lacks, a move can be made
  if (lost && (turn().contains(document.activeElement) || document.activeElement === document.body)) document.getElementById("your-turn")?.focus({ preventScroll: true });
}

// The events since the reader's last move, from the record at that address.
async function last(address) {
  if (!shown || !address) return;
  turn().querySelectorAll("form").forEach((form) => form.remove());
  await attach(null, shown);
  const response = await asked(address);
  if (response && await grow(await response.json())) await new Promise((resolve) => { setTimeout(resolve, MOVE_MS); });
}

// Fetches run one after the other: two at once could come back in the wrong order.
function soon(version) {
  drawing = drawing.then(() => renew(version)).catch(() => {});
}

// Sends a move. The browser itself shows any answer that is not this match's page with its next form or a complaint.
async function send(form, button) {
  const body = new URLSearchParams(new FormData(form, button));
  const before = fetched;
  const response = await fetch(form.action, { method: "POST", body, headers: { accept: "text/html" } }).catch(() => null);
  const ours = response?.ok && new URL(response.url).pathname === location.pathname;
  const page = ours ? await response.text().catch(() => null) : null; // the connection may be cut at any byte
  if (page !== null) {
    drawing = drawing.then(() => exchange(page, form)).catch(() => {});
    drawing = drawing.then(() => fetched !== before && renew(null)).catch(() => {}); // what was fetched meanwhile may be newer
    return;
  }
  form.dataset.sent = "plainly";
  form.requestSubmit(button);
}

// The page listens, not the form, because the form may be exchanged at any time.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.confirm && !confirm(form.dataset.confirm)) { event.preventDefault(); return; }
  if (form.dataset.sent === "plainly") return;
  const again = form.dataset.sent !== undefined;
  if (again || form.matches(".move")) event.preventDefault();
  form.dataset.sent = "yes";
  if (!again && form.matches(".move")) send(form, event.submitter);
});
addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent; });

function listen() {
  const stream = new EventSource(turn().dataset.events);
  stream.addEventListener("table", (event) => soon(event.data));
  stream.addEventListener("error", () => { if (stream.readyState === EventSource.CLOSED) setInterval(() => soon(null), EVERY_MS); });
}

if (root) {
  drawing = draw().catch(() => {});
  tick();
  setInterval(tick, 1000);
  listen();
  document.addEventListener("visibilitychange", () => { // in another tab somebody may have signed out, or in again
    if (document.visibilityState === "visible") soon(null);
  });
  document.querySelector("[role=alert]")?.scrollIntoView({ block: "center" });
}
