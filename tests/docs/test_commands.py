"""Pages followed to the letter on servers that build and play."""

import html
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from deadheat.api.pages.texts.markdown import PAGES
from deadheat.cli.author.submit import read_bot
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.follow import wait_for_build
from tests.api.browser import PAGE, Read
from tests.cli.command import GAME, RANDOM, ROOT
from tests.deployment import serving
from tests.docs.console import ANSWERS, COMMAND_SECONDS, PROGRAMS, Step, follow, steps, terminal

ADDRESS = "http://127.0.0.1:8080"
"""The server's address on the pages; the test's own server listens elsewhere."""


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """`deadheat serve` with bots as plain programs and an open season 1 with one entrant.

    It maps what pages write to what it is here: the address, and a token.
    """
    # the page's reader returns an hour later
    with serving(tmp_path_factory.mktemp("league"), REJOIN_SECONDS="0") as deployment:
        yield {ADDRESS: deployment.url, "dh_...": prepare(deployment.url, deployment.organiser)}


def prepare(address: str, organiser: str) -> str:
    """Open season 1, and return the token of an author whose bot waits in it."""
    password = ANSWERS["Password: "]
    with Client(address, organiser) as boss:
        season = boss.create_season({"name": "Winter 2026", "game": GAME, "series_length": 2, "games_per_pair": 2})
        boss.change_season(season.id, {"state": "open"})
    with Client(address) as stranger:
        stranger.sign_up("charles", password)
        token = stranger.issue_token("charles", password).token
    with Client(address, token) as charles:
        bot = charles.own_bot(GAME, "chance")
        version = wait_for_build(charles, charles.upload(bot.id, *read_bot(Path(RANDOM))))
        assert version.state == "ready", version.reason
        charles.enter(season.id, bot.id)
    return token


AUTHORS = (
    "start/author",
    *(f"how-to/{name}" for name in ("local-kit", "upload", "inbox-and-appeals", "in-a-season")),
    "how-to/use-in-ci",
)
"""The pages that an author follows one after the other, in one folder."""

OTHERS = ("reference/commands",)
OPERATORS = ("how-to/install", "how-to/back-up")
ELSEWHERE = {"how-to/add-a-game": "tests/engine/test_finding_games.py", "how-to/train": "tests/docs/test_training.py"}
ELSEWHERE |= {"start/agent": "tests/cli/test_agent.py"}
"""Pages whose blocks other tests run."""


def test_the_authors_pages_can_be_followed_to_the_letter(league: dict[str, str], tmp_path: Path) -> None:
    with terminal(tmp_path) as reader:
        follow(reader, [step for page in AUTHORS for step in steps(page)], league)


def test_the_reference_can_be_followed_to_the_letter(league: dict[str, str], tmp_path: Path) -> None:
    with terminal(tmp_path) as reader:
        follow(reader, steps("reference/commands"), league)


def test_the_operators_pages_can_be_followed_to_the_letter(tmp_path: Path) -> None:
    todo = [step for page in OPERATORS for step in steps(page)]
    assert {"upgrade", "doctor", "backup", "restore"} <= {step.command.split()[1] for step in todo}
    with terminal(tmp_path, DEADHEAT_DATA_DIR=str(tmp_path / "data")) as reader:
        follow(reader, todo, {})


def test_no_page_has_a_command_that_nobody_follows() -> None:
    assert {page for page in PAGES if steps(page)} == {*AUTHORS, *OTHERS, *OPERATORS, *ELSEWHERE}
    assert all((ROOT / test).exists() for test in ELSEWHERE.values())


def test_every_command_that_a_page_shows_can_be_followed(league: dict[str, str], tmp_path: Path) -> None:
    """A newcomer types what the site shows: from the wheel to a bot in the season, then about its first match."""
    here = {"NAME": "dora"}
    programs = PROGRAMS | {"pipx": 'set -e; test "$1" = install; shift; exec curl -fsS -o the.whl'}
    with httpx.Client(base_url=league[ADDRESS]) as browser, terminal(tmp_path, programs) as reader:
        newcomers = [*typed(browser, "/download"), *typed(browser, "/docs")]
        assert [step.command.split()[1] for step in newcomers] == ["install", "login", "new", "play", "submit"]
        follow(reader, newcomers, here)
        match_id = first_match(league[ADDRESS], "dora")
        form = next(form for form in Read(browser.get("/sign-in").text).forms if form.action == "/sign-in")
        fields = form.fields | {"name": "dora", "password": ANSWERS["Password: "]}
        answer = browser.post("/sign-in", data=fields, headers={**PAGE, "Origin": league[ADDRESS]})
        assert answer.status_code == 303, answer.text
        about_it = [*typed(browser, f"/matches/{match_id}"), *typed(browser, f"/matches/{match_id}/mine")]
        assert [step.command.split()[1] for step in about_it] == ["verify", "explain"]
        follow(reader, about_it, here)


def typed(browser: httpx.Client, path: str) -> list[Step]:
    answer = browser.get(path)
    assert answer.status_code == 200, answer.text
    blocks = re.findall(r"<pre[^>]*>(?:<code>)?(.*?)(?:</code>)?</pre>", answer.text, re.DOTALL)
    return [Step(html.unescape(line)) for block in blocks for line in block.splitlines() if line.strip()]


def first_match(address: str, author: str) -> int:
    """Wait until a match of this author's bot is over, and return its number."""
    with Client(address) as stranger:
        token = stranger.issue_token(author, ANSWERS["Password: "]).token
    with Client(address, token) as client:
        (bot,) = client.bots()
        give_up_at = time.monotonic() + COMMAND_SECONDS
        while not (found := [*client.matches(bot=bot.id, state="done", limit=1)]):
            assert time.monotonic() < give_up_at
            time.sleep(0.5)
    return found[0].id
