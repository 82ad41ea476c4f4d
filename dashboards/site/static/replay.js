// The viewer of a match: a stage that one module per game draws, and everything to move through its scenes.
// It replaces nothing: the table of moves below it is the same record, and works without this script.
import { plain } from "./text.js";

const GAMES = { "betris-large": "./replay-betris.js", "liars-dice": "./replay-liars.js", "yacht-auction": "./replay-yacht.js" };
const STEP_MS = 1100;
const REST_MS = 500; // WebKit throws at the 101st change of the address within 30 s: this leaves room for 60

const root = document.getElementById("replay");
if (root) start(root).catch((error) => { root.querySelector(".stage").textContent = `The replay cannot be shown: ${error.message}`; });

const verify = document.querySelector("[data-verify]");
verify?.addEventListener("click", async (event) => {
  event.preventDefault();
  const told = verify.parentElement.querySelector("output");
  told.className = "";
  told.textContent = "…";
  const found = await asked(verify.href);
  if (found.verified === true) told.textContent = `Verified: all ${found.exchanges} exchanges and the result follow from the rules, dice and answers.`;
  else if (found.verified === false) told.textContent = `Not verified: ${plain(found.problem ?? "")}`;
  else if (found.verified === null) told.textContent = `It cannot be re-simulated here: ${plain(found.problem ?? "")}.`;
  else told.textContent = `It could not be re-simulated: ${found.detail ? plain(found.detail) : "no connection or no answer. Try again later."}`;
  told.className = found.verified === null ? "" : found.verified ? "met" : "fault";
});

// What the server answers, be it a refusal; nothing where there is no answer of its own.
async function asked(address) {
  try {
    return await (await fetch(address)).json();
  } catch {
    return {};
  }
}

async function start(root) {
  const response = await fetch(root.dataset.document);
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  await viewer(root, await response.json());
}

// A viewer of this match in that place; null where there are no pictures of its game, or of the rules it was played by.
export async function viewer(root, match) {
  if (!(match.game in GAMES)) return null;
  const game = await import(GAMES[match.game]);
  root.hidden = false;
  return new Viewer(root, match, game);
}

class Viewer {
  constructor(root, match, game) {
    this.match = match;
    this.scenes = match.scenes;
    this.root = root;
    this.prefix = root.dataset.prefix ?? ""; // of a move's name in the address, where a page has several matches
    this.part = (name) => root.querySelector(`[data-part="${name}"]`);
    this.stage = game.stage(this.part("stage"), match);
    this.timer = null;
    this.resting = null;
    this.at = -1;
    this.sights();
    this.marks();
    this.listen();
    const linked = this.linked();
    this.show(linked ?? (root.dataset.opens === "end" ? this.scenes.length - 1 : 0));
    if (linked !== null) this.seen();
  }

  // Where only some may see what lies on the table, a choice of whose eyes to see with; while it is played there is none.
  sights() {
    const choice = this.part("sight");
    if (!this.stage.sights || this.match.ranks === null) return;
    choice.parentElement.hidden = false;
    choice.replaceChildren(option("", "everything"), ...this.match.names.map((name, seat) => option(String(seat), `what ${name} sees`)));
    choice.addEventListener("change", () => this.draw());
  }

  // A tick at every fault, and a button that goes there.
  marks() {
    this.faults = this.scenes.map((scene, index) => (scene.fault === null ? -1 : index)).filter((index) => index >= 0);
    this.part("marks").replaceChildren(...this.faults.map((index) => option(String(index), "")));
    this.part("fault").hidden = this.faults.length === 0;
    this.part("scrub").max = this.scenes.length - 1;
  }

  // A match that goes on: who is at its end stays there, who looks back is left in peace. `anew`: it began again.
  grow(match, anew) {
    const atEnd = this.at === this.scenes.length - 1;
    this.scenes = match.scenes;
    this.marks();
    this.show(anew || (atEnd && !this.timer) ? this.scenes.length - 1 : this.at);
  }

  listen() {
    const acts = {
      first: () => this.show(0),
      back: () => this.show(this.at - 1),
      play: () => (this.timer ? this.pause() : this.play()),
      next: () => this.show(this.at + 1),
      last: () => this.show(this.scenes.length - 1),
    };
    for (const [name, act] of Object.entries(acts)) {
      this.part(name).addEventListener("click", () => { if (name !== "play") this.pause(); act(); });
    }
    this.part("fault").addEventListener("click", () => { this.pause(); this.show(this.faults.find((index) => index > this.at) ?? this.faults[0]); });
    this.part("scrub").addEventListener("input", (event) => { this.pause(); this.show(Number(event.target.value)); });
    this.part("speed").addEventListener("change", () => { if (this.timer) { this.pause(); this.play(); } });
    addEventListener("hashchange", () => { const at = this.linked(); if (at !== null && at !== this.at) { this.pause(); this.show(at); this.seen(); } });
    const keys = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", " ": "play" };
    document.addEventListener("keydown", (event) => {
      if (!(event.key in keys) || !this.meant(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.matches("select, textarea, pre")) return;
      if (event.target.matches("button, summary") && event.key === " ") return;  // the button's own key
      if (event.target.matches("input") && event.key !== " ") return;  // the slider knows the arrows
      event.preventDefault();
      if (event.key !== " ") this.pause();
      acts[keys[event.key]]();
    });
    this.part("lines")?.addEventListener("toggle", () => this.lines());
  }

  // Keys are for the viewer where it has the focus, or where it is in sight and nothing has: after a link or a click.
  meant(target) {
    if (this.root.contains(target)) return true;
    const { top, bottom } = this.root.getBoundingClientRect();
    return document.activeElement === document.body && bottom > 0 && top < innerHeight;
  }

  // A link to a move means the picture; the browser goes to the row of the same name in the table below.
  seen() {
    this.root.scrollIntoView({ block: "nearest" });
  }

  linked() {
    const found = /^#(.*)move-(\d+)$/.exec(location.hash);
    return found && found[1] === this.prefix ? Math.min(Number(found[2]), this.scenes.length - 1) : null;
  }

  play() {
    if (this.at === this.scenes.length - 1) this.show(0);
    this.timer = setInterval(() => {
      if (this.at >= this.scenes.length - 1) this.pause();
      else this.show(this.at + 1);
    }, STEP_MS / Number(this.part("speed").value));
    this.label(true);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.label(false);
  }

  label(playing) {
    this.part("play").textContent = playing ? "Pause" : "Play";
    this.part("play").setAttribute("aria-pressed", String(playing));
  }

  show(index) {
    this.at = Math.max(0, Math.min(index, this.scenes.length - 1));
    const scene = this.scenes[this.at];
    this.part("words").textContent = scene.words;
    this.part("words").classList.toggle("fault", scene.fault !== null);
    const round = scene.round === null ? "" : `round ${scene.round}, `;
    this.part("where").textContent = `${round}move ${this.at + 1} of ${this.scenes.length}`;
    this.part("scrub").value = String(this.at);
    this.part("scrub").setAttribute("aria-valuetext", scene.words);
    this.answers(scene.answers);
    this.draw();
    this.lines();
    this.still();
    this.resting = setTimeout(() => this.name(), REST_MS);
  }

  // The address names the move at which one stays. A browser that will not have it changed so often is left alone.
  name() {
    try {
      history.replaceState(null, "", `#${this.prefix}move-${this.at}`);
    } catch { /* the next rest names its move */ }
  }

  // Leaves the address as it is.
  still() {
    clearTimeout(this.resting);
  }

  draw() {
    const sight = this.part("sight").value;
    this.stage.draw(this.scenes[this.at].state, sight === "" ? null : Number(sight));
  }

  answers(answers) {
    this.part("answers").replaceChildren(...answers.map((answer) => {
      const row = make("li", answer.fault ? "fault" : "");
      const name = make("span", "who", this.match.names[answer.seat]);
      const bar = make("meter");
      const own = answer.elapsed_ms - answer.stolen_ms;
      Object.assign(bar, { min: 0, max: 1, high: 0.8, value: Math.min(own / answer.limit_ms, 1) });
      bar.setAttribute("aria-hidden", "true");
      const took = answer.fault ? `${answer.fault}, ` : "";
      row.append(name, make("code", "", answer.command), bar, ` ${took}${ms(own)} of ${ms(answer.limit_ms)}${more(answer.stolen_ms, answer.elapsed_ms > answer.limit_ms && own <= answer.limit_ms)}`);
      return row;
    }));
  }

  // The lines as they were sent, read once from the transcript when somebody wants to see them.
  async lines() {
    const place = this.part("lines");
    if (!place?.open) return;
    this.exchanges ??= this.read();
    const exchanges = await this.exchanges;
    const scene = this.scenes[this.at];
    const rows = [];
    for (const number of [scene.exchange - 1, scene.exchange]) {
      const exchange = exchanges[number];
      if (!exchange) continue;
      for (const [seat, line] of exchange.messages) rows.push(`${this.match.names[seat]} << ${line}`);
      for (const [seat, line, elapsed, fault, , , stolen = 0] of exchange.replies) {
        const took = `${ms((elapsed - stolen) / 1e6)}${more(stolen / 1e6)}`;
        rows.push(`${this.match.names[seat]} >> ${line ?? ""}${fault ? ` (${fault})` : ""}   ${took}`);
      }
    }
    place.querySelector("pre").textContent = rows.map((row) => plain(row)).join("\n");
  }

  async read() {
    const response = await fetch(this.root.dataset.transcript);
    const lines = (await response.text()).split("\n");
    return lines.slice(1).filter((line) => line.startsWith("{\"n\"")).map((line) => JSON.parse(line));
  }
}

// --- small things that the games share ------------------------------------------------------------------------------

export function make(tag, className = "", text = null) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== null) element.textContent = text;
  return element;
}

export function drawn(tag, attributes = {}, children = []) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const PIPS = { 1: [4], 2: [0, 8], 3: [0, 4, 8], 4: [0, 2, 6, 8], 5: [0, 2, 4, 6, 8], 6: [0, 2, 3, 5, 6, 8] };

// A die with pips; null: face down.
export function die(face, className = "") {
  const pips = face === null ? [] : PIPS[face].map((place) => drawn("circle", { cx: 6 + 6 * (place % 3), cy: 6 + 6 * Math.floor(place / 3), r: 2 }));
  const box = drawn("svg", { class: `die ${face === null ? "down" : ""} ${className}`, viewBox: "0 0 24 24", role: "img", "aria-label": face === null ? "hidden die" : String(face) });
  box.append(drawn("rect", { x: 1, y: 1, width: 22, height: 22, rx: 4 }), ...pips);
  return box;
}

export function dice(faces, className = "") {
  const row = make("span", "dice");
  row.append(...[...faces].map((face) => die(face === null ? null : Number(face), className)));
  return row;
}

export function ms(value) {
  if (value >= 10000) return `${(value / 1000).toFixed(1)} s`;
  return `${value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0)} ms`;
}

// What a host took of an answer's time, beside what was the bot's own.
function more(stolen, counted = false) {
  return stolen ? ` (the host took ${ms(stolen)} more${counted ? ", so it counted past its deadline" : ""})` : "";
}

function option(value, text) {
  const element = make("option", "", text);
  element.value = value;
  return element;
}
