// Moves made on the board itself. The form is still what is sent: tapping, dragging and stepping fill in its fields
// with legal values only, because the server offers no others (api/pages/player/exhibition). Meanwhile it is a bar at the
// bottom of the window, so that the button is always in sight; what only repeats the board has the class `repeats` in
// the game's turns.html, and is hidden. A game's module is `web/moves.js` in its folder, whose address the page gives in
// data-moves. It may import this module and replay-draw.js, and exports `hands`: by kind of turn, hand(form, stage,
// seat, isNewest) makes the board interactive and returns a function to call after each drawing. The stage has the kind
// in data-turn, for the game's style sheet.
import { spaced } from "./replay-draw.js";
import { say } from "./say.js";

let watching = null;

// Lets the form of a turn be played on the stage of that viewer while it shows the newest scene: a reader who looks
// back sees the past and moves nothing. null: it is nobody's turn.
export async function attach(form, viewer) {
  watching?.disconnect();
  const stage = viewer.part("stage");
  stage.classList.remove("yours");
  delete stage.dataset.turn;
  if (!form) return;
  const { moves } = viewer.root.dataset;
  const { hands } = moves ? await import(moves) : { hands: {} };
  form.classList.remove("waits");
  const { kind, seat } = form.dataset;
  if (!(kind in hands)) return;
  const isNewest = () => viewer.at === viewer.scenes.length - 1;
  form.classList.add("bar");
  form.append(past(viewer));
  stage.dataset.turn = kind;
  for (const field of form.querySelectorAll("input[type=number]")) stepper(field);
  const drawn = hands[kind](form, stage, Number(seat), isNewest);
  const answer = () => {
    const open = form.isConnected && isNewest();
    stage.classList.toggle("yours", open);
    form.classList.toggle("past", !open);
    form.querySelector(".back span").textContent = say("You are looking at move %(move)s.", { move: viewer.at + 1 });
    if (open) drawn();
  };
  answer();
  watching = new MutationObserver(answer);
  watching.observe(stage, { childList: true });
}

// What the bar says instead while its reader looks back.
function past(viewer) {
  const told = document.createElement("p");
  const now = document.createElement("button");
  Object.assign(now, { type: "button", className: "second", textContent: say("Back to now") });
  now.addEventListener("click", () => { viewer.pause(); viewer.show(viewer.scenes.length - 1); });
  told.className = "back";
  told.append(document.createElement("span"), " ", now);
  return told;
}

// Says in the bar what is chosen, or what to do next.
export function tells(form, words) {
  const told = form.querySelector(".tells");
  if (told.textContent !== words) told.textContent = words;
}

// Buttons beside a number, which stay within the offer: one step less and more (data-step), and amounts to add
// (data-chips), of which 0 starts again.
function stepper(field) {
  const { step = "1", chips = "" } = field.dataset;
  const button = (text, label, value) => {
    const made = document.createElement("button");
    Object.assign(made, { type: "button", className: "second step", textContent: text });
    made.setAttribute("aria-label", label);
    made.addEventListener("click", () => {
      field.value = String(Math.max(Number(field.min), Math.min(Number(field.max), value())));
      field.dispatchEvent(new Event("change", { bubbles: true }));
    });
    return made;
  };
  const less = (by) => button("−", say("%(count)s less", { count: by }), () => Number(field.value) - by);
  const more = (by, text) => button(text, say("%(count)s more", { count: by }), () => Number(field.value) + by);
  const place = document.createElement("span");
  const row = document.createElement("span");
  place.className = "stepper";
  row.className = "chips";
  field.replaceWith(place);
  place.append(less(Number(step)), field, more(Number(step), "+"));
  for (const chip of chips.split(" ").filter(Boolean).map(Number)) row.append(chip ? more(chip, `+${spaced(chip)}`) : button("0", "0", () => 0));
  if (chips) place.after(row);
  field.addEventListener("focus", () => field.select());
  field.addEventListener("input", () => field.dispatchEvent(new Event("change", { bubbles: true })));
}

// An element of the board that a tap or a key chooses.
export function choosable(element, label, isChosen, choose) {
  element.classList.add("choosable");
  element.classList.toggle("chosen", isChosen);
  element.setAttribute("role", "button");
  element.setAttribute("aria-pressed", String(isChosen));
  element.setAttribute("aria-label", label);
  element.tabIndex = 0;
  element.onclick = choose;
  element.onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation(); // the viewer has keys of its own
    choose();
  };
}
