"""The audit log as people read it: in words, and by person, thing and kind."""

from __future__ import annotations

import ast
import re

import pytest

from deadheat.api.pages.texts.decisions import WORDS
from deadheat.league.states import Absence, ChallengeState, EvaluationState, Role, SeasonState
from tests.api.site import Site
from tests.api.test_matches import Played
from tests.deployment import ROOT

SUBJECT = re.compile(r'aria-label="Decisions about ([^"]*)"')
RECORDERS = ("record", "note_ruling", "_come_back")
COMPOSED = {"season": SeasonState, "entry": Absence, "evaluation": EvaluationState}


@pytest.fixture
def played(site: Site) -> Played:
    """Two matches, each ruled on by the organiser."""
    found = Played(site)
    for match in found.ids[:2]:
        body = {"reason": "the <b>host</b>"}
        site.ok(200, site.client.post(f"/v1/matches/{match}/void", json=body, headers=site.organiser()))
    return found


def read(site: Site, **chosen: str) -> str:
    answer = site.client.get("/audit", params=chosen)
    assert answer.status_code == 200
    return str(answer.text)


def test_decisions_are_found_by_person_thing_and_kind(site: Site, played: Played) -> None:
    first, second = (f"match/{match}" for match in played.ids[:2])
    organiser = SUBJECT.findall(read(site, kind="Matches"))
    assert organiser[:2] == [second, first]
    assert set(SUBJECT.findall(read(site, about=first))) == {first}
    assert "No decision fits." in read(site, who="nobody")
    assert {"bot/1"} == set(SUBJECT.findall(read(site, who="ada", kind="Bots")))
    assert SUBJECT.findall(read(site, kind="no such kind")) == SUBJECT.findall(read(site))


def test_things_have_names_and_pages_and_older_decisions_keep_the_choice(
    site: Site, played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deadheat.api.pages.audit.RECORDS", 1)
    page = read(site, kind="Matches")
    assert f'voided <a href="/matches/{played.ids[1]}">match {played.ids[1]}</a>' in page
    assert "the &lt;b&gt;host&lt;/b&gt;" in page
    older = re.search(r'href="(/audit[^"#]*cursor=[^"#]*)', page)
    assert older
    following = site.client.get(older[1].replace("&amp;", "&")).text
    assert SUBJECT.findall(following) == [f"match/{played.ids[0]}"]
    assert re.search(r'uploaded a version of <a href="/bots/\d+">bot [^<]+</a>', read(site, kind="Bots"))


def test_every_action_of_the_audit_log_has_its_words() -> None:
    recorded = {
        part.value
        for path in (ROOT / "league").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in RECORDERS
        for argument in call.args[1:]
        for part in ast.walk(argument)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
        if re.fullmatch("[a-z]+(-[a-z]+)+", part.value)
    }
    composed = {f"{word}-{state.value}" for word, states in COMPOSED.items() for state in states}
    composed |= {f"{word}-{state.value}" for word in ("challenge", "panel") for state in ChallengeState}
    composed |= {role.action for role in Role}
    missing = (recorded | composed) - WORDS.keys()
    assert len(recorded) > 30
    assert missing == {"season-scheduled", "evaluation-running", "challenge-running", "panel-running"}, (
        "nobody records that these begin"
    )
