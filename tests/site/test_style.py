"""The page Style looks as it did: each part, in light and in dark, is compared with its stored picture.

    .venv/bin/python -m tests.site.test_style        # takes the pictures again

Letters are drawn a little differently by every release of a font or browser, so both pictures are made coarse before
they are compared, and a part fails only where an area differs clearly. The fonts are those of scripts/test's packages.
"""

import io
import tempfile
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.api.served import served
from tests.api.site import Site
from tests.site.conftest import CHROMIUM, League, Open, launched
from tests.site.style_page import router

KEPT = Path(__file__).parent / "style"
PARTS = ("type", "colours", "figures", "states", "acts", "cards", "table", "chart")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

COARSE = 8
"""Pixels that become one, in each direction."""

TOLERANCE = 24
"""How far, of 255, a coarse pixel may differ from the kept one."""

SHARE = 0.01
"""The share of coarse pixels that may differ more."""


@pytest.fixture(autouse=True, scope="module")
def _page(league: League) -> None:
    league.site.app.router.routes += router.routes


def taken(page: Page, part: str) -> Image.Image:
    """Take a coarse picture of one part."""
    return Image.open(io.BytesIO(page.locator(f"[data-part={part}]").screenshot())).convert("RGB").reduce(COARSE)


def different(one: Image.Image, other: Image.Image) -> float:
    """Return the share of pixels that differ clearly; all do if the sizes differ by more than a line."""
    if abs(one.width - other.width) > 1 or abs(one.height - other.height) > 3:
        return 1.0
    size = min(one.width, other.width), min(one.height, other.height)
    pixels: list[NDArray[np.int16]] = [np.asarray(image.crop((0, 0, *size)), dtype=np.int16) for image in (one, other)]
    return float((np.abs(pixels[0] - pixels[1]).max(axis=2) > TOLERANCE).mean())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_part_looks_as_it_did(visit: Open, scheme: str) -> None:
    page = visit("/style", color_scheme=scheme, reduced_motion="reduce")
    found = {part: different(Image.open(KEPT / f"{part}-{scheme}.png"), taken(page, part)) for part in PARTS}
    assert {part: share for part, share in found.items() if share > SHARE} == {}


def main() -> None:
    assert CHROMIUM is not None, "no Chromium is installed (Debian: chromium-headless-shell)"
    KEPT.mkdir(exist_ok=True)
    site = Site(Path(tempfile.mkdtemp()))
    site.app.router.routes += router.routes
    with served(site.app) as url, sync_playwright() as playwright, launched(playwright, CHROMIUM) as browser:
        for scheme in SCHEMES:
            page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
            page.goto(f"{url}/style")
            page.wait_for_load_state("networkidle")
            for part in PARTS:
                taken(page, part).save(KEPT / f"{part}-{scheme}.png", optimize=True)
    site.close()


if __name__ == "__main__":
    main()
