"""Challenges: unrated games of one version against another, series after series, until they are decided.

Theory of operation
-------------------
There are three reasons for them: an entry's promotion gate (`league.service.seasons.gates`), an author's request
(`league.service.seasons.asked`), and the panel that a version plays on arrival (`league.service.seasons.panels`). This
module plans, counts and ends them all. Series of the two versions are played one after the other, with fresh dice, and
after each the SPRT (`league.sprt`, trinomial, in normalised Elo), if there is one, looks at all finished games. The
gate, the request or the panel decides what follows from its verdict.

The counts are taken from the matches each time, so it does not matter which process decides, or when. Matches that both
versions lost by their own fault, or that an organiser voided, count for neither. At a panel a voided one is played
again.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache

from sqlalchemy import ColumnElement, bindparam
from sqlmodel import Session, col, exists, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from deadheat.engine.figures import plural
from deadheat.engine.language import N_
from deadheat.league import sprt
from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.service.ground.steps import move
from deadheat.league.service.series.dropping import drop_waiting
from deadheat.league.service.series.planning import Table, add_series
from deadheat.league.states import UNFINISHED, WITH_RESULT, Asked, ChallengeState, MatchState, Precedence, Purpose
from deadheat.league.tables import Challenge, Match, Participant, Season, Series, VoidedMatch

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Count:
    """The score of a challenge. `abandoned`: games that we failed to play, or that were dropped."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    both_failed: int = 0
    voided: int = 0  # by organisers
    abandoned: int = 0
    begun: int = 0  # the games that the candidate began, without the voided ones

    @property
    def finished(self) -> int:
        """Games with a result that stands."""
        return self.wins + self.draws + self.losses + self.both_failed

    @property
    def played(self) -> int:
        """Games that count against the budget of a test."""
        return self.finished + self.voided

    def plus(self, other: Count, *, own: bool) -> Count:
        """Return the sum of both counts. Abandoned games of the other challenge are left out unless it is `own`."""
        names = (one.name for one in fields(Count) if own or one.name != "abandoned")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in names})


AT_GATES = col(Challenge.entry_id).is_not(None)
ASKED = col(Challenge.asker_id).is_not(None)
"""The conditions on challenges at a season's gates, and on those at authors' requests."""

TESTED = ("elo0", "elo1", "alpha", "beta")
"""The columns with the terms of a challenge's test."""


def running(session: Session, season_id: int, which: ColumnElement[bool]) -> Sequence[Challenge]:
    """Return the season's challenges that are not over and meet `AT_GATES` or `ASKED`, the oldest first."""
    return session.exec(_running(which), params={"season_id": season_id}).all()


def busy(session: Session, season_id: int, which: ColumnElement[bool]) -> set[int]:
    """Return the running challenges that meet `which` and have an unfinished series, or a game that waits for an
    organiser. Deciding a test earlier would leave that game out.
    """
    return set(session.exec(_busy(which), params={"season_id": season_id}))


@cache
def _running(which: ColumnElement[bool]) -> SelectOfScalar[Challenge]:
    here = (Challenge.season_id == bindparam("season_id"), Challenge.state == ChallengeState.RUNNING)
    return select(Challenge).where(*here, which).order_by(col(Challenge.id))


@cache
def _busy(which: ColumnElement[bool]) -> SelectOfScalar[int]:
    here = (Challenge.season_id == bindparam("season_id"), Challenge.state == ChallengeState.RUNNING)
    return select(Challenge.id).where(*here, in_play(), which)


def in_play() -> ColumnElement[bool]:
    """Return the condition on `Challenge` that a series of it is unfinished, or a game of it waits for an organiser."""
    # Look up series by challenge: by season and state, the query would read all waiting series of the ladder.
    mine = col(Series.challenge_id) == Challenge.id
    played_for = exists().where(mine, col(Series.state).in_(UNFINISHED))
    held = exists().where(mine, col(Match.series_id) == Series.id, col(Match.state) == MatchState.HELD)
    return or_(played_for, held)


def plan_series(session: Session, season: Season, challenge: Challenge, count: Count) -> list[int]:
    """Plan the next series of a running challenge, and return the series to enqueue."""
    length = min(season.series_length, challenge.games_limit - count.played)
    asked = None
    if challenge.asker_id is not None:
        asked = Asked.PRIVATE if challenge.private else Asked.PUBLIC
    precedence = Precedence.NEW_VERSION if asked is None else Precedence.ASKED
    candidate_begins = challenge.games_planned % 2 == 0  # the first seat changes with every game, across series
    return add_games(
        session, season, challenge, length, candidate_begins=candidate_begins, precedence=precedence, asked=asked
    )


def add_games(
    session: Session,
    season: Season,
    challenge: Challenge,
    length: int,
    *,
    candidate_begins: bool,
    precedence: Precedence,
    asked: Asked | None = None,
) -> list[int]:
    """Add a series of that many games, in which the two take turns at the first seat; return the series to enqueue."""
    sides = (challenge.candidate_id, challenge.incumbent_id)
    table = Table(sides if candidate_begins else sides[::-1], length, precedence, challenge_id=challenge.id)
    purpose = Purpose.CHALLENGE if challenge.panel_id is None else Purpose.PANEL
    (made,) = add_series(session, season, [table], purpose=purpose, asked=asked)
    challenge.games_planned += length
    session.flush()
    return made


def judge(session: Session, challenge: Challenge, count: Count) -> sprt.Verdict:
    """Store the score, and return the verdict, which without a test is always to continue."""
    challenge.wins, challenge.draws, challenge.losses = count.wins, count.draws, count.losses
    terms = terms_of(challenge)
    test = None if terms is None else sprt.test((count.losses, count.draws, count.wins), terms)
    challenge.llr = 0.0 if test is None else test.llr
    session.flush()
    return sprt.Verdict.CONTINUE if test is None else test.verdict


def end_challenge(session: Session, challenge: Challenge, state: ChallengeState, reason: str) -> bool:
    """End a challenge, so that nothing more of it is played. Return False if it was over."""
    at = now(session)
    if not move(session, Challenge, challenge.id, ChallengeState.RUNNING, state, reason=reason, ended_at=at):
        return False
    session.refresh(challenge)
    detail = N_("The challenge ended before this series began.")
    mine = col(Series.challenge_id) == challenge.id
    challenge.games_planned -= drop_waiting(session, challenge.season_id, Cause.CHALLENGE_OVER, detail, mine)
    session.flush()
    log.info("challenge %d %s: %s", challenge.id, state.value, reason)
    return True


def unplayable(count: Count) -> str:
    """Return the reason for ending a challenge of which the service failed to play as many games as it may have."""
    return f"The service failed: {plural(count.abandoned, 'game')} could not be played."


def count_games(session: Session, challenge: Challenge, tests: Sequence[Challenge]) -> Count:
    """Count all games of the test so far, from the candidate's side. `tests`: the challenge, and earlier ones of the
    same two programs, whose played games count too.
    """
    return total(challenge, tests, counts_of(session, challenge.season_id, tests))


def total(challenge: Challenge, tests: Sequence[Challenge], counts: Mapping[int, Count]) -> Count:
    """Return the sum of several challenges' counts. `tests`: as for `count_games`."""
    found = Count()
    for test in tests:
        found = found.plus(counts[test.id], own=test.id == challenge.id)
    return found


def counts_of(session: Session, season_id: int, challenges: Sequence[Challenge]) -> dict[int, Count]:
    """Return the games of each of these challenges of a season, by its id."""
    by_id = {challenge.id: challenge for challenge in challenges}
    statement = (
        select(Match, Participant, Series.challenge_id)
        .join(Series, col(Series.id) == Match.series_id)
        .join(Participant, col(Participant.match_id) == Match.id)
        .where(col(Series.challenge_id).in_(list(by_id)), Match.state != MatchState.SCHEDULED)
    )
    voided = set(session.exec(select(VoidedMatch.match_id).where(VoidedMatch.season_id == season_id)).all())
    games: dict[int, tuple[int, Match, dict[int, Participant]]] = {}
    for match, seat, challenge_id in session.exec(statement):
        assert challenge_id is not None, "it was looked for"
        games.setdefault(match.id, (challenge_id, match, {}))[2][seat.version_id] = seat
    found: dict[int, Counter[str]] = {challenge_id: Counter() for challenge_id in by_id}
    for challenge_id, match, seats in games.values():
        challenge = by_id[challenge_id]
        candidate = seats[challenge.candidate_id]
        kind = _kind(match, candidate, seats[challenge.incumbent_id], voided)
        if kind is None:
            continue
        found[challenge_id][kind] += 1
        found[challenge_id]["begun"] += candidate.seat == 0 and kind in STANDING
    return {challenge_id: Count(**tally) for challenge_id, tally in found.items()}


STANDING = ("wins", "draws", "losses", "both_failed")
"""The kinds of games whose result stands."""


def _kind(match: Match, candidate: Participant, incumbent: Participant, voided: Collection[int]) -> str | None:
    """Return the field of `Count` in which a game counts, or None while it waits for an organiser."""
    if match.state not in WITH_RESULT:
        return "abandoned" if match.state is MatchState.ABANDONED else None
    assert candidate.rank is not None and incumbent.rank is not None, "a match with a result has ranks"
    if match.id in voided:
        return "voided"
    if candidate.fault is not None and incumbent.fault is not None:
        return "both_failed"
    if candidate.rank == incumbent.rank:
        return "draws"
    return "wins" if candidate.rank < incumbent.rank else "losses"


def terms_of(row: Challenge) -> sprt.Terms | None:
    """Return the terms of a challenge's sequential test, or None if it has none."""
    if row.elo0 is None or row.elo1 is None or row.alpha is None or row.beta is None:
        return None
    return sprt.Terms(row.elo0, row.elo1, sprt.Model.NORMALIZED, row.alpha, row.beta)
