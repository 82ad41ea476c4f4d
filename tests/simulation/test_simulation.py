"""Storms over the simulated play path: nothing is lost, doubled or invented, and planted mistakes are found."""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Update, event
from sqlmodel import Session

from deadheat.league.service.ground import life
from deadheat.league.service.ground.life import Life
from deadheat.league.service.ground.steps import move, updating
from deadheat.league.service.jobs.builds import BUILDS
from deadheat.league.service.series import carrying_out, outcomes
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.series.hosts import may_judge
from deadheat.league.service.tables.programs import TABLES
from deadheat.league.tables import Attempt, Series
from tests.lanes import scaled
from tests.simulation.simulator import Simulator
from tests.simulation.stage import Stage, StormyBlobs
from tests.simulation.storm import ROUGH, Weather

SEEDS = scaled(300, 30)
SEEDS_TO_FIND_A_BUG = 300


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("stage"))
    yield made
    made.database.close()


def test_after_every_storm_all_is_as_it_should_be(stage: Stage) -> None:
    assert {seed: found for seed in range(SEEDS) if (found := Simulator(stage, seed).run())} == {}


def test_a_seed_decides_everything(stage: Stage) -> None:
    def trace(seed: int) -> list[tuple[float, str, str]]:
        simulator = Simulator(stage, seed)
        simulator.run()
        return simulator.trace

    assert trace(5) == trace(5)
    assert trace(5) != trace(6)


MOST_STATEMENTS, MOST_BUILT = 255, 25
"""The most of a storm, on average. Building a statement takes longer than executing it, so those of every series, sweep
and ranking are built once. People's tables take a tenth: each step of a match is stored, and the site watches them.
With another statement anywhere, other faults befall a storm, which moves the average of 20 by ten: it takes many.
"""


def test_a_storm_costs_few_statements_and_builds_fewer(stage: Stage) -> None:
    known: dict[int, object] = {}  # keeps them, so that no two have one id
    executed: list[int] = []
    before = first = 0

    def note(_: object, statement: object, *__: object) -> None:
        known[id(statement)] = statement
        executed.append(id(statement))

    connection = stage.database.connection
    event.listen(connection, "before_execute", note)
    storms = 110
    for seed in range(10 + storms):
        Simulator(stage, seed).run()
        if seed == 9:  # almost everything that is built once has been built
            before, first = len(known), len(executed)
    event.remove(connection, "before_execute", note)
    assert (len(executed) - first) / storms < MOST_STATEMENTS
    assert (len(known) - before) / storms < MOST_BUILT


@pytest.fixture(autouse=True)
def _silence() -> Iterator[None]:
    """Turn logging off, because a storm logs a lot."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


Plant = Callable[[pytest.MonkeyPatch], None]
expired = Life.expired
write_results = outcomes._write_results


def late_results_are_taken(bug: pytest.MonkeyPatch) -> None:
    """Plant a mistake: results are accepted from workers that no longer hold the series."""

    def careless(*what: Any, where: object, **values: Any) -> bool:  # the attempt
        return move(*what, **values)

    bug.setattr(life, "move", careless)


def attempts_are_not_counted(bug: pytest.MonkeyPatch) -> None:
    def forgetful(_: object, judge_unfit: bool) -> Update:
        return updating(Series, "id", "state").where(may_judge(judge_unfit))

    bug.setattr(carrying_out, "_claiming", forgetful)


def the_state_is_not_looked_at(bug: pytest.MonkeyPatch) -> None:
    """Plant a mistake: results are written whether or not the series was still there."""
    bug.setattr(life, "move", lambda *what, **values: move(*what, **values) or True)


def nobody_is_missed(bug: pytest.MonkeyPatch, kind: Life) -> None:
    """Plant a mistake: expired leases of one kind of job are not found."""
    bug.setattr(Life, "expired", lambda life, session: [] if life is kind else expired(life, session))


def failed_builds_are_not_noted(bug: pytest.MonkeyPatch) -> None:
    bug.setattr(life, "Attempt", lambda **what: Attempt(**{**what, "version_id": None}))


def messages_are_sent_once(bug: pytest.MonkeyPatch) -> None:
    bug.setattr(Life, "due", lambda *_: [])


def results_come_in_a_second_transaction(bug: pytest.MonkeyPatch, stage: Stage) -> None:
    def apart(session: Session, *what: Any, **how: Any) -> None:
        session.commit()
        stage.now.maybe_die()
        write_results(session, *what, **how)

    bug.setattr(outcomes, "_write_results", apart)


def transcripts_are_promised_only(bug: pytest.MonkeyPatch) -> None:
    put = StormyBlobs.put

    def sometimes(blobs: StormyBlobs, data: bytes) -> str:
        return put(blobs, data[:-1] if len(data) % 10 == 0 else data)

    bug.setattr(StormyBlobs, "put", sometimes)


def the_log_grows_unnoticed(bug: pytest.MonkeyPatch) -> None:
    bug.setattr(carrying_out, "touch_log", lambda *_: None)


def dice_are_thrown_again(bug: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a void attempt is played again with the same dice."""
    for module in (carrying_out, outcomes):
        bug.setattr(module, "next_seed", lambda *_, **__: None)


def test_where_nothing_is_planted_the_same_search_finds_nothing(stage: Stage) -> None:
    assert not found_within(stage, 10)


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(late_results_are_taken, marks=pytest.mark.all),
        attempts_are_not_counted,
        the_state_is_not_looked_at,
        pytest.param(partial(nobody_is_missed, kind=SERIES), id="dead workers are not missed"),
        pytest.param(partial(nobody_is_missed, kind=BUILDS), id="dead builders are not missed"),
        failed_builds_are_not_noted,
        pytest.param(partial(nobody_is_missed, kind=TABLES), id="guests are not missed", marks=pytest.mark.all),
        messages_are_sent_once,
        transcripts_are_promised_only,
        the_log_grows_unnoticed,
        dice_are_thrown_again,
    ],
)
def test_a_planted_bug_is_found(stage: Stage, monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    plant(monkeypatch)
    assert found_within(stage, SEEDS_TO_FIND_A_BUG)


@pytest.mark.all
def test_results_that_are_not_written_at_once_are_found(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    results_come_in_a_second_transaction(monkeypatch, stage)
    assert found_within(stage, SEEDS_TO_FIND_A_BUG)


@pytest.mark.all
def test_matches_that_nobody_is_asked_about_are_found(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrying_out, "_hold", lambda *_: None)
    assert found_within(stage, SEEDS_TO_FIND_A_BUG, Weather(void=0.5))


def found_within(stage: Stage, seeds: int, weather: Weather = ROUGH) -> bool:
    """Say whether a storm ends badly: in a wrong state, or with a task that stumbled over one."""
    for seed in range(seeds):
        try:
            if Simulator(stage, seed, weather).run():
                return True
        except Exception:  # noqa: BLE001  a bug may show as any of them
            return True
    return False
