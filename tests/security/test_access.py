"""Every route in every role: who is admitted, and who sees what (`tests/security/table.py`); and in which language,
because no other tests request every page.
"""

import logging
import re
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Match, Route

from deadheat.api.pages import forms
from deadheat.league.service.rankings.standings import refit
from tests.api.site import bearer
from tests.language import outside
from tests.language.catalogue import kept
from tests.league.outcomes import forfeited
from tests.security.planted import ROLES, PlantedLeague, ask
from tests.security.table import ALL, SIGNED, TABLE, Line

STREAMS = {("GET", "/seasons/{season_id}/events")}
"""A stream that ends after minutes. It tells one number, and tests/api/test_live.py reads it."""


class Logged(logging.Handler):
    """Collects everything that is logged, with tracebacks, except by the tests' own client."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith("httpx"):
            self.lines.append(f"{record.name} {self.format(record)} {record.__dict__}")


@pytest.fixture(scope="module")
def logged() -> Iterator[Logged]:
    root, handler = logging.getLogger(), Logged()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield handler
    root.removeHandler(handler)
    root.setLevel(before)


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory, logged: Logged) -> Iterator[PlantedLeague]:
    made = PlantedLeague(tmp_path_factory.mktemp("league"))
    yield made
    made.close()


def routes(found: Any) -> Iterator[tuple[str, str]]:
    """Yield every method and path that the application answers, pages and API alike."""
    for route in found:
        for method in getattr(route, "methods", None) or ():
            if method != "HEAD":
                yield method, route.path_format


def test_every_route_has_a_line_and_every_line_a_route(league: PlantedLeague) -> None:
    known = set(routes(league.site.app.routes))
    document = league.site.client.get("/v1/openapi.json").json()["paths"]
    assert {(method.upper(), path) for path, methods in document.items() for method in methods} <= known
    assert {(line.method, line.route) for line in TABLE} == known - STREAMS
    assert {path for path in document if not path.startswith("/v1/")} == {"/healthz", "/readyz", "/metrics"}


def test_a_page_that_is_shown_with_complaints_takes_nothing_else_from_its_address(league: PlantedLeague) -> None:
    """Such a page also has arguments that only a form's route gives, such as a new token (`api.pages.forms.shows`)."""
    pages = [route for route in league.site.app.routes if isinstance(route, APIRoute)]
    pages = [route for route in pages if route.endpoint.__qualname__.startswith(forms.shows.__qualname__)]
    found = {route.path: {field.alias for field in route.dependant.query_params} for route in pages}
    assert found == {
        "/account": set(),
        "/account/webhooks": set(),
        "/bots/{bot_id}/challenge": {"season"},
        "/bots/{bot_id}/upload": set(),
        "/desk": {"after", "match"},
        "/desk/season-file": {"season"},
        "/desk/seasons/new": {"previous"},
        "/forgotten": set(),
        "/matches/{match_id}/appeal": set(),
        "/operator/accounts": set(),
        "/reset": {"link"},  # the fields of `_ResetLink`
        "/submit": {"game", "language"},
    }


def test_no_route_answers_to_the_path_of_another(league: PlantedLeague) -> None:
    """Modules of routes are found in the order of their names, which must not matter."""
    found = [route for route in league.site.app.routes if isinstance(route, Route)]
    for route in found:
        for method in route.methods or ():
            asked = {"type": "http", "method": method, "path": re.sub(r"{[^}]*}", "7", route.path), "headers": []}
            first = next(one for one in found if one.matches(asked)[0] is Match.FULL)
            assert first is route, f"{method} {route.path} is answered by {first.path}"


@pytest.mark.parametrize("line", TABLE, ids=lambda line: f"{line.method} {line.route}")
def test_a_route_lets_in_and_tells_whom_the_table_says(league: PlantedLeague, line: Line) -> None:
    wrong = []
    for role in ROLES:
        if (status := line.status(role)) == "-":
            continue
        answer = ask(league, role, line.method, path(league, line), line.json, line.form, line.file)
        got = "in" if answer.headers.get("location", "").startswith("/sign-in") else str(answer.status_code)
        if got != status:
            wrong.append(f"{role}: {got} instead of {status}: {answer.text[:300]}")
        told, may = league.found_in(answer), line.shows.get(role, frozenset())
        if told != may:
            wrong.append(f"{role} is told {sorted(told - may)}, and not told {sorted(may - told)}")
        if line.method != "GET" and answer.status_code < 400:
            league.restore()
    assert not wrong, "\n".join(wrong)


def path(league: PlantedLeague, line: Line) -> str:
    """Return the route's path with the line's parameters, or else those of Ada's things."""
    usual = {"bot_id": "bot of ada", "token_id": "token of ada", "appeal_id": "appeal of ada", "number": "2"}

    def value(match: re.Match[str]) -> str:
        name = line.params.get(match[1], usual.get(match[1], match[1]))
        return str(league.named.get(name, name))

    return re.sub(r"\{(\w+)\}", value, line.route) + line.query


AS_STORED = re.compile(
    r'^(The service failed at attempt|the record of seat|it was played under version|\["It could not be checked)'
)
"""Sentences that the league stored, which are English for everybody."""

ENGLISH = re.compile(r"^/(docs/(\{folder|api$)|style$|v1/)")
"""The guides, the API's reference, the developers' page of styles, and what programs read."""

RECORDS = {"/audit", "/operator"}
"""Pages that show stored words as they are: the audit log's data, and the names of queues."""


@pytest.mark.parametrize("role", ["anonymous", "owner", "admin"])
def test_a_korean_reader_is_told_nothing_in_english(league: PlantedLeague, role: str) -> None:
    known = {message.id: str(message.string) for message in kept("ko") if isinstance(message.id, str)}
    reader = league.browsers[role].client
    english = {}
    for line in TABLE:
        told = line.method == "GET" and line.status(role).isdecimal()
        if told and not ENGLISH.match(line.route) and (role == "anonymous" or line.statuses[:3] != "200"):
            answer = reader.get(path(league, line), headers={"Accept": "text/html", "Accept-Language": "ko"})
            if answer.headers.get("content-type", "").startswith("text/html"):
                assert answer.headers["content-language"] == "ko"
                found = outside.of_page(answer.text, {} if line.route in RECORDS else known)
                english[path(league, line)] = sorted(text for text in found if not AS_STORED.match(text))
    assert len(english) >= 10
    assert {where: texts for where, texts in english.items() if texts} == {}


def test_an_english_text_on_a_page_is_found() -> None:
    page = (
        "<p>경기 3</p><p title='everybody'>경기: it is not over</p><code>it is not over</code> Yacht Auction <i>won</i>"
    )
    assert outside.of_page(page, {"won": "승", "everybody": "모두"}) == {"경기: it is not over", "everybody", "won"}


def test_a_private_challenge_changes_nothing_that_others_see(league: PlantedLeague) -> None:
    """A stranger and the opponent's author get the same answers from every address before, during and after it."""
    bob = league.site.sign_in("bob")
    owned = [line for line in TABLE if line.route.startswith("/v1/") and line.statuses == SIGNED]
    anybodys = [line for line in TABLE if line.statuses == ALL and line.route != "/metrics"]
    looked = [(path(league, line), headers) for line in anybodys for headers in ({}, bob) if line.method == "GET"]
    looked += [(path(league, line), bob) for line in owned if line.method == "GET" and "token" not in line.route]

    def told() -> list[tuple[str, int, str]]:
        league.site.app.state.services.bodies._kept.clear()
        league.site.world.write(refit, 1)
        return [
            (asked, answer.status_code, answer.text)
            for asked, headers in looked
            for answer in [league.site.client.get(asked, headers=headers)]
        ]

    league.restore()
    before = told()
    assert len(before) > 100
    body = {"season_id": 1, "bot_id": 2, "opponent_id": 3, "games": 4, "private": True}
    league.site.ok(201, league.site.client.post("/v1/challenges", json=body, headers=league.tokens["owner"]))
    (series_id,) = league.site.world.tick()
    waiting = told()
    job = league.site.world.claim(series_id)
    assert job is not None
    running = told()
    assert league.site.world.finish(job, [forfeited(match, 1) for match in job.matches])
    for stage in (waiting, running, told()):
        assert [now for now, was in zip(stage, before, strict=True) if now != was] == []


def test_a_token_to_read_with_changes_nothing(league: PlantedLeague) -> None:
    """Whatever its owner may do, every changing route that needs a token refuses this one first."""
    league.restore()
    body = {"name": "root", "password": "a long enough password", "scope": "read"}
    headers = bearer(league.site.client.post("/v1/tokens", json=body).json()["token"])
    changing = [line for line in TABLE if line.method != "GET" and line.route.startswith("/v1/")]
    asked = [line for line in changing if line.statuses.startswith("401 ") and line.route != "/v1/tokens"]
    assert len(asked) > 25
    for line in asked:
        answer = league.site.client.request(line.method, path(league, line), json=line.json, headers=headers)
        problem = league.site.problem(403, answer, "narrow-token")
        assert league.found_in(answer) == frozenset(), problem


def test_nothing_secret_was_logged(league: PlantedLeague, logged: Logged) -> None:
    """This covers all requests of this file, the sign-ups, builds and matches before them, and a broken database."""
    label = {"label": "planted-label-of-nobody"}
    league.secrets["label of a failed request"] = label["label"]
    with sqlite3.connect(league.folder / "deadheat.sqlite3") as present:
        present.execute("ALTER TABLE token RENAME TO elsewhere")
    body = {"name": "ada", "password": "a long enough password", **label}
    league.site.problem(500, league.site.client.post("/v1/tokens", json=body), "internal")
    league.restore()
    everything = "\n".join(logged.lines)
    assert "no such table" in everything, "what is searched is what is logged"
    found = {name for name, secret in league.secrets.items() if secret in everything}
    assert found == {"machine of a failure"}, "what befell a machine is an operator's business, and stands in the log"
    assert "a long enough password" not in everything
