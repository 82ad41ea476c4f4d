"""Which games a tournament plays: balanced seats, shared dice, and no change to past games when it continues."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.cli.tournament.records import Kind, Request, Stage
from deadheat.cli.tournament.schedule import plan
from tests.cli.tournament.test_records import request

pytestmark = pytest.mark.quick


def design(bots: int = 4, games: int = 4, seats: int = 2, **other: Any) -> Request:
    labels = [f"bot-{number}" for number in range(bots)]
    return replace(request(*labels, seats=seats, stages=(Stage(bots, games),)), **other)


def meetings(of: Request) -> Counter[tuple[int, int]]:
    games = [game for deal in plan(of) for game in deal.games]
    return Counter(pair for game in games for pair in combinations(sorted(game.players), 2))


designs = st.builds(
    lambda seats, more, games, kind: design(seats + more, games, seats, kind=kind),
    st.integers(2, 6),
    st.integers(0, 4),
    st.integers(1, 9),
    st.sampled_from(Kind),
)


@given(designs)
def test_every_pair_that_meets_plays_enough_and_every_deal_once_from_each_seat(of: Request) -> None:
    (stage,) = of.stages
    met = meetings(of)
    everybody = combinations(range(stage.bots), 2)
    pairs = everybody if of.kind is Kind.ROUND_ROBIN else [(0, n) for n in range(1, stage.bots)]
    assert all(met[pair] >= stage.games for pair in pairs)
    for deal in plan(of):
        assert len(deal.games) == of.seats
        for seat in range(of.seats):
            assert sorted(game.players[seat] for game in deal.games) == list(deal.table)


@given(designs)
def test_games_are_numbered_in_their_order_and_only_those_of_one_deal_share_dice(of: Request) -> None:
    deals = plan(of)
    assert [game.number for deal in deals for game in deal.games] == list(range(sum(len(deal.games) for deal in deals)))
    assert len({deal.seed for deal in deals}) == len({deal.group for deal in deals}) == len(deals)


@given(designs, st.integers(0, 2), st.integers(0, 6))
def test_one_more_bot_or_more_games_change_no_game_of_before(of: Request, bots: int, games: int) -> None:
    (stage,) = of.stages
    labels = (*of.labels, *(f"new-{number}" for number in range(bots)))
    later = replace(of, bots=request(*labels).bots, stages=(stage, Stage(stage.bots + bots, stage.games + games)))
    before, after = plan(of), plan(later)
    assert after[: len(before)] == before
    met = meetings(later)
    assert all(met[0, other] >= stage.games + games for other in range(1, len(labels)))


def test_two_play_exactly_what_was_asked_and_everybody_in_turn() -> None:
    of = design(bots=4, games=6)
    assert set(meetings(of).values()) == {6}
    tables = [deal.table for deal in plan(of)]
    assert tables[:6] == tables[6:12] == list(combinations(range(4), 2)), "who stops early has treated all alike"


def test_larger_tables_spread_the_meetings() -> None:
    met = meetings(design(bots=9, games=4, seats=4)).values()
    assert len(met) == 36 and max(met) <= 4 * min(met)
    assert sum(met) <= 1.6 * 36 * 4, "not much more than was asked"


def test_dice_follow_from_seed_and_names_alone() -> None:
    of = design(bots=3)
    same = {tuple(of.labels[bot] for bot in deal.table): deal.seed for deal in plan(of) if deal.group.endswith("/1")}
    others = replace(of, bots=request("stranger", *of.labels).bots, stages=(Stage(4, 4),))
    for deal in plan(others):
        names = tuple(others.labels[bot] for bot in deal.table)
        assert deal.group.endswith("/2") or same.get(names, deal.seed) == deal.seed
    assert not {deal.seed for deal in plan(of)} & {deal.seed for deal in plan(replace(of, seed="other"))}


def test_candidates_play_the_same_dice_against_each_member_of_a_panel_and_not_each_other() -> None:
    deals = plan(design(bots=5, panel=2))
    assert {deal.table for deal in deals} == {(one, other) for one in range(3) for other in (3, 4)}
    for opponent in (3, 4):
        dice = [[deal.seed for deal in deals if deal.table == (one, opponent)] for one in range(3)]
        assert dice[0] == dice[1] == dice[2]


BEGUN = {
    "49f708f15f56c453": design(games=5),
    "8030a388627145e6": design(5, stages=(Stage(4, 4), Stage(5, 4), Stage(5, 9))),
    "abe56ea128671760": design(games=6, block=2),
    "cacc409c10d6c607": design(games=6, kind=Kind.GAUNTLET),
    "d7503757bdb8d61a": design(6, games=6, kind=Kind.GAUNTLET, panel=2),
    "f36b7db8c2beb083": design(7, seats=4, stages=(Stage(6, 4), Stage(7, 8))),
    "73358c861858726e": design(7, games=4, seats=3, kind=Kind.GAUNTLET),
}
"""Plans by the beginning of their hash: tournaments that have begun continue with the same games."""


@pytest.mark.parametrize(("known", "of"), BEGUN.items())
def test_the_games_of_a_tournament_never_change(known: str, of: Request) -> None:
    games = [(deal.group, deal.seed.hex(), [(one.number, one.players) for one in deal.games]) for deal in plan(of)]
    assert hashlib.sha256(json.dumps(games).encode()).hexdigest().startswith(known)
