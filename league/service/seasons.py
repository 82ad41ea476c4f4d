"""Seasons and who takes part."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, func, select

from engine.games import GAMES
from league.database import now
from league.errors import NameTaken, NotFound, NotReady, UnknownGame, WrongGame, WrongState
from league.service.audit import SYSTEM, record
from league.service.bots import own_bot
from league.service.play import abandon_matches
from league.service.steps import move, touch_log
from league.service.users import Person
from league.states import SeasonState, SeriesState, VersionState, allowed
from league.tables import Attempt, Bot, BotVersion, Division, Entry, Match, Season, Series, User

SEASON_CLOSED = "season-closed"
"""Cause in the ledger of a series that nobody had begun when its season closed."""

ENTERABLE = (SeasonState.SCHEDULED, SeasonState.OPEN)


@dataclass(frozen=True, slots=True)
class SeasonInfo:
    """A season as everyone sees it."""

    id: int
    game: str
    name: str
    state: SeasonState
    series_length: int
    games_per_pair: int | None
    opens_at: datetime | None
    closes_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a season is. `voids`: attempts at matches that we spoiled and played again."""

    entries: int
    scheduled: int
    done: int
    abandoned: int
    voids: int


@dataclass(frozen=True, slots=True)
class EntryInfo:
    """A bot in a season."""

    bot_id: int
    bot: str
    author: str
    version_id: int
    version: int
    follows: bool


def create_season(
    session: Session,
    organiser: Person,
    *,
    game: str,
    name: str,
    series_length: int,
    games_per_pair: int | None,
    opens_at: datetime | None = None,
    closes_at: datetime | None = None,
) -> SeasonInfo:
    """A scheduled season.

    Raises:
        NotAllowed, UnknownGame, NameTaken.
    """
    organiser.must_organise()
    if game not in GAMES:
        raise UnknownGame(game, tuple(sorted(GAMES)))
    assert opens_at is None or closes_at is None or opens_at < closes_at, "looked at where dates come in"
    row = Season(
        game=game,
        name=name,
        name_key=name.lower(),
        series_length=series_length,
        games_per_pair=games_per_pair,
        opens_at=opens_at,
        closes_at=closes_at,
        created_at=now(session),
    )
    session.add(row)
    try:
        session.flush()
    except IntegrityError as error:
        raise NameTaken("season", name) from error
    session.add(Division(season_id=row.id, number=1, name="Division 1"))
    session.flush()
    record(session, organiser.name, "season-created", f"season/{row.id}", {"game": game, "name": name})
    return _view(row)


def seasons(session: Session, limit: int = 200) -> list[SeasonInfo]:
    """The newest seasons first."""
    return [_view(row) for row in session.exec(select(Season).order_by(col(Season.id).desc()).limit(limit))]


def season_info(session: Session, season_id: int) -> SeasonInfo:
    """Raises NotFound."""
    return _view(_season(session, season_id))


def season_progress(session: Session, season_id: int) -> Progress:
    """Counts over the whole season; the API keeps them for a moment."""
    entries = session.exec(select(func.count()).select_from(Entry).where(Entry.season_id == season_id)).one()
    counts = select(Match.state, func.count()).where(Match.season_id == season_id).group_by(col(Match.state))
    matches = {str(state): count for state, count in session.exec(counts)}
    void = (Attempt.season_id == season_id, Attempt.cause != "played", col(Attempt.match_id).is_not(None))
    voids = session.exec(select(func.count()).select_from(Attempt).where(*void)).one()
    return Progress(
        entries=entries,
        scheduled=matches.get("scheduled", 0),
        done=matches.get("done", 0),
        abandoned=matches.get("abandoned", 0),
        voids=voids,
    )


def set_season_state(session: Session, organiser: Person, season_id: int, after: SeasonState) -> SeasonInfo:
    """Open, close and so on, by hand; asking for the present state changes nothing.

    Raises:
        NotAllowed, NotFound, WrongState.
    """
    organiser.must_organise()
    before = _season(session, season_id).state
    if before is not after:
        if not allowed(before, after):
            raise WrongState("season", before, f"in a state that {after} may follow")
        change_state(session, season_id, before, after, organiser.name)
    return season_info(session, season_id)


def change_state(
    session: Session, season_id: int, before: SeasonState, after: SeasonState, actor: str = SYSTEM
) -> None:
    """The transition itself, by compare-and-set. What runs when a season closes is played to its end and counts;
    what merely waits is dropped.
    """
    if not move(session, Season, season_id, before, after):
        return
    session.get_one(Season, season_id, populate_existing=True)
    record(session, actor, f"season-{after.value}", f"season/{season_id}", {"before": before.value})
    if after is SeasonState.CLOSED:
        _drop_waiting(session, season_id)


def enter(session: Session, owner: Person, season_id: int, bot_id: int, number: int | None = None) -> EntryInfo:
    """Let a bot take part, or choose another version of one that does.

    `number` None: its newest version that is ready, and from then on each newer one as soon as it is ready.

    Raises:
        NotFound, WrongState, WrongGame, NotReady.
    """
    season = _season(session, season_id)
    bot = own_bot(session, owner, bot_id)
    if season.state not in ENTERABLE:
        raise WrongState("season", season.state, "scheduled or open")
    if bot.game != season.game:
        raise WrongGame(bot.game, season.game)
    version = _version_to_enter(session, bot, number)
    entry = session.exec(select(Entry).where(Entry.season_id == season_id, Entry.bot_id == bot_id)).first()
    if entry is None:
        entry = Entry(season_id=season_id, bot_id=bot_id, version_id=version.id, created_at=now(session))
        session.add(entry)
    entry.version_id = version.id
    entry.follows = number is None
    session.flush()
    chosen = {"bot": bot_id, "version": version.number, "follows": entry.follows}
    record(session, owner.name, "entered", f"season/{season_id}", chosen)
    touch_log(session, season_id)
    return EntryInfo(bot_id, bot.name, owner.name, version.id, version.number, entry.follows)


def entries(session: Session, season_id: int, after_bot: int = 0, limit: int = 1000) -> list[EntryInfo]:
    """Who takes part, by bot, from the one after `after_bot` on. Raises NotFound."""
    _season(session, season_id)
    statement = (
        select(Entry, Bot.name, User.name, BotVersion.number)
        .join(Bot, col(Bot.id) == Entry.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .join(BotVersion, col(BotVersion.id) == Entry.version_id)
        .where(Entry.season_id == season_id, Entry.bot_id > after_bot)
        .order_by(col(Entry.bot_id))
        .limit(limit)
    )
    return [
        EntryInfo(entry.bot_id, bot, author, entry.version_id, number, entry.follows)
        for entry, bot, author, number in session.exec(statement)
    ]


def _version_to_enter(session: Session, bot: Bot, number: int | None) -> BotVersion:
    statement = select(BotVersion).where(BotVersion.bot_id == bot.id)
    if number is not None:
        version = session.exec(statement.where(BotVersion.number == number)).first()
        if version is None:
            raise NotFound("version", number)
        if version.state is not VersionState.READY:
            raise NotReady(bot.name, f"version {number} is {version.state.value}")
        return version
    newest_first = statement.order_by(col(BotVersion.number).desc())
    ready = session.exec(newest_first.where(BotVersion.state == VersionState.READY).limit(1)).first()
    if ready is None:
        newest = session.exec(newest_first.limit(1)).first()
        why = "nothing was uploaded" if newest is None else f"the newest is {newest.state.value}"
        raise NotReady(bot.name, why)
    return ready


def _drop_waiting(session: Session, season_id: int) -> None:
    at = now(session)
    waiting = select(Series).where(Series.season_id == season_id, Series.state == SeriesState.QUEUED)
    for series in session.exec(waiting).all():
        if not move(session, Series, series.id, SeriesState.QUEUED, SeriesState.ABANDONED, finished_at=at):
            continue  # a worker took it in this moment: it counts
        abandon_matches(session, series.id, at)
        session.add(
            Attempt(
                season_id=season_id,
                series_id=series.id,
                attempt=series.attempt,
                cause=SEASON_CLOSED,
                detail="The season closed before this series was played.",
                finished_at=at,
            )
        )
    touch_log(session, season_id)


def _season(session: Session, season_id: int) -> Season:
    row = session.get(Season, season_id)
    if row is None:
        raise NotFound("season", season_id)
    return row


def _view(row: Season) -> SeasonInfo:
    return SeasonInfo(
        id=row.id,
        game=row.game,
        name=row.name,
        state=row.state,
        series_length=row.series_length,
        games_per_pair=row.games_per_pair,
        opens_at=row.opens_at,
        closes_at=row.closes_at,
        created_at=row.created_at,
    )
