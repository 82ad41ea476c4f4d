"""Forms that can send more than one thing: a row with two buttons, and a place to drop files on."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from playwright.sync_api import Dialog, expect

from deadheat.league.service.seasons.seasons import season_info
from tests.cli.test_season import example, house_bots
from tests.site.conftest import PHONE, League, Open, keeps_out, signed_in_as
from tests.site.test_story import drops

COUNTS = """() => {
    window.sent = 0;
    XMLHttpRequest.prototype.send = () => { window.sent += 1; };
}"""


def test_an_organiser_decides_about_an_entry_by_either_button(visit: Open, league: League) -> None:
    page = visit("/desk/seasons/6", storage_state=signed_in_as(league, league.site.world.boss.id))
    assert keeps_out(page) == []
    row = page.get_by_role("region", name="Entries").get_by_role("row").nth(1)
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.on("dialog", answer)
    for button, state in (("Withdraw", "withdrawn"), ("Disqualify", "disqualified"), ("Reinstate", "yes")):
        row.get_by_role("textbox").fill(f"{button} it.")
        row.get_by_role("button", name=button).click()
        expect(row).to_contain_text(state)
        assert asked.pop().startswith(f"{button} "), "each is asked about"
        expect(page.get_by_role("status")).to_contain_text("The bot was")
        expect(page).not_to_have_url(re.compile("done="))  # it is said once
    assert keeps_out(page) == []


def test_what_is_wrong_is_in_sight_and_has_the_focus(visit: Open, league: League) -> None:
    page = visit("/desk/seasons/new", storage_state=signed_in_as(league, league.site.world.boss.id), viewport=PHONE)
    page.get_by_label("Name").fill("Wrong")
    page.get_by_label("How many qualify").fill("2")
    page.evaluate("document.querySelector('#season-finals_top').min = ''")
    page.get_by_label("How many qualify").fill("1")
    page.get_by_role("button", name="Create season").click()
    wrong = page.locator("#season-finals_top[aria-invalid]")
    expect(wrong).to_be_focused()
    expect(wrong).to_be_in_viewport()


def test_a_file_dropped_while_another_is_on_its_way_is_not_sent(visit: Open, league: League) -> None:
    owner, bot_id = league.site.world.bot()
    page = visit(f"/bots/{bot_id}/upload", storage_state=signed_in_as(league, owner.id))
    page.evaluate(COUNTS)
    for _ in range(2):
        drops(page, "bot.py", b"print()")
        assert page.evaluate("window.sent") == 1
    expect(page.get_by_role("button", name="Upload")).to_be_disabled()


def test_a_season_is_previewed_from_a_file_and_made(visit: Open, league: League) -> None:
    house_bots(league.site.world)
    page = visit("/desk/season-file", storage_state=signed_in_as(league, league.site.world.boss.id), viewport=PHONE)
    page.get_by_label("A file (TOML)").set_input_files(
        {"name": "contest.toml", "mimeType": "application/toml", "buffer": example().encode()}
    )
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("region", name="Timetable")).to_contain_text("2027-08-01 15:00 KST")
    assert keeps_out(page) == []
    page.get_by_role("button", name="Create the season").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Code Battle 2027")
    page.get_by_role("link", name="the season as a file").click()
    page.get_by_role("textbox").fill("[season]\nname = 'x'\n[finals]\nfinals_tops = 8\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text(
        "finals.finals_tops: there is no such key; did you mean finals_top."
    )
    assert keeps_out(page) == []


def test_a_seasons_dates_are_chosen_in_the_readers_time_and_sent_in_utc(visit: Open, league: League) -> None:
    boss = signed_in_as(league, league.site.world.boss.id)
    page = visit("/desk/seasons/new", storage_state=boss, timezone_id="Asia/Seoul")
    expect(page.get_by_text("Dates, in your time (Asia/Seoul)")).to_be_visible()
    page.get_by_label("Name").fill("Seoul")
    page.get_by_label("Opens", exact=True).fill("2030-01-02T09:30:00")
    page.get_by_role("button", name="Create season").click()
    page.wait_for_url(re.compile(r"/desk/seasons/\d+"))
    season = league.site.world.read(season_info, int(re.findall(r"/seasons/(\d+)", page.url)[0]))
    assert season.opens_at == datetime(2030, 1, 2, 0, 30, tzinfo=UTC)
    expect(page.locator("#settings-opens_at, #season-opens_at, [id$=opens_at]").first).to_have_value("2030-01-02T09:30")
