// A running match: asks for its news every two seconds (304 while there are none), shows the newest move to readers at
// the end, and becomes the page of the finished match when it is over.
import { viewer } from "./replay.js";

const EVERY_MS = 2000;
const root = document.getElementById("live-match");
const told = document.getElementById("told");
let shown = null;
let voids = 0;
let etag = null;

async function look() {
  const response = await fetch(root.dataset.document, { headers: etag ? { "if-none-match": etag } : {}, cache: "no-store" });
  if (response.status === 304 || !response.ok) return;
  etag = response.headers.get("etag");
  const news = await response.json();
  if (news.ends) { location.reload(); return; }
  if (told.textContent !== news.told) told.textContent = news.told;
  if (!news.match || news.match.scenes.length === 0) return;
  if (shown === null) {
    shown = await viewer(root, news.match);
    shown?.show(news.match.scenes.length - 1);
  } else shown.grow(news.match, news.voids !== voids);
  voids = news.voids;
}

async function watch() {
  if (document.visibilityState === "visible") await look().catch(() => {});
  setTimeout(watch, EVERY_MS);
}

if (root) watch();
