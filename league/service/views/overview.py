"""The league at a glance: each season's leader, the match worth watching, series in progress, uploads, and feeds."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from sqlalchemy import ColumnElement, Integer, bindparam, tuple_
from sqlalchemy import select as columns
from sqlmodel import Session, col, func, select

from deadheat.engine.figures import STORED
from deadheat.engine.scenes import has_lead
from deadheat.league.records import from_row
from deadheat.league.records.matches import Match as MatchInfo
from deadheat.league.records.rulings import Announcement
from deadheat.league.service.bots.bots import active
from deadheat.league.service.ground.steps import existing
from deadheat.league.service.people.notices import announcements
from deadheat.league.service.series.deals import SILENT
from deadheat.league.service.series.live import live_matches
from deadheat.league.service.series.privacy import PLANNED, shown_series
from deadheat.league.service.tables.sitting import playable
from deadheat.league.service.views.matches import matches_by_id
from deadheat.league.states import OF_CHALLENGES, SEASON_STEPS, JobState, MatchState, VersionState
from deadheat.league.tables import (
    AuditRecord,
    Bot,
    BotVersion,
    Entry,
    Match,
    Participant,
    RatingPoint,
    Season,
    Series,
    Team,
    User,
)
from deadheat.league.words import Uncounting

LOOKED_AT = 200
"""The number of newest matches from which the one to watch is chosen."""


@dataclass(frozen=True, slots=True)
class Leader:
    """The bot in a season's first place, by its newest ranking; if several share it, the highest rated."""

    bot_id: int
    bot: str
    author: str
    elo: float
    others: int = 0


def leaders(session: Session, season_ids: Sequence[int]) -> dict[int, Leader]:
    """Return each ranked season's leader, in the highest division, and how many others share the place."""
    newest = _last_seconds(session, season_ids)
    leading: dict[int, list[Leader]] = {}
    rows: Iterable[Any] = session.connection().execute(FIRST.where(_at(newest))) if newest else ()
    highest: dict[int, int] = {}
    for row in rows:
        if highest.setdefault(row.season_id, row.division) == row.division:
            leading.setdefault(row.season_id, []).append(Leader(*row[2:]))
    return {season_id: replace(shared[0], others=len(shared) - 1) for season_id, shared in leading.items()}


# The statements of the home page, without what a page adds: building them takes longer than executing them.
_SEEN = (RatingPoint.season_id, Entry.division, Bot.id, Bot.name, User.name, RatingPoint.elo)
FIRST = (
    columns(*map(col, _SEEN))
    .join_from(RatingPoint, Bot, col(Bot.id) == col(RatingPoint.bot_id))
    .join(User, col(User.id) == Bot.owner_id)
    .join(Entry, (col(Entry.bot_id) == Bot.id) & (col(Entry.season_id) == RatingPoint.season_id))
    .where(col(RatingPoint.rank) == 1)
    .order_by(col(Entry.division), col(RatingPoint.elo).desc(), col(Bot.id))
)
WATCHED = (
    select(Match.id)
    .join(Series, col(Series.id) == Match.series_id)
    .where(Match.state == MatchState.DONE, PLANNED, col(Series.purpose).not_in(OF_CHALLENGES))
    .where(col(Match.transcript_sha256).is_not(None), col(Match.season_id).not_in(SILENT))
    .where(col(Match.finished_at).is_not(None))
    .order_by(col(Match.finished_at).desc(), col(Match.id).desc())
    .limit(LOOKED_AT)
)
RUNNING = (
    select(Series, Season)
    .join(Season, col(Season.id) == Series.season_id)
    .where(Series.state == JobState.RUNNING, shown_series())
    .order_by(col(Series.started_at).desc(), col(Series.id).desc())
)


def margin(match: MatchInfo) -> float:
    """Return the distance of the first from the last, as a share of the most points; infinite without points."""
    points = [float(Fraction(seat.points)) for seat in match.seats if seat.points and STORED.fullmatch(seat.points)]
    if len(points) < len(match.seats):
        return math.inf
    return (max(points) - min(points)) / (max(map(abs, points)) or 1.0)


def worth(match: MatchInfo, places: Sequence[int | None]) -> float:
    """Return the sum of the players' strength, by their places (None: unranked), and the closeness of the result, each
    from 0 to 1; -1 without points.
    """
    apart = margin(match)
    if math.isinf(apart):
        return -1.0
    strong = sum(1 / place if place else 0.0 for place in places) / len(places)
    return strong + max(1 - apart, 0.0)


def worth_watching(session: Session) -> list[int]:
    """Return the newest counted matches, most interesting first: the best players with the closest result."""
    newest = _watchable(session, rated=True)
    places = _places(session, {(match.season_id, seat.bot_id) for match in newest for seat in match.seats})
    ordered = sorted(
        ((worth(each, [places.get((each.season_id, seat.bot_id)) for seat in each.seats]), each.id) for each in newest),
        reverse=True,
    )
    return [match_id for value, match_id in ordered if value >= 0]


def highlights(session: Session, season_id: int | None = None) -> dict[str, MatchInfo]:
    """Return the closest of the newest matches, of one season or of all, that with the biggest turn-around, and the
    newest that a fault decided: "closest", "comeback", "fault", as far as there is one. No match is among them twice.
    """
    newest = _watchable(session, season_id)
    since = newest[0].finished_at - WEEK if newest and newest[0].finished_at else None
    left = {each.id: each for each in newest if since and each.finished_at and each.finished_at >= since}
    found: dict[str, MatchInfo] = {}
    for why, interest in INTERESTS.items():
        of_interest = [(interest(each), each) for each in left.values()]
        value, best = max(of_interest, key=lambda pair: pair[0], default=(-math.inf, None))
        if best is not None and value > -math.inf:
            found[why] = left.pop(best.id)
    return found


INTERESTS: dict[str, Callable[[MatchInfo], float]] = {
    "closest": lambda match: -apart if has_lead(match.game) and (apart := margin(match)) < CLOSE else -math.inf,
    "comeback": lambda match: match.comeback or -math.inf,
    "fault": lambda match: 1.0 if {seat.fault is None for seat in match.seats} == {True, False} else -math.inf,
}
"""How much a match is of each kind; infinitely little: it is not. Of equals, the newest is chosen."""

CLOSE = 0.5
"""The share of the most points below which a match is close at all."""

WEEK = timedelta(days=7)
"""How much older than the newest a match may be."""


def _watchable(session: Session, season_id: int | None = None, *, rated: bool = False) -> list[MatchInfo]:
    """Return the newest matches that count, or belong to an evaluation unless only `rated` ones are wanted, and whose
    moves everybody may see. Those of challenges, gates and panels, where one author may own both sides, are left out by
    the statement: 200 of these alone would leave nothing to choose from.
    """
    statement = WATCHED.where(col(Match.rated).is_(True)) if rated else WATCHED
    newest = session.exec(statement if season_id is None else statement.where(Match.season_id == season_id)).all()
    known = matches_by_id(session, newest)
    shown = (known[each] for each in newest if known[each].transcript_sha256 is not None)
    return [each for each in shown if each.uncounted is None or each.uncounted.cause is Uncounting.EVALUATION]


def _places(session: Session, bots: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return the latest place of each bot, by season and bot."""
    bots = set(bots)
    newest = _last_seconds(session, sorted({season_id for season_id, _ in bots}))
    if not newest:
        return {}
    statement = select(RatingPoint.season_id, RatingPoint.bot_id, RatingPoint.rank)
    statement = statement.where(_at(newest), col(RatingPoint.bot_id).in_({bot_id for _, bot_id in bots}))
    return {(season_id, bot_id): rank for season_id, bot_id, rank in session.exec(statement)}


def _last_seconds(session: Session, season_ids: Sequence[int]) -> dict[int, int]:
    """Return when each season was last ranked, in seconds of its age, read from the index."""
    last = select(func.max(RatingPoint.second)).where(RatingPoint.season_id == Season.id).scalar_subquery()
    rows = session.exec(select(Season.id, last).where(col(Season.id).in_(season_ids)))
    return {season_id: second for season_id, second in rows if second is not None}


def _at(seconds: Mapping[int, int]) -> ColumnElement[bool]:
    return tuple_(col(RatingPoint.season_id), col(RatingPoint.second)).in_(list(seconds.items()))


@dataclass(frozen=True, slots=True)
class NewVersion:
    """An upload, for lists of new versions."""

    bot_id: int
    bot: str
    author: str
    team: str | None
    game: str
    id: int
    number: int
    state: VersionState
    language: str
    size_bytes: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RunningSeries:
    """A series that is being played. `bots`: ids and names, in the first match's seats, as AUTHOR/NAME if two have
    the same name; `live_match_id`: the one that can be watched at this moment, if any.
    """

    id: int
    season_id: int
    season: str
    game: str
    started_at: datetime | None
    matches: int
    first_match_id: int
    bots: tuple[tuple[int, str], ...]
    live_match_id: int | None = None


def running_series(session: Session, limit: int, season_id: int | None = None) -> list[RunningSeries]:
    """List running series, of one season or (None) of all, the latest first."""
    which = RUNNING if season_id is None else RUNNING.where(Series.season_id == season_id)
    running = session.exec(which.limit(limit)).all()
    if not running:
        return []
    of_these = col(Match.series_id).in_([series.id for series, _ in running])
    planned = select(Match.series_id, func.min(Match.id), func.count()).where(of_these).group_by(col(Match.series_id))
    counted = {series_id: (first, count) for series_id, first, count in session.exec(planned)}
    seated = (
        select(Participant.match_id, Bot.id, Bot.name, User.name)
        .join(Bot, col(Bot.id) == Participant.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .where(col(Participant.match_id).in_([first for first, _ in counted.values()]))
        .order_by(col(Participant.match_id), col(Participant.seat))
    )
    playing: dict[int, list[tuple[int, str, str]]] = {}
    for match_id, bot_id, name, author in session.exec(seated):
        playing.setdefault(match_id, []).append((bot_id, name, author))
    live = live_matches(session, list(counted))
    return [
        from_row(
            RunningSeries,
            series,
            season=season.name,
            game=season.game,
            matches=count,
            first_match_id=first,
            bots=told_apart(playing[first]),
            live_match_id=live.get(series.id),
        )
        for series, season in running
        for first, count in (counted[series.id],)
    ]


def told_apart(playing: Sequence[tuple[int, str, str]]) -> tuple[tuple[int, str], ...]:
    """Return ids and names of bots, of which their authors' are known, too."""
    ids = {name: {other for other, namesake, _ in playing if namesake == name} for _, name, _ in playing}
    return tuple((bot, f"{author}/{name}" if len(ids[name]) > 1 else name) for bot, name, author in playing)


@dataclass(frozen=True, slots=True)
class ReadyBot:
    """A bot that can play, with its newest ready version, and its rating in its newest season, if any."""

    bot_id: int
    bot: str
    author: str
    number: int
    elo: float | None


def ready_bots(session: Session, game: str, limit: int) -> list[ReadyBot]:
    """List bots against which people may play: the strongest first, and unrated ones last, the newest first."""
    newest = func.max(BotVersion.number)
    rated = (
        select(RatingPoint.elo)
        .where(RatingPoint.bot_id == Bot.id)
        .order_by(col(RatingPoint.season_id).desc(), col(RatingPoint.second).desc())
        .limit(1)
        .scalar_subquery()
    )
    statement = (
        columns(col(Bot.id), col(Bot.name), col(User.name), newest, rated)
        .join_from(BotVersion, Bot, col(Bot.id) == col(BotVersion.bot_id))
        .join(User, col(User.id) == col(Bot.owner_id))
        .where(col(Bot.game) == game, col(Bot.plays_people).is_(True), active(), *playable())
        .group_by(col(Bot.id), col(Bot.name), col(User.name))
        .order_by(rated.desc().nulls_last(), func.max(BotVersion.id).desc())
        .limit(limit)
    )
    return [ReadyBot(*row) for row in session.connection().execute(statement)]


def newest_versions(
    session: Session, limit: int, *, game: str | None = None, before: int | None = None
) -> list[NewVersion]:
    """Return the newest uploads of a game, or of all games (None), with an id below `before`."""
    statement = _newest(game is not None, before is not None)
    rows = session.connection().execute(statement, {"game": game, "before": before, "most": limit})
    return [NewVersion(*row) for row in rows]


@cache
def _newest(of_game: bool, older: bool) -> Any:
    of_bot = (col(Bot.id), col(Bot.name), col(User.name), col(Team.name), col(Bot.game))
    of_version = ("id", "number", "state", "language", "size_bytes", "created_at")
    statement = (
        columns(*of_bot, *(getattr(BotVersion, name) for name in of_version))
        .join_from(BotVersion, Bot, col(Bot.id) == col(BotVersion.bot_id))
        .join(User, col(User.id) == col(Bot.owner_id))
        .join(Team, col(Team.id) == col(Bot.team_id), isouter=True)
        .order_by(col(BotVersion.id).desc())
        .limit(bindparam("most", type_=Integer))
    )
    if of_game:
        statement = statement.where(col(Bot.game) == bindparam("game"))
    return statement.where(col(BotVersion.id) < bindparam("before")) if older else statement


# Feeds of the public events of a season, a bot or a game: announcements, a season's states, published standings, and
# versions that became ready.
# States and published standings are read from the audit log, which knows when each was reached and never changes, so an
# item stays the same whenever the feed is read. The ids of items are the same wherever the league is served, because
# they contain the hash of the first record of its audit log, which is unique to it.

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
    news = [entry for entry in announcements(session) if entry.season_id is None or entry.season_id in names]
    items = [*_announced(session, news), *_steps(session, names), *_versions(session, col(Bot.game) == game)]
    return _feed(session, title, f"/games/{game}", begins_at, items)


def _feed(session: Session, title: str, path: str, began_at: datetime, items: Sequence[Item]) -> Feed:
    newest = sorted(items, key=lambda item: (item.at, item.id), reverse=True)[:MOST_ITEMS]
    return Feed(_id(session, path), title, path, newest[0].at if newest else began_at, newest)


def _announced(session: Session, rows: Sequence[Announcement]) -> list[Item]:
    return [
        Item(
            _id(session, f"/announcements/{row.id}"),
            row.title,
            row.text,
            "/" if row.season_id is None else f"/seasons/{row.season_id}",
            row.at,
        )
        for row in rows
    ]


def _steps(session: Session, names: dict[int, str]) -> list[Item]:
    """Return the items about the changes of seasons' states, and about published standings."""
    subjects = {f"season/{season_id}": season_id for season_id in names}
    steps = (col(AuditRecord.subject).in_(list(subjects)), col(AuditRecord.action).in_(list(STEPS)))
    records = select(AuditRecord).where(*steps).order_by(col(AuditRecord.id).desc()).limit(MOST_ITEMS)
    items = []
    for row in session.exec(records):
        season_id = subjects[row.subject]
        title = STEPS[row.action].format(season=names[season_id])
        at = datetime.fromisoformat(row.at)
        items.append(Item(_id(session, f"/audit/{row.id}"), title, f"{title}.", f"/seasons/{season_id}", at))
    return items


def _versions(session: Session, which: ColumnElement[bool]) -> list[Item]:
    """Return the items about versions that became ready, of bots that meet the condition."""
    shown = (BotVersion.id, BotVersion.number, BotVersion.language, BotVersion.built_at, Bot.id, Bot.name, User.name)
    statement = (
        columns(*map(col, shown))
        .join_from(BotVersion, Bot, col(Bot.id) == col(BotVersion.bot_id))
        .join(User, col(User.id) == col(Bot.owner_id))
        .where(col(BotVersion.state) == VersionState.READY, col(BotVersion.built_at).is_not(None), which)
        .order_by(col(BotVersion.id).desc())
        .limit(MOST_ITEMS)
    )
    rows: Iterable[Any] = session.connection().execute(statement)
    items = []
    for version_id, number, language, built_at, bot_id, bot, author in rows:
        title = f"Version {number} of {author}/{bot} is ready"
        items.append(
            Item(_id(session, f"/versions/{version_id}"), title, f"Written in {language}.", f"/bots/{bot_id}", built_at)
        )
    return items


def _id(session: Session, name: str) -> UUID:
    league = session.info.get("league of feeds")
    if league is None:
        first = session.exec(select(AuditRecord.sha256).order_by(col(AuditRecord.id)).limit(1)).first()
        league = session.info["league of feeds"] = uuid5(NAMESPACE_URL, f"urn:deadheat:league:{first or ''}")
    return uuid5(league, name)
