"""People's matches against bots in the database: who may play, what is asked, what is accepted, and how it ends."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Any

import pytest
from sqlalchemy import event
from sqlmodel import Session, select

from deadheat.api.routes.exhibitions import told_table
from deadheat.engine.core import Fault, Reply, Result
from deadheat.league.causes import Cause
from deadheat.league.errors import BadSetting, IllegalMove, NoPlace, NotFound, OverQuota, TooMany, WrongState
from deadheat.league.jobs import Failure, Host
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.jobs import sweep
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings import closing
from deadheat.league.service.seasons import entries, participation, seasons
from deadheat.league.service.series import carrying_out, hosts
from deadheat.league.service.tables import places, programs, sitting, turns, viewing
from deadheat.league.service.tables.programs import TABLES, TableJob
from deadheat.league.service.tables.viewing import Table
from deadheat.league.service.views.overview import ready_bots
from deadheat.league.states import SeasonState, TableState
from deadheat.league.tables import GameTable, RatingPoint
from tests.league.ground import settings
from tests.league.people import GAME
from tests.league.seasons import at_gate
from tests.league.tabled import Heard, ask, hear, wait
from tests.league.world import World

READY = {0: Reply("OK", 5), 1: Reply("OK", 0)}
BIDS = {0: Reply("BID B 7", 3), 1: Reply("BID A 1", 0)}
WON = Result((1, 2), None, {1: Fault.EXITED})
NOTHING, RESIGNED = Heard(None, False, False), Heard(None, True, False)
LATE = Heard(None, False, True)


def sit(world: World, person: Person, bot_id: int, opponents: int = 1, seat: int | None = 1) -> int:
    return world.write(sitting.take_seat, person, bot_id, opponents, seat)


def leave(world: World, person: Person, exhibition_id: int) -> None:
    world.write(turns.resign, person, exhibition_id)


def release(world: World, job: TableJob, cause: str, *, void: bool = False) -> None:
    world.write(programs.give_back_table, job.table_id, job.attempt, "w1", Failure(cause), void=void)


def finish(world: World, job: TableJob, result: Result = WON) -> bool:
    return world.write(turns.finish, job.table_id, job.attempt, result, "c" * 64)


def claim(world: World, exhibition_id: int) -> TableJob:
    job = world.write(programs.claim_table, exhibition_id, "w1", world.host)
    assert job is not None
    return job


def look(world: World, person: Person, exhibition_id: int) -> Table:
    return world.read(viewing.view, person, exhibition_id)


def answer(world: World, person: Person, exhibition_id: int, turn: int, line: str) -> None:
    world.write(turns.answer, person, exhibition_id, turn, line)


def begun(world: World) -> tuple[Person, TableJob]:
    """Begin a match, and ask the person for the first time; return the person and the job."""
    _, bot_id = world.playing_bot("greedy")
    person = world.author()
    job = claim(world, sit(world, person, bot_id))
    assert ask(world, job, READY)
    return person, job


def swept(world: World) -> list[int]:
    return world.write(sweep.sweep)[TABLES]


def test_an_answer_is_taken_once_and_only_where_it_is_asked(world: World) -> None:
    person, job = begun(world)

    def refuses(turn: int, line: str, who: Person = person, error: type[Exception] = WrongState) -> None:
        world.refused(error, turns.answer, who, job.table_id, turn, line)

    refuses(1, "BID A 1", world.author(), NotFound)
    refuses(2, "BID A 1")
    answer(world, person, job.table_id, 1, "BID A 1")
    refuses(1, "BID B 2")
    assert ask(world, job, READY, BIDS)
    refuses(1, "BID B 2")
    heard = hear(world, job)
    assert heard is not None and heard.answer is None


def test_the_strongest_bots_are_offered_even_if_weaker_ones_are_newer(world: World) -> None:
    world.ranked(4)
    with world.db.transaction() as session:
        for point in session.exec(select(RatingPoint)):
            point.elo = 2000.0 - point.bot_id
    assert [bot.elo for bot in world.read(ready_bots, GAME, 2)] == [1999.0, 1998.0]


def test_people_play_no_version_that_has_not_played_and_no_bot_that_is_closed_to_them(world: World) -> None:
    owner, bot_id = world.bot()
    season_id = world.season(1)

    def version() -> int | None:
        offered = {bot.bot_id: bot.number for bot in world.read(ready_bots, GAME, 9)}
        with world.db.transaction() as session:
            try:
                exhibition_id = sitting.take_seat(session, world.author(), bot_id)
            except WrongState:
                assert bot_id not in offered
                return None
            number = viewing.table_info(session, exhibition_id).version
            session.rollback()
        assert offered[bot_id] == number
        return number

    assert version() is None, "it is in no season"
    world.write(entries.enter, owner, season_id, bot_id, 1)
    world.version(owner, bot_id)
    assert version() == 1, "the newer one has not played"
    world.write(entries.enter, owner, season_id, bot_id, 2)
    assert version() == 2
    world.play_all()
    world.clock.turn(world.settings.rejoin_seconds)
    world.write(entries.enter, owner, season_id, bot_id, 1)
    assert version() == 2, "it has played"
    for plays_people, found in ((False, None), (True, 2)):
        world.write(participation.change_bot, owner, bot_id, plays_people=plays_people)
        assert version() == found
    world.refused(NotFound, participation.change_bot, world.boss, bot_id, plays_people=False)


def test_a_version_that_waits_for_a_season_or_at_a_gate_meets_no_people(world: World) -> None:
    owner, bot_id = world.bot()
    season_id = world.write(seasons.create_season, world.boss, game=GAME, name="soon", series_length=2).id
    world.write(entries.enter, owner, season_id, bot_id, gate=at_gate(games=100))
    person = world.author()
    with pytest.raises(WrongState):
        sit(world, person, bot_id)
    world.set_state(season_id, SeasonState.OPEN)
    world.version(owner, bot_id)
    (series_id,) = world.tick()
    job = world.claim(series_id)
    assert job is not None and world.finish(job)
    assert look(world, person, sit(world, person, bot_id)).info.version == 1


def test_a_person_has_one_match_and_a_deployment_a_few_and_others_have_a_number(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were refused after they had taken a seat."""
    monkeypatch.setattr(places, "MOST_WAITING", 2)
    _, bot_id = world.playing_bot()
    people = [world.author() for _ in range(world.settings.exhibitions + 3)]
    seats = [sit(world, person, bot_id) for person in people[:-1]]
    world.refused(TooMany, sitting.take_seat, people[0], bot_id)
    world.refused(NoPlace, sitting.take_seat, people[-1], bot_id)

    def claim() -> int | None:
        job = world.worked(programs.claim_next_table, seats[-1], "w1", world.host)
        return None if job is None else job.table_id

    assert [claim() for _ in seats] == [*seats[:-2], None, None]
    waiting = list(zip(people[-3:-1], seats[-2:], strict=True))
    numbered = [look(world, *one) for one in waiting]
    assert [table.queue for table in numbered] == [1, 2]
    assert "You are number 2 in the queue" in told_table(numbered[1])
    leave(world, people[0], seats[0])
    assert [look(world, *one).queue for one in waiting] == [0, 0], "a place is free"
    assert world.write(sweep.sweep)[TABLES] == [seats[-2]], "who is first is told of it"
    assert claim() == seats[-2]
    after = look(world, *waiting[1])
    assert after.queue == 1 and after.version != numbered[1].version, "the page notices"


def full(world: World, waiting: int) -> tuple[list[Person], list[TableJob], list[int]]:
    """Let people play in all places and so many more wait; return all people, the matches, and those that wait."""
    _, bot_id = world.playing_bot()
    people = [world.author() for _ in range(world.settings.exhibitions + waiting)]
    seats = [sit(world, person, bot_id) for person in people]
    jobs = [claim(world, seat) for seat in seats[: world.settings.exhibitions]]
    return people, jobs, seats[len(jobs) :]


def claim_next(world: World, nudged_id: int) -> tuple[int, int] | None:
    """Let a worker claim a match on a message about one; return it and its attempt."""
    job = world.worked(programs.claim_next_table, nudged_id, "w1", world.host)
    return None if job is None else (job.table_id, job.attempt)


def state(world: World, exhibition_id: int) -> TableState:
    return world.read(viewing.table_info, exhibition_id).state


def long_after(world: World, jobs: list[TableJob], seconds: float = places.QUEUE_SECONDS + 60) -> None:
    world.clock.turn(seconds)
    for job in jobs:
        assert world.write(programs.TABLES.renew, job.table_id, job.attempt)


def test_who_waited_long_for_a_place_has_all_the_time_for_a_worker_once_it_is_free(world: World) -> None:
    """They were thrown out at that moment, those behind them too."""
    people, jobs, waiting = full(world, 3)
    long_after(world, jobs)
    swept(world)
    leave(world, people[0], jobs[0].table_id)
    assert swept(world) == waiting[:1]
    long_after(world, jobs, places.QUEUE_SECONDS)
    swept(world)
    assert [state(world, one) for one in waiting] == 3 * [TableState.QUEUED]
    long_after(world, jobs, world.settings.requeue_seconds)
    assert waiting[1] in swept(world), "no worker came"
    assert [state(world, one) for one in waiting] == [TableState.ABANDONED, TableState.QUEUED, TableState.QUEUED]
    long_after(world, jobs, places.QUEUE_SECONDS)
    swept(world)
    assert [state(world, one) for one in waiting[1:]] == 2 * [TableState.QUEUED]


def test_who_waits_for_a_place_waits_no_longer_than_a_match_may_take(world: World) -> None:
    _, jobs, waiting = full(world, 1)
    long_after(world, jobs, world.settings.exhibition_seconds)
    swept(world)
    assert state(world, waiting[0]) is TableState.QUEUED
    long_after(world, jobs, world.settings.requeue_seconds)
    swept(world)
    assert state(world, waiting[0]) is TableState.ABANDONED


def test_matches_given_back_to_no_worker_are_given_up_although_they_keep_all_places(world: World) -> None:
    _, jobs, waiting = full(world, 1)
    for job in jobs:
        release(world, job, Cause.WORKER_STOPPED)
    world.clock.turn(places.QUEUE_SECONDS + 1)
    assert swept(world) == waiting
    assert {state(world, job.table_id) for job in jobs} == {TableState.ABANDONED}


@pytest.mark.parametrize("cause", [Cause.WORKER_STOPPED, Cause.LEASE_EXPIRED, "KeyError"])
def test_a_match_that_a_worker_gives_back_keeps_its_place(world: World, cause: str) -> None:
    """Whoever came next took it."""
    people, jobs, waiting = full(world, 1)
    first = jobs[0].table_id
    release(world, jobs[0], cause)
    assert claim_next(world, waiting[0]) is None
    assert [look(world, people[0], first).queue, look(world, people[-1], waiting[0]).queue] == [0, 1]
    assert claim_next(world, first) == (first, 2)
    assert claim_next(world, waiting[0]) is None


def test_the_record_of_a_match_that_somebody_left_takes_no_place(world: World) -> None:
    people, jobs, waiting = full(world, 1)
    first = jobs[0].table_id
    leave(world, people[0], first)
    release(world, jobs[0], Cause.WORKER_STOPPED)
    assert claim_next(world, waiting[0]) == (waiting[0], 1)
    assert claim_next(world, first) == (first, 2), "although all places are taken"


def test_as_many_are_told_as_places_are_free_but_none_in_the_pause_after_a_failure(world: World) -> None:
    """One was told, or nobody if that match was in its pause."""
    people, jobs, waiting = full(world, 3)
    release(world, jobs[0], "KeyError")
    for number in (1, 2):
        leave(world, people[number], jobs[number].table_id)
    assert swept(world) == waiting[:2]
    assert [claim_next(world, one) for one in waiting] == [(waiting[0], 1), (waiting[1], 1), None]


@pytest.mark.databases
def test_of_two_claims_at_once_one_gets_the_last_place(world: World) -> None:
    """The other took the next match without asking for a place."""
    people, jobs, waiting = full(world, 2)
    leave(world, people[0], jobs[0].table_id)
    taken: list[int | None] = []

    def claim(session: Session, nudged_id: int) -> None:
        job = programs.claim_next_table(session, nudged_id, "w1", world.host)
        taken.append(None if job is None else job.table_id)

    world.at_once(*(partial(claim, nudged_id=one) for one in waiting))
    assert taken == [waiting[0], None]
    assert world.read(places.places_left) == 0


@pytest.mark.databases
def test_of_two_matches_that_end_at_once_each_lets_somebody_in(world: World) -> None:
    _, jobs, waiting = full(world, 3)
    long_after(world, jobs)
    swept(world)
    world.at_once(
        *(lambda session, job=job: turns.finish(session, job.table_id, job.attempt, WON, "c" * 64) for job in jobs[:2])
    )
    assert swept(world) == waiting[:2]
    assert {state(world, one) for one in waiting} == {TableState.QUEUED}


def overtaken(world: World, monkeypatch: pytest.MonkeyPatch, first: Callable[[Session], object], second: Any) -> None:
    """Begin `second` while `first` is not committed. If it counts the free places before that, it acts afterwards."""
    count, committed = places.places_left, Event()

    def places_left(session: Session) -> int:
        left = count(session)
        if current_thread() is not main_thread():
            assert committed.wait(60)
        return left

    def begins(session: Session) -> None:
        event.listen(session, "after_commit", lambda _: committed.set())
        first(session)

    with monkeypatch.context() as patched:
        for module in (places, viewing):
            patched.setattr(module, "places_left", places_left, raising=False)
        world.at_once(begins, second)


@pytest.mark.databases
def test_nobody_is_thrown_out_because_the_place_was_taken_while_the_free_ones_were_counted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, jobs, waiting = full(world, 2)
    long_after(world, jobs)
    leave(world, people[0], jobs[0].table_id)
    claims = partial(programs.claim_next_table, nudged_id=waiting[0], worker="w1", host=world.host)
    overtaken(world, monkeypatch, claims, places.give_up_waiting)
    assert [state(world, one) for one in waiting] == [TableState.RUNNING, TableState.QUEUED]


@pytest.mark.databases
def test_a_match_that_ends_while_another_ones_place_is_given_lets_in_somebody_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, jobs, waiting = full(world, 3)
    long_after(world, jobs)
    swept(world)
    ends = (
        partial(turns.finish, table_id=job.table_id, attempt=job.attempt, result=WON, transcript_sha256="c" * 64)
        for job in jobs[:2]
    )
    overtaken(world, monkeypatch, *ends)
    assert swept(world) == waiting[:2]
    assert {state(world, one) for one in waiting} == {TableState.QUEUED}


def test_a_bot_that_waits_for_a_slot_is_not_said_to_think(world: World) -> None:
    _, bot_id = world.playing_bot()
    person = world.author()
    exhibition_id = sit(world, person, bot_id)
    job = world.worked(programs.claim_next_table, exhibition_id, "w1", world.host)
    assert job is not None
    thinks = look(world, person, exhibition_id)
    assert world.worked(programs.note_wait, job, True)
    waits = look(world, person, exhibition_id)
    assert "is thinking" in told_table(thinks) and "waits until the machine" in told_table(waits)
    assert waits.version != thinks.version
    assert world.worked(programs.note_wait, job, False)
    assert look(world, person, exhibition_id) == thinks


def test_a_person_sits_down_only_so_often_in_an_hour(world: World) -> None:
    _, bot_id = world.playing_bot()
    person = world.author()
    for _ in range(sitting.PER_HOUR):
        leave(world, person, sit(world, person, bot_id))
        world.clock.turn(1)
    with pytest.raises(OverQuota) as caught:
        sit(world, person, bot_id)
    world.clock.turn(caught.value.retry_after_seconds - 1)
    world.refused(OverQuota, sitting.take_seat, person, bot_id)
    world.clock.turn(2)
    sit(world, person, bot_id)


def test_a_deployment_may_turn_matches_with_people_off(tmp_path: Path) -> None:
    world = World(settings(tmp_path, exhibitions=0))
    _, bot_id = world.playing_bot()
    assert "off" in world.refused(NoPlace, sitting.take_seat, world.author(), bot_id)
    world.close()


def test_people_play_bots_that_can_play_and_as_many_as_the_game_seats(world: World) -> None:
    owner, bot_id = world.playing_bot(game="liars-dice")
    person = world.author()
    world.refused(NotFound, sitting.take_seat, person, 99)
    empty = world.write(create_bot, owner, "liars-dice", "empty").id
    assert "this bot has none" in world.refused(WrongState, sitting.take_seat, person, empty)
    for opponents in (0, 6):
        world.refused(BadSetting, sitting.take_seat, person, bot_id, opponents)
    job = claim(world, sit(world, person, bot_id, 5))
    assert (job.seats, len(look(world, person, job.table_id).info.names)) == (6, 6)


def test_a_move_and_the_whole_match_have_limits(world: World) -> None:
    _, job = begun(world)
    wait(world, job, world.settings.exhibition_move_seconds - 1)
    assert hear(world, job) == NOTHING
    wait(world, job, 2 + turns.GRACE.total_seconds())
    assert hear(world, job) == LATE
    _, job = begun(world)
    with world.db.transaction() as session:
        began_at = world.clock.now - timedelta(seconds=world.settings.exhibition_seconds)
        session.get_one(GameTable, job.table_id).started_at = began_at + turns.GRACE
    wait(world, job, 2 * turns.GRACE.total_seconds())
    assert hear(world, job) == NOTHING
    wait(world, job, 1)
    assert hear(world, job) == LATE, "an hour for all of it"


def test_what_a_match_waits_for_us_is_not_the_persons_time(world: World) -> None:
    _, job = begun(world)
    before = world.row(GameTable, job.table_id).started_at
    release(world, job, Cause.WORKER_STOPPED)
    world.clock.turn(places.QUEUE_SECONDS)
    claim(world, job.table_id)
    after = world.row(GameTable, job.table_id).started_at
    assert before and after and (after - before).total_seconds() == places.QUEUE_SECONDS


def test_the_result_is_written_once_and_makes_room(world: World) -> None:
    person, job = begun(world)
    assert finish(world, job)
    assert not finish(world, job, Result((2, 1), None))
    info = look(world, person, job.table_id).info
    assert (info.state, info.ranks, info.fault) == (TableState.DONE, (1, 2), Fault.EXITED)
    assert info.seed == job.seed.hex()
    sit(world, person, info.bot_id)


@pytest.mark.parametrize("seat", [0, 1])
def test_a_person_in_any_seat_gets_advice(world: World, seat: int) -> None:
    bot_id = world.playing_bot("greedy")[1]
    table_id = sit(world, world.author(), bot_id, seat=seat)
    assert finish(world, claim(world, table_id))
    assert world.read(viewing.table_info, table_id).advice_comes


def test_a_worker_that_falls_silent_is_followed_by_another_that_knows_what_was_answered(world: World) -> None:
    person, job = begun(world)
    assert ask(world, job, READY, BIDS)
    world.clock.turn(world.settings.lease_seconds + 1)
    swept(world)
    table = look(world, person, job.table_id)
    assert (table.info.state, table.prompt) == (TableState.QUEUED, None)
    world.clock.turn(60)
    assert swept(world) == [job.table_id]
    again = claim(world, job.table_id)
    assert (again.attempt, len(again.replies)) == (2, 2)
    assert not ask(world, job, READY), "the first one is late"
    assert hear(world, job) is None
    assert not world.write(programs.TABLES.renew, job.table_id, job.attempt)
    assert world.write(programs.TABLES.renew, again.table_id, again.attempt)


def test_voids_count_whichever_worker_they_befell_and_whatever_their_cause(world: World) -> None:
    person, job = begun(world)
    for number in range(1, world.settings.match_attempts):
        if number % 2:
            assert world.write(programs.note_void, job, Failure("host-memory"))
        else:
            release(world, job, "engine", void=True)
            job = claim(world, job.table_id)
        assert look(world, person, job.table_id).info.voids == number
    assert not world.write(programs.note_void, job, Failure("host-memory")), "there is to be no other attempt"
    release(world, job, "host-memory", void=True)
    info = look(world, person, job.table_id).info
    assert (info.state, info.cause) == (TableState.ABANDONED, "host-memory")
    sit(world, person, info.bot_id)


def test_a_person_who_resigns_is_free_whatever_the_worker_does(world: World) -> None:
    """The person and the bot may play others at once. The match's record comes later, and only once."""
    person, job = begun(world)
    for _ in range(2):
        leave(world, person, job.table_id)
    assert world.read(sitting.open_of, person) is None
    table = look(world, person, job.table_id)
    assert table.resigned and table.prompt is None
    other = sit(world, person, table.info.bot_id)
    world.refused(WrongState, turns.answer, person, job.table_id, 1, "BID A 7")
    assert hear(world, job) == RESIGNED
    job = released(world, job)
    assert hear(world, job) == RESIGNED
    assert finish(world, job)
    assert not finish(world, job)
    assert world.read(sitting.open_of, person) == other, "the end of the first frees nobody from the second"


def test_failures_that_are_not_the_matchs_are_tried_again_for_an_hour(world: World) -> None:
    person, job = begun(world)

    def fail() -> TableState:
        release(world, job, "blobs-away")
        return look(world, person, job.table_id).info.state

    for _ in range(2 * carrying_out.SERIES_ATTEMPTS):
        assert fail() is TableState.QUEUED
        job = claim(world, job.table_id)
    world.clock.turn(world.settings.exhibition_seconds + 1)
    assert fail() is TableState.ABANDONED


def test_a_match_handed_back_by_a_stopping_worker_has_not_failed(world: World) -> None:
    person, job = begun(world)
    for _ in range(carrying_out.SERIES_ATTEMPTS):
        release(world, job, Cause.WORKER_STOPPED)
        assert swept(world) == [job.table_id], "at once"
        job = claim(world, job.table_id)
    release(world, job, "KeyError")
    info = look(world, person, job.table_id).info
    assert (info.state, info.voids, info.cause) == (TableState.QUEUED, 1, "KeyError")
    world.clock.turn(world.settings.retry_seconds)
    assert swept(world) == [job.table_id], "after the pause of a first failure"


def test_a_person_who_waits_in_vain_is_told(world: World) -> None:
    _, bot_id = world.playing_bot()
    person = world.author()
    exhibition_id = sit(world, person, bot_id)
    world.clock.turn(places.QUEUE_SECONDS + 1)
    assert swept(world) == []
    info = look(world, person, exhibition_id).info
    assert (info.state, info.cause) == (TableState.ABANDONED, Cause.NO_WORKER)


def test_a_machine_that_cannot_even_try_is_given_no_more_until_it_has_been_checked(world: World) -> None:
    _, job = begun(world)
    world.write(programs.give_back_table, job.table_id, job.attempt, "w1", Failure("no-engine"), world.host)
    assert world.write(programs.claim_table, job.table_id, "w1", world.host) is None
    world.write(hosts.record_check, world.host, {}, ("it is too busy",), 60)
    assert world.write(programs.claim_table, job.table_id, "w1", world.host) is None
    world.write(hosts.record_check, world.host, {}, (), 60)
    assert claim(world, job.table_id).attempt == 2


def test_a_match_that_was_turned_away_is_told_of_as_soon_as_a_machine_is_fit(world: World) -> None:
    _, bot_id = world.playing_bot()
    exhibition_id = sit(world, world.author(), bot_id)

    def turned_away(host: Host) -> bool:
        return world.write(hosts.turn_away, programs.TABLES, exhibition_id, host)

    world.write(hosts.record_check, world.host, {}, ("it is too busy",), 60)
    assert not turned_away(world.host), "nobody is there who could be told"
    assert swept(world) == []
    world.write(hosts.record_check, world.host, {}, (), 60)
    assert not turned_away(world.host), "it may play it itself"
    assert turned_away(Host("other", "boot"))
    assert swept(world) == [], "the machine that was told has the time to take it"
    world.write(hosts.record_check, world.host, {}, (), 60)
    assert swept(world) == [exhibition_id]


def test_a_person_has_the_seat_that_was_asked_for_or_any(world: World) -> None:
    _, bot_id = world.playing_bot("fox", "liars-dice")
    person = world.author()

    def seated(seat: int | None) -> viewing.TableInfo:
        exhibition_id = sit(world, person, bot_id, 2, seat)
        leave(world, person, exhibition_id)
        return look(world, person, exhibition_id).info

    assert [seated(seat).names.index(person.name) for seat in (0, 1, 2)] == [0, 1, 2]
    assert seated(1).names == ["fox 1", person.name, "fox 2"]
    assert {seated(None).seat for _ in range(12)} == {0, 1, 2}
    for seat in (-1, 3):
        with pytest.raises(BadSetting, match="seats are 1 to 3"):
            seated(seat)


def test_a_bot_that_is_named_as_its_person_is_called_a_bot(world: World) -> None:
    _, bot_id = world.playing_bot("Fox", "liars-dice")
    person = world.author("fox")
    for opponents, names in ((1, ["fox", "Fox (bot)"]), (2, ["fox", "Fox (bot) 1", "Fox (bot) 2"])):
        exhibition_id = sit(world, person, bot_id, opponents, 0)
        assert look(world, person, exhibition_id).info.names == names
        leave(world, person, exhibition_id)


@pytest.mark.parametrize("seat", [0, 1, 5])
def test_in_any_seat_a_person_sees_only_their_own_dice_and_is_told_of_a_typo(world: World, seat: int) -> None:
    _, bot_id = world.playing_bot(game="liars-dice")
    person = world.author()
    job = claim(world, sit(world, person, bot_id, 5, seat))
    bids = ({one: Reply(f'{{"type":"bid","quantity":{one + 1},"faceValue":2}}', 5)} for one in range(seat))
    assert ask(world, job, {one: Reply("OK", 0) for one in range(6)}, *bids)
    seen = look(world, person, job.table_id)
    assert seen.match is not None and seen.prompt is not None
    assert f'"you":"P{seat + 1}"' in seen.prompt
    assert [event["seat"] for event in seen.match.events() if event["type"] == "hand"] == [seat]
    with pytest.raises(IllegalMove):
        answer(world, person, job.table_id, 1, '{"type":"bid","quantity":0,"faceValue":2}')
    answer(world, person, job.table_id, 1, '{"type":"bid","quantity":9,"faceValue":2}')


def released(world: World, job: TableJob, cause: str = "lease-expired") -> TableJob:
    release(world, job, cause)
    return claim(world, job.table_id)


def handed_back(world: World, job: TableJob) -> TableJob:
    return released(world, job, Cause.WORKER_STOPPED)


def void(world: World, job: TableJob) -> TableJob:
    assert world.write(programs.note_void, job, Failure("host-starved"))
    return job


@pytest.mark.parametrize("fail", [released, handed_back, void])
def test_an_answer_that_was_taken_is_never_asked_for_again(
    world: World, fail: Callable[[World, TableJob], TableJob]
) -> None:
    """The answer came before we failed, or afterwards from a form that was still open."""
    for early in (True, False):
        person, job = begun(world)
        if early:
            answer(world, person, job.table_id, 1, "BID A 7")
        job = fail(world, job)
        if not early:
            answer(world, person, job.table_id, 1, "BID A 7")
        assert ask(world, job, {0: Reply("OK", 9), 1: Reply("OK", 0)}), "the bot's time is another, its answer is not"
        assert hear(world, job) == Heard("BID A 7", False, False)
        assert look(world, person, job.table_id).prompt is None
        assert finish(world, job)


def test_an_answer_to_what_a_bot_that_plays_differently_made_void_is_asked_for_again(world: World) -> None:
    person, job = begun(world)
    assert ask(world, job, READY, BIDS)
    answer(world, person, job.table_id, 2, "BID A 9")
    job = released(world, job)
    assert ask(world, job, READY, {**BIDS, 0: Reply("BID B 8", 3)})
    assert hear(world, job) == NOTHING
    world.refused(WrongState, turns.answer, person, job.table_id, 2, "BID A 9")


def test_answering_and_asking_twice_changes_nothing(world: World) -> None:
    person, job = begun(world)
    for _ in range(2):
        answer(world, person, job.table_id, 1, "BID A 7")
        assert ask(world, job, READY), "a worker whose commit was not confirmed asks again"
    assert hear(world, job) == Heard("BID A 7", False, False)


def test_leaving_after_our_failure_is_resigning_or_not_having_played(world: World, monkeypatch) -> None:
    person, job = begun(world)
    release(world, job, Cause.WORKER_STOPPED)
    leave(world, person, job.table_id)
    left = look(world, person, job.table_id).info
    assert (left.state, left.cause) == (TableState.ABANDONED, Cause.RESIGNED)
    waiting = sit(world, person, left.bot_id)
    leave(world, person, waiting)
    assert look(world, person, waiting).info.cause == Cause.LEFT
    person, job = begun(world)
    with monkeypatch.context() as patch:
        patch.setattr(turns, "abandon", lambda *_: False)  # as if the job returned to the queue at this moment
        release(world, job, Cause.WORKER_STOPPED)
        leave(world, person, job.table_id)
    job = claim(world, job.table_id)
    assert ask(world, job, READY)
    assert hear(world, job) == RESIGNED


def test_a_persons_time_stands_still_while_the_database_is_away(world: World) -> None:
    _, job = begun(world)
    world.clock.turn(world.settings.exhibition_move_seconds + 1)
    assert hear(world, job) == NOTHING, "nobody could renew the lease meanwhile"
    assert world.write(programs.TABLES.renew, job.table_id, job.attempt)
    wait(world, job, world.settings.exhibition_move_seconds - 1)
    assert hear(world, job) == NOTHING, "all of it"
    wait(world, job, 2 + turns.GRACE.total_seconds())
    assert hear(world, job) == LATE


def test_people_play_against_a_house_bot_without_a_season(world: World) -> None:
    person = world.author()
    for owner, may in ((world.author(), False), (world.write(closing.house), True)):
        bot_id = world.write(create_bot, owner, GAME, "greedy").id
        world.version(owner, bot_id)
        assert (bot_id in [bot.bot_id for bot in world.read(ready_bots, GAME, 10)]) is may
        if may:
            assert sit(world, person, bot_id)
        else:
            assert "this bot has none" in world.refused(WrongState, sitting.take_seat, person, bot_id)


def test_a_typo_is_told_and_costs_nothing(world: World) -> None:
    person, job = begun(world)
    for line in ("BID C 1", "", "BID A 1\nBID A 2", "é"):
        with pytest.raises(IllegalMove):
            answer(world, person, job.table_id, 1, line)
    assert hear(world, job) == NOTHING
    answer(world, person, job.table_id, 1, "BID A 1")


def test_a_person_is_asked_answers_and_is_heard(world: World) -> None:
    person, job = begun(world)
    at_table = look(world, person, job.table_id)
    assert at_table.prompt is not None and at_table.prompt.startswith("ROLL ")
    assert (at_table.info.names, hear(world, job)) == (["greedy", person.name], NOTHING)
    answer(world, person, job.table_id, 1, "BID A 100")
    assert hear(world, job) == Heard("BID A 100", False, False)
    after = look(world, person, job.table_id)
    assert after.prompt is None and after.version != at_table.version


def test_a_match_that_is_abandoned_makes_room(world: World) -> None:
    _, jobs, waiting = full(world, 2)
    job = jobs[0]
    for _ in range(world.settings.match_attempts - 1):
        job = released(world, job, "KeyError")
    assert swept(world) == []
    release(world, job, "KeyError")
    assert state(world, job.table_id) is TableState.ABANDONED
    assert swept(world) == waiting[:1]
    assert claim_next(world, waiting[0]) == (waiting[0], 1)


def test_a_void_attempt_is_told_and_asks_anew(world: World) -> None:
    person, job = begun(world)
    void(world, job)
    seen = look(world, person, job.table_id)
    assert (seen.info.voids, seen.info.cause, seen.prompt) == (1, "host-starved", None)
    assert ask(world, job, READY)
    assert look(world, person, job.table_id).prompt is not None
