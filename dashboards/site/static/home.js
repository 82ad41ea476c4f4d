// The moving parts of the home page. First, it shows signed-in readers how their bots are doing, from their own page. Then it
// plays the match at the top while that is in sight, and begins again after its end; readers who prefer less motion
// press Play. The viewer is that of a match's page; here it names no move in the address and takes no keys that scroll.
import { viewer } from "./replay.js";
import { tell } from "./times.js";
import { known, name } from "./who.js";

const TAIL = 40; // scenes from the end at which it begins, but never in the first third: an empty board tells little
const AGAIN_MS = 6000;

const root = document.getElementById("featured");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let stopped = false; // by the reader

async function begin() {
  const answer = await fetch(root.dataset.document);
  if (!answer.ok) return;
  const shown = await viewer(root, await answer.json());
  if (!shown) return;
  shown.still();
  shown.name = () => {};
  shown.meant = (target) => root.contains(target);
  const scenes = shown.scenes.length;
  const first = Math.max(Math.ceil(scenes / 3), scenes - TAIL);
  shown.show(first);
  root.addEventListener("click", () => { stopped = true; });
  if (calm.matches) return;
  let ended = 0;
  new IntersectionObserver(([{ isIntersecting }]) => {
    if (isIntersecting && !stopped && !shown.timer) shown.play();
    if (!isIntersecting && shown.timer) shown.pause();
  }, { threshold: 0.3 }).observe(root);
  setInterval(() => {
    if (stopped || shown.timer || shown.at < shown.scenes.length - 1 || document.visibilityState !== "visible") ended = 0;
    else if ((ended += 1000) >= AGAIN_MS) { ended = 0; shown.show(first); shown.play(); }
  }, 1000);
}

async function own() {
  await known;
  const place = document.getElementById("own");
  if (!name() || !place) return;
  const answer = await fetch("/mine", { headers: { accept: "text/html" } });
  if (!answer.ok || answer.redirected) return; // to sign in
  const mine = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("mine");
  tell(mine);
  place.replaceChildren(mine);
  place.hidden = false;
}

own().catch(() => {});
if (root) begin().catch(() => { root.hidden = true; }); // the result stands above it
