// Mushroom on the board: a rectangle is dragged from corner to corner, and taken when it is let go. By keyboard the arrows
// move a cell, with Shift they stretch it, and Enter takes. Nothing is sent but what the server offered.
import { drawn as element } from "/static/replay-draw.js";
import { say } from "/static/say.js";

const CELL = 10;
const KEYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const MARGIN = 7; // around the cells, as board.js draws them

function take(form, stage, _seat, isNewest) {
  const list = form.querySelector("[name=rectangle]");
  if (!list) return () => {};
  const words = new Map([...list.options].filter((one) => one.value).map((one) => [one.value, one.textContent]));
  const rows = form.querySelector("[data-rows]").dataset.rows.split(" ");
  const sum = Number(list.dataset.sum);
  const told = form.querySelector("output");
  form.querySelector(".aim").hidden = false;
  form.querySelector(".by-list").open = false;
  let [from, to] = [[0, 0], [0, 0]];

  const rectangle = () => [Math.min(from[0], to[0]), Math.min(from[1], to[1]), Math.max(from[0], to[0]), Math.max(from[1], to[1])];

  function lie(start, end) {
    [from, to] = [start, end];
    const [top, left, bottom, right] = rectangle();
    const value = rectangle().join(" ");
    const inside = rows.slice(top, bottom + 1).flatMap((row) => [...row.slice(left, right + 1)]).filter((digit) => digit !== ".");
    const total = inside.reduce((all, digit) => all + Number(digit), 0);
    list.value = words.has(value) ? value : "";
    if (words.has(value)) told.textContent = say("%(rectangle)s. It can be taken.", { rectangle: words.get(value) });
    else if (total !== sum) told.textContent = say("(%(top)s, %(left)s) to (%(bottom)s, %(right)s): its mushrooms add up to %(total)s.", { top, left, bottom, right, total });
    else told.textContent = say("(%(top)s, %(left)s) to (%(bottom)s, %(right)s): one of its four edges has no mushroom.", { top, left, bottom, right });
    show();
  }

  function send() {
    if (list.value) form.requestSubmit(form.querySelector("button:not([type]):not([name])"));
  }

  function show() {
    const board = stage.querySelector(".mushroom svg.board");
    board?.querySelector(".aimed")?.remove();
    if (!board || !isNewest()) return;
    const [top, left, bottom, right] = rectangle();
    board.append(element("rect", { class: list.value ? "aimed fits" : "aimed", x: left * CELL, y: top * CELL, width: (right - left + 1) * CELL, height: (bottom - top + 1) * CELL }));
  }

  function cell(board, event) {
    const { left, top, width, height } = board.getBoundingClientRect();
    const within = (share, cells) => Math.max(0, Math.min(cells - 1, Math.floor((share * (cells * CELL + MARGIN + 1) - MARGIN) / CELL)));
    return [within((event.clientY - top) / height, rows.length), within((event.clientX - left) / width, rows[0].length)];
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") send();
    else if (event.key in KEYS) {
      const moved = to.map((place, axis) => Math.max(0, Math.min([rows.length, rows[0].length][axis] - 1, place + KEYS[event.key][axis])));
      lie(event.shiftKey ? from : moved, moved);
    } else return;
    event.preventDefault();
    event.stopPropagation(); // the viewer has keys of its own
  }

  function drawn() {
    const board = stage.querySelector(".mushroom svg.board");
    if (!board || board.dataset.aims) return;
    board.dataset.aims = "yes";
    board.tabIndex = 0;
    board.setAttribute("role", "application");
    board.setAttribute("aria-roledescription", say("board to take a rectangle from"));
    board.onpointerdown = (event) => {
      board.setPointerCapture(event.pointerId);
      const start = cell(board, event);
      lie(start, start);
      board.focus({ preventScroll: true });
      event.preventDefault();
    };
    board.onpointermove = (event) => { if (board.hasPointerCapture(event.pointerId)) lie(from, cell(board, event)); };
    board.onpointerup = (event) => { if (board.hasPointerCapture(event.pointerId)) send(); };
    board.onpointercancel = () => { list.value = ""; };
    board.onkeydown = key;
    show();
  }

  form.addEventListener("change", () => {
    if (!list.value) return;
    const [top, left, bottom, right] = list.value.split(" ").map(Number);
    lie([top, left], [bottom, right]);
  });
  return drawn;
}

export const hands = { take };
