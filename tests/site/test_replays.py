"""Watching matches: every game to its end, by keys and by hand, with and without scripts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.site.conftest import PHONE, League, Open, overflows, serious
from tests.site.leagues import SHOWN

WATCHED = ("yacht-auction", "betris-large-bank", "liars-dice-six")
"""One of each game, with and without a fault."""


def viewer(page: Page) -> Page:
    page.wait_for_selector("#replay:not([hidden])")
    return page


def moves(page: Page) -> int:
    return int(page.locator("[data-part=scrub]").get_attribute("max") or "-1") + 1


@pytest.mark.parametrize("name", WATCHED)
def test_a_match_is_watched_to_its_end(visit: Open, league: League, name: str) -> None:
    page = viewer(visit(f"/matches/{league.matches[name]}"))
    page.locator("[data-part=speed]").select_option("10")
    page.get_by_role("button", name="Play").click()
    last = moves(page)
    expect(page.locator("[data-part=where]")).to_have_text(re.compile(rf"move {last} of {last}$"), timeout=20_000)
    expect(page.locator("[data-part=words]")).to_have_text(re.compile(r"wins\.|draw|Nobody wins"))
    expect(page.get_by_role("button", name="Play", exact=True)).to_have_attribute("aria-pressed", "false")
    assert page.url.endswith(f"#move-{last - 1}")


@pytest.mark.parametrize("name", WATCHED)
def test_a_match_page_keeps_nobody_out(visit: Open, league: League, name: str) -> None:
    for context in ({"color_scheme": "dark"}, {"viewport": PHONE}):
        page = viewer(visit(f"/matches/{league.matches[name]}", **context))
        assert serious(page) == []
        assert not overflows(page)


def test_the_address_names_the_move(visit: Open, league: League) -> None:
    path = f"/matches/{league.matches['yacht-auction']}"
    page = viewer(visit(f"{path}#move-17"))
    expect(page.locator("[data-part=where]")).to_contain_text("move 18 of")
    page.evaluate("location.hash = '#move-3'")
    expect(page.locator("[data-part=where]")).to_contain_text("move 4 of")
    page.evaluate("location.hash = '#move-99999'")
    last = moves(page)
    expect(page.locator("[data-part=where]")).to_contain_text(f"move {last} of {last}")


def test_keys_step_jump_and_play(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['betris-large']}"))
    page.get_by_role("button", name="Next").focus()
    for key, place in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", moves(page)), ("Home", 1)):
        page.keyboard.press(key)
        expect(page.locator("[data-part=where]")).to_contain_text(f"move {place} of")


def test_a_fault_is_found_with_one_press(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['yacht-auction-forfeit']}"))
    page.get_by_role("button", name="Go to the fault").click()
    expect(page.locator("[data-part=words]")).to_contain_text("fails by malformed at SCORE")


def test_hands_are_hidden_from_whose_eyes_one_borrows(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['liars-dice']}#move-1"))
    assert page.locator(".liars .die.down").count() == 0
    page.locator("[data-part=sight]").select_option("0")
    assert page.locator(".liars .die.down").count() == 5, "the other's five dice"


def test_the_lines_are_shown_as_they_were_sent(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['yacht-auction']}#move-1"))
    page.get_by_text("The lines as they were sent").click()
    expect(page.locator("[data-part=lines] pre")).to_contain_text("<< ROLL 21141 32433")
    expect(page.locator("[data-part=lines] pre")).to_contain_text(">> BID B 1")


def test_the_server_verifies_on_request(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['betris-large']}"))
    page.get_by_text("re-simulate now").click()
    expect(page.locator("output")).to_contain_text("Verified: all 26 exchanges")


@pytest.mark.parametrize("name", SHOWN)
def test_without_scripts_the_match_is_told_in_words(visit: Open, league: League, name: str) -> None:
    page = visit(f"/matches/{league.matches[name]}#move-2", java_script_enabled=False)
    assert page.locator("#replay").is_hidden()
    assert page.locator("tr#move-2").count() == 1
    rows = page.locator(".moves tbody tr")
    assert rows.count() >= 6
    assert re.search(r"wins\.|draw|Nobody wins", rows.last.inner_text())
