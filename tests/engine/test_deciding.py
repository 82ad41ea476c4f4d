"""The deciding moment: what a reader of the figures would point at."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from deadheat.engine.scenes.core import Scene
from deadheat.engine.scenes.deciding import deciding_scene
from deadheat.games.yacht_auction.rules import CATEGORIES
from deadheat.games.yacht_auction.scenes import _lit

pytestmark = pytest.mark.quick

Told = Sequence[tuple[int | None, Sequence[float | None]]]


def decided(told: Told, ranks: Sequence[int], fault_at: int | None = None) -> int:
    scenes = [Scene("", {}, round=number, fault=0 if at == fault_at else None) for at, (number, _) in enumerate(told)]
    return deciding_scene(scenes, [figures for _, figures in told], ranks)


LEADS: Told = [
    (1, (0, 0)),
    (1, (9, 0)),  # seat 0 acts first, and seems to lead
    (1, (9, 12)),
    (2, (10, 12)),
    (2, (15, 12)),  # ahead from the end of this round on; this scene contributed most
    (2, (15, 14)),
    (3, (30, 14)),  # a larger step, but the seat already led
    (3, (30, 28)),
    (None, (30, 28)),
]


@pytest.mark.parametrize(
    ("told", "ranks", "scene"),
    [
        (LEADS, (1, 2), 4),
        ([(number, (b, a)) for number, (a, b) in LEADS], (2, 1), 4),
        ([(1, (1, 0)), (1, (2, 0)), (2, (7, 0)), (3, (8, 0)), (None, (8, 0))], (1, 2), 2),  # always ahead
        ([(1, (5, 0)), (2, (5, 5)), (3, (6, 6)), (None, (6, 6))], (1, 1), 1),  # a draw: the largest change
        ([(1, (0, 0)), (2, (0, 0)), (None, (0, 0))], (1, 1), 2),  # nothing happened
        ([(1, (None, None)), (1, (5, None)), (1, (5, 2)), (None, (5, 2))], (1, 2), 2),
        ([(1, (3, 3, 3)), (2, (3, 3, 2)), (3, (3, 2, 2)), (None, (3, 2, 2))], (1, 2, 3), 2),
        ([(1, ()), (2, ()), (None, ())], (1, 2), 2),  # a game without a figure
        ([(None, (0, 0))], (1, 2), 0),
    ],
)
def test_it_is_the_step_that_made_the_lead_for_good(told: Told, ranks: Sequence[int], scene: int) -> None:
    assert decided(told, ranks) == scene


def test_a_duel_is_decided_by_its_fault_and_a_table_is_not() -> None:
    assert decided(LEADS, (2, 1), fault_at=7) == 7
    table: Told = [(1, (3, 3, 3)), (2, (3, 0, 3)), (3, (3, 0, 2)), (None, (3, 0, 2))]
    assert decided(table, (1, 3, 2), fault_at=1) == 2


@pytest.mark.parametrize(
    ("category", "dice", "lit"),
    [
        ("ONE", "11245", "11"),
        ("SIX", "16266", "666"),
        ("FIVE", "11234", ""),
        ("CHOICE", "53142", "12345"),
        ("FOUR_OF_A_KIND", "42444", "4444"),
        ("FOUR_OF_A_KIND", "44444", "4444"),
        ("FOUR_OF_A_KIND", "44422", ""),
        ("FULL_HOUSE", "23232", "22233"),
        ("SMALL_STRAIGHT", "63345", "3456"),
        ("SMALL_STRAIGHT", "12346", "1234"),
        ("LARGE_STRAIGHT", "65432", "23456"),
        ("LARGE_STRAIGHT", "12346", ""),
        ("YACHT", "33333", "33333"),
    ],
)
def test_the_dice_that_make_a_category_are_lit(category: str, dice: str, lit: str) -> None:
    assert _lit(category, dice, CATEGORIES[category](dice)) == lit
