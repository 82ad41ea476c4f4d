"""The engine's benchmark runs, in its short mode; whether it reaches its targets is for ./scripts/bench to say."""

import random

import pytest

from deadheat.engine.games import GAMES
from deadheat.games.liars_dice.rules import Bid
from tests.benchmarks.engine import play_rules, play_whole
from tests.benchmarks.test_short_modes import short
from tests.benchmarks.textarena_moves import Claim, next_bid
from tests.engine.liars_players import may_follow


@pytest.mark.all
def test_the_pace_of_the_engine() -> None:
    table = short("engine")
    for row in (*GAMES, "the rules", "with referee and transcript"):
        assert f"\n{row} " in table
    assert "textarena" in table


def test_what_both_sides_of_the_comparison_play_is_legal_under_both_rules() -> None:
    chance = random.Random(1)
    current: Claim | None = None
    for _ in range(10_000):
        bid = next_bid(current, chance)
        if current is not None and bid is not None:
            assert may_follow(bid, current)
            assert bid[0] >= current[0]
            assert bid[1] >= current[1]
            assert Bid(*bid) != current
        current = bid


def test_the_rules_alone_and_with_the_referee_are_the_same_matches() -> None:
    assert [play_rules(seed) for seed in range(20)] == [play_whole(seed) for seed in range(20)]
