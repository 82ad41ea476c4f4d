"""Rankings: the whole log of a season is read, refitted and stored as one snapshot; nothing is updated in place.

The log is every match that counts (`league.service.counting`): who sat where with which rank. What people read
(`leaderboard`) is the newest snapshot and nothing else, so the price of a page does not depend on the number of
matches.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import Session, case, col, func, select, update
from sqlmodel.sql.expression import SelectOfScalar

from engine.core import Fault
from league import ratings
from league.database import now, settings_of, surroundings
from league.errors import NotFound
from league.pairing import parts
from league.service import places
from league.service.counting import counts, happened
from league.service.seasons import season_progress
from league.states import FinalsLog, Purpose
from league.tables import Bot, BotVersion, Match, Participant, RatingSnapshot, Season, Series, User

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A ranking as people see it. `standings` is JSON: ``rows`` (best first), ``totals``."""

    season_id: int
    snapshot_id: int | None  # None: nothing was ranked yet
    created_at: datetime | None
    log_sha256: str | None
    config: dict[str, Any]
    standings: dict[str, Any]
    final: bool = False


def seasons_to_refit(session: Session) -> list[int]:
    """Seasons whose log has grown since their newest ranking, where that one is old enough."""
    newest = select(func.max(RatingSnapshot.created_at)).where(RatingSnapshot.season_id == Season.id).scalar_subquery()
    statement = select(Season.id, newest).where(
        col(Season.log_serial) != col(Season.rated_serial), col(Season.id).not_in(_published())
    )
    latest = now(session) - timedelta(seconds=settings_of(session).refit_seconds)
    return [
        season_id for season_id, created_at in session.exec(statement) if created_at is None or created_at <= latest
    ]


def refit(session: Session, season_id: int) -> bool:
    """Rank a season anew; False: the log is the one of the newest ranking already, or somebody was quicker.

    The log is read and fitted in a reading session of its own, so that nobody who writes waits for it. The serial
    is read before the log. A match that ends in between is in the log with an older serial, so at worst one refit
    too many follows, never one too few.
    """
    with surroundings(session).reading() as reader:
        serial = reader.exec(select(Season.log_serial).where(Season.id == season_id)).one()
        snapshot = _rank(reader, season_id)
    seen = update(Season).where(col(Season.id) == season_id, col(Season.rated_serial) <= serial)
    seen = seen.values(rated_serial=serial).execution_options(synchronize_session=False)
    if session.exec(seen).rowcount != 1 or snapshot is None or season_id in session.exec(_published()).all():
        return False
    session.add(snapshot)
    session.flush()
    log.info("season %d ranked: log %s", season_id, snapshot.log_sha256[:12])
    return True


def _published() -> SelectOfScalar[int]:
    """Seasons with final standings: nothing is ranked there any more."""
    return select(RatingSnapshot.season_id).where(col(RatingSnapshot.final).is_(True))


def leaderboard(session: Session, season_id: int) -> Leaderboard:
    """The newest ranking. Raises NotFound."""
    if session.get(Season, season_id) is None:
        raise NotFound("season", season_id)
    newest = _newest(session, season_id)
    if newest is None:
        return Leaderboard(season_id, None, None, None, {}, {"rows": [], "totals": {}})
    return Leaderboard(
        season_id=season_id,
        snapshot_id=newest.id,
        created_at=newest.created_at,
        log_sha256=newest.log_sha256,
        config=newest.config,
        standings=newest.standings,
        final=newest.final,
    )


def newest_snapshot(session: Session, season_id: int) -> int | None:
    """Which ranking is the newest: what a cached page is checked against. Raises NotFound."""
    if session.get(Season, season_id) is None:
        raise NotFound("season", season_id)
    newest = _newest(session, season_id)
    return None if newest is None else newest.id


def ranking(session: Session, season_id: int) -> RatingSnapshot:
    """The ranking that the log now gives, not stored."""
    season = session.get_one(Season, season_id)
    active = places.entered(session, season_id)
    config = ratings.RatingConfig()
    log_of_season = list(_games(session, season_id))
    table = ratings.fit(log_of_season, config, [str(version_id) for version_id in active])
    shown = {entry.player: entry for entry in table.entries}
    finalists = [str(version_id) for version_id, (_, finalist) in active.items() if finalist]
    if season.finals_log is FinalsLog.FINALS and finalists:
        finals = list(_games(session, season_id, col(Series.purpose) == Purpose.FINALS))
        shown |= {entry.player: entry for entry in ratings.fit(finals, config, finalists).entries}
    linked = parts(active, {tuple(sorted(map(int, game.players))) for game in log_of_season})
    return RatingSnapshot(
        season_id=season_id,
        log_sha256=table.log_sha256,
        config=config.as_json() | _rules(season),
        standings=_standings(session, season_id, list(shown.values()), len(log_of_season), linked),
        created_at=now(session),
    )


def _rank(session: Session, season_id: int) -> RatingSnapshot | None:
    """The same; None: it is the newest one still."""
    newest = _newest(session, season_id)
    if newest is not None and _unchanged(session, season_id, newest):
        return None
    return ranking(session, season_id)


def _rules(season: Season) -> dict[str, object]:
    """What of the season's settings a ranking depends on beside the model's."""
    return {"finals_log": season.finals_log.value} if season.finals_log is FinalsLog.FINALS else {}


def _games(session: Session, season_id: int, *conditions: ColumnElement[bool]) -> Iterator[ratings.Game]:
    """The log, or what of it meets the conditions on `Series`."""
    statement = (
        select(Participant.match_id, Participant.version_id, Participant.rank)
        .join(Match, col(Match.id) == Participant.match_id)
        .where(*counts(season_id))
        .order_by(col(Participant.match_id), col(Participant.seat))
    )
    if conditions:
        statement = statement.join(Series, col(Series.id) == Match.series_id).where(*conditions)
    for _, seated in groupby(session.exec(statement.execution_options(yield_per=10_000)), lambda row: row[0]):
        players, ranks = [], []
        for _, version_id, rank in seated:
            assert rank is not None, "a rated match has ranks"
            players.append(str(version_id))
            ranks.append(rank)
        yield ratings.Game(tuple(players), tuple(ranks))


def _newest(session: Session, season_id: int) -> RatingSnapshot | None:
    """The published one, if there is one."""
    statement = select(RatingSnapshot).where(RatingSnapshot.season_id == season_id)
    newest_last = (col(RatingSnapshot.final).desc(), col(RatingSnapshot.id).desc())
    return session.exec(statement.order_by(*newest_last).limit(1)).first()


def _unchanged(session: Session, season_id: int, newest: RatingSnapshot) -> bool:
    progress = season_progress(session, season_id)
    totals = newest.standings["totals"]
    if (totals["abandoned"], totals["voids"]) != (progress.abandoned, progress.voids):
        return False
    if newest.config != ratings.RatingConfig().as_json() | _rules(session.get_one(Season, season_id)):
        return False
    rows = newest.standings["rows"]
    ranked = {row["version_id"]: (row.get("division"), row.get("finalist")) for row in rows if row["active"]}
    if ranked != places.entered(session, season_id):
        return False
    return newest.log_sha256 == ratings.log_sha256(list(_games(session, season_id)))


def _standings(
    session: Session, season_id: int, entries: list[ratings.Rating], rated: int, linked: Mapping[int, int]
) -> dict[str, Any]:
    """Rows for people: every version with a game, and every entry. Only entries' active versions get a place.

    `linked` names the part of the field that each version's games link it to; pairing brings parts together.
    """
    names = _names(session, [int(entry.player) for entry in entries])
    faults = _faults(session, season_id)
    rows = []
    for entry in entries:
        version_id = int(entry.player)
        timeouts, others = faults.get(version_id, (0, 0))
        rows.append(
            {
                "version_id": version_id,
                "part": linked[version_id],
                **names[version_id],
                "elo": entry.elo,
                "se": entry.se,
                "low": entry.low,
                "high": entry.high,
                "games": entry.games,
                "wins": entry.wins,
                "draws": entry.draws,
                "losses": entry.losses,
                "timeouts": timeouts,
                "other_faults": others,
            }
        )
    errors = {row["version_id"]: row["se"] for row in rows}
    progress = season_progress(session, season_id)
    totals = {
        "rated": rated,
        "matches": progress.done,
        "abandoned": progress.abandoned,
        "voids": progress.voids,
        "timeouts": sum(timeouts for timeouts, _ in faults.values()),
        "other_faults": sum(others for _, others in faults.values()),
    }
    in_order = places.placed(session, season_id, rows, lambda one, other: math.hypot(errors[one], errors[other]))
    return {"rows": in_order, "totals": totals}


def _names(session: Session, version_ids: list[int]) -> dict[int, dict[str, Any]]:
    statement = (
        select(BotVersion, Bot.id, Bot.name, User.name)
        .join(Bot, col(Bot.id) == BotVersion.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .where(col(BotVersion.id).in_(version_ids))
    )
    return {
        version.id: {
            "version": version.number,
            "language": version.language,
            "bot_id": bot_id,
            "bot": bot,
            "author": author,
        }
        for version, bot_id, bot, author in session.exec(statement)
    }


def _faults(session: Session, season_id: int) -> dict[int, tuple[int, int]]:
    """Timeouts and other faults of each version, in rated matches and in others."""
    timeouts = func.sum(case((col(Participant.fault) == Fault.TIMEOUT, 1), else_=0))
    statement = (
        select(Participant.version_id, timeouts, func.count())
        .join(Match, col(Match.id) == Participant.match_id)
        .where(*happened(season_id), col(Participant.fault).is_not(None))
        .group_by(col(Participant.version_id))
    )
    return {version_id: (late, every - late) for version_id, late, every in session.exec(statement)}
