"""Bots and their versions: what authors bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, func, select

from engine.games import GAMES
from league.database import now, settings_of
from league.errors import NameTaken, NotFound, TooMany, UnknownGame
from league.service.audit import record
from league.service.users import Person
from league.states import VersionState
from league.tables import Attempt, Bot, BotVersion, User

MAX_BOTS = 100
"""Bots of one user."""

MAX_VERSIONS = 10_000
"""Versions of one bot."""


@dataclass(frozen=True, slots=True)
class BotInfo:
    """A bot as everyone may see it."""

    id: int
    game: str
    name: str
    author: str
    versions: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Upload:
    """An inspected upload, its content already in the store."""

    filename: str
    size_bytes: int
    sha256: str
    language: str
    entry: str


@dataclass(frozen=True, slots=True)
class BuildTry:
    """A try at a build that failed by our doing."""

    at: datetime
    cause: str
    detail: str


@dataclass(frozen=True, slots=True)
class VersionInfo:
    """A version as its author sees it; `log` and `tries` are for nobody else."""

    id: int
    bot_id: int
    number: int
    state: VersionState
    filename: str
    size_bytes: int
    sha256: str
    language: str
    entry: str
    reason: str
    attempt: int
    created_at: datetime
    built_at: datetime | None


def create_bot(session: Session, owner: Person, game: str, name: str) -> BotInfo:
    """A bot without versions.

    Raises:
        UnknownGame, NameTaken (by another bot of the same author in the same game), TooMany.
    """
    if game not in GAMES:
        raise UnknownGame(game, tuple(sorted(GAMES)))
    owned = session.exec(select(func.count()).select_from(Bot).where(Bot.owner_id == owner.id)).one()
    if owned >= MAX_BOTS:
        raise TooMany("bots of one author", MAX_BOTS)
    row = Bot(owner_id=owner.id, game=game, name=name, name_key=name.lower(), created_at=now(session))
    session.add(row)
    try:
        session.flush()
    except IntegrityError as error:
        raise NameTaken("bot of yours", name) from error
    return BotInfo(row.id, game, name, owner.name, 0, row.created_at)


def bots_of(session: Session, owner: Person) -> list[BotInfo]:
    """All bots of one author, by name."""
    statement = (
        select(Bot, func.count(col(BotVersion.id)))
        .join(BotVersion, col(BotVersion.bot_id) == Bot.id, isouter=True)
        .where(Bot.owner_id == owner.id)
        .group_by(col(Bot.id))
        .order_by(Bot.game, Bot.name_key)
    )
    return [
        BotInfo(bot.id, bot.game, bot.name, owner.name, count, bot.created_at) for bot, count in session.exec(statement)
    ]


def bot_info(session: Session, bot_id: int) -> BotInfo:
    """What anyone may know of a bot. Raises NotFound."""
    statement = select(Bot, User).join(User, col(User.id) == Bot.owner_id).where(Bot.id == bot_id)
    found = session.exec(statement).first()
    if found is None:
        raise NotFound("bot", bot_id)
    bot, owner = found
    count = session.exec(select(func.count()).select_from(BotVersion).where(BotVersion.bot_id == bot_id)).one()
    return BotInfo(bot.id, bot.game, bot.name, owner.name, count, bot.created_at)


def own_bot(session: Session, owner: Person, bot_id: int) -> Bot:
    """The bot, if it is the asker's. Raises NotFound: for a stranger it does not exist."""
    bot = session.get(Bot, bot_id)
    if bot is None or bot.owner_id != owner.id:
        raise NotFound("bot of yours", bot_id)
    return bot


def add_version(session: Session, owner: Person, bot_id: int, upload: Upload) -> VersionInfo:
    """A new version, to be built; the caller enqueues it after the commit.

    Raises:
        NotFound: not the asker's bot.
        TooMany: the bot has `MAX_VERSIONS`.
    """
    own_bot(session, owner, bot_id)
    session.exec(select(Bot.id).where(Bot.id == bot_id).with_for_update()).one()  # two uploads, two numbers
    last = session.exec(select(func.max(BotVersion.number)).where(BotVersion.bot_id == bot_id)).one() or 0
    if last >= MAX_VERSIONS:
        raise TooMany("versions of one bot", MAX_VERSIONS)
    at = now(session)
    row = BotVersion(
        bot_id=bot_id,
        number=last + 1,
        filename=upload.filename,
        size_bytes=upload.size_bytes,
        source_sha256=upload.sha256,
        language=upload.language,
        entry=upload.entry,
        created_at=at,
        queued_at=at,
        nudge_at=at + timedelta(seconds=settings_of(session).requeue_seconds),
    )
    session.add(row)
    session.flush()
    record(session, owner.name, "version-uploaded", f"bot/{bot_id}", {"number": row.number, "sha256": upload.sha256})
    return _view(row)


def versions_of(session: Session, owner: Person, bot_id: int, limit: int = 100) -> list[VersionInfo]:
    """The newest versions, for the author. Raises NotFound."""
    own_bot(session, owner, bot_id)
    statement = select(BotVersion).where(BotVersion.bot_id == bot_id).order_by(col(BotVersion.number).desc())
    return [_view(row) for row in session.exec(statement.limit(limit))]


def version_info(session: Session, owner: Person, bot_id: int, number: int) -> VersionInfo:
    """One version, for the author. Raises NotFound."""
    return _view(_own_version(session, owner, bot_id, number))


def build_log(session: Session, owner: Person, bot_id: int, number: int) -> tuple[str, Sequence[BuildTry]]:
    """The kept tail of the build's output and every try that we failed, for the author. Raises NotFound."""
    row = _own_version(session, owner, bot_id, number)
    tries = session.exec(select(Attempt).where(Attempt.version_id == row.id).order_by(col(Attempt.id)))
    return row.log, [BuildTry(t.finished_at, t.cause, t.detail) for t in tries]


def _own_version(session: Session, owner: Person, bot_id: int, number: int) -> BotVersion:
    own_bot(session, owner, bot_id)
    row = session.exec(select(BotVersion).where(BotVersion.bot_id == bot_id, BotVersion.number == number)).first()
    if row is None:
        raise NotFound("version", number)
    return row


def _view(row: BotVersion) -> VersionInfo:
    return VersionInfo(
        id=row.id,
        bot_id=row.bot_id,
        number=row.number,
        state=row.state,
        filename=row.filename,
        size_bytes=row.size_bytes,
        sha256=row.source_sha256,
        language=row.language,
        entry=row.entry,
        reason=row.reason,
        attempt=row.attempt,
        created_at=row.created_at,
        built_at=row.built_at,
    )
