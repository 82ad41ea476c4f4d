// Yacht Auction on the board: a bundle by tapping it, dice by tapping them, a category in its row.
import { choosable } from "/static/play.js";
import { say } from "/static/say.js";

function auction(form, stage) {
  const radios = [...form.querySelectorAll("[name=bundle]")];
  function drawn() {
    for (const radio of radios) {
      const bundle = stage.querySelector(`[data-bundle=${radio.value}]`);
      if (bundle) choosable(bundle, say("Bundle %(bundle)s", { bundle: radio.value }), radio.checked, () => { radio.checked = true; drawn(); });
    }
  }
  form.addEventListener("change", drawn);
  return drawn;
}

function score(form, stage, seat) {
  const boxes = [...form.querySelectorAll("[name^=die]")];
  const wanted = Number(form.querySelector("[data-dice]").dataset.dice);
  const category = form.querySelector("[name=category]");
  const button = form.querySelector("button:not([type])");
  category.selectedIndex = category.length === 1 ? 0 : -1;
  if (boxes.length === wanted) for (const one of boxes) one.checked = true; // there is nothing to choose
  function drawn() {
    const full = boxes.filter((one) => one.checked).length >= wanted;
    for (const one of boxes) one.disabled = full && !one.checked;
    button.disabled = !full || category.selectedIndex < 0;
    stage.querySelectorAll(`[data-hand="${seat}"] .die`).forEach((die, place) => {
      const one = boxes[place];
      die.classList.toggle("spare", one.disabled);
      choosable(die, say("Die %(number)s: %(face)s", { number: place + 1, face: one.value }), one.checked, () => {
        if (one.disabled) return;
        one.checked = !one.checked;
        drawn();
      });
    });
    for (const { value, text, selected } of category.options) {
      const row = stage.querySelector(`[data-category="${value}"][data-seat="${seat}"]`);
      if (row) choosable(row, text, selected, () => { category.value = value; drawn(); });
    }
  }
  form.addEventListener("change", drawn);
  return drawn;
}

export const hands = { auction, score };
