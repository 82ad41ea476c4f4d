"""A person's moves as forms."""

from collections.abc import Mapping

from deadheat.engine.core import Seat
from deadheat.engine.figures import counted
from deadheat.engine.games.forms import Fields, Form, State, Turn, Unfilled, choice, whole
from deadheat.engine.language import _
from deadheat.games.betris_large.polyominoes import PLACEMENTS, SHAPES, SIDE, SIZES, bit, cells_in
from deadheat.games.betris_large.rules import CHIPS, MAX_BET


def _bet(prompt: str, state: State, seat: Seat) -> Turn:
    a, b = prompt.split(" ")[1:3]
    chips = CHIPS if state["chips"][seat] is None else state["chips"][seat]
    most = min(MAX_BET, chips)
    offer = {"blocks": {a: SHAPES[a].split("/"), b: SHAPES[b].split("/")}, "chips": chips, "most": most}

    def line(fields: Fields) -> str:
        block = choice(fields, "block", (a, b), _("a block"))
        return f"BET {block} {whole(fields, 'chips', _('Your bet'), range(most + 1))}"

    return Turn("bet", line, offer)


def _place(prompt: str, state: State, seat: Seat) -> Turn:
    block = prompt.split(" ")[1]
    size = SIZES[block]
    filled = {(row, column) for row, column in state["boards"][seat]}
    taken = sum(map(bit, filled))
    fitting = [cells_in(mask) for mask in sorted(PLACEMENTS[block]) if not mask & taken]
    rows = [[(row, column, (row, column) in filled) for column in range(1, SIDE + 1)] for row in range(1, SIDE + 1)]

    def line(fields: Fields) -> str:
        if "pass" in fields:
            return "PLACE 0"
        cells = [(row, column) for line in rows for row, column, _ in line if f"cell{row}{column}" in fields]
        if len(cells) != size:
            raise Unfilled(_("tick %(cells)s, not %(count)s, or pass", cells=counted(size, "cell"), count=len(cells)))
        return " ".join(["PLACE", str(len(cells)), *(f"{row} {column}" for row, column in cells)])

    offer = {"block": block, "shape": SHAPES[block].split("/"), "size": size, "rows": rows, "fitting": fitting}
    return Turn("place", line, offer)


FORMS: Mapping[str, Form] = {"PHASE1": _bet, "PHASE2": _place}
