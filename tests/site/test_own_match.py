"""The page of a match that only owners see, reached by links, with real transcripts."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from sqlmodel import col, select, update

from deadheat.league.tables import Bot, Ending, Participant
from tests.site.conftest import League, Open, keeps_out, signed_in_as

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
