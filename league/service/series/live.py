"""Matches that can be watched while they are played: the worker stores the replies so far from time to time.

There is one row for each running series, renewed about once a second, and only for matches that take longer than that
(`workers.live`). The end of the series removes it, in the same transaction, and a row of an earlier attempt is not
shown. Nothing depends on it: the player of the match never reads it, and a lost or late row costs a spectator a moment.

The view is made here from the replies, the rules and the seed, which is not shown, without hands that the game has not
revealed (`engine.unfinished`). Nothing is shown of a match whose dice other matches will still use
(`league.service.series.deals`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam
from sqlmodel import Session, col, delete, func, select, update

from deadheat.engine.chance import attempt_seed
from deadheat.engine.games.variants import rules
from deadheat.engine.transcript import BadTranscript
from deadheat.engine.unfinished import Replies, Unfinished, read_replies, unfinished, write_replies
from deadheat.league.database import now
from deadheat.league.errors import NotFound
from deadheat.league.jobs import SeriesJob
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.deals import withheld
from deadheat.league.service.series.privacy import must_see
from deadheat.league.states import Asked, JobState, MatchState
from deadheat.league.tables import Bot, LiveMatch, Match, Participant, Season, Series

MOST_SHOWN_BYTES = 512 * 1024
"""The most bytes of a match's replies; a longer match is shown up to that point. A long match of six takes 100 kB."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A match as spectators may see it. `match`: None if nothing can be shown now, or it is not being played.

    `series`: the state of its series. `withheld`: other matches with its dice are not over. `voids`: attempts that
    failed through our fault, each with other dice. `private`: not everybody may see it. `version` changes whenever
    anything else does.
    """

    match_id: int
    game: str
    state: MatchState
    series: JobState
    voids: int = 0
    at: datetime | None = None
    match: Unfinished | None = None
    version: str = ""
    withheld: bool = False
    private: bool = False
    variant: Sequence[str] | None = None


def show(session: Session, job: SeriesJob, match_id: int, replies: Replies) -> bool:
    """Store a match's progress. Return False if the caller no longer holds the series, or the match is too long."""
    text = write_replies(replies)
    if len(text) > MOST_SHOWN_BYTES:
        return False
    claimed = select(Series.id).where(
        Series.id == job.series_id, Series.attempt == job.attempt, Series.state == JobState.RUNNING
    )
    if session.exec(claimed).first() is None:
        return False
    put(session, job.series_id, match_id, job.attempt, text)
    return True


def put(session: Session, series_id: int, match_id: int, attempt: int, replies: str) -> None:
    """Store the progress of a series' match, which the caller holds."""
    values: dict[str, Any] = {"match_id": match_id, "attempt": attempt, "replies": replies, "at": now(session)}
    if session.exec(update(LiveMatch).where(col(LiveMatch.series_id) == series_id).values(**values)).rowcount == 0:
        session.add(LiveMatch(series_id=series_id, **values))


FORGOTTEN = delete(LiveMatch).where(col(LiveMatch.series_id) == bindparam("ended_id"))


def forget(session: Session, series_id: int) -> None:
    """Remove the match of a series that has ended or was given back."""
    session.flush()
    session.connection().execute(FORGOTTEN, {"ended_id": series_id})


def watch(session: Session, match_id: int, viewer: Person | None = None) -> Watched:
    """Return the match in its present state, for a viewer who may see it. Raises NotFound."""
    statement = (
        select(Match, Season.game, Season.variant, Series)
        .join(Season, col(Season.id) == Match.season_id)
        .join(Series, col(Series.id) == Match.series_id)
        .where(Match.id == match_id)
    )
    shown = session.exec(statement).first()
    if shown is None:
        raise NotFound("match", match_id)
    row, game, variant, series = shown
    must_see(session, viewer, row)
    states, private = f"{row.state}-{series.state}", row.asked is Asked.PRIVATE
    watched = Watched(match_id, game, row.state, series.state, version=states, private=private, variant=variant)
    if withheld(session, [row]):
        return replace(watched, version=f"{states}-withheld", withheld=True)
    # A worker that has lost its lease may write late. With the next attempt's seed, its replies would reveal future
    # dice.
    written = select(LiveMatch).where(LiveMatch.match_id == match_id, LiveMatch.attempt == series.attempt)
    live = session.exec(written).first()
    if live is None or series.state is not JobState.RUNNING or row.state is not MatchState.SCHEDULED:
        return watched
    seats = session.exec(select(func.count()).where(col(Participant.match_id) == match_id)).one()
    seed = attempt_seed(row.seed, row.attempt)
    try:
        played = unfinished(rules(game, variant), seats, seed, read_replies(live.replies)).seen_by(None)
    except (BadTranscript, KeyError, ValueError):  # its worker plays another version of the rules
        played = None
    if played is not None and (agents := session.exec(AGENTS, params={"match_id": match_id}).all()):
        played = replace(played, about={"turns": dict.fromkeys(map(str, agents))})
    version = f"{states}-{live.attempt}-{0 if played is None else len(played.exchanges)}"
    over = "" if played is None or played.result is None else "-over"
    return replace(watched, voids=row.attempt - 1, at=live.at, match=played, version=version + over)


AGENTS = (
    select(Participant.seat)
    .join(Bot, col(Bot.id) == Participant.bot_id)
    .where(Participant.match_id == bindparam("match_id"), col(Bot.is_agent))
)


def live_matches(session: Session, series_ids: list[int]) -> dict[int, int]:
    """Return the match of each of these series that can be watched now."""
    statement = select(LiveMatch.series_id, Match).join(Match, col(Match.id) == LiveMatch.match_id)
    rows = session.exec(statement.where(col(LiveMatch.series_id).in_(series_ids))).all()
    untold = withheld(session, [match for _, match in rows])
    return {series_id: match.id for series_id, match in rows if match.id not in untold}
