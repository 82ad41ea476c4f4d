"""Matches of people against bots, from taking a seat to the result.

Theory of operation
-------------------
An exhibition is one row. A worker plays it as it plays any match (`league.service.jobs.exhibiting`,
`workers.exhibitions`); the person's seat is two columns of the row instead of two descriptors. The worker stores the
replies so far and increments `turn`: the person is asked. The person's `answer` is accepted by compare-and-set on that
turn, so a form that is sent twice, or from an outdated page, changes nothing. An accepted answer stays until it is
among the replies, whichever worker reads it; only a bot that plays differently in a new attempt invalidates it.

*A typo costs nothing.* The rules check every answer first (`engine.unfinished.objection`); if they refuse it, the
person learns why and may answer again. So a person's only faults are to leave and to run out of time.

*Exhibitions cannot crowd out the league.* There are `exhibitions` places in a deployment and one exhibition per person;
whoever takes a seat while all are taken waits in a queue (`MOST_WAITING`). The wait, each move and the whole match have
limits. Nothing here is rated, and no table of the league refers to it.

*Nobody scouts new versions.* People meet only versions that play, or have played, in a season that has begun, and no
bot whose author has closed it to people. They play the game with the settings of the newest such season. The house's
bots need no season, so every game has an opponent as soon as an operator has uploaded one.

*Nothing hidden is shown.* The person's view is made from the replies, as for spectators, without the events that are
private to other seats; the bot's answer in the same step is not stored before the person's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, bindparam, text
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, exists, func, or_, select, update

from deadheat.engine.chance import SEED_BYTES, commitment
from deadheat.engine.core import MAX_LINE_BYTES, Fault, Seat
from deadheat.engine.figures import span
from deadheat.engine.games import GAMES
from deadheat.engine.games.variants import rules
from deadheat.engine.language import N_, _
from deadheat.engine.transcript import BadTranscript
from deadheat.engine.unfinished import Unfinished, objection, read_replies, unfinished
from deadheat.league.causes import Cause
from deadheat.league.database import now, settings_of, surroundings
from deadheat.league.errors import BadSetting, IllegalMove, NoPlace, NotFound, TooMany, WrongState
from deadheat.league.records import from_row
from deadheat.league.service.bots.bots import HOUR, Quota, check_quota, must_be_active
from deadheat.league.service.ground.steps import existing, flush_unless_taken, move, set_values
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import HOUSE
from deadheat.league.states import OF_CHALLENGES, UNFINISHED, WITH_RESULT, JobState, SeasonState, VersionState
from deadheat.league.tables import (
    Bot,
    BotVersion,
    Entry,
    Exhibition,
    Match,
    Participant,
    Season,
    Series,
    User,
    UtcDateTime,
)

# Advice on a finished match of a person: requested, tried by a worker, stored once.
# It is optional: nothing waits for it, and after `MOST_TRIES` it is given up. The row's `advise_at` says when to notify
# a worker; while a worker is busy with it, that is a lease ahead. The sweep finds rows that are due.

MOST_TRIES = 3
LEASE = timedelta(minutes=5)
"""How long a worker may take before another one may try. A match takes seconds."""

TOLD_AT_ONCE = 4
"""How many matches a sweep enqueues: people finish few, and each is enqueued again until a worker takes it."""


@dataclass(frozen=True, slots=True)
class AdviceJob:
    """A person's match to be advised on; `seat` is the person's."""

    exhibition_id: int
    game: str
    seat: Seat
    transcript_sha256: str


def claim_advice(session: Session, exhibition_id: int) -> AdviceJob | None:
    """Claim a match to advise on. Return None if no advice is wanted, or another worker has it."""
    at = now(session)
    due = (col(Exhibition.advise_at) <= at, col(Exhibition.advice_tries) < MOST_TRIES)
    taken = {"advise_at": at + LEASE, "advice_tries": Exhibition.advice_tries + 1}
    if not set_values(session, Exhibition, col(Exhibition.id) == exhibition_id, *due, **taken):
        return None
    row = session.get_one(Exhibition, exhibition_id, populate_existing=True)
    return from_row(AdviceJob, row, exhibition_id=row.id)


def store_advice(session: Session, job: AdviceJob, sha256: str | None) -> None:
    """Store the advice; None if there can be none on this match. Two workers at a time would store the same."""
    values = {"advise_at": None, "advice_sha256": sha256}
    set_values(session, Exhibition, col(Exhibition.id) == job.exhibition_id, **values)


def due_advice(session: Session) -> list[int]:
    """Return the matches about which to notify a worker now."""
    return list(session.exec(DUE_ADVICE, params={"at": now(session)}))


DUE_ADVICE = (
    select(Exhibition.id)
    .where(col(Exhibition.advise_at) <= bindparam("at", type_=UtcDateTime), Exhibition.advice_tries < MOST_TRIES)
    .order_by(col(Exhibition.advise_at))
    .limit(TOLD_AT_ONCE)
)


MOST_WAITING = 20
"""The most people who wait for a place: at some minutes for a match, more would wait for longer than they stay."""

PLACES_LOCK = 7_341_555
"""PostgreSQL advisory lock of `lock_places`; SQLite's writers queue anyway."""

PER_HOUR = 20
"""Seats that one person may take in an hour. Opening a bot's boxes takes a slot of the league's for a second, so
sitting down and leaving again and again must not pay.
"""


@dataclass(frozen=True, slots=True)
class ExhibitionInfo:
    """The facts that become public when the match ends; its person knows them before. `seat` is the person's, and so is
    `fault`: `exited` after resigning, `timeout` after taking too long. `seed` (hexadecimal) is None until it is done.
    `advice_sha256` names the advice of the house's strongest bot (`engine.advice`); `advice_comes`: it may come.
    """

    id: int
    game: str
    variant: Sequence[str] | None
    state: JobState
    user_id: int
    person: str
    resigned: bool
    bot_id: int
    bot: str
    author: str
    version: int
    seats: int
    seat: Seat
    commitment: str
    seed: str | None
    voids: int
    cause: str
    ranks: tuple[int, ...] | None
    points: tuple[str, ...] | None
    fault: Fault | None
    transcript_sha256: str | None
    advice_sha256: str | None
    advice_comes: bool
    created_at: datetime
    finished_at: datetime | None

    @property
    def names(self) -> list[str]:
        """Return the names by seat: copies of the bot are numbered, and one with the person's name is marked."""
        copies = self.seats - 1
        bot = f"{self.bot} (bot)" if self.bot.lower() == self.person.lower() else self.bot
        names = [bot] if copies == 1 else [f"{bot} {number}" for number in range(1, copies + 1)]
        names.insert(self.seat, self.person)
        return names


@dataclass(frozen=True, slots=True)
class Table:
    """The match as its person sees it. `match`: None if it has not begun, or nothing can be shown.

    `prompt`: the line that the person must answer now, or None; `turn`: its number. `queue`: the person's number among
    those who wait while all places are taken; 0: a place is free. `waits_since_at`: the bot waits for a slot since
    then. `version` changes whenever anything else does.
    """

    info: ExhibitionInfo
    match: Unfinished | None
    prompt: str | None
    turn: int
    deadline_at: datetime | None
    resigned: bool
    queue: int
    waits_since_at: datetime | None
    version: str


def take_seat(session: Session, person: Person, bot_id: int, opponents: int = 1, seat: Seat | None = None) -> int:
    """Begin a match against the newest playable version of a bot (`playable`), or that many copies of it, and return
    the exhibition's id.

    `seat`: the person's; None to draw one.

    Raises:
        NotFound.
        WrongState: the bot has no such version, is retired, or its author has closed it to people.
        NoPlace: all places are taken, and as many people as may wait for one; or there are none.
        TooMany: the person plays already.
        OverQuota: the person has taken too many seats lately.
        BadSetting: the game has no such number of players, or no such seat.
    """
    bot = existing(session, Bot, bot_id)
    seats = _check_table(bot.game, opponents, seat)
    must_be_active(session, bot)
    if not bot.plays_people:
        raise WrongState("closed", _("This bot's author does not let people play against it."))
    newest = select(BotVersion.id).where(BotVersion.bot_id == bot_id, *playable())
    version_id = session.exec(newest.order_by(col(BotVersion.number).desc())).first()
    if version_id is None:
        none = _("People play against versions that play, or have played, in a season; this bot has none.")
        raise WrongState("not-played", none)
    if open_of(session, person) is not None:
        raise TooMany("matches against bots at a time for one person", 1)
    own = (Exhibition.user_id == person.id,)
    check_quota(session, Quota(N_("matches of one person against bots"), PER_HOUR, HOUR, own, Exhibition.created_at))
    # They play the game's variant in the newest started season in which this version plays; None: the plain rules.
    plays = (Entry.version_id == version_id, col(Season.state) != SeasonState.SCHEDULED)
    variants = select(Season.variant).join(Entry, col(Entry.season_id) == Season.id).where(*plays)
    variant = session.exec(variants.order_by(col(Season.id).desc())).first()
    entropy, at = surroundings(session).entropy, now(session)
    seed = entropy(SEED_BYTES)
    row = Exhibition(
        user_id=person.id,
        version_id=version_id,
        game=bot.game,
        variant=None if variant is None else list(variant),
        seats=seats,
        seat=int.from_bytes(entropy(8)) % seats if seat is None else seat,
        seed=seed,
        commitment=commitment(seed),
        open_user_id=person.id,
        open_place=_free_place(session),
        queued_at=at,
        nudge_at=at + timedelta(seconds=settings_of(session).requeue_seconds),
        created_at=at,
    )
    session.add(row)
    # Another person, or the same one in another tab, may have taken the place just now.
    flush_unless_taken(session, NoPlace(settings_of(session).exhibitions))
    return row.id


def playable() -> tuple[ColumnElement[bool], ...]:
    """Return the conditions on `BotVersion` that people may play against it, if its bot is not closed to them. Matches
    at a promotion gate or against a panel do not count as playing, and a version without the panel's points does not
    play. The programs of the house's bots are public anyway.
    """
    houses = select(Bot.id).join(User, col(User.id) == col(Bot.owner_id)).where(User.name == HOUSE)
    begun = (col(Season.id) == Entry.season_id, col(Season.state) != SeasonState.SCHEDULED)
    plays = exists().where(col(Entry.bot_id) == BotVersion.bot_id, col(Entry.version_id) == BotVersion.id, *begun)
    plays = plays.where(col(Entry.waits_for_panel).is_(False))
    match = (col(Match.id) == Participant.match_id, col(Match.state).in_(WITH_RESULT))
    series = (col(Series.id) == Match.series_id, col(Series.purpose).not_in(OF_CHALLENGES))
    has_played = exists().where(col(Participant.version_id) == BotVersion.id, *match, *series)
    return col(BotVersion.state) == VersionState.READY, or_(plays, has_played, col(BotVersion.bot_id).in_(houses))


def _check_table(game: str, opponents: int, seat: Seat | None) -> int:
    """Return the number of seats. Raises BadSetting."""
    seats, possible = opponents + 1, GAMES[game].seats
    if seats not in possible:
        many = span(range(possible.start - 1, possible.stop - 1))
        raise BadSetting("opponents", _("%(game)s needs %(many)s opponents", game=game, many=many))
    if seat is not None and seat not in range(seats):
        raise BadSetting("seat", _("at a table of %(seats)s, seats are 1 to %(seats)s", seats=seats))
    return seats


def _free_place(session: Session) -> int:
    limit = settings_of(session).exhibitions
    taken = set(session.exec(select(Exhibition.open_place).where(col(Exhibition.open_place).is_not(None))).all())
    free = set(range(1, limit + MOST_WAITING + 1 if limit else 1)) - taken
    if not free:
        raise NoPlace(limit)
    return min(free)


def open_of(session: Session, person: Person) -> int | None:
    """Return the exhibition that this person plays now, if any."""
    return session.exec(OPEN, params={"person": person.id}).first()


OPEN = select(Exhibition.id).where(col(Exhibition.open_user_id) == bindparam("person"))


def exhibition(session: Session, exhibition_id: int) -> ExhibitionInfo:
    """Return an exhibition's record. Raises NotFound."""
    infos = _infos(session, ONE, which=exhibition_id, limit=1)
    if not infos:
        raise NotFound("exhibition", exhibition_id)
    return infos[0]


def exhibitions_of(session: Session, person: Person, limit: int) -> list[ExhibitionInfo]:
    """Return a person's exhibitions, the newest first."""
    return _infos(session, OF_PERSON, which=person.id, limit=limit)


def table(session: Session, person: Person, exhibition_id: int) -> Table:
    """Return the person's own exhibition in its present state. Raises NotFound."""
    row = _own(session, person, exhibition_id)
    info = exhibition(session, exhibition_id)
    match = _match(row)
    is_asked = row.state is JobState.RUNNING and row.asked_at is not None and row.answer is None
    prompt = match.prompt(info.seat) if is_asked and match is not None and not row.resigned else None
    seen = None if match is None else match.seen_by(info.seat)
    queue = _number(session, row)
    version = f"{_version(row)}-{queue}"
    return Table(info, seen, prompt, row.turn, deadline(session, row), row.resigned, queue, row.waits_since_at, version)


def table_version(session: Session, person: Person, exhibition_id: int) -> str:
    """Return `Table.version` without making the table. Raises NotFound."""
    row = _own(session, person, exhibition_id)
    return f"{_version(row)}-{_number(session, row)}"


def _number(session: Session, row: Exhibition) -> int:
    """Return the person's number in the queue, from 1; 0: the match has begun, or a place is free."""
    if row.state is not JobState.QUEUED or row.attempt > 0 or places_left(session) > 0:
        return 0
    return session.exec(BEFORE, params={"id": row.id}).one() + 1


def places_left(session: Session) -> int:
    """Return how many more people may begin to play now. A match that a worker gave back keeps its place."""
    return settings_of(session).exhibitions - session.exec(PLAYING).one()


NEW = (col(Exhibition.state) == JobState.QUEUED, col(Exhibition.attempt) == 0)
PLAYING = select(func.count()).where(col(Exhibition.open_place) > 0, col(Exhibition.attempt) > 0)
WAITING = select(Exhibition.id).where(*NEW).order_by(col(Exhibition.id))
BEFORE = select(func.count()).where(*NEW, col(Exhibition.id) < bindparam("id"))


def lock_places(session: Session) -> int:
    """Return `places_left` and lock it until the transaction ends. Call this before using or changing the number:
    otherwise a place that another person has just taken seems to be one that its owner left unused.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.connection().execute(text(f"SELECT pg_advisory_xact_lock({PLACES_LOCK})"))
    return places_left(session)


def let_next_in(session: Session) -> None:
    """Let the next sweep send messages about as many new matches as places are free, because a match has ended or left
    the queue. The last of them could not begin before: its wait for a worker begins now. Places are locked.
    """
    left, at = max(0, places_left(session)), now(session)
    chosen = session.exec(WAITING.limit(left)).all()
    for row_id in chosen:
        set_values(session, Exhibition, where={"id": row_id, "state": JobState.QUEUED}, nudge_at=at)
    for row_id in chosen[left - 1 :]:
        set_values(session, Exhibition, where={"id": row_id, "state": JobState.QUEUED}, queued_at=at)


def _version(row: Exhibition) -> str:
    waits = row.asked_at is not None and row.answer is None
    return (
        f"{row.state}-{row.attempt}-{row.turn}-{row.voids}-{waits:d}{row.resigned:d}{row.waits_since_at is not None:d}"
    )


def deadline(session: Session, row: Exhibition) -> datetime | None:
    """Return the deadline for the person's answer."""
    if row.asked_at is None or row.started_at is None:
        return None
    settings = settings_of(session)
    return min(
        row.asked_at + timedelta(seconds=settings.exhibition_move_seconds),
        row.started_at + timedelta(seconds=settings.exhibition_seconds),
    )


def answer(session: Session, person: Person, exhibition_id: int, turn: int, line: str) -> None:
    """Make a move: `line` is what a bot would print, `turn` the number of the question.

    While no worker holds the match, the last question may also be answered: it will be asked again. The same answer may
    be given twice.

    Raises:
        NotFound.
        WrongState: this is not the present question; nothing was changed.
        IllegalMove: the rules refuse it; the person may try again.
    """
    row = _own(session, person, exhibition_id)
    match = _match(row)
    is_asked = row.turn == turn and turn > 0 and row.state in UNFINISHED and not row.resigned
    if not is_asked or match is None or match.prompt(row.seat) is None:
        raise WrongState("past", _("It is too late for this move: the match has moved on, or is over."))
    if row.answer == line:
        return
    if "\n" in line or len(line.encode("utf-8", "replace")) > MAX_LINE_BYTES:
        raise IllegalMove(_("a move is one short line"))
    why = objection(rules(row.game, row.variant), row.seats, row.seed, read_replies(row.replies), row.seat, line)
    if why is not None:
        raise IllegalMove(why)
    waited = (
        col(Exhibition.id) == exhibition_id,
        col(Exhibition.turn) == turn,
        col(Exhibition.answer).is_(None),
        col(Exhibition.state).in_(UNFINISHED),
    )
    if session.exec(update(Exhibition).where(*waited).values(answer=line)).rowcount == 0:
        raise WrongState("past", _("This move has been made already."))


def resign(session: Session, person: Person, exhibition_id: int) -> None:
    """Leave the match. Whatever a worker is doing, the person may sit down elsewhere at once. Raises NotFound.

    A person who leaves before a worker has taken the match has not played at all. A match that a worker has taken is
    played to its end, for the record.
    """
    row = _own(session, person, exhibition_id)
    cause = Cause.LEFT if row.started_at is None else Cause.RESIGNED
    if abandon(session, exhibition_id, JobState.QUEUED, cause):
        return
    sits = (col(Exhibition.id) == exhibition_id, col(Exhibition.state).in_(UNFINISHED), ~col(Exhibition.resigned))
    if session.exec(update(Exhibition).where(*sits).values(resigned=True, open_user_id=None, open_place=None)).rowcount:
        let_next_in(session)


def abandon(session: Session, exhibition_id: int, before: JobState, cause: str, *conditions: Any) -> bool:
    """Abandon the match. Return False if it is not in that state."""
    lock_places(session)
    closed = {**CLOSED, "cause": cause, "lease_until": None, "finished_at": now(session)}
    abandoned = move(session, Exhibition, exhibition_id, before, JobState.ABANDONED, *conditions, **closed)
    if abandoned:
        let_next_in(session)
    return abandoned


CLOSED: dict[str, None] = dict.fromkeys(("open_user_id", "open_place", "asked_at", "answer", "waits_since_at"))
"""The values that free the place for the next person."""


def _own(session: Session, person: Person, exhibition_id: int) -> Exhibition:
    row = session.exec(OWN, params={"id": exhibition_id, "person": person.id}).first()
    if row is None:
        sentence = _("You are not playing match %(n)s against a bot.", n=exhibition_id)
        raise NotFound("exhibition", exhibition_id, sentence)
    return row


OWN = (
    select(Exhibition)
    .where(col(Exhibition.id) == bindparam("id"), col(Exhibition.user_id) == bindparam("person"))
    .execution_options(populate_existing=True)
)


def _match(row: Exhibition) -> Unfinished | None:
    """Return the match so far, including private events, or None if it has not begun, or was played by rules that
    differ from ours.
    """
    if row.started_at is None or row.state is JobState.ABANDONED:
        return None
    try:
        return unfinished(rules(row.game, row.variant), row.seats, row.seed, read_replies(row.replies))
    except (BadTranscript, KeyError, ValueError):
        return None


PLAYER = aliased(User)
INFO: Any = (
    columns(Exhibition, col(PLAYER.name), col(Bot.id), col(Bot.name), col(User.name), col(BotVersion.number))
    .join(PLAYER, col(PLAYER.id) == Exhibition.user_id)
    .join(BotVersion, col(BotVersion.id) == Exhibition.version_id)
    .join(Bot, col(Bot.id) == BotVersion.bot_id)
    .join(User, col(User.id) == Bot.owner_id)
    .order_by(col(Exhibition.id).desc())
    .limit(bindparam("limit"))
)
ONE, OF_PERSON = (INFO.where(number == bindparam("which")) for number in (col(Exhibition.id), col(Exhibition.user_id)))


def _infos(session: Session, statement: Any, **which: int) -> list[ExhibitionInfo]:
    return [
        from_row(
            ExhibitionInfo,
            row,
            person=person,
            bot_id=bot_id,
            bot=bot,
            author=author,
            version=number,
            seed=row.seed.hex() if row.state is JobState.DONE else None,
            ranks=None if row.ranks is None else tuple(row.ranks),
            points=None if row.points is None else tuple(row.points),
            advice_comes=row.advise_at is not None and (row.advice_tries < MOST_TRIES or row.advise_at > now(session)),
        )
        for row, person, bot_id, bot, author, number in session.exec(statement, params=which)
    ]
