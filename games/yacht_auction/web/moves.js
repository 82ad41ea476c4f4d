// Yacht Auction on the board: a bundle by tapping it, dice by tapping them, a category in its row.
import { choosable, tells } from "/static/play.js";
import { signed, spaced } from "/static/replay-draw.js";
import { say } from "/static/say.js";

function auction(form, stage) {
  const radios = [...form.querySelectorAll("[name=bundle]")];
  const bid = form.querySelector("[name=bid]");
  const button = form.querySelector("button:not([type])");
  function drawn() {
    const bundle = radios.find((radio) => radio.checked)?.value;
    const points = Number(bid.value);
    button.disabled = !bundle;
    if (!bundle) tells(form, say("Tap bundle A or B."));
    else if (points === 0) tells(form, say("%(bundle)s, for nothing.", { bundle }));
    else tells(form, say("%(bundle)s: %(price)s if you get it, %(gain)s if not.", { bundle, price: signed(-points), gain: signed(points) }));
    for (const radio of radios) {
      const bundle = stage.querySelector(`[data-bundle=${radio.value}]`);
      if (bundle) choosable(bundle, say("Bundle %(bundle)s", { bundle: radio.value }), radio.checked, () => { radio.checked = !radio.checked; drawn(); });
    }
  }
  form.addEventListener("change", drawn);
  return drawn;
}

function score(form, stage, seat) {
  const boxes = [...form.querySelectorAll("[name^=die]")];
  const { dice: number, points } = form.querySelector("[data-dice]").dataset;
  const [wanted, worth] = [Number(number), JSON.parse(points)];
  const category = form.querySelector("[name=category]");
  const button = form.querySelector("button:not([type])");
  const idle = button.textContent;
  category.selectedIndex = category.length === 1 ? 0 : -1;
  if (boxes.length === wanted) for (const one of boxes) one.checked = true; // there is nothing to choose
  function drawn() {
    const chosen = boxes.filter((one) => one.checked).map((one) => one.value).sort();
    const full = chosen.length >= wanted;
    const would = worth[chosen.join("")] ?? {};
    for (const one of boxes) one.disabled = full && !one.checked;
    button.disabled = !full || category.selectedIndex < 0;
    button.textContent = button.disabled ? idle : `${idle} ${spaced(would[category.value])}`;
    if (!full) tells(form, say("%(count)s of %(dice)s dice", { count: chosen.length, dice: wanted }));
    else tells(form, category.selectedIndex < 0 ? say("Tap a category.") : category.selectedOptions[0].text);
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
      if (!row) continue;
      row.querySelector(".points").textContent = full ? spaced(would[value]) : "";
      choosable(row, full ? `${text}: ${spaced(would[value])}` : text, selected, () => { if (selected && category.length > 1) category.selectedIndex = -1; else category.value = value; drawn(); });
    }
  }
  form.addEventListener("change", drawn);
  return drawn;
}

export const hands = { auction, score };
