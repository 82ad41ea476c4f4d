"""The page Style looks as it did: each part, in light and in dark, is compared with its stored picture.

    .venv/bin/python -m tests.site.test_style        # takes the pictures again

Letters are drawn a little differently by every release of a font or browser, so both pictures are made coarse before
they are compared, and a part fails only where an area differs clearly. The fonts are those of scripts/test's packages.
"""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from deadheat.api.services import SITE
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
    """Take the pictures again."""
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


Vector = NDArray[np.float64]

READABLE = 4.5
"""The least contrast of text (WCAG 2, level AA)."""

APART = {"normal": 12.0, "protan": 6.0, "deutan": 6.0, "tritan": 6.0}
"""The least distance between two seats in Oklab, times a hundred; colours also have names beside them."""

SEES = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""Linear RGB as seen without one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1)."""

TO_CONES = np.array([[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]])
TO_LAB = np.array([[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]])
"""Oklab (Ottosson 2020)."""


def palette(dark: bool) -> Mapping[str, str]:
    """Return the style sheet's colours by name."""
    light, after = (SITE / "static" / "site.css").read_text().split("@media (prefers-color-scheme: dark)", 1)
    named = re.compile(r"--([a-z0-9-]+): (#[0-9a-f]{6})")
    return dict(named.findall(light)) | (dict(named.findall(after.split("\n}\n")[0])) if dark else {})


def linear(colour: str) -> Vector:
    part = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def distance(one: str, other: str, seen: Vector) -> float:
    places = [TO_LAB @ np.cbrt(TO_CONES @ np.clip(seen @ linear(colour), 0, 1)) for colour in (one, other)]
    return 100 * float(np.linalg.norm(places[0] - places[1]))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read_on_every_ground(dark: bool) -> None:
    colours = palette(dark)
    texts = ["ink", "soft", "link", "accent", "good", "bad", "warm", *(f"seat{seat}" for seat in range(6))]
    pairs = [(text, ground) for text in texts for ground in ("ground", "raised")]
    pairs += [("on-accent", "accent"), ("bad", "bad-ground"), ("ink", "accent-ground"), ("link", "accent-ground")]
    assert {
        pair: contrast(*map(colours.__getitem__, pair))
        for pair in pairs
        if contrast(*map(colours.__getitem__, pair)) < READABLE
    } == {}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("vision", SEES)
def test_seats_are_told_apart(vision: str, dark: bool) -> None:
    colours = palette(dark)
    seats = {name: colours[name] for name in (f"seat{seat}" for seat in range(6))}
    close = {
        pair: found
        for pair in combinations(seats, 2)
        if (found := distance(seats[pair[0]], seats[pair[1]], SEES[vision])) < APART[vision]
    }
    assert close == {}
