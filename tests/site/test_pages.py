"""Pages, the reference, and who is signed in."""

import re
import struct
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Dialog, Page, ViewportSize, expect
from sqlmodel import col, select, update

from deadheat.api.pages import home, live
from deadheat.api.services import Boards, Bodies
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.seasons.seasons import create_season, season_info
from deadheat.league.states import JobState
from deadheat.league.tables import Bot, Ending, Participant, Series
from tests.cli.test_season import example, house_bots
from tests.site.conftest import PHONE, WIDE, League, Open, keeps_out, signed_in_as
from tests.site.picture import take
from tests.site.test_play import signed_in


@pytest.mark.parametrize("context", [{}, {"viewport": PHONE}], ids=["wide", "phone"])
def test_no_column_of_the_audit_log_is_cut(visit: Open, context: dict[str, object]) -> None:
    page = visit("/audit", **context)
    assert page.locator(".decisions").evaluate("part => part.scrollWidth <= part.clientWidth")
    newest = page.locator(".decisions li").first.locator("code").last
    assert page.locator("p.note .hash").first.inner_text().startswith(newest.inner_text())


def test_a_reader_sees_the_leaderboard_move_and_keeps_the_place(visit: Open, league: League, monkeypatch) -> None:
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.1)
    page = visit("/seasons/1")
    ranked = page.locator("#board .note").filter(has_text="Ranked").first
    before = re.search(r"from (\d+) rated", ranked.inner_text())
    assert before is not None
    name = page.locator("#board tbody th a").first
    name.focus()
    play_a_series(league, 1)
    expect(ranked).not_to_contain_text(f"from {before[1]} rated")
    focused = page.evaluate("document.activeElement.closest('#board') !== null")
    assert focused, "who reads by keyboard is not thrown back to the top"


def test_from_a_name_to_its_faults_by_links_alone(visit: Open) -> None:
    page = visit("/", java_script_enabled=False)
    page.get_by_role("link", name="yacht-auction-forfeit").click()
    page.locator("#board .fault").first.click()
    expect(page.get_by_role("heading", name="Faults")).to_be_visible()
    page.get_by_role("region", name="Faults").get_by_role("link").first.click()
    expect(page.locator(".faultbox")).to_contain_text("malformed")


def play_a_series(league: League, season_id: int) -> None:
    world = league.site.world
    world.tick()
    with world.db.reading() as session:
        waiting = (Series.season_id == season_id, Series.state == JobState.QUEUED)
        series_id = session.exec(select(Series.id).where(*waiting).order_by(col(Series.id))).first()
    assert series_id is not None
    assert world.finish(world.claimed(series_id))
    world.clock.turn(60)
    assert world.write(refit, season_id)


def test_the_readmes_picture_is_taken_of_a_seasons_page(visit: Open, tmp_path: Path) -> None:
    take(visit("/seasons/1"), tmp_path / "taken.png")
    width, height = struct.unpack(">II", (tmp_path / "taken.png").read_bytes()[16:24])
    assert (width, 300 < height < 900) == (WIDE["width"], True)


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_homes_picture_is_whole_and_begins_with_something_on_it(
    visit: Open, league: League, monkeypatch: pytest.MonkeyPatch, viewport: ViewportSize
) -> None:
    monkeypatch.setattr(home, "_chosen", lambda *_: league.matches["betris-large"])
    monkeypatch.setattr(Boards, "newest_part", lambda _boards, _key, _version, make: make())
    monkeypatch.setattr(Bodies, "fresh", lambda *_: None)
    page = visit("/", viewport=viewport, reduced_motion="reduce")
    stage = page.locator("#featured .stage")
    expect(stage.locator(".piece").first).to_be_visible()
    assert stage.evaluate("part => part.scrollHeight <= part.clientHeight && part.scrollWidth <= part.clientWidth")


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
    page = visit("/docs/start/organiser", storage_state=signed_in_as(league, league.site.world.boss.id))
    desk, operator = (page.locator(f'nav [href="{path}"]') for path in ("/desk", "/operator"))
    expect(desk).to_be_hidden()  # this browser has opened no personal page yet
    page.goto("/account")
    page.goto("/docs/start/organiser")
    expect(desk).to_be_visible()
    expect(operator).to_be_hidden()
    page.goto("/account")
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.wait_for_load_state()
    page.goto("/docs/start/organiser")
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


def asked(page: Page, kind: str, name: str) -> None:
    """Answer the questions about a new season."""
    page.get_by_label("Game").select_option("liars-dice")
    page.get_by_label(kind).check()
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Preview").click()


def test_what_is_wrong_is_in_sight_and_has_the_focus(visit: Open, league: League) -> None:
    page = visit("/desk/seasons/new", storage_state=signed_in_as(league, league.site.world.boss.id), viewport=PHONE)
    page.get_by_label("Closes").fill("2020-01-01T00:00")
    asked(page, "Contest", "Wrong")
    wrong = page.locator("#season-closes_at[aria-invalid]")
    expect(wrong).to_be_focused()
    expect(wrong).to_be_in_viewport()
    expect(page.get_by_label("Contest")).to_be_checked()


@pytest.mark.parametrize(("scripts", "zone"), [(True, "Asia/Seoul"), (False, "UTC")], ids=["scripts", "plain"])
def test_four_answers_and_a_preview_make_a_season(visit: Open, league: League, scripts: bool, zone: str) -> None:
    boss = signed_in_as(league, league.site.world.boss.id)
    page = visit("/desk/seasons/new", storage_state=boss, timezone_id="Asia/Seoul", java_script_enabled=scripts)
    expect(page.get_by_label("Time zone")).to_have_value(zone)
    page.get_by_label("Opens").fill("2030-01-05T10:00")
    page.get_by_label("Closes").fill("2030-01-06T18:00")
    asked(page, "Contest", f"Dice in {zone.rpartition('/')[2]}")
    expect(page.get_by_role("region", name="Timetable")).to_contain_text("Stage 3")
    expect(page.get_by_role("textbox")).to_be_hidden()
    page.get_by_text("More", exact=True).click()
    page.get_by_role("textbox").fill(page.get_by_role("textbox").input_value().replace("rounds = 7", "rounds = 6"))
    page.get_by_role("button", name="Preview").click()
    assert not scripts or keeps_out(page) == []
    page.get_by_role("button").filter(has_text=re.compile("season|Preview")).first.click()
    page.wait_for_url(re.compile(r"/desk/seasons/\d+"))
    season = league.site.world.read(season_info, int(re.findall(r"/seasons/(\d+)", page.url)[0]))
    assert (season.seats, season.opens_at) == (4, datetime(2030, 1, 5, 10, tzinfo=ZoneInfo(zone)))


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
    season_id = league.site.world.write(create_season, league.site.world.boss, name="Seoul", game="yacht-auction").id
    page = visit(f"/desk/seasons/{season_id}", storage_state=boss, timezone_id="Asia/Seoul")
    expect(page.get_by_text("Dates, in your time (Asia/Seoul)")).to_be_visible()
    page.get_by_label("Opens", exact=True).fill("2030-01-02T09:30:00")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("saved")
    season = league.site.world.read(season_info, season_id)
    assert season.opens_at == datetime(2030, 1, 2, 0, 30, tzinfo=UTC)
    expect(page.locator("#settings-opens_at")).to_have_value("2030-01-02T09:30")


FORFEITS = ("yacht-auction-forfeit", "betris-large-bank")
SEATS = {
    "yacht-auction-forfeit": (0, "malformed"),
    "betris-large-bank": (0, "timeout"),
    "betris-large": (0, ""),
    "liars-dice": (1, ""),
    "yacht-auction": (0, ""),
}
"""The seat whose owner looks, and the fault by which it lost, by transcript."""

HOSTILE = "\x1b[31mred\x1b[0m \u202etxt.exe <script>document.title='taken'</script>\n"


def opened(visit: Open, league: League, name: str, **arguments: object) -> Page:
    """Follow links from a match to the page that only the owner of the seat sees."""
    match_id, (seat, _) = league.matches[name], SEATS[name]
    with league.site.world.db.transaction() as session:
        mine = (Participant.match_id == match_id, Participant.seat == seat)
        owner = session.exec(select(Bot.owner_id).join(Participant, col(Participant.bot_id) == Bot.id).where(*mine))
        user_id = owner.one()
    page = visit(f"/matches/{match_id}", storage_state=signed_in_as(league, user_id), **arguments)
    if arguments.get("java_script_enabled", True):
        page.locator("#replay .stage > *").first.wait_for()  # it pushes the link down
    page.get_by_role("link", name="what your bot wrote to stderr").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Your bot in match {match_id}")
    return page


def test_a_match_leads_its_signed_in_authors_to_why_they_lost(visit: Open, league: League) -> None:
    page = opened(visit, league, "yacht-auction-forfeit")
    page.wait_for_load_state()  # by then the browser knows the author's bots
    page.goto(f"/matches/{league.matches['yacht-auction-forfeit']}")
    page.locator(".matchhead").get_by_role("link", name="Your bot lost: see why").click()
    expect(page.locator(".faultbox")).to_contain_text("malformed")


@pytest.mark.parametrize("name", FORFEITS)
def test_a_fault_leads_to_its_move(visit: Open, league: League, name: str) -> None:
    page = opened(visit, league, name)
    assert keeps_out(page) == []
    expect(page.get_by_role("region", name="Stderr of seat")).to_have_text(f"stderr of seat {SEATS[name][0]}")
    expect(page.locator(".faultbox")).to_contain_text(SEATS[name][1])
    expect(page.get_by_role("region", name="Last lines").locator("tbody tr").last).to_contain_text("bot")
    page.get_by_role("link", name="See it in the replay").click()
    expect(page.locator("#replay .words.fault")).to_contain_text(f"fails by {SEATS[name][1]}")


def test_a_loss_without_a_fault_leads_to_the_last_move(visit: Open, league: League) -> None:
    page = opened(visit, league, "liars-dice")
    assert keeps_out(page) == []
    page.get_by_role("link", name="The end of the replay").click()
    expect(page.locator("#replay .words")).to_have_text("expert wins.")


@pytest.mark.parametrize("scripts", [False, True], ids=["without scripts", "with scripts"])
def test_hostile_stderr_is_text(visit: Open, league: League, scripts: bool) -> None:
    with league.site.world.db.transaction() as session:
        ours = col(Ending.match_id) == league.matches["betris-large"]
        session.exec(update(Ending).where(ours).values(stderr=HOSTILE))
    page = opened(visit, league, "betris-large", java_script_enabled=scripts)
    expect(page.get_by_role("region", name="Stderr of seat")).to_contain_text(r"\x1b[31mred\x1b[0m \u202etxt")
    expect(page.locator("main script")).to_have_count(0)
    assert "taken" not in page.title()


NOTES = "hello\n# note 3: they bid low\n# note without a place\n# note 3: so do I\n"


def test_notes_of_ones_bot_stand_beside_the_move_and_nowhere_else(visit: Open, league: League) -> None:
    match_id = league.matches["yacht-auction"]
    with league.site.world.db.transaction() as session:
        session.exec(update(Ending).where(col(Ending.match_id) == match_id, col(Ending.seat) == 0).values(stderr=NOTES))
    page = opened(visit, league, "yacht-auction")
    page.get_by_text("3 notes of seat 1").click()
    links = page.get_by_role("region", name="Notes of seat 1").get_by_role("link")
    expect(links).to_have_count(2)
    links.first.click()
    expect(page.locator("#replay .noted")).to_have_text("they bid low\nso do I")
    expect(page.locator("#replay .words")).to_contain_text("expert")
    page.get_by_role("button", name="First move").click()
    expect(page.locator("#replay .noted")).to_have_text("")
    assert keeps_out(page) == []
    for path in (f"/matches/{match_id}", f"/v1/matches/{match_id}/replay", f"/matches/{match_id}/embed"):
        assert "they bid low" not in league.site.client.get(path).text


def test_the_leaderboard_is_searched_without_scripts(visit: Open) -> None:
    page = visit("/seasons/1", java_script_enabled=False)
    page.get_by_role("searchbox").fill("COUNTER")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#board table.board tbody tr")).to_have_count(1)
    expect(page.locator("#board table.board tbody th")).to_contain_text("counter")
