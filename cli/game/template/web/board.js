import { say } from "/static/say.js";

// Draws the table: the prize on offer, the cards just played, and what both still hold.
//
// `place` is the element to fill, `match` the document of the match; `draw` shows a scene's state, and nothing that an
// earlier call left behind.
export function stage(place, match) {
  const rows = match.names.map((name, seat) => {
    const row = document.createElement("p");
    row.className = `seat${seat}`;
    place.append(row);
    return { row, name };
  });
  const prize = document.createElement("p");
  place.prepend(prize);
  return {
    draw(state) {
      prize.textContent = state.prize === null ? say("No prize yet") : say("Prize %(prize)s", { prize: state.prize });
      rows.forEach(({ row, name }, seat) => {
        const played = state.cards === null ? "–" : state.cards[seat];
        const told = { name, played, held: state.hands[seat].join(" "), sum: state.sums[seat] };
        row.textContent = say("%(name)s: plays %(played)s, holds %(held)s, %(sum)s points", told);
      });
    },
    sights: false,
  };
}
