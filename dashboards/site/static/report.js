// The report of a tournament: the list of its games, and the cost of another limit or a slower machine.
import { make, ms } from "./replay-draw.js";

const SHOWN = 100; // games in the list, and how many each press adds
const DOUBLINGS = 16; // bars up to the limit, as cli/tournament/times.py draws them
const BAR = 6;
const LIMIT_STEPS = 4; // of the slider, to each doubling

const read = (name) => JSON.parse(document.getElementById(name)?.textContent ?? "null");
const find = (name) => document.getElementById(name);

const found = read("games-data");
if (found) list(found);
const times = read("whatif");
if (times) whatIf(times);

function list({ labels, games }) {
  const [bot, against, kind, more] = ["bot", "against", "kind", "more"].map(find);
  for (const choice of [bot, against]) choice.append(...labels.map((label, number) => new Option(label, String(number))));
  const body = document.querySelector("#list tbody");
  let most = SHOWN;
  const draw = () => {
    const chosen = games.filter((game) => fits(game, bot.value, against.value, kind.value));
    body.replaceChildren(...chosen.slice(0, most).map((game) => row(game, labels)));
    more.hidden = chosen.length <= most;
    find("listed").textContent = `${Math.min(most, chosen.length)} of ${chosen.length} ${chosen.length === 1 ? "game" : "games"}.`;
  };
  const anew = () => { most = SHOWN; draw(); };
  for (const choice of [bot, against, kind]) choice.addEventListener("change", anew);
  more.addEventListener("click", () => { most += SHOWN; draw(); });
  const named = () => {
    const pair = /^#pair-(\d+)-(\d+)$/.exec(location.hash);
    if (!pair) return;
    [bot.value, against.value, kind.value] = [pair[1], pair[2], ""];
    anew();
    find("choose").scrollIntoView();
  };
  addEventListener("hashchange", named);
  find("choose").hidden = false;
  draw();
  named();
}

// Whether to list a game. "Lost" is any place but the first, "won" the first place, shared or not.
function fits([, players, ranks, , faults], bot, against, kind) {
  const seat = bot === "" ? -1 : players.indexOf(Number(bot));
  if (bot !== "" && seat < 0) return false;
  if (against !== "" && !players.includes(Number(against))) return false;
  if (kind === "fault") return seat < 0 ? faults.length > 0 : faults.some(([failed]) => failed === seat);
  if (kind === "" || seat < 0) return true;
  return (ranks[seat] === 1) === (kind === "won");
}

function row([number, players, ranks, points, faults, seconds, kept], labels) {
  const line = make("tr");
  const first = make("th", "number", kept ? null : String(number));
  first.scope = "row";
  if (kept) {
    const link = make("a", "", String(number));
    link.href = `#game-${number}`;
    first.append(link);
  }
  const names = make("td", "players");
  players.forEach((player, seat) => names.append(seat ? " – " : "", make("span", ranks[seat] === 1 ? "won" : "", labels[player])));
  const failed = faults.map(([seat, fault, command]) => `${labels[players[seat]]}: ${fault}${command ? ` at ${command}` : ""}`);
  line.append(first, names, make("td", "pairing", points?.join(" : ") ?? `${ranks.length > 2 ? "places" : "place"} ${ranks.join(" : ")}`), make("td", "fault", failed.join(", ")), make("td", "number", seconds.toFixed(2)));
  return line;
}

function whatIf({ rows, nearest, ready, bank }) {
  const [limit, load] = [find("limit"), find("load")];
  const banks = new Set(rows.filter(([, command]) => command === bank).map(([player]) => player));
  const draw = () => {
    const scale = 2 ** (Number(limit.value) / LIMIT_STEPS);
    const slower = Number(load.value);
    told(limit, "limit-told", `${percent(scale)} of each limit: ${limits(rows, scale, ready, bank, banks)}`);
    told(load, "load-told", slower === 1 ? "as fast as this one" : `${slower.toFixed(1)} times as slow as this one`);
    let [late, all, lost] = [0, 0, 0];
    rows.forEach(([player, command, most, own], number) => {
      if (banks.has(player) && command !== ready && command !== bank) return; // the bank bounds all of them together
      const bound = (command === ready ? 1 : scale) / slower;
      const past = own.reduce((sum, [value, count]) => sum + (value > most || value > most * bound ? count : 0), 0);
      const total = own.reduce((sum, [, count]) => sum + count, 0);
      picture(number, bound);
      document.querySelector(`[data-late="${number}"]`).textContent = past ? `${past.toLocaleString("en")} (${percent(past / total)})` : "0";
      late += past;
      all += total;
    });
    nearest.forEach((games, player) => {
      const gone = games.filter(([moves, start]) => moves * slower > scale || start * slower > 1);
      lost += gone.length;
      document.querySelector(`[data-lost="${player}"]`).textContent = gone.length.toLocaleString("en");
      document.querySelector(`[data-won="${player}"]`).textContent = gone.filter(([, , won]) => won).length.toLocaleString("en");
    });
    const what = banks.size ? "starts and time banks" : "answers";
    find("whatif-told").textContent = `Late: ${percent(late / all)} of the ${what} (${late.toLocaleString("en")} of ${all.toLocaleString("en")}), ${lost.toLocaleString("en")} more games lost.`;
  };
  for (const slider of [limit, load]) slider.addEventListener("input", draw);
  find("as-played").addEventListener("click", () => { limit.value = "0"; load.value = "1"; draw(); });
  document.querySelector(".whatif").hidden = false;
  draw();
}

function told(slider, name, text) {
  slider.setAttribute("aria-valuetext", text);
  find(name).textContent = text;
}

// The limit of each command at the slider's position.
function limits(rows, scale, ready, bank, banks) {
  const known = new Map(rows.filter(([player, command]) => command !== ready && (!banks.has(player) || command === bank)).map(([, command, most]) => [command, most]));
  return [...known].map(([command, most]) => `${command} ${ms(most * scale)}`).join(", ");
}

// The line of the limit in a picture; bars that lie completely beyond it are red.
function picture(number, bound) {
  const drawn = document.querySelector(`svg[data-row="${number}"]`);
  const place = Math.max(0, Math.min(DOUBLINGS, Math.log2(bound) + DOUBLINGS));
  const line = drawn.querySelector("line");
  for (const end of ["x1", "x2"]) line.setAttribute(end, String(BAR * place - 0.5));
  for (const bar of drawn.querySelectorAll("rect")) bar.classList.toggle("over", Number(bar.dataset.bar) >= Math.min(place, DOUBLINGS));
}

function percent(share) {
  const value = 100 * share;
  return value === 0 ? "0 %" : value < 0.01 ? "under 0.01 %" : `${value.toPrecision(value < 100 ? 2 : 3).replace(/\.0+$/, "")} %`;
}
