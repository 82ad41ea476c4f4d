"""Forms of which more than one thing can be sent: a row with two buttons, and a place to drop files on."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.cli.test_organisers_page import example, house_bots
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
    for button, state in (("Withdraw", "withdrawn"), ("Disqualify", "disqualified"), ("Reinstate", "yes")):
        row.get_by_role("textbox").fill(f"{button} it.")
        row.get_by_role("button", name=button).click()
        expect(row).to_contain_text(state)
    assert keeps_out(page) == []


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
