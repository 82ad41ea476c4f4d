"""A real browser (Debian's Chromium) at a real server. A page that complains or asks elsewhere fails its test."""

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    Request,
    StorageState,
    StorageStateCookie,
    ViewportSize,
    expect,
    sync_playwright,
)

from deadheat.league.service.people.access import begin_session
from tests.api.served import served
from tests.api.site import Site
from tests.lanes import Lane
from tests.site.leagues import furnish

EXPECT_MS = 60_000
"""How long a page may take to become as expected; a busy machine must fail no test."""

expect.set_options(timeout=EXPECT_MS)

REFUSED = re.compile("the server responded with a status of (409|422) ")
"""The browser's own message when a form is shown again."""

CHROMIUM = shutil.which("chromium-headless-shell")

WIDE: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 360, "height": 780}


class League:
    def __init__(self, site: Site, matches: dict[str, int], url: str) -> None:
        self.site, self.matches, self.url = site, matches, url


@pytest.fixture(scope="module")  # while it runs, nothing else in this process can have an event loop
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (Debian: chromium-headless-shell)")
    with sync_playwright() as playwright, launched(playwright, CHROMIUM) as started:
        yield started


@contextmanager
def launched(playwright: Playwright, chromium: str) -> Iterator[Browser]:
    """Yield a browser, and close it in the end."""
    started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])  # tests run as root
    yield started
    started.close()


@pytest.fixture(scope="session")
def league(tmp_path_factory: pytest.TempPathFactory) -> Iterator[League]:
    site = Site(tmp_path_factory.mktemp("league"))
    matches = furnish(site)
    with served(site.app) as url:
        yield League(site, matches, url)
    site.close()


def signed_in_as(league: League, user_id: int) -> StorageState:
    """Return the storage of a browser in which somebody has signed in."""
    secret = league.site.world.write(begin_session, user_id, "browser").secret
    cookie: StorageStateCookie = {"name": "deadheat", "value": secret, "domain": "127.0.0.1", "path": "/"}
    return {"cookies": [cookie], "origins": []}


Open = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser, league: League) -> Iterator[Open]:
    """A function that opens pages; its keyword arguments are a browser context's."""
    with watched(browser, league.url) as opens:
        yield opens


@contextmanager
def watched(browser: Browser, url: str) -> Iterator[Open]:
    """Yield a function that opens pages, each in its own browser context; check their complaints at the end."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not REFUSED.search(message.text):
            complaints.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    def asked(request: Request) -> None:
        if not request.url.startswith((url, "data:", "blob:")):
            complaints.append(f"asked for {request.url}")

    def opens(path: str, **arguments: object) -> Page:
        context = browser.new_context(**{"viewport": WIDE, "base_url": url} | arguments)  # type: ignore[arg-type]
        contexts.append(context)
        context.set_default_timeout(EXPECT_MS)
        context.on("console", said)
        context.on("request", asked)
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        page = context.new_page()
        page.goto(path)
        return page

    try:
        yield opens
    finally:  # a page that stays open may keep a stream open, for whose end the server would wait
        for context in contexts:
            context.close()
    assert complaints == []


def keeps_out(page: Page, *, dark: bool | None = None, part: str = "html") -> list[str]:
    """Return the barriers of a page, on a desk and on a phone, with everything unfolded; leave it as wide and light as
    before. All of axe's rules run on a phone, where parts scroll; in the dark, only those about contrasts. Short runs
    leave these out.

    `dark`: True: look in the dark and at contrasts in every run; None: in runs of everything; False: never in the dark.
    `test_colours` computes the contrasts of the palette's own colours; where grounds are mixed or translucent, say
    True. `part`: look only at what this selector finds.
    """
    page.wait_for_load_state()
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    wide = page.viewport_size or WIDE
    problems = ["wider than a desk"] if overflows(page) else []
    contrasts = Lane.everything or bool(dark)
    if contrasts and dark is not False:
        page.emulate_media(color_scheme="dark")
        problems += barriers(page, CONTRASTS, part=part)
        page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    problems += barriers(page, contrasts=contrasts, part=part) + (["wider than a phone"] if overflows(page) else [])
    page.set_viewport_size(wide)
    return problems


AXE = Axe().axe_script

CONTRASTS = ("color-contrast", "link-in-text-block")
"""The rules about colours, which take longer than all others together."""

IMPACTS = ("moderate", "serious", "critical")
"""The impacts that count: all but minor, which is merely untidy."""

UNTIDY = ("empty-table-header",)
"""Rules that axe calls minor, and that count all the same."""


SETTLED = """for (const moving of document.getAnimations())
    if (moving.effect.getComputedTiming().endTime !== Infinity) moving.finish();"""
"""Ends transitions, such as those of the reference's buttons, whose colours would be measured halfway."""


def barriers(page: Page, rules: Sequence[str] = (), *, contrasts: bool = True, part: str = "html") -> list[str]:
    """Return the barriers that axe finds: rule and place. Without `rules`, apply all, with or without `contrasts`. Look
    only at what the selector `part` finds.
    """
    options: dict[str, object] = {"resultTypes": ["violations"]}
    options |= {"runOnly": list(rules)} if rules else {"rules": {rule: {"enabled": contrasts} for rule in CONTRASTS}}
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    page.evaluate(SETTLED)
    found = page.evaluate("([part, options]) => axe.run(part, options)", [part, options])["violations"]
    return [
        f"{violation['id']} ({violation['impact']}): {node['html'][:200]}"
        for violation in found
        if violation["impact"] in IMPACTS or violation["id"] in UNTIDY
        for node in violation["nodes"]
    ]


def overflows(page: Page) -> bool:
    """Return whether the page itself (not a part that scrolls) is wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
