"""People play each game to its end in a browser, against a real bot that a real worker runs."""

import re
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from sqlmodel import col, select

from deadheat.api.pages.player import exhibition
from deadheat.engine.core import TransportError
from deadheat.engine.games.folder import bots_of
from deadheat.games.betris_large.polyominoes import PLACEMENTS, SIDE, bit
from deadheat.games.yacht_auction.rules import CATEGORIES
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.jobs.builds import BuildOutcome, finish_build
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.series.hosts import record_check
from deadheat.league.service.tables import turns, viewing
from deadheat.league.service.tables.advising import LEASE
from deadheat.league.states import Role, TableState
from deadheat.league.tables import TableSeat
from deadheat.sandbox.box import Sandbox
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.local import LocalSandbox
from deadheat.workers import tables as at_work
from deadheat.workers.advice import give_advice
from deadheat.workers.context import Context
from tests.api.site import PASSWORD
from tests.lanes import Lane, scaled
from tests.site.conftest import PHONE, League, Open, barriers, keeps_out, overflows
from tests.workers.conftest import packed

PATIENCE_MS = 180_000
"""The wait for a bot's answer, which takes a moment on an idle machine."""


THUMB = 44
"""The least width and height of what is touched, in pixels (WCAG 2.5.5)."""

DRAG = (0.5, 0.4, 0.2, 0.05)
"""Where a finger drags a block: from the middle of the board to a corner."""


class Worker(threading.Thread):
    """Plays the exhibitions that the site enqueues, as a worker would."""

    def __init__(self, league: League, sandbox: Sandbox) -> None:
        super().__init__(daemon=True)
        self._queue = league.site.queue
        self._world = world = league.site.world
        self.context = Context(world.settings)
        parts = {"database": world.connect(), "blobs": league.site.blobs, "sandbox": sandbox, "host": world.host}
        self.context.__dict__ |= parts
        self.stops = False

    def run(self) -> None:
        while not self.stops:
            if self._queue.exhibitions:
                self._play(self._queue.exhibitions.pop(0))
            time.sleep(0.02)

    def stop(self, seconds: float) -> None:
        """Let everybody who still plays leave, so that nothing of this test lasts into the next."""
        self.stops = True
        with self.context.database.transaction() as session:
            for seat in session.exec(select(TableSeat).where(col(TableSeat.open_user_id).is_not(None))).all():
                turns.resign(session, Person(seat.user_id or 0, "somebody", Role.AUTHOR), seat.table_id)
        self.join(seconds)
        assert not self.is_alive()

    def _play(self, exhibition_id: int) -> None:
        at_work.play_table(self.context, exhibition_id)
        self._world.write(record_check, self._world.host, {}, (), 0)  # as its keeper would, if a void condemned it
        with self.context.database.reading() as session:
            state = viewing.table_info(session, exhibition_id).state
        if state is TableState.QUEUED:
            self._queue.exhibitions.append(exhibition_id)  # the machine was too busy: do as the sweeper would
        elif not self.stops:
            try:
                give_advice(self.context, exhibition_id)
            except TransportError:  # the machine was too busy here too: it is tried again when the lease is over
                self._world.clock.turn(LEASE.total_seconds())
                self._queue.exhibitions.append(exhibition_id)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_work, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(exhibition, "LOOK_SECONDS", 0.05)


@pytest.fixture
def worker(league: League) -> Iterator[Worker]:
    started = Worker(league, LocalSandbox())
    started.start()
    yield started
    started.stop(120)


def opponent(league: League, game: str, name: str = "random") -> int:
    """Enter a bot whose program is one of the house's, and return its id."""
    world = league.site.world
    program = league.site.blobs.put(packed(bots_of(game) / name))
    owner = world.author()
    bot_id = world.write(create_bot, owner, game, f"house{owner.id}").id
    assert world.write(finish_build, world.building(world.upload(owner, bot_id)), BuildOutcome(program, "", ""))
    season_id = world.season(0, game=game)  # people play against bots of a season
    world.write(enter, owner, season_id, bot_id)
    return bot_id


def signed_in(page: Page, name: str) -> Page:
    page.goto("/sign-up")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").first.fill(PASSWORD)
    page.get_by_role("button", name=re.compile("sign up|account", re.IGNORECASE)).click()
    page.wait_for_url(re.compile("/submit"))
    return page


def seated(page: Page, bot_id: int, copies: int = 1) -> Page:
    page.goto(f"/bots/{bot_id}")
    page.get_by_role("link", name="play against it").click()
    if copies > 1:
        page.get_by_label("Number of copies").select_option(label=f"{copies} copies")
        page.get_by_label("Your seat").select_option(label="seat 1")
    page.get_by_role("button", name="Take a seat").click()
    page.wait_for_url(re.compile(r"/play/\d+$"))
    return page


def play(page: Page, move: Callable[[Page], None]) -> int:
    for number in range(400):
        page.locator("form.move button:visible, #replay").first.wait_for(timeout=PATIENCE_MS)
        if page.locator("#replay").count():
            return number
        moved(page, move)
    raise AssertionError("it does not end")


def moved(page: Page, move: Callable[[Page], None]) -> None:
    """Move once, and wait for what follows."""
    before = page.locator("#turn").get_attribute("data-version")
    move(page)
    page.wait_for_function(
        "before => document.getElementById('turn')?.dataset.version !== before"
        " && (document.querySelector('form.move') || document.getElementById('replay'))",
        arg=before,
        timeout=PATIENCE_MS,
    )


class Forms:
    """Moves where no script runs: by the fields of the form."""

    @staticmethod
    def blocks(page: Page) -> None:
        """Place the block where it fits, or pass."""
        if page.locator("input[name=block]").count():
            page.locator("input[name=block]").first.check()
            page.get_by_role("button", name="Bet").click()
            return
        cells = [(x, y) for x in range(1, SIDE + 1) for y in range(1, SIDE + 1)]
        taken = page.locator("[name^=cell]:disabled").evaluate_all("found => found.map(cell => cell.name)")
        filled = sum(bit(cell) for cell in cells if f"cell{cell[0]}{cell[1]}" in taken)
        name = (page.locator("form.move p").filter(has_text="You have").inner_text()).split()[2].strip(":")
        fitting = [mask for mask in sorted(PLACEMENTS[name]) if not mask & filled]
        offered = page.locator("[data-fitting]")
        if not offered.count():
            expect(page.locator("form.move")).to_contain_text("it fits nowhere")
            page.get_by_role("button", name="Pass").click()
            return
        legal = (offered.get_attribute("data-fitting") or "").split()
        assert len(legal) == len(fitting), "all that is legal is offered"
        for x, y in cells:
            if bit((x, y)) & fitting[0]:
                page.locator(f"[name=cell{x}{y}]").check()
        page.get_by_role("button", name="Place", exact=True).click()

    @staticmethod
    def auction(page: Page) -> None:
        if page.locator("select[name=category]").count():
            boxes = page.locator("form.move input[type=checkbox]")
            for place in range(5):
                boxes.nth(place).check()
            page.get_by_role("button", name="Score").click()
            return
        page.locator("input[name=bundle]").first.check()
        page.get_by_role("button", name="Bid", exact=True).click()

    @staticmethod
    def lies(page: Page) -> None:
        challenge = page.get_by_role("button", name="Call it a lie")
        (challenge if challenge.count() else page.get_by_role("button", name="Bid", exact=True)).click()


class Pointer:
    """Moves by tapping and dragging on the board."""

    @staticmethod
    def auction(page: Page) -> None:
        page.locator(".yours .choosable").first.wait_for()
        if page.locator("[data-kind=auction]").count():
            page.locator("[data-bundle=B]").click()
            page.get_by_label("100 more", exact=True).click()
            assert page.locator("[name=bid]").input_value() == "100"
            page.get_by_role("button", name="Bid", exact=True).click()
            return
        score = page.get_by_role("button", name="Score")
        dice = page.locator("[data-hand='1'] .die")
        while page.locator("[data-hand='1'] .die.chosen").count() < 5:
            assert score.is_disabled(), "nothing illegal is offered"
            page.locator("[data-hand='1'] .die:not(.chosen)").first.click()
        if dice.count() > 5:
            dice.last.click()
            assert page.locator("[name^=die]:checked").count() == 5, "a sixth one is not taken"
        page.locator("[data-category][data-seat='1'].choosable").first.click()
        five = page.locator("[name^=die]:checked").evaluate_all("found => found.map(die => die.value)")
        points = CATEGORIES[page.locator("[name=category]").input_value()]("".join(five))
        assert score.inner_text() == f"Score {points:,}"
        score.click()

    @staticmethod
    def blocks(page: Page) -> None:
        if page.locator("[data-kind=bet]").count():
            page.locator(".yours [data-block].choosable").first.click()
            page.get_by_role("button", name="Bet").click()
            return
        board = page.locator(".yours .seat1 svg.board")
        if not page.locator("[data-fitting]").count():
            page.get_by_role("button", name="Pass").click()
            return
        page.locator(".aimed rect").first.wait_for()
        place = board.bounding_box()
        assert place is not None
        page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
        page.mouse.down()
        page.mouse.move(place["x"] + 8, place["y"] + 8, steps=3)
        page.mouse.up()
        size = int(page.locator(".by-cells legend").text_content().split()[2])  # type: ignore[union-attr]
        ticked = page.locator("[name^=cell]:checked:not(:disabled)")
        assert page.locator(".aimed rect").count() == size == ticked.count()
        page.get_by_role("button", name="Place", exact=True).click()

    @staticmethod
    def lies(page: Page) -> None:
        if page.locator("[data-least]").count() and not page.get_by_role("button", name="Call it a lie").count():
            before = page.locator("[name=quantity]").input_value()
            page.get_by_label("1 less").click()
            assert page.locator("[name=quantity]").input_value() == before, "the lowest legal bid is what is offered"
            page.locator(".yours [data-seat='0'] .die.choosable").first.click()
            assert page.locator("[data-seat='0'] .die.chosen").count() >= 1
            page.get_by_role("button", name="Bid", exact=True).click()
            return
        page.get_by_role("button", name="Call it a lie").click()


class Finger:
    """Moves by touch alone, on a phone: whatever is touched is as large as a thumb's tip."""

    @staticmethod
    def tap(found: Locator) -> None:
        found.scroll_into_view_if_needed()
        place = found.bounding_box()
        assert place is not None
        assert min(place["width"], place["height"]) >= THUMB, f"{found}: {place}"
        found.tap()

    @staticmethod
    def auction(page: Page) -> None:
        page.locator(".yours .choosable").first.wait_for()
        if page.locator("[data-kind=auction]").count():
            Finger.tap(page.locator(".yours [data-bundle=B]"))
            Finger.tap(page.get_by_label("100 more", exact=True))
            assert page.locator("[name=bid]").input_value() == "100"
            Finger.tap(page.get_by_role("button", name="Bid", exact=True))
            return
        while page.locator("[data-hand='1'] .die.chosen").count() < 5:
            Finger.tap(page.locator("[data-hand='1'] .die:not(.chosen)").first)
        Finger.tap(page.locator("[data-category][data-seat='1'].choosable").first)
        Finger.tap(page.get_by_role("button", name="Score"))

    @staticmethod
    def blocks(page: Page) -> None:
        if page.locator("[data-kind=bet]").count():
            Finger.tap(page.locator(".yours [data-block].choosable").first)
            Finger.tap(page.get_by_role("button", name="Bet"))
            return
        if not page.locator("[data-fitting]").count():
            Finger.tap(page.get_by_role("button", name="Pass"))
            return
        board = page.locator(".yours .seat1 svg.board")
        board.scroll_into_view_if_needed()
        place = board.bounding_box()
        assert place is not None and place["width"] / SIDE >= THUMB, f"a cell is {place} / {SIDE}"
        Finger._drag(page, [(place["x"] + part * place["width"], place["y"] + part * place["height"]) for part in DRAG])
        size = int(page.locator(".by-cells legend").text_content().split()[2])  # type: ignore[union-attr]
        assert page.locator(".aimed rect").count() == size
        for name in ("turn", "left"):
            Finger.tap(page.locator(f"[data-act={name}]"))
        Finger.tap(page.get_by_role("button", name="Place", exact=True))

    @staticmethod
    def _drag(page: Page, way: list[tuple[float, float]]) -> None:
        devtools = page.context.new_cdp_session(page)
        for number, (x, y) in enumerate(way):
            touch = {"type": "touchMove" if number else "touchStart", "touchPoints": [{"x": x, "y": y}]}
            devtools.send("Input.dispatchTouchEvent", touch)
        devtools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        devtools.detach()

    @staticmethod
    def lies(page: Page) -> None:
        if page.get_by_role("button", name="Call it a lie").count():
            Finger.tap(page.get_by_role("button", name="Call it a lie"))
            return
        Finger.tap(page.locator(".yours [data-seat='0'] .die.choosable").first)
        assert page.locator("[data-seat='0'] .die.chosen").count() >= 1
        Finger.tap(page.get_by_label("1 more"))
        Finger.tap(page.get_by_role("button", name="Bid", exact=True))


class Keys:
    """Moves by the keyboard alone."""

    @staticmethod
    def auction(page: Page) -> None:
        page.locator(".yours .choosable").first.wait_for()
        if page.locator("[data-kind=auction]").count():
            page.locator("[data-bundle=A]").press("Enter")
            page.get_by_role("button", name="Bid", exact=True).press("Enter")
            return
        while page.locator("[data-hand='1'] .die.chosen").count() < 5:
            page.locator("[data-hand='1'] .die:not(.chosen)").first.press(" ")
        page.locator("[data-category][data-seat='1'].choosable").first.press("Enter")
        page.get_by_role("button", name="Score").press("Enter")

    @staticmethod
    def blocks(page: Page) -> None:
        if page.locator("[data-kind=bet]").count():
            page.locator(".yours [data-block].choosable").first.press("Enter")
            page.get_by_role("button", name="Bet").press("Enter")
            return
        if not page.locator("[data-fitting]").count():
            page.get_by_role("button", name="Pass").press("Enter")
            return
        board = page.locator(".yours .seat1 svg.board")
        for key in ("ArrowUp", "ArrowUp", "ArrowLeft", "r", "f", "ArrowRight"):
            board.press(key)
        board.press("Enter")


def over(page: Page) -> None:
    """Check the page of a match that is over: its result, its replay, and a record that verifies."""
    expect(page.locator("#told")).to_contain_text(re.compile(r"won|lost|draw"))
    page.wait_for_selector("#replay:not([hidden])")
    page.get_by_text("re-simulate now").click()
    expect(page.locator("output")).to_contain_text("Verified")


def advised(page: Page) -> None:
    """Check that the page says what the house's expert would have done, and leads to a move that differs."""
    expect(page.locator("#advice")).to_contain_text(re.compile(r"It agrees with \d+ of \d+ moves"))
    other = page.locator("#advice tbody tr").first
    assert not page.locator("#advice").get_by_text("nothing that the rules allow").count()
    other.get_by_role("link").click()
    number = other.get_by_role("link").inner_text().split()[1]
    expect(page.locator("[data-part=where]")).to_contain_text(f"move {number} of")


@pytest.mark.parametrize(
    ("game", "move", "copies"),
    [
        ("yacht-auction", Pointer.auction, 1),
        ("betris-large", Pointer.blocks, 1),
        pytest.param("liars-dice", Pointer.lies, 2, marks=pytest.mark.all),
        pytest.param("yacht-auction", Keys.auction, 1, marks=pytest.mark.all),
        pytest.param("betris-large", Keys.blocks, 1, marks=pytest.mark.all),
    ],
    ids=lambda value: getattr(value, "__qualname__", str(value)),
)
def test_a_person_plays_to_the_end_on_the_board(
    visit: Open, league: League, worker: Worker, game: str, move: Callable[[Page], None], copies: int
) -> None:
    name = f"{game}-{move.__qualname__.partition('.')[0]}"
    page = visit("/", reduced_motion="reduce")
    page = seated(signed_in(page, name), opponent(league, game), copies)
    page.locator(".yours .choosable, .yours .board[data-aims]").first.wait_for(timeout=PATIENCE_MS)
    assert keeps_out(page, dark=True) == []  # what may be chosen has mixed grounds
    page.set_viewport_size(PHONE)
    assert not overflows(page) and play(page, move) >= 3
    over(page)
    shown = page.locator("[data-part=answers] .who").all_inner_texts()
    assert name not in shown, "nobody took a person's time"
    if game == "betris-large":
        assert page.locator(".betris .seat1 .filled").count() >= 20, "it opens at its end, and shows what was placed"
    advised(page)
    assert barriers(page) == []


@pytest.mark.parametrize(
    ("game", "move", "copies"),
    [
        ("betris-large", Finger.blocks, 1),
        pytest.param("yacht-auction", Finger.auction, 1, marks=pytest.mark.all),
        pytest.param("liars-dice", Finger.lies, 2, marks=pytest.mark.all),
    ],
)
def test_a_person_plays_by_touch_on_a_phone(
    visit: Open, league: League, worker: Worker, game: str, move: Callable[[Page], None], copies: int
) -> None:
    """Only runs of everything play to the end, because every run plays the board by pointer."""
    page = visit("/", reduced_motion="reduce", viewport=PHONE, has_touch=True, is_mobile=True)
    page = seated(signed_in(page, f"thumb-{game}"), opponent(league, game), copies)
    page.locator(".yours .choosable, .yours .board[data-aims]").first.wait_for(timeout=PATIENCE_MS)
    assert barriers(page) == [] and not overflows(page)
    expect(page.locator("form.move button:not([type])").first).to_be_in_viewport()
    if Lane.everything:
        assert play(page, move) >= 2
        over(page)
    for _ in range(scaled(0, 6)):
        page.locator("form.move button:visible").first.wait_for(timeout=PATIENCE_MS)
        moved(page, move)


def test_moves_of_others_are_seen_one_after_the_other_also_those_after_ones_last(
    visit: Open, league: League, worker: Worker
) -> None:
    page, told = visit("/"), list[tuple[str, bool]]()
    page.expose_function("tells", lambda text, is_over: told.append((text, is_over)))
    page.add_init_script(
        "addEventListener('DOMContentLoaded', () => { const where = document.querySelector('[data-part=where]');"
        " window.shown = new Set(); const tell = () => { window.shown.add(where.textContent);"
        " window.tells(where.textContent, document.querySelector('form.move') === null); };"
        " if (where) new MutationObserver(tell).observe(where, { childList: true }); })"
    )
    page = seated(signed_in(page, "patient"), opponent(league, "liars-dice"), 2)
    page.locator(".yours .choosable").first.wait_for(timeout=PATIENCE_MS)
    Forms.lies(page)
    page.wait_for_function("() => window.shown?.size > 2", timeout=PATIENCE_MS)
    play(page, Forms.lies)
    after = list(dict.fromkeys(text for text, is_over in told if is_over))
    moves = [int(text.split()[3]) for text in after]
    assert len(moves) > 1 and moves == sorted(moves), after
    assert after[-1].split()[3] == after[-1].split()[-1], "the last one is the match's"


def test_who_looks_back_moves_nothing(visit: Open, league: League, worker: Worker) -> None:
    page = seated(signed_in(visit("/", reduced_motion="reduce"), "historian"), opponent(league, "yacht-auction"))
    for _ in range(2):
        page.locator("form.move").wait_for(timeout=PATIENCE_MS)
        moved(page, Pointer.auction)
    page.locator("[data-kind=score]").wait_for(timeout=PATIENCE_MS)
    page.locator(".yours [data-hand='1'] .choosable").first.click()
    page.locator("[data-part=back]").click()
    assert page.locator(".yours, .choosable").count() == 0
    page.get_by_role("button", name="Back to now").click()
    assert page.locator(".yours [data-hand='1'] .chosen").count() == 1, "what was chosen is still"


def test_an_answer_that_is_older_than_the_news_takes_no_form_away(visit: Open, league: League, worker: Worker) -> None:
    page = seated(signed_in(visit("/", reduced_motion="reduce"), "overtaken"), opponent(league, "yacht-auction"))
    page.locator("form.move").wait_for(timeout=PATIENCE_MS)
    before = page.locator("#turn").get_attribute("data-version")
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "POST" and not held:
            held.append(route)
            sent = route.fetch()
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # the page fetches itself
            page.locator(f"#turn:not([data-version='{before}']) form.move").wait_for(timeout=PATIENCE_MS)
            waits = re.sub(r'<form class="card move.*?</form>', "", sent.text(), flags=re.DOTALL)
            route.fulfill(response=sent, body=re.sub(r'data-version="[^"]*"', 'data-version="old"', waits))
        else:
            route.continue_()

    page.route(re.compile(r"/play/\d+$"), hold)
    page.evaluate(
        "new MutationObserver(() => { window.old ||= document.querySelector('#turn[data-version=old]') !== null; })"
        ".observe(document.body, { childList: true, subtree: true })"
    )
    Pointer.auction(page)
    page.wait_for_function("() => window.old", timeout=PATIENCE_MS)
    page.locator("#turn:not([data-version=old]) form.move").wait_for(timeout=PATIENCE_MS)


def test_a_move_whose_answer_is_cut_off_is_sent_again_as_a_form(visit: Open, league: League, worker: Worker) -> None:
    page = seated(signed_in(visit("/", reduced_motion="reduce"), "cut"), opponent(league, "yacht-auction"))
    page.locator("form.move").wait_for(timeout=PATIENCE_MS)
    page.evaluate("() => { Response.prototype.text = () => Promise.reject(new TypeError('cut off')); }")
    moved(page, Pointer.auction)


def test_it_is_played_without_scripts_and_a_typo_costs_nothing(visit: Open, league: League, worker: Worker) -> None:
    page = signed_in(visit("/", java_script_enabled=False, viewport=PHONE), "plain")
    page = seated(page, opponent(league, "liars-dice"))
    expect(page.locator("html")).to_have_js_property("scrollWidth", PHONE["width"])  # the page reloads itself
    tried = False
    for _ in range(200):
        page.locator("form.move button:visible, details.record").first.wait_for(timeout=PATIENCE_MS)
        if page.locator("details.record").count():
            break
        if not tried:
            assert not overflows(page)
            page.get_by_label("At least this many dice").fill("")
            page.get_by_role("button", name="Bid", exact=True).click()
            expect(page.get_by_role("alert")).to_contain_text("must be a whole number from 1 to 30")
            tried = True
            assert every_field_has_a_name(page)
            page.get_by_label("At least this many dice").fill("1")  # the empty field stays, and a person may bid first
        Forms.lies(page)
    expect(page.locator("#told")).to_contain_text(re.compile(r"won|lost"))
    expect(page.locator(".moves tbody tr").last).to_contain_text("wins")


def every_field_has_a_name(page: Page) -> bool:
    """Return whether every field has one label; axe would check this if scripts ran."""
    fields = page.locator("form.move input:not([type=hidden]), form.move select")
    return all(page.locator(f"label[for={field.get_attribute('id')}]").count() == 1 for field in fields.all())


def test_a_refused_move_keeps_what_was_chosen_and_a_player_resigns(visit: Open, league: League, worker: Worker) -> None:
    page = seated(signed_in(visit("/", java_script_enabled=False), "hasty"), opponent(league, "yacht-auction"))
    for _ in range(2):
        page.locator("input[name=bundle]").first.wait_for(timeout=PATIENCE_MS)
        Forms.auction(page)
    page.locator("select[name=category]").wait_for(timeout=PATIENCE_MS)
    for place in range(4):
        page.locator("form.move input[type=checkbox]").nth(place).check()
    page.get_by_role("button", name="Score").click()
    expect(page.get_by_role("alert")).to_contain_text("tick 5 dice, not 4")
    assert page.locator("form.move input[type=checkbox]:checked").count() == 4
    page.locator("form.move input[type=checkbox]").nth(4).check()
    page.get_by_role("button", name="Score").click()
    page.locator("input[name=bundle]").first.wait_for(timeout=PATIENCE_MS)
    page.get_by_role("button", name="Resign").click()
    expect(page.locator("#told")).to_have_text("hasty resigned.", timeout=PATIENCE_MS)
    path = page.url.partition("#")[0]
    assert visit(path).locator("#told").inner_text() == "hasty resigned.", "everyone may look when it is over"


def test_who_signs_out_in_another_tab_is_told_at_the_table_and_comes_back_to_it(visit: Open, league: League) -> None:
    page = seated(signed_in(visit("/"), "double"), opponent(league, "yacht-auction"))  # no worker plays it
    another = page.context.new_page()
    another.goto("/account")
    another.get_by_role("button", name="Sign out").click()
    another.wait_for_url(re.compile("/$"))
    looks_again = "document.dispatchEvent(new Event('visibilitychange'))"  # headless, every page is always visible
    page.evaluate(looks_again)
    expect(page.get_by_role("alert")).to_contain_text("You are signed out in this browser")
    assert barriers(page) == []
    another.goto("/sign-in")
    signs_in(another, "double")
    page.evaluate(looks_again)
    expect(page.get_by_role("alert")).to_have_count(0)
    another.get_by_role("button", name="Sign out").click()
    another.wait_for_url(re.compile("/$"))
    page.evaluate(looks_again)
    page.get_by_role("link", name="Sign in", exact=True).click()
    signs_in(page, "double")
    page.wait_for_url(re.compile(r"/play/\d+$"))
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Resign").click()
    expect(page.locator("#told")).to_contain_text("double left before it began.")


def signs_in(page: Page, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/sign-in" not in url)


@pytest.mark.containers
def test_a_person_plays_against_a_bot_in_its_container(visit: Open, league: League) -> None:
    world = league.site.world
    sandbox = DockerSandbox(world.settings.image, world.settings.data_dir / "run")
    started = Worker(league, sandbox)
    started.start()
    try:
        page = seated(signed_in(visit("/"), "confined"), opponent(league, "liars-dice"))
        play(page, Forms.lies)
        over(page)
    finally:
        started.stop(60)
        sandbox.close()


@pytest.mark.all
@pytest.mark.parametrize(("game", "move"), [("yacht-auction", Forms.auction), ("betris-large", Forms.blocks)])
def test_each_game_is_played_without_scripts(visit: Open, league: League, worker: Worker, game, move) -> None:
    page = signed_in(visit("/", java_script_enabled=False), f"plain-{game}")
    page = seated(page, opponent(league, game))
    for _ in range(200):
        page.locator("form.move button:visible, details.record").first.wait_for(timeout=PATIENCE_MS)
        if page.locator("details.record").count():
            break
        move(page)
    expect(page.locator("#told")).to_contain_text(re.compile(r"won|lost|draw"))
