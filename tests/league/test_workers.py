"""Machines that judge: fit, unfit, silent or held by others."""

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import Session, col, delete, select

from deadheat.league.jobs import Failure, Host, SeriesJob
from deadheat.league.records.hosts import Worker
from deadheat.league.service.bots import bots
from deadheat.league.service.bots.bots import versions_of
from deadheat.league.service.rulings.closing import set_role
from deadheat.league.service.series import carrying_out, turns
from deadheat.league.service.series import hosts as machines
from deadheat.league.service.series.hosts import host_arrives, host_seen, record_check
from deadheat.league.service.views import former as views
from deadheat.league.service.views.forecasts import NOTHING_PLAYED, waiting
from deadheat.league.service.views.matches import match_detail
from deadheat.league.service.views.uncounted import stopped
from deadheat.league.states import Fitness, JobState, MatchState, Role
from deadheat.league.tables import Attempt, Match, Series, WorkerHost
from deadheat.league.words import NoticeKind
from tests.conftest import JUDGE_IMAGE
from tests.league.clock import START
from tests.league.ground import settings
from tests.league.outcomes import forfeited, void
from tests.league.test_asked import League
from tests.league.test_notices import told
from tests.league.world import World, release_series

OTHER = Host("other", "boot")
WRONG = {"told": "a bot that was in time was convicted", "elapsed_ns": 1}


@pytest.fixture
def series(world: World) -> int:
    world.season(games_per_pair=2)
    return world.tick()[0]


def arrive(world: World, host: Host, *reasons: str, checked: bool = True) -> None:
    """Let a machine start and (if `checked`) be checked; any `reasons` make it unfit."""
    with world.db.transaction() as session:
        machines.host_arrives(session, host, "image")
        if checked:
            machines.record_check(session, host, {}, reasons, 60)


def claim(world: World, series: int, host: Host) -> SeriesJob | None:
    return world.write(carrying_out.claim_series, series, "w", host)


def claimed(world: World, series: int) -> SeriesJob:
    job = claim(world, series, world.host)
    assert job is not None
    return job


def info(world: World, host: Host) -> Worker:
    return next(found for found in world.read(machines.hosts) if found.name == host.name)


def canary(world: World, host: Host, *wrong: dict[str, object], voids: int = 0, end: bool = True) -> None:
    world.write(machines.record_canary, host, voids, list(wrong) if end else None, 3)


def ledger(world: World, series: int) -> list[tuple[str, bool, dict[str, object]]]:
    """Return each attempt's cause, whether it is about one match, and its evidence."""
    rows = world.rows(select(Attempt).where(Attempt.series_id == series).order_by(col(Attempt.id)))
    return [(row.cause, row.match_id is not None, row.evidence) for row in rows]


def test_a_machine_that_nobody_has_checked_gets_no_series(world: World, series: int) -> None:
    assert claim(world, series, OTHER) is None  # it has not reported
    arrive(world, OTHER, checked=False)
    assert claim(world, series, OTHER) is None
    assert world.row(Series, series).state is JobState.QUEUED
    arrive(world, OTHER)
    assert claim(world, series, OTHER) is not None
    arrive(world, OTHER, checked=False)
    assert sorted(host.name for host in world.read(machines.hosts)) == sorted([world.host.name, OTHER.name])


def test_an_unfit_machine_gets_no_series_and_a_fit_one_does(world: World, series: int) -> None:
    arrive(world, OTHER, "Nothing shows whether a bot was kept from running.")
    assert claim(world, series, OTHER) is None
    job = claimed(world, series)
    assert (job.host, job.unfit) == (world.host, ())


def test_a_silent_machine_gets_no_series_until_it_reports(world: World, series: int) -> None:
    arrive(world, OTHER)
    world.clock.turn(world.settings.lease_seconds + 1)
    assert claim(world, series, OTHER) is None
    assert not info(world, OTHER).judges
    assert world.write(machines.host_seen, OTHER)
    assert claim(world, series, OTHER) is not None


def test_what_was_known_before_a_reboot_is_known_no_more(world: World, series: int) -> None:
    arrive(world, OTHER)
    rebooted = Host(OTHER.name, "another boot")
    assert claim(world, series, rebooted) is None
    assert not world.write(machines.host_seen, rebooted)
    world.clock.turn(world.settings.lease_seconds + 1)
    arrive(world, rebooted)
    assert claim(world, series, OTHER) is None
    assert claim(world, series, rebooted) is not None


def test_a_restart_forgets_the_fitness_of_another_image_but_not_the_history(world: World) -> None:
    first_seen = info(world, world.host).first_seen_at
    world.clock.turn(100)
    arrive(world, world.host, checked=False)
    assert info(world, world.host).judges, "it plays on while it is checked"
    world.write(machines.host_arrives, world.host, "another image")
    found = info(world, world.host)
    assert (found.fitness, found.judges, found.first_seen_at) == (Fitness.UNCHECKED, False, first_seen)


def test_a_series_that_is_turned_away_is_told_of_only_if_another_may_play_it(world: World, series: int) -> None:
    arrive(world, OTHER, "Too much noise.")
    with world.db.transaction() as session:
        assert turns.turn_away_series(session, series, OTHER)  # the world's own machine is fit
        assert not turns.turn_away_series(session, series, world.host)  # it may play; another worker was faster
    arrive(world, world.host, "Too much noise as well.")
    assert not world.write(turns.turn_away_series, series, OTHER)  # else the message would circulate for ever
    arrive(world, world.host)
    assert claim(world, series, world.host) is not None
    assert not world.write(turns.turn_away_series, series, OTHER)  # it is not waiting


def test_waiting_series_are_told_of_as_soon_as_a_machine_is_fit(world: World, series: int) -> None:
    arrive(world, world.host, "Too much noise.")
    assert world.enqueued() == []  # it was enqueued a moment ago
    world.write(machines.record_check, world.host, {}, (), 60)
    assert world.enqueued() == [series]


def test_a_machine_that_was_only_silent_is_soon_told_again_of_what_waits(world: World, series: int) -> None:
    """Its last report is past its lease because the database was away. Meanwhile the message came, and was dropped."""
    world.enqueued()
    world.clock.listeners.clear()  # nobody reports
    world.clock.turn(world.settings.lease_seconds + 1)
    assert world.enqueued() == [], "no machine can take it"
    assert not world.write(turns.turn_away_series, series, world.host)
    world.write(machines.host_seen, world.host)
    assert world.enqueued() == [series]
    world.clock.turn(1)
    assert world.enqueued() == [], "it may be on its way"


def test_a_message_that_got_lost_is_sent_again_soon_only_beside_idle_slots(world: World) -> None:
    world.season(3, games_per_pair=2)
    first, *waiting = world.tick()
    world.write(machines.record_check, world.host, {"slots": 2}, (), 0)
    world.enqueued()
    world.clock.turn(world.settings.retry_seconds)
    job = claimed(world, first)
    assert world.enqueued() == [], "half of the slots are busy, and the others may be about to be"
    world.write(release_series, job, "w", Failure("blobs-away", "it is full"))
    assert sorted(world.enqueued()) == sorted(waiting), "the first one has a pause"


def test_an_unfit_machine_is_checked_again_after_a_pause(world: World) -> None:
    def due() -> Fitness | None:
        return world.read(machines.due_check, world.host)

    assert due() is None
    arrive(world, world.host, checked=False)
    assert due() is Fitness.FIT, "as it was before its worker started again"
    arrive(world, world.host, "Too much noise.")
    assert due() is None
    world.clock.turn(60)
    assert due() is Fitness.UNFIT
    arrive(world, world.host)
    world.clock.turn(1000)
    assert due() is None


def test_a_canary_is_due_after_a_time_and_after_some_series(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deadheat.league.service.series.hosts.CANARY_SECONDS", 100)
    monkeypatch.setattr("deadheat.league.service.series.hosts.CANARY_SERIES", 2)
    world = World(settings(tmp_path))

    def take() -> int | None:
        return world.write(machines.take_canary, world.host)

    assert take() is None  # the check has just taken place
    world.season(3, games_per_pair=2)
    world.play(world.tick()[:2])
    assert take() == 2
    assert take() is None  # another worker is playing it
    world.clock.turn(100)
    assert take() == 0
    world.clock.turn(100)
    arrive(world, world.host, "Too much noise.")
    world.clock.turn(100)
    assert take() is None  # an unfit machine is checked instead
    world.close()


def test_a_wrong_canary_verdict_makes_the_machine_unfit_at_once(world: World, series: int) -> None:
    canary(world, world.host, voids=1)
    assert claim(world, series, world.host) is not None
    canary(world, world.host, WRONG)
    assert not info(world, world.host).judges
    assert info(world, world.host).reasons == ("In a canary match, a bot that was in time was convicted.",)
    assert info(world, world.host).evidence["wrong"] == [WRONG]
    assert (info(world, world.host).canaries, info(world, world.host).canary_failures) == (2, 1)
    assert info(world, world.host).canary_voids == 1
    world.season(games_per_pair=2)
    (waiting,) = world.tick()
    assert claim(world, waiting, world.host) is None
    assert world.read(machines.due_check, world.host) is None  # only after a pause
    world.clock.turn(machines.RECHECK_SECONDS)
    assert world.read(machines.due_check, world.host) is Fitness.UNFIT


def test_what_made_a_machine_unfit_is_kept_until_the_next_time(world: World, series: int) -> None:
    admin = world.author("root")
    world.write(set_role, "root", Role.ADMIN)
    job = claimed(world, series)
    began = world.clock.now
    assert world.finish(job, [void(job.matches[0], "watch-ended")])
    during = info(world, world.host)
    assert (during.fitness, during.incident_at, during.incident_ended_at) == (Fitness.UNFIT, began, None)
    assert during.incident == {"reasons": list(during.reasons), "match_id": job.matches[0].match_id}
    world.clock.turn(10)
    arrive(world, world.host, "Too much noise.")
    assert info(world, world.host).incident == during.incident, "it has not ended"
    arrive(world, world.host)
    after = info(world, world.host)
    assert (after.incident_at, after.incident_ended_at, after.reasons) == (began, world.clock.now, ())
    assert after.incident == during.incident
    world.clock.turn(10)
    arrive(world, world.host, "Too much noise.")
    again = info(world, world.host)
    assert (again.incident_at, again.incident_ended_at) == (world.clock.now, None)
    assert again.incident == {"reasons": ["Too much noise."], "match_id": None}
    (notice,) = told(world, admin, NoticeKind.UNFIT)
    assert during.reasons[0] in notice.text, "once an hour"
    assert told(world, world.boss, NoticeKind.UNFIT) == []


@pytest.mark.databases
def test_a_machine_of_any_name_may_become_unfit(world: World) -> None:
    admin = world.author("root")
    world.write(set_role, "root", Role.ADMIN)
    arrive(world, Host("n" * 128, "boot"), "Too much noise.")
    assert len(told(world, admin, NoticeKind.UNFIT)) == 1


@pytest.mark.parametrize("again", [False, True])
def test_what_was_played_while_a_machine_became_unfit_is_played_again(world: World, series: int, again: bool) -> None:
    """If `again`, a check finds the machine fit again before the series ends."""
    job = claimed(world, series)
    world.clock.turn(1)
    canary(world, world.host, WRONG)
    if again:
        arrive(world, world.host)
    outcomes = [*(forfeited(match, 1) for match in job.matches[:-1]), void(job.matches[-1])]
    assert not world.finish(job, outcomes)
    assert world.row(Series, series).state is JobState.QUEUED
    causes = [(cause, of_match) for cause, of_match, _ in ledger(world, series)]
    assert causes == [("host-memory", True), ("host-unfit", False)]
    arrive(world, world.host)
    world.clock.turn(1)
    job = claimed(world, series)
    assert world.finish(job)
    assert world.row(Series, series).state is JobState.DONE
    assert set(world.rows(select(Match.state))) == {MatchState.DONE}


def test_void_attempts_of_a_series_that_is_given_back_stay_in_the_ledger(world: World, series: int) -> None:
    job = claimed(world, series)
    first = job.matches[0]
    world.write(release_series, job, "w", Failure("no-engine", "it is gone"), [void(first, stolen_ns=5)])
    assert [cause for cause, _, _ in ledger(world, series)] == ["host-memory", "no-engine"]
    shown = world.read(match_detail, first.match_id).attempts
    assert [(row.match_id, row.cause, row.evidence) for row in shown] == [
        (first.match_id, "host-memory", {"stolen_ns": 5}),
        (None, "no-engine", {}),
    ]
    world.write(release_series, job, "w", Failure("no-engine", "again"), [void(first)])
    assert len(ledger(world, series)) == 2


def test_an_operator_may_let_unfit_machines_judge_and_every_attempt_says_so(tmp_path) -> None:
    world = World(settings(tmp_path, judge_unfit=True))
    world.season(games_per_pair=2)
    (series,) = world.tick()
    arrive(world, world.host, "Too much noise.")
    assert info(world, world.host).judges
    job = claimed(world, series)
    assert job.unfit == ("Too much noise.",)
    world.clock.turn(1)
    canary(world, world.host, WRONG)
    assert world.finish(job)
    assert ledger(world, series) == [("played", True, {"host-unfit": ["Too much noise."]})] * 2
    world.clock.turn(world.settings.lease_seconds + 1)
    assert claim(world, series, OTHER) is None  # that machine is unknown
    world.close()


def test_machines_that_were_not_seen_for_long_are_forgotten(world: World) -> None:
    arrive(world, OTHER)
    world.clock.turn(machines.FORGET_DAYS * 86_400 + 1)
    arrive(world, world.host)
    assert [host.name for host in world.read(machines.hosts)] == [world.host.name]
    assert world.read(machines.unfit_reasons, OTHER) != ()


def test_a_machine_that_is_checked_unfit_or_silent_is_named_with_the_time(world: World) -> None:
    assert world.read(stopped) == ""
    world.worked(host_arrives, world.host, "another image")
    world.clock.turn(40)
    assert world.read(stopped) == "The machine has been under check for 40 s; matches begin when it passes."
    world.worked(record_check, world.host, {}, ["It is too slow."], 60)
    world.clock.turn(240)
    assert world.read(stopped) == "No machine has been fit to play for 4 minutes."
    world.worked(record_check, world.host, {}, [], 0)
    assert world.read(stopped) == ""
    world.clock.listeners.clear()
    world.clock.turn(120)
    assert world.read(stopped) == "No machine has reported for 2 minutes, so nothing is played."
    world.write(_forget)
    assert world.read(stopped) == "No machine has ever reported, so nothing is played."


def _forget(session: Session) -> None:
    session.exec(delete(WorkerHost))


def test_who_holds_processors_is_told_while_matches_go_on(world: World) -> None:
    world.clock.listeners.clear()
    for since, held_by in (("10 s", "deadheat tournament of ada"), ("20 s", None)):
        world.worked(host_seen, world.host, held_by=held_by)
        world.clock.turn(10)
        told = f"Processors have been held by deadheat tournament of ada for {since}, so matches run more slowly."
        assert world.read(stopped) == told
    world.worked(host_seen, world.host, held_by="")
    assert world.read(stopped) == ""


def test_bots_and_challenges_say_what_they_wait_for(world: World) -> None:
    league = League(world, games_per_pair=None)
    challenge = league.ask(2)
    assert challenge.waits == "Its next matches are planned in a moment."
    second = league.ask(2)
    assert second.waits == f"It waits until challenge {challenge.id} is over, which was asked for earlier."
    world.tick()
    sentence = world.read(waiting, league.season_id, league.rival_bot).sentence
    assert sentence.endswith(NOTHING_PLAYED)
    told = world.read(views.asked_challenge, league.author, challenge.id).waits
    patience = "Rated matches go first, but one slot in 8 is kept for unrated ones once they have waited a minute."
    assert told == f"It is next in line for a slot. {patience}"
    world.clock.turn(1)
    other = league.ask(2, league.other, bot_id=league.other_bot)
    world.tick()
    told = world.read(views.asked_challenge, league.other, other.id).waits
    assert told == f"It waits for a slot, behind 1 unrated series. {patience}"
    world.worked(host_arrives, world.host, "another image")
    world.clock.turn(30)
    stop = "The machine has been under check for 30 s; matches begin when it passes."
    assert world.read(waiting, league.season_id, league.rival_bot).sentence.endswith(stop)
    assert world.read(views.asked_challenge, league.author, challenge.id).waits == stop


def document(*languages: str) -> dict[str, Any]:
    return {"languages": [{"name": name} for name in languages]}


def record(world: World, fingerprint: str, image: str, *languages: str) -> None:
    world.write(bots.record_environment, fingerprint, image, document(*languages), "w1")


def test_nobody_knows_what_no_worker_has_seen(world: World) -> None:
    assert not world.write(bots.confirm_environment, "f1")
    record(world, "f1", "deadheat/judge:full", "python", "java")
    assert world.write(bots.environment) is None, "another image is another matter"
    assert world.write(bots.installed_languages) is None


def test_the_description_found_true_last_is_the_one_that_counts(world: World) -> None:
    record(world, "f1", JUDGE_IMAGE, "python")
    world.clock.turn(10)
    record(world, "f2", JUDGE_IMAGE, "python", "java")
    assert world.write(bots.installed_languages) == {"python", "java"}
    world.clock.turn(10)
    assert world.write(bots.confirm_environment, "f1")
    found = world.write(bots.environment)
    assert found is not None
    assert (found.document, found.described_at) == (document("python"), START + timedelta(seconds=20))


def test_an_unfit_machine_still_builds(world: World) -> None:
    arrive(world, world.host, "Too much noise.")
    owner, bot = world.bot()  # uploads and builds
    assert [version.state for version in world.read(versions_of, owner, bot)] == ["ready"]


def test_a_canary_without_an_end_has_the_machine_checked_but_not_condemned(world: World, series: int) -> None:
    canary(world, world.host, voids=3, end=False)
    assert claim(world, series, world.host) is not None
    assert world.read(machines.due_check, world.host) is Fitness.FIT


def test_series_and_voids_are_counted_by_machine(world: World, series: int) -> None:
    job = claimed(world, series)
    assert world.finish(job, [forfeited(match, 0) for match in job.matches])
    found = info(world, world.host)
    assert (found.series, found.voids) == (1, 2)
