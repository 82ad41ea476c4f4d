// Yacht Auction: the bundles and bids above, both score sheets below.
import { dice, make } from "./replay.js";

const BASIC = ["ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX"];
const COMBINATION = ["CHOICE", "FOUR_OF_A_KIND", "FULL_HOUSE", "SMALL_STRAIGHT", "LARGE_STRAIGHT", "YACHT"];

export function stage(place, match) {
  return { draw: (state) => place.replaceChildren(auction(state, match.names), sheets(state, match.names)) };
}

function auction(state, names) {
  const box = make("div", "auction");
  for (const letter of ["A", "B"]) {
    const bundle = make("div", "bundle");
    bundle.append(make("h3", "", `Bundle ${letter}`), state.bundles ? dice(state.bundles[letter]) : make("span", "dice none"));
    const bids = make("ul");
    names.forEach((name, seat) => {
      const bid = state.bids?.[seat];
      const text = !bid ? "" : bid.target === letter ? `${name} bids ${bid.bid}` : "";
      const won = bid && bid.received === letter ? ` → ${name} gets it (${signed(bid.change)})` : "";
      bids.append(make("li", won ? "won" : "", `${text}${won}`));
    });
    bundle.append(bids);
    box.append(bundle);
  }
  box.append(make("p", "note coin", state.coin ? "Equal bids for the same bundle: the coin decides." : ""));
  return box;
}

function sheets(state, names) {
  const table = make("table", "sheets");
  const head = make("tr");
  head.append(make("td"), ...names.map((name, seat) => {
    const cell = make("th", "", name);
    cell.scope = "col";
    cell.append(dice(state.hands[seat] || "", "small"));
    return cell;
  }));
  table.append(head);
  const row = (label, cells, className = "") => {
    const line = make("tr", className);
    const first = make("th", "", label);
    first.scope = "row";
    line.append(first, ...cells);
    table.append(line);
  };
  const category = (name) => row(name.toLowerCase().replaceAll("_", " "), names.map((_, seat) => {
    const used = state.sheets[seat][name];
    const last = state.last && state.last[0] === seat && state.last[1] === name;
    const cell = make("td", last ? "last" : "");
    if (used) cell.append(dice(used.dice, "tiny"), make("span", "points", String(used.points)));
    return cell;
  }));
  const numbers = (label, values, className) => row(label, values.map((value) => make("td", "points", String(value))), className);
  BASIC.forEach(category);
  numbers("bonus", state.bonus);
  COMBINATION.forEach(category);
  numbers("bids", state.money.map(signed));
  numbers("total", state.totals, "total");
  return table;
}

function signed(value) {
  return value > 0 ? `+${value}` : String(value);
}
