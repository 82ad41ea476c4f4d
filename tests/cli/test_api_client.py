"""What the client does when the line, the server or whoever answers in its place is not as it should be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from deadheat.cli.server import api_client
from deadheat.cli.server.api_client import Client, Refused

ME = {"id": 1, "name": "ada", "role": "author"}
Answer = Callable[[httpx.Request], httpx.Response]


class Line:
    """Answers in turn; an exception is raised instead. The last answer is given for ever."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self) -> Client:
        return Client("http://league", "dh_token", httpx.MockTransport(self))


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr(api_client, "time", SimpleNamespace(sleep=waited.append))
    return waited


def refused(line: Line, ask: Callable[[Client], Any]) -> Refused:
    with line.client() as client, pytest.raises(Refused) as caught:
        ask(client)
    return caught.value


@pytest.mark.parametrize(
    "error", [httpx.ConnectError("no"), httpx.ReadError("reset"), httpx.RemoteProtocolError("cut")]
)
def test_a_request_that_changes_nothing_is_made_again(error: Exception, waits: list[float]) -> None:
    line = Line(error, error, httpx.Response(503), httpx.Response(200, json=ME))
    with line.client() as client:
        assert client.me().name == "ada"
    assert waits == list(api_client.RETRY_WAITS_S)


def test_patience_ends(waits: list[float]) -> None:
    line = Line(httpx.ConnectError("refused"))
    error = refused(line, lambda client: client.me())
    assert (error.code, error.passing, str(error)) == ("no-answer", True, "http://league does not answer: refused")
    assert len(line.asked) == 1 + len(waits) == 4


@pytest.mark.parametrize("error", [httpx.ReadError("reset"), httpx.ReadTimeout("slow"), httpx.Response(503)])
def test_what_may_have_been_heard_is_not_said_twice(error: Any) -> None:
    line = Line(error)
    assert refused(line, lambda client: client.create_team("lovelace")).passing
    assert len(line.asked) == 1


def test_a_post_that_was_not_heard_is_said_again() -> None:
    line = Line(
        httpx.ConnectError("no"),
        httpx.Response(201, json={"id": 3, "token": "dh_x", "scope": "full", "expires_at": "2027-01-01T00:00:00Z"}),
    )
    with line.client() as client:
        assert client.issue_token("ada", "password").id == 3


def test_an_upload_that_was_not_heard_starts_again_from_its_beginning() -> None:
    got: list[bytes] = []
    version = {"id": 1, "bot_id": 1, "number": 1, "state": "uploaded", "filename": "bot.py", "size_bytes": 5}
    version |= {"sha256": "a", "language": "python", "reason": "", "attempt": 0, "built_at": None}
    version |= {"entry": "main.py", "created_at": "2027-01-01T00:00:00Z"}

    def answer(request: httpx.Request) -> httpx.Response:
        got.append(request.read())
        if len(got) == 1:
            raise httpx.ConnectError("no")
        return httpx.Response(202, json=version)

    with Client("http://league", "t", httpx.MockTransport(answer)) as client:
        client.upload(1, "bot.py", b"12345")
    assert b"12345" in got[0]
    assert b"12345" in got[1]


def test_the_servers_sentence_is_told_with_its_code() -> None:
    problem = {"code": "over-quota", "detail": "Sixty uploads an hour are enough."}
    error = refused(Line(httpx.Response(429, json=problem, headers={"Retry-After": "90"})), lambda client: client.me())
    assert (error.code, str(error), error.retry_after_seconds) == ("over-quota", problem["detail"], 90)
    assert error.passing
    error = refused(
        Line(httpx.Response(403, json={"code": "not-allowed", "detail": "No."})), lambda client: client.me()
    )
    assert not error.passing


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (httpx.Response(200, text="<html>hello"), "not an answer of a Deadheat server"),
        (httpx.Response(200, json=[1]), "not an answer of a Deadheat server"),
        (httpx.Response(200, json=ME | {"id": "many"}), "id: "),
        (httpx.Response(200, content=b"[" * 100_000), "not an answer of a Deadheat server"),
        (httpx.Response(404, text="not here"), "is this a Deadheat server?"),
        (httpx.Response(404, json=["no"]), "is this a Deadheat server?"),
        (httpx.Response(500, content=b"\xff" * 1_000_000), "HTTP 500"),
        (httpx.Response(301, headers={"Location": "https://league/"}), "redirects to https://league/"),
        (httpx.Response(200, json=ME, headers={"Deadheat-API": "2.0"}), "version 2.0 of the API"),
    ],
)
def test_somebody_else_who_answers_is_not_believed(answer: httpx.Response, sentence: str) -> None:
    assert sentence in str(refused(Line(answer), lambda client: client.me()))


def test_a_newer_server_of_the_same_api_is_understood() -> None:
    line = Line(httpx.Response(200, json=ME | {"colour": "red"}, headers={"Deadheat-API": "1.7"}))
    with line.client() as client:
        assert client.me().said["colour"] == "red"


def test_words_of_a_newer_server_stay_text_and_what_an_older_one_leaves_out_is_null() -> None:
    bot = {"id": 1, "game": "go", "name": "g", "author": "ada", "plays_people": True, "versions": 0}
    bot |= {"description": "", "created_at": "2027-01-01T00:00:00Z"}
    line = Line(httpx.Response(200, json=ME | {"role": "oracle"}), httpx.Response(200, json={"items": [bot]}))
    with line.client() as client:
        assert client.me().role == "oracle"
        (found,) = client.bots()
    assert (found.name, found.team, found.said) == ("g", None, bot)


def test_a_season_is_read_whatever_states_and_bounds_its_server_has() -> None:
    nothing = dict.fromkeys(("previous_id", "qualified_at", "finals_done_at", "published_at", "log_sha256"))
    season = nothing | {"id": 1, "game": "go", "name": "s", "rounded": "", "created_at": "2027-01-01T00:00:00Z"}
    season |= {"divisions": [{"number": 1, "name": "A", "size": None, "entries": 2}], "dice_commitment": "", "extra": 1}
    season |= {"plays": {"series_length": 1, "games_per_pair": None, "finals_games": 1}}
    season |= {"state": "paused", "seats": 9999, "opens_at": "1990-01-01T00:00:00Z", "languages": []}
    with Line(httpx.Response(200, json={"items": [season]})).client() as client:
        (found,) = client.seasons()
    assert (found.state, found.seats, found.languages, found.divisions[0].entries) == ("paused", 9999, [], 2)
    assert (found.opens_at, found.dice_secret) == (datetime(1990, 1, 1, tzinfo=UTC), None)
    assert found.said == season


def test_an_answer_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_client, "MAX_ANSWER_BYTES", 1000)
    line = Line(httpx.Response(200, content=b" " * 5000))
    assert "over 1000 bytes" in str(refused(line, lambda client: client.me()))


def test_pages_are_asked_for_until_there_is_enough() -> None:
    pages = [httpx.Response(200, json={"items": ["a", "b"], "next": f"cursor{page}"}) for page in range(5)]
    line = Line(*pages)
    with line.client() as client:
        assert list(client._pages(str, "/v1/x", {"season": 3, "bot": 0}, 3)) == ["a", "b", "a"]
    assert [dict(request.url.params) for request in line.asked] == [
        {"season": "3"},
        {"season": "3", "cursor": "cursor0"},
    ]
