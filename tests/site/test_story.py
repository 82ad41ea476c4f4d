"""The whole product in a browser, as one story: an author, an organiser and a spectator at a real server.

The server is `deadheat serve`: API, scheduler, builders and players are processes of their own. Bots run as plain
programs (the sandbox `local`); containers are tested elsewhere, and would take half of the time. The author
is as hostile as an author can be: in what the build prints, in what the bot prints, in the appeal.
"""

import base64
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page, expect

from deadheat.cli.server.api_client import Client
from deadheat.cli.server.follow import wait_for_build
from deadheat.engine.games.folder import bots_of
from deadheat.league.records.matches import Match
from tests.api.site import zipped
from tests.deployment import ROOT, Deployment, serving
from tests.lanes import scaled
from tests.site.conftest import EXPECT_MS, Open, keeps_out, watched
from tests.site.test_replays import viewer, watch_to_its_end

GAME = "yacht-auction"
WATCHED = (GAME, "betris-large", "liars-dice")
"""Short runs watch only the first: `test_replays` watches a stored match of each."""

PASSWORD = "a long enough password"
PATIENCE_S = 180
"""How long assertions wait for what takes a second or two on a host that does nothing else."""

MARK = "<script>document.title = 'owned'</script><img src=x onerror=alert(1)>\x1b[2J\u202emirrored"
SHOWN = "<script>document.title = 'owned'</script><img src=x onerror=alert(1)>\\x1b[2J\\u202emirrored"
HOSTILE = f"""
import sys
WARNS = 0 is 0  # {MARK}
sys.stderr.write({MARK!r} + "\\n")
"""
ROWS = "".join(f"    [({n * 7919 % 999_983}, y), {{{n}: y, 'a': [y + {n}]}}],\n" for n in range(50_000))
BULK = f"BULK = lambda y: [\n{ROWS}]\n"
"""Source that takes any builder, however fast, long enough for the author to read the log meanwhile."""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with serving(tmp_path_factory.mktemp("story")) as running:
        yield running


@pytest.fixture
def opens(browser: Browser, deployment: Deployment) -> Iterator[Open]:
    with watched(browser, deployment.url) as opened:
        yield opened


class Rivals:
    """Two authors who use the client, each with a bot for every game."""

    def __init__(self, deployment: Deployment, games: Sequence[str], open_clients: ExitStack) -> None:
        self.clients = []
        for name in ("bob", "carol"):
            with Client(deployment.url) as stranger:
                stranger.sign_up(name, PASSWORD)
                token = stranger.issue_token(name, PASSWORD).token
            self.clients.append(open_clients.enter_context(Client(deployment.url, token)))
        self.versions = [(client, game, self._upload(client, game)) for game in games for client in self.clients]

    def _upload(self, client: Client, game: str) -> tuple[int, int]:
        source = (bots_of(game) / "random" / "main.py").read_bytes()
        version = client.upload(client.own_bot(game, "chance").id, "bot.py", source)
        return version.bot_id, version.number

    def enter(self, seasons: dict[str, int]) -> None:
        for client, game, (bot_id, number) in self.versions:
            version = wait_for_build(client, client.version(bot_id, number))
            assert version.state == "ready", version.reason
            client.enter(seasons[game], bot_id)

    def played(self, season_id: int, bot_id: int = 0) -> Match:
        """Return the first match of the season (and bot) that is over."""
        until = time.monotonic() + PATIENCE_S
        while True:
            found = list(self.clients[0].matches(season=season_id, bot=bot_id, state="done", limit=100))
            if found:
                return min(found, key=lambda match: match.id)
            assert time.monotonic() < until, "no match was played"
            time.sleep(0.2)


@pytest.fixture
def games() -> Sequence[str]:
    return WATCHED[: scaled(3, 1)]


@pytest.fixture
def rivals(deployment: Deployment, games: Sequence[str]) -> Iterator[Rivals]:
    with ExitStack() as open_clients:
        yield Rivals(deployment, games, open_clients)


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    expect.set_options(timeout=PATIENCE_S * 1000)
    yield
    expect.set_options(timeout=EXPECT_MS)


def test_a_season_is_made_played_watched_and_ruled_on(
    opens: Open, deployment: Deployment, games: Sequence[str], rivals: Rivals
) -> None:
    chief = becomes_an_organiser(opens, deployment)
    season = makes_a_season(chief)
    seasons = {GAME: season, **{game: quick_season(deployment, game) for game in games[1:]}}
    ada = signs_up(opens, "ada")
    bot_id = uploads(ada, "hopper")
    board = opens("/docs/why/ratings")
    with board.expect_request("**/events?*"):  # the page listens and gets an event
        board.goto(f"/seasons/{season}")
    enters(ada, season)
    rivals.enter(seasons)
    the_board_moves(board, "hopper")
    spectator = opens("/docs/why/ratings")
    spectator.clock.install()
    for game in games:
        watches(spectator, rivals.played(seasons[game]).id)
    match_id = rivals.played(season, bot_id).id
    doubts(ada, match_id)
    rules(chief, match_id)
    is_told(ada, match_id)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_newcomer_is_five_clicks_from_a_bot_that_plays(opens: Open, deployment: Deployment, scripts: bool) -> None:
    quick_season(deployment, GAME, f"Newcomers {scripts:d}")
    pages = []
    for name in (f"newcomer{scripts:d}", f"rival{scripts:d}"):
        page = opens("/", java_script_enabled=scripts)
        clicked = [
            page.get_by_role("link", name="Write a bot"),
            page.get_by_label("Name"),
            page.get_by_label("Password"),
            page.get_by_role("button", name="Sign up"),
            page.get_by_role("button", name="Build and enter"),
        ]
        for target, typed in zip(clicked, ("", name, PASSWORD, "", ""), strict=True):
            target.click()
            page.keyboard.type(typed)
        page.wait_for_url("**/versions/1")
        pages.append(page)
    for page in pages:
        reached = page.get_by_role("list", name="Steps").locator("[aria-current]")
        expect(reached).to_have_text(re.compile("place . of 2"))
        expect(page.get_by_role("link", name="first match")).to_be_visible()
        assert page.url.endswith("/versions/1")


def signs_up(opens: Open, name: str) -> Page:
    page = opens("/")
    page.get_by_role("link", name="Sign in").first.click()
    page.get_by_role("link", name="Sign up").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign up")
    assert keeps_out(page) == []
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Write a bot")
    return page


def becomes_an_organiser(opens: Open, deployment: Deployment) -> Page:
    page = signs_up(opens, "chief")
    command = [sys.executable, "-m", "deadheat.cli.main", "user", "role", "chief", "organiser"]
    subprocess.run(command, cwd=ROOT, env=dict(deployment.environment), check=True, capture_output=True, timeout=60)
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    page.get_by_role("link", name="Desk").click()
    return page


def makes_a_season(page: Page) -> int:
    page.get_by_role("link", name="New season").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("New season")
    assert keeps_out(page) == []
    page.get_by_label("Game").select_option(GAME)
    page.get_by_label("Weekend ladder").check()
    page.get_by_label("Name").fill("Winter")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Create the season").click()
    page.get_by_label("Matches per series").fill("2")
    page.get_by_label("Seats at a table").fill("7")
    page.get_by_role("button", name="Save").click()
    seats = page.get_by_label("Seats at a table")
    expect(seats).to_be_focused()
    expect(seats).to_have_accessible_description(re.compile("is for 2"))
    expect(page.get_by_label("Matches per series")).to_have_value("2")
    seats.fill("2")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Winter open")
    assert keeps_out(page) == []
    return int(page.url.rpartition("/")[2])


def quick_season(deployment: Deployment, game: str, name: str = "One") -> int:
    """Open a season for a game whose replay is all we need."""
    with Client(deployment.url, deployment.organiser) as organiser:
        body = {"name": f"{name} of {game}", "game": game, "series_length": 1, "games_per_pair": 1}
        season = organiser.create_season(body)
        organiser.change_season(season.id, {"state": "open"})
    return season.id


def uploads(page: Page, bot: str) -> int:
    page.goto(f"/submit?game={GAME}")
    page.get_by_label("Name").fill(bot)
    page.get_by_label("Season").select_option("none")
    source = HOSTILE + (bots_of(GAME) / "random" / "main.py").read_text()
    drops(page, "bot.zip", zipped({"main.py": source, "zz_bulk.py": BULK}))
    page.get_by_role("button", name="Build and enter").click()
    page.wait_for_url("**/versions/1")
    page.wait_for_function(
        """(text) => {  // the page may be half loaded, again
            window.before = document.querySelector("[data-part=state]")?.textContent;
            return document.querySelector("[data-part=log]")?.textContent.includes(text);
        }""",
        arg=SHOWN,
        timeout=PATIENCE_S * 1000,
    )
    expect(page.locator("[data-part=state]")).to_have_text("ready")
    # None: the page was loaded again after the build, which on a busy machine may have ended before.
    assert page.evaluate("window.before") in {None, "ready"}
    expect(page.locator("[data-part=log]")).to_contain_text("--- stderr ---")
    expect(page.locator("[data-part=log]")).to_contain_text(SHOWN)
    harmless(page)
    assert keeps_out(page) == []
    return int(re.findall(r"/bots/(\d+)", page.url)[0])


def drops(page: Page, name: str, content: bytes) -> None:
    """Drop a file from the desktop onto the page."""
    carried = page.evaluate_handle(
        """([name, content]) => {
            const carried = new DataTransfer();
            const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
            carried.items.add(new File([bytes], name, { type: "application/zip" }));
            return carried;
        }""",
        [name, base64.b64encode(content).decode()],
    )
    for event in ("dragenter", "dragover", "drop"):
        page.locator("[data-part=drop]").dispatch_event(event, {"dataTransfer": carried})


def harmless(page: Page) -> None:
    """Check that the author's text is only text, and paints and reverses nothing."""
    assert "owned" not in page.title() and page.locator("img[src=x], [onclick], [onerror]").count() == 0
    text = page.locator("body").inner_text()
    assert not set("\x1b\u202e") & set(text)


def enters(page: Page, season: int) -> None:
    page.get_by_role("link", name="Enter a season").click()
    page.locator(f"#season-{season}").get_by_role("button", name="Enter").click()
    expect(page.locator(f"#season-{season}")).to_contain_text("Version 1 plays, and newer ones take over")


def the_board_moves(page: Page, bot: str) -> None:
    page.evaluate("window.stays = true")
    expect(page.locator("#board").get_by_role("link", name=bot, exact=True)).to_be_visible()
    assert page.evaluate("window.stays"), "the page was never loaded again"
    assert keeps_out(page) == []


def watches(page: Page, match_id: int) -> None:
    page.goto(f"/matches/{match_id}")
    watch_to_its_end(viewer(page))
    expect(page.locator("[data-part=words]")).to_have_text(re.compile(r"wins\.|draw|Nobody wins"))
    assert keeps_out(page) == []


def doubts(page: Page, match_id: int) -> None:
    page.goto(f"/matches/{match_id}")
    page.get_by_role("link", name=re.compile("[Aa]ppeal|[Dd]oubt")).first.click()
    form = page.url
    for words in (f"It was somebody else. {MARK}", f"It was somebody else. {MARK}".replace("\x1b", "")):
        page.goto(form)
        page.get_by_label("What is wrong").fill(words)
        page.get_by_role("button", name="Appeal", exact=True).click()
        if "\x1b" in words:
            expect(page.get_by_text("It contains invisible control characters")).to_be_visible()
    expect(page.get_by_text("Re-simulated: rules, dice and result agree")).to_be_visible()
    harmless(page)
    assert keeps_out(page) == []


def rules(page: Page, match_id: int) -> None:
    page.get_by_role("link", name="Desk").first.click()
    appeal = page.get_by_role("region", name=re.compile("^Appeal "))
    expect(appeal).to_contain_text("It was somebody else.")
    harmless(page)
    assert keeps_out(page) == []
    appeal.get_by_label("Ruling").fill("The rack was on fire.")
    appeal.get_by_label("If it is upheld").select_option("void")
    appeal.get_by_role("button", name="Uphold").click()
    expect(page.get_by_role("link", name=re.compile("^1 open appeal"))).to_have_count(0)
    expect(page.get_by_role("heading", name="To decide")).to_be_visible()
    expect(page.get_by_role("heading", name=re.compile("Open appeals|Held matches"))).to_have_count(0)
    page.goto(f"/matches/{match_id}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("does not count")


def is_told(page: Page, match_id: int) -> None:
    page.goto(f"/matches/{match_id}/appeal")
    expect(page.get_by_text("upheld")).to_be_visible()
    expect(page.get_by_text("The rack was on fire.")).to_be_visible()
    page.goto(f"/matches/{match_id}")
    expect(page.get_by_role("main")).to_contain_text("The rack was on fire.")
    harmless(page)
    assert keeps_out(page) == []
