// Liar's Dice: everybody around a table with a cup over their dice, and on the table the bid with its odds.
import { box, die, drawn, make, percent } from "/static/replay-draw.js";
import { say } from "/static/say.js";

const NEWEST = 10; // bids shown, so that the table keeps its height

export function stage(place, match) {
  return {
    sights: true,
    draw(state, sight) {
      const seats = match.names.length;
      const table = make("div", `liars seats${seats}`);
      const across = Math.ceil(seats / 2);
      const chair = (seat) => player(state, match.names[seat], seat, sight);
      const far = [...Array(across).keys()];
      const near = [...Array(seats - across).keys()].map((step) => seats - 1 - step); // the other way: around the table
      table.append(box("div", "side", ...far.map(chair)), felt(state, match.names, sight), box("div", "side", ...near.map(chair)));
      place.replaceChildren(table);
    },
  };
}

function player(state, name, seat, sight) {
  const out = state.counts[seat] === 0 && !(state.reveal?.hands[seat].length > 0);
  const bidding = state.bids.at(-1)?.seat === seat;
  const chair = make("section", `chair seat${seat}${state.turn === seat ? " turn" : ""}${out ? " out" : ""}${bidding ? " bidder" : ""}`);
  chair.dataset.seat = seat;
  const hand = state.reveal ? state.reveal.hands[seat] : state.hands[seat];
  const seen = sight === null || sight === seat || state.reveal !== null;
  const shown = hand.length ? hand : Array(state.counts[seat]).fill(null);
  const bid = state.reveal ?? state.bids.at(-1);
  const row = make("span", "dice");
  row.append(...shown.map((face) => die(seen ? face : null, seen && bid && counts(face, bid.face) ? "hit" : "")));
  const hidden = shown.length > 0 && (!seen || hand.length === 0);
  const cup = hidden ? "covers" : state.reveal && shown.length ? "lifted" : "peeked";
  const hands = box("div", "hand", row, ...(out ? [] : [cover(cup)]));
  hands.style.setProperty("--dice", shown.length);
  chair.append(box("header", "", make("h3", "", name), make("span", "note", standing(state, seat))), hands);
  return chair;
}

function cover(how) {
  const shapes = [drawn("path", { d: "M20 4Q60 -2 100 4L118 38Q60 46 2 38Z" }), drawn("path", { class: "rim", d: "M4 33Q60 41 116 33" })];
  return drawn("svg", { class: `cup ${how}`, viewBox: "0 0 120 44", preserveAspectRatio: "none", "aria-hidden": "true" }, shapes);
}

function revealed(count, met) {
  if (count === 1) return met ? say("There is 1: it is true.") : say("There is 1: a lie.");
  return met ? say("There are %(count)s: it is true.", { count }) : say("There are %(count)s: a lie.", { count });
}

function standing(state, seat) {
  if (state.places[seat] !== null) return say("out, place %(place)s", { place: state.places[seat] });
  const left = state.counts[seat] === 1 ? say("1 die") : say("%(count)s dice", { count: state.counts[seat] });
  return state.reveal?.loser === seat ? `${left} (−1)` : left;
}

// Ones are wild, but not for a bid on ones.
function counts(face, bid) {
  return face !== null && (face === bid || face === 1);
}

function felt(state, names, sight) {
  const middle = make("section", "felt");
  const bid = state.bids.at(-1);
  const claim = make("p", "claim");
  const odds = make("ul", "odds");
  if (bid) claim.append(make("strong", `seat${bid.seat}`, names[bid.seat]), ` ${say("bids %(quantity)s ×", bid)} `, die(bid.face));
  else claim.append(say("No bid yet."));
  if (state.reveal) {
    const met = state.reveal.count >= state.reveal.quantity;
    claim.append(box("strong", met ? "met" : "fault", ` ${revealed(state.reveal.count, met)}`));
    odds.append(make("li", "", say("%(caller)s called it. %(loser)s loses a die.", { caller: names[state.reveal.seat], loser: names[state.reveal.loser] })));
  } else if (bid) odds.append(...chances(state, names, bid, sight).map(([who, share]) => box("li", "", `${who} `, make("strong", "", percent(share)))));
  const list = make("ol", "bids");
  const earlier = Math.max(0, state.bids.length - NEWEST);
  list.start = earlier + 1;
  list.setAttribute("aria-label", earlier ? say("The newest %(newest)s of %(count)s bids of this round", { newest: NEWEST, count: state.bids.length }) : say("Bids of this round"));
  for (const made of state.bids.slice(earlier)) list.append(box("li", `seat${made.seat}`, `${made.quantity} × `, die(made.face, "small")));
  middle.append(claim, odds, list);
  return middle;
}

// The probability that the bid is true: to somebody who sees no dice, and to the bidder and the seat that must answer,
// as far as the reader may see their dice. Every hidden die is fair and independent; the bids themselves are not taken
// into account.
function chances(state, names, bid, sight) {
  const all = state.counts.reduce((sum, count) => sum + count, 0);
  const found = [[say("True, by the dice alone:"), odds(bid, [], all)]];
  for (const seat of new Set([bid.seat, next(state, bid.seat)])) {
    const hand = state.hands[seat];
    if (hand.length === 0 || (sight !== null && sight !== seat)) continue;
    found.push([say("as %(bot)s sees it:", { bot: names[seat] }), odds(bid, hand, all - hand.length)]);
  }
  return found;
}

function next(state, seat) {
  const seats = state.counts.length;
  for (let step = 1; step < seats; step += 1) {
    if (state.counts[(seat + step) % seats] > 0) return (seat + step) % seats;
  }
  return seat;
}

// The chance that `hidden` fair dice contain as many as the bid needs besides those in `hand`.
export function odds(bid, hand, hidden) {
  const needed = bid.quantity - hand.filter((face) => counts(face, bid.face)).length;
  const chance = bid.face === 1 ? 1 / 6 : 1 / 3;
  let exactly = (1 - chance) ** hidden; // that many of them count
  let fewer = 0;
  for (let count = 0; count < needed && count <= hidden; count += 1) {
    fewer += exactly;
    exactly *= ((hidden - count) / (count + 1)) * (chance / (1 - chance));
  }
  return needed <= 0 ? 1 : needed > hidden ? 0 : Math.max(0, 1 - fewer);
}
