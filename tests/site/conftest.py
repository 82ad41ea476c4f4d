"""A real browser (Debian's Chromium) before a real server. A page that complains or asks elsewhere fails its test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, sync_playwright

from tests.api.served import served
from tests.api.site import Site
from tests.site.leagues import furnish

WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


class League:
    """A furnished league behind an address."""

    def __init__(self, site: Site, matches: dict[str, int], url: str) -> None:
        self.site, self.matches, self.url = site, matches, url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no Chromium is installed (Debian: chromium)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])  # tests run as root
        yield started
        started.close()


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Iterator[League]:
    site = Site(tmp_path_factory.mktemp("league"))
    matches = furnish(site)
    with served(site.app) as url:
        yield League(site, matches, url)
    site.close()


Open = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser, league: League) -> Iterator[Open]:
    """Opens pages of the league; keyword arguments are a browser context's. Complaints are looked at in the end."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(f"{message.type}: {message.text}")

    def asked(request: Request) -> None:
        if not request.url.startswith((league.url, "data:", "blob:")):
            complaints.append(f"asked for {request.url}")

    def visit(path: str, **arguments: object) -> Page:
        context = browser.new_context(**{"viewport": WIDE, "base_url": league.url} | arguments)  # type: ignore[arg-type]
        contexts.append(context)
        context.on("console", said)
        context.on("request", asked)
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        page = context.new_page()
        page.goto(path)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


def serious(page: Page) -> list[str]:
    """What axe finds that keeps people out: rule and where."""
    found = Axe().run(page).response["violations"]
    return [
        f"{violation['id']} ({violation['impact']}): {node['html'][:200]}"
        for violation in found
        if violation["impact"] in {"serious", "critical"}
        for node in violation["nodes"]
    ]


def overflows(page: Page) -> bool:
    """Whether the page itself (not a part that scrolls) is wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def picture(page: Page, name: str, folder: Path) -> None:
    """A screenshot for people."""
    page.screenshot(path=folder / f"{name}.png", full_page=True)
