"""The README's picture: the top of a season's page, as it is after `scripts/demo`.

    .venv/bin/python -m tests.site.picture [ADDRESS [FILE]]

ADDRESS is a season's page of a running server (http://127.0.0.1:8080/seasons/1), FILE docs/pictures/leaderboard.png.
"""

import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.site.conftest import CHROMIUM, WIDE, launched

FILE = Path(__file__).parents[2] / "docs" / "pictures" / "leaderboard.png"

MARGIN = 12
"""Pixels below the table."""


def main(address: str = "http://127.0.0.1:8080/seasons/1", file: str = str(FILE)) -> None:
    assert CHROMIUM is not None, "no Chromium is installed (Debian: chromium-headless-shell)"
    with sync_playwright() as playwright, launched(playwright, CHROMIUM) as browser:
        page = browser.new_page(viewport=WIDE, color_scheme="light")
        page.goto(address)
        take(page, file)


def take(page: Page, file: str | Path) -> None:
    """Take a season's page down to the end of its leaderboard."""
    table = page.locator("#board .scroll").first.bounding_box()
    assert table is not None, "the page shows no leaderboard"
    height = table["y"] + table["height"] + MARGIN
    page.screenshot(path=file, full_page=True, clip={"x": 0, "y": 0, "width": WIDE["width"], "height": height})


if __name__ == "__main__":
    main(*sys.argv[1:])
