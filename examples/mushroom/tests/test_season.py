"""A season of the installed package in containers, and a person's match against one of its bots, in Chromium."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest
from playwright.sync_api import expect, sync_playwright

from building import around
from deadheat.cli.author.submit import read_bot
from deadheat.cli.server.api_client import Client, Refused
from deadheat.cli.server.follow import wait_for_build
from deadheat_mushroom.board import Board

pytestmark = [pytest.mark.containers, pytest.mark.all]

BOTS = ("random", "greedy", "thinker")
PASSWORD = "only for a test"
START_S, SEASON_S = 120, 400
EXPECT_MS = 60_000
PHONE = {"width": 390, "height": 844}
CHROMIUM = shutil.which("chromium-headless-shell")


@pytest.fixture(scope="module")
def server(installed, tmp_path_factory):
    """Serve a league with its worker, as operators do, from the installed package; yield its address and its folder."""
    site, _ = installed
    folder = tmp_path_factory.mktemp("league")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {"DEADHEAT_DATA_DIR": str(folder), "DEADHEAT_PORT": str(port), "DEADHEAT_JUDGE_UNFIT": "true"}
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "deadheat.cli.main", "serve"],
            env=around(site, folder) | settings,
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait(lambda: answers(url) or process.poll() is not None, START_S, "the server")
        assert process.poll() is None, (folder / "serve.log").read_text()[-2000:]
        yield url, folder, site
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def answers(url):
    """Return whether the server is ready."""
    with Client(url) as client:
        try:
            client.call("GET", "/readyz")
        except Refused:
            return False
        return True


def wait(condition, seconds, what):
    """Wait until it holds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"{what} takes longer than {seconds} s"
        time.sleep(0.3)


@pytest.fixture(scope="module")
def season(server):
    """Play a season: every bot is uploaded from the installed package, built, entered, and meets every other one."""
    url, folder, site = server
    with Client(url, (folder / "organiser.token").read_text().strip()) as organiser, Client(url) as client:
        client.sign_up("ada", PASSWORD)
        season_id = organiser.create_season(
            {"game": "mushroom", "name": "M", "games_per_pair": 8, "series_length": 4}
        ).id
        organiser.change_season(season_id, {"state": "open"})
        bots = {}
        with Client(url, client.issue_token("ada", PASSWORD).token) as ada:
            for name in BOTS:
                bot_id = bots[name] = ada.own_bot("mushroom", name).id
                version = ada.upload(bot_id, *read_bot(site / "deadheat_mushroom" / "bots" / name))
                assert wait_for_build(ada, version).state == "ready", name
                ada.enter(season_id, bot_id)
        wait(lambda: organiser.season(season_id).progress.done == 24, SEASON_S, "the season")
        wait(lambda: (totals := organiser.leaderboard(season_id).totals) and totals.matches == 24, 60, "the ranking")
        return season_id, bots, organiser.leaderboard(season_id)


def test_a_season_ranks_the_bots_by_their_strength_and_nobody_fails(season):
    _, _, board = season
    assert [row.bot for row in board.rows] == ["thinker", "greedy", "random"]
    assert sum(row.timeouts + row.other_faults for row in board.rows) == 0


@pytest.fixture
def page(server):
    """Open a browser that must not complain."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (Debian: chromium-headless-shell)")
    url, _, _ = server
    complaints = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(base_url=url, viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        page.set_default_timeout(EXPECT_MS)
        expect.set_options(timeout=EXPECT_MS)
        page.on("console", lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield page
        browser.close()
    assert complaints == []


def test_a_match_of_the_season_is_shown_with_the_reasons_of_every_rectangle(season, page):
    season_id, _, _ = season
    page.goto(f"/seasons/{season_id}/matches")
    page.locator("a[href*='/matches/']").first.click()
    page.wait_for_selector("#replay:not([hidden]) .mushroom svg.board")
    page.locator("[data-part=first]").click()
    for _ in range(4):
        page.locator("[data-part=next]").click()
        if page.locator(".taken").count():
            digits = page.locator(".taken .digit").all_text_contents()
            assert page.locator(".why strong").inner_text() == f"{' + '.join(digits)} = 10"
            assert page.locator(".taken .edge").count() >= 1
    assert page.locator(".taken").count() == 1


def test_a_person_drags_rectangles_to_the_end_of_a_match(season, page):
    _, bots, _ = season
    take_a_seat(page, bots["random"])
    moves, refused = 0, False
    while True:
        page.locator("form.move button:visible, #replay:not([hidden])").first.wait_for()
        if page.locator("form.move").count() == 0:
            break
        if not refused:
            refused = dragging_a_wrong_one_sends_nothing(page)
            page.set_viewport_size(PHONE)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        moved(page, by_key if moves == 1 else drag)
        moves += 1
    assert moves >= 5
    assert refused
    expect(page.locator("#told")).to_contain_text(re.compile("won|lost|draw"))
    page.get_by_text("re-simulate now").click()
    expect(page.locator("output")).to_contain_text("Verified")
    expect(page.locator("#advice")).to_contain_text("thinker would have done")
    expect(page.locator("#advice")).to_contain_text(re.compile(r"It agrees with \d+ of \d+ moves"))


ENGLISH = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}|\b(Take|Pass)\b")


def test_a_korean_watches_and_moves_in_korean(season, page):
    season_id, bots, _ = season
    take_a_seat(page, bots["random"], "haneul")
    seat = page.url
    page.goto("/language/ko")
    page.goto(seat)
    page.wait_for_function(STAYS)
    form = page.locator("form.move")
    expect(form.get_by_role("button", name="가져가기")).to_be_visible()
    expect(form.locator(".aim")).to_contain_text("합이 10인 버섯들을 끌어서 고르고")
    over(page, [0, 0, 9, 16])
    expect(form.locator(".aim output")).to_contain_text("버섯의 합이")
    assert not ENGLISH.search(form.inner_text())
    page.goto(f"/seasons/{season_id}/matches")
    page.locator("a[href*='/matches/']").first.click()
    page.wait_for_selector("#replay:not([hidden]) .mushroom svg.board")
    page.locator("[data-part=first]").click()
    page.locator("[data-part=next]").click()
    expect(page.locator(".why")).to_contain_text("칸 얻음")
    assert not ENGLISH.search(page.locator("#replay").inner_text())


def take_a_seat(page, bot_id, name="dora"):
    """Sign up, and sit down against a bot."""
    page.goto("/sign-up")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").first.fill(PASSWORD)
    page.get_by_role("button", name=re.compile("sign up|account", re.IGNORECASE)).click()
    page.wait_for_url(re.compile("/submit"))
    page.goto(f"/bots/{bot_id}")
    page.get_by_role("link", name="play against it").click()
    page.get_by_role("button", name="Take a seat").click()
    page.wait_for_url(re.compile(r"/play/\d+$"))


def moved(page, move):
    """Move once, and wait for what follows."""
    before = page.locator("#turn").get_attribute("data-version")
    move(page)
    page.wait_for_function(
        "before => document.getElementById('turn')?.dataset.version !== before"
        " && (document.querySelector('form.move') || document.getElementById('replay'))",
        arg=before,
    )


def drag(page):
    """Drag over the first rectangle that is offered; pass if there is none."""
    values = [
        value
        for value in page.locator("option").evaluate_all("all => all.map(one => one.value)")
        if value[:1].isdigit() and " " in value
    ]
    if not values:
        page.get_by_role("button", name="Pass").click()
        return
    over(page, list(map(int, values[0].split())))


STAYS = """() => new Promise((done) => {
  const board = document.querySelector(".board[data-aims]");
  setTimeout(() => done(board !== null && board.isConnected), 300);
})"""
"""Whether the board is there to stay: each move of the opponent is first drawn on a board of its own."""


def over(page, rectangle):
    """Drag from the last cell to the first."""
    page.wait_for_function(STAYS)
    page.locator(".board[data-aims]").scroll_into_view_if_needed()
    top, left, bottom, right = rectangle
    start, end = (
        page.locator(f"[data-cell='{row},{column}']").bounding_box() for row, column in ((bottom, right), (top, left))
    )
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=4)
    page.mouse.up()


def dragging_a_wrong_one_sends_nothing(page):
    """Drag over the whole board, whose mushrooms add up to more than ten."""
    board = Board(page.locator("[data-rows]").get_attribute("data-rows").replace(".", "0").split(" "))
    assert [0, 0, 9, 16] not in [list(each) for each in board.rectangles()]
    before = page.locator("#turn").get_attribute("data-version")
    over(page, [0, 0, 9, 16])
    expect(page.locator(".aim output")).to_contain_text("its mushrooms add up to")
    page.wait_for_timeout(500)
    return page.locator("#turn").get_attribute("data-version") == before


def by_key(page):
    """Move the rectangle by arrows to the first that is offered, and take it."""
    board = page.locator(".board[data-aims]")
    value = page.locator("[name=rectangle] option").nth(1).get_attribute("value")
    top, left, bottom, right = map(int, value.split())
    for key, times in (("ArrowUp", 9), ("ArrowLeft", 16), ("ArrowDown", top), ("ArrowRight", left)):
        for _ in range(times):
            board.press(key)
    for key, times in (("Shift+ArrowDown", bottom - top), ("Shift+ArrowRight", right - left)):
        for _ in range(times):
            board.press(key)
    assert page.locator("[name=rectangle]").input_value() == value
    board.press("Enter")
