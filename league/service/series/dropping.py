"""Drops series that are no longer needed, and restores the matches that they were to replace."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from sqlmodel import Session, col, select, update

from deadheat.league.database import now
from deadheat.league.jobs import Failure
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.life import note
from deadheat.league.service.ground.steps import move
from deadheat.league.service.series.deadlines import rule_on_deadlines
from deadheat.league.states import UNRATED, WITH_RESULT, JobState, MatchState
from deadheat.league.tables import Match, Pair, Participant, Series, VoidedMatch


def drop_waiting(session: Session, season_id: int, cause: str, detail: str, *conditions: Any) -> int:
    """Abandon the season's series that have not begun and meet the conditions; return how many matches they had."""
    waiting = select(Series).where(Series.season_id == season_id, Series.state == JobState.QUEUED, *conditions)
    return sum(drop(session, series, JobState.QUEUED, cause, detail) for series in session.exec(waiting).all())


def drop(session: Session, series: Series, before: JobState, cause: str, detail: str) -> int:
    """Abandon a series if it is still in that state, and return how many matches it had. One that waited may have been
    taken by a worker just now, so it is played.
    """
    at = now(session)
    if not move(session, Series, series.id, before, JobState.ABANDONED, lease_until=None, finished_at=at):
        return 0
    if series.purpose not in UNRATED:
        _uncount(session, series)
    left = (col(Match.series_id) == series.id, col(Match.state) == MatchState.SCHEDULED)
    match_ids = session.exec(select(Match.id).where(*left)).all()
    put_back(session, match_ids)
    session.exec(update(Match).where(*left).values(state=MatchState.ABANDONED, finished_at=at))
    note(session, series.attempt, Failure(cause, detail), at, season_id=series.season_id, series_id=series.id)
    return len(match_ids)


def _uncount(session: Session, series: Series) -> None:
    """Remove the games of a dropped series from the counts for pairing, so that a bot that returns gets them again."""
    waiting = (Match.series_id == series.id, Match.state == MatchState.SCHEDULED)
    repeated = col(Match.id).in_(select(VoidedMatch.rejudged_id).where(col(VoidedMatch.rejudged_id).is_not(None)))
    seated: dict[int, list[int]] = {}
    for match_id, version_id in session.exec(
        select(Participant.match_id, Participant.version_id)
        .join(Match, col(Match.id) == Participant.match_id)
        .where(*waiting, ~repeated)  # repetitions were never counted
        .order_by(col(Participant.match_id), col(Participant.seat))
    ):
        seated.setdefault(match_id, []).append(version_id)
    for versions in seated.values():
        for version, other in combinations(versions, 2):
            low, high = min(version, other), max(version, other)
            pair = session.get(Pair, (series.season_id, low, high))
            if pair is not None and pair.games > 0:
                pair.games -= 1
                if len(versions) == 2:
                    pair.lead -= 1 if version == low else -1


def drop_held(session: Session, season_id: int) -> None:
    """Abandon the season's matches that wait for an organiser."""
    at = now(session)
    on_hold = select(Match.id).where(Match.season_id == season_id, Match.state == MatchState.HELD)
    for match_id in session.exec(on_hold).all():
        move(session, Match, match_id, MatchState.HELD, MatchState.ABANDONED, finished_at=at)
        put_back(session, [match_id])


def put_back(session: Session, abandoned: Sequence[int]) -> None:
    """Let a match whose replacement will not be played count again: a rejudgement never loses a result. A match that
    was void before its replay was ordered stays void.
    """
    if not abandoned:
        return
    for voided in session.exec(select(VoidedMatch).where(col(VoidedMatch.rejudged_id).in_(abandoned))).all():
        if voided.at < session.get_one(Match, voided.rejudged_id).created_at:
            voided.rejudged_id = None
            continue
        session.delete(voided)
        match = session.get_one(Match, voided.match_id)
        if match.state in WITH_RESULT:
            rule_on_deadlines(session, match, void=False)
            data = {
                "season": voided.season_id,
                "reason": f"match {voided.rejudged_id}, its replacement, was not played",
            }
            record(session, SYSTEM, "match-restored", f"match/{voided.match_id}", data)
        else:
            put_back(session, [voided.match_id])
    session.flush()
