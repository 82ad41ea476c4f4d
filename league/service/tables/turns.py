"""The turns at a table: who is asked, what is accepted, how long it may take, and how a match ends.

Every change locks the table's row first, reads the replies, and leaves the table at a step in which somebody is still
to answer (`go_on`). What a seat has answered to the present step is its `reply`; nobody is shown it.
"""

import atexit
import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from sqlalchemy import bindparam, exists, extract, func, update
from sqlalchemy import select as columns
from sqlalchemy.orm import defer
from sqlmodel import Session, col, select

from deadheat.engine.advice import ADVISERS
from deadheat.engine.core import MAX_LINE_BYTES, Fault, Message, Reply, Result, Seat
from deadheat.engine.games.variants import rules, variant_of
from deadheat.engine.language import _
from deadheat.engine.transcript import BadTranscript, Transcript, decode_reply, encode_reply
from deadheat.engine.unfinished import Playing, Unfinished, read_replies, write_replies
from deadheat.league.causes import Cause
from deadheat.league.database import now, settings_of
from deadheat.league.errors import IllegalMove, NotFound, WrongState
from deadheat.league.jobs import ProgramRef
from deadheat.league.service.ground.life import NO_WORKER_UNTIL
from deadheat.league.service.ground.steps import move, set_values
from deadheat.league.service.people.person import Person
from deadheat.league.service.tables import rated
from deadheat.league.service.tables.places import abandon, free_seats, let_next_in, lock_places
from deadheat.league.states import NOT_OVER, SeatKind, TableState
from deadheat.league.tables import GameTable, TableSeat, User, UtcDateTime

log = logging.getLogger(__name__)

REMOTE = (SeatKind.PERSON, SeatKind.AGENT)
"""The kinds of seats that answer over HTTP."""

WATCH_SECONDS = 2.0
"""How often each process of the site reports that it is there."""

AWAY = timedelta(seconds=3)
"""The longest silence of the whole site that is not taken off everybody's time."""

GRACE = timedelta(seconds=15)
"""How long after its deadline a turn is ended: an answer that was received in time may still be on its way to us."""

UNTIL_DELIVERED = timedelta(seconds=15)
"""The time after which an agent's clock starts although it has not fetched the question."""

FOR_THE_NETWORK = timedelta(seconds=1)
"""What every agent is allowed for the way of each answer."""

MOST_REFUSALS = 2
"""How many answers to one question the rules may refuse an agent, while its clock runs."""

OPEN_FOR = timedelta(minutes=10)
"""How long a table waits for agents to take its open seats, and after its last question for a process with its game."""

MOST_ABSENCES = 128
"""How many of the site's absences a table keeps. Behind more of them in one turn, our own standstills are not found."""

MOST_WATCHED = 500  # tables of one `watch`; the others have their turn at the next


Absences = list[list[timedelta]]
"""When the site was away: how long ago each absence began and ended."""


MOST_KEPT = 20_000
"""The steps of all replays that a process keeps: some MB, and more than all but the longest matches need."""

_kept: dict[tuple[object, ...], Playing] = {}  # by all that determines it, the newest last
_keeping = threading.Lock()
atexit.register(_kept.clear)  # no game ends after the modules that it needs


@dataclass
class AtTable:
    """A table's row, and its seats."""

    row: GameTable
    seats: Mapping[Seat, TableSeat]
    _playing: Playing | None = None

    @cached_property
    def replies(self) -> list[Mapping[Seat, Reply]]:
        """The replies to the steps that are over."""
        if self._playing is None:
            with _keeping:
                self._playing = _kept.pop(self._key(), None)
        return [*(replies_of(self.row) if self._playing is None else self._playing.given)]

    def playing(self) -> Playing:
        """Replay the match as far as its replies go: only the newest, if the others were replayed before. Raises
        ValueError, KeyError: the replies are of rules that differ from ours.
        """
        replies, playing, game = self.replies, self._playing, rules(self.row.game, self.row.variant)
        known = [] if playing is None else playing.given
        if playing is None or playing.game != game or replies[: len(known)] != known[: len(replies)]:
            playing = Playing(game, self.row.seats, self.row.seed)
        for given in replies[len(playing.given) :]:
            playing.go_on(given)
        self._playing = playing
        return playing

    def keep(self) -> None:
        """Leave the replay to the next request of this process. Only one at a time has it, and only for exactly these
        rules, dice and replies, so what it is told is what a new replay would say.
        """
        playing, self._playing = self._playing, None
        if playing is not None and len(playing.given) == len(self.replies):
            with _keeping:
                _kept[self._key()] = playing
                while sum(len(each.given) for each in _kept.values()) > MOST_KEPT:
                    del _kept[next(iter(_kept))]

    def _key(self) -> tuple[object, ...]:
        row = self.row
        return row.id, row.game, *(row.variant or ()), row.seats, row.seed, row.replies

    def match(self) -> Unfinished:
        """Return the match so far. Raises as `playing`."""
        remote = {str(seat): 0 for seat, own in self.seats.items() if own.kind in REMOTE}
        about = {"turns": remote, "resigned": [seat for seat, own in self.seats.items() if own.resigned]}
        return replace(self.playing().so_far(len(self.replies)), about=about)

    def objection(self, seat: TableSeat, line: str) -> str | None:
        """Say why the rules would refuse this line as the seat's next reply; None if they accept it."""
        replies = {each.seat: _answer(each, None) for each in self.seats.values()}
        given = {each: reply for each, reply in replies.items() if reply is not None}
        playing = self.playing()
        assert len(playing.given) == len(self.replies), "nothing has been tried before"
        return playing.objection(seat.seat, line, given)


TABLE = select(GameTable).where(col(GameTable.id) == bindparam("id")).execution_options(populate_existing=True)
LOCKED = TABLE.with_for_update()


def at_table(session: Session, table_id: int, *, locked: bool = False) -> AtTable:
    """Read a table; `locked`: nobody else changes it until the transaction ends. Raises NotFound."""
    row = session.exec(LOCKED if locked else TABLE, params={"id": table_id}).first()
    if row is None:
        raise NotFound("table", table_id)
    return with_seats(session, row)


def with_seats(session: Session, row: GameTable) -> AtTable:
    """Read the rest of a table."""
    return AtTable(row, {seat.seat: seat for seat in session.exec(ALL_SEATS, params={"ids": [row.id]})})


def replies_of(row: GameTable) -> list[dict[Seat, Reply]]:
    """Return the replies to the steps that are over."""
    try:
        return read_replies(row.replies)
    except BadTranscript:  # written by another version; everybody is asked again
        return []


def own_seat(table: AtTable, person: Person, kind: SeatKind = SeatKind.PERSON) -> TableSeat:
    """Return the person's, or their agent's, seat. Raises NotFound."""
    for seat in table.seats.values():
        if seat.user_id == person.id and seat.kind is kind:
            return seat
    raise NotFound("table", table.row.id, _("You have no seat at table %(n)s.", n=table.row.id))


def go_on(session: Session, table: AtTable, moved: bool = False) -> Unfinished:
    """Carry the match on as far as the answers reach, and ask whom the next step asks. `moved`: it is at another step
    already. The table is locked.
    """
    row, before = table.row, len(table.replies)
    while True:
        match = table.match()
        given = {seat: _answer(table.seats[seat], message) for seat, message in match.asked().items()}
        replies = {seat: reply for seat, reply in given.items() if reply is not None}
        if match.result is not None or len(replies) < len(given):
            break
        table.replies.append(replies)
        moved = True
        for seat in given:
            _clear(table.seats[seat])
    waits = [table.seats[seat] for seat, reply in given.items() if reply is None and table.seats[seat].kind in REMOTE]
    if moved:
        row.replies = write_replies(table.replies[before:], row.replies if before else "[]")
        row.turn += bool(waits)
        rated.show(session, row)
    for each in waits if row.state is TableState.RUNNING else ():
        if each.ready_at is None:
            each.ready_at = now(session)
            each.delivered_at = each.ready_at if each.kind is SeatKind.PERSON else None
    session.flush()
    table.keep()
    return match


def _answer(seat: TableSeat, message: Message | None) -> Reply | None:
    """Return the seat's answer to the present step, if it has one."""
    if message is not None and seat.kind in REMOTE and message.command == "READY":
        return Reply("OK", 0)
    if seat.reply is not None:
        return decode_reply(json.loads(seat.reply))[1]
    return Reply(None, 0, Fault.EXITED) if seat.resigned else None


def _clear(seat: TableSeat) -> None:
    seat.reply = seat.ready_at = seat.delivered_at = None
    seat.refused, seat.refusals = None, 0


def put(seat: TableSeat, reply: Reply) -> None:
    """Store the seat's answer to the present step."""
    seat.reply = encode_reply(seat.seat, reply)


def go_back(session: Session, table: AtTable, number: int, replies: Mapping[Seat, Reply]) -> None:
    """Let the match go on after step `number`, which programs have now answered differently. Remote seats' answers to
    that step stay; later ones were to questions that are gone. The table is locked.
    """
    kept = {**table.replies[number], **replies}
    table.replies[number:] = [kept]
    table.row.replies = write_replies(table.replies)
    for seat in table.seats.values():
        _clear(seat)
        seat.turns = [turn for turn in seat.turns if turn[1] <= number]
    go_on(session, table, moved=True)


def start_again(table: AtTable) -> None:
    """Ask everybody again from the beginning. The table is locked."""
    table.replies, table.row.replies = [], "[]"
    for seat in table.seats.values():
        _clear(seat)
        seat.turns = []


def begin(session: Session, table: AtTable) -> None:
    """Begin a match without programs. The table is locked."""
    at = now(session)
    table.row.state, table.row.lease_until = TableState.RUNNING, NO_WORKER_UNTIL
    table.row.started_at = table.row.watched_at = at
    go_on(session, table)


def deadline(session: Session, row: GameTable, seat: TableSeat) -> datetime | None:
    """Return the deadline for the seat's answer."""
    if seat.ready_at is None or row.started_at is None:
        return None
    settings = settings_of(session)
    pace_seconds = settings.exhibition_move_seconds if row.pace_seconds is None else row.pace_seconds
    latest = seat.ready_at + UNTIL_DELIVERED
    until = min(seat.delivered_at or latest, latest) + timedelta(seconds=pace_seconds)
    if seat.kind is SeatKind.PERSON:
        return min(until, row.started_at + timedelta(seconds=settings.exhibition_seconds))
    return until + FOR_THE_NETWORK


def is_late(session: Session, row: GameTable, seat: TableSeat, at: datetime) -> bool:
    """Say whether the seat's time was over at that instant."""
    return (until := deadline(session, row, seat)) is not None and until < at


def allow_for_absence(table: AtTable, at: datetime) -> None:
    """Take the time for which the site was away until now off everybody's time. The table is locked."""
    row = table.row
    since = row.watched_at or datetime.min.replace(tzinfo=UTC)  # another version's row says nothing
    if since >= at - AWAY:
        return
    row.absences = [*row.absences, [since.timestamp(), at.timestamp()]][-MOST_ABSENCES:]
    if row.started_at is not None:
        row.started_at += at - max(since, row.started_at)
    for seat in table.seats.values():
        if seat.ready_at is not None:
            seat.ready_at += at - max(since, seat.ready_at)
        if seat.delivered_at is not None:
            seat.delivered_at += at - max(since, seat.delivered_at)
    row.watched_at = at


def site_is_there(table: AtTable, at: datetime) -> None:
    """Note that the site serves this table now, because `report` leaves out locked rows. The table is locked."""
    allow_for_absence(table, at)
    if table.row.watched_at is not None:
        table.row.watched_at = max(table.row.watched_at, at)


@dataclass(frozen=True, slots=True)
class Receipt:
    """An answer that counts, or that the rules have `refused`, for this reason; the seat may then try again. The
    instants of an agent's answer are also in the match's record. `is_last`: it ends the match.
    """

    turn: int
    received_at: datetime
    recorded_at: datetime
    refused: str | None = None
    is_last: bool = False


def answer(
    session: Session,
    person: Person,
    table_id: int,
    turn: int,
    line: str,
    kind: SeatKind = SeatKind.PERSON,
    waited: Callable[[], timedelta] = timedelta,
    ours: Callable[[timedelta, Absences], timedelta] = lambda *_: timedelta(),
) -> Receipt:
    """Make a move: `line` is what a bot would print, `turn` the number of the question. `waited`: the time since it was
    received, to be asked when nothing more is waited for. `ours`: how much of a time until then may be our fault, not
    counting the site's absences, which everybody has been given.

    While no worker holds the match, the last question may also be answered: it will be asked again. The same answer may
    be given twice. Of an agent, the rules refuse `MOST_REFUSALS` answers to a question, each of which may be
    sent twice, since the reply may have been lost; the next one stands, whatever it is.

    Raises:
        NotFound.
        WrongState: this is not the present question, or it is answered, or its time is over; nothing was changed.
        IllegalMove: the rules refuse a person's move; the person may try again.
    """
    table = at_table(session, table_id, locked=True)
    row, seat, at, received_ago = table.row, own_seat(table, person, kind), now(session), waited()
    if (given := _given(table, seat, turn)) is not None:
        if given[0] == line:
            return given[1]
        raise WrongState("answered", _("This move has been made already."))
    match, received_at = so_far(table), at - received_ago
    is_asked = row.turn == turn and turn > 0 and row.state in NOT_OVER and not seat.resigned
    if not is_asked or match is None or match.prompt(seat.seat) is None:
        raise WrongState("stale", _("It is too late for this move: the match has moved on, or is over."))
    if seat.reply is not None:
        raise WrongState("answered", _("This move has been made already."))
    site_is_there(table, at)
    if is_late(session, row, seat, received_at):
        received_at -= ours(*_since_asked(row, seat, received_at))
    if is_late(session, row, seat, received_at):
        raise WrongState("late", _("It is too late for this move: the match has moved on, or is over."))
    if "\n" in line or len(line.encode("utf-8", "replace")) > MAX_LINE_BYTES:
        raise IllegalMove(_("a move is one short line"))
    why = table.objection(seat, line)
    if why is not None and kind is SeatKind.PERSON:
        raise IllegalMove(why)
    again = line == seat.refused
    if why is not None and (again or seat.refusals < MOST_REFUSALS):
        seat.refusals += not again
        seat.refused = None if again else line
        return Receipt(turn, received_at, at, why)
    put(seat, Reply(line, 0))
    stamps = (seat.ready_at or received_at, seat.delivered_at or received_at, received_at, at)
    seat.turns = [*seat.turns, [turn, len(table.replies), *(round(stamp.timestamp() * 1000) for stamp in stamps)]]
    return _receipt(seat.turns[-1], go_on(session, table).result is not None)


def _since_asked(row: GameTable, seat: TableSeat, at: datetime) -> tuple[timedelta, Absences]:
    """Return the time since the seat was asked, without what it has been given, and the site's absences before `at`."""
    asked_at = seat.delivered_at or seat.ready_at or at
    absences = [[at - datetime.fromtimestamp(each, UTC) for each in pair] for pair in row.absences]
    for began, ended in reversed(absences):
        if asked_at >= at - ended:  # it was asked after this absence
            break
        asked_at -= began - ended
    return at - asked_at, absences


def _given(table: AtTable, seat: TableSeat, turn: int) -> tuple[str | None, Receipt] | None:
    """Return what the seat has answered to a turn, if it has, and the receipt."""
    for given in seat.turns:
        if given[0] == turn:
            step = given[1]
            reply = table.replies[step][seat.seat] if step < len(table.replies) else _answer(seat, None)
            return (reply and reply.line), _receipt(given)
    return None


def _receipt(given: list[int], is_last: bool = False) -> Receipt:
    """Return the receipt of an answer with these stamps, the same however often it is asked for."""
    turn, _step, _ready, _delivered, *stamps = given
    received_at, recorded_at = (datetime.fromtimestamp(stamp / 1000, UTC) for stamp in stamps)
    return Receipt(turn, received_at, recorded_at, is_last=is_last)


def so_far(table: AtTable) -> Unfinished | None:
    """Return the match so far, including private events, or None if it has not begun, or was played by rules that
    differ from ours.
    """
    if table.row.started_at is None or table.row.state is TableState.ABANDONED:
        return None
    try:
        return table.match()
    except (KeyError, ValueError):
        return None


def resign(session: Session, person: Person, table_id: int, kind: SeatKind = SeatKind.PERSON) -> None:
    """Leave the match. Whatever a worker is doing, the person may sit down elsewhere at once. Raises NotFound.

    A person who leaves before a worker has taken the match has not played at all. A match that a worker has is played
    to its end, for the record, and one that was given back if somebody else sits there; so is every match of a season,
    which exists as soon as its table is full.
    """
    lock_places(session)
    table = at_table(session, table_id, locked=True)
    row, seat = table.row, own_seat(table, person, kind)
    others = [each for each in table.seats.values() if each.user_id and not each.resigned and each is not seat]
    if row.state is TableState.OPEN and others:  # they wait for somebody else
        _keep_left(session, row, seat)
        rated.empty(seat)
        return
    ends = row.match_id is None and (row.started_at is None or not others)
    if ends and row.state in (TableState.OPEN, TableState.QUEUED):
        cause = Cause.LEFT if row.started_at is None else Cause.RESIGNED
        if abandon(session, table_id, row.state, cause):
            return
    if row.state not in NOT_OVER or seat.resigned:
        return
    seat.resigned, seat.open_user_id = True, None
    if not others and row.match_id is None:
        row.open_place = None
    if so_far(table) is not None:
        go_on(session, table)
    session.flush()
    let_next_in(session)


LIKE = {"season_id", "game", "variant", "seats", "seed", "commitment", "pace_seconds", "queued_at", "nudge_at"}


def _keep_left(session: Session, row: GameTable, seat: TableSeat) -> None:
    """Keep the seat that is left at a table of its own, which is over, so that quotas count it as any other table."""
    at = now(session)
    left = GameTable(**row.model_dump(include=LIKE), state=TableState.ABANDONED, created_at=at, finished_at=at)
    left.cause = Cause.LEFT
    session.add(left)
    session.flush()
    who = seat.model_dump(include={"seat", "kind", "user_id", "entrant_id", "name", "model"})
    session.add(TableSeat(table_id=left.id, resigned=True, **who))


def report(session: Session) -> None:
    """Note that the site is there. If nobody did for long, `attend` first takes that time off everybody's."""
    at = now(session)
    session.connection().execute(REPORT, {"at": at, "since": at - AWAY})


def watch(session: Session) -> list[int]:
    """Return the tables to `attend` to: they are late, over, or no longer waited for, or the site was away."""
    at, settings = now(session), settings_of(session)
    bounds = {"since": at - OPEN_FOR, "at": at - AWAY, "late": (at - GRACE).timestamp()}
    bounds |= {"pace": settings.exhibition_move_seconds, "longest": settings.exhibition_seconds}
    rows: Mapping[int, GameTable] = {row.id: row for row in session.exec(WATCHED, params=bounds)}
    seats: dict[int, list[TableSeat]] = {table_id: [] for table_id in rows}
    for seat in session.exec(ALL_SEATS, params={"ids": [*rows]}) if rows else ():
        seats[seat.table_id].append(seat)
    return [row.id for row in rows.values() if _has_news(session, row, _waited_for(seats[row.id]), at)]


def _has_news(session: Session, row: GameTable, waits: list[TableSeat], at: datetime) -> bool:
    if row.state is TableState.OPEN or row.watched_at is None or row.watched_at < at - AWAY:
        return True
    is_over = row.worker is None and not waits
    return is_over or any(is_late(session, row, seat, at - GRACE) for seat in waits)


def attend(session: Session, table_id: int) -> bool:
    """End the turns of a table that are late, and give up what cannot be played. Return whether it has no programs, is
    over and waits to be recorded.
    """
    lock_places(session)
    table, at = at_table(session, table_id, locked=True), now(session)
    row = table.row
    if row.state is TableState.OPEN and row.created_at < at - OPEN_FOR:
        abandon(session, table_id, TableState.OPEN, Cause.LEFT)
    if row.state is not TableState.RUNNING:
        return False
    site_is_there(table, at)
    late = [seat for seat in _waited_for(table.seats.values()) if is_late(session, row, seat, at - GRACE)]
    is_over = row.worker is None and not _waited_for(table.seats.values())
    if row.worker is None and (late or is_over) and not _replays(table, at):
        log.error("table %d is abandoned: its rules differ from ours, or its game was removed", table_id)
        return not abandon(session, table_id, TableState.RUNNING, Cause.UNKNOWN)
    if late:
        _end_turns(session, table, late)
    session.flush()
    return row.worker is None and not _waited_for(table.seats.values())


def _replays(table: AtTable, at: datetime) -> bool:
    """Say whether the rules are those by which the match was played, or those of a game that another process has."""
    row = table.row
    try:
        Playing(rules(row.game, row.variant), row.seats, row.seed, read_replies(row.replies))
    except KeyError:
        asked = [seat.ready_at for seat in table.seats.values() if seat.ready_at is not None]
        return max(asked, default=row.started_at or at) > at - OPEN_FOR
    except (ValueError, BadTranscript):
        return False
    return True


def _waited_for(seats: Iterable[TableSeat]) -> list[TableSeat]:
    return [seat for seat in seats if seat.ready_at is not None and seat.reply is None and not seat.resigned]


AT: Any = bindparam("at", type_=UtcDateTime)
SINCE: Any = bindparam("since", type_=UtcDateTime)
LATE: Any = bindparam("late")
ASKED = exists().where(col(TableSeat.table_id) == GameTable.id, col(TableSeat.ready_at).is_not(None))
ASKED = ASKED.where(col(TableSeat.reply).is_(None), ~col(TableSeat.resigned))
READY, BEGAN = (extract("epoch", col(at)) for at in (TableSeat.ready_at, GameTable.started_at))
ASKED_LONG_AGO = ASKED.where(READY + func.coalesce(GameTable.pace_seconds, bindparam("pace")) < LATE)
OVER = col(GameTable.open_place).is_not(None) & col(GameTable.pace_seconds).is_(None)
OVER &= BEGAN + bindparam("longest") < LATE
UNSEEN = col(GameTable.watched_at).is_(None) | (col(GameTable.watched_at) < AT)
WATCHED = (  # no table that may have news is left out; most of the others are
    select(GameTable)
    .where(
        ((col(GameTable.state) == TableState.OPEN) & (col(GameTable.created_at) < SINCE))
        | ((col(GameTable.state) == TableState.RUNNING) & (UNSEEN | OVER | ~ASKED | ASKED_LONG_AGO))
    )
    .order_by(col(GameTable.id))
    .limit(MOST_WATCHED)
    .execution_options(populate_existing=True)
)
THERE = (
    columns(col(GameTable.id))
    .where(col(GameTable.state) == TableState.RUNNING)
    .where(col(GameTable.watched_at).between(SINCE, AT))  # two processes may report in either order
    .order_by(col(GameTable.id))
    .with_for_update(skip_locked=True)
)
REPORT = (
    update(GameTable)
    .where(col(GameTable.id).in_(THERE))
    .values(watched_at=AT)
    .execution_options(synchronize_session=False)
)
ALL_SEATS = (
    select(TableSeat)
    .where(col(TableSeat.table_id).in_(bindparam("ids", expanding=True)))
    .order_by(col(TableSeat.table_id), col(TableSeat.seat))
    .options(defer(TableSeat.turns))  # type: ignore[arg-type]  # a long list; few ask for more than one seat's
    .execution_options(populate_existing=True)
)


def _end_turns(session: Session, table: AtTable, late: list[TableSeat]) -> None:
    if (match := so_far(table)) is not None:
        for seat in late:
            until = deadline(session, table.row, seat)
            absent = seat.delivered_at is None or (until is not None and until < seat.delivered_at)
            limit_ns = match.asked()[seat.seat].limit_ns or 0
            put(seat, Reply(None, 0, Fault.EXITED) if absent else Reply(None, limit_ns, Fault.TIMEOUT))
        go_on(session, table)


def record(session: Session, table_id: int) -> Transcript | None:
    """Return the record of a match without programs that is over and has none yet."""
    table = at_table(session, table_id)
    row, is_asked = table.row, _waited_for(table.seats.values())
    match = so_far(table) if row.state is TableState.RUNNING and row.worker is None and not is_asked else None
    if match is None or match.result is None:
        return None
    game = rules(row.game, row.variant)
    head = (game.name, game.rules_version, row.seats, row.seed, match.exchanges, match.result)
    return Transcript(*head, about(session, table, {}), variant=variant_of(game))


def about(session: Session, table: AtTable, programs: Mapping[int, ProgramRef]) -> dict[str, object]:
    """Return the labels of the match's record."""
    owners = {seat.user_id for seat in table.seats.values() if seat.user_id is not None}
    names = dict(session.execute(columns(col(User.id), col(User.name)).where(col(User.id).in_(owners))).all())
    if table.row.match_id is not None:
        return {**rated.about(session, table.row.match_id), **stamps(table)}
    labels = {version_id: program.label for version_id, program in programs.items()}
    players = [labels.get(s.version_id or 0) or known_as(s.name, names[s.user_id]) for s in table.seats.values()]
    persons = [("person", seat.seat) for seat in table.seats.values() if seat.kind is SeatKind.PERSON]
    return {"exhibition": table.row.id, "players": players, **dict(persons), **stamps(table)}


def known_as(name: str | None, owner: str) -> str:
    """Return a person's name, or that of their agent: it could have taken anybody's, so its owner's is added."""
    return f"{name} (agent of {owner})" if name else owner


def stamps(table: AtTable) -> dict[str, object]:
    """Return the stamps of agents' answers for the match's record: by seat, the turn, its step, and when it was ready,
    delivered, received and recorded, in milliseconds; and who resigned, of people and agents.
    """
    turns = {str(seat.seat): seat.turns for seat in table.seats.values() if seat.kind is SeatKind.AGENT}
    resigned = [seat.seat for seat in table.seats.values() if seat.resigned]
    return {**({"turns": turns} if turns else {}), "resigned": resigned}


WITH_PERSON = select(TableSeat.seat).where(
    col(TableSeat.table_id) == bindparam("id"), col(TableSeat.kind) == SeatKind.PERSON
)


def finish(
    session: Session,
    table_id: int,
    attempt: int,
    result: Result,
    transcript_sha256: str,
    transcript: Transcript | None = None,
) -> bool:
    """Store the result of a match that is over, of that attempt; if it is rated, also its `transcript` as the season
    has it. Return False if it is too late; nothing was changed then.
    """
    lock_places(session)
    row = session.get_one(GameTable, table_id)
    at, person = now(session), session.exec(WITH_PERSON, params={"id": table_id}).first()
    ended = move(
        session,
        GameTable,
        table_id,
        TableState.RUNNING,
        TableState.DONE,
        where={"attempt": attempt},
        lease_until=None,
        ranks=list(result.ranks),
        points=None if result.points is None else [str(value) for value in result.points],
        transcript_sha256=transcript_sha256,
        finished_at=at,
        advise_at=at if row.game in ADVISERS and person is not None else None,
        open_place=None,
        waits_since_at=None,
    )
    if ended:
        for seat, fault in result.faults.items():
            set_values(session, TableSeat, where={"table_id": table_id, "seat": seat}, fault=fault)
        free_seats(session, table_id)
        if row.match_id is not None:
            assert transcript is not None
            rated.close(session, row, transcript, transcript_sha256)
    return ended
