"""Advice after a match, in words and with the board."""

from __future__ import annotations

from deadheat.engine.advice import Adviser, Move
from deadheat.engine.core import Seat
from deadheat.engine.figures import counted
from deadheat.engine.games.forms import State
from deadheat.games.betris_large.polyominoes import SIDE


def _move(prompt: str, line: str, state: State, seat: Seat) -> Move:
    command, first, *numbers = line.split()
    if command == "BET":
        return Move(f"{counted(int(numbers[0]), 'chip')} on {first}", first, int(numbers[0]))
    block, values = prompt.split()[1], [int(number) for number in numbers]
    cells = frozenset(zip(values[::2], values[1::2], strict=True))
    filled = {(row, column) for row, column in state["boards"][seat]}
    marks = {**dict.fromkeys(filled, "#"), **dict.fromkeys(cells, "+")}
    places = range(1, SIDE + 1)
    rows = tuple("".join(marks.get((row, column), ".") for column in places) for row in places)
    if not cells:
        return Move(f"pass with {block}", cells, rows=rows)
    where = ", ".join(_span(word, [cell[axis] for cell in cells]) for axis, word in enumerate(("row", "column")))
    return Move(f"{block} in {where}", cells, rows=rows)


def _span(word: str, values: list[int]) -> str:
    least, most = min(values), max(values)
    return f"{word} {least}" if least == most else f"{word}s {least} to {most}"


ADVICE = Adviser("expert", _move)
