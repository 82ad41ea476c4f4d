"""Rated tables: what makes a table of a season of agents a match of that season.

Theory of operation
-------------------
As soon as its seats are taken, a table gets a match of the season's ladder, in a series of its own: with the dice of
the season's next deal, and with the seats in an order that is drawn. The series runs from the start, and no worker
holds it, since the site carries the table (`turns`). Everything that reads series and matches therefore needs nothing
new: a season that closes waits for it, spectators watch it, and it is ranked, exported, archived and verified.

The table's end closes the series, in one transaction: the first to end either writes the result (`close`), or, because
the table is abandoned, drops the match (`drop`). So no deal of the season is without a match.

A network's delays cannot be attributed, so no figure of response times or deadlines counts these matches; a worker's
metrics count the programs there.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import mean
from typing import Any

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from deadheat.engine.core import NS_PER_S, Seat
from deadheat.engine.transcript import Transcript
from deadheat.league.causes import Cause
from deadheat.league.database import now, surroundings
from deadheat.league.jobs import AttemptRecord, Failure, MatchJob, ProgramRef, SeriesJob
from deadheat.league.outcomes import evidence, outcome
from deadheat.league.service.bots.bots import active
from deadheat.league.service.course.schedule import CENTRE_ELO
from deadheat.league.service.course.states import past_its_ladder
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.life import NO_WORKER_UNTIL, note
from deadheat.league.service.ground.lookups import newest_ranking
from deadheat.league.service.ground.steps import move, touch_log
from deadheat.league.service.series import live
from deadheat.league.service.series.dropping import drop as drop_series
from deadheat.league.service.series.outcomes import About, write_outcomes
from deadheat.league.service.series.planning import Table, add_series
from deadheat.league.states import ENTERABLE, ON_LADDER, JobState, Purpose
from deadheat.league.tables import (
    AbsentEntry,
    Bot,
    BotVersion,
    Entry,
    GameTable,
    Match,
    Participant,
    Season,
    Series,
    TableSeat,
    User,
)
from deadheat.league.verification.agreement import player

ATTEMPT = 1
"""The only attempt at such a series: what is played again at a table is played with the same dice."""

WHO = ("kind", "user_id", "version_id", "entrant_id", "name", "model")
"""The columns of a seat that say who sits there."""


def plan(session: Session, row: GameTable, seats: Mapping[Seat, TableSeat]) -> None:
    """Make a full table a match of its season, and draw its seats. The season is locked."""
    season, at = session.get_one(Season, row.season_id), now(session)
    who = {
        each.version_id or each.entrant_id or 0: {name: getattr(each, name) for name in WHO} for each in seats.values()
    }
    versions = [*who]
    if surroundings(session).entropy(1)[0] % 2:  # of two, the first begins; larger tables are drawn anyway
        versions.reverse()
    ((series_id,),) = add_series(session, season, [Table(versions, 1)])
    match = session.exec(select(Match).where(Match.series_id == series_id)).one()
    for version_id, seat in _seated(session, match.id):
        for name, value in who[version_id].items():
            setattr(seats[seat], name, value)
    row.match_id, row.seed, row.commitment = match.id, match.seed, match.commitment
    held = {"attempt": ATTEMPT, "lease_until": NO_WORKER_UNTIL, "started_at": at}
    assert move(session, Series, series_id, JobState.QUEUED, JobState.RUNNING, **held)


def empty(seat: TableSeat) -> None:
    """Let another agent have the seat."""
    seat.user_id, seat.entrant_id, seat.name, seat.model = None, None, None, ""


def give_up_absent(session: Session, row: GameTable, seats: Mapping[Seat, TableSeat]) -> None:
    """Empty the seats of agents that no longer take part in the season. The season and the table are locked."""
    out = select(AbsentEntry.bot_id).where(AbsentEntry.season_id == row.season_id)
    playing = select(BotVersion.id).join(Bot, col(Bot.id) == BotVersion.bot_id).where(active(), col(Bot.id).not_in(out))
    here = {seat.entrant_id: seat for seat in seats.values() if seat.entrant_id is not None}
    for entrant_id in here.keys() - session.exec(playing.where(col(BotVersion.id).in_(here))).all():
        empty(here[entrant_id])


def must_end(session: Session, row: GameTable) -> bool:
    """Say whether a table that waits for a worker is a season's match that has begun, or that an agent has left."""
    left = select(TableSeat.seat).where(TableSeat.table_id == row.id, col(TableSeat.resigned))
    return row.match_id is not None and (row.attempt > 0 or session.exec(left).first() is not None)


def _seated(session: Session, match_id: int) -> list[tuple[int, Seat]]:
    seated = columns(col(Participant.version_id), col(Participant.seat)).where(col(Participant.match_id) == match_id)
    session.flush()
    return [(version_id, seat) for version_id, seat in session.connection().execute(seated.order_by("seat"))]


def guests(session: Session, season: Season, newest: Mapping[int, int]) -> dict[int, int]:
    """Return the versions with which the house's bots may sit down in a season now, by bot, and enter those bots.
    `newest`: the newest version of each. The season is locked.
    """
    if season.state not in ON_LADDER or past_its_ladder(season, now(session)):
        return {}
    known = select(Entry.bot_id, Entry.version_id).where(Entry.season_id == season.id)
    playing = dict(session.exec(known.where(col(Entry.bot_id).in_(newest))).all())
    for bot_id, version_id in newest.items() if season.state in ENTERABLE else ():
        if bot_id not in playing:
            entry = Entry(season_id=season.id, bot_id=bot_id, version_id=version_id, created_at=now(session))
            session.add(entry)
            playing[bot_id] = version_id
            record(session, SYSTEM, "entered", f"season/{season.id}", {"bot": bot_id, "follows": True})
    out = session.exec(select(AbsentEntry.bot_id).where(AbsentEntry.season_id == season.id)).all()
    return {bot_id: version_id for bot_id, version_id in playing.items() if bot_id not in out}


def nearest(session: Session, season: Season, waiting: Iterable[TableSeat], versions: Iterable[int]) -> list[int]:
    """Return the versions ordered by how near each one's rating is to the mean of those who wait."""
    snapshot = newest_ranking(session, season.id)
    ranked = [] if snapshot is None else snapshot.standings["rows"]
    elo: defaultdict[int | None, float] = defaultdict(lambda: CENTRE_ELO)
    elo.update((row["version_id"], row["elo"]) for row in ranked)
    middle = mean(elo[seat.entrant_id] for seat in waiting)
    return sorted(versions, key=lambda version_id: abs(elo[version_id] - middle))


def about(session: Session, match_id: int) -> dict[str, object]:
    """Return the labels of the match's record."""
    series_id = session.get_one(Match, match_id).series_id
    return {"series": series_id, "match": match_id, "players": [name for _, name in _players(session, match_id)]}


def _players(session: Session, match_id: int) -> list[tuple[int, str]]:
    """Return the versions and the names of the players by seat."""
    session.flush()
    rows = session.connection().execute(PLAYERS, {"match_id": match_id})
    return [(row.version_id, player(row.author, row.bot, row.number)) for row in rows]


PLAYERS: Any = (
    columns(
        col(Participant.version_id),
        col(BotVersion.number),
        col(Bot.name).label("bot"),
        col(User.name).label("author"),
    )
    .join(BotVersion, col(BotVersion.id) == Participant.version_id)
    .join(Bot, col(Bot.id) == BotVersion.bot_id)
    .join(User, col(User.id) == Bot.owner_id)
    .where(col(Participant.match_id) == bindparam("match_id"))
    .order_by(col(Participant.seat))
)


def show(session: Session, row: GameTable) -> None:
    """Show the present step to spectators, as of any match: nothing that the game has not revealed."""
    if row.match_id is not None and len(row.replies) <= live.MOST_SHOWN_BYTES:
        match = session.get_one(Match, row.match_id)
        live.put(session, match.series_id, match.id, ATTEMPT, row.replies)


def close(session: Session, row: GameTable, transcript: Transcript, sha256: str) -> None:
    """Write the result of a table that has just ended. The table is done, so this happens once."""
    match, at = session.get_one(Match, row.match_id), now(session)
    series, players = session.get_one(Series, match.series_id), _players(session, match.id)
    ended = {"lease_until": None, "finished_at": at}
    assert move(session, Series, series.id, JobState.RUNNING, JobState.DONE, where={"attempt": ATTEMPT}, **ended)
    live.forget(session, series.id)
    labels = {version_id: ProgramRef(version_id, label, "", "") for version_id, label in players}
    job = SeriesJob(series.id, ATTEMPT, row.game, labels, (MatchJob(match.id, match.seed, tuple(labels)),))
    whole = About(match.season_id, Purpose.LADDER, series.started_at, True, True, None, None, None, ())
    began_ns, ended_ns = (int(each.timestamp() * NS_PER_S) for each in (row.started_at or at, at))
    played = AttemptRecord(began_ns, ended_ns, Cause.PLAYED, evidence=evidence(transcript))
    write_outcomes(session, job, row.worker or "", whole, [outcome(transcript, match.id, sha256, played, {})], at)
    touch_log(session, match.season_id)


def void(session: Session, row: GameTable, failure: Failure, worker: str | None) -> None:
    """Add a void attempt at a table's match, if it has one, to the ledger. The next one has the same dice."""
    if row.match_id is not None:
        match = session.get_one(Match, row.match_id)
        about = {"season_id": match.season_id, "series_id": match.series_id, "match_id": match.id}
        note(session, ATTEMPT, failure, now(session), **about, seed_number=ATTEMPT, worker=worker)


def drop(session: Session, table_id: int, cause: str) -> None:
    """Leave the match of an abandoned table unplayed, if it has one."""
    match_id = session.exec(select(GameTable.match_id).where(GameTable.id == table_id)).one()
    if match_id is not None:
        series = session.get_one(Series, session.get_one(Match, match_id).series_id)
        drop_series(session, series, JobState.RUNNING, cause, "The table was given up.")
        live.forget(session, series.id)
        touch_log(session, series.season_id)
