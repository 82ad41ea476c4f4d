// Betris (Large): two boards that fill piece by piece, the blocks on offer and the bets between them, chips and clocks.
import { bar, box, drawn, make, spaced } from "/static/replay-draw.js";
import { say } from "/static/say.js";

const CELL = 10;
const SHADES = 4; // enough for neighbours to differ; chosen greedily, two may still match, and the outline separates them
const SIDES = [[-1, 0, 0, 0, 1, 0], [1, 0, 0, 1, 1, 1], [0, -1, 0, 0, 0, 1], [0, 1, 1, 0, 1, 1]]; // a neighbour, the edge towards it

export function stage(place, match) {
  return {
    draw(state) {
      place.replaceChildren(box("div", "betris", seat(state, match, 0), offer(state, match), seat(state, match, 1)));
    },
  };
}

function seat(state, match, number) {
  const { side, chips, bank_ms: bank } = match.board;
  const total = state.totals[number];
  const leads = Number(total) > Number(state.totals[1 - number]);
  const head = box("header", "", make("h3", "", match.names[number]), make("strong", leads ? "total leads" : "total", total ?? "–"));
  const square = state.square[number];
  const facts = make("dl");
  const fact = (label, value, ...more) => facts.append(make("dt", "", label), box("dd", "", value, ...more));
  const left = state.bank_ms[number] ?? bank;
  fact(say("cells"), `${state.filled[number]} / ${side * side}`);
  fact(say("square"), `${square} × ${square}`);
  fact(say("chips"), String(state.chips[number] ?? chips), bar((state.chips[number] ?? chips) / chips, say("%(left)s of %(most)s chips", { left: state.chips[number] ?? chips, most: chips })));
  fact(say("clock"), say("%(seconds)s s", { seconds: (left / 1000).toFixed(2) }), bar(left / bank, say("%(left)s of %(most)s ms left", { left: spaced(left), most: spaced(bank) }), left < bank / 5 ? "short" : ""));
  return box("section", `player seat${number}`, head, board(state, number, side, match.names[number]), facts);
}

// A board: each piece in a shade of its seat with an outline, the newest bright, the largest square in a frame.
export function board(state, number, side, name) {
  const pieces = [...cut(state, number)];
  const owner = new Map(pieces.flatMap((piece, index) => piece.map(([row, column]) => [`${row},${column}`, index])));
  const shades = shaded(pieces, owner);
  const fresh = state.last[number].length > 0;
  const label = say("%(bot)s: %(cells)s cells filled, largest square %(square)s", { bot: name, cells: state.filled[number], square: state.square[number] });
  const picture = drawn("svg", { class: "board", viewBox: `-1 -1 ${side * CELL + 2} ${side * CELL + 2}`, role: "img", "aria-label": label });
  for (let row = 1; row <= side; row += 1) {
    for (let column = 1; column <= side; column += 1) {
      const cell = square(row, column, 1, owner.has(`${row},${column}`) ? "under" : "empty");
      Object.assign(cell.dataset, { cell: `${row},${column}`, seat: number });
      picture.append(cell);
    }
  }
  pieces.forEach((piece, index) => {
    const newest = index === pieces.length - 1;
    const shown = drawn("g", { class: `piece shade${shades[index]}${newest ? (fresh ? " fresh" : " ghost") : ""}` });
    shown.append(...piece.map(([row, column]) => square(row, column, 1, "filled")), outline(piece, owner, index));
    picture.append(shown);
  });
  const found = largest(owner, side, state.square[number]);
  if (found && state.square[number] > 1) picture.append(square(...found, state.square[number], "frame"));
  return picture;
}

// The pieces of a board, each as its cells.
function* cut(state, number) {
  const sizes = state.pieces[number].map((name) => Number(name.slice(1)));
  let from = 0;
  for (const size of sizes) yield state.boards[number].slice(from, (from += size));
}

function shaded(pieces, owner) {
  const shades = [];
  pieces.forEach((piece, index) => {
    const around = new Set(piece.flatMap(([row, column]) => SIDES.map(([down, across]) => shades[owner.get(`${row + down},${column + across}`)])));
    const free = [...Array(SHADES).keys()].map((step) => (index + step) % SHADES).find((shade) => !around.has(shade));
    shades.push(free ?? index % SHADES);
  });
  return shades;
}

function square(row, column, size, className) {
  return drawn("rect", { class: className, x: (column - 1) * CELL, y: (row - 1) * CELL, width: size * CELL, height: size * CELL });
}

function outline(piece, owner, index) {
  const edges = piece.flatMap(([row, column]) => SIDES.filter(([down, across]) => owner.get(`${row + down},${column + across}`) !== index).map(([, , x1, y1, x2, y2]) => {
    const [left, top] = [(column - 1) * CELL, (row - 1) * CELL];
    return `M${left + x1 * CELL} ${top + y1 * CELL}L${left + x2 * CELL} ${top + y2 * CELL}`;
  }));
  return drawn("path", { class: "outline", d: edges.join("") });
}

// The corner of the largest filled square, the first one if there are several.
function largest(owner, side, size) {
  for (let row = 1; row + size - 1 <= side; row += 1) {
    for (let column = 1; column + size - 1 <= side; column += 1) {
      const cells = [...Array(size * size).keys()].map((place) => `${row + Math.floor(place / size)},${column + (place % size)}`);
      if (cells.every((cell) => owner.has(cell))) return [row, column];
    }
  }
  return null;
}

function offer(state, match) {
  const middle = box("section", "offer", make("h3", "", say("On offer")));
  for (const place of [0, 1]) {
    const name = state.offer?.[place];
    const choice = make("div", "choice");
    if (name) choice.dataset.block = name;
    choice.append(bet(state, match.names, 0, place), box("div", "lot", make("strong", "", name ?? ""), block(match.board.shapes[name] ?? "", name)), bet(state, match.names, 1, place));
    middle.append(choice);
  }
  middle.append(make("p", "note", state.coin ? say("Equal bets: the coin decides.") : state.bets ? "" : say("Both bet in secret.")));
  return middle;
}

// Both blocks can be the same: then the second position is the second seat's.
function bet(state, names, number, place) {
  const cell = make("div", `bid seat${number}`);
  const made = state.bets?.[number];
  const name = state.offer?.[place];
  if (!made) return cell;
  const same = state.offer[0] === state.offer[1];
  if (same ? place === number : [made.choice, made.acquired].includes(name)) cell.append(make("strong", "who", names[number]));
  if (same ? place === number : made.choice === name) cell.append(box("span", "", `${say("bets")} `, make("strong", "", String(made.bet))));
  if (!(same ? place === number : made.acquired === name)) return cell;
  cell.classList.add("taken");
  cell.append(make("strong", "", say("takes")), make("span", made.paid ? "fault" : "met", made.paid ? say("pays %(chips)s", { chips: made.paid }) : say("free")));
  return cell;
}

function block(shape, name) {
  const picture = drawn("svg", { class: "block", viewBox: `-1 -1 ${5 * CELL + 2} ${5 * CELL + 2}`, role: "img", "aria-label": name ? say("block %(name)s", { name }) : say("no block") });
  const cells = shape.split("/").flatMap((line, row) => [...line].flatMap((mark, column) => (mark === "#" ? [[row + 1, column + 1]] : [])));
  const owner = new Map(cells.map(([row, column]) => [`${row},${column}`, 0]));
  picture.append(...cells.map(([row, column]) => square(row, column, 1, "filled")), outline(cells, owner, 0));
  return picture;
}
