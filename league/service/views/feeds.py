"""Feeds of the public events of a season, a bot or a game: announcements, a season's states, published standings, and
versions that became ready.

States and published standings are read from the audit log, which knows when each was reached and never changes, so an
item stays the same whenever the feed is read. The ids of items are the same wherever the league is served, because they
contain the hash of the first record of its audit log, which is unique to it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from sqlalchemy import ColumnElement
from sqlalchemy import select as columns
from sqlmodel import Session, col, select

from deadheat.league.records.rulings import Announcement
from deadheat.league.service.ground.steps import existing
from deadheat.league.service.people.notices import announcements
from deadheat.league.states import SEASON_STEPS, VersionState
from deadheat.league.tables import AuditRecord, Bot, BotVersion, Entry, Season, User

MOST_ITEMS = 50
"""The most items of each sort, and of a feed."""

MOST_SEASONS = 50
"""The number of a game's or a bot's newest seasons that its feed covers."""

PUBLISHED = "season-published"

STEPS = {state.action: f"{{season}} is {step.becomes}" for state, step in SEASON_STEPS.items()}
STEPS[PUBLISHED] = "The final standings of {season} are published"
"""The audit log's word for each step of a season, and the title of its item."""


@dataclass(frozen=True, slots=True)
class Item:
    """A public event. `path`: the page about it."""

    id: UUID
    title: str
    text: str
    path: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Feed:
    """The newest items, newest first. `at`: when the newest happened, or its subject began."""

    id: UUID
    title: str
    path: str
    at: datetime
    items: Sequence[Item]


def season_feed(session: Session, season_id: int) -> Feed:
    """Return a season's feed. Raises NotFound."""
    season = existing(session, Season, season_id)
    entered = select(Entry.bot_id).where(Entry.season_id == season_id)
    items = [
        *_announced(session, announcements(session, season_id, MOST_ITEMS)),
        *_steps(session, {season_id: season.name}),
        *_versions(session, col(Bot.id).in_(entered)),
    ]
    return _feed(session, season.name, f"/seasons/{season_id}", season.created_at, items)


def bot_feed(session: Session, bot_id: int) -> Feed:
    """Return the feed of a bot and of its seasons. Raises NotFound."""
    bot = existing(session, Bot, bot_id)
    seasons = select(Season.id, Season.name).join(Entry, col(Entry.season_id) == Season.id)
    seasons = seasons.where(Entry.bot_id == bot_id).order_by(col(Season.id).desc()).limit(MOST_SEASONS)
    items = [*_steps(session, dict(session.exec(seasons).all())), *_versions(session, col(Bot.id) == bot_id)]
    return _feed(session, bot.name, f"/bots/{bot_id}", bot.created_at, items)


def game_feed(session: Session, game: str, title: str, begins_at: datetime) -> Feed:
    """Return the feed of a game's seasons and bots. `begins_at`: the date of a feed without items."""
    seasons = select(Season.id, Season.name).where(Season.game == game)
    names = dict(session.exec(seasons.order_by(col(Season.id).desc()).limit(MOST_SEASONS)).all())
    told = [one for one in announcements(session) if one.season_id is None or one.season_id in names]
    items = [*_announced(session, told), *_steps(session, names), *_versions(session, col(Bot.game) == game)]
    return _feed(session, title, f"/games/{game}", begins_at, items)


def _feed(session: Session, title: str, path: str, began_at: datetime, items: Sequence[Item]) -> Feed:
    newest = sorted(items, key=lambda item: (item.at, item.id), reverse=True)[:MOST_ITEMS]
    return Feed(_id(session, path), title, path, newest[0].at if newest else began_at, newest)


def _announced(session: Session, found: Sequence[Announcement]) -> list[Item]:
    return [
        Item(
            _id(session, f"/announcements/{one.id}"),
            one.title,
            one.text,
            "/" if one.season_id is None else f"/seasons/{one.season_id}",
            one.at,
        )
        for one in found
    ]


def _steps(session: Session, names: dict[int, str]) -> list[Item]:
    """Return the items about the changes of seasons' states, and about published standings."""
    subjects = {f"season/{season_id}": season_id for season_id in names}
    steps = (col(AuditRecord.subject).in_(list(subjects)), col(AuditRecord.action).in_(list(STEPS)))
    records = select(AuditRecord).where(*steps).order_by(col(AuditRecord.id).desc()).limit(MOST_ITEMS)
    found = []
    for row in session.exec(records):
        season_id = subjects[row.subject]
        title = STEPS[row.action].format(season=names[season_id])
        at = datetime.fromisoformat(row.at)
        found.append(Item(_id(session, f"/audit/{row.id}"), title, f"{title}.", f"/seasons/{season_id}", at))
    return found


def _versions(session: Session, which: ColumnElement[bool]) -> list[Item]:
    """Return the items about versions that became ready, of bots that meet the condition."""
    told = (BotVersion.id, BotVersion.number, BotVersion.language, BotVersion.built_at, Bot.id, Bot.name, User.name)
    statement = (
        columns(*map(col, told))
        .join_from(BotVersion, Bot, col(Bot.id) == col(BotVersion.bot_id))
        .join(User, col(User.id) == col(Bot.owner_id))
        .where(col(BotVersion.state) == VersionState.READY, col(BotVersion.built_at).is_not(None), which)
        .order_by(col(BotVersion.id).desc())
        .limit(MOST_ITEMS)
    )
    rows: Iterable[Any] = session.connection().execute(statement)
    found = []
    for version_id, number, language, built_at, bot_id, bot, author in rows:
        title = f"Version {number} of {author}/{bot} is ready"
        found.append(
            Item(_id(session, f"/versions/{version_id}"), title, f"Written in {language}.", f"/bots/{bot_id}", built_at)
        )
    return found


def _id(session: Session, name: str) -> UUID:
    league = session.info.get("league of feeds")
    if league is None:
        first = session.exec(select(AuditRecord.sha256).order_by(col(AuditRecord.id)).limit(1)).first()
        league = session.info["league of feeds"] = uuid5(NAMESPACE_URL, f"urn:deadheat:league:{first or ''}")
    return uuid5(league, name)
