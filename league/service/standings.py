"""Rankings: the whole log of a season is read, refitted and stored as one snapshot; nothing is updated in place.

The log is every match that counts (`league.service.counting`): who sat where with which rank. What people read
(`leaderboard`) is the newest snapshot and nothing else, so the price of a page does not depend on the number of
matches.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from sqlmodel import Session, case, col, func, select, update

from engine.core import Fault
from league import ratings
from league.database import now, settings_of, surroundings
from league.errors import NotFound
from league.pairing import parts
from league.service.counting import counts, happened, taking_part
from league.service.seasons import Progress, season_progress
from league.tables import Bot, BotVersion, Entry, Match, Participant, RatingSnapshot, Season, User

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


def seasons_to_refit(session: Session) -> list[int]:
    """Seasons whose log has grown since their newest ranking, where that one is old enough."""
    newest = select(func.max(RatingSnapshot.created_at)).where(RatingSnapshot.season_id == Season.id).scalar_subquery()
    statement = select(Season.id, newest).where(col(Season.log_serial) != col(Season.rated_serial))
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
    if session.exec(seen).rowcount != 1 or snapshot is None:
        return False
    session.add(snapshot)
    session.flush()
    log.info("season %d ranked: log %s", season_id, snapshot.log_sha256[:12])
    return True


def leaderboard(session: Session, season_id: int) -> Leaderboard:
    """The newest ranking. Raises NotFound."""
    if session.get(Season, season_id) is None:
        raise NotFound("season", season_id)
    newest = _newest(session, season_id)
    if newest is None:
        return Leaderboard(season_id, None, None, None, {}, {"rows": [], "totals": {}})
    return Leaderboard(season_id, newest.id, newest.created_at, newest.log_sha256, newest.config, newest.standings)


def newest_snapshot(session: Session, season_id: int) -> int | None:
    """Which ranking is the newest: what a cached page is checked against. Raises NotFound."""
    statement = (
        select(Season.id, func.max(RatingSnapshot.id))
        .join(RatingSnapshot, col(RatingSnapshot.season_id) == Season.id, isouter=True)
        .where(Season.id == season_id)
        .group_by(col(Season.id))
    )
    found = session.exec(statement).first()
    if found is None:
        raise NotFound("season", season_id)
    return found[1]


def _rank(session: Session, season_id: int) -> RatingSnapshot | None:
    """The ranking that the log now gives, not stored; None: it is the newest one still."""
    games = list(_games(session, season_id))
    entered = [str(version_id) for version_id in _entered(session, season_id)]
    config = ratings.RatingConfig()
    newest = _newest(session, season_id)
    if newest is not None and _unchanged(newest, games, entered, config, season_progress(session, season_id)):
        return None
    table = ratings.fit(games, config, entered)
    linked = parts(map(int, entered), {tuple(sorted(map(int, game.players))) for game in games})
    return RatingSnapshot(
        season_id=season_id,
        log_sha256=table.log_sha256,
        config=config.as_json(),
        standings=_standings(session, season_id, table, linked),
        created_at=now(session),
    )


def _games(session: Session, season_id: int) -> Iterator[ratings.Game]:
    statement = (
        select(Participant.match_id, Participant.version_id, Participant.rank)
        .join(Match, col(Match.id) == Participant.match_id)
        .where(*counts(season_id))
        .order_by(col(Participant.match_id), col(Participant.seat))
    )
    for _, seated in groupby(session.exec(statement.execution_options(yield_per=10_000)), lambda row: row[0]):
        players, ranks = [], []
        for _, version_id, rank in seated:
            assert rank is not None, "a rated match has ranks"
            players.append(str(version_id))
            ranks.append(rank)
        yield ratings.Game(tuple(players), tuple(ranks))


def _entered(session: Session, season_id: int) -> list[int]:
    return list(session.exec(select(Entry.version_id).where(Entry.season_id == season_id, taking_part(season_id))))


def _newest(session: Session, season_id: int) -> RatingSnapshot | None:
    statement = select(RatingSnapshot).where(RatingSnapshot.season_id == season_id)
    return session.exec(statement.order_by(col(RatingSnapshot.id).desc()).limit(1)).first()


def _unchanged(
    newest: RatingSnapshot,
    games: list[ratings.Game],
    entered: list[str],
    config: ratings.RatingConfig,
    progress: Progress,
) -> bool:
    ranked = {str(row["version_id"]) for row in newest.standings["rows"] if row["active"]}
    totals = newest.standings["totals"]
    if (totals["abandoned"], totals["voids"]) != (progress.abandoned, progress.voids):
        return False
    same_inputs = newest.config == config.as_json() and ranked == set(entered)
    return same_inputs and newest.log_sha256 == ratings.log_sha256(games)


def _standings(
    session: Session, season_id: int, table: ratings.RatingTable, linked: Mapping[int, int]
) -> dict[str, Any]:
    """Rows for people: every version with a game, and every entry. Only entries' active versions get a place.

    `linked` names the part of the field that each version's games link it to; pairing brings parts together.
    """
    version_ids = [int(entry.player) for entry in table.entries]
    names = _names(session, version_ids)
    faults = _faults(session, season_id)
    active = set(_entered(session, season_id))
    rows = []
    place = 0
    for entry in table.entries:
        version_id = int(entry.player)
        place += version_id in active
        timeouts, others = faults.get(version_id, (0, 0))
        rows.append(
            {
                "rank": place if version_id in active else None,
                "version_id": version_id,
                "active": version_id in active,
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
    progress = season_progress(session, season_id)
    totals = {
        "rated": table.games,
        "matches": progress.done,
        "abandoned": progress.abandoned,
        "voids": progress.voids,
        "timeouts": sum(timeouts for timeouts, _ in faults.values()),
        "other_faults": sum(others for _, others in faults.values()),
    }
    return {"rows": rows, "totals": totals}


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
