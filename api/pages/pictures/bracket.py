"""The geometry of a knockout's bracket; the template draws it as SVG, and also as a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from deadheat.engine.language import _
from deadheat.league.records.contests import BracketTie, EvaluationSeat

WIDTH, LINE, GAP, ACROSS, TOP = 168, 22, 14, 40, 26
"""The width of a tie and the height of each of its lines; the space below, beside, and above for round names."""

MOST_TIES = 32
"""The most ties in the first round drawn. Earlier rounds are only in the table."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a tie. `seat` None: not known yet; `won`: it advances; `y`: the place of its line."""

    seat: EvaluationSeat | None
    points: float
    won: bool
    y: float


@dataclass(frozen=True, slots=True)
class Box:
    """A tie with its upper left corner. `way`: the line to its winner's next tie; empty if there is none."""

    tie: BracketTie
    name: str
    x: float
    y: float
    sides: tuple[_Side, ...]
    way: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The whole picture. `names`: the rounds' names, each with its middle."""

    boxes: list[Box]
    names: list[tuple[float, str]]
    width: float
    height: float


def picture(ties: Sequence[BracketTie], seats: int = 2) -> Picture | None:
    """Compute the picture; None if there is nothing to draw. The tables of a round stand one below the other: only
    pairs have a line to the next tie, for who sits where next depends on everybody.
    """
    if not ties:
        return None
    rounds = ties[-1].round
    drawn = [tie for tie in ties if 2 ** (rounds - tie.round) <= MOST_TIES]
    first = drawn[0].round
    pitch = 2 * LINE + GAP
    boxes: list[Box] = []
    for tie in drawn:
        depth = tie.round - first
        x = depth * (WIDTH + ACROSS)
        middle = TOP + (2**depth * (tie.slot - 0.5)) * pitch
        if _is_third(tie, rounds):  # below the final
            middle = TOP + 2**depth * pitch / 2 + 2.5 * pitch
        y, way = middle - LINE, ""
        if tie.round < rounds and seats == 2:
            turn, end, half = x + WIDTH + ACROSS / 2, x + WIDTH + ACROSS, 2**depth * pitch / 2
            towards = middle + half if tie.slot % 2 else middle - half
            way = f"{x + WIDTH:g},{middle:g} {turn:g},{middle:g} {turn:g},{towards:g} {end:g},{towards:g}"
        results = [(tie.first, tie.first_points), (tie.second, tie.second_points)]
        if seats > 2:
            above = [box.y + LINE * len(box.sides) + GAP for box in boxes if box.tie.round == tie.round]
            y = max(above, default=float(TOP))
            results += [*zip(tie.seats[2:], tie.points[2:], strict=True)]
            results += [(None, 0.0)] * (0 if tie.is_bye else seats - len(results))
        sides = tuple(
            _Side(seat, points, seat is not None and seat.version_id in tie.advancing, y + LINE * (line + 1) - 6)
            for line, (seat, points) in enumerate(results)
        )
        boxes.append(Box(tie, name_of(tie, rounds), x, y, sides, way))
    height = max(box.y + LINE * len(box.sides) for box in boxes) + GAP / 2
    names = [
        ((number - first) * (WIDTH + ACROSS) + WIDTH / 2, _round(number, rounds)) for number in range(first, rounds + 1)
    ]
    return Picture(boxes, names, (rounds - first) * (WIDTH + ACROSS) + WIDTH + 2, height)


def _is_third(tie: BracketTie, rounds: int) -> bool:
    return tie.round == rounds and tie.slot == 2


def name_of(tie: BracketTie, rounds: int) -> str:
    return _("Third place") if _is_third(tie, rounds) else _round(tie.round, rounds)


def _round(number: int, rounds: int) -> str:
    return {0: _("Final"), 1: _("Semifinals"), 2: _("Quarterfinals")}.get(
        rounds - number, _("Round %(number)s", number=number)
    )
