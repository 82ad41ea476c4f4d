"""Agents at tables: who sits down, whose turn it is, what counts, and what a match that is over proves."""

import pytest
from sqlmodel import Session

from deadheat.engine.core import Fault, Reply
from deadheat.engine.games import GAMES
from deadheat.engine.replay import replay
from deadheat.engine.transcript import decode, encode
from deadheat.league.causes import Cause
from deadheat.league.errors import BadSetting, NoPlace, NotFound, OverQuota, TooMany, WrongState
from deadheat.league.records.tables import TableTurn
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings import closing
from deadheat.league.service.tables import places, programs, sitting, turns, viewing
from deadheat.league.service.tables.sitting import MOST_TABLES, Agent, Wanted
from deadheat.league.states import SeatKind, TableState
from deadheat.league.tables import GameTable
from tests.league import tabled
from tests.league.people import GAME
from tests.league.world import World

AGENT = Agent("mine", "by hand")
LOW, HIGH = "BID A 1", "BID B 2"


def sit(world: World, person: Person, *wanted: Wanted, game: str = GAME) -> int:
    return world.write(sitting.open_table, person, game, wanted, AGENT)


def pair(world: World) -> tuple[Person, Person, int]:
    """Begin a match of two agents."""
    ada, bob = world.author(), world.author()
    table_id = sit(world, ada, "me", "open")
    world.write(sitting.join_table, bob, table_id, Agent("other"))
    return ada, bob, table_id


def fetch(world: World, person: Person, table_id: int, after: int = 0) -> TableTurn:
    return world.write(viewing.next_turn, person, table_id, after)


def answer(world: World, person: Person, table_id: int, turn: int, line: str) -> turns.Receipt:
    return world.write(turns.answer, person, table_id, turn, line, SeatKind.AGENT)


def refused(world: World, person: Person, table_id: int, turn: int, line: str) -> str:
    with pytest.raises(WrongState) as caught:
        answer(world, person, table_id, turn, line)
    return caught.value.state


def watched(world: World, seconds: float) -> list[int]:
    """Let time pass while the site is there, and return the matches to be recorded."""
    over: list[int] = []
    while seconds > 0:
        step = min(seconds, turns.WATCH_SECONDS)
        world.clock.turn(step)
        over = world.write(tabled.watched)
        seconds -= step
    return over


def lines(person_turn: TableTurn) -> list[str]:
    return [line.split()[0] for line in person_turn.lines]


def test_a_match_begins_when_all_seats_are_taken_and_nobody_sees_an_answer_before_all_have_answered(
    world: World,
) -> None:
    ada, bob, table_id = pair(world)
    assert world.read(viewing.is_news, ada, table_id)
    mine = fetch(world, ada, table_id)
    assert (mine.state, mine.turn, mine.seat) == (TableState.RUNNING, 1, 0)
    assert mine.prompt is not None and mine.lines[-1] == mine.prompt and "READY" in lines(mine)
    answer(world, ada, table_id, 1, HIGH)
    assert fetch(world, ada, table_id, 1).prompt is None and not world.read(viewing.is_news, ada, table_id)
    theirs = fetch(world, bob, table_id)
    assert HIGH not in theirs.lines and theirs.prompt is not None and not any("BID" in line for line in theirs.lines)
    answer(world, bob, table_id, 1, LOW)
    after = fetch(world, ada, table_id, 1)
    assert (after.turn, after.prompt is not None, "READY" in lines(after)) == (2, True, False)
    assert any(LOW.removeprefix("BID ") in line for line in after.lines), "now it is known"


def test_the_same_answer_gets_the_same_receipt_and_others_are_refused(world: World) -> None:
    ada, bob, table_id = pair(world)
    first = answer(world, ada, table_id, 1, HIGH)
    world.clock.turn(1)
    again = answer(world, ada, table_id, 1, HIGH)
    assert (again.turn, again.recorded_at) == (first.turn, first.recorded_at)
    assert refused(world, ada, table_id, 1, LOW) == "answered"
    assert refused(world, ada, table_id, 2, LOW) == "stale"
    answer(world, bob, table_id, 1, LOW)
    assert answer(world, ada, table_id, 1, HIGH) == again, "also when the match has moved on"
    assert refused(world, ada, table_id, 1, LOW) == "answered"
    answer(world, ada, table_id, 2, HIGH)


def answer_in_vain(session: Session, person: Person, table_id: int, line: str) -> None:
    turns.answer(session, person, table_id, 1, line, SeatKind.AGENT)
    raise ConnectionError("it is rolled back")


def test_a_replay_that_is_kept_for_the_next_request_is_of_exactly_these_replies(world: World) -> None:
    ada, bob, table_id = pair(world)
    before = fetch(world, ada, table_id)
    assert answer(world, ada, table_id, 1, "BID C 1").refused
    answer(world, ada, table_id, 1, HIGH)
    with pytest.raises(ConnectionError):
        world.write(answer_in_vain, bob, table_id, LOW)
    assert fetch(world, ada, table_id).lines == before.lines
    answer(world, bob, table_id, 1, "BID A 7")
    kept = fetch(world, ada, table_id)
    assert any("A 7" in line for line in kept.lines) and kept.lines[: len(before.lines)] == before.lines
    turns._kept.clear()
    assert fetch(world, ada, table_id) == kept


def test_an_answer_that_the_rules_refuse_may_be_mended_twice_and_then_stands(world: World) -> None:
    ada, bob, table_id = pair(world)
    for number in range(turns.MOST_REFUSALS):
        for _ in range(2):  # the reply may have been lost
            assert answer(world, ada, table_id, 1, f"BID C {number}").refused
    answer(world, bob, table_id, 1, LOW)
    assert answer(world, ada, table_id, 1, "BID C 9").refused is None
    record = world.read(turns.record, table_id)
    assert record is not None and record.result.faults == {0: Fault.MALFORMED}


def test_who_insists_on_an_answer_that_the_rules_refuse_has_given_it(world: World) -> None:
    ada, _, table_id = pair(world)
    said = [answer(world, ada, table_id, 1, "BID C 1").refused is None for _ in range(2 * turns.MOST_REFUSALS + 1)]
    assert said == [False] * 2 * turns.MOST_REFUSALS + [True]


def test_time_runs_from_delivery_and_a_late_or_absent_agent_has_lost(world: World) -> None:
    ada, bob, table_id = pair(world)
    watched(world, 10)
    until = fetch(world, ada, table_id).deadline_at
    pace = sitting.PACE_SECONDS + turns.FOR_THE_NETWORK.total_seconds()
    assert until is not None and (until - world.clock.now).total_seconds() == pace
    assert fetch(world, ada, table_id).deadline_at == until, "only the first delivery counts"
    answer(world, bob, table_id, 1, LOW)
    assert watched(world, pace + turns.GRACE.total_seconds()) == []
    assert watched(world, 1) == [table_id]
    assert refused(world, ada, table_id, 1, HIGH) == "stale"
    record = world.read(turns.record, table_id)
    assert record is not None and record.result.faults == {0: Fault.TIMEOUT}

    ada, bob, table_id = pair(world)
    answer(world, ada, table_id, 1, LOW)
    assert table_id not in watched(world, pace + (turns.UNTIL_DELIVERED + turns.GRACE).total_seconds())
    assert table_id in watched(world, 1)
    record = world.read(turns.record, table_id)
    assert record is not None and record.result.faults == {1: Fault.EXITED}, "it never came"


def test_time_in_which_the_site_was_away_is_nobodys(world: World) -> None:
    ada, _, table_id = pair(world)
    fetch(world, ada, table_id)
    watched(world, 20)
    world.clock.turn(500)
    assert world.write(tabled.watched) == []
    assert watched(world, 10) == []
    answer(world, ada, table_id, 1, LOW)


def test_a_match_that_is_over_is_recorded_once_and_its_transcript_verifies(world: World) -> None:
    ada, bob, table_id = pair(world)
    answer(world, ada, table_id, 1, HIGH)
    world.write(turns.resign, bob, table_id, SeatKind.AGENT)
    assert world.write(tabled.watched) == [table_id]
    record = world.read(turns.record, table_id)
    assert record is not None and decode(encode(record)) == record
    assert replay(GAMES[GAME], record) == record and record.result.faults == {1: Fault.EXITED}
    assert record.about["players"] == [f"mine (agent of {ada.name})", f"other (agent of {bob.name})"]
    (stamps,) = record.about["turns"]["0"]  # type: ignore[index]
    assert stamps[0] == 1 and sorted(stamps[2:]) == stamps[2:]
    assert world.write(turns.finish, table_id, 0, record.result, "a" * 64)
    assert not world.write(turns.finish, table_id, 0, record.result, "a" * 64)
    info = world.read(viewing.table_info, table_id)
    assert (info.state, info.ranks, info.advice_comes) == (TableState.DONE, (1, 2), False)
    assert world.read(turns.record, table_id) is None and world.write(tabled.watched) == []
    over = fetch(world, bob, table_id)
    assert (over.state, over.ranks, over.fault, over.prompt) == (TableState.DONE, (1, 2), Fault.EXITED, None)


def test_agents_of_one_account_do_not_meet_and_have_few_tables(world: World) -> None:
    ada = world.author()
    table_id = sit(world, ada, "me", "open")
    world.write(sitting.join_table, ada, table_id, AGENT)
    assert world.read(viewing.table_info, table_id).state is TableState.OPEN
    for _ in range(MOST_TABLES - 1):
        sit(world, ada, "me", "open")
    world.refused(TooMany, sitting.open_table, ada, GAME, ("me", "open"), AGENT)
    bob = world.author()
    world.write(sitting.join_table, bob, table_id, AGENT)
    world.write(sitting.join_table, bob, table_id, AGENT)
    world.refused(WrongState, sitting.join_table, world.author(), table_id, AGENT)
    world.refused(NotFound, viewing.next_turn, world.author(), table_id, 0)
    assert len(world.read(viewing.open_tables, 10)) == MOST_TABLES - 1


@pytest.mark.parametrize("wanted", [("open", "open"), ("me", "me"), ("me",), ("me", "open", "open")])
def test_a_table_that_the_game_does_not_have_is_refused(world: World, wanted: tuple[Wanted, ...]) -> None:
    world.refused(BadSetting, sitting.open_table, world.author(), GAME, wanted, AGENT)


def test_a_table_that_never_fills_or_whose_maker_leaves_is_given_up(world: World) -> None:
    ada = world.author()
    first, second = sit(world, ada, "me", "open"), sit(world, ada, "me", "open")
    world.write(turns.resign, ada, first, SeatKind.AGENT)
    watched(world, turns.OPEN_FOR.total_seconds() + 1)
    infos = [world.read(viewing.table_info, one) for one in (first, second)]
    assert {(info.state, info.cause) for info in infos} == {(TableState.ABANDONED, Cause.LEFT)}


def test_an_account_that_is_closed_leaves_its_tables(world: World) -> None:
    ada, bob, table_id = pair(world)
    waiting = sit(world, ada, "me", "open")
    world.write(closing._end, ada)
    assert world.read(viewing.table_info, waiting).state is TableState.ABANDONED
    answer(world, bob, table_id, 1, LOW)
    record = world.read(turns.record, table_id)
    assert record is not None and record.result.faults == {0: Fault.EXITED}


def test_agents_crowd_nobody_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _, bot_id = world.playing_bot("greedy")
    ada, most = world.author(), world.settings.exhibitions // 2
    first = sit(world, ada, bot_id, "me")
    world.refused(TooMany, sitting.open_table, ada, GAME, (bot_id, "me"), AGENT)
    sit(world, ada, "me", "open")
    others = [sit(world, world.author(), bot_id, "me") for _ in range(most)]
    jobs = [world.write(programs.claim_next_table, first, "w1", world.host) for _ in range(most + 1)]
    assert [job and job.table_id for job in jobs] == [first, *others[: most - 1], None], "they use half of the places"
    persons = world.write(sitting.take_seat, world.author(), bot_id)
    job = world.write(programs.claim_next_table, persons, "w1", world.host)
    assert job is not None and job.table_id == persons, "people come first"
    monkeypatch.setattr(places, "MOST_WAITING", 0)
    world.refused(NoPlace, sitting.open_table, world.author(), GAME, (bot_id, "me"), AGENT)
    monkeypatch.setattr(sitting, "PER_HOUR", 1)
    world.write(turns.resign, ada, first, SeatKind.AGENT)
    world.refused(OverQuota, sitting.open_table, ada, GAME, (bot_id, "me"), AGENT)


@pytest.mark.databases
def test_of_two_tables_at_once_an_account_gets_no_more_than_it_may_have(world: World) -> None:
    ada = world.author()
    for _ in range(MOST_TABLES - 1):
        sit(world, ada, "me", "open")

    def make(session: Session) -> None:
        sitting.open_table(session, ada, GAME, ("me", "open"), AGENT)

    with pytest.raises(TooMany):
        world.at_once(make, make)


def test_an_agent_meets_a_bot_which_a_worker_holds(world: World) -> None:
    _, bot_id = world.playing_bot("greedy")
    ada = world.author()
    table_id = sit(world, ada, bot_id, "me")
    assert world.read(viewing.table_info, table_id).state is TableState.QUEUED
    assert fetch(world, ada, table_id).prompt is None
    job = world.write(programs.claim_next_table, table_id, "w1", world.host)
    assert (
        job is not None
        and [*job.programs] == [0]
        and str(job.about["players"]).endswith(f"'mine (agent of {ada.name})']")
    )
    assert world.write(programs.exchange, job, 0, {0: Reply("OK", 5)})
    assert fetch(world, ada, table_id).turn == 1
    answer(world, ada, table_id, 1, LOW)
    (step,) = world.write(programs.exchange, job, 1, {0: Reply(HIGH, 7)}) or ()
    assert step == {0: Reply(HIGH, 7), 1: Reply(LOW, 0)}
    assert world.read(programs.stamped, job)["turns"]
    world.write(turns.resign, ada, table_id, SeatKind.AGENT)
    assert world.row(GameTable, table_id).open_place is None


@pytest.mark.databases
def test_of_two_answers_at_once_one_counts(world: World) -> None:
    ada, bob, table_id = pair(world)
    outcomes: list[str] = []

    def give(session: Session, line: str) -> None:
        try:
            turns.answer(session, ada, table_id, 1, line, SeatKind.AGENT)
            outcomes.append(line)
        except WrongState as error:
            outcomes.append(error.state)

    world.at_once(lambda session: give(session, LOW), lambda session: give(session, HIGH))
    assert sorted(outcomes, key=lambda word: word == "answered")[1] == "answered"
    answer(world, bob, table_id, 1, LOW)
    assert fetch(world, ada, table_id, 1).turn == 2


@pytest.mark.databases
def test_answers_of_both_sides_at_once_both_count(world: World) -> None:
    ada, bob, table_id = pair(world)
    world.at_once(
        *(lambda session, who=who: turns.answer(session, who, table_id, 1, LOW, SeatKind.AGENT) for who in (ada, bob))
    )
    assert fetch(world, ada, table_id, 1).turn == 2
