"""Agents over HTTP: from the table to the transcript, and what is refused on the way."""

import asyncio
import json
import socket
from collections.abc import Generator
from datetime import datetime, timedelta
from functools import partial
from types import SimpleNamespace, coroutine
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from sqlmodel import Session, select
from starlette.requests import Request

from deadheat.api import deps, watching
from deadheat.api.edge import arrival
from deadheat.api.edge.connections import Connection, capped
from deadheat.api.edge.rates import Rates, Streams
from deadheat.api.routes import tables as routes
from deadheat.engine.core import MAX_LINE_BYTES
from deadheat.engine.transcript import decode
from deadheat.league.errors import BlobsAway
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.rulings import closing
from deadheat.league.service.tables import turns
from deadheat.league.states import TableState
from deadheat.league.tables import TableSeat
from tests.api.browser import Browser
from tests.api.served import served
from tests.api.site import Site
from tests.league import tabled

TWO = {"game": "yacht-auction", "name": "one", "model": "by hand", "seats": ["me", "open"]}


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "WAIT_SECONDS", 0.0)


def pair(site: Site) -> tuple[dict[str, str], dict[str, str], str]:
    """Begin a match of two agents; return both tokens and the table's address."""
    ada, bob = site.author("ada"), site.author("bob")
    made = site.client.post("/v1/tables", json=TWO, headers=ada)
    path = made.headers["location"]
    assert site.ok(201, made)["state"] == "open"
    (listed,) = site.ok(200, site.client.get("/v1/tables"))["items"]
    assert [player["name"] for player in listed["players"]] == ["one", ""]
    taken = site.client.post(f"{path}/seat", json={"name": "two"}, headers=bob)
    assert site.ok(200, taken)["state"] == "running"
    return ada, bob, path


def fetch(site: Site, token: dict[str, str], path: str, after: int = 0) -> Any:
    return site.ok(200, site.client.get(f"{path}/next", params={"after": after}, headers=token))


def post(site: Site, token: dict[str, str], path: str, turn: int, line: str) -> Any:
    return site.client.post(f"{path}/turns/{turn}", json={"line": line}, headers=token)


def test_two_agents_play_and_everybody_can_verify_it(site: Site) -> None:
    ada, bob, path = pair(site)
    number = path.rpartition("/")[2]
    turn = fetch(site, ada, path)
    assert turn["prompt"] == turn["lines"][-1] and turn["deadline_at"] is not None
    assert fetch(site, bob, path)["seat"] == 1
    site.ok(200, post(site, ada, path, 1, "BID A 5"))
    assert fetch(site, ada, path, 1)["prompt"] is None
    assert site.ok(200, site.client.get(path))["state"] == "running"
    left = site.ok(200, site.client.post(f"{path}/resign", headers=bob))
    assert (left["state"], left["ranks"]) == ("done", [1, 2])
    assert fetch(site, bob, path, 1)["fault"] == "exited"
    assert site.ok(200, site.client.get(f"/v1/exhibitions/{number}/verification"))["verified"]
    record = decode(site.client.get(f"/v1/exhibitions/{number}/transcript").content)
    assert record.about["players"] == ["one (agent of ada)", "two (agent of bob)"] and "0" in record.about["turns"]  # type: ignore[operator]
    page = Browser(site).get(f"/play/{number}").text
    assert "one (agent of ada), two (agent of bob)" in page and "Verify" in page and "against" not in page


def test_the_same_request_twice_is_answered_alike(site: Site) -> None:
    ada, bob, path = pair(site)
    first, again = (site.ok(200, post(site, ada, path, 1, "BID A 5")) for _ in range(2))
    assert first["recorded_at"][:19] == again["recorded_at"][:19]
    assert "made already" in site.problem(409, post(site, ada, path, 1, "BID A 6"))["detail"]
    site.problem(409, post(site, bob, path, 2, "BID A 6"))
    for _ in range(2):
        assert site.ok(200, site.client.post(f"{path}/seat", json={"name": "two"}, headers=bob))["id"]
        assert fetch(site, bob, path)["turn"] == 1
    for _ in range(2):
        site.ok(200, site.client.post(f"{path}/resign", headers=bob))


def nearly_late(site: Site, token: dict[str, str], path: str) -> str:
    """Fetch the question, let half a minute pass, and return the deadline, which is one second away."""
    deadline_at: str = fetch(site, token, path)["deadline_at"]
    for _ in range(15):
        site.world.clock.turn(2)
        site.world.write(tabled.watched)
    return deadline_at


@pytest.mark.parametrize("waits_for", [(deps, "look_up"), (turns, "at_table")], ids=["a thread", "the table's lock"])
def test_an_answer_counts_from_when_it_was_received_however_long_it_waited(
    site: Site, monkeypatch, waits_for: tuple[object, str]
) -> None:
    ada, _, path = pair(site)
    deadline_at = nearly_late(site, ada, path)
    module, name = waits_for
    wait = getattr(module, name)

    def waited(*given: object, **chosen: object) -> object:
        site.world.clock.turn(2.5)
        return wait(*given, **chosen)

    by_the_worlds_clock(site, monkeypatch)
    monkeypatch.setattr(module, name, waited)
    receipt = site.ok(200, post(site, ada, path, 1, "BID A 5"))
    assert receipt["received_at"] < deadline_at < receipt["recorded_at"]


def test_who_queues_meets_the_next_one_or_the_house(site: Site) -> None:
    wanted = {"game": "yacht-auction", "name": "one"}
    ada, bob = site.author("ada"), site.author("bob")
    first, again, both = (
        site.ok(200, site.client.post("/v1/tables/queue", json=wanted, headers=who)) for who in (ada, ada, bob)
    )
    assert first["id"] == again["id"] == both["id"] and (first["state"], both["state"]) == ("open", "running")
    owner = site.world.write(closing.house)
    bot_id = site.world.write(create_bot, owner, "yacht-auction", "greedy").id
    site.world.version(owner, bot_id)
    waits = site.ok(200, site.client.post("/v1/tables/queue", json=wanted, headers=site.author("eve")))
    site.world.clock.turn(31)
    watching.watch_once(site.app.state.services)
    table = site.ok(200, site.client.get(f"/v1/tables/{waits['id']}"))
    assert (table["state"], table["players"][1]["name"]) == ("queued", "greedy")
    site.problem(422, site.client.post("/v1/tables/queue", json=wanted | {"game": "chess"}, headers=ada))


def by_the_worlds_clock(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(monotonic=lambda: site.world.clock.now.timestamp())  # noqa: PLW0108 it moves
    monkeypatch.setattr(arrival, "time", clock)


@pytest.mark.parametrize(("limit", "loop"), [(2.5, 0), (0, 2.5)], ids=["Redis is slow", "the loop stood still"])
def test_neither_a_slow_limit_on_writes_nor_a_loop_that_stood_still_takes_an_answers_time(
    site: Site, monkeypatch: pytest.MonkeyPatch, limit: float, loop: float
) -> None:
    ada, _, path = pair(site)
    deadline_at = nearly_late(site, ada, path)
    count = Rates.write

    def waited(rates: Rates, request: Request) -> None:
        site.world.clock.turn(limit)
        count(rates, request)

    read = Connection.data_received

    def late(connection: Connection, data: bytes) -> None:
        site.world.clock.turn(loop * (b"BID" in data))
        read(connection, data)

    monkeypatch.setattr(Rates, "write", waited)
    monkeypatch.setattr(Connection, "data_received", late)
    with served(site.app, capped(site.world.settings)) as url:
        by_the_worlds_clock(site, monkeypatch)
        arrival._beats.clear()
        arrival._beats.append(site.world.clock.now.timestamp())
        answer = httpx.post(f"{url}{path}/turns/1", json={"line": "BID A 5"}, headers=ada)
    receipt = site.ok(200, answer)
    assert receipt["received_at"] < deadline_at < receipt["recorded_at"]


def test_the_pulse_finds_for_how_long_the_loop_may_not_have_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [100.0]

    @coroutine
    def sleep(_: float) -> Generator[None]:
        yield

    monkeypatch.setattr(arrival, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    monkeypatch.setattr(arrival, "asyncio", SimpleNamespace(sleep=sleep))
    pulse = arrival.beat()

    def beats(*after: float) -> None:
        for each in after:
            seconds[0] += each
            pulse.send(None)

    def ours(since: float) -> float:
        return round(arrival.Arrival().ours(timedelta(seconds=since)).total_seconds(), 3)

    assert ours(30) == 0, "without a pulse nothing is known"
    beats(0, 0.25, 0.25)
    assert (ours(30), ours(0.1)) == (0.25, 0.1)
    seconds[0] += 5
    assert ours(30) == 5.25, "it stands still until now"
    beats(0)
    assert ours(30) == 5, "it stood still since the beat before"
    beats(0.25, 0.25)
    assert (ours(30), ours(0.4)) == (5.25 - 0.35, 0.25), "a beat may be late by 0.1 s"
    beats(3, 0.25)
    assert (ours(30), ours(3.5)) == (7.55, 2.9)
    beats(*[0.37] * 100)
    assert ours(30) < 3, "nobody lives from beats that are all somewhat late"
    pulse.close()
    assert ours(30) == 0


def test_an_answer_that_waited_behind_another_request_on_its_connection_had_arrived(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = 0.5
    monkeypatch.setattr(routes, "WAIT_SECONDS", held)
    ada, _, path = pair(site)
    turn = fetch(site, ada, path)["turn"]
    waits = site.ok(200, site.client.post("/v1/tables/queue", json={"game": "liars-dice", "name": "z"}, headers=ada))
    body = b'{"line": "BID A 5"}'
    head = f"HTTP/1.1\r\nHost: x\r\nAuthorization: {ada['Authorization']}\r\n"
    post = f"POST {path}/turns/{turn} {head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    with served(site.app, capped(site.world.settings)) as url:
        at = urlsplit(url)
        with socket.create_connection((at.hostname, at.port or 80), timeout=30) as peer:
            peer.sendall(f"GET /v1/tables/{waits['id']}/next {head}\r\n{post}Connection: close\r\n\r\n".encode() + body)
            said = b"".join(iter(partial(peer.recv, 65536), b""))
    receipt = json.loads(said.rpartition(b"\r\n\r\n")[2])
    received_at, recorded_at = (datetime.fromisoformat(receipt[name]) for name in ("received_at", "recorded_at"))
    assert (recorded_at - received_at).total_seconds() > held / 2


def test_all_agents_that_resigned_are_named_in_every_language(site: Site) -> None:
    ada, bob, path = pair(site)
    for token in (ada, bob):
        site.ok(200, site.client.post(f"{path}/resign", headers=token))
    page = path.replace("/v1/tables", "/play")
    assert "one (agent of ada), two (agent of bob) resigned." in Browser(site).get(page).text
    said = site.client.get(page, headers={"Accept-Language": "ko"}).text
    assert "one (ada의 에이전트), two (bob의 에이전트) 기권." in said


def test_who_resigned_is_named_beside_who_won(site: Site) -> None:
    ada, bob, path = pair(site)
    site.ok(200, post(site, ada, path, 1, "BID A 5"))
    site.ok(200, site.client.post(f"{path}/resign", headers=bob))
    page = Browser(site).get(path.replace("/v1/tables", "/play")).text
    assert "two (agent of bob) resigned. one (agent of ada) won." in page


def test_who_never_fetched_its_question_is_not_said_to_have_resigned(site: Site) -> None:
    ada, _bob, path = pair(site)
    site.ok(200, post(site, ada, path, 1, "BID A 5"))
    for _ in range(40):
        site.world.clock.turn(2)
        site.world.write(tabled.watched)
    watching.watch_once(site.app.state.services)
    assert fetch(site, ada, path, 1)["state"] == "done"
    page = Browser(site).get(path.replace("/v1/tables", "/play")).text
    assert "two (agent of bob) did not fetch the question in time and lost. one (agent of ada) won." in page


def test_who_left_a_table_before_it_was_full_met_no_bot(site: Site) -> None:
    ada, bob = site.author("ada"), site.author("bob")
    wanted = {"game": "liars-dice", "seats": ["me", "open", "open"], "name": "one"}
    table_id = site.ok(201, site.client.post("/v1/tables", json=wanted, headers=ada))["id"]
    site.ok(200, site.client.post(f"/v1/tables/{table_id}/seat", json={"name": "two"}, headers=bob))
    site.ok(200, site.client.post(f"/v1/tables/{table_id}/resign", headers=bob))
    page = Browser(site).get(f"/play/{table_id + 1}").text
    assert "two (agent of bob)" in page and "/bots/0" not in page and "against" not in page


def test_what_the_rules_refuse_is_told_and_may_be_mended(site: Site) -> None:
    ada, _, path = pair(site)
    assert "not possible" in site.problem(422, post(site, ada, path, 1, "BID Z 5"))["detail"]
    site.ok(200, post(site, ada, path, 1, "BID A 5"))


@pytest.mark.parametrize(
    "line", ["x" * (MAX_LINE_BYTES + 1), "BID A 1\nBID A 2", "\0", "\x1b[2J", "\N{SNOWMAN}" * 9000]
)
def test_hostile_lines_are_refused_and_change_nothing(site: Site, line: str) -> None:
    ada, _, path = pair(site)
    site.problem(422, post(site, ada, path, 1, line))
    site.ok(200, post(site, ada, path, 1, "BID A 5"))


@pytest.mark.parametrize(
    "change",
    [
        *({"seats": seats} for seats in (["me"], ["me"] * 17, ["you", "open"], ["me", 99], ["open", "open"])),
        *({"game": "chess"}, {"name": "a\nb"}, {"name": ""}, {"model": "x" * 65}),
    ],
)
def test_a_table_that_cannot_be_is_refused(site: Site, change: dict[str, object]) -> None:
    answer = site.client.post("/v1/tables", json=TWO | change, headers=site.author("ada"))
    assert answer.status_code in (404, 422), answer.text


def test_strangers_neither_read_nor_answer(site: Site) -> None:
    _, _, path = pair(site)
    eve = site.author("eve")
    site.problem(404, site.client.get(f"{path}/next", headers=eve))
    site.problem(404, post(site, eve, path, 1, "BID A 5"))
    site.problem(404, site.client.post(f"{path}/resign", headers=eve))
    site.problem(409, site.client.post(f"{path}/seat", json={"name": "three"}, headers=eve))
    site.problem(401, site.client.get(f"{path}/next"))


def test_who_waits_holds_no_thread_and_is_told_as_soon_as_there_is_news(site: Site, monkeypatch) -> None:
    ada, bob, path = pair(site)
    site.ok(200, post(site, ada, path, 1, "BID A 5"))
    monkeypatch.setattr(routes, "WAIT_SECONDS", 60.0)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.to_thread(post, site, bob, path, 1, "BID A 6")

    monkeypatch.setattr(routes, "asyncio", SimpleNamespace(sleep=sleep))
    assert fetch(site, ada, path, 1)["turn"] == 2 and len(slept) == 1
    site.app.state.tables.agents = Streams(0, 5)
    assert fetch(site, ada, path, 1)["turn"] == 2, "who is asked needs no room to wait"
    site.ok(200, post(site, ada, path, 2, "BID B 5"))
    assert site.client.get(f"{path}/next", headers=ada).status_code == 429


def test_a_question_is_not_delivered_to_who_has_gone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, _, path = pair(site)

    async def has_gone(_: Request) -> bool:
        return True

    with monkeypatch.context() as gone:
        gone.setattr(Request, "is_disconnected", has_gone)
        site.client.get(f"{path}/next", headers=ada)
    assert {seat.delivered_at for seat in site.world.rows(select(TableSeat))} == {None}
    fetch(site, ada, path)
    assert len({seat.delivered_at for seat in site.world.rows(select(TableSeat))}) == 2


def test_the_lobby_says_which_tables_wait_and_for_how_many(site: Site) -> None:
    made = site.client.post("/v1/tables", json=TWO, headers=site.author("ada"))
    assert "1 of 2 seats open since" in site.client.get("/play").text
    site.ok(200, site.client.post(f"{made.headers['location']}/seat", json={"name": "two"}, headers=site.author("bob")))
    assert "seats open" not in site.client.get("/play").text


def test_only_ones_own_result_is_listed_among_ones_matches(site: Site) -> None:
    ada, bob, path = pair(site)
    post(site, bob, path, 1, "BID A 5")
    site.ok(200, site.client.post(f"{path}/resign", headers=ada))
    assert site.ok(200, site.client.get(path))["ranks"] == [2, 1]
    for name in ("ada", "bob"):
        page = Browser(site).sign_in(name).get("/play").text
        assert path.removeprefix("/v1/tables") not in page and "Your matches" not in page


def test_a_store_that_is_away_loses_no_result(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    _, bob, path = pair(site)
    ada_answers = site.client.post(f"{path}/turns/1", json={"line": "BID A 5"}, headers=site.sign_in("ada"))
    site.ok(200, ada_answers)
    with monkeypatch.context() as away:
        away.setattr(site.blobs, "put", lambda _: (_ for _ in ()).throw(BlobsAway("no room")))
        assert site.ok(200, site.client.post(f"{path}/resign", headers=bob))["state"] == "running"
        watching.watch_once(site.app.state.services)
    watching.watch_once(site.app.state.services)
    assert site.ok(200, site.client.get(path))["state"] == TableState.DONE


def test_a_table_that_fails_stops_no_other_tables_clock(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []
    for names in (("ada", "bob"), ("eve", "joe")):
        body = site.ok(201, site.client.post("/v1/tables", json=TWO, headers=site.author(names[0])))
        path = f"/v1/tables/{body['id']}"
        site.ok(200, site.client.post(f"{path}/seat", json={"name": "two"}, headers=site.author(names[1])))
        paths.append(path)
    site.world.clock.turn(100)
    watching.watch_once(site.app.state.services)
    really = turns.attend

    def attend(session: Session, table_id: int) -> bool:
        if paths[0].endswith(f"/{table_id}"):
            raise ValueError("no such rule")
        return really(session, table_id)

    monkeypatch.setattr(watching, "attend", attend)
    for _ in range(60):
        site.world.clock.turn(2)
        watching.report_once(site.app.state.services)
        watching.watch_once(site.app.state.services)
    assert [site.ok(200, site.client.get(path))["state"] for path in paths] == ["running", "done"]


def test_an_agent_asks_for_a_bot_and_a_worker_is_told(site: Site) -> None:
    _, bot_id = site.world.playing_bot("greedy")
    body = TWO | {"seats": ["me", bot_id]}
    made = site.ok(201, site.client.post("/v1/tables", json=body, headers=site.author("ada")))
    assert made["state"] == "queued" and site.queue.exhibitions == [made["id"]]
    assert [player["kind"] for player in made["players"]] == ["agent", "program"]
