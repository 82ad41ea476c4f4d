// Liar's Dice on the board: for each face only quantities above the current bid, and a face by tapping one of the player's own dice.
import { choosable, tells } from "/static/play.js";
import { say } from "/static/say.js";

function claim(form, stage, seat) {
  const raises = form.querySelector("[data-least]");
  if (!raises) return () => {};
  const least = new Map(raises.dataset.least.split(" ").map((pair) => pair.split(":")));
  const [quantity, face] = ["quantity", "face"].map((name) => form.querySelector(`[name=${name}]`));
  function drawn() {
    const before = quantity.min;
    quantity.min = least.get(face.value);
    if (Number(quantity.value) < Number(quantity.min) || quantity.value === before) quantity.value = quantity.min;
    tells(form, say("Dice that show %(face)s: at least %(quantity)s.", { quantity: quantity.value, face: face.value }));
    stage.querySelectorAll(`[data-seat="${seat}"] .die[data-face]`).forEach((die) => {
      if (least.has(die.dataset.face)) choosable(die, say("Bid on %(face)s", { face: die.dataset.face }), face.value === die.dataset.face, () => { face.value = die.dataset.face; drawn(); });
    });
  }
  form.addEventListener("change", drawn);
  return drawn;
}

export const hands = { claim };
