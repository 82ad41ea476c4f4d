// Yacht Auction: the two sheets face each other, and between them the auction, bid against bid.
import { bar, box, dice, make, signed, spaced } from "/static/replay-draw.js";
import { say } from "/static/say.js";

const BASIC = ["ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX"];
const COMBINATION = ["CHOICE", "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT"];
const LABELS = {
  ONE: say("one"), TWO: say("two"), THREE: say("three"), FOUR: say("four"), FIVE: say("five"), SIX: say("six"),
  CHOICE: say("choice"), FOUR_OF_A_KIND: say("four of a kind"), FULL_HOUSE: say("full house"),
  SMALL_STRAIGHT: say("small straight"), LARGE_STRAIGHT: say("large straight"), YACHT: say("yacht"),
};
const BONUS_AT = 63000; // points of the basic categories

export function stage(place, match) {
  return {
    draw(state) {
      const table = make("div", "yacht");
      table.append(player(state, match.names, 0), auction(state, match.names), player(state, match.names, 1));
      place.replaceChildren(table);
    },
  };
}

function auction(state, names) {
  const middle = box("section", "auction", make("h3", "", say("Auction")));
  for (const letter of ["A", "B"]) {
    const lot = box("div", "lot", make("strong", "", letter), state.bundles ? dice(state.bundles[letter]) : make("span", "dice"));
    const row = box("div", "bundle", bid(state, names, 0, letter), lot, bid(state, names, 1, letter));
    row.dataset.bundle = letter;
    middle.append(row);
  }
  const told = !state.bundles ? say("No auction in this round.") : state.coin ? say("Equal bids: the coin decides.") : state.bids ? "" : newest(state, 0) ? say("Last: %(scores)s", { scores: names.map((name, seat) => scored(state, name, seat)).join(" · ") }) : say("Both bid in secret.");
  middle.append(make("p", "note", told));
  return middle;
}

function scored(state, name, seat) {
  const category = newest(state, seat);
  return category ? `${name}, ${LABELS[category]} ${spaced(state.sheets[seat][category].points)}` : "";
}

// One seat's part in one bundle: its bid, and what it pays or gains if it gets the bundle.
function bid(state, names, seat, letter) {
  const cell = make("div", `bid seat${seat}`);
  const made = state.bids?.[seat];
  if (!made) return cell;
  if (made.target === letter || made.received === letter) cell.append(make("strong", "who", names[seat]));
  if (made.target === letter) cell.append(box("span", "", `${say("bids")} `, make("strong", "", spaced(made.bid))));
  if (made.received !== letter) return cell;
  cell.classList.add("taken");
  const change = make("span", made.change < 0 ? "fault" : "met", made.change === 0 ? "" : signed(made.change));
  cell.append(box("span", "", make("strong", "", say("takes")), " ", change));
  cell.setAttribute("role", "group");
  cell.setAttribute("aria-label", say("%(bot)s, bundle %(bundle)s", { bot: names[seat], bundle: letter }));
  return cell;
}

function player(state, names, seat) {
  const leads = state.totals[seat] > state.totals[1 - seat];
  const head = box("header", "", make("h3", "", names[seat]), make("strong", leads ? "total leads" : "total", spaced(state.totals[seat])));
  const hand = dice(state.hands[seat] || "", "small");
  hand.dataset.hand = seat;
  const sheet = make("div", "sheet");
  sheet.append(...[...BASIC, ...COMBINATION].map((name) => category(state, seat, name)));
  return box("section", `player seat${seat}`, head, hand, sheet, sums(state, seat));
}

// The category that the seat filled last.
const newest = (state, seat) => Object.keys(state.sheets[seat]).at(-1);

function category(state, seat, name) {
  const used = state.sheets[seat][name];
  const last = newest(state, seat) === name;
  const cell = make("div", `cell${used ? " used" : ""}${used && used.points === 0 ? " nothing" : ""}${last ? " last" : ""}`);
  Object.assign(cell.dataset, { category: name, seat });
  cell.append(make("span", "label", LABELS[name]), make("span", "points", used ? spaced(used.points) : ""));
  cell.append(used ? dice(used.dice, "tiny", used.lit) : make("span", "dice"));
  return cell;
}

function sums(state, seat) {
  const basic = BASIC.reduce((sum, name) => sum + (state.sheets[seat][name]?.points ?? 0), 0);
  const told = state.bonus[seat] ? say("bonus %(points)s", { points: signed(state.bonus[seat]) }) : say("bonus %(points)s / %(most)s", { points: spaced(basic), most: spaced(BONUS_AT) });
  const bonus = box("span", "bonus", told, bar(basic / BONUS_AT, say("%(points)s of %(most)s points for the bonus", { points: spaced(basic), most: spaced(BONUS_AT) })));
  return box("p", "sums", bonus, box("span", "", `${say("bids")} `, make("strong", "", signed(state.money[seat]))));
}
