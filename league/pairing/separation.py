"""The number of further games that separates neighbours in a ranking.

If two players' strengths are d Elo apart, a game gives the information p (1 - p) / c^2 per square Elo about this
difference, where p = 1 / (1 + 10^(-d/400)) and c = 400 / ln 10 (Bradley and Terry). Whatever else is known about
everyone, m games of just these two turn the variance V of their difference into 1 / (1/V + m p (1 - p) / c^2), an
update of rank one. This equation is solved for m.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from deadheat.engine.figures import NORMAL_95
from deadheat.league.pairing.ladder import PLACED_GAMES, PLACED_SE_ELO
from deadheat.league.pairing.seating import whole_turns

ELO_PER_NAT = 400 / math.log(10)

SETTLED = 3.0
"""Neighbours that differ by so many standard errors are in their final order: even if they played for ever, in one case
of 700 another one would come out.
"""


@dataclass(frozen=True, slots=True)
class Gap:
    """Two neighbours in the ranking that are not separated, and the capped number of `games` that would do it."""

    above: int
    below: int
    games: int


def games_to_part(difference_elo: float, variance: float, most_games: int) -> int:
    """Return how many games are likely to make two players' difference `NORMAL_95` standard errors, so that its 95 %
    interval leaves out zero.
    """
    if difference_elo**2 > NORMAL_95**2 * variance:
        return 0
    if difference_elo == 0:
        return most_games
    p = 1 / (1 + 10 ** (-abs(difference_elo) / 400))
    information = p * (1 - p) / ELO_PER_NAT**2
    games = ((NORMAL_95 / difference_elo) ** 2 - 1 / variance) / information
    return max(1, math.ceil(min(games, most_games)))


def is_settled(rows: Sequence[Mapping[str, Any]], divisions: Mapping[int, int], patient: Collection[int] = ()) -> bool:
    """Say whether further games are unlikely to change the order of these versions, each with its division: all but the
    `patient` ones are placed and linked by games, and neighbours differ by `SETTLED` standard errors.

    `rows`: the ranking's, the best first. `gap_se` belongs to the next row. Where that one does not play any more, two
    errors are added as if they were independent, which is never less: what ties a field together makes them alike.
    """
    watched = divisions.keys() - set(patient)
    there = [row for row in rows if row["version_id"] in watched]
    if len(there) < len(watched) or min(Counter(divisions.values()).values(), default=0) < 2:
        return False
    if any(row["se"] > PLACED_SE_ELO and row["games"] < PLACED_GAMES for row in there):
        return False
    following = {above["version_id"]: below["version_id"] for above, below in pairwise(rows)}
    for above, below in pairwise(sorted(there, key=lambda row: (divisions[row["version_id"]], -row["elo"]))):
        if divisions[above["version_id"]] != divisions[below["version_id"]]:
            continue
        adjacent = following.get(above["version_id"]) == below["version_id"] and above["gap_se"] is not None
        error = above["gap_se"] if adjacent else math.hypot(above["se"], below["se"])
        if above.get("part") != below.get("part") or above["elo"] - below["elo"] < SETTLED * error:
            return False
    return True


def share_out(gaps: Sequence[Gap], budget_games: int, series_length: int, turn: int = 1) -> list[Gap]:
    """Plan the next series: one for each pair that needs it, best places first, until the budget is used up.

    Each pair gets one series, however many it needs; otherwise two equals at the top would use up everybody's games.
    Then the ratings are fitted again, and the rest of the budget is shared out. A series consists of whole turns; a
    remainder of the budget that is less than a turn is not spent.
    """
    shared = []
    for gap in gaps:
        games = whole_turns(min(gap.games, series_length, budget_games), turn)
        if games > budget_games:
            break
        shared.append(Gap(gap.above, gap.below, games))
        budget_games -= games
    return shared
