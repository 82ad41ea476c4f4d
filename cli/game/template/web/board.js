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
      prize.textContent = state.prize === null ? "No prize yet" : `Prize ${state.prize}`;
      rows.forEach(({ row, name }, seat) => {
        const played = state.cards === null ? "–" : state.cards[seat];
        row.textContent = `${name}: plays ${played}, holds ${state.hands[seat].join(" ")}, ${state.sums[seat]} points`;
      });
    },
    sights: false,
  };
}
