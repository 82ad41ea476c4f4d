// Keeps a page current: when the server reports a new ranking (data-events), or else every few seconds, it fetches the
// page again and exchanges the parts that changed. The server answers 304 without a body while nothing did.

import { tell } from "./times.js";
import { mark } from "./who.js";

const EVERY_MS = 3000;
const SETTLED_MS = 1200; // for a second the server may still answer as it did before a new ranking
const LISTENING_EVERY_MS = 30000; // for what no new ranking announces: matches, announcements

let listening = null;
let asked = 0;

async function refresh() {
  asked = Date.now();
  const response = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-cache" });
  if (!response.ok) return;
  const next = new DOMParser().parseFromString(await response.text(), "text/html");
  tell(document, asked); // both as of now, so that only what changed differs
  const named = [...document.querySelectorAll("[data-live][id]")];
  for (const present of named.length ? named : [document.getElementById("live")]) {
    const wanted = next.getElementById(present.id);
    if (wanted) { tell(wanted, asked); mark(wanted); }
    if (wanted && wanted.innerHTML !== present.innerHTML) exchange(present, wanted);
    if (wanted?.dataset.events) present.dataset.events = wanted.dataset.events; // it names the ranking that is shown
  }
}

// Keeps what a reader has opened, scrolled to or focused.
function exchange(present, wanted) {
  const places = [...present.querySelectorAll(".scroll")].map((part) => [part.scrollLeft, part.scrollTop]);
  const open = [...present.querySelectorAll("details")].map((part) => part.open);
  const focused = present.contains(document.activeElement) ? document.activeElement : null;
  const way = focused && [focused.tagName, focused.getAttribute("href"), focused.getAttribute("aria-label")];
  present.replaceChildren(...wanted.childNodes);
  present.querySelectorAll(".scroll").forEach((part, index) => { [part.scrollLeft, part.scrollTop] = places[index] ?? [0, 0]; });
  present.querySelectorAll("details").forEach((part, index) => { part.open = open[index] ?? part.open; });
  if (!way) return;
  const same = [...present.querySelectorAll(way[0])].find(
    (one) => one.getAttribute("href") === way[1] && one.getAttribute("aria-label") === way[2]);
  same?.focus({ preventScroll: true });
}

// A browser allows few streams, so a hidden page has none.
function listen() {
  const address = document.querySelector("[data-events]")?.dataset.events;
  if (!address || listening || document.visibilityState !== "visible") return;
  listening = new EventSource(address);
  listening.addEventListener("snapshot", () => {
    setTimeout(() => refresh().catch(() => {}), SETTLED_MS * (1 + Math.random())); // nor do all readers ask at once
  });
  listening.addEventListener("error", () => { if (listening?.readyState === EventSource.CLOSED) listening = null; });
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") { listen(); refresh().catch(() => {}); return; }
  listening?.close();
  listening = null;
});

setInterval(() => {
  if (document.visibilityState !== "visible") return;
  if (Date.now() - asked >= (listening?.readyState === EventSource.OPEN ? LISTENING_EVERY_MS : EVERY_MS)) refresh().catch(() => {});
}, EVERY_MS);
asked = Date.now();
listen();
