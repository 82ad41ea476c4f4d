"""Bad requests get clear problem documents; good ones are answered."""

import inspect
import json
import logging
import re
from unittest import mock
from urllib.parse import quote

import pytest
from sqlalchemy.exc import InterfaceError, InternalError, OperationalError

from deadheat.api.errors import STATUS
from deadheat.engine.games import GAMES
from deadheat.league import errors
from deadheat.league.errors import LeagueError
from tests.api.site import PASSWORD, Site, bearer
from tests.league.people import GAME

JSON = "application/json"


CODES = """
account-closed already-linked bad-cursor bad-season-file bad-setting bad-token bad-upload blob-damaged
blob-missing blobs-away illegal-move machine-refused name-taken narrow-token no-place not-admitted not-allowed
not-captain not-found not-invited not-ready other-release over-quota own-match provider-away provider-refused
sign-in-again too-many too-soon unknown-game unsettled upload-too-large wrong-credentials wrong-game wrong-state
"""
"""The codes of all errors of the league. Programs know them, so none may change."""


def test_every_error_of_the_league_has_a_status_and_its_code() -> None:
    kinds = {kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, LeagueError)}
    assert kinds - {LeagueError} == set(STATUS)
    assert sorted(kind.code for kind in STATUS) == CODES.split()


@pytest.mark.parametrize("body", [b"{", b"", b"[1,", b"\xff\xfe", b'{"name": "x"', b"NaN\0"])
def test_malformed_json_is_400(site: Site, body: bytes) -> None:
    answer = site.client.post("/v1/users", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in ((400,) if body else (422,))
    site.problem(answer.status_code, answer)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"name": "ada", "password": PASSWORD, "role": "organiser"}, "body.role"),
        ({"name": "ada"}, "body.password"),
        ({"name": "", "password": PASSWORD}, "body.name"),
        ({"name": "a" * 33, "password": PASSWORD}, "body.name"),
        ({"name": "ada lovelace", "password": PASSWORD}, "body.name"),
        ({"name": "ada\n", "password": PASSWORD}, "body.name"),
        ({"name": "\u0430da", "password": PASSWORD}, "body.name"),
        ({"name": "<script>", "password": PASSWORD}, "body.name"),
        ({"name": 5, "password": PASSWORD}, "body.name"),
        ({"name": "ada", "password": "short"}, "body.password"),
        ([], "body"),
        ("text", "body"),
    ],
)
def test_a_field_that_is_wrong_or_unknown_is_named(site: Site, body: object, where: str) -> None:
    problem = site.problem(422, site.client.post("/v1/users", json=body), "invalid")
    assert [error["where"] for error in problem["errors"]] == [where]
    assert PASSWORD not in str(problem)


def test_the_sentence_about_a_wrong_field_is_for_people(site: Site) -> None:
    problem = site.problem(422, site.client.post("/v1/users", json={"name": "", "role": "boss"}), "invalid")
    assert re.fullmatch(r"name: .*\. password: .*\. role: .*\.", problem["detail"])


@pytest.mark.parametrize(("path", "field", "most"), [("/v1/users", "name", 32), ("/v1/tokens", "label", 64)])
def test_what_is_too_long_is_told_its_limit_and_no_other_rule(site: Site, path: str, field: str, most: int) -> None:
    body = {"name": "ada", "password": PASSWORD} | {field: "a" * (most + 1)}
    problem = site.problem(422, site.client.post(path, json=body), "invalid")
    assert problem["detail"] == f"{field}: It should have at most {most} characters."


def test_lone_surrogates_do_no_harm(site: Site) -> None:
    for body in (b'{"name": "\\ud800", "password": "1234567890"}', b'{"\\ud800": 1, "name": "ada", "password": "12"}'):
        answer = site.client.post("/v1/users", content=body, headers={"Content-Type": "application/json"})
        site.problem(422, answer)
    body = b'{"name": "ada", "password": "\\ud8001234567890"}'
    answer = site.client.post("/v1/users", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in {201, 422}


@pytest.mark.parametrize("unseen", ["\0", "\x1b[2J", "\x7f", "\x9b", "\ud800"])
def test_text_with_control_characters_is_refused_wherever_it_is_sent(site: Site, unseen: str) -> None:
    boss = site.organiser()
    for field in ("title", "text"):
        body = {"title": "News", "text": "Two\n\tlines."} | {field: f"a{unseen}b"}
        content = json.dumps(body).encode()
        answer = site.client.post("/v1/announcements", content=content, headers=boss | {"Content-Type": JSON})
        assert [error["where"] for error in site.problem(422, answer, "invalid")["errors"]] == [f"body.{field}"]
    site.ok(201, site.client.post("/v1/announcements", json={"title": "News", "text": "Two\n\tlines."}, headers=boss))
    terms = json.dumps({"name": "S", "game": GAME, "languages": ["c", f"a{unseen}b"]}).encode()
    site.problem(422, site.client.post("/v1/seasons", content=terms, headers=boss | {"Content-Type": JSON}), "invalid")
    if unseen.isascii():
        site.problem(422, site.client.get("/v1/audit", params={"subject": unseen}), "invalid")
        site.problem(422, site.client.put(f"/v1/seasons/1/invitations/{quote(unseen)}", headers=boss), "invalid")
        ours = {"Sec-Fetch-Site": "same-origin"}
        sent = site.client.post("/sign-in", data={"name": unseen, "password": PASSWORD}, headers=ours)
        assert "control characters" in site.problem(422, sent)["detail"]


WRONG = {
    ("GET", 404): (
        "/v1/nothing /nothing /v1/seasons/99 /v1/seasons/99/leaderboard /v1/seasons/99/entries /v1/bots/99 "
        "/v1/matches/99 /v1/matches/99/transcript /v1/matches/99/live /v1/seasons/99/export/matches.csv "
        "/static/../api/app.py /static/nothing.css"
    ),
    ("GET", 422): (
        "/v1/seasons/1/export/matches.xlsx /v1/seasons/x /v1/seasons/0 /v1/seasons/99999999999999999999 "
        "/v1/matches?limit=0 /v1/matches?cursor=xyz /v1/matches?cursor=MTpub3RhbnVtYmVy /v1/matches?colour=red "
        f"/v1/matches?state=odd /v1/matches?cursor={'A' * 1000}"
    ),
    ("GET", 401): "/v1/bots /v1/matches/1/logs",
    ("DELETE", 405): "/v1/users",
    ("POST", 405): "/v1/games",
}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [(method, path, status) for (method, status), paths in WRONG.items() for path in paths.split()],
)
def test_each_wrong_request_is_a_problem_document(site: Site, method: str, path: str, status: int) -> None:
    site.problem(status, site.client.request(method, path))


@pytest.mark.parametrize("path", ["/", "/v1/seasons", "/healthz", "/static/site.css", "/nothing"])
def test_head_is_get_without_the_body(site: Site, path: str) -> None:
    got, headed = site.client.get(path), site.client.head(path)
    assert (headed.status_code, headed.content) == (got.status_code, b"")
    assert headed.headers["content-type"] == got.headers["content-type"]


def test_a_method_that_is_not_allowed_says_which_is(site: Site) -> None:
    assert site.client.delete("/v1/users").headers["allow"] == "POST"


@pytest.mark.parametrize("header", ["", "dh_x", "Basic eDp5", "Bearer", "Bearer ", "Bearer dh_wrong", "Bearer \xe9"])
def test_a_bad_token_is_401_and_says_so(site: Site, header: str) -> None:
    answer = site.client.get("/v1/users/me", headers={b"Authorization": header.encode("latin-1")})
    site.problem(401, answer, "bad-token")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_wrong_password_is_401_whatever_is_wrong(site: Site) -> None:
    site.author("ada")
    texts = set()
    for name, password in (("ada", "not the password"), ("nobody", PASSWORD)):
        answer = site.client.post("/v1/tokens", json={"name": name, "password": password})
        texts.add(site.problem(401, answer, "wrong-credentials")["detail"])
    assert len(texts) == 1


def test_an_unknown_game_is_refused(site: Site) -> None:
    ada = site.author()
    problem = site.problem(422, site.client.post("/v1/bots", json={"game": "go", "name": "x"}, headers=ada))
    listed = sorted(game["name"] for game in site.ok(200, site.client.get("/v1/games"))["items"])
    assert problem["known"] == sorted(GAMES) == listed
    body = {"game": "go", "name": "x"}
    site.problem(422, site.client.post("/v1/seasons", json=body, headers=site.organiser()), "unknown-game")


def test_a_season_must_open_before_it_closes(site: Site) -> None:
    body = {"game": GAME, "name": "x", "opens_at": "2026-02-01T00:00:00Z", "closes_at": "2026-01-01T00:00:00Z"}
    found = site.problem(422, site.client.post("/v1/seasons", json=body, headers=site.organiser()), "bad-setting")
    assert (found["setting"], found["detail"]) == ("closes_at", "closes_at: it must come after opens_at.")
    for date in ("2025-02-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "soon", True):
        wrong = body | {"opens_at": date}
        site.problem(422, site.client.post("/v1/seasons", json=wrong, headers=site.organiser()), "invalid")


def test_entering(site: Site) -> None:
    ada, bob, boss = site.author("ada"), site.author("bob"), site.organiser()
    season = site.ok(201, site.client.post("/v1/seasons", json={"game": GAME, "name": "S"}, headers=boss))["id"]
    bot_id = site.bot(ada)
    path = f"/v1/seasons/{season}/entries/{bot_id}"
    site.problem(409, site.client.put(path, headers=ada), "not-ready")
    site.version(ada, bot_id)
    site.problem(404, site.client.put(path, headers=bob), "not-found")
    site.problem(401, site.client.put(path))
    site.problem(404, site.client.put(path, json={"version": 9}, headers=ada), "not-found")
    site.problem(422, site.client.put(path, json={"versoin": 1}, headers=ada), "invalid")
    entry = {"bot_id": bot_id, "bot": "greedy", "author": "ada", "team": None, "version": 1, "follows": True}
    entry |= {"division": 1, "finals_seed": None, "finals_place": None, "gated": False, "challenger": None}
    entry |= {"absence": None, "absence_reason": "", "waits_for_panel": False, "rests": ""}
    assert site.ok(200, site.client.put(path, headers=ada)) == entry
    assert site.ok(200, site.client.put(path, json={"version": 1}, headers=ada)) == entry | {"follows": False}
    listed = site.ok(200, site.client.get(f"/v1/seasons/{season}/entries"))
    assert (len(listed["items"]), listed["next"]) == (1, None)
    for state in ("open", "closed"):
        site.ok(200, site.client.patch(f"/v1/seasons/{season}", json={"state": state}, headers=boss))
    assert "closed" in site.problem(409, site.client.put(path, headers=ada), "wrong-state")["detail"]


def test_our_own_failure_tells_nothing_inner(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    explode = mock.Mock(side_effect=RuntimeError("secret detail"))
    monkeypatch.setattr("deadheat.api.routes.seasons.league_seasons.seasons", explode)
    problem = site.problem(500, site.client.get("/v1/seasons"), "internal")
    assert "secret" not in str(problem)


@pytest.mark.parametrize("away", [OperationalError, InternalError, InterfaceError])
def test_a_database_that_is_away_is_told_as_what_passes(site: Site, monkeypatch, away: type[OperationalError]) -> None:
    refused = mock.Mock(side_effect=away("SELECT secret", {}, ConnectionError("no route to host")))
    monkeypatch.setattr("deadheat.api.routes.seasons.league_seasons.seasons", refused)
    answer = site.client.get("/v1/seasons")
    site.problem(503, answer, "database-away")
    assert answer.headers["retry-after"] == "5" and "secret" not in answer.text


def test_an_outage_of_the_database_is_an_error_in_the_log_once_a_minute(site: Site, monkeypatch, caplog) -> None:
    clock = mock.Mock(return_value=1e6)
    monkeypatch.setattr("deadheat.api.errors.time", mock.Mock(monotonic=clock))
    monkeypatch.setattr("deadheat.api.errors._outage_logged_at", 0.0)
    refused = mock.Mock(side_effect=OperationalError("SELECT secret", {}, ConnectionError("no route to host")))
    monkeypatch.setattr("deadheat.api.routes.seasons.league_seasons.seasons", refused)

    def errors_of(count: int) -> int:
        caplog.clear()
        for _ in range(count):
            site.problem(503, site.client.get("/v1/seasons"), "database-away")
        return len([record for record in caplog.records if record.levelno >= logging.ERROR])

    assert errors_of(5) == 1
    clock.return_value += 59
    assert errors_of(5) == 0
    clock.return_value += 1
    assert errors_of(5) == 1


def test_a_store_that_is_away_says_so(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site.blobs, "put_file", mock.Mock(side_effect=errors.BlobsAway("no route to host")))
    ada = site.author()
    answer = site.upload(ada, site.bot(ada), b"print()")
    site.problem(503, answer, "blobs-away")
    assert answer.headers["retry-after"] == "60"


def test_a_token_in_the_query_is_no_token(site: Site) -> None:
    site.problem(401, site.client.get("/v1/users/me?token=" + site.author()["Authorization"].split()[1]))
    site.problem(401, site.client.get("/v1/users/me", headers=bearer("dh_" + "a" * 5000)))
