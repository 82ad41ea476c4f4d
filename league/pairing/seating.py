"""The seats in matches that the same versions play against each other.

Everybody sits equally often in each seat: over two matches of two players, over n of n. A series that ends in between
leaves a difference of one. The next series of the same two begins with the other one, which evens it out
(`league.pairing.ladder`).

If the dice are public and the same for everybody, repeating them shows nothing new, so every match has its own dice,
and the matches are one series. If hands are private, each deal is played once from every seat (its *rotations*): each
bot then has had each hand, and luck with the dice cancels out. A bot that remembered a deal from one match to the next
would play the later rotation knowing every hand, so the rotations of a deal lie in as many different series, each in
its own boxes and with the deals in its own order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from deadheat.league.pairing.pairs import lot


@dataclass(frozen=True, slots=True)
class Seating:
    """One match: its versions by seat, and the number of its deal. All matches of one deal share their dice."""

    seats: tuple[int, ...]
    deal: int


def seatings(versions: Sequence[int], matches: int, *, seed: bytes) -> list[Seating]:
    """Seat the matches of one series in order, each with its own dice. With two versions, the first begins.

    At larger tables everybody moves by one seat after each match, and the order is drawn again after each full turn.
    """
    size = len(versions)
    seated = []
    for number in range(matches):
        turn, step = divmod(number, size)
        seated.append(Seating(_rotated(_order(versions, turn, seed), step), number))
    return seated


def turns(versions: Sequence[int], deal: int, *, seed: bytes) -> list[tuple[int, ...]]:
    """Seat the matches of one deal, counted from 0, so that everybody sits in each seat once. Two versions take turns
    at beginning from deal to deal; at larger tables the order is drawn again after as many deals as there are seats.
    """
    order = _order(versions, deal // len(versions), seed)
    return [_rotated(order, deal + turn) for turn in range(len(versions))]


def rotations(versions: Sequence[int], deals: int, *, seed: bytes) -> list[list[Seating]]:
    """Seat the series for some deals, one series per seat: each has every deal once, and no two seat a deal alike.

    In each series, everybody sits equally often in each seat, give or take one match. The order of the deals is drawn
    for each series. With three deals or more, no deal is the last of one series and the first of the next, which may be
    played right after it; with two deals, that would make all orders the same.
    """
    size = len(versions)
    seated: list[list[Seating]] = []
    for series in range(size):
        order = sorted(range(deals), key=partial(lot, seed, series, deals))
        if deals > 2 and seated and order[0] == seated[-1][-1].deal:
            order = [*order[1:], order[0]]
        seated.append([Seating(turns(versions, deal, seed=seed)[series], deal) for deal in order])
    return seated


def _order(versions: Sequence[int], turn: int, seed: bytes) -> list[int]:
    """Return the order at the start of a turn around the table. Two players alternate and need no lots."""
    return list(versions) if len(versions) == 2 else sorted(versions, key=lambda version: lot(seed, turn, version))


def _rotated(order: Sequence[int], step: int) -> tuple[int, ...]:
    step %= len(order)
    return (*order[step:], *order[:step])


def whole_turns(matches: int, seats: int) -> int:
    """Return the largest number up to `matches` that makes whole turns around the table, but at least one turn."""
    return max(matches // seats, 1) * seats


def around(order: Sequence[int], above: int, seats: int) -> tuple[int, ...]:
    """Return a player and the next one in the order, with their nearest neighbours if the table is larger."""
    start = max(0, min(order.index(above) - (seats - 2) // 2, len(order) - seats))
    return tuple(order[start : start + seats])
