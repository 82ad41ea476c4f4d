"""How soon a season is played as before, once a disturbance is over."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

BEFORE_SECONDS = 8.0
"""For so long before a disturbance the pace is measured with which the pace afterwards is compared."""

WINDOW_SECONDS = 6.0
FAST = 0.7
"""At pace again: the next `WINDOW_SECONDS` finish at least this share of the series that as much time did before."""

Finished = tuple[str, float, float]
"""A series that is done: its machine, the begin of its last attempt and its end, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was seen after the end of an outage; times in seconds since then, None: not yet.

    Only series begun since then count, since a result from before may just have waited for its way to the database.
    `first_seconds`, `all_seconds`: a series was finished by any machine, by all; `pace_seconds`: the pace is back.
    """

    first_seconds: float | None
    all_seconds: float | None
    pace_seconds: float | None


def recovery(
    played: Sequence[Finished], machines: Sequence[str], struck_at: float, over_at: float, now_at: float
) -> Recovery:
    """Judge the series finished by `now_at`: a disturbance struck at one instant, and its cause was over at another."""
    before = sum(struck_at - BEFORE_SECONDS <= ended_at < struck_at for _, _, ended_at in played)
    wanted = max(1.0, FAST * before * WINDOW_SECONDS / BEFORE_SECONDS)
    new = sorted((ended_at - over_at, name) for name, began_at, ended_at in played if began_at >= over_at)
    firsts = [min((at for at, by in new if by == name), default=None) for name in machines]
    seen = [at for at in firsts if at is not None]
    halves = (half / 2 for half in range(floor(2 * (now_at - over_at - WINDOW_SECONDS)) + 1))
    paced = (begin for begin in halves if sum(begin <= at < begin + WINDOW_SECONDS for at, _ in new) >= wanted)
    return Recovery(min(seen, default=None), max(seen) if len(seen) == len(machines) else None, next(paced, None))
