"""Machines that play over HTTP: an honest one plays as any other, and a hostile one gains nothing at any route."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import zstandard
from sqlmodel import select
from urllib3.exceptions import ProtocolError

from deadheat import __version__
from deadheat.api.app import create_app
from deadheat.cli.server.api_client import Client
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, decode, encode
from deadheat.league.causes import Cause
from deadheat.league.errors import BadToken, NameTaken, NotFound
from deadheat.league.jobs import Failure, Host, SeriesJob
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.machines.access import add_machine, games_digest, look_up_machine, machines, revoke_machine
from deadheat.league.service.people.access import look_up
from deadheat.league.service.rulings.closing import house
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.series.hosts import host_arrives, record_check
from deadheat.league.states import JobState, MatchState, Purpose, TokenKind, Trust
from deadheat.league.tables import Attempt, Bot, BotVersion, Match, Participant, Series
from deadheat.workers.context import Linked
from deadheat.workers.holding import LeagueAway
from deadheat.workers.machine import client
from deadheat.workers.machine.client import DISMISSED, Dismissed, OverHttp
from deadheat.workers.play import play_series
from tests.api.served import served
from tests.api.site import PASSWORD, NotedQueue, bearer
from tests.league.clock import START
from tests.league.ground import settings
from tests.workers.conftest import PlayingWorld, unhurried

__all__ = ["unhurried"]

OUT_SECONDS = 20.0
"""How long a series is out by the league's clock, which stands still: less than a lease, more than its replies took."""


class Link(OverHttp):
    """A machine's link; the league's clock goes on while a series is played."""

    def __init__(self, league: "League", token: str, boot: str) -> None:
        super().__init__(league.url, token, boot)
        self._league = league
        self.spoil: Callable[[dict[str, Any]], object] = lambda _: None

    def finish(self, job: SeriesJob, outcomes: Any, failure: Failure | None) -> bool:
        self._league.world.clock.turn(OUT_SECONDS)
        return super().finish(job, outcomes, failure)

    def _results(self, job: SeriesJob, outcomes: Any, failure: Failure | None) -> dict[str, Any]:
        results = super()._results(job, outcomes, failure)
        self.spoil(results)
        return results


class League:
    """A league that is served, and machines with a token each."""

    def __init__(self, world: PlayingWorld, folder: Path, url: str) -> None:
        self.world, self.folder, self.url = world, folder, url
        self.client = httpx.Client(base_url=url)

    def machine(self, name: str = "far", trust: Trust = Trust.FULL, owner: str = "") -> Linked:
        """Return the context of a machine that was found fit."""
        token = self.world.write(add_machine, name, trust, owner)
        link = Link(self, token, f"boot of {name}")
        context = Linked(settings(self.folder / name, sandbox="local", lock_dir=self.folder / "slots"), link)
        assert link.begin("image")
        link.record_check({"slots": 2, "findings": []}, (), 0.0, 0)
        return context

    def ask(self, machine: Linked, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {name: value for name, value in link(machine)._headers.items() if name != "Accept"}
        return self.client.request(method, f"/v1/machine/{path}", headers=headers, **more)

    def claimed(self, machine: Linked) -> SeriesJob:
        job = link(machine).claim(0)
        assert job is not None
        return job

    def results(self, machine: Linked, job: SeriesJob, results: Mapping[str, Any] | bytes) -> httpx.Response:
        path = f"series/{job.series_id}/results?attempt={job.attempt}"
        content = results if isinstance(results, bytes) else json.dumps(results).encode()
        return self.ask(machine, "POST", path, content=content)

    def states(self, series_id: int) -> set[MatchState]:
        return {match.state for match in self.world.rows(select(Match).where(Match.series_id == series_id))}


def link(machine: Linked) -> Link:
    assert isinstance(machine.link, Link)
    return machine.link


@pytest.fixture
def league(tmp_path: Path, unhurried: None) -> Iterator[League]:
    world = PlayingWorld(settings(tmp_path / "league", sandbox="local", reads_per_minute=10**6))
    app = create_app(world.settings, queue=NotedQueue(), db=world.db, blobs=world.context.blobs)
    with served(app) as url:
        made = League(world, tmp_path, url)
        yield made
        made.client.close()
    world.close()


NOTHING: dict[str, Any] = {"played": [], "void": None, "failure": None}


def test_a_machine_with_nothing_but_a_token_plays_what_counts_once(league: League) -> None:
    world, far = league.world, league.machine()
    series_id = world.queued(3)
    assert play_series(far, 0) == series_id
    assert world.causes(series_id) == ["played"] * 3
    for match in world.rows(select(Match)):
        transcript = world.transcript(match.transcript_sha256)
        seats = world.rows(select(Participant).where(Participant.match_id == match.id).order_by("seat"))
        assert transcript.about["players"] == [seat.player for seat in seats]
        assert transcript.result.ranks == tuple(seat.rank for seat in seats)
    assert {row.worker for row in world.rows(select(Attempt))} == {"far:0"}
    assert play_series(far, 0) == 0, "nothing waits"
    (row,) = world.read(machines)
    assert (row.name, row.release, row.last_seen_at) == ("far", __version__, START)


def test_a_machine_is_told_no_names_and_nothing_but_what_it_plays(league: League) -> None:
    far = league.machine()
    league.world.queued(2)
    answer = league.ask(far, "POST", "claim", json={"number": 1}).json()
    assert set(answer["work"]) == {"series_id", "attempt", "game", "variant", "programs", "matches"}
    assert {*answer["work"]["programs"][0]} == {"version_id", "sha256", "language", "entry"}
    assert {*answer["work"]["matches"][0]} == {"match_id", "seed", "attempt", "seats"}
    assert "author" not in json.dumps(answer) and "bot" not in json.dumps(answer)


def test_a_program_is_read_by_the_machine_that_holds_its_series_and_only_meanwhile(league: League) -> None:
    far, other = league.machine(), league.machine("other")
    world, sha256 = league.world, league.world.program
    series_id = world.queued()
    path = f"series/{series_id}/programs/{sha256}?attempt=1"
    assert league.ask(far, "GET", path).status_code == 404
    job = league.claimed(far)
    assert link(far).program(job, job.programs[min(job.programs)]) == world.context.blobs.get(sha256, 2**26)
    assert league.ask(other, "GET", path).status_code == 404
    assert league.ask(far, "GET", path.replace("attempt=1", "attempt=2")).status_code == 404
    assert league.ask(far, "GET", path.replace(sha256, world.context.blobs.put(b"another"))).status_code == 404
    for odd in ("../../../etc/passwd", "%2e%2e%2f", sha256.upper(), f"{sha256}/"):
        assert league.ask(far, "GET", f"series/{series_id}/programs/{odd}?attempt=1").status_code in {404, 422}
    assert link(far).finish(job, (), Failure(Cause.WORKER_STOPPED))
    assert league.ask(far, "GET", path).status_code == 404


def test_the_series_of_another_machine_is_nobody_elses(league: League) -> None:
    far, other = league.machine(), league.machine("other")
    league.world.queued()
    job = league.claimed(far)
    assert link(far).renew(job) and not link(other).renew(job)
    assert not link(far).renew(replace(job, attempt=2)) and not link(far).renew(replace(job, series_id=99))
    lost = {**NOTHING, "failure": {"cause": "engine", "detail": "mine now"}}
    assert league.results(other, job, lost).json() == {"yes": False}
    assert link(far).renew(job)


def test_what_no_referee_wrote_is_refused_and_its_machine_is_out(league: League) -> None:
    world, far = league.world, league.machine()
    series_id = world.queued(3)

    def win(results: dict[str, Any]) -> None:
        transcript = decode(unpacked(results["played"][1]))
        ranks = tuple(reversed(transcript.result.ranks))
        forged = encode(replace(transcript, result=replace(transcript.result, ranks=ranks)))
        results["played"][1]["transcript"] = packed(forged)

    link(far).spoil = win
    play_series(far, 0)
    assert league.states(series_id) == {MatchState.SCHEDULED}
    assert world.series(series_id).state is JobState.QUEUED and world.causes(series_id) == ["machine-lied"]
    with pytest.raises(Dismissed, match=str(DISMISSED)):
        link(far).claim(0)
    assert link(league.machine("honest")).wait(), "another machine may play it"
    play_series(world.context, series_id)
    assert league.states(series_id) == {MatchState.DONE}


def packed(transcript: bytes) -> str:
    return base64.b64encode(zstandard.compress(transcript)).decode()


def unpacked(match: Mapping[str, Any]) -> bytes:
    return zstandard.decompress(base64.b64decode(match["transcript"]), MAX_TRANSCRIPT_BYTES)


def relabelled(results: dict[str, Any]) -> None:
    transcript = decode(unpacked(results["played"][0]))
    results["played"][0]["transcript"] = packed(encode(replace(transcript, about={**transcript.about, "match": 99})))


SPOILED: Mapping[str, Callable[[dict[str, Any]], object]] = {
    "another order": lambda results: results["played"].reverse(),
    "twice": lambda results: results["played"].append(results["played"][-1]),
    "without the first": lambda results: results["played"].pop(0),
    "another match's": lambda results: results["played"][0].update(transcript=results["played"][1]["transcript"]),
    "another label": relabelled,
    "truncated": lambda results: results["played"][0].update(transcript=packed(unpacked(results["played"][0])[:-9])),
    "no match of the series": lambda results: results["played"][0].update(match_id=99),
    "a void match that was not next": lambda results: results.update(
        void={"match_id": results["played"][0]["match_id"], "cause": "engine", "detail": ""}
    ),
}


@pytest.mark.parametrize("how", SPOILED)
def test_nothing_counts_of_a_series_of_which_anything_is_false(league: League, how: str) -> None:
    far, series_id = league.machine(), league.world.queued(3)
    link(far).spoil = SPOILED[how]
    play_series(far, 0)
    assert league.states(series_id) == {MatchState.SCHEDULED}
    assert league.world.causes(series_id) == ["machine-lied"]


BOMB = base64.b64encode(zstandard.compress(bytes(MAX_TRANSCRIPT_BYTES + 1))).decode()
ONE = {"match_id": 1, "started_at_ns": 0, "finished_at_ns": 0, "ends": []}
MALFORMED: Mapping[str, tuple[int, bytes | Mapping[str, Any]]] = {
    "no JSON": (400, b"{"),
    "nothing": (400, b""),
    "another field": (422, {**NOTHING, "more": 1}),
    "no base64": (422, {**NOTHING, "played": [{**ONE, "transcript": "?"}]}),
    "not compressed": (422, {**NOTHING, "played": [{**ONE, "transcript": "YWJj"}]}),
    "a bomb": (422, {**NOTHING, "played": [{**ONE, "transcript": BOMB}]}),
    "too many bytes": (413, b" " * (64 * 2**20 + 1)),
}


@pytest.mark.parametrize("how", MALFORMED)
def test_a_body_that_cannot_be_read_changes_nothing(league: League, how: str) -> None:
    far, series_id = league.machine(), league.world.queued()
    job, (status, body) = league.claimed(far), MALFORMED[how]
    assert league.results(far, job, body).status_code == status
    assert link(far).renew(job) and league.states(series_id) == {MatchState.SCHEDULED}


def test_results_whose_answer_is_lost_are_sent_again_and_count_once(league: League, monkeypatch) -> None:
    far, series_id = league.machine(), league.world.queued(3)
    send, sent = link(far)._pool.urlopen, list[str]()

    def cut(method: str, url: str, **more: Any) -> Any:
        if "results" not in url or len(sent) == 4:
            return send(method, url, **more)
        sent.append(url)
        if len(sent) > 2:
            send(method, url, **more).close()  # it arrives, its answer does not
        raise ProtocolError("the network is cut")

    monkeypatch.setattr(link(far)._pool, "urlopen", cut)
    monkeypatch.setattr(client, "PAUSES_SECONDS", (0.0,))
    assert play_series(far, 0) == series_id and len(sent) == 4
    assert league.world.causes(series_id) == ["played"] * 3
    assert league.states(series_id) == {MatchState.DONE}


def test_results_of_an_attempt_that_was_given_up_come_too_late(league: League) -> None:
    world, far = league.world, league.machine()
    series_id, kept = world.queued(2), list[dict[str, Any]]()
    link(far).spoil = kept.append

    def late(results: dict[str, Any]) -> None:
        kept.append(results)
        world.clock.turn(world.settings.lease_seconds + 1)
        world.write(sweep)
        play_series(world.context, series_id)

    link(far).spoil = late
    play_series(far, 0)
    assert world.causes(series_id) == ["lease-expired", "played", "played"]
    job = SeriesJob(series_id, 2, "", {}, ())
    assert league.results(far, job, kept[0]).json() == {"yes": False}, "it was another machine's attempt"


def test_a_worker_that_begins_anew_gives_back_what_its_machine_held(league: League) -> None:
    far, series_id = league.machine(), league.world.queued()
    league.claimed(far)
    assert link(far).begin("image")
    assert league.world.series(series_id).state is JobState.QUEUED
    assert league.world.causes(series_id) == ["worker-stopped"]
    league.claimed(far)
    assert link(far).arrive("image"), "its keeper says again that it is there"
    assert league.world.series(series_id).state is JobState.RUNNING


def test_two_boots_do_not_share_a_token(league: League) -> None:
    far = league.machine()
    second = Link(league, link(far)._headers["Authorization"].removeprefix("Bearer "), "another boot")
    assert not second.begin("image")
    league.world.queued()
    assert second.claim(0) is None and not second.wait(), "the other boot judges"
    assert link(far).wait() and link(far).claim(0) is not None


def test_a_series_at_which_we_failed_is_claimed_after_its_pause(league: League) -> None:
    far, world = league.machine(), league.world
    world.queued()
    assert link(far).finish(league.claimed(far), (), Failure(Cause.CONTAINER_DIED, "it fell over"))
    assert link(far).claim(0) is None
    world.write(record_check, world.host, {}, ["Nobody else judges."], 60.0)
    assert link(far).claim(0) is None
    world.clock.turn(world.settings.retry_seconds + 1)
    assert link(far).wait() and league.claimed(far).attempt == 2


def test_an_unfit_machine_gets_nothing_until_its_check_is_good(league: League) -> None:
    far = league.machine()
    league.world.queued()
    link(far).record_check({"slots": 2, "findings": []}, ["Too much noise."], 60.0, 0)
    assert link(far).claim(0) is None
    assert link(far).due_check() is None
    league.world.clock.turn(61)
    assert link(far).due_check() == "unfit" and link(far).seen(0.0, 0.0, 0.0, None)
    link(far).record_check({"slots": 2, "findings": []}, [], 0.0, 0)
    assert link(far).claim(0) is not None


def test_a_canary_match_is_ordered_and_a_wrong_verdict_makes_the_machine_unfit(league: League) -> None:
    far = league.machine()
    league.world.clock.turn(301)
    assert link(far).seen(0.0, 0.0, 0.0, None)
    league.world.queued()
    assert link(far).claim(0) is None and link(far).take_canary() == 0 and link(far).take_canary() is None
    link(far).record_canary(0, [{"told": "an innocent bot was convicted"}], 0)
    assert link(far).claim(0) is None
    link(far).record_check({"slots": 2, "findings": []}, [], 0.0, 0)
    assert link(far).claim(0) is not None


def test_a_revoked_machine_is_out_at_once_and_its_series_is_others(league: League) -> None:
    far, series_id = league.machine(), league.world.queued()
    job = league.claimed(far)
    assert league.world.write(revoke_machine, "far") == 1
    assert league.world.series(series_id).state is JobState.QUEUED
    for act in (partial(link(far).renew, job), link(far).wait, partial(link(far).begin, "image")):
        with pytest.raises(Dismissed) as ended:
            act()
        assert (ended.value.code, ended.value.why.endswith("this machine was revoked.")) == (DISMISSED, True)
    assert league.results(far, job, NOTHING).status_code == 401
    league.world.refused(NotFound, revoke_machine, "far")
    assert link(league.machine("far")).claim(0) is not None, "the operator may let it play again, with another token"


def test_a_machine_of_another_release_or_with_other_games_is_told_what_to_do(league: League) -> None:
    far = league.machine()
    link(far)._headers["Deadheat-Release"] = "0.0.1"
    with pytest.raises(Dismissed) as ended:
        link(far).claim(0)
    assert "release 0.0.1" in ended.value.why and f"runs {__version__}" in ended.value.why
    link(far)._headers |= {"Deadheat-Release": __version__, "Deadheat-Games": games_digest()[::-1]}
    with pytest.raises(Dismissed) as ended:
        link(far).claim(0)
    assert "other games" in ended.value.why


def test_a_machines_token_opens_nothing_else_and_nothing_else_is_one(league: League) -> None:
    far = league.machine()
    token = link(far)._headers["Authorization"].removeprefix("Bearer ")
    for path in ("/v1/users/me", "/v1/workers", "/v1/tokens", "/v1/inbox", "/v1/held-matches"):
        assert league.client.get(path, headers=bearer(token)).status_code == 401
    for kind in TokenKind:
        league.world.refused(BadToken, look_up, token, kind)
    league.client.post("/v1/users", json={"name": "ada", "password": PASSWORD})
    persons = league.client.post("/v1/tokens", json={"name": "ada", "password": PASSWORD, "label": "x"}).json()["token"]
    for secret in (persons, "dhm_", f"{token}x", persons.replace("dh_", "dhm_")):
        league.world.refused(BadToken, look_up_machine, secret, "boot")
    league.world.refused(NameTaken, add_machine, "far", Trust.LOW)
    league.world.write(host_arrives, Host("own", "boot"), "image")
    league.world.refused(NameTaken, add_machine, "own", Trust.LOW)


def test_a_league_that_does_not_answer_is_away(tmp_path: Path) -> None:
    nobody = OverHttp("http://127.0.0.1:1", "dhm_x", "boot")
    with pytest.raises(LeagueAway):
        nobody.claim(0)


class TestLent:
    """A machine of low trust."""

    def allowed(self, league: League, owner: str = "") -> Linked:
        """Return a lent machine, in a league in which every version may be lent."""
        with league.world.db.transaction() as session:
            for version in session.exec(select(BotVersion)).all():
                version.lendable = True
        return league.machine("lent", Trust.LOW, owner)

    def test_it_plays_what_authors_allow(self, league: League) -> None:
        league.world.queued()
        lent = self.allowed(league)
        assert link(lent).wait() and link(lent).claim(0) is not None

    def test_authors_choose_by_version(self, league: League) -> None:
        league.client.post("/v1/users", json={"name": "ada", "password": PASSWORD})
        sent = league.client.post("/v1/tokens", json={"name": "ada", "password": PASSWORD, "label": "x"})
        with Client(league.url, sent.json()["token"]) as ada:
            bot = ada.own_bot("yacht-auction", "mine")
            assert not ada.upload(bot.id, "bot.py", b"print(1)").lendable
            assert ada.lend_version(bot.id, 1).lendable and ada.version(bot.id, 1).lendable
            assert not ada.lend_version(bot.id, 1, lendable=False).lendable

    def test_it_plays_no_program_that_its_author_does_not_lend(self, league: League) -> None:
        league.world.queued()
        lent = self.allowed(league)
        league.world.change(BotVersion, 2, lendable=False)
        assert link(lent).claim(0) is None
        owner = league.world.write(house)
        league.world.change(Bot, 2, owner_id=owner.id)
        assert link(lent).claim(0) is not None, "the house's bots may be lent"

    @pytest.mark.parametrize("purpose", [purpose for purpose in Purpose if purpose is not Purpose.LADDER])
    def test_it_plays_nothing_that_decides(self, league: League, purpose: Purpose) -> None:
        series_id = league.world.queued()
        lent = self.allowed(league)
        with league.world.db.transaction() as session, session.no_autoflush:
            if purpose is not Purpose.FINALS:
                session.connection().exec_driver_sql("PRAGMA ignore_check_constraints = ON")
            session.get_one(Series, series_id).purpose = purpose
            session.flush()
        assert link(lent).claim(0) is None
        assert link(league.machine()).claim(0) is not None

    def test_it_plays_in_no_season_of_its_owner(self, league: League) -> None:
        world = league.world
        world.queued()
        owner = world.author("lender")
        lent = self.allowed(league, owner.name)
        season_id = world.series(1).season_id
        _, bot_id = world.bot(owner=owner)
        world.write(enter, owner, season_id, bot_id)
        assert link(lent).claim(0) is None
        assert link(league.machine()).claim(0) is not None

    def test_its_failures_count_against_no_series_and_keep_it_away(self, league: League) -> None:
        world = league.world
        series_id = world.queued()
        lent = self.allowed(league)
        for cause in (Cause.WORKER_STOPPED, Cause.CONTAINER_DIED, Cause.LEASE_EXPIRED, Cause.SEASON_CLOSED):
            world.clock.turn(601)
            assert link(lent).seen(0.0, 0.0, 0.0, None)
            link(lent).record_check({"slots": 2, "findings": []}, [], 0.0, 0)
            assert link(lent).finish(league.claimed(lent), (), Failure(cause, "so it says"))
            assert world.series(series_id).avoid_host == "lent"
        assert set(world.causes(series_id)) == {"host-unfit"}
        assert world.series(series_id).state is JobState.QUEUED
