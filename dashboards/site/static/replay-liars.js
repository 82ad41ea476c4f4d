// Liar's Dice: everybody around the table with their dice, the bids of the round in the middle.
import { die, make } from "./replay.js";

const NEWEST = 8; // bids that are shown: the box stays as high as the table

export function stage(place, match) {
  return {
    sights: true,
    draw(state, sight) {
      const table = make("div", `liars seats${match.names.length}`);
      match.names.forEach((name, seat) => table.append(player(state, name, seat, sight)));
      table.append(bids(state, match.names));
      place.replaceChildren(table);
    },
  };
}

function player(state, name, seat, sight) {
  const box = make("section", `seat ${state.turn === seat ? "turn" : ""} ${state.counts[seat] === 0 ? "out" : ""}`);
  box.append(make("h3", "", name));
  const hand = state.reveal ? state.reveal.hands[seat] : state.hands[seat];
  const seen = sight === null || sight === seat || state.reveal !== null;
  const row = make("span", "dice");
  const shown = hand.length ? hand : Array(state.counts[seat]).fill(null);
  row.append(...shown.map((face) => die(seen ? face : null, seen && counted(state.reveal, face) ? "hit" : "")));
  box.append(row);
  const lost = state.reveal && state.reveal.loser === seat ? " – loses a die" : "";
  const place = state.places[seat] === null ? `${state.counts[seat]} ${state.counts[seat] === 1 ? "die" : "dice"}${lost}` : `out, place ${state.places[seat]}`;
  box.append(make("p", "note", place));
  return box;
}

// Ones are wild, but not for a bid on ones.
function counted(reveal, face) {
  return reveal !== null && (face === reveal.face || (face === 1 && reveal.face !== 1));
}

function bids(state, names) {
  const box = make("section", "bids");
  box.append(make("h3", "", "Bids of this round"));
  const list = make("ol");
  const earlier = Math.max(0, state.bids.length - NEWEST);
  list.start = earlier + 1;
  if (earlier) box.append(make("p", "note", `The newest ${NEWEST} of ${state.bids.length}.`));
  for (const bid of state.bids.slice(earlier)) {
    const item = make("li", "", `${names[bid.seat]}: ${bid.quantity} × `);
    item.append(die(bid.face, "small"));
    list.append(item);
  }
  box.append(list);
  if (state.reveal) {
    const met = state.reveal.count >= state.reveal.quantity;
    box.append(make("p", met ? "met" : "fault", `${names[state.reveal.seat]} challenges: there are ${state.reveal.count}. ${met ? "The bid was right." : "The bid was a lie."}`));
  }
  return box;
}
