"""The signed-in name, on pages that are made without knowing it."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.site.conftest import League, Open, signed_in_as
from tests.site.test_play import signed_in


def test_a_shared_page_shows_who_is_signed_in_until_they_sign_out(visit: Open, league: League) -> None:
    page = signed_in(visit("/"), "known")
    who = page.locator("#who")
    for path in ("/", "/seasons/1", "/environment"):
        page.goto(path)
        expect(who).to_have_text("known")
    assert page.evaluate("document.cookie") == "", "scripts see no cookie, and there is none for them"
    page.goto("/account")
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.wait_for_load_state()
    page.goto("/seasons/1")
    expect(who).to_have_text("Sign in")


def test_who_signs_out_before_a_page_knows_their_bots_leaves_no_name_behind(visit: Open, league: League) -> None:
    page = visit("/")
    page.route("**/v1/bots", lambda _: None)  # it is never answered
    signed_in(page, "brief")
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.wait_for_url(re.compile("/$"))
    page.goto("/seasons/1")
    expect(page.locator("#who")).to_have_text("Sign in")
    assert page.evaluate("localStorage.length") == 0


def test_a_shared_page_leads_organisers_to_their_pages_and_nobody_else(visit: Open, league: League) -> None:
    page = visit("/about/organisers", storage_state=signed_in_as(league, league.site.world.boss.id))
    desk, operator = (page.locator(f'nav [href="{path}"]') for path in ("/desk", "/operator"))
    expect(desk).to_be_hidden()  # this browser has opened no personal page yet
    page.goto("/account")
    page.goto("/about/organisers")
    expect(desk).to_be_visible()
    expect(operator).to_be_hidden()
    page.goto("/account")
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.wait_for_load_state()
    page.goto("/about/organisers")
    expect(desk).to_be_hidden()


def test_a_session_that_ended_elsewhere_is_noticed_on_the_way_to_the_account(visit: Open, league: League) -> None:
    page = signed_in(visit("/"), "elsewhere")
    page.wait_for_function("() => localStorage.getItem('bots')")  # a page left earlier would ask again
    page.context.clear_cookies()
    page.goto("/seasons/1")
    page.locator("#who").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.wait_for_function("() => !localStorage.getItem('name')")
    page.goto("/seasons/1")
    expect(page.locator("#who")).to_have_text("Sign in")


def test_without_scripts_it_leads_to_the_account_all_the_same(visit: Open, league: League) -> None:
    page = signed_in(visit("/", java_script_enabled=False), "unscripted")
    page.goto("/seasons/1")
    expect(page.locator("#who")).to_have_text("Sign in")
    page.locator("#who").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("unscripted")
