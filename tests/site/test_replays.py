"""Every game is watched to its end, by keys and by hand, with and without scripts."""

import re
import sys
import unicodedata
from dataclasses import replace

import pytest
from playwright.sync_api import Page, ViewportSize, expect
from sqlmodel import col, select, update

from deadheat.engine.chance import commitment
from deadheat.engine.core import Reply
from deadheat.engine.figures import visible
from deadheat.engine.games.folder import web_address
from deadheat.engine.scenes import document
from deadheat.engine.transcript import Transcript, decode
from deadheat.league.jobs import MatchOutcome, SeriesJob
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.seasons.seasons import create_season
from deadheat.league.service.series import live
from deadheat.league.states import SeasonState
from deadheat.league.tables import Match, Series
from tests.lanes import scaled
from tests.league.outcomes import won
from tests.site.conftest import PHONE, League, Open, barriers, keeps_out
from tests.site.leagues import SHOWN, TRANSCRIPTS

WATCHED = ("yacht-auction", "betris-large-bank", "liars-dice-six")
"""A match of each game, with and without a fault."""

DESK: ViewportSize = {"width": 1280, "height": 720}

LIMITED = """
const change = history.replaceState.bind(history);
let changes = [];
history.replaceState = (...what) => {
  changes = changes.filter((at) => at > Date.now() - 30000);
  if (changes.length >= 100) throw new DOMException("more than 100 times per 30 seconds", "SecurityError");
  changes.push(Date.now());
  change(...what);
};"""
"""Does what WebKit does to a page that changes its address too often."""


def viewer(page: Page) -> Page:
    page.wait_for_selector("#replay:not([hidden])")
    return page


def moves(page: Page) -> int:
    return int(page.locator("[data-part=scrub]").get_attribute("max") or "-1") + 1


def stop_the_clock(page: Page) -> None:
    """Stop the installed clock of a page, an hour ahead because it cannot go back."""
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 3600"))


def watch_to_its_end(page: Page) -> None:
    """Press Play and watch at the usual speed, on a page whose clock the test turns."""
    stop_the_clock(page)
    page.get_by_role("button", name="First move").click()
    page.get_by_role("button", name="Play", exact=True).click()
    last = moves(page)
    page.clock.run_for(1200)  # a step takes 1.1 s
    expect(page.locator("[data-part=where]")).to_have_text(re.compile(rf"move [2-9] of {last}$"))
    page.clock.run_for(last * 1100)
    expect(page.locator("[data-part=where]")).to_have_text(re.compile(rf"move {last} of {last}$"))
    page.clock.resume()


@pytest.mark.parametrize("name", WATCHED)
def test_a_match_is_watched_to_its_end(visit: Open, league: League, name: str) -> None:
    page = visit("/docs/why/ratings")
    page.clock.install()  # the page's own clock, so that nobody waits
    page.goto(f"/matches/{league.matches[name]}")
    viewer(page)
    watch_to_its_end(page)
    expect(page.locator("[data-part=words]")).to_have_text(re.compile(r"wins\.|draw|Nobody wins"))
    expect(page.get_by_role("button", name="Play", exact=True)).to_have_attribute("aria-pressed", "false")
    assert page.url.endswith(f"#move-{moves(page) - 1}")


def test_the_address_names_the_move(visit: Open, league: League) -> None:
    path = f"/matches/{league.matches['yacht-auction']}"
    page = viewer(visit(f"{path}#move-17"))
    expect(page.locator("[data-part=where]")).to_contain_text("move 18 of")
    page.evaluate("location.hash = '#move-3'")
    expect(page.locator("[data-part=where]")).to_contain_text("move 4 of")
    page.evaluate("location.hash = '#move-99999'")
    last = moves(page)
    expect(page.locator("[data-part=where]")).to_contain_text(f"move {last} of {last}")


def test_a_browser_that_limits_changes_of_the_address_sees_every_move(visit: Open, league: League) -> None:
    page = visit("/docs/why/ratings")
    page.add_init_script(LIMITED)
    page.goto(f"/matches/{league.matches['betris-large']}")
    last = moves(viewer(page)) - 1
    scrub = """last => {
      const scrub = document.querySelector("[data-part=scrub]");
      for (let step = 0; step < 130; step += 1) {
        scrub.value = step % last;
        scrub.dispatchEvent(new Event("input"));
      }
    }"""
    page.evaluate(scrub, last)
    at = 129 % last
    where, words = page.locator("[data-part=where]"), page.locator("[data-part=words]")
    expect(where).to_contain_text(f"move {at + 1} of")
    drawn = page.locator("[data-part=stage]").inner_html()
    expect(page).to_have_url(re.compile(rf"#move-{at}$"))
    fresh = viewer(visit(f"/matches/{league.matches['betris-large']}#move-{at}"))
    expect(fresh.locator("[data-part=words]")).to_have_text(words.inner_text())
    assert fresh.locator("[data-part=stage]").inner_html() == drawn


def test_keys_work_after_a_link_and_after_a_click_on_the_picture(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['betris-large']}#move-5"))
    where = page.locator("[data-part=where]")
    page.keyboard.press("ArrowRight")
    expect(where).to_contain_text("move 7 of")
    page.get_by_role("button", name="Next").focus()
    page.locator("[data-part=stage]").click(position={"x": 5, "y": 5})
    page.keyboard.press("ArrowLeft")
    expect(where).to_contain_text("move 6 of")
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_text("Lines as sent").focus()
    page.keyboard.press(" ")
    expect(page.locator("[data-part=lines]")).to_have_attribute("open", "")
    page.set_viewport_size({"width": 1280, "height": 400})
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.locator("h2").last.click()
    page.keyboard.press("Home")
    expect(where).not_to_contain_text("move 1 of")


def test_keys_step_jump_and_with_shift_step_rounds(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['betris-large']}#move-0"))
    where = page.locator("[data-part=where]")
    page.get_by_role("button", name="Next").focus()
    for key, place in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", moves(page)), ("Home", 1)):
        page.keyboard.press(key)
        expect(where).to_contain_text(f"move {place} of")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(where).to_contain_text("round 3, move 9 of")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowLeft")
    expect(where).to_contain_text("round 3, move 9 of")


def test_keys_lead_to_the_next_and_previous_match_of_the_list_followed_last(visit: Open, league: League) -> None:
    first = league.matches["yacht-auction"]
    page = viewer(visit(f"/matches/{first}"))
    lists = page.locator("[data-list]")
    page.keyboard.press("Shift+PageDown")
    expect(page).to_have_url(re.compile(rf"/matches/{first + 1}$"))
    page.keyboard.press("Shift+PageUp")
    expect(page).to_have_url(re.compile(rf"/matches/{first}$"))
    lists.last.locator("[rel=next]").click()
    expect(page).to_have_url(re.compile(rf"/matches/{first + 1}$"))
    beyond = lists.last.locator("[rel=next]").get_attribute("href")
    expect(lists.first.locator("[rel=next]")).to_have_count(0)  # the series ends here, but not the list of both
    page.keyboard.press("Shift+PageDown")
    expect(page).to_have_url(re.compile(rf"{beyond}$"))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("yacht-auction", "puts 2 6 5 1 2 on six: 6,000 points"),
        ("yacht-auction-forfeit", "fails by malformed at SCORE"),
        ("betris-large", "passes with L5"),
        ("liars-dice-six", "calls 2 of face 1 a lie"),
    ],
)
def test_a_match_opens_with_the_moment_that_decided_it(visit: Open, league: League, name: str, told: str) -> None:
    page = viewer(visit(f"/matches/{league.matches[name]}"))
    words = page.locator("[data-part=words]")
    expect(words).to_contain_text(told)
    assert "#" not in page.url, "a viewer that has just opened leaves the address alone"
    page.get_by_role("button", name="First move").click()
    expect(words).not_to_contain_text(told)
    page.keyboard.press("d")
    expect(words).to_contain_text(told)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("name", WATCHED)
def test_nothing_jumps_while_a_match_plays_and_a_desk_shows_board_and_buttons_at_once(
    visit: Open, league: League, name: str, size: ViewportSize
) -> None:
    page = viewer(visit(f"/matches/{league.matches[name]}", viewport=size))
    heights = page.evaluate(
        """async () => {
          const parts = ["[data-part=stage]", "[data-part=scrub]", "#replay"];
          const [stage, scrub, whole] = parts.map((part) => document.querySelector(part));
          const seen = new Set();
          for (let at = 0; at <= Number(scrub.max); at += 1) {
            scrub.value = at;
            scrub.dispatchEvent(new Event("input"));
            seen.add(`${stage.offsetHeight} ${whole.offsetHeight} ${stage.scrollWidth <= stage.clientWidth}`);
          }
          return [...seen];
        }"""
    )
    assert len(heights) == 1 and heights[0].endswith("true"), heights
    for part in ("stage", "words", "last", "scrub") if size is DESK else ():
        place = page.locator(f"[data-part={part}]").bounding_box()
        assert place is not None and place["y"] + place["height"] <= DESK["height"], f"{part} is out of sight"


def test_a_press_on_the_chart_jumps_to_the_move_there(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['betris-large']}"))
    chart = page.locator(".chart .bands")
    place = chart.bounding_box()
    assert place is not None
    chart.click(position={"x": place["width"] - 1, "y": 10})
    last = moves(page)
    expect(page.locator("[data-part=where]")).to_contain_text(f"move {last} of {last}")
    chart.click(position={"x": 1, "y": place["height"] - 2})
    expect(page.locator("[data-part=where]")).to_contain_text("move 1 of")
    assert "expert 45.5, counter 42.5" in (chart.get_attribute("aria-label") or "")


def test_the_chart_tells_apart_the_bots_time_the_hosts_and_faults(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['yacht-auction-busy']}"))
    assert page.locator(".chart .host").count() >= 1 and page.locator(".chart .fault-line").count() == 0
    page = viewer(visit(f"/matches/{league.matches['liars-dice-six']}"))
    assert page.locator(".chart .fault-line").count() == 2
    assert page.locator(".chart .line").count() == 6, "a line for each seat"


def test_a_move_is_shared_by_a_button(visit: Open, league: League) -> None:
    page = visit("/docs/why/ratings", permissions=["clipboard-read", "clipboard-write"])
    page.clock.install()
    page.goto(f"/matches/{league.matches['betris-large']}#move-5")
    viewer(page).get_by_role("button", name="Next").click()
    stop_the_clock(page)  # the button says it for two seconds
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").endswith(f"/matches/{league.matches['betris-large']}#move-6")


def test_dice_that_score_are_lit(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['yacht-auction']}#move-99999"))
    used = page.locator("[data-category=SIX][data-seat='0']")
    expect(used.locator(".points")).to_have_text(re.compile("6.000"))
    assert used.locator(".die").count() == 5
    assert [die.get_attribute("data-face") for die in used.locator(".die.lit").all()] == ["6"]


ODDS = [
    (1, 6, [], 1, 1 / 3),  # a six or a one
    (1, 1, [], 1, 1 / 6),
    (2, 4, [], 2, 1 / 9),
    (1, 4, [], 2, 5 / 9),
    (2, 4, [1, 4, 5], 3, 1.0),  # both are in the hand
    (3, 1, [1, 4, 5], 2, 1 / 36),  # two more ones of two
    (4, 3, [3], 2, 0.0),  # more than is possible
    (30, 6, [], 30, (1 / 3) ** 30),
]
"""Bids: quantity, face, the bidder's hand, how many dice are hidden, and the chance that the bid is true."""


def test_the_odds_of_a_bid_are_exact(visit: Open) -> None:
    found = visit("/docs/why/ratings").evaluate(
        """async ([address, bids]) => {
          const { odds } = await import(address);
          return bids.map(([quantity, face, hand, hidden]) => odds({ quantity, face }, hand, hidden));
        }""",
        [web_address("liars-dice", "board.js"), [bid[:4] for bid in ODDS]],
    )
    assert found == pytest.approx([chance for *_, chance in ODDS], abs=1e-12)


def test_one_seats_eyes_see_neither_the_dice_of_others_nor_odds_that_tell_of_them(visit: Open, league: League) -> None:
    """One seat sees two odds: those of the dice alone, and its own."""
    page = viewer(visit(f"/matches/{league.matches['liars-dice']}#move-1"))
    expect(page.locator(".odds li")).to_have_count(3)
    assert page.locator(".liars .die.down").count() == 0
    page.locator("[data-part=sight]").select_option("0")
    assert page.locator(".liars .die.down").count() == 5, "the other's five dice"
    expect(page.locator(".odds li")).to_have_count(2)
    expect(page.locator(".odds li").last).to_contain_text(re.compile(r"^as \w+ sees it"))


@pytest.mark.parametrize("name", ["betris-large", "liars-dice-six"])
def test_a_frame_shows_the_board_and_keeps_nobody_out(visit: Open, league: League, name: str) -> None:
    page = viewer(visit(f"/matches/{league.matches[name]}/embed"))
    page.get_by_role("button", name="Next").click()
    assert page.locator("[data-part=stage] *").count() > 10
    expect(page.get_by_role("button", name="Copy link")).to_be_hidden()
    assert keeps_out(page, dark=True) == []  # boards have translucent grounds


def test_nothing_moves_for_those_who_want_less_motion(visit: Open, league: League) -> None:
    """The cups lift, unless motion is unwanted."""
    moving = "getComputedStyle(document.querySelector('.cup.lifted')).animationName"
    for wanted, motion in (("lift", "no-preference"), ("none", "reduce")):
        page = viewer(visit(f"/matches/{league.matches['liars-dice']}", reduced_motion=motion))
        assert page.evaluate(moving) == wanted


def test_a_fault_is_found_with_one_press(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['yacht-auction-forfeit']}#move-0"))
    page.get_by_role("button", name="Fault").click()
    expect(page.locator("[data-part=words]")).to_contain_text("fails by malformed at SCORE")


def test_the_lines_are_shown_as_they_were_sent(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['yacht-auction']}#move-1"))
    page.get_by_text("Lines as sent").click()
    expect(page.locator("[data-part=lines] pre")).to_contain_text("<< ROLL 21141 32433")
    expect(page.locator("[data-part=lines] pre")).to_contain_text(">> BID B 1")


def test_own_time_stands_beside_its_limit_with_what_the_host_took(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['yacht-auction-busy']}#move-1"))
    told = "480 ms of 500 ms (the host took 150 ms more, so it counted past its deadline)"
    expect(page.locator("[data-part=answers] li").first).to_contain_text(told)
    assert page.locator("[data-part=answers] meter").first.get_attribute("value") == "0.96"
    page.get_by_text("Lines as sent").click()
    expect(page.locator("[data-part=lines] pre")).to_contain_text("480 ms (the host took 150 ms more)")


@pytest.mark.parametrize(
    ("body", "told", "style"),
    [
        ("not ours", "It could not be re-simulated: no connection", "fault"),
        ('{"detail": "Wait."}', "It could not be re-simulated: Wait.", "fault"),
        ('{"verified": false, "problem": "other dice"}', "Not verified: other dice", "fault"),
        ('{"verified": null, "problem": "old rules"}', "It cannot be re-simulated here: old rules.", ""),
    ],
)
def test_a_server_that_does_not_verify(visit: Open, league: League, body: str, told: str, style: str) -> None:
    page = viewer(visit(f"/matches/{league.matches['betris-large']}"))
    page.route("**/verification", lambda route: route.fulfill(body=body))
    page.get_by_text("re-simulate now").click()
    expect(page.locator("output")).to_contain_text(told)
    expect(page.locator("output")).to_have_attribute("class", style)


def test_a_match_under_other_rules_is_told_in_words_alone(visit: Open, league: League) -> None:
    """No picture fails, and no control does nothing."""
    transcript = decode((TRANSCRIPTS / "yacht-auction.jsonl").read_bytes())
    told = document(replace(transcript, rules_version=transcript.rules_version + 1), ("expert", "counter"))
    page = visit("/docs/why/ratings")
    page.route("**/replay", lambda route: route.fulfill(json=told))
    with page.expect_response("**/replay"):
        page.goto(f"/matches/{league.matches['yacht-auction']}")
    page.wait_for_load_state("networkidle")
    expect(page.locator("#replay")).to_be_hidden()
    expect(page.locator("body")).not_to_contain_text("cannot be shown")
    expect(page.locator(".moves tbody tr").first).to_be_visible()


def test_marks_that_are_not_printed_are_spelled_as_the_server_spells_them(visit: Open) -> None:
    last = scaled(sys.maxunicode, 0xFFFF)
    page = visit("/docs/why/ratings")
    spelled = page.evaluate(
        r"""async (last) => {
          const { plain } = await import("/static/text.js");
          return Array.from({ length: last + 1 }, (_, code) => plain(String.fromCodePoint(code), "\n\t"))
            .map((text, code) => (text === String.fromCodePoint(code) ? "" : text));
        }""",
        last,
    )
    assigned = [code for code in range(last + 1) if unicodedata.category(chr(code)) != "Cn"]
    wanted = {code: visible(chr(code), "\n\t") for code in assigned}
    assert {code for code in assigned if (spelled[code] or chr(code)) != wanted[code]} == set()


def test_without_scripts_each_match_is_told_in_words(visit: Open, league: League) -> None:
    page = visit("/docs/why/ratings", java_script_enabled=False)
    for name in SHOWN:
        page.goto(f"/matches/{league.matches[name]}#move-2")
        assert page.locator("#replay").is_hidden(), name
        assert page.locator("tr#move-2").count() == 1, name
        rows = page.locator(".moves tbody tr")
        assert rows.count() >= 6, name
        assert re.search(r"wins\.|draw|Nobody wins", rows.last.inner_text()), name


class Played:
    """A series whose first match is a recorded one, shown exchange by exchange."""

    def __init__(self, league: League, name: str, game: str) -> None:
        self.league, self.world = league, league.site.world
        self.content = (TRANSCRIPTS / f"{name}.jsonl").read_bytes()
        self.transcript: Transcript = decode(self.content)
        world = self.world
        with world.db.transaction() as session:
            season = create_season(
                session, world.boss, game=game, name=f"live {name}", seats=self.transcript.seats, series_length=2
            )
            set_season_state(session, world.boss, season.id, SeasonState.OPEN)
        for seat in range(self.transcript.seats):
            owner, bot_id = world.bot(f"player{seat}", game)
            world.write(enter, owner, season.id, bot_id)
        world.tick()
        with world.db.reading() as session:
            series_id = session.exec(select(Series.id).where(Series.season_id == season.id)).first()
        assert series_id is not None
        job = world.claimed(series_id)
        self.job: SeriesJob = job
        self.match_id = job.matches[0].match_id
        with world.db.transaction() as session:
            of_it = col(Match.id) == self.match_id
            alone = commitment(self.match_id.to_bytes(32))  # no other match may use its dice
            session.exec(update(Match).where(of_it).values(seed=self.transcript.seed, commitment=alone))

    def show(self, exchanges: int) -> None:
        replies: list[dict[int, Reply]] = [dict(e.replies) for e in self.transcript.exchanges[:exchanges]]
        assert self.world.write(live.show, self.job, self.match_id, replies)

    def finish(self) -> None:
        first, *others = (won(match) for match in self.job.matches)
        stored = self.league.site.blobs.put(self.content)
        mine: MatchOutcome = replace(first, transcript_sha256=stored, result=self.transcript.result)
        assert self.world.finish(self.job, [mine, *others])


def test_a_match_is_watched_while_it_is_played_and_becomes_its_replay(visit: Open, league: League) -> None:
    played = Played(league, "yacht-auction", "yacht-auction")
    page = visit(f"/matches/{played.match_id}")
    expect(page.locator("#told")).to_contain_text("Its series is being played now")
    played.show(3)
    expect(page.locator("[data-part=where]")).to_contain_text("move 4 of 4")
    expect(page.locator("#told")).to_contain_text("Being played now")
    assert barriers(page) == []
    played.show(6)
    expect(page.locator("[data-part=where]")).to_contain_text("move 11 of 11")
    page.get_by_role("button", name="Back", exact=True).click()
    played.show(8)
    expect(page.locator("[data-part=where]")).to_contain_text(re.compile("move 10 of 1[2-9]"))
    home = visit("/")
    home.get_by_role("link", name="watch live").first.click()
    assert re.search(rf"/matches/{played.match_id}$", home.url)
    played.finish()
    page.wait_for_selector("#replay:not([hidden])")
    expect(page.locator("h1")).not_to_contain_text("scheduled")


def test_without_scripts_a_running_match_is_told_in_words(visit: Open, league: League) -> None:
    played = Played(league, "liars-dice", "liars-dice")
    played.show(3)
    page = visit(f"/matches/{played.match_id}", java_script_enabled=False, viewport=PHONE)
    expect(page.locator("#told")).to_contain_text("Being played now")
    expect(page.locator("noscript .moves tbody tr")).to_have_count(4)
    expect(page.locator("noscript meta[http-equiv=refresh]")).to_have_count(1)
    expect(page.locator("html")).to_have_js_property("scrollWidth", PHONE["width"])  # the page reloads itself
    played.finish()
    expect(page.locator(".moves tbody tr").last).to_contain_text(re.compile("wins|draw"))


def test_spectators_see_hands_only_when_they_are_revealed(visit: Open, league: League) -> None:
    played = Played(league, "liars-dice-odd-spelling", "liars-dice")
    challenge = next(
        number
        for number, exchange in enumerate(played.transcript.exchanges)
        if any(event["type"] == "challenge" for event in exchange.events)
    )
    played.show(challenge - 1)
    page = visit(f"/matches/{played.match_id}")
    page.wait_for_selector("#live-match:not([hidden])")
    expect(page.locator("[data-part=sight]")).to_be_hidden()
    assert page.locator(".liars .chair .die:not(.down)").count() == 0
    played.show(challenge)
    expect(page.locator("[data-part=where]")).to_contain_text("round 2")
    page.get_by_role("button", name="Back", exact=True).click()
    expect(page.locator(".liars .chair .die:not(.down)").first).to_be_visible()


def test_the_server_verifies_on_request(visit: Open, league: League) -> None:
    page = viewer(visit(f"/matches/{league.matches['betris-large']}"))
    page.get_by_text("re-simulate now").click()
    expect(page.locator("output")).to_contain_text("Verified: all 26 exchanges")
