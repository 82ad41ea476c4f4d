// Mushroom: the board, whose its cells are, and the rectangle just taken with all that allows it: its sum, the mushrooms on
// its four edges, and the cells that changed hands.
import { bar, box, drawn, make, spaced } from "/static/replay-draw.js";
import { say } from "/static/say.js";

const CELL = 10;

export function stage(place, match) {
  return {
    draw(state) {
      place.replaceChildren(box("div", "mushroom", player(state, match, 0), player(state, match, 1), picture(state, match), why(state, match)));
    },
  };
}

function player(state, match, seat) {
  const cells = state.cells[seat];
  const left = state.bank_ms[seat] ?? match.board.bank_ms;
  const share = say("%(left)s of %(most)s ms left", { left: spaced(left), most: spaced(match.board.bank_ms) });
  const clock = box("p", "clock", say("%(seconds)s s", { seconds: (left / 1000).toFixed(2) }), bar(left / match.board.bank_ms, share, left < match.board.bank_ms / 5 ? "short" : ""));
  const total = make("strong", cells > state.cells[1 - seat] ? "total leads" : "total", say("%(cells)s cells", { cells }));
  return box("section", `player seat${seat}`, box("header", "", make("h3", "", match.names[seat]), total), clock);
}

function picture(state, match) {
  const { rows, columns } = match.board;
  const left = state.rows.join("").replaceAll(".", "").length;
  const label = say("The board: %(left)s mushrooms are left; %(first)s owns %(a)s cells, %(second)s %(b)s.", { left, first: match.names[0], a: state.cells[0], second: match.names[1], b: state.cells[1] });
  const shown = drawn("svg", { class: "board", viewBox: `-7 -7 ${columns * CELL + 8} ${rows * CELL + 8}`, role: "img", "aria-label": label });
  for (let column = 0; column < columns; column += 1) shown.append(text(-1, column, column, "place"));
  state.rows.forEach((line, row) => {
    shown.append(text(row, -1, row, "place"));
    [...line].forEach((digit, column) => {
      const owner = state.owners[row][column];
      const cell = square([row, column], owner === "." ? "cell" : `cell owned seat${owner}`);
      cell.dataset.cell = `${row},${column}`;
      shown.append(cell);
      if (digit !== ".") shown.append(text(row, column, digit, "digit"));
    });
  });
  if (state.last?.rectangle) shown.append(taken(state.last));
  return shown;
}

function square([row, column], className, height = 1, width = 1) {
  return drawn("rect", { class: className, x: column * CELL, y: row * CELL, width: width * CELL, height: height * CELL });
}

function text(row, column, word, className) {
  return drawn("text", { class: className, x: (column + 0.5) * CELL + (column < 0 ? 2 : 0), y: (row + 0.5) * CELL + (row < 0 ? 2 : 0) }, [String(word)]);
}

// The rectangle: what it added up to, a bar where a mushroom is on an edge, a corner in the colour of who lost the cell.
function taken({ seat, rectangle, mushrooms, stolen }) {
  const [top, left, bottom, right] = rectangle;
  const shown = drawn("g", { class: `taken seat${seat}` }, [square([top, left], "inside", bottom - top + 1, right - left + 1)]);
  shown.append(...mushrooms.map(([row, column, digit]) => text(row, column, digit, "digit")));
  shown.append(...stolen.map(([row, column]) => drawn("path", { class: `stolen seat${1 - seat}`, d: `M${column * CELL} ${row * CELL}h4l-4 4z` })));
  shown.append(square([top, left], "frame", bottom - top + 1, right - left + 1));
  for (const [row, column] of mushrooms) {
    const [x, y] = [column * CELL, row * CELL];
    const edges = [[row === top, `M${x + 1} ${y}h8`], [row === bottom, `M${x + 1} ${y + CELL}h8`], [column === left, `M${x} ${y + 1}v8`], [column === right, `M${x + CELL} ${y + 1}v8`]];
    const d = edges.filter(([touches]) => touches).map(([, line]) => line).join("");
    if (d) shown.append(drawn("path", { class: "edge", d }));
  }
  return shown;
}

function why(state, match) {
  const { last } = state;
  if (last === null) return box("p", "why", say("A rectangle may be taken if its mushrooms add up to %(sum)s and each of its four edges has one.", { sum: match.board.sum }));
  const bot = match.names[last.seat];
  if (last.rectangle === null) return box("p", "why", make("strong", "", say("%(bot)s passes", { bot })));
  const sum = make("strong", `seat${last.seat}`, `${last.mushrooms.map(([, , digit]) => digit).join(" + ")} = ${match.board.sum}`);
  const gained = last.stolen.length ? say("%(cells)s cells gained, %(stolen)s of them (with a corner) from %(other)s", { cells: last.gained, stolen: last.stolen.length, other: match.names[1 - last.seat] }) : say("%(cells)s cells gained", { cells: last.gained });
  return box("p", "why", sum, ` · ${gained} · ${say("bars mark the mushrooms on its four edges")}`);
}
