// Matches inside a one-file page: unpacks the one that the address names and gives it to the viewer.
import { viewer } from "./replay.js";
import { make } from "./replay-draw.js";

const place = document.getElementById("watched");
let open = null;
let lines = null;

if (place) {
  addEventListener("hashchange", () => look());
  look();
}

function look() {
  const named = /^#game-(\d+)(-move-\d+)?$/.exec(location.hash);
  const number = named ? named[1] : open ? null : place.dataset.first;
  if (named && !named[2] && number === open) place.scrollIntoView();
  if (number && number !== open) watch(number).catch((error) => place.replaceChildren(make("p", "fault", `The game cannot be shown: ${error.message}`)));
}

async function watch(number) {
  const packed = document.getElementById(`kept-${number}`);
  if (!packed) throw new Error(`game ${number} is not in this file`);
  place.querySelector("[data-part=play][aria-pressed=true]")?.click(); // otherwise it would play on unseen
  open = number;
  const { match, exchanges } = await unpacked(packed.textContent);
  if (open !== number) return; // another was asked for meanwhile
  const root = document.getElementById("viewer").content.firstElementChild.cloneNode(true);
  if (lines) URL.revokeObjectURL(lines);
  lines = URL.createObjectURL(new Blob(exchanges.map((exchange) => `\n${JSON.stringify(exchange)}`)));
  root.dataset.transcript = lines;
  root.dataset.board = root.dataset.boards.split(" ").includes(match.game) ? match.game : "";
  const alone = place.dataset.first !== undefined;
  if (!alone) root.dataset.prefix = `game-${number}-`;
  const title = make("h3", "", `Game ${number}: ${match.names.join(" – ")}. ${match.scenes.at(-1).words}`);
  place.replaceChildren(...(alone ? [] : [title]), root);
  if (!await viewer(root, match)) place.append(told(match.scenes));
  if (alone) return;
  root.tabIndex = -1;
  root.focus({ preventScroll: true }); // its keys work at once
  place.scrollIntoView();
}

// Lists everything that happened in words, for games without pictures.
function told(scenes) {
  const list = make("ol");
  list.append(...scenes.map((scene) => make("li", scene.fault === null ? "" : "fault", scene.words)));
  return list;
}

// Decodes base64 of JSON compressed by zlib.
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (mark) => mark.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}
