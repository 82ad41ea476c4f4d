"""Sitting down at a table.

*Nobody scouts new versions.* People meet only versions that play, or have played, in a season that has begun, and no
bot whose author has closed it to people. They play the game with the settings of the newest such season. The house's
bots need no season, so every game has an opponent as soon as an operator has uploaded one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import ColumnElement, bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, exists, or_, select

from deadheat.engine.chance import SEED_BYTES, commitment
from deadheat.engine.core import Seat
from deadheat.engine.figures import span
from deadheat.engine.games import GAMES
from deadheat.engine.language import N_, _
from deadheat.league.database import now, settings_of, surroundings
from deadheat.league.errors import BadSetting, NoPlace, TooMany, UnknownGame, WrongState
from deadheat.league.service.bots.bots import HOUR, Quota, check_quota, must_be_active
from deadheat.league.service.ground.steps import existing, flush_unless_taken
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import HOUSE, lock_user
from deadheat.league.service.tables import rated
from deadheat.league.service.tables.places import free_place
from deadheat.league.service.tables.turns import AtTable, at_table, begin
from deadheat.league.states import NOT_OVER, OF_CHALLENGES, WITH_RESULT, Players, SeasonState, SeatKind, TableState
from deadheat.league.tables import (
    Bot,
    BotVersion,
    Entry,
    GameTable,
    Match,
    Participant,
    Season,
    Series,
    TableSeat,
    User,
)

PER_HOUR = 20
"""Seats that one person may take in an hour. Opening a bot's boxes takes a slot of the league's for a second, so
sitting down and leaving again and again must not pay.
"""

MOST_TABLES, TABLES_PER_HOUR = 4, 60
"""Of the agents of one account, at a time and in an hour; with bots, one and `PER_HOUR`, as for people."""

NEVER = datetime.fromisoformat("9000-01-01T00:00:00+00:00")
"""When the house's bots take the open seats of a table that waits for other people's agents alone (see `queueing`)."""

PACE_SECONDS = 30.0
"""An agent's time for one move: enough for a model to think, and short enough for those who wait."""


def take_seat(session: Session, person: Person, bot_id: int, opponents: int = 1, seat: Seat | None = None) -> int:
    """Begin a match against the newest playable version of a bot (`playable`), or that many copies of it, and return
    the table's id.

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
    version_id, variant = opponent(session, bot)
    if open_of(session, person) is not None:
        raise TooMany("matches against bots at a time for one person", 1)
    _check(session, person, SeatKind.PERSON, N_("matches of one person against bots"), PER_HOUR)
    row = new_table(session, bot.game, variant, seats)
    row.open_place = free_place(session)
    if seat is None:
        seat = int.from_bytes(surroundings(session).entropy(8)) % seats
    session.add(row)
    # Another person, or the same one in another tab, may have taken the place just now.
    taken = NoPlace(settings_of(session).exhibitions)
    flush_unless_taken(session, taken)
    for number in range(seats):
        at = TableSeat(table_id=row.id, seat=number, kind=SeatKind.PROGRAM, version_id=version_id)
        if number == seat:
            at.kind, at.version_id, at.user_id, at.open_user_id = SeatKind.PERSON, None, person.id, person.id
        session.add(at)
    flush_unless_taken(session, taken)
    return row.id


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's own words: its name, and the model or program that it is."""

    name: str
    model: str = ""


Wanted = Literal["me", "open"] | int
"""Who is to sit in a seat of a new table: the agent that asks, any other agent, or a bot, by its number."""


def open_table(session: Session, person: Person, game: str, wanted: Sequence[Wanted], agent: Agent) -> int:
    """Make a table at which an agent of this person has a seat, and return its id. It begins when all seats are taken.

    Raises:
        NotFound, UnknownGame, BadSetting.
        WrongState: one of the bots does not play (`opponent`).
        NoPlace: all places for tables with bots are taken.
        TooMany, OverQuota: as many tables as an account may have at a time, or in an hour.
    """
    if game not in GAMES:
        raise UnknownGame(game, tuple(sorted(GAMES)))
    if wanted.count("me") != 1:
        raise BadSetting("seats", "exactly one seat is yours, so exactly one must be 'me'")
    _check_table(game, len(wanted) - 1, None)
    must_have_room(session, person, any(isinstance(who, int) for who in wanted))
    bots = {bot_id: existing(session, Bot, bot_id) for bot_id in wanted if isinstance(bot_id, int)}
    if any(bot.game != game for bot in bots.values()):
        raise BadSetting("seats", f"these bots must all play {game}")
    found = {bot_id: opponent(session, bot) for bot_id, bot in bots.items()}
    variant, *others = [variant for _, variant in found.values()] or [None]
    if any(other != variant for other in others):
        raise BadSetting("seats", "these bots play different variants of the game")
    row = new_table(session, game, variant, len(wanted))
    row.state, row.pace_seconds, row.nudge_at = TableState.OPEN, PACE_SECONDS, NEVER
    session.add(row)
    session.flush()
    for number, who in enumerate(wanted):
        seat = TableSeat(table_id=row.id, seat=number, kind=SeatKind.AGENT)
        if isinstance(who, int):
            seat.kind, seat.version_id = SeatKind.PROGRAM, found[who][0]
        elif who == "me":
            seat.user_id, seat.name, seat.model = person.id, agent.name, agent.model
        session.add(seat)
    session.flush()
    begin_if_full(session, at_table(session, row.id))
    return row.id


def join_table(session: Session, person: Person, table_id: int, agent: Agent) -> None:
    """Take the first open seat of a table; who has one keeps it.

    Raises:
        NotFound.
        WrongState: no seat is open.
        NoPlace, TooMany, OverQuota: as for `open_table`.
    """
    table = at_table(session, table_id)  # nobody who has locked a person waits for a table that is a season's, or full
    if table.row.state is TableState.OPEN and table.row.season_id is None:
        lock_user(session, person)
        table = at_table(session, table_id, locked=True)
    if any(seat.user_id == person.id for seat in table.seats.values()):
        return
    if table.row.season_id is not None:
        raise WrongState("rated", _("This table belongs to a season: queue for the season instead."))
    free = open_seats(table)
    if table.row.state is not TableState.OPEN or not free:
        raise WrongState("taken", "No seat is open at this table.")
    must_have_room(session, person, any(seat.kind is SeatKind.PROGRAM for seat in table.seats.values()))
    free[0].user_id, free[0].name, free[0].model = person.id, agent.name, agent.model
    session.flush()
    begin_if_full(session, table)


def must_have_room(session: Session, person: Person, with_bots: bool) -> None:
    """Check that the person's agents may have one more table. The transaction locks the person before any table."""
    lock_user(session, person)
    if len(_of_agents(session, person)) >= MOST_TABLES:
        raise TooMany(N_("tables at a time for the agents of one account"), MOST_TABLES)
    _check(session, person, SeatKind.AGENT, N_("tables for the agents of one account"), TABLES_PER_HOUR)
    if with_bots:
        must_have_room_with_bots(session, person)


def must_have_room_with_bots(session: Session, person: Person) -> None:
    """Check that the person's agents may have one more table with bots. Raises TooMany, OverQuota."""
    programs = select(TableSeat.table_id).where(TableSeat.kind == SeatKind.PROGRAM)
    if session.exec(programs.where(col(TableSeat.table_id).in_(_of_agents(session, person)))).first() is not None:
        raise TooMany(N_("tables with bots at a time for the agents of one account"), 1)
    what = N_("tables with bots for the agents of one account")
    _check(session, person, SeatKind.AGENT, what, PER_HOUR, col(GameTable.id).in_(programs))


def _of_agents(session: Session, person: Person) -> list[int]:
    return [table_id for table_id, kind in seats_of(session, person) if kind is SeatKind.AGENT]


def _check(session: Session, person: Person, kind: SeatKind, what: str, most: int, *only: ColumnElement[bool]) -> None:
    own = (TableSeat.user_id == person.id, TableSeat.table_id == GameTable.id, TableSeat.kind == kind)
    check_quota(session, Quota(what, most, HOUR, (*own, *only), GameTable.created_at))


def open_seats(table: AtTable) -> list[TableSeat]:
    """Return the seats that wait for an agent."""
    return [seat for seat in table.seats.values() if seat.kind is SeatKind.AGENT and seat.user_id is None]


def begin_if_full(session: Session, table: AtTable) -> None:
    """Begin the match if no seat is open; with programs, it waits for a worker. The table is locked."""
    row, at = table.row, now(session)
    if row.season_id is not None:
        rated.give_up_absent(session, row, table.seats)
    if open_seats(table):
        return
    if row.season_id is not None:
        rated.plan(session, row, table.seats)
    if all(seat.kind is not SeatKind.PROGRAM for seat in table.seats.values()):
        begin(session, table)
        return
    row.state, row.open_place, row.queued_at = TableState.QUEUED, free_place(session, agents=True), at
    row.nudge_at = at + timedelta(seconds=settings_of(session).requeue_seconds)
    flush_unless_taken(session, NoPlace(settings_of(session).exhibitions))


def new_table(session: Session, game: str, variant: list[str] | None, seats: int) -> GameTable:
    """Return a table that waits for a worker, with dice of its own."""
    seed, at = surroundings(session).entropy(SEED_BYTES), now(session)
    return GameTable(
        game=game,
        variant=variant,
        seats=seats,
        seed=seed,
        commitment=commitment(seed),
        queued_at=at,
        nudge_at=at + timedelta(seconds=settings_of(session).requeue_seconds),
        created_at=at,
    )


def opponent(session: Session, bot: Bot) -> tuple[int, list[str] | None]:
    """Return the version of a bot that others meet at tables, and the variant of the game that is played.

    Raises WrongState: the bot has no such version, is retired, or its author has closed it to people.
    """
    must_be_active(session, bot)
    if not bot.plays_people:
        raise WrongState("closed", _("This bot's author does not let people play against it."))
    newest = select(BotVersion.id).where(BotVersion.bot_id == bot.id, *playable())
    version_id = session.exec(newest.order_by(col(BotVersion.number).desc())).first()
    if version_id is None:
        none = _("People play against versions that play, or have played, in a season; this bot has none.")
        raise WrongState("not-played", none)
    # They play the variant of the newest started season of programs in which this version plays; None: the plain rules.
    plays = (Entry.version_id == version_id, col(Season.state) != SeasonState.SCHEDULED)
    variants = select(Season.variant).join(Entry, col(Entry.season_id) == Season.id).where(*plays)
    variants = variants.where(Season.players == Players.PROGRAMS)  # agents' seasons enter all of the house's bots
    variant = session.exec(variants.order_by(col(Season.id).desc())).first()
    return version_id, None if variant is None else list(variant)


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
    return col(BotVersion.program_sha256).is_not(None), or_(plays, has_played, col(BotVersion.bot_id).in_(houses))


def _check_table(game: str, opponents: int, seat: Seat | None) -> int:
    """Return the number of seats. Raises BadSetting."""
    seats, possible = opponents + 1, GAMES[game].seats
    if seats not in possible:
        raise BadSetting("opponents", _("%(game)s is for %(seats)s players", game=game, seats=span(possible)))
    if seat is not None and seat not in range(seats):
        raise BadSetting("seat", _("at a table of %(seats)s, seats are 1 to %(seats)s", seats=seats))
    return seats


def open_of(session: Session, person: Person) -> int | None:
    """Return the table at which this person plays now, if any."""
    return session.exec(OPEN, params={"person": person.id}).first()


def seats_of(session: Session, person: Person) -> list[tuple[int, SeatKind]]:
    """Return the tables at which this person or one of their agents plays, each with the kind of that seat."""
    theirs = (col(TableSeat.user_id) == person.id, ~col(TableSeat.resigned), col(GameTable.state).in_(NOT_OVER))
    seats = columns(col(TableSeat.table_id), col(TableSeat.kind)).join(GameTable).where(*theirs)
    session.flush()
    return [(table_id, kind) for table_id, kind in session.connection().execute(seats)]


OPEN = select(TableSeat.table_id).where(col(TableSeat.open_user_id) == bindparam("person"))
