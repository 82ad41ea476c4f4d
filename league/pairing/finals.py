"""Finals that ratings decide: the tables of their rounds, and the games that follow between neighbours.

Everything here is a pure function of the field and what it has played, so anybody can draw it again. Points of rounds
serve the Swiss pairing alone. A round in which a bot had no table that counts is worth as much as a won one.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.pairing.pairs import pair_key
from deadheat.league.pairing.rounds import NoRound, Score, berger, swiss, tables
from deadheat.league.pairing.tournament import Form

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
