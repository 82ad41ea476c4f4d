"""The pictures of the quick starts: pages of the tests' league, from their top down to the part that matters.

    .venv/bin/python -m tests.docs.pictures        # takes docs/pictures/*.png again

Pixels are never compared. `tests/site/test_pictures.py` looks for the parts that each picture shows, and names those
that are gone.
"""

import io
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import FloatRect, Page, StorageState, ViewportSize, expect, sync_playwright

from tests.api.served import served
from tests.api.site import Site
from tests.site.conftest import CHROMIUM, League, launched, signed_in_as
from tests.site.leagues import furnish

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
SIZE: ViewportSize = {"width": 740, "height": 560}
"""A picture is as wide as a page's text, and as high as it must be."""

MARGIN = 16
COLOURS = 64
MOST_BYTES = 60_000


@dataclass(frozen=True, slots=True)
class Shot:
    """A page at `path`; the last of `parts` ends its picture. Its `{match}` is between two, and its `{season}` has six
    bots. `private`: an organiser has signed in.
    """

    path: str
    parts: tuple[str, ...]
    private: bool = False


SHOTS = {
    "home": Shot("/", (".opening .act[href='/sign-up?next=/submit']", "#featured .stage")),
    "game": Shot("/games/yacht-auction", (".acts .act[href='/play#yacht-auction']", "#players", "main .scroll")),
    "match": Shot("/matches/{match}", (".scoreline", "#replay .stage")),
    "board": Shot("/seasons/{season}", ("#board [data-elo]", "#board .interval svg", "#board tbody")),
    "upload": Shot("/submit?game=yacht-auction", ("nav.tabs", "#upload-name", "textarea.code"), private=True),
    "wizard": Shot("/desk/seasons/new", ("input[value=contest]", "#season-closes_at"), private=True),
    "timeouts": Shot("/timeouts", (".pairs.late a", ".pairs.late")),
    "play": Shot("/play", ("a[href^='/play?bot=']", "h2#liars-dice + ul")),
}


def shown(page: Page, shot: Shot) -> None:
    """Check that the page shows all parts."""
    for part in shot.parts:
        expect(page.locator(part).first, f"{shot.path} has no {part} any more").to_be_visible()


def address(league: League, shot: Shot) -> str:
    return shot.path.format(match=league.matches["yacht-auction"], season=len(league.matches))  # the last one


def state_of(league: League, shot: Shot) -> StorageState | None:
    return signed_in_as(league, league.site.world.boss.id) if shot.private else None


def take(page: Page, shot: Shot) -> bytes:
    """Return a page's picture in few colours."""
    shown(page, shot)
    last = page.locator(shot.parts[-1]).first.bounding_box()
    assert last is not None
    height = last["y"] + last["height"] + MARGIN
    clip: FloatRect = {"x": 0, "y": 0, "width": SIZE["width"], "height": height}
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip))).convert("RGB")
    file = io.BytesIO()
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return file.getvalue()


def main() -> None:
    assert CHROMIUM is not None, "no Chromium is installed (Debian: chromium-headless-shell)"
    site = Site(Path(tempfile.mkdtemp()))
    matches = furnish(site)
    with served(site.app) as url, sync_playwright() as playwright, launched(playwright, CHROMIUM) as browser:
        league = League(site, matches, url)
        for name, shot in SHOTS.items():
            state = state_of(league, shot)
            page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce", storage_state=state)
            page.goto(url + address(league, shot))
            print(name, (FOLDER / f"{name}.png").write_bytes(take(page, shot)))
    site.close()


if __name__ == "__main__":
    main()
