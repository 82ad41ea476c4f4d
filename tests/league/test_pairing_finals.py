"""The tables of finals follow from what was played, as they always did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from deadheat.league.pairing.finals import Played, due_tables, extra_games
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.pairing.pairs import lot
from deadheat.league.pairing.rounds import tables
from deadheat.league.pairing.tournament import Form

pytestmark = pytest.mark.quick

DRAWN = Path(__file__).with_name("drawn_finals.txt").read_text().split()
"""Digests of all tables of random finals, one for each season's number, as release 0.2 drew them."""


def drawn(number: int, due: Callable[..., Sequence[Any]] = due_tables) -> list[Any]:
    """Play random finals in which bots leave, come back and are disqualified; return the tables due at each step."""
    lots = (lot(b"finals", number, step) for step in range(1_000_000))
    some: Callable[[int], int] = lambda most: next(lots) % most  # noqa: E731  a die
    format_ = EvaluationFormat.SWISS if some(4) else EvaluationFormat.ROUND_ROBIN
    seats = 2 if format_ is EvaluationFormat.ROUND_ROBIN else (2, 2, 3, 4)[some(4)]
    size = seats + some(14) * (4 if some(8) == 0 else 1)
    form = Form(format_, format_.rules.rounds_in(size, some(7) or None, 2), 1 + some(4), seats=seats)
    field, away = list(range(10, 10 + size)), set[int]()
    played: list[Played] = []
    taken: list[dict[int, Fraction]] = []
    found = []
    for _ in range(40):
        points = Counter[int]()
        for series, its in zip(played, taken, strict=True):
            points.update({} if series.struck else its)
        there = [version for version in field if version not in away]
        tables = due(form, bytes([number % 7]), there, played, lambda points=points: dict(points))
        found.append(tables)
        if not tables:
            break
        for at, table in tables if format_ is EvaluationFormat.SWISS else tables[: 1 + some(6)]:
            played += [Played(at, frozenset(table), struck=some(12) == 0)] * (1 + (some(15) == 0))
            taken += [{version: Fraction(some(2 * form.matches + 1), seats) for version in table}] * (
                len(played) - len(taken)
            )
        if some(3) == 0 and len(there) > seats:
            away.add(gone := there[some(len(there))])
            if some(2):
                played = [replace(one, struck=one.struck or gone in one.versions) for one in played]
        elif some(3) == 0:
            away.clear()
    return found


def digest(found: list[Any]) -> str:
    return sha256(repr(found).encode()).hexdigest()[:8]


@pytest.mark.parametrize("number", range(0, 300, 50))
def test_random_finals_are_drawn_as_before(number: int) -> None:
    fifty = range(number, number + 50)
    assert [digest(drawn(one)) for one in fifty] == [DRAWN[one] for one in fifty]


def test_a_round_without_a_table_that_counts_is_worth_a_won_round() -> None:
    """The fifth player's opponent was disqualified, so it meets a winner, and somebody else sits out."""
    played = [Played(1, frozenset({1, 2})), Played(1, frozenset({3, 4})), Played(1, frozenset({5, 6}), struck=True)]
    form = Form(EvaluationFormat.SWISS, 2, 4)
    due = due_tables(form, b"", [1, 2, 3, 4, 5], played, lambda: {1: 4, 3: 4})
    assert {(number, frozenset(pair)) for number, pair in due} == {(2, frozenset({1, 5})), (2, frozenset({2, 3}))}
    assert due_tables(form, b"", [1, 2], [replace(played[0], finished=False)], dict) == [], "the round has not ended"
    assert due_tables(form, b"", [1, 2], played, dict) == [], "the two have met"


def test_games_that_we_fail_to_play_cost_the_budget_nothing_up_to_as_many_again() -> None:
    def left(matches: int, lost: int) -> tuple[int, int]:
        return extra_games([Played(1, frozenset(), 10, 10), Played(None, frozenset(), matches, lost)], 6)

    assert [left(0, 0), left(2, 0), left(6, 4), left(7, 7), left(12, 12)] == [(0, 6), (2, 4), (2, 4), (0, 5), (0, 0)]


def test_at_tables_neighbours_by_score_sit_together_and_the_last_sit_out_in_turn() -> None:
    scores = {2: 3, 3: 1, 4: 2}
    assert tables((1, 2, 3, 4, 5), scores, Counter(), 2) == [(2, 4), (3, 1)]
    assert tables((1, 2, 3, 4, 5), scores, Counter({5: 1}), 2) == [(2, 4), (3, 5)]
    assert tables((1, 2, 3), {}, Counter(), 4) == []
