"""Tables of seasons of agents: once one is full, its match exists, and nobody gets out of it by leaving."""

import hashlib
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from sqlmodel import select

from deadheat.api import watching
from deadheat.engine.core import Fault, Reply
from deadheat.engine.games import GAMES
from deadheat.engine.transcript import Transcript, encode
from deadheat.league.causes import Cause
from deadheat.league.errors import WrongState
from deadheat.league.jobs import Failure
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings import closing
from deadheat.league.service.seasons import absence, participation
from deadheat.league.service.tables import entering, places, programs, queueing, rated, sitting, turns, viewing
from deadheat.league.service.tables.sitting import Agent
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import MatchState, Players, SeasonState, SeatKind, TableState
from deadheat.league.tables import Bot, BotVersion, GameTable, Match, TableSeat
from deadheat.league.verification.agreement import disagreements
from tests.league import tabled
from tests.league.test_agents import HIGH, LOW, answer, fetch
from tests.league.test_clocks_of_tables import locks
from tests.league.test_queueing import house_bot, state, waited
from tests.league.world import World

ONE = Agent("one")


def season(world: World, move_seconds: int = 30, **settings: Any) -> int:
    agents = {"players": Players.AGENTS, "games_per_pair": None, "move_seconds": move_seconds, **settings}
    return world.season(0, **agents)


def queue(world: World, person: Person, season_id: int, agent: Agent = ONE) -> int:
    claim = hashlib.sha256(entering.claim_of(agent)).hexdigest()
    return world.write(entering.queue, person, season_id, agent, claim)


def against_house(world: World, season_id: int) -> tuple[Person, int]:
    """Let an agent be joined by a bot of the house."""
    house_bot(world, "greedy")
    ada = world.author()
    table_id = queue(world, ada, season_id)
    assert waited(world) == [table_id]
    return ada, table_id


def match_state(world: World, table_id: int) -> MatchState:
    match_id = world.row(GameTable, table_id).match_id
    assert match_id is not None
    return world.row(Match, match_id).state


def asked(world: World, ada: Person, job: programs.TableJob) -> int:
    """Let the bot say so much that the agent is asked, and return the bot's seat."""
    (bot,) = job.programs
    world.write(programs.exchange, job, 0, {bot: Reply("OK", 5)})
    if bot == 0:
        world.write(programs.exchange, job, 1, {bot: Reply(LOW, 5)})
    assert fetch(world, ada, job.table_id).prompt is not None
    return bot


def claim(world: World, table_id: int) -> programs.TableJob:
    job = world.write(programs.claim_next_table, table_id, "w1", world.host)
    assert job is not None
    return job


def lost(world: World, job: programs.TableJob) -> None:
    """Let the bot say what it has said, or would say; the agent has resigned."""
    (bot,) = job.programs
    world.write(programs.exchange, job, 0, {bot: Reply("OK", 5)})
    if bot == 0:
        world.write(programs.exchange, job, 1, {bot: Reply(LOW, 5)})
    result = world.read(turns.at_table, job.table_id).match().result
    assert result is not None and result.faults == {1 - bot: Fault.EXITED} and result.ranks[bot] < result.ranks[1 - bot]


@pytest.mark.parametrize("given_back", [False, True])
def test_who_resigns_while_no_worker_has_the_full_table_has_lost(world: World, given_back: bool) -> None:
    ada, table_id = against_house(world, season(world))
    if given_back:
        job = claim(world, table_id)
        asked(world, ada, job)
        world.write(programs.give_back_table, job.table_id, job.attempt, "w1", Failure(Cause.WORKER_STOPPED, ""))
    world.write(turns.resign, ada, table_id, SeatKind.AGENT)
    assert (state(world, table_id), match_state(world, table_id)) == (TableState.QUEUED, MatchState.SCHEDULED)
    assert world.read(sitting.seats_of, ada) == [], "the agent may play elsewhere"
    lost(world, claim(world, table_id))


def test_a_punctual_agent_is_never_late_however_long_its_match_takes(world: World) -> None:
    pace = 300
    ada, table_id = against_house(world, season(world, pace))
    job = claim(world, table_id)
    longest = timedelta(seconds=world.settings.exhibition_seconds)
    world.change(GameTable, table_id, started_at=world.clock.now - longest - timedelta(hours=1))
    bot = asked(world, ada, job)
    for _ in range(pace):
        world.clock.turn(1)
        assert world.write(programs.TABLES.renew, job.table_id, job.attempt)
        world.write(tabled.watched)
    assert world.read(turns.at_table, table_id).seats[1 - bot].reply is None
    answer(world, ada, table_id, 1, HIGH)
    assert world.read(turns.at_table, table_id).match().result is None


@pytest.mark.parametrize("leaves", ["withdraws", "retires"])
def test_an_agent_that_no_longer_takes_part_gets_no_match(world: World, leaves: str) -> None:
    season_id = season(world)
    ada, bob, eve = (world.author() for _ in range(3))
    table_id = queue(world, ada, season_id)
    (bot,) = world.rows(select(Bot))
    if leaves == "withdraws":
        world.write(absence.withdraw, ada, season_id, bot.id)
    else:
        world.write(participation.change_bot, ada, bot.id, retired=True)
    assert queue(world, bob, season_id) == table_id
    assert state(world, table_id) is TableState.OPEN, "the seat is given up, and the other one waits for somebody else"
    assert queue(world, eve, season_id) == table_id
    assert state(world, table_id) is TableState.RUNNING
    seats = world.rows(select(TableSeat).where(TableSeat.table_id == table_id))
    assert {seat.user_id for seat in seats} == {bob.id, eve.id}


def test_no_bots_sit_down_where_nobody_takes_part_any_more(world: World) -> None:
    season_id = season(world)
    house_bot(world, "greedy")
    ada = world.author()
    table_id = queue(world, ada, season_id)
    (bot,) = world.rows(select(Bot).where(Bot.is_agent))
    world.write(absence.withdraw, ada, season_id, bot.id)
    assert waited(world) == []
    row = world.row(GameTable, table_id)
    assert (row.state, row.cause, row.match_id) == (TableState.ABANDONED, Cause.LEFT, None)


def test_a_table_at_which_bots_cannot_be_seated_keeps_no_other_waiting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    house_bot(world, "greedy")
    first, second = (queue(world, world.author(), season(world)) for _ in range(2))
    begin = sitting.begin_if_full

    def fails(session: object, table: turns.AtTable) -> None:
        if table.row.id == first:
            raise KeyError("the variant of another version")
        begin(session, table)  # type: ignore[arg-type]

    monkeypatch.setattr(queueing, "begin_if_full", fails)
    monkeypatch.setattr(queueing, "DUE", queueing.DUE.limit(1))
    world.clock.turn(queueing.HOUSE_AFTER.total_seconds())
    for _ in range(2):  # each looks at one table
        watching.watch_once(Shared(world))  # type: ignore[arg-type]
    assert (state(world, first), state(world, second)) == (TableState.OPEN, TableState.QUEUED)


class Shared:
    """What `watch_once` needs of the site's services."""

    def __init__(self, world: World) -> None:
        self.read, self.change = world.read, world.write

    def nudge(self, *_given: object) -> None:
        pass


@pytest.mark.databases
def test_the_order_of_locks_is_the_same_for_rated_tables(world: World) -> None:
    if world.db.engine.dialect.name != "postgresql":
        return
    season_id = season(world)
    house_bot(world, "greedy")
    ada, bob, eve = (world.author() for _ in range(3))
    claim_sha256 = hashlib.sha256(entering.claim_of(ONE)).hexdigest()
    enters = partial(entering.queue, person=ada, season_id=season_id, agent=ONE, claim_sha256=claim_sha256)
    table_id = queue(world, bob, season_id)
    assert locks(world, enters) == ["season", "person", "table"]
    sit_in = partial(queueing.sit_in, table_id=queue(world, eve, season_id))
    world.clock.turn(queueing.HOUSE_AFTER.total_seconds())
    assert locks(world, sit_in) == ["places", "season", "table"]
    for person in (ada, bob):
        world.write(turns.resign, person, table_id, SeatKind.AGENT)
    record = world.read(turns.record, table_id)
    assert record is not None
    over = (table_id, 0, record.result, "0" * 64, record)
    assert locks(world, lambda session: turns.finish(session, *over)) == ["places", "table", "season"]
    assert locks(world, partial(closing.close_account, person=eve)) == ["places", "season", "person", "table"]


def test_an_agent_that_was_retired_after_the_freeze_gets_no_table(world: World) -> None:
    season_id = season(world)
    ada = world.author()
    table_id = queue(world, ada, season_id)
    world.write(turns.resign, ada, table_id, SeatKind.AGENT)
    world.set_state(season_id, SeasonState.FROZEN)
    (bot,) = world.rows(select(Bot))
    world.write(participation.change_bot, ada, bot.id, retired=True)
    claim_sha256 = hashlib.sha256(entering.claim_of(ONE)).hexdigest()
    assert "retired" in world.refused(WrongState, entering.queue, ada, season_id, ONE, claim_sha256)


def test_a_match_that_somebody_has_left_waits_for_a_worker_however_long(world: World) -> None:
    ada, table_id = against_house(world, season(world))
    asked(world, ada, (job := claim(world, table_id)))
    world.write(programs.give_back_table, job.table_id, job.attempt, "w1", Failure(Cause.WORKER_STOPPED, ""))
    world.write(turns.resign, ada, table_id, SeatKind.AGENT)
    world.clock.turn(places.QUEUE_SECONDS + 1)
    world.write(places.give_up_waiting)
    assert (state(world, table_id), match_state(world, table_id)) == (TableState.QUEUED, MatchState.SCHEDULED)
    assert world.row(GameTable, table_id).open_place is not None, "the bots play on at a place"
    lost(world, claim(world, table_id))


def test_no_hour_ends_a_match_of_a_season(world: World) -> None:
    ada, table_id = against_house(world, season(world, 300))
    asked(world, ada, (job := claim(world, table_id)))
    world.clock.turn(world.settings.exhibition_seconds + 1)
    world.write(programs.give_back_table, job.table_id, job.attempt, "w1", Failure(Cause.HOST_UNFIT, "busy"))
    assert (state(world, table_id), match_state(world, table_id)) == (TableState.QUEUED, MatchState.SCHEDULED)


def test_who_is_asked_a_turn_again_hears_of_it(world: World) -> None:
    ada, table_id = against_house(world, season(world))
    asked(world, ada, (job := claim(world, table_id)))
    turn = fetch(world, ada, table_id).turn
    world.write(programs.give_back_table, job.table_id, job.attempt, "w1", Failure(Cause.WORKER_STOPPED, ""))
    (bot,) = (job := claim(world, table_id)).programs
    for step, line in enumerate(("OK", LOW)[: 2 - bot]):
        assert not world.read(viewing.is_news, ada, table_id, turn)
        world.write(programs.exchange, job, step, {bot: Reply(line, 5)})
    assert world.read(viewing.is_news, ada, table_id, turn)
    assert fetch(world, ada, table_id).turn == turn and not world.read(viewing.is_news, ada, table_id, turn)


def test_the_house_bots_that_sit_down_are_those_nearest_in_strength(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    season_id = season(world, game="liars-dice", seats=3)
    bots = [house_bot(world, name, "liars-dice") for name in ("weak", "middling", "strong", "strongest")]
    strengths = dict(zip(bots, (1200.0, 1500.0, 1790.0, 1900.0), strict=True))
    ada = world.author()
    table_id = queue(world, ada, season_id)
    versions = {bot.id: version for bot, version in world.rows(select(Bot, BotVersion.id).join(BotVersion))}
    strengths |= {bot_id: 1800.0 for bot_id in versions if bot_id not in bots}
    rows = [{"version_id": versions[bot_id], "elo": elo} for bot_id, elo in strengths.items()]
    monkeypatch.setattr(rated, "newest_ranking", lambda *_: SimpleNamespace(standings={"rows": rows}))
    assert waited(world) == [table_id]
    info = world.read(viewing.table_info, table_id)
    assert {player.bot_id for player in info.players if player.kind is SeatKind.PROGRAM} == {*bots[2:]}


def test_a_void_attempt_stands_in_the_ledger_and_the_next_one_has_the_same_dice(world: World) -> None:
    ada, table_id = against_house(world, season(world))
    asked(world, ada, (job := claim(world, table_id)))
    assert world.write(programs.note_void, job, Failure("host-memory", "12 MB"))
    world.write(programs.give_back_table, job.table_id, job.attempt, "w1", Failure(Cause.WORKER_STOPPED, ""))
    world.write(turns.resign, ada, table_id, SeatKind.AGENT)
    lost(world, job := claim(world, table_id))
    table = world.read(turns.at_table, table_id)
    match, row = table.match(), table.row
    assert match.result is not None
    game, about = GAMES[row.game], world.read(programs.stamped, job)
    record = Transcript(row.game, game.rules_version, row.seats, row.seed, match.exchanges, match.result, about)
    sha256 = hashlib.sha256(encode(record)).hexdigest()
    assert world.write(turns.finish, job.table_id, job.attempt, match.result, sha256, record)
    detail = world.read(match_detail, row.match_id or 0, whole=True)
    assert [(each.cause, each.detail, each.seed_number) for each in detail.attempts] == [
        ("host-memory", "12 MB", 1),
        ("played", "", 1),
    ]
    assert disagreements(record, detail) == []
