// Betris on the board: tap a block to choose it, drag it to place it; arrows, R and F move, rotate and flip it. It only
// ever lies where the server says that it fits.
import { drawn as element } from "/static/replay-draw.js";
import { choosable, tells } from "/static/play.js";
import { say } from "/static/say.js";

const CELL = 10;
const MOVES = { left: [0, -1], right: [0, 1], up: [-1, 0], down: [1, 0] };
const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down", r: "turn", R: "turn", f: "flip", F: "flip" };

function bet(form, stage) {
  const radios = [...form.querySelectorAll("[name=block]")];
  const button = form.querySelector("button:not([type])");
  function drawn() {
    const block = radios.find((radio) => radio.checked)?.value;
    button.disabled = !block;
    tells(form, block ? say("Block %(name)s", { name: block }) : say("Tap a block."));
    for (const radio of radios) {
      for (const choice of stage.querySelectorAll(`[data-block="${radio.value}"]`)) {
        choosable(choice, say("Block %(name)s", { name: radio.value }), radio.checked, () => { radio.checked = !radio.checked; drawn(); });
      }
    }
  }
  form.addEventListener("change", drawn);
  return drawn;
}

// A position: its cells, their shape at the top left, and their middle.
function placement(word) {
  const cells = word.match(/../g).map((two) => [Number(two[0]), Number(two[1])]);
  const middle = [0, 1].map((axis) => cells.reduce((sum, cell) => sum + cell[axis], 0) / cells.length);
  return { cells, middle, shape: shape(cells) };
}

function shape(cells) {
  const [top, left] = [0, 1].map((axis) => Math.min(...cells.map((cell) => cell[axis])));
  return cells.map(([row, column]) => `${row - top},${column - left}`).sort().join(" ");
}

const turned = (cells) => cells.map(([row, column]) => [column, -row]);
const flipped = (cells) => cells.map(([row, column]) => [row, -column]);
const away = (one, [row, column]) => (one.middle[0] - row) ** 2 + (one.middle[1] - column) ** 2;

function place(form, stage, seat, isNewest) {
  const list = form.querySelector("[data-fitting]");
  if (!list) return () => {};
  const fitting = list.dataset.fitting.split(" ").map(placement);
  const tools = form.querySelector(".aim");
  const cells = new Map([...form.querySelectorAll("[name^=cell]:not(:disabled)")].map((one) => [one.name.slice(4), one]));
  const told = form.querySelector("output");
  tools.hidden = false;
  form.querySelector(".by-cells").open = false;
  let at = null;

  function nearest(spot, among) {
    return among.reduce((best, one) => (best === null || away(one, spot) < away(best, spot) ? one : best), null);
  }

  function lie(where) {
    if (!where) return;
    at = where;
    for (const [name, one] of cells) one.checked = at.cells.some(([row, column]) => `${row}${column}` === name);
    told.textContent = say("It covers %(cells)s.", { cells: at.cells.map(([row, column]) => say("row %(row)s column %(column)s", { row, column })).join(", ") });
    show();
  }

  // Another orientation: of those that fit, the nearest to the present position.
  function change(how) {
    const wanted = shape(how(at.cells));
    if (wanted !== at.shape) lie(nearest(at.middle, fitting.filter((one) => one.shape === wanted)));
  }

  function act(name) {
    if (name === "turn") {
      let way = at.cells;
      for (let quarter = 0; quarter < 3; quarter += 1) { // the next of its ways round that fits anywhere
        way = turned(way);
        const wanted = shape(way);
        if (wanted !== at.shape && fitting.some((one) => one.shape === wanted)) { change(() => way); return; }
      }
      return;
    }
    if (name === "flip") { change(flipped); return; }
    const [down, across] = MOVES[name];
    const ahead = fitting.filter((one) => one.shape === at.shape && (one.middle[0] - at.middle[0]) * down + (one.middle[1] - at.middle[1]) * across > 0);
    lie(nearest([at.middle[0] + down, at.middle[1] + across], ahead));
  }

  function show() {
    if (!isNewest()) return;
    const board = stage.querySelector(`.seat${seat} svg.board`);
    board?.querySelector(".aimed")?.remove();
    board?.append(element("g", { class: "aimed" }, at.cells.map(([row, column]) => element("rect", { x: (column - 1) * CELL, y: (row - 1) * CELL, width: CELL, height: CELL }))));
  }

  function spot(board, event) {
    const { left, top, width, height } = board.getBoundingClientRect();
    return [((event.clientY - top) / height) * 7 + 0.5, ((event.clientX - left) / width) * 7 + 0.5];
  }

  function drawn() {
    const board = stage.querySelector(`.seat${seat} svg.board`);
    if (!board || board.dataset.aims) return;
    board.dataset.aims = "yes";
    board.tabIndex = 0;
    board.setAttribute("role", "application");
    board.setAttribute("aria-roledescription", say("board to place a block on"));
    const follow = (event) => { const to = spot(board, event); lie(nearest(to, fitting.filter((one) => one.shape === at.shape)) ?? nearest(to, fitting)); };
    board.onpointerdown = (event) => { board.setPointerCapture(event.pointerId); follow(event); board.focus({ preventScroll: true }); event.preventDefault(); };
    board.onpointermove = (event) => { if (board.hasPointerCapture(event.pointerId)) follow(event); };
    board.onkeydown = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Enter") form.requestSubmit(form.querySelector("button:not([type]):not([name])"));
      else if (event.key in KEYS) act(KEYS[event.key]);
      else return;
      event.preventDefault();
      event.stopPropagation(); // the viewer has keys of its own
    };
    show();
  }

  tools.addEventListener("click", (event) => { const name = event.target.closest("[data-act]")?.dataset.act; if (name) act(name); });
  // When a reader ticks cells, the block appears as soon as it fits.
  form.addEventListener("change", () => {
    const chosen = [...cells].filter(([, one]) => one.checked).map(([name]) => name).sort().join("");
    const found = fitting.find((one) => one.cells.map((cell) => cell.join("")).sort().join("") === chosen);
    if (found) lie(found);
  });
  lie(nearest([4, 4], fitting));
  tells(form, say("Drag the block, or use the buttons."));
  return drawn;
}

export const hands = { bet, place };
