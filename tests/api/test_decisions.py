"""The audit log as people read it: in words, and by person, thing and kind."""

from __future__ import annotations

import ast
import re
from enum import StrEnum

import pytest

from deadheat.api.pages.audit import WORDS
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.ground.audit import first_broken, record
from deadheat.league.service.seasons.seasons import edit_season, season_info
from deadheat.league.states import Absence, ChallengeState, EvaluationState, Role, SeasonState
from tests.api.site import Site
from tests.api.test_matches import Played
from tests.deployment import ROOT

SUBJECT = re.compile(r'aria-label="Decisions about ([^"]*)"')
RECORDERS = ("record", "note_ruling", "_come_back")
COMPOSED: dict[str, type[StrEnum]] = {"season": SeasonState, "entry": Absence, "evaluation": EvaluationState}


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
    assert SUBJECT.findall(read(site, kind="Matches"))[:2] == [second, first]
    assert set(SUBJECT.findall(read(site, about=first))) == {first}
    assert "No decision matches." in read(site, who="nobody")
    assert {"bot/1"} == set(SUBJECT.findall(read(site, who="ada", kind="Bots")))
    assert SUBJECT.findall(read(site, kind="no such kind")) == SUBJECT.findall(read(site))


def test_a_thing_is_found_by_its_number_and_its_name_with_what_belongs_to_it(site: Site, played: Played) -> None:
    first, second = (f"match/{match}" for match in played.ids[:2])
    of_season = SUBJECT.findall(read(site, about="season/1"))
    assert {first, second, "season/1"} <= set(of_season)
    assert SUBJECT.findall(read(site, about="Season 1")) == of_season
    assert SUBJECT.findall(read(site, about=site.world.read(season_info, 1).name.upper())) == of_season
    assert SUBJECT.findall(read(site, about="season 2")) == []
    bot = site.world.read(bot_info, 1)
    of_bot = set(SUBJECT.findall(read(site, about="bot 1")))
    assert of_bot == {"bot/1", "season/1"}, "it was entered there"
    assert of_bot <= set(SUBJECT.findall(read(site, about=bot.name))), "others may have its name"
    for nothing in ("no such thing", f"season {10**30}", f"bot/{2**63}"):
        assert "No decision matches." in read(site, about=nothing)


def test_a_changed_setting_shows_what_it_was(site: Site, played: Played) -> None:
    site.world.write(edit_season, site.world.boss, 1, name="Spring")
    page = re.sub("<[^>]*>", "", read(site, about="Spring", kind="Seasons"))
    assert re.search(r"name \S.* → Spring", page)
    assert site.world.read(first_broken) is None


def test_things_have_names_and_pages_and_old_decisions_keep_the_choice(site: Site, played: Played, monkeypatch) -> None:
    monkeypatch.setattr("deadheat.api.pages.audit.RECORDS", 1)
    page = read(site, kind="Matches")
    assert f'voided <a href="/matches/{played.ids[1]}">match {played.ids[1]}</a>' in page
    assert "the &lt;b&gt;host&lt;/b&gt;" in page
    older = re.search(r'href="(/audit[^"#]*cursor=[^"#]*)', page)
    assert older
    following = site.client.get(older[1].replace("&amp;", "&")).text
    assert SUBJECT.findall(following) == [f"match/{played.ids[0]}"]
    assert re.search(r'uploaded a version of <a href="/bots/\d+">bot [^<]+</a>', read(site, kind="Bots"))


def test_a_record_without_the_figures_that_its_action_has_stops_no_page(site: Site, played: Played) -> None:
    match = played.ids[0]
    with site.world.db.transaction() as session:
        for action, data in (("match-voided", [1]), ("appeal-ruled", {}), ("match-decided", {})):
            record(session, "eve", action, f"match/{match}", data)  # type: ignore[arg-type]
    assert read(site, who="eve").count('aria-label="Decisions about') == 3
    assert "eve" in site.client.get(f"/matches/{match}").text


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
