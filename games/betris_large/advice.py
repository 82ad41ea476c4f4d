"""Advice after a match, in words and with the board."""

from deadheat.engine.advice import Adviser, Move
from deadheat.engine.core import Seat
from deadheat.engine.figures import counted
from deadheat.engine.games.forms import State
from deadheat.engine.language import N_, _
from deadheat.games.betris_large.polyominoes import SIDE


def _move(prompt: str, line: str, state: State, seat: Seat) -> Move:
    command, first, *numbers = line.split()
    if command == "BET":
        words = _("%(chips)s on %(block)s", chips=counted(int(numbers[0]), "chip"), block=first)
        return Move(words, first, int(numbers[0]))
    block, values = prompt.split()[1], [int(number) for number in numbers]
    cells = frozenset(zip(values[::2], values[1::2], strict=True))
    filled = {(row, column) for row, column in state["boards"][seat]}
    marks = {**dict.fromkeys(filled, "#"), **dict.fromkeys(cells, "+")}
    places = range(1, SIDE + 1)
    rows = tuple("".join(marks.get((row, column), ".") for column in places) for row in places)
    if not cells:
        return Move(_("pass with %(block)s", block=block), cells, rows=rows)
    across, down = (_span(single, more, [cell[axis] for cell in cells]) for axis, (single, more) in enumerate(LINES))
    return Move(_("%(block)s in %(rows)s, %(columns)s", block=block, rows=across, columns=down), cells, rows=rows)


LINES = (
    (N_("row %(first)s"), N_("rows %(first)s to %(last)s")),
    (N_("column %(first)s"), N_("columns %(first)s to %(last)s")),
)


def _span(single: str, more: str, values: list[int]) -> str:
    least, most = min(values), max(values)
    return _(single, first=least) if least == most else _(more, first=least, last=most)


ADVICE = Adviser("expert", _move)
