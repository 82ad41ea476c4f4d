"""Rankings: the whole log of a season is read, refitted and stored as one snapshot, until the last is published.

The log is every match that counts (`league.service.ground.counting`), with the version and rank of each seat. People
read only the newest snapshot (`leaderboard`), so the cost of a page does not depend on the number of matches.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, exists, func, select
from sqlmodel.sql.expression import Select

from deadheat.league.config import MOST_UNSETTLING, REFIT_SECONDS, SETTLED_SECONDS
from deadheat.league.database import now, surroundings
from deadheat.league.errors import NotFound
from deadheat.league.pairing.finals import is_settled
from deadheat.league.records import from_row
from deadheat.league.service.ground.audit import SYSTEM, audit_log, record
from deadheat.league.service.ground.counting import HELD, SEASONS_AT_A_TIME, may_be_drawn
from deadheat.league.service.ground.lookups import PUBLISHED
from deadheat.league.service.ground.steps import existing, lock_season, set_values, update_rows, updating
from deadheat.league.service.people import notices
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.history import remember
from deadheat.league.service.rankings.ranking import ranking, ranking_if_new
from deadheat.league.service.seasons.seasons import published, season_info
from deadheat.league.service.series.outcomes import rules_played
from deadheat.league.service.series.privacy import PLANNED
from deadheat.league.service.series.response_times import latency_by_version
from deadheat.league.states import UNFINISHED, MatchState, SeasonState, VersionState
from deadheat.league.tables import (
    AuditRecord,
    Bot,
    BotVersion,
    Entry,
    Match,
    Participant,
    RatingSnapshot,
    Season,
    Series,
    UtcDateTime,
)
from deadheat.league.verification.comparison import Recount, differences, model_of
from deadheat.league.verification.fairness import Dealt, DiceCheck, canonical, check_dice, told

# The end of a season: its standings become final, and the hash of its archive is noted.
# A closed season is over when the last of its series has ended and no match waits for an organiser. Then the log cannot
# change any more (`league.service.rulings.rulings` refuses to touch a closed season). The ranking is made once more
# from all of it, and stored as the published standings with the log's hash. There is one such snapshot for a season,
# and the database refuses to change or remove it. The secret of the season's dice is published with it, because no
# match is left to be played.

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A ranking as people see it. `standings` is JSON, see `league.service.rankings.ranking`."""

    season_id: int
    snapshot_id: int | None  # None: no ranking was made yet
    created_at: datetime | None
    log_sha256: str | None
    config: dict[str, Any]
    standings: dict[str, Any]
    final: bool = False


NOTHING_RANKED: dict[str, Any] = {
    "rows": [],
    "unranked": [],
    "totals": None,
    "fit": None,
    "seats": [],
    "pairs": None,
    "rules": [],
    "latency": {},
    "leads": {},
}


Row = dict[str, Any]


class Rows(list[Row]):
    """The rows of a ranking, best first."""

    @property
    def ranked(self) -> int:
        """The number of rows with a place."""
        return sum(row["rank"] is not None for row in self)

    def of(self, bot_ids: Collection[int]) -> list[Row]:
        """Return the rows of these bots."""
        return [row for row in self if row["bot_id"] in bot_ids]

    def around(self, bot_id: int) -> tuple[Row | None, list[Row], list[Row]]:
        """Return a bot's row (or None), the rows above it, the nearest first, and the rows below it."""
        for place, row in enumerate(self):
            if row["bot_id"] == bot_id:
                return row, self[:place][::-1], self[place + 1 :]
        return None, [], []


class Times(dict[str, Any]):
    """Response times, by version as text."""

    def of(self, rows: Iterable[Row]) -> dict[int, Any]:
        """Return the times of these rows' versions, by version, for those that have any."""
        return {row["version_id"]: self[key] for row in rows if (key := str(row["version_id"])) in self}


def seasons_to_refit(session: Session, *, ended: bool = False) -> list[int]:
    """Return the seasons whose log has grown since their newest ranking. While a season is played, results keep coming,
    so it is not ranked again within `REFIT_SECONDS`. `ended`: only seasons in which nothing more is played.
    """
    before = now(session) - timedelta(seconds=REFIT_SECONDS)
    return [
        season_id
        for season_id, created_at, goes_on in session.exec(GROWN)
        if not goes_on or (not ended and (created_at is None or created_at <= before))
    ]


_NEWEST = select(func.max(RatingSnapshot.created_at)).where(RatingSnapshot.season_id == Season.id).scalar_subquery()
_PLAYED = exists().where(col(Series.season_id) == Season.id, col(Series.state).in_(UNFINISHED))
GROWN = select(Season.id, _NEWEST, _PLAYED).where(
    col(Season.log_serial) != col(Season.rated_serial), col(Season.id).not_in(PUBLISHED)
)


def refit(session: Session, season_id: int) -> bool:
    """Rank a season again. Return False if the log has not changed since the newest ranking, or another process was
    faster.

    The log is read and fitted in a reading session of its own, so that no writer waits for it. The serial is read
    before the log. A match that ends in between is in the log with an older serial, so at worst one refit too many
    follows, never one too few.
    """
    with surroundings(session).reading() as reader:
        serial = reader.exec(SERIAL, params={"season": season_id}).one()
        snapshot = ranking_if_new(reader, season_id, _newest(reader, season_id))
    first = update_rows(session, RATED, {"id": season_id}, rated_serial=serial, read=serial) == 1
    if not first or snapshot is None or season_id in session.exec(PUBLISHED).all():
        return False
    times = latency_by_version(session, season_id)
    ranked = [str(row["version_id"]) for name in ("rows", "unranked") for row in snapshot.standings[name]]
    snapshot.standings["latency"] = {version: times[version] for version in [*ranked, *times] if version in times}
    session.add(snapshot)
    session.flush()
    remember(session, snapshot)
    thin(session, season_id)
    playing = session.exec(_awake(season_id)).all()
    since = {"season": season_id, "since": now(session) - timedelta(days=1)}
    patient = session.connection().execute(BEYOND, since).scalars().all()
    settled = is_settled(snapshot.standings["rows"], dict(playing), patient)
    if settled is not order_is_settled(session, season_id):
        until = now(session) + timedelta(seconds=SETTLED_SECONDS) if settled else None
        set_values(session, Season, col(Season.id) == season_id, settled_until=until)
    log.info("season %d ranked: log %s", season_id, snapshot.log_sha256[:12])
    return True


@lru_cache(SEASONS_AT_A_TIME)
def _awake(season_id: int) -> Select[int, int]:
    return select(Entry.version_id, Entry.division).where(may_be_drawn(season_id), col(Entry.rests_since).is_(None))


def order_is_settled(session: Session, season_id: int) -> bool:
    """Say whether further games are unlikely to change a season's order (`league.pairing.finals`)."""
    return session.exec(SETTLED_UNTIL, params={"season": season_id}).one() is not None


SERIAL = select(Season.log_serial).where(col(Season.id) == bindparam("season"))
RATED = updating(Season, "id").where(col(Season.rated_serial) < bindparam("read"))
SETTLED_UNTIL = select(Season.settled_until).where(col(Season.id) == bindparam("season"))


_UPLOADS = (
    columns(
        col(BotVersion.id),
        func.row_number().over(partition_by=col(Bot.owner_id), order_by=col(BotVersion.id)).label("nth"),
    )
    .join(Bot, col(Bot.id) == BotVersion.bot_id)
    .join(Entry, col(Entry.bot_id) == Bot.id)
    .where(col(Entry.season_id) == bindparam("season"), col(BotVersion.state) == VersionState.READY)
    .where(col(BotVersion.created_at) > bindparam("since", type_=UtcDateTime))
    .subquery()
)
BEYOND = columns(_UPLOADS.c.id).where(_UPLOADS.c.nth > MOST_UNSETTLING)
"""The versions after an author's first ones of a day: they wait for the series that a resting ladder plays, so that
nobody keeps it awake by uploads.
"""


def leaderboard(session: Session, season_id: int) -> Leaderboard:
    """Return the newest ranking. Raises NotFound."""
    return stored_ranking(session, season_id, newest_snapshot(session, season_id))


def stored_ranking(session: Session, season_id: int, snapshot_id: int | None) -> Leaderboard:
    """Return a season's ranking with that number. One of 2,000 bots takes 10 ms to decode."""
    row = None if snapshot_id is None else session.get_one(RatingSnapshot, snapshot_id)
    standings = NOTHING_RANKED | ({} if row is None else row.standings)  # older rankings lack the last parts
    standings |= {name: Rows(standings[name]) for name in ("rows", "unranked")}
    standings["latency"] = Times(standings["latency"])
    if row is None:
        return Leaderboard(season_id, None, None, None, {}, standings)
    return from_row(Leaderboard, row, snapshot_id=row.id, standings=standings)


def newest_snapshot(session: Session, season_id: int) -> int | None:
    """Return the id of the published ranking if there is one, else of the newest: caches of pages compare it, because a
    ranking of thousands of bots is a megabyte. Raises NotFound.
    """
    row = session.exec(NEWEST, params={"id": season_id}).first()
    if row is None:
        raise NotFound("season", season_id)
    published, newest = row
    number: int | None = published or newest
    return number


def _newest(session: Session, season_id: int) -> RatingSnapshot | None:
    number = newest_snapshot(session, season_id)
    return None if number is None else session.get(RatingSnapshot, number)


_NUMBERS = select(RatingSnapshot.id).where(RatingSnapshot.season_id == Season.id)
NEWEST = select(
    _NUMBERS.where(col(RatingSnapshot.final).is_(True)).limit(1).scalar_subquery(),
    _NUMBERS.order_by(col(RatingSnapshot.id).desc()).limit(1).scalar_subquery(),
).where(col(Season.id) == bindparam("id"))


WHOLE = 10
"""How many of the newest rankings keep their standings, because somebody may be paging through them."""

HOURLY = timedelta(days=1)
"""How long the last ranking of each hour is kept; after that, the last of each day."""

MOST_AT_ONCE = 200
"""The most rankings thinned out when one is added; only leagues older than this rule have more."""


def thin(session: Session, season_id: int) -> None:
    """Empty the standings of rankings that need not be kept. Called whenever one is added: keeping all would take
    gigabytes a day if a large field is ranked often.

    Every ranking keeps its row, with its instant, the log's hash and its configuration: that is enough to recompute it
    from the log of that time. It keeps its standings if it is published, if the finalists were chosen by it, if it is
    one of the newest (`WHOLE`), the last of an hour of the past day, or the last of a day. All other standings become
    `{}`. The points that bots' pages draw are kept separately (`league.service.rankings.history`).
    """
    rankings = session.exec(STILL_WHOLE, params={"season": season_id}).all()
    keep = kept(rankings, now(session), WHOLE)
    gone = [snapshot_id for snapshot_id, _ in rankings if snapshot_id not in keep]
    if gone:
        # The finalists were chosen by the newest ranking of that time.
        qualified_at = session.exec(select(Season.qualified_at).where(Season.id == season_id)).one()
        before = select(func.max(RatingSnapshot.id)).where(RatingSnapshot.season_id == season_id)
        chosen_by = qualified_at and session.exec(before.where(RatingSnapshot.created_at <= qualified_at)).one()
        if emptied := [snapshot_id for snapshot_id in gone if snapshot_id != chosen_by][:MOST_AT_ONCE]:
            set_values(session, RatingSnapshot, col(RatingSnapshot.id).in_(emptied), standings={}, whole=False)


STILL_WHOLE = (
    select(RatingSnapshot.id, RatingSnapshot.created_at)
    .where(col(RatingSnapshot.season_id) == bindparam("season"))
    .where(col(RatingSnapshot.whole).is_(True), col(RatingSnapshot.final).is_(False))
    .order_by(col(RatingSnapshot.id))
)


def kept(rankings: Sequence[tuple[int, datetime]], at: datetime, newest: int) -> set[int]:
    """Return those of the rankings, given the oldest first, that keep their standings at that instant."""
    last: dict[tuple[object, ...], int] = {}
    for snapshot_id, created_at in rankings:
        day = (created_at.date(),)
        last[day] = snapshot_id
        if at - created_at < HOURLY:
            last[*day, created_at.hour] = snapshot_id
    return {*last.values(), *(snapshot_id for snapshot_id, _ in rankings[-newest:])}


def seasons_to_publish(session: Session) -> list[int]:
    """Return the closed seasons without published standings, in which no series is under way and no match is held."""
    return list(session.exec(OVER))


_UNFINISHED = select(Series.season_id).where(col(Series.state).in_(UNFINISHED))
_HELD = select(Match.season_id).where(Match.state == MatchState.HELD)
OVER = (
    select(Season.id)
    .where(Season.state == SeasonState.CLOSED)
    .where(*(col(Season.id).not_in(those) for those in (_UNFINISHED, _HELD, PUBLISHED)))
    .order_by(col(Season.id))
)


def publish(session: Session, season_id: int) -> bool:
    """Publish a season's standings. Return False if they are published already, or if the season is not over. Call this
    first in a transaction.

    As for any ranking, the log is read and fitted in a session of its own, so that no writer waits for it.
    """
    with surroundings(session).reading() as reader:
        if season_id not in seasons_to_publish(reader):
            return False
        snapshot = ranking(reader, season_id)
        snapshot.standings["latency"] = latency_by_version(reader, season_id)
    snapshot.final = True
    session.add(snapshot)
    try:
        session.flush()
    except IntegrityError:
        session.rollback()  # another process was faster, with the same log
        return False
    set_values(session, Season, col(Season.id) == season_id, rated_serial=Season.log_serial)
    remember(session, snapshot)
    secret = session.get_one(Season, season_id).secret
    data = {"ranking": snapshot.id, "log_sha256": snapshot.log_sha256, "dice_secret": secret and secret.hex()}
    record(session, SYSTEM, "season-published", f"season/{season_id}", data)
    notices.standings_published(session, season_id, snapshot.standings["rows"])
    log.info("season %d published: log %s", season_id, snapshot.log_sha256[:12])
    return True


def note_archive(session: Session, organiser: Person, season_id: int, sha256: str) -> None:
    """Record the hash of a closed season's archive; recording it again changes nothing.

    The record is about ``archive/1`` rather than ``season/1``, whose records are in the archive. Raises NotAllowed,
    NotFound. WrongState: the standings are not published.
    """
    organiser.must_organise()
    lock_season(session, season_id)
    published(session, season_id, "its archive is final")
    subject, data = f"archive/{season_id}", {"sha256": sha256}
    if canonical(data) not in {entry.data for entry in audit_log(session, subject=subject)}:
        record(session, organiser.name, "season-archived", subject, data)


def recount(session: Session, season_id: int) -> Recount:
    """Compare the newest ranking with the one that its configuration gives for the present log. Raises NotFound."""
    season = existing(session, Season, season_id)
    stored = leaderboard(session, season_id)
    due = season.log_serial != season.rated_serial and not stored.final
    if stored.snapshot_id is None:
        return Recount(season_id, None, None, 0, (), due)
    try:
        config = model_of(stored.config)
    except ValueError as error:
        return Recount(season_id, stored.snapshot_id, stored.log_sha256, 0, (f"The ranking was {error}.",), due)
    made = ranking(session, season_id, config)
    differing = differences(
        {"log_sha256": stored.log_sha256, "config": stored.config, **stored.standings},
        {"log_sha256": made.log_sha256, "config": made.config, **made.standings},
    )
    return Recount(season_id, stored.snapshot_id, made.log_sha256, made.standings["totals"]["rated"], differing, due)


def dice_check(session: Session, season_id: int) -> DiceCheck:
    """Say whether the season's dice are those to which it committed. Raises NotFound."""
    info = season_info(session, season_id)
    about = select(AuditRecord.action, AuditRecord.data).where(AuditRecord.subject == f"season/{season_id}")
    season = told(info.game, info.dice_commitment, info.dice_secret, session.exec(about.order_by(col(AuditRecord.id))))
    of_it = Match.season_id == season_id
    seated = select(Participant.match_id, Participant.version_id).join(Match).where(of_it)
    seats: dict[int, tuple[int, ...]] = {}
    for match_id, version in session.exec(seated.order_by(col(Participant.match_id), col(Participant.seat))):
        seats[match_id] = (*seats.get(match_id, ()), version)
    rows = session.exec(select(Match).where(of_it).order_by(col(Match.id)))
    dealt = (
        Dealt(row.id, row.deal, row.commitment, row.seed.hex(), seats[row.id], row.asked is not None) for row in rows
    )
    return check_dice(season, dealt)


MOST_SEASONS = 50


@dataclass(frozen=True, slots=True)
class Honesty:
    """The figures of one season. `totals`: see `league.service.rankings.ranking`; empty, like the rest, before the
    first ranking.

    `held`: its matches that wait for an organiser now, ranked or not. `rules`: the versions of the game's rules under
    which it was played, and since when.
    """

    season_id: int
    name: str
    game: str
    state: SeasonState
    held: int
    totals: dict[str, Any]
    log_sha256: str | None
    ranked_at: datetime | None
    rules: tuple[tuple[int, datetime], ...]


def totals_of(session: Session, snapshot_id: int) -> dict[str, Any]:
    """Return the totals of the log from which a ranking was made. Rankings are large and never change."""
    totals = select(col(RatingSnapshot.standings)["totals"]).where(RatingSnapshot.id == snapshot_id)
    counts: dict[str, Any] = session.exec(totals).one()
    return counts


def honesty(session: Session, totals: Callable[[Session, int], dict[str, Any]] = totals_of) -> list[Honesty]:
    """Return the figures of seasons, the newest first."""
    seasons = session.exec(select(Season).order_by(col(Season.id).desc()).limit(MOST_SEASONS)).all()
    of_these = col(RatingSnapshot.season_id).in_([season.id for season in seasons])
    newest = select(func.max(RatingSnapshot.id)).where(of_these).group_by(col(RatingSnapshot.season_id))
    shown = (RatingSnapshot.season_id, RatingSnapshot.id, RatingSnapshot.log_sha256, RatingSnapshot.created_at)
    rankings = session.exec(select(*shown).where(col(RatingSnapshot.id).in_(newest)))
    snapshots = {season_id: (number, log, at) for season_id, number, log, at in rankings}
    rules: dict[int, list[tuple[int, datetime]]] = {}
    for row in rules_played(session, [season.id for season in seasons]):
        rules.setdefault(row.season_id, []).append((row.rules_version, row.first_at))
    waiting = select(Match.season_id, func.count()).where(HELD, PLANNED).group_by(col(Match.season_id))
    on_hold = dict(session.exec(waiting).all())
    return [
        from_row(
            Honesty,
            season,
            season_id=season.id,
            held=on_hold.get(season.id, 0),
            totals=totals(session, snapshots[season.id][0]) if season.id in snapshots else {},
            log_sha256=snapshots[season.id][1] if season.id in snapshots else None,
            ranked_at=snapshots[season.id][2] if season.id in snapshots else None,
            rules=tuple(rules.get(season.id, ())),
        )
        for season in seasons
    ]
