"""Finals that ratings decide: the tables of their rounds, and the games that follow until neighbours are told apart.

Everything here is a pure function of the field and what it has played, so anybody can draw it again. Points of rounds
serve the Swiss pairing alone. A round in which a bot had no table that counts is worth as much as a won one.

*Telling neighbours apart.* If two players' strengths are d Elo apart, a game gives the information p (1 - p) / c^2 per
square Elo about this difference, where p = 1 / (1 + 10^(-d/400)) and c = 400 / ln 10 (Bradley and Terry). Whatever else
is known about everyone, m games of just these two turn the variance V of their difference into
1 / (1/V + m p (1 - p) / c^2), an update of rank one. This equation is solved for m.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from deadheat.engine.figures import NORMAL_95
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.pairing.ladder import PLACED_GAMES, PLACED_SE_ELO
from deadheat.league.pairing.pairs import pair_key
from deadheat.league.pairing.rounds import NoRound, Score, berger, swiss, tables
from deadheat.league.pairing.seating import whole_turns
from deadheat.league.pairing.tournament import Form

ELO_PER_NAT = 400 / math.log(10)

SETTLED = 3.0
"""Neighbours that differ by so many standard errors are in their final order: even if they played for ever, in one case
of 700 another one would come out.
"""

Field = Sequence[int]
"""The finalists' versions of one division, the best seed first."""

Points = Callable[[], Mapping[int, Score]]
"""Adds up the points of all rounds, where a draw needs them."""


@dataclass(frozen=True, slots=True)
class Played:
    """A series of the finals. `round`: None for one of the games after the rounds.

    `lost`: how many of its matches we failed to play. `struck`: it carries no information about its players, because we
    played none of its matches, or one of them has been disqualified since.
    """

    round: int | None
    versions: frozenset[int]
    matches: int = 0
    lost: int = 0
    finished: bool = True
    struck: bool = False


def due_tables(
    form: Form, seed: bytes, field: Field, played: Sequence[Played], points: Points
) -> list[tuple[int, tuple[int, ...]]]:
    """Return the tables of rounds that can be played now and are not planned yet, each with the round's number: all of
    a round robin, or the next round of a Swiss when the one before has ended. `seed` decides who sits first.
    """
    rounds = [series for series in played if series.round is not None]
    if form.format is EvaluationFormat.ROUND_ROBIN:
        planned = {series.versions for series in rounds}
        drawn = ((number, pair) for number, drawing in enumerate(berger(field), 1) for pair in drawing.pairs)
        return [(number, pair) for number, pair in drawn if frozenset(pair) not in planned]
    last = max((series.round or 0 for series in rounds), default=0)
    if last >= form.rounds or not all(series.finished for series in rounds):
        return []
    # A rejudged match adds a series to its round, but a version sits in a round only once.
    seats = {(version, series.round) for series in rounds if not series.struck for version in series.versions}
    sat = Counter(version for version, _ in seats)
    byes = Counter({version: last - sat[version] for version in field})
    taken = points()
    scores = {version: taken.get(version, 0) + byes[version] * form.matches for version in field}
    if form.seats > 2:
        return [(last + 1, table) for table in tables(field, scores, byes, form.seats)]
    met = {pair_key(*sorted(series.versions)) for series in rounds}
    try:
        pairs = swiss(field, scores, met, list(byes.elements()), seed).pairs
    except NoRound:
        return []
    return [(last + 1, pair) for pair in pairs]


def extra_games(played: Sequence[Played], budget: int) -> tuple[int, int]:
    """Count the planned games after the rounds, without those that the service failed to play, and the games that may
    follow.

    Failed games do not use up the budget, up to as many again: a host that always fails must not keep finals going.
    """
    further = [series for series in played if series.round is None]
    lost = sum(series.lost for series in further)
    spent = sum(series.matches for series in further) - lost
    return spent, max(0, budget - spent - max(0, lost - budget))


# Telling neighbours apart ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gap:
    """Two neighbours in the ranking that are not separated, and the capped number of `games` that would do it."""

    above: int
    below: int
    games: int


def games_to_part(difference_elo: float, variance: float, most_games: int) -> int:
    """Return how many games are likely to make the 95 % interval of two players' difference leave out zero."""
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
