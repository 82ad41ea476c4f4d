// Moves made on the board itself. The form is still what is sent: tapping, dragging and stepping fill in its fields
// with legal values only, because the server offers no others (api/pages/player/turns). A game's module is
// `web/moves.js` in its folder, whose address the page gives in data-moves. It may import this module and replay-
// draw.js, and exports `hands`: by kind of turn, hand(form, stage, seat, isNewest) makes the board interactive and
// returns a function to call after each drawing.
import { say } from "./say.js";

let watching = null;

// Lets the form of a turn be played on that stage while `isNewest()`: a reader who looks back sees the past and moves
// nothing. null: it is nobody's turn.
export async function attach(form, stage, isNewest) {
  watching?.disconnect();
  stage.classList.remove("yours");
  const { moves } = stage.closest("[data-document]").dataset;
  if (!form || !moves) return;
  const { hands } = await import(moves);
  if (!(form.dataset.kind in hands)) return;
  for (const field of form.querySelectorAll("input[type=number]")) stepper(field);
  const drawn = hands[form.dataset.kind](form, stage, Number(form.dataset.seat), isNewest);
  const answer = () => {
    const open = form.isConnected && isNewest();
    stage.classList.toggle("yours", open);
    if (open) drawn();
  };
  answer();
  watching = new MutationObserver(answer);
  watching.observe(stage, { childList: true });
}

// Buttons beside a number, which stay within the offer.
function stepper(field) {
  const widest = Number(field.max) > 100 ? [1000, 100] : [1];
  const button = (by) => {
    const made = document.createElement("button");
    Object.assign(made, { type: "button", className: "second step", textContent: `${by < 0 ? "−" : "+"}${Math.abs(by) > 1 ? Math.abs(by) : ""}` });
    made.setAttribute("aria-label", by < 0 ? say("%(count)s less", { count: -by }) : say("%(count)s more", { count: by }));
    made.addEventListener("click", () => {
      field.value = String(Math.max(Number(field.min), Math.min(Number(field.max), Number(field.value) + by)));
      field.dispatchEvent(new Event("change", { bubbles: true }));
    });
    return made;
  };
  const row = document.createElement("span");
  row.className = "stepper";
  field.replaceWith(row);
  row.append(...widest.map((by) => button(-by)), field, ...widest.toReversed().map((by) => button(by)));
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
