// The chart of a match below its board: the leader above, the used share of each limit below, at one position per move.
//
// Two seats: the lead, with the first seat's above the line; their times face each other in the same way. More seats: a
// line for each. The host's share of an answer is drawn in grey on top of the bot's own. A red line is a fault, the
// star is the deciding moment. A click anywhere jumps to the move there; the slider above does the same by keys.
import { box, drawn, make, percent } from "./replay-draw.js";
import { say } from "./say.js";

const HEIGHT = 100; // of each band, which the style sheet stretches
const LEAST = 3; // of a bar that would not be seen
const LEAST_SHARE = 0.01; // of a limit, as the top of the scale
const MIDDLE = HEIGHT / 2;

export class Chart {
  // `jump` is called with a scene's number.
  constructor(place, jump) {
    this.place = place;
    this.place.addEventListener("click", (event) => jump(this.under(event.clientX)));
  }

  // The scene at a position on the screen.
  under(x) {
    const { left, width } = this.bands.getBoundingClientRect();
    return Math.max(0, Math.min(this.last, Math.round(((x - left) / width) * this.last)));
  }

  draw(match) {
    this.last = match.scenes.length - 1;
    this.cursor = make("span", "cursor");
    this.bands = make("div", "bands");
    if (match.figure) this.bands.append(band("standing", match.figure === "points" && match.names.length === 2 ? say("Lead") : title(say(match.figure)), figures(match), this.last));
    this.bands.append(times(match, this.last));
    const faults = match.scenes.flatMap((scene, index) => (scene.fault === null ? [] : [this.flag("fault-line", index, "")]));
    this.bands.append(...faults, this.cursor);
    if (match.ranks !== null) this.bands.append(this.flag("star", match.opens, "★"));
    this.bands.setAttribute("role", "img");
    this.bands.setAttribute("aria-label", told(match));
    this.place.replaceChildren(this.bands, legend(match));
  }

  flag(className, index, text) {
    const flag = make("span", className, text);
    this.put(flag, index);
    return flag;
  }

  put(element, index) {
    element.style.left = `${this.last > 0 ? (100 * index) / this.last : 0}%`;
  }

  show(index) {
    this.put(this.cursor, index);
  }
}

function band(className, label, shapes, last) {
  const picture = drawn("svg", { viewBox: `0 0 ${Math.max(last, 1)} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, shapes);
  return box("div", `band ${className}`, make("span", "label", label), picture);
}

// The known figure of each seat in each scene, or null.
function known(match) {
  return match.scenes.map((scene) => match.names.map((_, seat) => scene.figures[seat] ?? null));
}

function figures(match) {
  const values = known(match);
  const seats = match.names.length;
  if (seats !== 2) {
    const most = Math.max(1, ...values.flat());
    return match.names.map((_, seat) => drawn("path", { class: `line seat${seat}`, d: steps(values.map((row) => (row[seat] === null ? null : 96 - (92 * row[seat]) / most))) }));
  }
  const leads = values.map(([first, second]) => (first === null || second === null ? 0 : first - second));
  const most = Math.max(1, ...leads.map(Math.abs));
  const side = (seat) => {
    const heights = leads.map((lead) => MIDDLE - (MIDDLE - 2) * ((seat ? Math.min(lead, 0) : Math.max(lead, 0)) / most));
    return drawn("path", { class: `area seat${seat}`, d: `${steps(heights)}V${MIDDLE}H0Z` });
  };
  return [side(0), side(1), zero(match)];
}

function zero(match) {
  return drawn("line", { class: "zero", x1: 0, x2: Math.max(match.scenes.length - 1, 1), y1: MIDDLE, y2: MIDDLE });
}

// A value holds until the scene that changes it; unknown values have no point.
function steps(heights) {
  const first = heights.findIndex((height) => height !== null);
  return heights.slice(first).map((height, step) => (step === 0 ? `M${first} ${height.toFixed(1)}` : `H${first + step}V${height.toFixed(1)}`)).join("");
}

// Bars on a common scale, up to the largest share of a limit that an answer in time used in this match.
function times(match, last) {
  const facing = match.names.length === 2;
  const most = Math.max(LEAST_SHARE, ...match.scenes.flatMap((scene) => scene.answers.filter((answer) => !answer.fault).map((answer) => Math.min(1, answer.elapsed_ms / answer.limit_ms))));
  const room = (facing ? MIDDLE : HEIGHT) / most;
  const foot = facing ? MIDDLE : HEIGHT;
  const shapes = facing ? [zero(match)] : [];
  match.scenes.forEach((scene, index) => {
    for (const answer of scene.answers) {
      const own = Math.min(most, Math.max(0, answer.elapsed_ms - answer.stolen_ms) / answer.limit_ms);
      const host = Math.min(most - own, answer.stolen_ms / answer.limit_ms);
      const down = facing && answer.seat === 1;
      const height = Math.max(LEAST, own * room);
      const column = (className, from, tall) => drawn("rect", { class: className, x: index - 0.35, width: 0.7, height: tall, y: down ? foot + from : foot - from - tall });
      shapes.push(column(`own seat${answer.seat}${answer.fault ? " failed" : ""}`, 0, height));
      if (host > 0) shapes.push(column("host", height, host * room));
    }
  });
  return band("times", say("Time, up to %(share)s of a limit", { share: percent(most) }), shapes, last);
}

function legend(match) {
  const row = make("p", "legend note");
  match.names.forEach((name, seat) => row.append(box("span", "", make("i", `key seat${seat}`), name), " "));
  if (match.scenes.some((scene) => scene.answers.some((answer) => answer.stolen_ms > 0))) row.append(box("span", "", make("i", "key host"), say("taken by the host")), " ");
  if (match.ranks !== null) row.append(make("span", "", `★ ${say("deciding moment")}`));
  return row;
}

// Describes the chart in words.
function told(match) {
  const values = known(match);
  const ends = values.at(-1) ?? [];
  const slowest = match.names.map((name, seat) => {
    const shares = match.scenes.flatMap((scene) => scene.answers.filter((answer) => answer.seat === seat).map((answer) => (answer.elapsed_ms - answer.stolen_ms) / answer.limit_ms));
    return shares.length ? `${name} ${percent(Math.max(...shares))}` : null;
  }).filter((text) => text !== null);
  const said = [];
  if (match.figure) said.push(say("%(figure)s at the end: %(ends)s.", { figure: title(say(match.figure)), ends: match.names.map((name, seat) => `${name} ${ends[seat]}`).join(", ") }));
  if (slowest.length) said.push(say("The largest share of a limit that each used: %(shares)s.", { shares: slowest.join(", ") }));
  return [say("Chart of the match."), ...said].join(" ");
}

function title(word) {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
