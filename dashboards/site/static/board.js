// Shows the reader's own bots above a leaderboard, where they stay in sight: the place, name and rating of each.
import { say } from "./say.js";
import { bots, known, name } from "./who.js";

const place = document.getElementById("own-rows");

function rows(root, ids) {
  return ids.map((id) => root.querySelector(`#board th a[href="/bots/${id}"]`)?.closest("tr")).filter(Boolean);
}

function told(row) {
  const part = document.createElement("span");
  const link = row.querySelector("th a").cloneNode(true);
  part.append(`${row.cells[0].textContent.trim()}. `, link, ` ${row.querySelector("[data-elo]").textContent}`);
  return part;
}

async function begin() {
  await known;
  const ids = bots();
  if (!ids.length || !document.querySelector("#board table")) return;
  let found = rows(document, ids);
  if (!found.length) { // they are on another page of the leaderboard, or not ranked: search for the reader's name
    const answer = await fetch(`/seasons/${place.dataset.season}?q=${encodeURIComponent(name())}`);
    if (!answer.ok) return;
    found = rows(new DOMParser().parseFromString(await answer.text(), "text/html"), ids);
  }
  if (!found.length) return;
  place.replaceChildren(say("Yours:"), ...found.map(told));
  place.hidden = false;
}

if (place) begin().catch(() => {});
