"""What the client does when the connection, the server or something that answers for it misbehaves."""

import base64
import gzip
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deadheat.cli.server import api_client, wire
from deadheat.cli.server.api_client import Client, Refused
from tests.certificates import certified
from tests.cli.line import CUT, RESET, SILENT, Line, answer, line

ME = {"id": 1, "name": "ada", "role": "author"}
TOKEN = {"id": 3, "token": "dh_x", "scope": "full", "expires_at": "2027-01-01T00:00:00Z"}
SOMETIME = 0.05
"""The seconds that a server may take in these tests."""


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr(wire, "time", SimpleNamespace(sleep=waited.append))
    return waited


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> Iterator[Line]:
    """A server that refuses connections until the client has waited once."""
    made = Line(answer(201, TOKEN))

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 1:
            made.listens()

    monkeypatch.setattr(wire, "time", SimpleNamespace(sleep=wait))
    yield made
    made.ends()


def me(client: Client) -> Any:
    return client.me()


def refused(said: bytes, ask: Callable[[Client], Any] = me) -> Refused:
    with line(said) as server, Client(server.url, "dh_token") as client, pytest.raises(Refused) as caught:
        ask(client)
    return caught.value


def test_a_request_that_changes_nothing_is_made_again(waits: list[float]) -> None:
    with line(RESET, CUT, answer(503), answer(200, ME)) as server, Client(server.url) as client:
        assert client.me().name == "ada"
    assert waits == list(wire.RETRY_WAITS_S)


def test_patience_ends(waits: list[float]) -> None:
    nobody = Line(CUT)
    with Client(nobody.url) as client, pytest.raises(Refused) as caught:
        client.me()
    nobody.ends()
    error = caught.value
    sentence = f"{nobody.url} does not answer: [Errno 111] Connection refused"
    assert (error.code, error.passing, str(error)) == ("no-answer", True, sentence)
    assert waits == list(wire.RETRY_WAITS_S)


@pytest.mark.parametrize("said", [CUT, RESET, SILENT, answer(503)])
def test_what_may_have_been_heard_is_not_said_twice(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "TIMEOUT_S", SOMETIME)
    with line(said) as server, Client(server.url) as client:
        with pytest.raises(Refused) as caught:
            client.create_team("lovelace")
        assert server.heard.wait(60)
    assert caught.value.passing
    assert len(server.asked) == 1


def test_a_slow_server_is_not_asked_again(waits: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "TIMEOUT_S", SOMETIME)
    assert "does not answer: timed out" in str(refused(SILENT))
    assert not waits


def test_a_post_that_was_not_heard_is_said_again(deaf: Line, waits: list[float]) -> None:
    with Client(deaf.url) as client:
        assert client.issue_token("ada", "password").id == 3
    assert len(waits) == len(deaf.asked) == 1


def test_an_upload_that_was_not_heard_starts_again_from_its_beginning(deaf: Line) -> None:
    version = {"id": 1, "bot_id": 1, "number": 1, "state": "uploaded", "filename": "bot.py", "size_bytes": 5}
    version |= {"sha256": "a", "language": "python", "reason": "", "attempt": 0, "built_at": None}
    version |= {"entry": "main.py", "created_at": "2027-01-01T00:00:00Z"}
    deaf.answers = [answer(202, version)]
    content = bytes(range(256)) * 1000
    with Client(deaf.url) as client:
        client.upload(1, "bot.py", content)
    (asked,) = deaf.asked
    assert b'name="file"; filename="bot.py"' in asked.body and content in asked.body


def test_a_slow_reader_has_time_for_each_piece_of_an_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "CONNECT_TIMEOUT_S", SOMETIME)
    with line(answer(202)) as server, Client(server.url) as client:
        server.reads_after_seconds = 4 * SOMETIME
        client.call("POST", "/v1/x", files={"file": ("bot.zip", bytes(8_000_000))})
    assert len(server.asked[0].body) > 8_000_000


def test_the_servers_sentence_is_told_with_its_code() -> None:
    problem = {"code": "over-quota", "detail": "Sixty uploads an hour are enough."}
    error = refused(answer(429, problem, {"Retry-After": "90"}))
    assert (error.code, str(error), error.retry_after_seconds) == ("over-quota", problem["detail"], 90)
    assert error.passing
    error = refused(answer(403, {"code": "not-allowed", "detail": "No."}))
    assert not error.passing


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (answer(200, b"<html>hello"), "not an answer of a Deadheat server"),
        (answer(200, [1]), "not an answer of a Deadheat server"),
        (answer(200, ME | {"id": "many"}), "id: "),
        (answer(200, b"[" * 100_000), "not an answer of a Deadheat server"),
        (answer(404, b"not here"), "is this a Deadheat server?"),
        (answer(404, ["no"]), "is this a Deadheat server?"),
        (answer(500, b"\xff" * 1_000_000), "HTTP 500"),
        (answer(200, ME, length=1000), "does not answer: IncompleteRead"),
        (answer(200, b"{}", {"Content-Encoding": "gzip"}), "does not answer: Error -3 while decompressing"),
        (b"220 mail.example ESMTP\r\n\r\n", "does not answer: 220 mail.example"),
        (answer(301, headers={"Location": "https://league/"}), "redirects to https://league/"),
        (answer(200, ME, {"Deadheat-API": "2.0"}), "version 2.0 of the API"),
    ],
)
def test_somebody_else_who_answers_is_not_believed(said: bytes, sentence: str) -> None:
    assert sentence in str(refused(said))


@pytest.mark.parametrize(("said", "seconds"), [("30", 30), ("86400", 86400), ("9" * 5000, 0), ("-1", 0), ("\u0663", 0)])
def test_a_wait_that_a_server_asks_for_is_bounded(said: str, seconds: int) -> None:
    assert refused(answer(429, headers={"Retry-After": said})).retry_after_seconds == seconds


def test_a_newer_server_of_the_same_api_is_understood() -> None:
    with line(answer(200, ME | {"colour": "red"}, {"Deadheat-API": "1.7"})) as server, Client(server.url) as client:
        assert client.me().said["colour"] == "red"


def test_words_of_a_newer_server_stay_text_and_what_an_older_one_leaves_out_is_null() -> None:
    bot = {"id": 1, "game": "go", "name": "g", "author": "ada", "plays_people": True, "versions": 0}
    bot |= {"description": "", "created_at": "2027-01-01T00:00:00Z"}
    with (
        line(answer(200, ME | {"role": "oracle"}), answer(200, {"items": [bot]})) as server,
        Client(server.url) as client,
    ):
        assert client.me().role == "oracle"
        (found,) = client.bots()
    assert (found.name, found.team, found.said) == ("g", None, bot)


def test_a_season_is_read_whatever_states_and_bounds_its_server_has() -> None:
    nothing = dict.fromkeys(("previous_id", "qualified_at", "finals_done_at", "published_at", "log_sha256"))
    season = nothing | {"id": 1, "game": "go", "name": "s", "rounded": "", "created_at": "2027-01-01T00:00:00Z"}
    season |= {"divisions": [{"number": 1, "name": "A", "size": None, "entries": 2}], "dice_commitment": "", "extra": 1}
    season |= {"plays": {"series_length": 1, "games_per_pair": None, "finals_games": 1}}
    season |= {"state": "paused", "seats": 9999, "opens_at": "1990-01-01T00:00:00Z", "languages": []}
    with line(answer(200, {"items": [season]})) as server, Client(server.url) as client:
        (found,) = client.seasons()
    assert (found.state, found.seats, found.languages, found.divisions[0].entries) == ("paused", 9999, [], 2)
    assert (found.opens_at, found.dice_secret) == (datetime(1990, 1, 1, tzinfo=UTC), None)
    assert found.said == season


def test_an_answer_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_client, "MAX_JSON_BYTES", 1000)
    assert "over 1000 bytes" in str(refused(answer(200, b" " * 5000)))
    packed = gzip.compress(b" " * 50_000_000)
    assert "over 1000 bytes" in str(refused(answer(200, packed, {"Content-Encoding": "gzip"})))


def test_pages_are_asked_for_until_there_is_enough() -> None:
    pages = [answer(200, {"items": ["a", "b"], "next": f"cursor{page}"}) for page in range(5)]
    with line(*pages) as server, Client(server.url) as client:
        assert list(client._pages(str, "/v1/x", 3, season=3, bot=0)) == ["a", "b", "a"]
    assert [asked.params for asked in server.asked] == [
        {"season": "3", "limit": "3"},
        {"season": "3", "limit": "3", "cursor": "cursor0"},
    ]


def test_a_packed_answer_is_unpacked() -> None:
    packed = answer(200, gzip.compress(b'{"id": 1, "name": "ada", "role": "author"}'), {"Content-Encoding": "gzip"})
    with line(packed) as server, Client(server.url) as client:
        assert client.me().name == "ada"


def test_only_the_environments_proxy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with line(answer(200, ME)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("//", "//ada:pass%20word@"))
        with Client("http://league.invalid", "dh_token") as client:
            client.me()
        (asked,) = proxy.asked
        assert asked.target == "http://league.invalid/v1/users/me"
        assert asked.headers["proxy-authorization"] == "Basic " + base64.b64encode(b"ada:pass word").decode()
        with line(answer(200, ME)) as server:
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            with Client(server.url) as client:
                client.me()
            assert (len(server.asked), len(proxy.asked)) == (1, 1)
    monkeypatch.setenv("HTTP_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(Refused, match="proxy cannot be used"):
        Client("http://league.invalid")


def test_a_certificate_counts_if_this_machine_trusts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, context = certified(tmp_path)
    with line(answer(200, ME)) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = server.url.replace("http:", "https:")
        with Client(url) as client, pytest.raises(Refused, match=r"does not answer: .*CERTIFICATE_VERIFY_FAILED"):
            client.create_team("lovelace")
        assert not server.asked
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with Client(url) as client:
            assert client.me().name == "ada"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("HTTPS://League.example:443/", "https://league.example"),
        ("http://league.example:8080/play/?x#y", "http://league.example:8080/play"),
        ("http://b\u00fccher.example", "http://xn--bcher-kva.example"),
        ("http://[::1]:80", "http://[::1]"),
    ],
)
def test_an_address_has_one_form(written: str, meant: str) -> None:
    assert str(wire.address(written)) == meant


@pytest.mark.parametrize(
    "written", ["league.example", "", "ftp://x", "http://", "http://x:port", "http://a b", " http://x"]
)
def test_what_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(Refused, match="is not an address"):
        Client(written)
