// Pages that are the same for everyone are made without knowing the reader. Personal pages store the name in this
// browser, and the others show it from there, with the count of unread notices and the reader's bots, as of the last minute.
// The name identifies nobody to the server: only the session's cookie does.
import { say } from "./say.js";

const who = document.getElementById("who");
const inbox = document.getElementById("inbox");
const KEY = "name";
const UNREAD = "unread";
const BOTS = "bots";
const FRESH_MS = 60_000;
const MAY = "may"; // the pages of a role, such as "desk"
const KEPT = [KEY, UNREAD, BOTS, MAY];

function forget() {
  for (const key of KEPT) localStorage.removeItem(key);
}

function show(unread) {
  inbox.hidden = false;
  inbox.textContent = unread ? `${say("Inbox")} (${unread})` : say("Inbox");
}

function keep(unread) {
  localStorage.setItem(UNREAD, JSON.stringify({ unread, at: Date.now() }));
}

// The answer of a signed-in reader's own address, or null. Also null if another reader, or nobody, is signed in when it
// arrives. A session that ended elsewhere is noted.
async function own(address) {
  const reader = localStorage.getItem(KEY);
  const answer = await fetch(address, { headers: { Accept: "application/json" } });
  if (answer.status === 401 && localStorage.getItem(KEY) === reader) {
    forget();
    who.textContent = say("Sign in");
    inbox.hidden = true;
  }
  const told = answer.ok ? await answer.json() : null;
  return reader !== null && localStorage.getItem(KEY) === reader ? told : null;
}

async function ask() {
  const told = await own("/v1/inbox?limit=1");
  if (!told) return;
  keep(told.unread);
  show(told.unread);
  await learn();
}

async function learn() {
  const bots = await own("/v1/bots");
  if (bots) localStorage.setItem(BOTS, JSON.stringify(bots.items.map((bot) => bot.id)));
}

// What this browser remembers, or nothing: it may refuse to store anything.
function kept(key) {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

// The numbers of the reader's bots; none if nobody is signed in.
export function bots() {
  return JSON.parse(kept(BOTS) || "[]");
}

export function name() {
  return kept(KEY);
}

// Marks the rows of the reader's bots in the tables below `root`, and shows the links that the reader's role may follow.
export function mark(root) {
  const may = kept(MAY).split(" ");
  for (const link of root.querySelectorAll("[data-for]")) link.hidden = !may.includes(link.dataset.for);
  for (const id of bots()) {
    for (const link of root.querySelectorAll(`th a[href="/bots/${id}"]`)) link.closest("tr").classList.add("mine");
  }
}

// For an author of a match, moves the link to the page for its authors to the top.
function lead() {
  const note = document.getElementById("yours");
  const seats = [...document.querySelectorAll(".scoreline li")];
  const own = seats.filter((seat) => bots().some((id) => seat.querySelector(`a[href="/bots/${id}"]`)));
  if (!note || !own.length) return;
  const won = seats.filter((seat) => seat.classList.contains("won"));
  const plain = own.length > 1 || seats.length > 2 || won.length !== 1;
  const link = note.querySelector("a");
  link.textContent = plain ? say("Your bot played here: see how it went") : own[0] === won[0] ? say("Your bot won: see how") : say("Your bot lost: see why");
  note.replaceChildren(link);
  note.className = "";
  document.querySelector(".matchhead").append(note);
}

async function begin() {
  if (who.dataset.name !== undefined) {
    localStorage.setItem(KEY, who.dataset.name); // empty: nobody is signed in
    if (!who.dataset.name) for (const key of [UNREAD, BOTS, MAY]) localStorage.removeItem(key);
    else localStorage.setItem(MAY, who.dataset.may);
    if (inbox.dataset.unread !== undefined) keep(Number(inbox.dataset.unread));
    document.querySelector("form[action='/sign-out']")?.addEventListener("submit", forget); // at once: learning takes a while
    if (who.dataset.name && !localStorage.getItem(BOTS)) await learn();
  } else if (localStorage.getItem(KEY)) {
    who.textContent = localStorage.getItem(KEY);
    const known = JSON.parse(localStorage.getItem(UNREAD));
    show(known?.unread ?? 0);
    mark(document);
    if (!(Date.now() - known?.at < FRESH_MS && localStorage.getItem(BOTS))) await ask(); // a page left early learned no bots
    mark(document);
    lead();
  }
}

// Resolves when everything that this browser knows is shown.
export const known = begin().catch(() => { /* a browser that keeps nothing shows no name */ });
