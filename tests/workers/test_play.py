"""Playing a series, and dying in the middle of it: nothing is lost, nothing is counted twice."""

import itertools
import logging
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import obstore
import pytest
from obstore.exceptions import GenericError
from prometheus_client import REGISTRY
from sqlalchemy.exc import InternalError, OperationalError
from sqlmodel import Session, col, select

from deadheat.engine.core import Fault, Result, TransportError
from deadheat.engine.games import GAMES
from deadheat.engine.replay import replay
from deadheat.engine.transcript import Transcript
from deadheat.engine.unfinished import Replies
from deadheat.engine.verdicts import past_deadline
from deadheat.league import outcomes
from deadheat.league.errors import BlobsAway
from deadheat.league.jobs import SeriesJob
from deadheat.league.records.matches import Over
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.series import carrying_out
from deadheat.league.service.series import live as league_live
from deadheat.league.service.series.carrying_out import SERIES
from deadheat.league.service.series.hosts import record_check
from deadheat.league.service.series.outcomes import rules_played
from deadheat.league.service.views.timeouts import timeouts
from deadheat.league.states import JobState, MatchState
from deadheat.league.storage.schema import WORKER
from deadheat.league.tables import Ending, LatencySummary, LiveMatch, Match, Participant
from deadheat.sandbox.arena import Arena, Played
from deadheat.sandbox.box import SandboxError
from deadheat.sandbox.host.slots import Slots
from deadheat.workers import holding, link, live, metrics, play, stopping
from deadheat.workers.context import Context
from deadheat.workers.live import Broadcast
from deadheat.workers.play import play_series
from tests.engine.busy import on_a_busy_host, taken, with_reply
from tests.league.people import GAME
from tests.workers.conftest import PlayingWorld
from tests.workers.victim import MOMENTS


def matches(world: PlayingWorld, series_id: int) -> list[Match]:
    with world.db.reading() as session:
        return list(session.exec(select(Match).where(Match.series_id == series_id).order_by(col(Match.number))).all())


def assert_played_once(world: PlayingWorld, series_id: int) -> None:
    """Check that every match has one result, and a transcript that has the same result and verifies."""
    for match in matches(world, series_id):
        assert match.state is MatchState.DONE
        transcript = world.transcript(match.transcript_sha256)
        assert (transcript.seed, transcript.attempt) == (match.seed, match.attempt)
        assert transcript.about["match"] == match.id
        assert [one.rules_version for one in world.read(rules_played, [match.season_id])] == [transcript.rules_version]
        replay(GAMES[transcript.game], transcript)
        with world.db.reading() as session:
            ranks = session.exec(
                select(Participant.rank).where(Participant.match_id == match.id).order_by(col(Participant.seat))
            ).all()
        assert tuple(ranks) == transcript.result.ranks


def killed(world: PlayingWorld, series_id: int, moment: str) -> int:
    """Let another process play the series and die at that moment; return its exit code."""
    command = [sys.executable, "-m", "tests.workers.victim", str(world.settings.data_dir)]
    command += [world.clock.now.isoformat(), str(series_id), moment]
    return subprocess.run(command, cwd=Path(__file__).resolve().parents[2], timeout=120, check=False).returncode


def test_a_series_is_played_stored_and_finished(world: PlayingWorld) -> None:
    series_id = world.queued(3)
    play_series(world.context, series_id)
    assert world.series(series_id).state is JobState.DONE
    assert_played_once(world, series_id)
    with world.db.reading() as session:
        assert len(session.exec(select(Ending)).all()) == 6
        latencies = session.exec(select(LatencySummary)).all()
    assert {(row.command, row.prompts) for row in latencies} == {("READY", 1), ("ROLL", 12), ("SCORE", 12)}
    for match in matches(world, series_id):
        told: dict[tuple[int, str], list[int]] = {}
        for prompt in world.transcript(match.transcript_sha256).prompts():
            assert prompt.reply.elapsed_ns > 0
            told.setdefault((prompt.message.seat, prompt.message.command), []).append(prompt.reply.own_ns)
        rows = {(row.seat, row.command): (row.total_ns, row.worst_ns) for row in latencies if row.match_id == match.id}
        assert rows == {key: (sum(own), max(own)) for key, own in told.items()}
    assert world.left_behind() == []


def test_how_far_the_winner_was_behind_is_stored_and_costs_no_match(world: PlayingWorld, monkeypatch) -> None:
    series_id = world.queued(3)
    with monkeypatch.context() as patched:
        patched.setattr(outcomes, "comeback", mock.Mock(side_effect=[12.5, KeyError("totals"), 0.0]))
        play_series(world.context, series_id)
    assert [match.comeback for match in matches(world, series_id)] == [12.5, None, 0.0]
    assert_played_once(world, series_id)


def test_matches_are_counted_for_their_season_and_from_nothing_on(world: PlayingWorld, monkeypatch) -> None:
    """A rate could not see the first matches of a counter that began with them."""
    series_id = world.queued(3)
    season, seen = str(world.series(series_id).season_id), []

    def counted(metric: str, **labels: str) -> float | None:
        return REGISTRY.get_sample_value(f"deadheat_{metric}_total", {"game": GAME, "season": season, **labels})

    def run(*arguments: Any) -> None:
        seen.append((counted("matches", outcome="played"), counted("faults", command="", fault="timeout")))
        play_run(*arguments)

    play_run = play.run
    monkeypatch.setattr(play, "run", run)
    metrics.matches.clear()  # other tests' seasons have the same numbers
    metrics.faults.clear()
    play_series(world.context, series_id)
    assert seen == [(0, 0)]
    assert counted("matches", outcome="played") == 3


@pytest.mark.parametrize("moment", [moment for moment in MOMENTS if moment != "after the commit"])
def test_a_worker_killed_anywhere_loses_nothing_and_nothing_is_counted_twice(world: PlayingWorld, moment: str) -> None:
    series_id = world.queued(3)
    assert killed(world, series_id, moment) == -signal.SIGKILL

    assert world.series(series_id).state is JobState.RUNNING
    assert {match.state for match in matches(world, series_id)} == {MatchState.SCHEDULED}
    assert lost_ids(world) == []  # the lease is not over yet
    world.clock.turn(world.settings.lease_seconds + 1)
    assert lost_ids(world) == []  # taken back, and due after a pause
    world.clock.turn(world.settings.retry_seconds + 1)
    assert lost_ids(world) == [series_id]
    play_series(world.context, series_id)
    assert world.series(series_id).attempt == 2
    assert_played_once(world, series_id)
    assert world.causes(series_id)[0] == "lease-expired" and world.causes(series_id)[1:] == ["played"] * 3


def test_a_worker_killed_after_its_results_were_stored_is_followed_by_nobody(world: PlayingWorld) -> None:
    series_id = world.queued(3)
    assert killed(world, series_id, "after the commit") == -signal.SIGKILL
    before = [match.transcript_sha256 for match in matches(world, series_id)]
    world.clock.turn(world.settings.lease_seconds + 1)
    assert lost_ids(world) == []
    play_series(world.context, series_id)  # its message was not acknowledged, so it comes again
    assert (world.series(series_id).state, world.series(series_id).attempt) == (JobState.DONE, 1)
    assert [match.transcript_sha256 for match in matches(world, series_id)] == before
    assert world.causes(series_id) == ["played"] * 3


def lost_ids(world: PlayingWorld) -> list[int]:
    return list(world.write(sweep)[SERIES])


def void(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch, *tries: int, **evidence: object) -> list[int]:
    """Let these tries at matches, counted from 1, be void; return the number of the seed that each try used."""
    arena_play: Callable[..., Played] = Arena.play
    seeds: list[int] = []

    def failing(*arguments: Any, attempt: int) -> Played:
        seeds.append(attempt)
        if len(seeds) in tries:
            raise TransportError("host-memory", "for the test", **evidence)
        return arena_play(*arguments, attempt=attempt)

    monkeypatch.setattr(Arena, "play", failing)
    return seeds


def test_a_worker_that_is_stopped_in_mid_series_hands_in_what_it_has_played(world: PlayingWorld, monkeypatch) -> None:
    series_id = world.queued(3)
    seeds = void(world, monkeypatch)

    def stop_in_the_second() -> None:
        if len(seeds) == 2:
            raise stopping.Stopping

    monkeypatch.setattr(stopping, "look", stop_in_the_second)
    play_series(world.context, series_id)
    assert [match.state for match in matches(world, series_id)] == ["done", "scheduled", "scheduled"]
    play_series(world.context, series_id)
    assert seeds == [1, 1, 2, 2]
    assert world.causes(series_id) == ["played", "worker-stopped", "played", "played"]
    assert_played_once(world, series_id)


def test_a_database_that_is_away_for_a_moment_does_not_end_the_series(world: PlayingWorld, monkeypatch) -> None:
    series_id = world.queued()
    unreachable = mock.Mock(side_effect=OperationalError("UPDATE", {}, Exception("server closed the connection")))
    monkeypatch.setattr(link, "renew_series", unreachable)
    monkeypatch.setattr(holding, "HEARTBEAT_SECONDS", 0)
    play_series(world.context, series_id)
    assert unreachable.called
    assert_played_once(world, series_id)


@pytest.mark.parametrize("kind", [OperationalError, InternalError])
def test_results_are_handed_in_when_the_database_comes_back(world: PlayingWorld, monkeypatch, kind) -> None:
    series_id, finish_series = world.queued(3), carrying_out.finish_series
    tries: list[Session] = []
    pauses: list[float] = []

    def away(session: Session, *arguments: Any) -> bool:
        tries.append(session)
        taken = finish_series(session, *arguments)
        if len(tries) <= 3:
            raise kind("UPDATE", {}, Exception("terminating connection"))
        return taken

    monkeypatch.setattr(link, "finish_series", away)
    monkeypatch.setattr(holding, "time", SimpleNamespace(monotonic=time.monotonic, sleep=pauses.append))
    play_series(world.context, series_id)
    assert (len(tries), pauses) == (4, [holding.RETRY_SECONDS] * 3)
    assert world.series(series_id).attempt == 1
    assert_played_once(world, series_id)


def test_an_answer_that_was_lost_after_the_commit_doubles_nothing(world: PlayingWorld, monkeypatch) -> None:
    series_id, answers = world.queued(3), []

    def heard_late(context: Context, act: Callable[[Session], bool]) -> bool:
        for _ in range(2):  # the first answer is lost, and it is sent again
            with context.database.transaction() as session:
                answers.append(act(session))
        return answers[-1]

    monkeypatch.setattr(link, "insist", heard_late)
    play_series(world.context, series_id)
    assert answers == [True, False]
    assert_played_once(world, series_id)
    assert world.causes(series_id) == ["played"] * 3


def test_for_a_full_store_nothing_is_played_and_one_line_is_logged(world: PlayingWorld, monkeypatch, caplog) -> None:
    series_id = world.queued(3)
    played: list[Arena] = []

    def full(*_: object) -> None:
        raise GenericError("Generic LocalFileSystem error: No space left on device\n\nDebug source:\nGeneric {")

    monkeypatch.setattr(obstore, "put", full)
    monkeypatch.setattr(Arena, "open", played.append)
    play_series(world.context, series_id)
    assert played == []
    assert (world.series(series_id).state, world.causes(series_id)) == (JobState.QUEUED, ["blobs-away"])
    (told,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "blobs-away" in told.message and told.message.endswith(": No space left on device"), "one line"
    assert told.exc_info is None


def test_an_engine_that_goes_away_in_the_middle_costs_no_match(world: PlayingWorld, monkeypatch) -> None:
    series_id, open_boxes = world.queued(3), Arena.play
    matches_played: list[Arena] = []

    def goes_away(self: Arena, *arguments: Any, **rest: Any) -> Played:
        if matches_played:
            raise SandboxError("engine", "no container could be started: connection refused")
        matches_played.append(self)
        return open_boxes(self, *arguments, **rest)

    monkeypatch.setattr(Arena, "play", goes_away)
    play_series(world.context, series_id)
    assert world.series(series_id).state is JobState.QUEUED and world.causes(series_id) == ["played", "engine"]
    monkeypatch.undo()
    play_series(world.context, series_id)
    assert world.series(series_id).state is JobState.QUEUED  # this machine must be checked first
    world.write(record_check, world.host, {}, (), 0)
    play_series(world.context, series_id)
    assert_played_once(world, series_id)


def test_any_other_failure_of_ours_gives_the_series_back(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    series_id = world.queued(3)
    monkeypatch.setattr(play, "fetch_program", lambda *_: 1 / 0)
    play_series(world.context, series_id)
    assert world.series(series_id).state is JobState.QUEUED and world.causes(series_id) == ["ZeroDivisionError"]
    monkeypatch.undo()
    play_series(world.context, series_id)
    assert_played_once(world, series_id)


def test_the_lease_is_renewed_while_playing_and_losing_it_stops_the_work(world: PlayingWorld, monkeypatch) -> None:
    series_id = world.queued(3)
    due = holding.Heartbeat(lambda: False)
    due()  # not due yet: nobody is asked
    due._due_at = 0
    with pytest.raises(holding.LeaseLost):
        due()
    renewed = []

    def renew(session: Session, job: SeriesJob) -> bool:
        renewed.append(job.attempt)
        return True

    monkeypatch.setattr(link, "renew_series", renew)
    monkeypatch.setattr(holding, "HEARTBEAT_SECONDS", 0)
    play_series(world.context, series_id)
    assert len(renewed) == 3 * 26 + 3  # before every exchange of every match, and before each transcript
    assert world.series(series_id).state is JobState.DONE


def test_late_answers_on_pages_agree_with_the_metrics_and_the_transcripts(world: PlayingWorld, monkeypatch) -> None:
    """A bot that is convicted of a time-out, and answers that the host's time made good, are the same everywhere."""
    monkeypatch.setattr(play, "run", doctored(play.run))
    metrics.faults.clear()
    metrics.prompts.clear()
    metrics.past_deadline.clear()
    metrics.deadline_used_ratio.clear()
    series_id = world.queued(4)
    season_id = world.series(series_id).season_id
    play_series(world.context, series_id)
    transcripts = [world.transcript(match.transcript_sha256) for match in matches(world, series_id)]
    shown = world.read(timeouts, season_id, Over.HOUR, ())
    found = {late.command or "": late for late in shown.commands if late.over is Over.HOUR}
    prompts = [prompt for transcript in transcripts for prompt in transcript.prompts()]
    assert {prompt.message.command for prompt in prompts} == found.keys()
    for command, late in found.items():
        asked = [prompt for prompt in prompts if prompt.message.command == command]
        late_ones = [prompt for prompt in asked if prompt.reply.fault is Fault.TIMEOUT]
        counted = (late.prompts, late.timeouts, late.given_back)
        assert counted == (len(asked), len(late_ones), sum(map(past_deadline, asked)))
        labels = {"game": GAME, "season": str(season_id), "command": command}
        told = [
            REGISTRY.get_sample_value("deadheat_prompts_total", labels),
            REGISTRY.get_sample_value("deadheat_faults_total", {**labels, "fault": "timeout"}) or 0,
            REGISTRY.get_sample_value("deadheat_replies_past_deadline_total", {"game": GAME, "command": command}),
        ]
        assert told == list(counted)
        within = {"game": GAME, "command": command, "le": "1.0"}
        assert REGISTRY.get_sample_value("deadheat_deadline_used_ratio_bucket", within) == sum(
            prompt.reply.own_ns <= prompt.limit_ns for prompt in asked
        )
        assert late.used is not None
    assert (sum(late.timeouts for late in found.values()), sum(late.given_back or 0 for late in found.values())) == (
        1,
        1,
    )


def too_late(match: Transcript) -> Transcript:
    """Return the match as if seat 0 had answered its last prompt 10 ms too late."""
    last = match.last_prompt(0)
    assert last is not None
    reply = last.reply._replace(line=None, elapsed_ns=last.limit_ns + 10_000_000, fault=Fault.TIMEOUT)
    lost = Result((2, 1), None, {0: Fault.TIMEOUT})
    return replace(with_reply(match, last.exchange, 0, taken(reply, last.limit_ns + 10_000_000)), result=lost)


def doctored(run: Callable[..., None]) -> Callable[..., None]:
    """Return the function with the transcript of one match from a busy host, and a time-out at the end of another."""

    def changed(
        context: Context, job: SeriesJob, cpus: Any, heartbeat: Any, hand_in: Callable[[play.Run], None]
    ) -> None:
        runs: list[play.Run] = []
        run(context, job, cpus, heartbeat, runs.append)
        changes = {0: on_a_busy_host, 1: too_late}
        for number, item in enumerate(runs):
            assert item.played is not None
            change = changes.get(number, lambda transcript: transcript)
            transcript = change(item.played.transcript)
            hand_in(replace(item, played=replace(item.played, transcript=transcript)))

    return changed


def test_a_void_match_is_played_again_with_other_dice_and_what_came_before_it_counts(
    world: PlayingWorld, monkeypatch
) -> None:
    series_id = world.queued(3)
    seeds = void(world, monkeypatch, 2)
    play_series(world.context, series_id)
    first, second, third = matches(world, series_id)
    assert (first.state, second.state, third.state) == ("done", "scheduled", "scheduled")
    assert world.series(series_id).state is JobState.QUEUED
    play_series(world.context, series_id)
    assert seeds == [1, 1, 2, 1]
    assert world.causes(series_id) == ["host-memory", "played", "played", "played"]
    assert matches(world, series_id)[0].transcript_sha256 == first.transcript_sha256
    assert_played_once(world, series_id)


def test_a_blob_store_that_is_full_or_away_costs_the_series_nothing(world: PlayingWorld, monkeypatch) -> None:
    series_id = world.queued(3)
    monkeypatch.setattr(type(world.context.blobs), "put", mock.Mock(side_effect=BlobsAway("no space left on device")))
    for _ in range(carrying_out.SERIES_ATTEMPTS + 2):
        play_series(world.context, series_id)
        assert world.series(series_id).state is JobState.QUEUED
    monkeypatch.undo()
    play_series(world.context, series_id)
    assert_played_once(world, series_id)
    assert world.causes(series_id)[0] == "blobs-away"


Told = list[tuple[int, int]]
"""Each match and its exchanges."""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """The states that spectators could have seen, in order."""
    found: Told = []
    really = league_live.show

    def show(session: Session, job: SeriesJob, match_id: int, replies: Replies) -> bool:
        taken = really(session, job, match_id, replies)
        assert taken
        found.append((match_id, len(replies)))
        return taken

    monkeypatch.setattr(league_live, "show", show)
    return found


def done(world: PlayingWorld) -> bool:
    with world.db.reading() as session:
        states = set(session.exec(select(Match.state)).all())
        assert session.exec(select(LiveMatch)).all() == [], "nothing stays behind"
    return states == {MatchState.DONE}


def test_short_matches_are_not_told_of(world: PlayingWorld, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "EVERY_SECONDS", 60.0)
    play_series(world.context, world.queued(2))
    assert told == []
    assert done(world)


def test_a_long_match_is_told_of_again_and_again_to_its_end(world: PlayingWorld, told: Told, monkeypatch) -> None:
    monkeypatch.setattr(live, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(live, "COST_SHARE", 0)
    play_series(world.context, world.queued(2))
    first = [length for match_id, length in told if match_id == told[0][0]]
    assert first == [*range(1, 27), 26], "each exchange, and the end"
    assert len({match_id for match_id, *_ in told}) == 2
    assert done(world)


def test_telling_takes_a_fiftieth_of_the_time_at_most(world: PlayingWorld, told: Told) -> None:
    now = itertools.count()
    job = world.claimed(world.queued())
    broadcast = Broadcast(world.context, job, lambda: float(next(now)))  # each reading of the clock takes a second
    broadcast.begin(job.matches[0].match_id)
    for _ in range(120):
        broadcast.hear({})
    lengths = [length for _, length in told]
    assert lengths == [1, 51, 101], "writing takes a second, so the next may begin fifty later"


def test_a_match_is_played_though_nobody_can_be_told(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def broken(session: Session, job: SeriesJob, match_id: int, *rest: Sequence[object]) -> bool:
        tried.append(match_id)
        raise OperationalError("INSERT", {}, Exception("the disk is full"))

    monkeypatch.setattr(live, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(league_live, "show", broken)
    play_series(world.context, world.queued())
    assert tried
    assert done(world)


def fresh(world: PlayingWorld) -> Context:
    """Make another worker's context."""
    context = Context(world.settings)
    context.__dict__["database"] = world.connect(WORKER)
    return context


def test_a_second_message_for_the_same_series_does_nothing(world: PlayingWorld) -> None:
    series_id = world.queued(3)
    play_series(world.context, series_id)
    before = [match.transcript_sha256 for match in matches(world, series_id)]
    play_series(world.context, series_id)
    assert [match.transcript_sha256 for match in matches(world, series_id)] == before
    assert world.series(series_id).attempt == 1


def test_a_worker_that_was_given_up_changes_nothing_when_it_comes_back(world: PlayingWorld, monkeypatch) -> None:
    series_id = world.queued(3)
    store = play.store

    def meanwhile_somebody_else(*arguments: Any) -> None:
        monkeypatch.undo()
        store(*arguments)
        world.clock.turn(world.settings.lease_seconds + 1)
        lost_ids(world)
        other = fresh(world)
        other.__dict__["slots"] = Slots(world.settings.data_dir / "another host's slots")
        play_series(other, series_id)
        other.database.close()

    monkeypatch.setattr(play, "store", meanwhile_somebody_else)
    play_series(world.context, series_id)
    assert world.series(series_id).attempt == 2
    assert_played_once(world, series_id)
    assert world.causes(series_id) == ["lease-expired", "played", "played", "played"]


def test_a_match_that_fails_twice_while_one_seat_is_to_answer_is_held(world: PlayingWorld, monkeypatch) -> None:
    series_id = world.queued()
    void(world, monkeypatch, 1, 2, seat=1)
    play_series(world.context, series_id)
    assert world.series(series_id).state is JobState.QUEUED
    play_series(world.context, series_id)
    (match,) = matches(world, series_id)
    assert (match.state, match.rated, match.transcript_sha256) == (MatchState.HELD, False, None)
    assert world.series(series_id).state is JobState.DONE and world.causes(series_id) == ["host-memory"] * 2
