"""Bots and their versions, uploads and their quotas, and descriptions of the image that they run in."""

import math
import re
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, BinaryIO

from sqlalchemy import ColumnElement, and_, literal, or_
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, func, select

from deadheat.engine.games import GAMES
from deadheat.engine.language import N_, _
from deadheat.league.blobs import Blobs
from deadheat.league.causes import told
from deadheat.league.config import Settings
from deadheat.league.database import now, settings_of
from deadheat.league.errors import BadUpload, NameTaken, NotFound, OverQuota, TooMany, UnknownGame, WrongState
from deadheat.league.records import from_row
from deadheat.league.records.bots import Bot as BotInfo
from deadheat.league.records.bots import BuildLog, BuildTry
from deadheat.league.records.bots import Version as VersionInfo
from deadheat.league.service.ground import lookups
from deadheat.league.service.ground.audit import record
from deadheat.league.service.ground.steps import flush_unless_taken, set_values
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import must_be_member, owned_by
from deadheat.league.service.people.users import lock_user
from deadheat.league.states import ENTERABLE, VersionState
from deadheat.league.tables import Attempt, Bot, BotVersion, Entry, JudgingEnvironment, Season, Team, TeamMember, User
from deadheat.sandbox.archive import BadArchive, Bounds, inspect_zip, is_zip_name
from deadheat.sandbox.languages import LANGUAGES, LanguageError, detect

# Quotas of uploads: by an author in an hour or in five minutes, of a bot in a day. (`check_quota` serves any.)
# The deployment's quotas (`league.config`) apply to everyone. A season's own apply as well, to bots that take part in
# it, as long as new versions matter there.

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
ONE = literal(1)
FIVE_MINUTES = timedelta(minutes=5)

WORDS = {FIVE_MINUTES: N_("in five minutes"), HOUR: N_("an hour"), DAY: N_("a day")}


@dataclass(frozen=True, slots=True)
class Quota:
    """At most `limit` rows that meet the conditions in any `window`, by the column with the time of their creation.
    `each`: how much a row counts, if not one.
    """

    what: str
    limit: int
    window: timedelta
    conditions: tuple[Any, ...]
    made_at: Any = BotVersion.created_at
    each: Any = ONE


def check_quotas(session: Session, uploader: Person, bot_id: int) -> None:
    """Check whether one more version may be uploaded now. Raises OverQuota."""
    settings = settings_of(session)
    by_uploader = col(BotVersion.uploader_id) == uploader.id
    of_bot = col(BotVersion.bot_id) == bot_id
    quotas = [
        Quota(N_("uploads by one author"), settings.uploads_per_hour, HOUR, (by_uploader,)),
        Quota(N_("versions of one bot"), settings.versions_per_day, DAY, (of_bot,)),
    ]
    entered = select(Season).join(Entry, col(Entry.season_id) == Season.id)
    entered = entered.where(Entry.bot_id == bot_id, col(Season.state).in_(ENTERABLE)).order_by(col(Season.id))
    for season in session.exec(entered).all():
        there = col(BotVersion.bot_id).in_(select(Entry.bot_id).where(Entry.season_id == season.id))
        by_author = _("uploads by one author for %(season)s", season=season.name)
        for limit, window in ((season.uploads_per_five_minutes, FIVE_MINUTES), (season.uploads_per_hour, HOUR)):
            quotas += [Quota(by_author, limit, window, (by_uploader, there))] if limit is not None else []
        if season.versions_per_day is not None:
            what = _("versions of one bot for %(season)s", season=season.name)
            quotas.append(Quota(what, season.versions_per_day, DAY, (of_bot,)))
    for quota in quotas:
        check_quota(session, quota)


def check_quota(session: Session, quota: Quota, wanted: int = 1) -> None:
    """Check that this many more are allowed now; the number must not exceed the limit. Raises OverQuota."""
    at, made_at = now(session), col(quota.made_at)
    recent = select(made_at, quota.each).where(*quota.conditions, made_at > at - quota.window, quota.each > 0)
    used = 0
    free_at = None
    for made, each in session.exec(recent.order_by(made_at.desc()).limit(quota.limit)):
        used += each
        if free_at is None and used + wanted > quota.limit:  # this one has to leave the window first
            free_at = made + quota.window
    if free_at is not None:
        seconds = max(1, math.ceil((free_at - at).total_seconds()))
        raise OverQuota(quota.what, quota.limit, WORDS[quota.window], seconds, max(0, quota.limit - used))


AGENT = "agent"
"""The language of an agent's versions, which have no program: the source is the model that it says it is."""

MAX_BOTS = 100
"""The most bots of one user."""

MAX_VERSIONS = 10_000
"""The most versions of one bot."""


@dataclass(frozen=True, slots=True)
class Upload:
    """An inspected upload whose content is already in the store."""

    filename: str
    size_bytes: int
    sha256: str
    language: str
    entry: str


def create_bot(session: Session, owner: Person, game: str, name: str, team_id: int | None = None) -> BotInfo:
    """Create a bot without versions, owned by the author or by one of the author's teams. Raises UnknownGame, TooMany;
    NameTaken: by another of their bots in that game; NotFound: the caller is not in that team.
    """
    if game not in GAMES:
        raise UnknownGame(game, tuple(sorted(GAMES)))
    if team_id is not None:
        must_be_member(session, owner, team_id)
    lock_user(session, owner)
    owned = session.exec(select(func.count()).select_from(Bot).where(Bot.owner_id == owner.id)).one()
    if owned >= MAX_BOTS:
        raise TooMany("bots of one author", MAX_BOTS)
    row = Bot(owner_id=owner.id, team_id=team_id, game=game, name=name, name_key=name.lower(), created_at=now(session))
    session.add(row)
    flush_unless_taken(session, NameTaken("bot of yours", name))
    return bot_info(session, row.id)


def bots_of(session: Session, owner: Person) -> list[BotInfo]:
    return infos(session, owned_by(owner))


def bot_info(session: Session, bot_id: int) -> BotInfo:
    """Return the public record of a bot. Raises NotFound."""
    found = session.exec(INFO.where(col(Bot.id) == bot_id)).first()
    if found is None:
        raise NotFound("bot", bot_id)
    return _info(*found)


def own_bot(session: Session, owner: Person, bot_id: int) -> Bot:
    """Return the bot if the caller or one of their teams owns it. Raises NotFound: for others it does not exist."""
    if not is_own(session, owner, bot_id):
        raise NotFound("bot", bot_id, _("You have no bot number %(bot_id)s.", bot_id=bot_id))
    return session.get_one(Bot, bot_id)


def is_own(session: Session, person: Person, bot_id: int) -> bool:
    """Say whether the bot belongs to this person or to one of their teams."""
    return session.exec(select(Bot.id).where(Bot.id == bot_id, owned_by(person))).first() is not None


@cache
def active() -> ColumnElement[bool]:
    """Return the condition on `Bot` that it is not retired and at least one of its owners has an open account."""
    person = aliased(User)
    is_open = select(person.id).where(col(person.closed_at).is_(None)).correlate(Bot)
    alone = is_open.where(person.id == Bot.owner_id).exists()
    member = is_open.join(TeamMember, col(TeamMember.user_id) == person.id).where(TeamMember.team_id == Bot.team_id)
    of_team = member.where(col(TeamMember.joined_at).is_not(None)).exists()
    of_somebody = or_(and_(col(Bot.team_id).is_(None), alone), of_team)
    return and_(col(Bot.retired_at).is_(None), of_somebody)


def must_be_active(session: Session, bot: Bot) -> None:
    """Raise WrongState if the bot is retired, or its owners' accounts are closed."""
    if bot.retired_at is not None:
        raise WrongState("retired", _("The bot is retired; its author can bring it back."))
    if not is_active(session, bot):
        raise WrongState("closed", _("The account of the bot's author is closed."))


def is_active(session: Session, bot: Bot) -> bool:
    """Say whether the bot is not retired and at least one of its owners has an open account."""
    return session.exec(select(Bot.id).where(Bot.id == bot.id, active())).first() is not None


def may_upload(session: Session, owner: Person, bot_id: int) -> None:
    """Check whether an upload is worth receiving. Raises NotFound: it is not their bot; WrongState, OverQuota."""
    _may_add(session, owner, bot_id, is_agent=False)


def _may_add(session: Session, owner: Person, bot_id: int, *, is_agent: bool) -> None:
    bot = own_bot(session, owner, bot_id)
    must_be_active(session, bot)
    if bot.is_agent != is_agent:
        raise WrongState("agent", _("An agent has no programs: it plays from where it runs."))
    check_quotas(session, owner, bot_id)


def add_version(
    session: Session, owner: Person, bot_id: int, upload: Upload, enters_id: int | None = None
) -> VersionInfo:
    """Add a version to be built; the caller enqueues it after the commit. An agent's is ready at once. `enters_id`: the
    season that the bot enters with it once it is ready (`league.service.seasons.entries.enter_as_wished`); the caller
    has checked it. Raises as `may_upload` does; TooMany; BadUpload: the bot has this version already, and a second copy
    would begin without games.
    """
    # Lock the bot and the author, so that quotas are counted and numbers assigned for one upload of each at a time.
    session.exec(select(Bot.id).where(Bot.id == bot_id).with_for_update(key_share=True)).first()
    lock_user(session, owner)
    is_agent = upload.language == AGENT
    _may_add(session, owner, bot_id, is_agent=is_agent)
    same = (BotVersion.source_sha256 == upload.sha256, BotVersion.language == upload.language)
    same = (*same, BotVersion.bot_id == bot_id, BotVersion.entry == upload.entry)
    # A broken version may be uploaded again, because the image that builds it may have changed.
    alike = select(BotVersion.number).where(*same, BotVersion.state != VersionState.BROKEN)
    if (number := session.exec(alike.order_by(col(BotVersion.number).desc())).first()) is not None:
        again = _("Version %(n)s of this bot is the same file, byte for byte. To play it again, choose that version.")
        raise BadUpload("same-file", again % {"n": number})
    last = session.exec(select(func.max(BotVersion.number)).where(BotVersion.bot_id == bot_id)).one() or 0
    if last >= MAX_VERSIONS:
        raise TooMany("versions of one bot", MAX_VERSIONS)
    at = now(session)
    row = BotVersion(
        bot_id=bot_id,
        uploader_id=owner.id,
        number=last + 1,
        filename=upload.filename,
        size_bytes=upload.size_bytes,
        source_sha256=upload.sha256,
        language=upload.language,
        entry=upload.entry,
        enters_id=enters_id,
        state=VersionState.READY if is_agent else VersionState.UPLOADED,
        built_at=at if is_agent else None,
        created_at=at,
        queued_at=at,
        nudge_at=at + timedelta(seconds=settings_of(session).requeue_seconds),
    )
    session.add(row)
    session.flush()
    record(session, owner.name, "version-uploaded", f"bot/{bot_id}", {"number": row.number, "sha256": upload.sha256})
    return _view(row)


def versions_of(session: Session, owner: Person, bot_id: int) -> list[VersionInfo]:
    """Return the newest versions, for the author. Raises NotFound."""
    own_bot(session, owner, bot_id)
    statement = select(BotVersion).where(BotVersion.bot_id == bot_id).order_by(col(BotVersion.number).desc())
    return [_view(row) for row in session.exec(statement.limit(100))]


def version_info(session: Session, owner: Person, bot_id: int, number: int) -> VersionInfo:
    """Return one version, for the author. Raises NotFound."""
    return _view(_own_version(session, owner, bot_id, number))


def build_log(session: Session, owner: Person, bot_id: int, number: int) -> BuildLog:
    """Return the stored end of a build's output and all attempts that we failed, for the author. Raises NotFound."""
    row = _own_version(session, owner, bot_id, number)
    tries = session.exec(select(Attempt).where(Attempt.version_id == row.id).order_by(col(Attempt.id)))
    return BuildLog(row.log, [BuildTry(t.finished_at, t.cause, told(t.cause, t.detail)) for t in tries])


def bots_named(
    session: Session, named: str, *, game: str | None = None, skip: int = 0, limit: int = 100
) -> tuple[list[BotInfo], int]:
    """Return the active bots with `named` in their, their author's or team's name, from `skip` on, and how many."""
    fits = lookups.named(named) & active()
    if game is not None:
        fits &= col(Bot.game) == game
    count = select(func.count()).select_from(Bot).join(User, col(User.id) == Bot.owner_id)
    found = session.exec(count.join(Team, col(Team.id) == Bot.team_id, isouter=True).where(fits)).one()
    return infos(session, fits, skip, limit), found


def infos(session: Session, condition: ColumnElement[bool], skip: int = 0, limit: int | None = None) -> list[BotInfo]:
    """Return the bots that meet a condition, by game and name."""
    found = INFO.where(condition).order_by(Bot.game, Bot.name_key, col(Bot.id)).offset(skip).limit(limit)
    return [_info(*row) for row in session.exec(found)]


def _info(bot: Bot, author: str, team: str | None, versions: int) -> BotInfo:
    return from_row(BotInfo, bot, author=author, team=team, versions=versions)


INFO = (
    select(
        Bot,
        User.name,
        Team.name,
        select(func.count()).select_from(BotVersion).where(BotVersion.bot_id == Bot.id).scalar_subquery(),
    )
    .join(User, col(User.id) == Bot.owner_id)
    .join(Team, col(Team.id) == Bot.team_id, isouter=True)
)


def trial_of(session: Session, owner: Person, bot_id: int, number: int) -> str:
    """Return the blob's name of the transcript of a version's last qualification match, for its author. Raises
    NotFound, also if no such match was played.
    """
    row = _own_version(session, owner, bot_id, number)
    if row.trial_sha256 is None:
        raise NotFound("trial match of version", number)
    return row.trial_sha256


def lend_version(session: Session, owner: Person, bot_id: int, number: int, *, lendable: bool) -> VersionInfo:
    """Let a version play on machines that others lend, whose owners can read it, or no longer. Raises NotFound."""
    row = _own_version(session, owner, bot_id, number)
    row.lendable = lendable
    session.flush()
    return _view(row)


def _own_version(session: Session, owner: Person, bot_id: int, number: int) -> BotVersion:
    own_bot(session, owner, bot_id)
    row = session.exec(select(BotVersion).where(BotVersion.bot_id == bot_id, BotVersion.number == number)).first()
    if row is None:
        raise NotFound("version", number)
    return row


def _view(row: BotVersion) -> VersionInfo:
    return from_row(VersionInfo, row, sha256=row.source_sha256)


@dataclass(frozen=True, slots=True)
class EnvironmentInfo:
    """A description (see `workers.environment.describe`), and when a worker last found it true."""

    document: Mapping[str, Any]
    described_at: datetime

    @property
    def languages(self) -> Set[str]:
        """The languages in which bots may be written here."""
        return frozenset(language["name"] for language in self.document["languages"])


def confirm_environment(session: Session, fingerprint: str) -> bool:
    """Note that a description is still true. Return False if there is no such description."""
    known = col(JudgingEnvironment.fingerprint) == fingerprint
    return set_values(session, JudgingEnvironment, known, described_at=now(session)) == 1


def record_environment(
    session: Session, fingerprint: str, image: str, document: Mapping[str, Any], worker: str
) -> None:
    """Store a description, unless another worker has just done so."""
    row = JudgingEnvironment(
        fingerprint=fingerprint, image=image, document=dict(document), worker=worker, described_at=now(session)
    )
    try:
        with session.begin_nested():
            session.add(row)
    except IntegrityError:
        confirm_environment(session, fingerprint)


def environment(session: Session) -> EnvironmentInfo | None:
    """Return the newest description of the image named in the settings, or None until a worker has described it."""
    newest = (
        select(JudgingEnvironment.document, JudgingEnvironment.described_at)
        .where(JudgingEnvironment.image == settings_of(session).image)
        .order_by(col(JudgingEnvironment.described_at).desc())
        .limit(1)
    )
    row = session.exec(newest).first()
    return None if row is None else EnvironmentInfo(*row)


def installed_languages(session: Session) -> Set[str] | None:
    """Return the languages in which bots may be written here, or None while they are unknown."""
    found = environment(session)
    return None if found is None else found.languages


_FILENAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}")
"""Filenames are shown to people and passed to tools, so only simple ones are allowed."""


def accept(
    file: BinaryIO,
    filename: str,
    sha256: str,
    settings: Settings,
    blobs: Blobs,
    installed: Collection[str] | None = None,
) -> Upload:
    """Inspect an upload (received within the size limit and hashed on the way) and store it. Raises BadUpload."""
    upload = inspect(file, filename, sha256, settings, installed)
    return replace(upload, sha256=blobs.put_file(file, sha256))


def inspect(
    file: BinaryIO, filename: str, sha256: str, settings: Settings, installed: Collection[str] | None = None
) -> Upload:
    """Inspect an upload whose content has this hash. `installed`: the languages of the judge image; None: the build
    finds out. Raises BadUpload, whose text says what is wrong, for the author.
    """
    size = file.seek(0, 2)
    if not size:
        raise BadUpload("empty", _("The file is empty."))
    if not _FILENAME.fullmatch(filename):
        raise BadUpload("bad-name", _("Name the file with letters, digits and . _ + - only, e.g. bot.py or bot.zip."))
    try:
        language, entry = _recognise(file, filename, settings)
    except (BadArchive, LanguageError) as error:
        raise BadUpload(error.reason, error.detail) from error
    if installed is not None and language not in installed:
        has = ", ".join(recipe.title for name, recipe in LANGUAGES.items() if name in installed)
        said = _("This server's image has no %(title)s; it has %(has)s.", title=LANGUAGES[language].title, has=has)
        raise BadUpload("not-installed", said)
    return Upload(filename, size, sha256, language, entry)


def _recognise(file: BinaryIO, filename: str, settings: Settings) -> tuple[str, str]:
    if is_zip_name(filename):
        return detect(filename, *inspect_zip(file, Bounds(total_bytes=settings.unpacked_limit_bytes)))
    language, entry = detect(filename, [filename], None)
    file.seek(0)
    while chunk := file.read(256 * 1024):
        if b"\0" in chunk:
            said = _("%(filename)s is not a source file: it contains NUL bytes.", filename=filename)
            raise BadUpload("not-text", said)
    return language, entry
