// The viewer of a match: a stage that one module per game draws, a chart, and everything to move through its scenes.
// It replaces nothing: the table of moves below it is the same record, and works without this script.
//
// A game's module is `web/board.js` in its folder, whose address the page gives in data-board; its style sheet is
// `board.css` beside it. It may import /static/replay-draw.js, and exports one function:
//
//   stage(place, match) -> { draw(state, sight), sights }
//
// `place` is the element that the game fills; `match` the document of `engine.scenes`: `names` by seat, `board` (what
// no scene changes), `ranks` (null while it is played), `scenes`. `draw` shows a scene's `state`, and nothing that an
// earlier call left behind. A person who plays sees the parts of their own seat with the class `whose`. `sights`: true
// if some people may not see everything; `sight` is then the seat to see with, or null. Every scene must be drawn
// equally high, or the page jumps while it plays. Colours of seats are classes: .seat0 to .seat5 set --seat. Elements
// on which people may act have data attributes with the protocol's own words (data-seat, data-category, data-bundle,
// data-block, data-cell, data-face), so that a form can find them.
import { Chart } from "./replay-chart.js";
import { make, ms } from "./replay-draw.js";
import { say } from "./say.js";
import { plain } from "./text.js";

const STEP_MS = 1100;
const REST_MS = 500; // WebKit throws at the 101st change of the address within 30 s: this leaves room for 60

const root = document.getElementById("replay");
if (root) start(root);

const verify = document.querySelector("[data-verify]");
verify?.addEventListener("click", async (event) => {
  event.preventDefault();
  const told = verify.parentElement.querySelector("output");
  told.className = "";
  told.textContent = "…";
  const found = await asked(verify.href);
  if (found.verified === true) told.textContent = say("Verified: all %(exchanges)s exchanges and the result follow from the rules, dice and answers.", found);
  else if (found.verified === false) told.textContent = say("Not verified: %(problem)s", { problem: plain(found.problem ?? "") });
  else if (found.verified === null) told.textContent = say("It cannot be re-simulated here: %(problem)s.", { problem: plain(found.problem ?? "") });
  else told.textContent = say("It could not be re-simulated: %(problem)s", { problem: found.detail ? plain(found.detail) : say("no connection or no answer. Try again later.") });
  told.className = found.verified === null ? "" : found.verified ? "met" : "fault";
});

// Shift with Page Down or Page Up leads to the next or the previous match, in the list that was followed last.
const lists = [...document.querySelectorAll("[data-list]")];
for (const list of lists) list.addEventListener("click", () => sessionStorage.setItem("list", list.dataset.list));
if (lists.length) document.addEventListener("keydown", (event) => {
  const way = { PageDown: "next", PageUp: "prev" }[event.key];
  if (!way || !event.shiftKey || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, textarea, pre")) return;
  const followed = sessionStorage.getItem("list");
  const link = (lists.find((list) => list.dataset.list === followed) ?? lists[0]).querySelector(`[rel=${way}]`);
  if (link) { event.preventDefault(); link.click(); }
});

// The server's answer, even a refusal; nothing if the server did not answer itself.
async function asked(address) {
  try {
    return await (await fetch(address)).json();
  } catch {
    return {};
  }
}

// The style sheet keeps space until it is known whether there is a picture; without one, the record in words stays
// open.
async function start(root) {
  const record = document.querySelector("details.record");
  try {
    const response = await fetch(root.dataset.document);
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const shown = await viewer(root, await response.json());
    if (record) record.open = shown === null;
  } catch (error) {
    root.before(make("p", "fault", say("The replay cannot be shown: %(problem)s", { problem: error.message })));
  }
  root.classList.add("known");
}

// Creates a viewer of this match in that place; null if there are no pictures for its game, or for the rules that it
// was played by.
export async function viewer(root, match) {
  if (!root.dataset.board || !match.game) return null;
  const game = await import(root.dataset.board);
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
    this.chart = new Chart(this.part("chart"), (at) => { this.pause(); this.show(at); });
    this.idle = this.part("play").textContent;
    this.timer = null;
    this.resting = null;
    this.at = -1;
    this.sights();
    this.noted();
    this.marks();
    this.listen();
    const linked = this.linked();
    this.show(linked ?? (root.dataset.opens === "end" ? this.scenes.length - 1 : match.opens), linked !== null);
    if (linked !== null) this.seen();
  }

  // If only some people may see what is on the table, offer a choice of the seat to see with; a running match has none.
  sights() {
    const choice = this.part("sight");
    if (!this.stage.sights || this.match.ranks === null) return;
    choice.parentElement.hidden = false;
    choice.replaceChildren(option("", say("everything")), ...this.match.names.map((name, seat) => option(String(seat), say("what %(bot)s sees", { bot: name }))));
    choice.addEventListener("change", () => this.draw());
  }

  // The bots' notes from the match's page for its authors, each beside its move.
  noted() {
    this.notes = new Map();
    for (const row of document.querySelectorAll("[data-noted]")) {
      const move = Number(row.dataset.noted);
      this.notes.set(move, [...(this.notes.get(move) ?? []), row.lastElementChild.textContent]);
    }
    if (this.notes.size === 0) return;
    this.beside = make("p", "noted");
    this.beside.tabIndex = 0;
    this.beside.setAttribute("role", "region");
    this.beside.setAttribute("aria-label", say("Notes of your bot"));
    this.part("words").after(this.beside);
  }

  // A tick at every fault, buttons that go there and to the deciding moment, and the chart.
  marks() {
    this.faults = this.scenes.map((scene, index) => (scene.fault === null ? -1 : index)).filter((index) => index >= 0);
    this.part("marks").replaceChildren(...this.faults.map((index) => option(String(index), "")));
    this.part("fault").hidden = this.faults.length === 0;
    this.part("deciding").hidden = this.match.ranks === null;
    this.part("scrub").max = this.scenes.length - 1;
    this.chart.draw(this.match);
  }

  // Extends a running match: readers at its end stay there, and readers who look back are left in peace. `anew`: it
  // began again.
  grow(match, anew) {
    const atEnd = this.at === this.scenes.length - 1;
    this.match = match;
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
      deciding: () => this.show(this.match.opens),
      fault: () => this.show(this.faults.find((index) => index > this.at) ?? this.faults[0] ?? this.at),
      copy: () => this.copy(),
    };
    for (const [name, act] of Object.entries(acts)) {
      this.part(name).addEventListener("click", () => { if (name !== "play") this.pause(); act(); });
    }
    this.part("copy").hidden = !location.protocol.startsWith("http") || !navigator.clipboard || this.root.dataset.private !== undefined;
    this.part("scrub").addEventListener("input", (event) => { this.pause(); this.show(Number(event.target.value)); });
    this.part("speed").addEventListener("change", () => { if (this.timer) { this.pause(); this.play(); } });
    addEventListener("hashchange", () => { const at = this.linked(); if (at !== null && at !== this.at) { this.pause(); this.show(at); this.seen(); } });
    const keys = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", " ": "play", d: "deciding", D: "deciding", f: "fault", F: "fault" };
    document.addEventListener("keydown", (event) => {
      if (!(event.key in keys) || !this.meant(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.matches("select, textarea, pre")) return;
      if (/^[a-z]$/i.test(event.key) && !this.root.contains(event.target)) return;  // keys of one letter: dictation must not jump
      if (event.target.matches("button, summary") && event.key === " ") return;  // the button's own key
      if (event.target.matches("input") && event.key !== " " && event.key.length > 1 && !event.shiftKey) return;  // the slider knows the arrows
      event.preventDefault();
      if (event.key !== " ") this.pause();
      if (event.shiftKey && event.key === "ArrowLeft") this.show(this.round(-1));
      else if (event.shiftKey && event.key === "ArrowRight") this.show(this.round(1));
      else acts[keys[event.key]]();
    });
    this.part("lines")?.addEventListener("toggle", () => this.lines());
  }

  // Keys are for the viewer if it has the focus, or if it is in sight and nothing has the focus, as after a link or a
  // click.
  meant(target) {
    if (this.root.contains(target)) return true;
    const { top, bottom } = this.root.getBoundingClientRect();
    return document.activeElement === document.body && bottom > 0 && top < innerHeight;
  }

  // A link to a move means the picture; the browser goes to the row with the same name in the table below.
  seen() {
    this.root.scrollIntoView();
  }

  linked() {
    const found = /^#(.*)move-(\d+)$/.exec(location.hash);
    return found && found[1] === this.prefix ? Math.min(Number(found[2]), this.scenes.length - 1) : null;
  }

  // The first scene of the next round, of this round or of the previous one.
  round(way) {
    const begins = this.scenes.map((scene, index) => (index === 0 || scene.round !== this.scenes[index - 1].round ? index : -1)).filter((index) => index >= 0);
    return (way > 0 ? begins.find((index) => index > this.at) : begins.findLast((index) => index < this.at)) ?? this.at;
  }

  async copy() {
    this.name();
    const button = this.part("copy");
    try {
      await navigator.clipboard.writeText(location.href);
      button.textContent = say("Copied");
    } catch {
      button.textContent = say("Not allowed");
    }
    setTimeout(() => { button.textContent = say("Copy link"); }, 2000);
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
    this.part("play").textContent = playing ? say("Pause") : this.idle;
    this.part("play").setAttribute("aria-pressed", String(playing));
  }

  // `named`: whether to name the move in the address; a viewer that has just opened leaves the address as it is.
  show(index, named = this.at >= 0) {
    this.at = Math.max(0, Math.min(index, this.scenes.length - 1));
    const scene = this.scenes[this.at];
    this.part("words").textContent = scene.words;
    this.part("words").classList.toggle("fault", scene.fault !== null);
    const where = { round: scene.round, move: this.at + 1, moves: this.scenes.length };
    this.part("where").textContent = scene.round === null ? say("move %(move)s of %(moves)s", where) : say("round %(round)s, move %(move)s of %(moves)s", where);
    this.part("scrub").value = String(this.at);
    this.part("scrub").setAttribute("aria-valuetext", scene.words);
    this.answers(scene.answers);
    if (this.beside) this.beside.textContent = (this.notes.get(this.at) ?? []).join("\n");
    this.chart.show(this.at);
    this.draw();
    this.lines();
    this.still();
    if (named) this.resting = setTimeout(() => this.name(), REST_MS);
  }

  // Names the current move in the address. A browser that refuses such frequent changes is left alone.
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
    const { mine } = this.root.dataset; // the seat of the person who plays
    if (mine) for (const own of this.part("stage").querySelectorAll(`.seat${mine}`)) own.classList.add("whose");
  }

  answers(answers) {
    this.part("answers").replaceChildren(...answers.map((answer) => {
      const row = make("li", `seat${answer.seat}${answer.fault ? " fault" : ""}`);
      const name = make("span", "who", this.match.names[answer.seat]);
      const bar = make("meter");
      const own = answer.elapsed_ms - answer.stolen_ms;
      Object.assign(bar, { min: 0, max: 1, high: 0.8, value: Math.min(own / answer.limit_ms, 1) });
      bar.setAttribute("aria-hidden", "true");
      const took = answer.fault ? `${say(answer.fault)}, ` : "";
      row.append(name, " ", make("code", "", answer.command), " ", bar, ` ${took}${say("%(time)s of %(limit)s", { time: ms(own), limit: ms(answer.limit_ms) })}${more(answer.stolen_ms, answer.elapsed_ms > answer.limit_ms && own <= answer.limit_ms)}`);
      return row;
    }));
  }

  // The lines as they were sent, read once from the transcript when a reader asks for them.
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

// The time that the host took of an answer, beside the bot's own.
function more(stolen, counted = false) {
  if (!stolen) return "";
  return counted ? say(" (the host took %(time)s more, so it counted past its deadline)", { time: ms(stolen) }) : say(" (the host took %(time)s more)", { time: ms(stolen) });
}

function option(value, text) {
  const element = make("option", "", text);
  element.value = value;
  return element;
}
