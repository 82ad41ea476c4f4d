// Betris (Large): two boards that fill, the blocks on offer between them, chips and clocks below.
import { drawn, make } from "./replay.js";

const CELL = 10;

export function stage(place, match) {
  const { side, shapes } = match.board;
  return {
    draw(state) {
      const box = make("div", "betris");
      box.append(seat(state, match.names, 0, side), offer(state, shapes, match.names), seat(state, match.names, 1, side));
      place.replaceChildren(box);
    },
  };
}

function seat(state, names, number, side) {
  const box = make("section", `seat seat${number}`);
  const last = new Set(state.last[number].map(String));
  const board = drawn("svg", { class: "board", viewBox: `0 0 ${side * CELL} ${side * CELL}`, role: "img", "aria-label": `${names[number]}: ${state.filled[number]} cells filled` });
  for (let row = 0; row < side; row += 1) {
    for (let column = 0; column < side; column += 1) board.append(cell(row, column, "empty"));
  }
  for (const [row, column] of state.boards[number]) {
    board.append(cell(row - 1, column - 1, last.has(String([row, column])) ? "filled last" : "filled"));
  }
  box.append(make("h3", "", names[number]), board);
  const facts = make("dl");
  const fact = (label, value) => facts.append(make("dt", "", label), make("dd", "", value));
  fact("points", state.totals[number] ?? "–");
  fact("square", `${state.square[number]} × ${state.square[number]}`);
  fact("chips", state.chips[number] ?? "–");
  fact("clock", state.bank_ms[number] === null ? "–" : `${(state.bank_ms[number] / 1000).toFixed(2)} s`);
  box.append(facts);
  return box;
}

function cell(row, column, className) {
  return drawn("rect", { class: className, x: column * CELL + 0.5, y: row * CELL + 0.5, width: CELL - 1, height: CELL - 1, rx: 1.5 });
}

function offer(state, shapes, names) {
  const box = make("section", "offer");
  box.append(make("h3", "", "On offer"));
  (state.offer ?? []).forEach((name, place) => {
    const rows = shapes[name].split("/");
    const picture = drawn("svg", { class: "block", viewBox: `0 0 ${5 * CELL} ${5 * CELL}`, role: "img", "aria-label": `block ${name}` });
    rows.forEach((line, row) => [...line].forEach((mark, column) => { if (mark === "#") picture.append(cell(row, column, "filled")); }));
    const holder = make("div", "choice");
    holder.append(make("strong", "", name), picture);
    // Both blocks can be the same, so the second place takes the second seat's.
    const takers = names.map((_, number) => number).filter((number) => state.bets && state.bets[number].acquired === name);
    const taker = state.offer[0] === state.offer[1] ? (state.bets ? place : undefined) : takers[0];
    holder.append(make("span", "note taker", taker === undefined ? "" : `${names[taker]}: bet ${state.bets[taker].bet}, pays ${state.bets[taker].paid}`));
    box.append(holder);
  });
  box.append(make("p", "note coin", state.coin ? "Equal bets: the coin decides." : ""));
  return box;
}
