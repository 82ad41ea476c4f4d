"""People against real bots, by the real worker code: matches to the end, resignations, late moves, our failures."""

import itertools
import json
import shutil
import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy.exc import OperationalError
from sqlmodel import Session

from deadheat.engine.advice import ADVISERS, advice
from deadheat.engine.core import Fault, Message, Reply, Seat, TransportError
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bot_digest
from deadheat.engine.replay import replay
from deadheat.engine.transcript import Transcript
from deadheat.games.betris_large import advice as betris_advice
from deadheat.league import telemetry
from deadheat.league.causes import Cause
from deadheat.league.errors import BlobsAway
from deadheat.league.jobs import Failure
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings import closing
from deadheat.league.service.tables import entering, queueing, sitting, turns, viewing
from deadheat.league.service.tables.advising import LEASE, MOST_TRIES, due_advice
from deadheat.league.service.tables.programs import TableJob, claim_next_table, give_back_table
from deadheat.league.service.tables.viewing import Table, TableInfo
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import NOT_OVER, JobState, Players, SeatKind, TableState
from deadheat.league.tables import GameTable, Series, TableSeat
from deadheat.league.verification.agreement import disagreements, verdict
from deadheat.sandbox.box import Limits, Program
from deadheat.sandbox.local import LocalBox, LocalSandbox
from deadheat.sandbox.pipes import PipeTransport
from deadheat.workers import holding, stopping
from deadheat.workers import tables as at_work
from deadheat.workers.advice import give_advice
from deadheat.workers.holding import LeaseLost
from deadheat.workers.tables import play_table
from tests.league.tabled import watched
from tests.workers.conftest import PlayingWorld
from tests.workers.people import AtTheTable, claim


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_work, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(at_work, "VOID_PAUSE_SECONDS", 0.0)


def seated(world: PlayingWorld, game: str = "yacht-auction", opponents: int = 1, seat: int = 1) -> tuple[Person, int]:
    world.built_as("random", game)
    _, bot_id = world.playing_bot(game=game)
    person = world.author()
    return person, world.write(sitting.take_seat, person, bot_id, opponents, seat)


def played(world: PlayingWorld, person: Person, exhibition_id: int, think=lambda _: True) -> AtTheTable:
    with AtTheTable(world.db, person, exhibition_id, think) as there:
        play_table(world.context, exhibition_id)
    return there


def info(world: PlayingWorld, exhibition_id: int) -> TableInfo:
    return world.read(viewing.table_info, exhibition_id)


def transcript(world: PlayingWorld, exhibition_id: int) -> Transcript:
    return world.transcript(info(world, exhibition_id).transcript_sha256)


def assert_lost(world: PlayingWorld, exhibition_id: int, fault: Fault) -> None:
    """The person lost the match by this fault, and its transcript follows the rules."""
    found = info(world, exhibition_id)
    assert (found.ranks, found.fault) == ((1, 2), fault)
    replay(GAMES[found.game], transcript(world, exhibition_id))


def said_by(record: Transcript, seat: int) -> list[str | None]:
    return [exchange.replies[seat].line for exchange in record.exchanges if seat in exchange.replies]


def seated_beside_the_steady(world: PlayingWorld) -> tuple[Person, int]:
    """Seat a person beside the greedy bot, which, unlike the random one, repeats its moves after a void."""
    world.built_as("greedy")
    _, bot_id = world.playing_bot(name="steady")
    person = world.author()
    return person, world.write(sitting.take_seat, person, bot_id, seat=1)


def fail(monkeypatch: pytest.MonkeyPatch, cause: str, exchanges: Collection[int] | None = None) -> None:
    """Make exchanges with bots fail as our failures: all, or those with these numbers."""
    really, numbers = PipeTransport.exchange, itertools.count()

    def failing(self: PipeTransport, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        number = next(numbers)
        if exchanges is None or number in exchanges:
            raise TransportError(cause, "for the test")
        return really(self, messages)

    monkeypatch.setattr(PipeTransport, "exchange", failing)


@pytest.mark.parametrize(
    ("game", "opponents", "seat"),
    [
        *((game, 1, seat) for game in ("yacht-auction", "betris-large") for seat in (0, 1)),
        *(("liars-dice", opponents, seat) for opponents, seat in ((1, 0), (2, 1), (3, 3), (4, 2), (5, 0))),
    ],
)
def test_a_person_plays_to_the_end_in_any_seat_and_the_transcript_verifies(
    world: PlayingWorld, game: str, opponents: int, seat: int
) -> None:
    person, exhibition_id = seated(world, game, opponents, seat)
    shown: set[object] = set()

    def look(table: Table) -> bool:
        assert table.match is not None
        shown.update(event["seat"] for event in table.match.events() if event.get("private"))
        return True

    ada = played(world, person, exhibition_id, look)
    found = info(world, exhibition_id)
    assert (found.state, found.fault) == (TableState.DONE, None)
    record = transcript(world, exhibition_id)
    assert replay(GAMES[game], record) == record
    assert record.seed.hex() == found.seed and record.result.ranks == found.ranks
    assert said_by(record, found.seat) == ["OK", *(line for _, line in ada.moves)]
    assert (found.seat, record.about["person"], found.names[seat]) == (seat, seat, person.name)
    players = record.about["players"]
    assert isinstance(players, list) and players.index(person.name) == seat
    assert shown == ({seat} if game == "liars-dice" else set()), "nobody else's secrets"
    assert all(prompt.reply.elapsed_ns == 0 for prompt in record.prompts() if prompt.message.seat == found.seat)
    assert world.left_behind() == []


def test_who_resigns_while_bots_are_at_work_is_free_before_they_answer(world: PlayingWorld, monkeypatch) -> None:
    """At a table of four the record is still written to its end, once and as a resignation."""
    person, exhibition_id = seated(world, "liars-dice", 3, 0)
    really, free = PipeTransport.exchange, threading.Event()

    def slowly(self: PipeTransport, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        if any(message.limit_ns is not None and message.line != "READY" for message in messages) and not free.is_set():
            world.write(turns.resign, person, exhibition_id)
            world.write(sitting.take_seat, person, world.write(viewing.table_info, exhibition_id).bot_id)
            free.set()
        return really(self, messages)

    monkeypatch.setattr(PipeTransport, "exchange", slowly)
    played(world, person, exhibition_id)
    assert free.is_set()
    found = info(world, exhibition_id)
    assert (found.state, found.fault) == (TableState.DONE, Fault.EXITED)
    record = transcript(world, exhibition_id)
    assert record.result.faults == {0: Fault.EXITED}
    replay(GAMES[found.game], record)


def test_who_does_not_come_back_has_lost_when_the_time_is_over(world: PlayingWorld) -> None:
    person, exhibition_id = seated(world)

    def sleep(table: Table) -> bool:
        if table.turn == 2:
            with world.db.transaction() as session:
                seat = session.get_one(TableSeat, (exhibition_id, 1))
                ago = timedelta(seconds=world.settings.exhibition_move_seconds + 1) + turns.GRACE
                seat.ready_at = seat.delivered_at = world.clock.now - ago
                session.flush()
                watched(session)
        return table.turn < 2

    played(world, person, exhibition_id, sleep)
    assert_lost(world, exhibition_id, Fault.TIMEOUT)


def test_while_a_person_thinks_no_slot_is_held_and_nothing_of_the_bot_runs(world: PlayingWorld) -> None:
    person, exhibition_id = seated(world)
    boxes: list[LocalBox] = []
    really = LocalSandbox.open

    def remembered(self: LocalSandbox, program: Program, limits: Limits) -> LocalBox:
        box = really(self, program, limits)
        assert isinstance(box, LocalBox)
        boxes.append(box)
        return box

    seen: list[str] = []
    state = ""

    def look(table: Table) -> bool:
        nonlocal state
        if table.turn in (1, 5):
            for _ in range(500):  # until the bot, which is asked in the same step, has answered
                running = boxes[0]._running
                assert running is not None
                state = Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()[0]
                if state == "T":
                    break
                threading.Event().wait(0.01)
            with world.context.slots.take():
                seen.append(state)
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalSandbox, "open", remembered)
        played(world, person, exhibition_id, look)
    assert seen == ["T", "T"]


def test_a_void_attempt_begins_again_and_asks_nothing_twice(world: PlayingWorld, monkeypatch) -> None:
    person, exhibition_id = seated_beside_the_steady(world)
    fail(monkeypatch, "host-starved", {6})
    ada = played(world, person, exhibition_id)
    found = info(world, exhibition_id)
    assert (found.state, found.voids, found.cause) == (TableState.DONE, 1, "host-starved")
    record = transcript(world, exhibition_id)
    kept = [line for _, line in ada.moves]
    assert said_by(record, 1) == ["OK", *kept], "what was answered was not asked again, even if it was not heard yet"
    replay(GAMES[found.game], record)


def test_a_worker_that_is_stopped_hands_the_match_to_another_which_asks_nothing_twice(world: PlayingWorld) -> None:
    person, exhibition_id = seated_beside_the_steady(world)
    fifth = threading.Event()

    def think(table: Table) -> bool:
        if table.turn == 5:
            fifth.set()
        return table.turn < 5

    def look() -> None:
        if fifth.is_set():
            raise stopping.Stopping

    with AtTheTable(world.db, person, exhibition_id, think) as first:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stopping, "look", look)
            play_table(world.context, exhibition_id)
        found = info(world, exhibition_id)
        assert (found.state, found.voids, len(first.moves)) == (TableState.QUEUED, 0, 4)
        second = played(world, person, exhibition_id)
    said = said_by(transcript(world, exhibition_id), 1)
    assert said == ["OK", *(line for _, line in [*first.moves, *second.moves])]


def test_a_store_that_is_away_for_a_while_costs_nobody_a_match_that_is_over(world: PlayingWorld, monkeypatch) -> None:
    person, exhibition_id = seated(world)
    monkeypatch.setattr(at_work, "RETRY_SECONDS", 0)
    monkeypatch.setattr(at_work, "INSIST_SECONDS", 60)
    really, tries = world.context.blobs.put, Counter[str]()

    def away(content: bytes) -> str:
        tries["put"] += 1
        if tries["put"] < 4:
            raise BlobsAway("no room")
        return really(content)

    monkeypatch.setattr(world.context.blobs, "put", away)
    played(world, person, exhibition_id)
    found = info(world, exhibition_id)
    assert (found.state, found.voids, tries["put"]) == (TableState.DONE, 0, 4)


def test_a_database_that_is_away_for_a_while_loses_nothing_of_a_match(world: PlayingWorld, monkeypatch) -> None:
    """Every write fails twice before it succeeds."""
    person, exhibition_id = seated(world)
    monkeypatch.setattr(holding, "RETRY_SECONDS", 0)
    failed: Counter[str] = Counter()

    def flaky(name: str) -> None:
        really = getattr(at_work, name)

        def away(session: Session, job: TableJob, *said: object) -> object:
            failed[name] += 1
            taken = really(session, job, *said)
            if failed[name] % 3:
                raise OperationalError("UPDATE", {}, Exception("server closed the connection"))
            return taken

        monkeypatch.setattr(at_work, name, away)

    flaky("exchange")
    flaky("finish")
    ada = played(world, person, exhibition_id)
    found = info(world, exhibition_id)
    assert (found.state, found.voids, found.fault) == (TableState.DONE, 0, None)
    assert failed["exchange"] % 3 == 0 and failed["exchange"] >= 3 * len(ada.moves) and failed["finish"] == 3
    replay(GAMES[found.game], transcript(world, exhibition_id))


def test_what_is_done_for_a_match_says_for_which(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    _, exhibition_id = seated(world)
    with world.db.transaction() as session:
        session.get_one(GameTable, exhibition_id).open_place = None
        seat = session.get_one(TableSeat, (exhibition_id, 1))
        seat.resigned, seat.open_user_id = True, None
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(telemetry, "_tracer", provider.get_tracer("test"))
    play_table(world.context, exhibition_id)
    said = {span.name: dict(span.attributes or {}) for span in spans.get_finished_spans()}
    assert said == {
        "exhibition": {"deadheat.exhibition": exhibition_id, "deadheat.attempt": 1, "deadheat.game": "yacht-auction"},
        "finish": {"deadheat.exhibition": exhibition_id},
    }


def test_who_waits_for_a_slot_for_a_match_that_is_lost_stops_waiting(world: PlayingWorld, monkeypatch) -> None:
    """It asked the database every two milliseconds whether the match was still its own."""
    _, exhibition_id = seated(world)
    job = world.write(claim_next_table, exhibition_id, "w1", world.context.host)
    assert job is not None
    world.write(give_back_table, job.table_id, job.attempt, "w1", Failure(Cause.LEASE_EXPIRED))
    monkeypatch.setattr(at_work, "TELL_SECONDS", 0)
    asked = itertools.count()

    def heartbeat() -> None:
        assert next(asked) < 50, "the lease is not due for renewal, so only this tells"

    slot = world.context.slots.slots[0]
    lost, turn = pytest.raises(LeaseLost), at_work.turn(world.context, job, heartbeat, slot)
    with world.context.slots.take(only=slot), lost, turn:
        pytest.fail("there is no slot")


@pytest.mark.parametrize("game", ["yacht-auction", "betris-large", "liars-dice"])
def test_once_it_is_over_the_strongest_house_bot_says_what_it_would_have_done(world: PlayingWorld, game: str) -> None:
    person, exhibition_id = seated(world, game)
    assert world.read(due_advice) == []
    give_advice(world.context, exhibition_id)  # too early: nothing happens
    ada = played(world, person, exhibition_id)
    assert info(world, exhibition_id).advice_comes and world.read(due_advice) == [exhibition_id]
    give_advice(world.context, exhibition_id)
    found = info(world, exhibition_id)
    assert found.advice_sha256 is not None and not found.advice_comes
    assert world.read(due_advice) == []
    said = world.transcript(found.advice_sha256)
    assert (said.about["transcript"], said.about["seat"], said.result.faults) == (found.transcript_sha256, 1, {})
    told = advice(transcript(world, exhibition_id), found.seat, said, ADVISERS[game])
    assert len(told) == len(ada.moves)
    assert all(each.advised is not None for each in told)
    assert world.left_behind() == []


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ is installed (Debian: g++)")
def test_an_adviser_that_is_no_script_is_built_before_it_is_asked(world: PlayingWorld, monkeypatch) -> None:
    monkeypatch.setattr(betris_advice, "ADVICE", replace(betris_advice.ADVICE, bot="solid"))
    person, exhibition_id = seated(world, "betris-large")
    played(world, person, exhibition_id)
    give_advice(world.context, exhibition_id)
    said = world.transcript(info(world, exhibition_id).advice_sha256)
    assert said.about["bot"] == "solid" and said.about["source"] == bot_digest("betris-large", "solid")
    ready, move, *_ = [prompt.reply.line for prompt in said.prompts()]
    assert ready == "OK" and str(move).startswith("BET ")


def test_advice_is_tried_a_few_times_and_never_twice_at_once(world: PlayingWorld, monkeypatch) -> None:
    person, exhibition_id = seated(world)
    played(world, person, exhibition_id)
    with monkeypatch.context() as patched:
        patched.setattr(LocalSandbox, "open", lambda *_: (_ for _ in ()).throw(TransportError("engine", "away")))
        for _ in range(MOST_TRIES):
            assert world.read(due_advice) == [exhibition_id]
            with pytest.raises(TransportError):
                give_advice(world.context, exhibition_id)
            assert world.read(due_advice) == [], "a worker may still be at it"
            give_advice(world.context, exhibition_id)
            assert info(world, exhibition_id).advice_comes
            world.clock.turn(LEASE.total_seconds() + 1)
    assert world.read(due_advice) == []
    give_advice(world.context, exhibition_id)
    found = info(world, exhibition_id)
    assert (found.advice_sha256, found.advice_comes) == (None, False)


def test_a_worker_that_must_stop_leaves_the_advice_to_another_one(world: PlayingWorld, monkeypatch) -> None:
    person, exhibition_id = seated(world)
    played(world, person, exhibition_id)
    with monkeypatch.context() as patched:
        patched.setattr(stopping, "look", lambda: (_ for _ in ()).throw(stopping.Stopping()))
        give_advice(world.context, exhibition_id)
    assert info(world, exhibition_id).advice_comes
    world.clock.turn(LEASE.total_seconds() + 1)
    give_advice(world.context, exhibition_id)
    assert info(world, exhibition_id).advice_sha256 is not None


def test_a_match_that_always_fails_is_given_up_after_as_many_voids_as_one_of_bots(
    world: PlayingWorld, monkeypatch
) -> None:
    _, exhibition_id = seated(world)
    fail(monkeypatch, "host-starved")
    play_table(world.context, exhibition_id)
    found = info(world, exhibition_id)
    assert (found.state, found.cause) == (TableState.ABANDONED, "host-starved")
    assert found.voids == world.settings.match_attempts - 1, "the last one ended it"


def test_who_resigns_has_lost(world: PlayingWorld) -> None:
    person, exhibition_id = seated(world)

    def leave(table: Table) -> bool:
        if table.turn == 3:
            world.write(turns.resign, person, exhibition_id)
        return table.turn < 3

    played(world, person, exhibition_id, leave)
    assert_lost(world, exhibition_id, Fault.EXITED)


def test_a_second_message_does_nothing(world: PlayingWorld) -> None:
    person, exhibition_id = seated(world)
    played(world, person, exhibition_id)
    before = world.row(GameTable, exhibition_id).model_dump()
    play_table(world.context, exhibition_id)
    assert before["state"] is TableState.DONE and world.row(GameTable, exhibition_id).model_dump() == before


def answering(world: PlayingWorld, person: Person, table_id: int) -> list[str]:
    """Play a table of Liar's Dice to its end, with an agent in one seat; return its answers."""
    answered: list[str] = []

    def answer() -> None:
        after = 0
        while (turn := world.write(viewing.next_turn, person, table_id, after)).state in NOT_OVER:
            if turn.prompt is not None:
                after = turn.turn
                answered.append(claim(json.loads(turn.prompt)))
                world.write(turns.answer, person, table_id, after, answered[-1], SeatKind.AGENT)
            threading.Event().wait(0.01)

    there = threading.Thread(target=answer, daemon=True)
    there.start()
    play_table(world.context, table_id)
    there.join(60)
    return answered


def beside_the_house(world: PlayingWorld) -> tuple[Person, int]:
    """Let an agent queue in a season of agents until two bots of the house have sat down with it."""
    world.built_as("random", "liars-dice")
    house = world.write(closing.house)
    for name in ("random", "other"):
        world.version(house, world.write(create_bot, house, "liars-dice", name).id)
    season_id = world.season(0, game="liars-dice", seats=3, players=Players.AGENTS, games_per_pair=None)
    ada, agent = world.author(), sitting.Agent("mine")
    claimed = world.context.blobs.put(entering.claim_of(agent))
    table_id = world.write(entering.queue, ada, season_id, agent, claimed)
    world.clock.turn(queueing.HOUSE_AFTER.total_seconds())
    assert world.read(queueing.without_players) == [table_id] and world.write(queueing.sit_in, table_id)
    return ada, table_id


def test_the_houses_bots_sit_in_and_the_match_is_rated_and_agrees_with_its_record(world: PlayingWorld) -> None:
    ada, table_id = beside_the_house(world)
    answering(world, ada, table_id)
    found = world.read(match_detail, 1)
    record = world.transcript(found.transcript_sha256)
    assert verdict(record, disagreements(record, found)) == (True, None)
    assert found.rated and {seat.author for seat in found.seats} == {"house", ada.name}
    assert world.rank(1) and sorted(row["author"] for row in world.ranking(1)) == sorted(["house", "house", ada.name])
    assert world.row(Series, 1).state is JobState.DONE and world.tick() == [] and world.left_behind() == []


def test_an_agent_plays_against_bots_and_the_record_has_the_stamps_of_its_answers(world: PlayingWorld) -> None:
    world.built_as("random", "liars-dice")
    _, bot_id = world.playing_bot(game="liars-dice")
    ada = world.author()
    seats: tuple[sitting.Wanted, ...] = (bot_id, "me", bot_id)
    table_id = world.write(sitting.open_table, ada, "liars-dice", seats, sitting.Agent("mine"))
    answered = answering(world, ada, table_id)
    found, record = info(world, table_id), transcript(world, table_id)
    assert (found.state, found.ranks) == (TableState.DONE, record.result.ranks)
    assert replay(GAMES[found.game], record) == record and said_by(record, 1) == ["OK", *answered]
    assert record.about["players"][1] == f"mine (agent of {ada.name})"  # type: ignore[index]
    assert len(record.about["turns"]["1"]) == len(answered)  # type: ignore[index]
    assert "person" not in record.about and not found.advice_comes
    assert world.left_behind() == []
