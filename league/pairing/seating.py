"""Who sits where in the matches of a series.

Everybody sits equally often in each seat: over two matches of two players, over n of n. A series that ends in between
leaves a difference of one, which the next series of the same two makes good, for it begins with the other
(`league.pairing.ladder`).

Where hands are private, the n matches of such a turn are played with the same dice (a *group*): each bot then has had
each hand, and luck with the dice cancels out. Where everybody plays with the same public dice, repeating them repeats
the game and tells nothing new, so every match has dice of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from league.pairing.pairs import lot


@dataclass(frozen=True, slots=True)
class Seating:
    """One match: its versions by seat, and the number of its group. Matches of one group share their dice."""

    seats: tuple[int, ...]
    group: int


def seatings(versions: Sequence[int], matches: int, *, same_deals: bool, seed: bytes) -> list[Seating]:
    """The matches of a series in order. Of two versions the first begins.

    At larger tables everybody moves on by one seat from match to match; in what order they sit, hence who follows
    whom, is drawn anew after each turn round the table. With `same_deals` `matches` are whole turns (`whole_turns`).
    """
    size = len(versions)
    assert not same_deals or matches % size == 0, "a group is never cut"
    found = []
    for number in range(matches):
        turn, step = divmod(number, size)
        order = list(versions) if size == 2 else sorted(versions, key=lambda version: lot(seed, turn, version))
        found.append(Seating((*order[step:], *order[:step]), turn if same_deals else number))
    return found


def whole_turns(matches: int, seats: int) -> int:
    """The most matches that are whole turns round the table and not more than `matches`, but at least one turn."""
    return max(matches // seats, 1) * seats
