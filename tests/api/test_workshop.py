"""A bot's workshop in the browser: uploading, following a build, entering and leaving seasons."""

from __future__ import annotations

import re
from hashlib import sha256

import obstore
import pytest
from sqlmodel import update

from deadheat.league.blobs import _path
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.absence import disqualify
from deadheat.league.service.seasons.entries import enter, let_in
from deadheat.league.service.seasons.seasons import create_season
from deadheat.league.states import Admission, Role, SeasonState, VersionState
from deadheat.league.tables import BotVersion
from tests.api.browser import OURS, Browser
from tests.api.site import Site
from tests.league.people import GAME
from tests.league.seasons import at_gate

SOURCE = b"print('hello')\n"


@pytest.fixture
def ada(site: Site) -> Browser:
    browser = Browser(site).sign_up("ada")
    browser.submit("/account/bots", name="greedy", game=GAME)
    assert browser.answer.url.path == "/bots/1/upload"
    return browser


def upload(browser: Browser, content: bytes = SOURCE, name: str = "bot.py", token: str | None = None) -> str:
    fields = {"csrf": token or browser.page.token}
    answer = browser.client.post("/bots/1/versions", data=fields, files={"file": (name, content)}, headers=OURS)
    if answer.status_code != 303:
        browser.show(answer, answer.status_code)
    return str(answer.headers.get("location", answer.status_code))


def finish(site: Site, log: str, reason: str = "") -> None:
    with site.world.db.transaction() as session:
        values = {"state": VersionState.BROKEN, "log": log, "reason": reason}
        session.exec(update(BotVersion).values(**values))


def test_the_form_uploads_without_a_script(ada: Browser, site: Site) -> None:
    assert upload(ada) == "/bots/1/versions/1"
    assert len(site.queue.builds) == 1
    assert "waiting for a builder" in ada.get("/bots/1/versions/1").text and "bot.py" in ada.get("/bots/1/upload").text


def test_what_is_wrong_with_an_upload_is_said_beside_the_form(ada: Browser, site: Site) -> None:
    assert upload(ada, b"hello", "notes.txt") == "422" and 'role="alert"' in ada.answer.text
    assert not site.queue.builds


def test_an_upload_needs_the_pages_token(ada: Browser, site: Site) -> None:
    assert upload(ada, token="0" * 64) == "403"
    assert ada.client.post("/bots/1/versions", files={"file": ("bot.py", SOURCE)}, headers=OURS).status_code == 403
    assert not site.queue.builds


@pytest.mark.parametrize("field", ["csrf", "other", "file"])
def test_a_field_before_the_file_is_one_that_is_known_and_short(ada: Browser, field: str) -> None:
    fields = {field: "x" * 300}
    answer = ada.client.post("/bots/1/versions", data=fields, files={"file": ("bot.py", SOURCE)}, headers=OURS)
    assert answer.status_code == 400


def test_the_module_uploads_to_the_api(ada: Browser, site: Site) -> None:
    assert site.ok(202, ada.api("POST", "/v1/bots/1/versions", files={"file": ("bot.py", SOURCE)}))["number"] == 1


def test_hostile_names_and_logs_stay_text(ada: Browser, site: Site) -> None:
    upload(ada, name="<script>x\u202egnp.txt")
    assert "<script>x" not in ada.answer.text and "\u202e" not in ada.answer.text
    ada.get("/bots/1/upload")
    assert upload(ada) == "/bots/1/versions/1"
    log = "<script>alert(1)</script>\n\x1b[31mred\x07\r\u202eevil\n</pre><img src=x onerror=alert(1)>" + "x" * 1_000_000
    finish(site, log, "<img src=x>\x1b[2J")
    page = ada.get("/bots/1/versions/1")
    assert page.tags.count("img") == 1  # the brand's
    assert "<script>alert" not in ada.answer.text
    for mark in ("\x1b", "\x07", "\u202e"):
        assert mark not in ada.answer.text
    assert "\\x1b[31mred\\x07" in page.text


def test_a_bot_enters_chooses_withdraws_and_comes_back(ada: Browser, site: Site) -> None:
    world = site.world
    season = world.write(create_season, world.boss, name="S", game=GAME).id
    page = ada.submit(f"/bots/1/seasons/{season}/enter", 409, at="/bots/1/upload")
    assert "no ready version" in page.text
    upload(ada)
    page = ada.submit(f"/bots/1/seasons/{season}/enter", at="/bots/1/upload")
    assert "Version 1 enters it when it is ready." in page.text
    with world.db.transaction() as session:
        values = {"state": VersionState.READY, "program_sha256": "f" * 64}
        session.exec(update(BotVersion).values(**values))
    world.tick()
    ada.get("/bots/1/upload")
    assert "Version 1 plays, and newer ones take over" in ada.page.text
    assert "Version 1 plays." in ada.submit(f"/bots/1/seasons/{season}/enter", version="1").text
    assert "withdrawn" in ada.submit(f"/bots/1/seasons/{season}/withdraw").text
    assert "withdrawn" not in ada.submit(f"/bots/1/seasons/{season}/rejoin").text
    world.write(disqualify, world.boss, season, 1, "<b>cheats</b>")
    page = ada.get("/bots/1/upload")
    assert "disqualified" in page.text and "<b>cheats</b>" in page.text and "b" not in page.tags
    assert f"/bots/1/seasons/{season}/rejoin" not in [form.action for form in page.forms]
    world.write(set_season_state, world.boss, season, SeasonState.OPEN)
    world.write(set_season_state, world.boss, season, SeasonState.CLOSED)
    assert [form.action for form in ada.get("/bots/1/upload").forms if "seasons" in form.action] == []


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"admission": Admission.NOBODY}, "its organisers choose who takes part"),
        ({"admission": Admission.INVITED}, "ada is not on its list"),
        ({"teams_only": True}, "it admits only bots of teams"),
    ],
)
def test_nothing_is_offered_where_the_rules_bar_a_bot(ada: Browser, site: Site, rules, why: str) -> None:
    season = site.world.season(0, **rules)
    form = f"/bots/1/seasons/{season}/enter"
    assert f"Not entered. The season does not admit this bot: {why}." in ada.get("/bots/1/upload").text
    assert form not in [found.action for found in ada.page.forms]
    site.world.build(site.world.upload(Person(2, "ada", Role.AUTHOR), 1))
    site.world.write(let_in, site.world.boss, season, 1)
    ada.submit(form, at="/bots/1/upload", version="1")
    assert "Version 1 plays." in ada.page.text, "whoever entered it, its author chooses"


def test_the_workshop_tells_how_a_version_fares_at_its_gate(ada: Browser, site: Site) -> None:
    world = site.world
    season = world.write(create_season, world.boss, name="S", game=GAME).id
    owner = Person(2, "ada", Role.AUTHOR)
    for program in ("one", "two"):
        world.build(world.upload(owner, 1), program=program)
        world.write(enter, owner, season, 1, gate=at_gate())
    assert "Version 2 against 1 at the promotion gate: running 0 won" in " ".join(
        ada.get("/bots/1/upload").text.split()
    )
    world.build(world.upload(owner, 1), program="one")
    text = " ".join(ada.get("/bots/1/upload").text.split())
    assert "Version 3 against 1 at the promotion gate: failed" in text
    assert "It is the same program as version 1, which is active." in text


def test_the_bot_is_renamed_described_and_retired_and_its_source_fetched(ada: Browser, site: Site) -> None:
    assert upload(ada) == "/bots/1/versions/1"
    ada.get("/bots/1/upload")
    fetched = ada.client.get("/v1/bots/1/versions/1/source")
    assert 'href="/v1/bots/1/versions/1/source"' in ada.answer.text and fetched.content == SOURCE
    assert fetched.headers["content-disposition"] == 'attachment; filename="bot-1-version-1.py"'
    obstore.put(site.blobs._store, _path(sha256(SOURCE).hexdigest()), b"damaged")
    damaged = site.problem(500, ada.client.get("/v1/bots/1/versions/1/source"), "blob-damaged")
    assert "is logged for the operator." in damaged["detail"]
    ada.submit("/bots/1/change", name="deep", description="It <b>thinks</b>.")
    told = site.client.get("/bots/1", headers={"Accept": "text/html"}).text
    assert re.search(r"> deep</h1>", told) and "It &lt;b&gt;thinks&lt;/b&gt;." in told
    ada.submit("/bots/1/change", 422, name="a" * 33, description="")
    assert "It should have at most 32 characters" in ada.answer.text
    ada.submit("/bots/1/change", name="deep", description="")
    assert site.ok(200, site.client.get("/v1/bots/1"))["description"] == ""
    ada.submit("/bots/1/retire", retired="true")
    assert "Retired since" in ada.answer.text and 'enctype="multipart/form-data"' not in ada.answer.text
    assert "deep" not in site.client.get("/authors/ada", headers={"Accept": "text/html"}).text
    ada.submit("/bots/1/retire", retired="false")
    assert 'enctype="multipart/form-data"' in ada.answer.text


def test_a_change_of_a_bot_says_what_changes(ada: Browser, site: Site) -> None:
    assert "field to change" in site.problem(422, ada.api("PATCH", "/v1/bots/1", json={}))["detail"]
    change = {"name": "Greedy", "description": "  new  ", "retired": True}
    found = site.ok(200, ada.api("PATCH", "/v1/bots/1", json=change))
    assert (found["name"], found["description"]) == ("Greedy", "new") and found["retired_at"]
    site.problem(422, ada.api("PATCH", "/v1/bots/1", json={"retired": "yes"}))
