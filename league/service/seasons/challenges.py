"""Challenges: unrated games of one version against another, series after series, until they are decided.

Theory of operation
-------------------
There are two reasons for them: an entry's promotion gate (`league.service.seasons.gates`), and somebody who asked
(`league.service.seasons.asked`). Both play, count and end here. Series of the two versions are played one after the
other, with fresh dice, and after each the SPRT (`league.sprt`, trinomial, in normalised Elo), if there is one, looks at
all finished games. What follows from its verdict is the gate's or the asker's affair.

The counts are taken from the matches each time, so it does not matter which process looks when. Matches that
both versions lost by their own fault, or that an organiser voided, count for neither.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, exists, or_, select

from deadheat.engine.figures import counted
from deadheat.league import sprt
from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.service.ground.steps import move
from deadheat.league.service.series.dropping import drop_waiting
from deadheat.league.service.series.planning import add_series
from deadheat.league.states import UNFINISHED, WITH_RESULT, Asked, ChallengeState, MatchState, Precedence, Purpose
from deadheat.league.tables import Challenge, Match, Participant, Season, Series, VoidedMatch

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Count:
    """How a challenge stands. `abandoned`: games that we failed to play."""

    wins: int
    draws: int
    losses: int
    spoiled: int  # both versions failed, or an organiser voided the game
    abandoned: int

    @property
    def played(self) -> int:
        """Games that count against the budget."""
        return self.wins + self.draws + self.losses + self.spoiled


def running(session: Session, season_id: int, *which: ColumnElement[bool]) -> Sequence[Challenge]:
    """The season's challenges that are not over and meet the conditions, the oldest first."""
    found = select(Challenge).where(Challenge.season_id == season_id, Challenge.state == ChallengeState.RUNNING, *which)
    return session.exec(found.order_by(col(Challenge.id))).all()


def busy(session: Session, season_id: int, which: ColumnElement[bool]) -> set[int]:
    """Those of the running challenges that meet the condition that play now, or wait for a game."""
    return set(session.exec(select(Challenge.id).where(col(Challenge.id).in_(_busy(season_id)), which)))


def _busy(season_id: int) -> Any:
    """Running challenges with a series that is not finished, or a game that waits for an organiser: a test that went on
    without it would not count it.
    """
    # Found by challenge: by season and state, all that the ladder has waiting would be read.
    mine = col(Series.challenge_id) == Challenge.id
    played_for = exists().where(mine, col(Series.state).in_(UNFINISHED))
    held = exists().where(mine, col(Match.series_id) == Series.id, col(Match.state) == MatchState.HELD)
    going_on = (Challenge.season_id == season_id, Challenge.state == ChallengeState.RUNNING)
    return select(Challenge.id).where(*going_on, or_(played_for, held))


def plan_series(session: Session, season: Season, challenge: Challenge, count: Count) -> list[int]:
    """The next series of a challenge that goes on, to be enqueued."""
    length = min(season.series_length, challenge.games_limit - count.played)
    first, second = challenge.candidate_id, challenge.incumbent_id
    if challenge.games_planned % 2:  # seats change with every game, over all series
        first, second = second, first
    asked = None
    if challenge.asker_id is not None:
        asked = Asked.PRIVATE if challenge.private else Asked.PUBLIC
    made = add_series(
        session,
        season,
        (first, second),
        length,
        purpose=Purpose.CHALLENGE,
        precedence=Precedence.NEW_VERSION if asked is None else Precedence.ASKED,
        challenge_id=challenge.id,
        asked=asked,
    )
    challenge.games_planned += length
    session.flush()
    return made


def judge(session: Session, challenge: Challenge, count: Count) -> sprt.Verdict:
    """Note how it stands; the verdict, to go on where there is no test."""
    challenge.wins, challenge.draws, challenge.losses = count.wins, count.draws, count.losses
    terms = terms_of(challenge)
    test = None if terms is None else sprt.test((count.losses, count.draws, count.wins), terms)
    challenge.llr = 0.0 if test is None else test.llr
    session.flush()
    return sprt.Verdict.CONTINUE if test is None else test.verdict


def end_challenge(session: Session, challenge: Challenge, state: ChallengeState, reason: str) -> bool:
    """Nothing more of it is played; False: it was over."""
    at = now(session)
    if not move(session, Challenge, challenge.id, ChallengeState.RUNNING, state, reason=reason, ended_at=at):
        return False
    session.refresh(challenge)
    detail = "The challenge ended before this series was played."
    mine = col(Series.challenge_id) == challenge.id
    challenge.games_planned -= drop_waiting(session, challenge.season_id, Cause.CHALLENGE_OVER, detail, mine)
    session.flush()
    log.info("challenge %d %s: %s", challenge.id, state.value, reason)
    return True


def unplayable(count: Count) -> str:
    """Why a challenge ends of which we failed to play as many games as it may have."""
    return f"The service failed: {counted(count.abandoned, 'game')} could not be played."


def count_games(session: Session, challenge: Challenge, tests: Sequence[Challenge]) -> Count:
    """All games of the test so far, from the candidate's side. `tests`: the challenge, and earlier ones of the same two
    programs, of which what was played counts, too.
    """
    by_id = {test.id: test for test in tests}
    statement = (
        select(Match, Participant, Series.challenge_id)
        .join(Series, col(Series.id) == Match.series_id)
        .join(Participant, col(Participant.match_id) == Match.id)
        .where(col(Series.challenge_id).in_(list(by_id)), Match.state != MatchState.SCHEDULED)
    )
    voided = select(VoidedMatch.match_id).where(VoidedMatch.season_id == challenge.season_id)
    games: dict[int, tuple[Challenge, dict[int, int]]] = {}
    spoiled, faulty, abandoned = set(session.exec(voided).all()), set(), set()
    for match, seat, test_id in session.exec(statement):
        if match.state not in WITH_RESULT:
            if test_id == challenge.id:
                abandoned.add(match.id)
            continue
        assert seat.rank is not None and test_id is not None, "a match with a result has ranks, and here a challenge"
        games.setdefault(match.id, (by_id[test_id], {}))[1][seat.version_id] = seat.rank
        if seat.fault is not None and match.id in faulty:
            spoiled.add(match.id)
        if seat.fault is not None:
            faulty.add(match.id)
    results = [_result(ranks, test) for match_id, (test, ranks) in games.items() if match_id not in spoiled]
    return Count(results.count(1), results.count(0), results.count(-1), len(spoiled & games.keys()), len(abandoned))


def _result(ranks: Mapping[int, int], challenge: Challenge) -> int:
    """1: the candidate won, 0: nobody, -1: it lost."""
    candidate, incumbent = ranks[challenge.candidate_id], ranks[challenge.incumbent_id]
    return (candidate < incumbent) - (candidate > incumbent)


def terms_of(row: Challenge) -> sprt.Terms | None:
    """Its sequential test; None: it has none."""
    if row.elo0 is None or row.elo1 is None or row.alpha is None or row.beta is None:
        return None
    return sprt.Terms(row.elo0, row.elo1, sprt.Model.NORMALIZED, row.alpha, row.beta)
