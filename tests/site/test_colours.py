"""The palette of the site: every text can be read, and every kind of colour vision tells seats apart."""

import re
from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from deadheat.api.services import SITE

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
