"""The public record of a bot and its author: seasons, opponents, failures, versions.

Each view is one indexed query, bounded by `RECENT_MATCHES` where a bot may have played any number of matches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import sqlalchemy
from sqlalchemy import ColumnElement, and_, bindparam, case
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, func, select

from deadheat.engine.core import Fault
from deadheat.league.errors import NotFound
from deadheat.league.records.bots import Bot as BotInfo
from deadheat.league.service.bots.bots import infos
from deadheat.league.service.ground.counting import HAS_RESULTS, SEASONS_AT_A_TIME, counts
from deadheat.league.service.people.users import user_named
from deadheat.league.service.series.deals import FOR_WITHHOLDING, withheld
from deadheat.league.service.series.privacy import PLANNED
from deadheat.league.states import ON_LADDER, Players, SeasonState, VersionState
from deadheat.league.tables import Bot, BotVersion, Entry, Match, Participant, Season, Team, TeamMember, User

RECENT_MATCHES = 5000
"""The number of a bot's newest matches in a season among which its opponents are counted."""

MAX_OPPONENTS = 200
MAX_FAULTS = 100
MAX_VERSIONS = 100


@dataclass(frozen=True, slots=True)
class Part:
    """A season in which a bot takes part. `has_results`: a match of the season has ended. `challenged`: authors may ask
    for unrated matches against it now.
    """

    season_id: int
    season: str
    state: SeasonState
    has_results: bool
    division: int
    version: int
    challenged: bool


@dataclass(frozen=True, slots=True)
class Opponent:
    """A bot's opponent: how often the bot was placed before it, level with it and after it, in matches that count."""

    bot_id: int
    bot: str
    author: str
    matches: int
    won: int
    drawn: int
    lost: int

    @property
    def share(self) -> float:
        """The share of the points, with draws as halves; 0 to 1."""
        return (self.won + self.drawn / 2) / self.matches


@dataclass(frozen=True, slots=True)
class Failure:
    """A match that a bot lost by its own fault."""

    match_id: int
    version: int
    fault: Fault
    command: str
    elapsed_ms: float | None
    why: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class PublicVersion:
    """An upload, without the details that only its author may see. `entry`: an agent's model."""

    id: int
    number: int
    state: VersionState
    language: str
    entry: str
    created_at: datetime
    built_at: datetime | None


def parts_of(session: Session, bot_ids: Sequence[int]) -> dict[int, list[Part]]:
    """Return the seasons of each of these bots, the newest first."""
    parts: dict[int, list[Part]] = {bot_id: [] for bot_id in bot_ids}
    for row in session.connection().execute(PARTS, {"bots": list(bot_ids)}):
        asked = row.unrated_games > 0 and row.players is Players.PROGRAMS
        values = (*row[1:-2], asked and row.state in ON_LADDER)
        parts[row.bot_id].append(Part(*values))
    return parts


_SEASON = (Season.id, Season.name, Season.state)
_ENTRY = (Entry.division, BotVersion.number, Season.unrated_games, Season.players)
PARTS: Any = (
    sqlalchemy.select(col(Entry.bot_id), *map(col, _SEASON), HAS_RESULTS, *map(col, _ENTRY))
    .join_from(Entry, Season, col(Season.id) == Entry.season_id)
    .join(BotVersion, col(BotVersion.id) == Entry.version_id)
    .where(col(Entry.bot_id).in_(bindparam("bots", expanding=True)))
    .order_by(col(Season.id).desc())
)


def opponents(session: Session, season_id: int, bot_id: int) -> list[Opponent]:
    """Return the opponents of a bot, the most frequent first."""
    return [Opponent(*row) for row in session.connection().execute(_met(season_id), {"bot": bot_id})]


@lru_cache(SEASONS_AT_A_TIME)
def _met(season_id: int) -> Any:
    own, other = aliased(Participant), aliased(Participant)
    oldest = (
        select(Participant.match_id)
        .where(Participant.bot_id == bindparam("bot"))
        .order_by(col(Participant.match_id).desc())
        .offset(RECENT_MATCHES)
        .limit(1)
        .scalar_subquery()
    )
    matches, lead = func.count().label("matches"), col(own.rank) - col(other.rank)
    ways = {"won": lead < 0, "drawn": lead == 0, "lost": lead > 0}
    counted = (func.sum(case((way, 1), else_=0)).label(name) for name, way in ways.items())
    met = (
        sqlalchemy.select(col(other.bot_id), matches, *counted)
        .join_from(own, other, (col(other.match_id) == col(own.match_id)) & (col(other.seat) != col(own.seat)))
        .join(Match, col(Match.id) == col(own.match_id))
        .where(col(own.bot_id) == bindparam("bot"), col(own.match_id) > func.coalesce(oldest, 0), *counts(season_id))
        .group_by(col(other.bot_id))
        .order_by(matches.desc(), col(other.bot_id))
        .limit(MAX_OPPONENTS)
        .subquery()
    )
    figures = (met.c[name] for name in ("matches", *ways))
    return (
        sqlalchemy.select(met.c.bot_id, col(Bot.name), col(User.name), *figures)
        .join_from(met, Bot, col(Bot.id) == met.c.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .order_by(met.c.matches.desc(), met.c.bot_id)
    )


def failures(session: Session, season_id: int, bot_id: int) -> list[Failure]:
    """Return the matches that a bot lost by its own fault, the newest first."""
    failed = (
        sqlalchemy.select(
            col(Match.id),
            col(BotVersion.number),
            *(getattr(Participant, name) for name in ("fault", "fault_command", "fault_elapsed_ms", "fault_why")),
            *(getattr(Match, name) for name in ("finished_at", *FOR_WITHHOLDING)),
        )
        .join_from(Participant, Match, col(Match.id) == Participant.match_id)
        .join(BotVersion, col(BotVersion.id) == Participant.version_id)
        .where(*_failed(season_id, bot_id))
        .order_by(col(Participant.match_id).desc())
        .limit(MAX_FAULTS)
    )
    rows = session.connection().execute(failed).all()
    untold = withheld(session, rows)
    return [
        Failure(match_id, number, fault, command or "", elapsed_ms, "" if match_id in untold else why or "", at)
        for match_id, number, fault, command, elapsed_ms, why, at, *_ in rows
    ]


def _failed(season_id: int, bot_id: int) -> tuple[ColumnElement[bool], ...]:
    lost = (col(Participant.bot_id) == bot_id, col(Participant.fault).is_not(None))
    return (*lost, col(Match.season_id) == season_id, PLANNED)


def failure_counts(session: Session, season_id: int, bot_id: int) -> dict[tuple[int, Fault], int]:
    """Count a bot's faults by version and cause, over all its matches in the season."""
    by_version = (
        select(BotVersion.number, Participant.fault, func.count())
        .join_from(Participant, Match, col(Match.id) == Participant.match_id)
        .join(BotVersion, col(BotVersion.id) == Participant.version_id)
        .where(*_failed(season_id, bot_id))
        .group_by(col(BotVersion.number), col(Participant.fault))
    )
    by_fault = {}
    for number, fault, count in session.exec(by_version):
        assert fault is not None, "asked for"
        by_fault[number, Fault(fault)] = count
    return by_fault


def public_versions(session: Session, bot_id: int) -> list[PublicVersion]:
    """Return a bot's versions, the newest first."""
    shown = (getattr(BotVersion, name) for name in PublicVersion.__slots__)  # without the log, often long
    versions = sqlalchemy.select(*shown).where(col(BotVersion.bot_id) == bot_id)
    newest = versions.order_by(col(BotVersion.number).desc()).limit(MAX_VERSIONS)
    return [PublicVersion(*row) for row in session.connection().execute(newest)]


def author_bots(session: Session, name: str) -> tuple[str, list[BotInfo], list[tuple[int, str]]]:
    """Return an author's name in its own spelling, the bots that are not retired, and the ids and names of the teams
    that the author has joined. Raises NotFound.
    """
    author = user_named(session, name)
    if author is None:
        raise NotFound("author", name)
    teams = select(Team.id, Team.name).join(TeamMember, col(TeamMember.team_id) == Team.id)
    joined = teams.where(TeamMember.user_id == author.id, col(TeamMember.joined_at).is_not(None))
    bots = infos(session, and_(col(Bot.owner_id) == author.id, col(Bot.retired_at).is_(None)))
    return author.name, bots, list(session.exec(joined.order_by(Team.name_key)))


def team_bots(session: Session, team_id: int) -> list[BotInfo]:
    """Return a team's bots that are not retired."""
    return infos(session, and_(col(Bot.team_id) == team_id, col(Bot.retired_at).is_(None)))


@dataclass(frozen=True, slots=True)
class GameCounts:
    """The numbers of participants in a game."""

    bots: int
    authors: int
    versions: int


def game_counts(session: Session, game: str) -> GameCounts:
    """Return the numbers of participants in each game, over all seasons."""
    versions = select(func.count()).select_from(BotVersion).join(Bot, col(Bot.id) == BotVersion.bot_id)
    bots = sqlalchemy.select(func.count(), func.count(col(Bot.owner_id).distinct())).where(col(Bot.game) == game)
    counts = bots.add_columns(versions.where(Bot.game == game).scalar_subquery())
    return GameCounts(*session.connection().execute(counts).one())
