"""What people see of tables: their own while it is played, without anything hidden; everybody's when it is over."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, func, select

from deadheat.engine.core import Fault, Seat
from deadheat.engine.language import _
from deadheat.engine.unfinished import Unfinished
from deadheat.league.database import now
from deadheat.league.errors import NotFound
from deadheat.league.records import from_row
from deadheat.league.records.tables import TableTurn
from deadheat.league.service.people.person import Person
from deadheat.league.service.tables.advising import MOST_TRIES
from deadheat.league.service.tables.places import NEW, places_left
from deadheat.league.service.tables.turns import AtTable, at_table, deadline, own_seat, site_is_there, so_far
from deadheat.league.states import NOT_OVER, SeatKind, TableState
from deadheat.league.tables import Bot, BotVersion, GameTable, TableSeat, User


@dataclass(frozen=True, slots=True)
class Player:
    """The player in a seat. `author` is the owner of a bot or an agent; `bot_id` and `version` are a program's, or 0.
    `fault`: `exited` after resigning or not fetching the question, `timeout` after taking too long.
    """

    seat: Seat
    kind: SeatKind
    name: str
    author: str
    user_id: int | None
    bot_id: int
    version: int
    model: str
    resigned: bool
    fault: Fault | None

    @property
    def known_as(self) -> str:
        """The name on pages."""
        its = {"name": self.name, "author": self.author}
        return _("%(name)s (agent of %(author)s)", **its) if self.kind is SeatKind.AGENT and self.name else self.name


@dataclass(frozen=True, slots=True)
class TableInfo:
    """The facts that become public when the match ends; who sits there knows them before. `seat`, `person` and what
    follows are those of the person, or else of the first agent; `bot` is the first program, "" without any. `seed`
    (hexadecimal) is None until it is done. `advice_sha256` names the advice of the house's strongest bot
    (`engine.advice`); `advice_comes`: it may come. `match_id`: the season's match, which says what may be shown of
    dice and moves; None: the match is not rated.
    """

    id: int
    game: str
    variant: Sequence[str] | None
    season_id: int | None
    match_id: int | None
    state: TableState
    seats: int
    players: tuple[Player, ...]
    seat: Seat
    person: str
    user_id: int | None
    resigned: bool
    fault: Fault | None
    bot: str
    bot_id: int
    version: int
    commitment: str
    seed: str | None
    voids: int
    cause: str
    ranks: tuple[int, ...] | None
    points: tuple[str, ...] | None
    transcript_sha256: str | None
    advice_sha256: str | None
    advice_comes: bool
    created_at: datetime
    finished_at: datetime | None

    @property
    def is_duel(self) -> bool:
        """Whether one plays against a bot or its copies: all other seats are theirs."""
        others = {player.bot_id for player in self.players if player.seat != self.seat}
        return self.bot_id > 0 and others == {self.bot_id}

    @property
    def names(self) -> list[str]:
        """Return the names by seat: copies of a bot are numbered; agents, and bots with others' names, are marked."""
        others = {player.name.lower() for player in self.players if player.kind is not SeatKind.PROGRAM}
        copies, numbers = Counter(player.bot_id for player in self.players), Counter[int]()
        names = []
        for player in self.players:
            name = player.known_as
            if player.kind is SeatKind.PROGRAM:
                numbers[player.bot_id] += 1
                marked = f"{name} (bot)" if name.lower() in others else name
                name = marked if copies[player.bot_id] == 1 else f"{marked} {numbers[player.bot_id]}"
            names.append(name)
        return names


@dataclass(frozen=True, slots=True)
class Table:
    """The match as its person sees it. `match`: None if it has not begun, or nothing can be shown.

    `prompt`: the line that the person must answer now, or None; `turn`: its number. `queue`: the person's number among
    those who wait while all places are taken; 0: a place is free. `waits_since_at`: the bot waits for a slot since
    then. `version` changes whenever anything else does.
    """

    info: TableInfo
    match: Unfinished | None
    prompt: str | None
    turn: int
    deadline_at: datetime | None
    resigned: bool
    queue: int
    waits_since_at: datetime | None
    version: str


def table_info(session: Session, table_id: int) -> TableInfo:
    """Return a table's record. Raises NotFound."""
    infos = _infos(session, ONE, table_id)
    if not infos:
        raise NotFound("table", table_id)
    return infos[0]


def tables_of(session: Session, person: Person, limit: int) -> list[TableInfo]:
    """Return the tables at which a person has sat, the newest first."""
    return _infos(session, OF_PERSON, person.id, limit)


def view(session: Session, person: Person, table_id: int) -> Table:
    """Return the person's own table in its present state. Raises NotFound."""
    table = at_table(session, table_id)
    row, seat = table.row, own_seat(table, person)
    info = table_info(session, table_id)
    match = so_far(table)
    prompt = match.prompt(seat.seat) if match is not None and waits_for(table, seat) else None
    seen = None if match is None else match.seen_by(seat.seat)
    queue = _number(session, row)
    version, until = f"{_version(table, seat)}-{queue}", deadline(session, row, seat)
    return Table(info, seen, prompt, row.turn, until, seat.resigned, queue, row.waits_since_at, version)


def next_turn(session: Session, person: Person, table_id: int, after: int) -> TableTurn:
    """Return what the person's agent has to answer, and begin its clock. `lines` are those after turn `after`; 0: all.
    Raises NotFound.
    """
    table = at_table(session, table_id)
    seat = own_seat(table, person, SeatKind.AGENT)
    if waits_for(table, seat) and seat.delivered_at is None:
        table = at_table(session, table_id, locked=True)
        seat, at = own_seat(table, person, SeatKind.AGENT), now(session)
        if waits_for(table, seat) and seat.delivered_at is None:
            site_is_there(table, at)
            seat.delivered_at = at
    row, is_asked = table.row, waits_for(table, seat)
    match = so_far(table)
    since = next((step + 1 for turn, step, *_ in seat.turns if turn == after), 0)
    exchanges = () if match is None else match.exchanges[since:]
    table.keep()
    return from_row(
        TableTurn,
        row,
        table_id=row.id,
        seat=seat.seat,
        fault=seat.fault,
        ranks=row.ranks and tuple(row.ranks),
        points=row.points and tuple(row.points),
        lines=tuple(message.line for each in exchanges for message in each.messages if message.seat == seat.seat),
        prompt=match.prompt(seat.seat) if is_asked and match is not None else None,
        deadline_at=deadline(session, row, seat) if is_asked else None,
    )


def waits_for(table: AtTable, seat: TableSeat) -> bool:
    """Say whether the table waits for the seat's answer."""
    is_asked = table.row.state is TableState.RUNNING and seat.ready_at is not None
    return is_asked and seat.reply is None and not seat.resigned


def is_news(session: Session, person: Person, table_id: int, after: int = 0) -> bool:
    """Say whether the person's agent has to answer a later turn than `after`, or any of which it was not told since it
    was asked (again), or the match is over. Raises NotFound.
    """
    table = at_table(session, table_id)
    seat = own_seat(table, person, SeatKind.AGENT)
    untold = table.row.turn > after or seat.delivered_at is None
    return table.row.state not in NOT_OVER or (untold and waits_for(table, seat))


def open_tables(session: Session, limit: int) -> list[TableInfo]:
    """Return the tables at which a seat is open, the newest first."""
    return _infos(session, OPEN, TableState.OPEN, limit)


def table_version(session: Session, person: Person, table_id: int) -> str:
    """Return `Table.version` without making the table. Raises NotFound."""
    table = at_table(session, table_id)
    return f"{_version(table, own_seat(table, person))}-{_number(session, table.row)}"


def _number(session: Session, row: GameTable) -> int:
    """Return the person's number in the queue, from 1; 0: the match has begun, or a place is free."""
    if row.state is not TableState.QUEUED or row.attempt > 0 or places_left(session) > 0:
        return 0
    return session.exec(BEFORE, params={"id": row.id}).one() + 1


BEFORE = select(func.count()).where(*NEW, col(GameTable.pace_seconds).is_(None), col(GameTable.id) < bindparam("id"))


def _version(table: AtTable, seat: TableSeat) -> str:
    row, waits = table.row, seat.ready_at is not None and seat.reply is None
    steps = f"{row.state}-{row.attempt}-{len(table.replies)}.{row.turn}-{row.voids}"
    return f"{steps}-{waits:d}{seat.resigned:d}{row.waits_since_at is not None:d}"


NEWEST = select(GameTable).order_by(col(GameTable.id).desc()).limit(bindparam("limit"))
ONE = NEWEST.where(col(GameTable.id) == bindparam("which"))
OF_PERSON = NEWEST.join(TableSeat).where(
    col(TableSeat.user_id) == bindparam("which"), col(TableSeat.kind) == SeatKind.PERSON
)
OPEN = NEWEST.where(col(GameTable.state) == bindparam("which"), col(GameTable.season_id).is_(None))
AUTHOR = aliased(User)
PLAYERS: Any = (
    columns(TableSeat, col(User.name), col(Bot.id), col(Bot.name), col(AUTHOR.name), col(BotVersion.number))
    .join(User, col(User.id) == TableSeat.user_id, isouter=True)
    .join(BotVersion, col(BotVersion.id) == TableSeat.version_id, isouter=True)
    .join(Bot, col(Bot.id) == BotVersion.bot_id, isouter=True)
    .join(AUTHOR, col(AUTHOR.id) == Bot.owner_id, isouter=True)
    .where(col(TableSeat.table_id).in_(bindparam("ids", expanding=True)))
    .order_by(col(TableSeat.table_id), col(TableSeat.seat))
)


def _infos(session: Session, statement: Any, which: object, limit: int = 1) -> list[TableInfo]:
    rows = session.exec(statement, params={"which": which, "limit": limit}).all()
    players: dict[int, list[Player]] = {row.id: [] for row in rows}
    for seat, user, bot_id, bot, author, version in session.exec(PLAYERS, params={"ids": [*players]}) if rows else ():
        name = bot or seat.name or user or ""
        known = from_row(Player, seat, name=name, bot_id=bot_id or 0, author=author or user or "", version=version or 0)
        players[seat.table_id].append(known)
    return [_info(session, row, tuple(players[row.id])) for row in rows]


def _info(session: Session, row: GameTable, players: tuple[Player, ...]) -> TableInfo:
    own = min(players, key=lambda player: (ORDER[player.kind], player.seat))
    program = max(players, key=lambda player: (ORDER[player.kind], -player.seat))
    return from_row(
        TableInfo,
        row,
        players=players,
        seat=own.seat,
        person=own.known_as,
        user_id=own.user_id,
        resigned=own.resigned,
        fault=own.fault,
        bot=program.name if program.bot_id else "",
        bot_id=program.bot_id,
        version=program.version,
        seed=row.seed.hex() if row.state is TableState.DONE and row.match_id is None else None,
        transcript_sha256=row.transcript_sha256 if row.match_id is None else None,
        ranks=None if row.ranks is None else tuple(row.ranks),
        points=None if row.points is None else tuple(row.points),
        advice_comes=row.advise_at is not None and (row.advice_tries < MOST_TRIES or row.advise_at > now(session)),
    )


ORDER = {SeatKind.PERSON: 0, SeatKind.AGENT: 1, SeatKind.PROGRAM: 2}
