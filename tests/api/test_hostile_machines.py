"""A lent machine that plays honestly, but chooses what it hands in, gains little and blocks nobody."""

from typing import Any

import pytest
from sqlmodel import select

from deadheat.api.routes import machines as routes
from deadheat.league.causes import Cause
from deadheat.league.jobs import Failure
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.machines import work
from deadheat.league.service.machines.access import add_machine, machines
from deadheat.league.states import JobState, MatchState, Trust
from deadheat.league.tables import Attempt, BotVersion, Series, WorkerHost
from deadheat.workers.context import Linked
from deadheat.workers.machine.client import Dismissed
from tests.api.test_machines import NOTHING, League, league, link, unhurried
from tests.cli.command import deadheat

__all__ = ["league", "unhurried"]


@pytest.fixture
def lent(league: League) -> Linked:
    league.world.season(series_length=1, games_per_pair=20)
    with league.world.db.transaction() as session:
        for version in session.exec(select(BotVersion)).all():
            version.lendable = True
    return league.machine("lent", Trust.LOW)


def only(league: League) -> int:
    """Leave one series waiting, and return it."""
    series_id, *others = league.world.tick()
    for other in others:
        league.world.change(Series, other, state=JobState.DONE)
    return series_id


def ready(league: League, lent: Linked, seconds: float = 601.0) -> None:
    """Let time pass, until the machine may have again what it failed at."""
    league.world.clock.turn(seconds)
    assert link(lent).seen(0.0, 0.0, 0.0, None)
    link(lent).record_check({"slots": 2, "findings": []}, [], 0.0, 0)


def test_new_dice_are_not_had_by_beginning_anew(league: League, lent: Linked) -> None:
    league.world.tick()
    job = league.claimed(lent)
    assert link(lent).begin("image")
    assert league.world.series(job.series_id).avoid_host == "lent"
    assert league.world.causes(job.series_id) == ["host-unfit"]


def test_leases_that_it_lets_run_out_count_against_no_series(league: League, lent: Linked) -> None:
    series_id = only(league)
    for _ in range(6):
        ready(league, lent)
        league.claimed(lent)
        league.world.clock.turn(league.world.settings.lease_seconds + 1)
        league.world.write(sweep)
    assert league.world.series(series_id).state is JobState.QUEUED
    assert set(league.world.causes(series_id)) == {"host-unfit"}


def test_its_void_attempts_have_no_match_held(league: League, lent: Linked) -> None:
    series_id = only(league)
    for _ in range(league.world.settings.match_attempts + 1):
        ready(league, lent)
        job = league.claimed(lent)
        void = {"match_id": job.matches[0].match_id, "cause": "watch-ended", "detail": "somebody is a cheat"}
        assert league.results(lent, job, {**NOTHING, "void": void}).json() == {"yes": True}
        assert link(lent).due_check() is not None, "a watch ended there, so it is checked"
    assert league.states(series_id) == {MatchState.SCHEDULED}
    told = league.world.rows(select(Attempt.detail).where(Attempt.series_id == series_id))
    assert not any("cheat" in detail for detail in told), "such details are public"


def test_what_it_says_of_its_fitness_is_not_public(league: League, lent: Linked) -> None:
    league.world.tick()
    job = league.claimed(lent)
    assert link(lent).finish(job, (), Failure(Cause.HOST_UNFIT, "somebody is a cheat"))
    (detail,) = league.world.rows(select(Attempt.detail).where(Attempt.series_id == job.series_id))
    assert "cheat" not in detail


@pytest.mark.parametrize("how", ["fails", "leaves out", "is unfit", "is silent", "begins anew"])
def test_who_gives_back_too_much_is_out(league: League, lent: Linked, how: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(work, "MOST_GIVEN_BACK", 3)
    world = league.world
    world.tick()
    for _ in range(4):
        ready(league, lent)
        job = league.claimed(lent)
        if how == "fails":
            link(lent).finish(job, (), Failure(Cause.ENGINE, "it fell over"))
        elif how == "leaves out":
            league.results(lent, job, NOTHING)
        elif how == "is unfit":
            link(lent).record_check({"slots": 2, "findings": []}, ["Too much noise."], 60.0, 0)
            league.results(lent, job, NOTHING)
        elif how == "is silent":
            world.clock.turn(world.settings.lease_seconds + 1)
            world.write(sweep)
        else:
            link(lent).begin("image")
    ready(league, lent)
    assert link(lent).claim(0) is None
    with pytest.raises(Dismissed):
        link(lent).claim(0)
    (row,) = world.read(machines)
    assert row.revoked_at is not None and row.found is None
    (given_back,) = world.rows(select(WorkerHost.voids).where(WorkerHost.name == "lent"))
    assert given_back == 4
    world.write(add_machine, "lent", Trust.LOW)
    assert world.rows(select(WorkerHost.voids).where(WorkerHost.name == "lent")) == [0]


def test_it_holds_few_series_until_it_has_finished_some(league: League, lent: Linked, monkeypatch: Any) -> None:
    monkeypatch.setattr(work, "MOST_HELD", 2)
    league.world.tick()
    assert [link(lent).claim(0) is not None for _ in range(3)] == [True, True, False]


def test_it_holds_no_series_for_ever(league: League, lent: Linked) -> None:
    league.world.tick()
    job = league.claimed(lent)
    renewed = 0
    while link(lent).renew(job):
        league.world.clock.turn(60)
        renewed += 1
        assert renewed < 1000
    assert renewed == work.LONGEST_SECONDS // 60 + 1


def test_few_of_its_bodies_are_in_memory_at_a_time(league: League, lent: Linked) -> None:
    league.world.tick()
    job = league.claimed(lent)
    routes._arriving["lent"] += routes.MOST_ARRIVING
    try:
        assert league.results(lent, job, NOTHING).status_code == 503
        assert league.results(league.machine(), job, NOTHING).status_code == 200, "others are not concerned"
    finally:
        routes._arriving["lent"] -= routes.MOST_ARRIVING
    assert league.results(lent, job, NOTHING).json() == {"yes": True}
    assert not routes._arriving["lent"]


def test_a_lender_is_not_promised_what_full_trust_does_not_keep() -> None:
    done = deadheat("machine", "add", "far", "--trust", "full", "--owner", "ada")
    assert done.returncode == 2 and "plays everything, its owner's seasons too" in done.stderr
