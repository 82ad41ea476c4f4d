"""Environments for training play by the same rules, and tell an agent what the protocol tells its seat."""

import random
import subprocess
import sys
from itertools import islice
from typing import Any

import numpy as np
import pytest

import deadheat
from deadheat.engine.chance import seeds
from deadheat.engine.core import Fault
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.games.variants import Value, parameters, rules_of
from deadheat.engine.replay import replay
from deadheat.engine.transcript import decode, encode
from deadheat.games.liars_dice.rules import BIDS, Bid, Move
from deadheat.games.liars_dice.training import ACTIONS, LiarsView
from deadheat.training import VIEWS
from deadheat.training.environment import Environment
from tests.bots.loading import bot_class
from tests.cli.command import ROOT
from tests.lanes import scaled
from tests.training.playing import TABLES, Told, is_over, legal, moves, plain


@pytest.mark.parametrize(("name", "seats"), TABLES)
def test_a_match_is_the_one_that_the_judge_would_have_played(name: str, seats: int) -> None:
    env = plain(name, seats)
    for number in range(3):
        assert list(moves(env, number))
        transcript = env.transcript()
        assert decode(encode(transcript)) == transcript
        assert replay(GAMES[name], transcript) == transcript
        assert not transcript.result.faults
        assert [env.infos[agent]["rank"] for agent in env.agents] == list(transcript.result.ranks)


@pytest.mark.parametrize(("name", "seats"), TABLES)
def test_observations_stay_within_their_bounds_and_are_copies(name: str, seats: int) -> None:
    env = plain(name, seats)
    for number in range(5):
        for _ in moves(env, number):
            for agent in env.agents:
                seen = env.observe(agent)
                assert seen["observation"].dtype == np.float32
                assert (seen["observation"] >= env.layout.low).all()
                assert (seen["observation"] <= env.layout.high).all()
                assert seen["action_mask"].dtype == np.int8
                seen["observation"][:] = -1e9
                seen["action_mask"][:] = 1
        assert all(not env.observe(agent)["action_mask"].any() for agent in env.agents)


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_the_mask_is_exactly_what_the_rules_accept(name: str) -> None:
    """Try every action, legal or not, at several points of matches; in larger games, try some of each kind."""
    env = plain(name)
    chance = random.Random(name)
    tried = 0
    for number in range(scaled(10, 2)):
        past = list(moves(env, number))
        for place in sorted(chance.sample(range(len(past)), 3)):
            arrive(env, number, past[:place])
            mask = env.observe(env.agent_selection)["action_mask"]
            for accepted in (0, 1):
                actions = np.flatnonzero(mask == accepted).tolist()
                for action in chance.sample(actions, min(len(actions), scaled(40, 20))):
                    arrive(env, number, past[:place])
                    assert accepts(env, action) == accepted, (env.line, action)
                    tried += 1
    assert tried > scaled(1000, 100)


def arrive(env: Environment, seed: int, past: list[int]) -> None:
    env.reset(seed=seed)
    for action in past:
        env.step(action)


def accepts(env: Environment, action: int) -> bool:
    """Return whether the rules find no fault with the action; seats asked at the same time play legally."""
    agent = env.agent_selection
    env.step(action)
    while not is_over(env) and agent != env.agent_selection:
        env.step(legal(env)[0])
    return not is_over(env) or env.infos[agent]["fault"] is None


# What a seat knows -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["betris-large", "yacht-auction"])
def test_nobody_observes_an_action_before_all_have_acted(name: str) -> None:
    first, second = plain(name), plain(name)
    past = list(moves(first, 1))
    learnt = 0
    for place in range(0, len(past) - 2, 4):
        seen = []
        for env, choice in ((first, 0), (second, -1)):
            arrive(env, 1, past[:place])
            assert env.agent_selection == "seat_0"
            env.step(legal(env)[choice])
            before = env.observe("seat_1")
            env.step(legal(env)[0])
            seen.append((before, env.observe("seat_1")))
        (before, after), (before_too, after_too) = seen
        assert np.array_equal(before["observation"], before_too["observation"])
        assert np.array_equal(before["action_mask"], before_too["action_mask"])
        learnt += not np.array_equal(after["observation"], after_too["observation"])
    assert learnt >= 5


def test_a_hand_of_liars_dice_is_its_owners_secret_until_a_challenge() -> None:
    first, second = (Environment(Told(f"11234 {theirs}" + "1" * 9), LiarsView, 2) for theirs in ("22222", "56565"))
    for env in (first, second):
        env.reset()
    for action in (BIDS.index(Bid(1, 2)), BIDS.index(Bid(2, 5)), BIDS.index(Bid(3, 5)), ACTIONS.index(Move.CHALLENGE)):
        assert np.array_equal(first.observe("seat_0")["observation"], second.observe("seat_0")["observation"])
        for env in (first, second):
            env.step(action)
        assert not np.array_equal(first.observe("seat_1")["observation"], second.observe("seat_1")["observation"])
    shown = [env.layout.named(env.observe("seat_0")["observation"])["shown"] for env in (first, second)]
    assert shown[0][:12] == [2, 1, 1, 1, 0, 0, 0, 5, 0, 0, 0, 0]
    assert shown[1][:12] == [2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 3, 2]


def test_an_observation_of_liars_dice_begins_with_ones_own_seat() -> None:
    env = Environment(Told("11234 55566 12346" + "1" * 14), LiarsView, 3)
    env.reset()
    env.step(4)
    env.step('{"quantity": 3, "faceValue": 2, "type": "bid"}')
    seen = env.layout.named(env.observe("seat_2")["observation"])
    assert seen["turn"] == [1] and seen["dice"] == [1, 1, 1, 1, 0, 1] and seen["counts"] == [5, 5, 5, 0, 0, 0]
    bids: list[Any] = [BIDS[4], Bid(3, 2)]
    assert (seen["quantity"][0], seen["face"][0]) == bids[1]
    assert seen["bidder"] == [0, 0, 1, 0, 0, 0]  # seat 1 is two places after seat 2
    assert list(zip(seen["quantities"], seen["faces"], strict=True))[:3] == [(0, 0), *bids]
    env.step('{"type":"resign"}')
    assert env.layout.named(env.observe("seat_0")["observation"])["counts"][:3] == [5, 5, 0]


def test_yacht_auction_is_counted_as_the_rules_count_it() -> None:
    """House bots, which read the protocol's lines, play twelve matches, in some of which the bonus is reached."""
    new_bot = bot_class(bots_of("yacht-auction") / "greedy")
    env = plain("yacht-auction")
    bonuses = 0
    for number in range(12):
        env.reset(seed=number)
        bots = {agent: new_bot(number) for agent in env.agents}
        while not is_over(env):
            replies = [bots[env.agent_selection].answer(line) for line in env.lines]
            env.step(replies[-1])
        final: Any = list(env.transcript().events())[-1]
        assert final["type"] == "final"
        for seat, agent in enumerate(env.agents):
            seen = env.layout.named(env.observe(agent)["observation"])
            for place, who in ((seat, "mine"), (1 - seat, "theirs")):
                assert seen[f"total_{who}"] == [pytest.approx(final["total"][place] / 1000)]
                assert seen[f"bids_{who}"] == [pytest.approx(final["bids"][place] / 1000)]
                assert seen[f"basic_{who}"] == [final["basic"][place] / 1000]
                assert sum(seen[f"points_{who}"]) == (final["basic"][place] + final["combination"][place]) / 1000
                assert seen[f"free_{who}"] == [0] * 12 and seen[f"dice_{who}"] == [0] * 6
            assert env.infos[agent]["points"] == final["total"][seat]
        bonuses += sum(map(bool, final["bonus"]))
    assert bonuses


def test_betris_is_counted_as_the_rules_count_it() -> None:
    env = plain("betris-large")
    list(moves(env, 3))
    final: Any = list(env.transcript().events())[-1]
    for seat, agent in enumerate(env.agents):
        seen = env.layout.named(env.observe(agent)["observation"])
        assert seen["points_mine"] == [env.infos[agent]["points"]]
        for place, who in ((seat, "mine"), (1 - seat, "theirs")):
            assert sum(seen[f"board_{who}"]) == final["cells"][place]
            assert seen[f"chips_{who}"] == [final["chips"][place]]
            assert seen[f"points_{who}"] == [float(final["total"][place])]


# Rewards and faults ----------------------------------------------------------------------------------------------


def test_rewards_are_the_share_of_others_beaten_less_the_share_that_won() -> None:
    env = plain("liars-dice", 4)
    list(moves(env, 1))
    ranks = [env.infos[agent]["rank"] for agent in env.agents]
    assert sorted(ranks) == [1, 2, 3, 4]
    assert [env.rewards[agent] for agent in env.agents] == [
        {1: 1, 2: pytest.approx(1 / 3), 3: pytest.approx(-1 / 3), 4: -1}[rank] for rank in ranks
    ]
    assert env.last()[1:4] == (env.rewards["seat_0"], True, False) and list(env.agent_iter(1)) == ["seat_0"]
    for agent in env.agent_iter():
        assert agent == env.agents[0]
        env.step(None)
    assert env.num_agents == 0


@pytest.mark.parametrize(
    ("name", "bad", "fault"),
    [
        ("yacht-auction", 3425, Fault.MALFORMED),  # a scoring in place of a bid
        ("yacht-auction", "BID A 100001", Fault.ILLEGAL),
        ("yacht-auction", "B" * 5000, Fault.OVERFLOW),
        ("betris-large", 12, Fault.MALFORMED),
        ("liars-dice", 180, Fault.ILLEGAL),  # a challenge without a bid
    ],
)
def test_an_illegal_action_loses_as_under_the_judge(name: str, bad: int | str, fault: Fault) -> None:
    env = plain(name)
    env.reset(seed=1)
    env.step(bad)
    while not is_over(env):
        env.step(legal(env)[0])
    assert env.infos["seat_0"] == {"rank": 2, "points": None, "fault": fault.value}
    assert env.rewards == {"seat_0": -1, "seat_1": 1}


def test_nobody_wins_when_both_are_at_fault() -> None:
    env = plain("yacht-auction")
    env.reset()
    env.step("?")
    env.step("?")
    assert env.rewards == {"seat_0": 0, "seat_1": 0}


def test_what_is_no_reply_at_all_is_the_callers_mistake() -> None:
    env = plain("liars-dice")
    with pytest.raises(ValueError, match="reset first"):
        env.step(0)
    env.reset()
    for wrong in (-1, 182, "two\nlines", None):
        with pytest.raises(ValueError, match=r"action|line"):
            env.step(wrong)
    with pytest.raises(ValueError, match="not over"):
        env.transcript()
    env.step(np.int32(0))
    assert env.agent_selection == "seat_1"
    env.step("?")
    with pytest.raises(ValueError, match="step with None"):
        env.step(0)


# Seeds, and what is imported -------------------------------------------------------------------------------------


def test_a_seed_gives_the_dice_of_the_command_and_later_matches_others() -> None:
    env = plain("yacht-auction")
    told = []
    for seed in (7, None, 7, None):
        env.reset(seed=seed)
        told.append((env.match_seed, env.line))
    assert told[:2] == told[2:]
    assert [seed for seed, _ in told[:2]] == list(islice(seeds("7"), 2))
    env.reset(seed=told[1][0].hex())  # of an earlier match
    assert env.line == told[1][1]
    env.reset(options={"any": 1})


def test_only_games_that_exist_can_be_asked_for() -> None:
    with pytest.raises(ValueError, match="no game to train"):
        deadheat.env("chess")
    with pytest.raises(ValueError, match="2 to 6 seats, not 7"):
        deadheat.env("liars-dice", 7)


def test_numpy_is_loaded_only_for_training_and_pettingzoo_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys, deadheat; assert not {'numpy', 'deadheat.training'} & sys.modules.keys(); deadheat.env"
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT / "src")}, check=True)
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "deadheat.training.pettingzoo", raising=False)
    assert type(deadheat.env("betris-large")) is Environment


# Variants --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, each) for name in sorted(VIEWS) for each in parameters(GAMES[name])]
)
def test_a_variant_is_played_by_its_numbers_and_its_transcript_says_so(name: str, parameter: Value) -> None:
    variant = {parameter.name: parameter.parameter.least}
    env = deadheat.env(name, variant=variant)
    assert list(moves(env, 1))
    transcript = env.transcript()
    assert transcript.variant == variant and not transcript.result.faults
    assert replay(rules_of(transcript), decode(encode(transcript))) == transcript


def test_a_variant_stays_within_the_bounds_of_a_season() -> None:
    with pytest.raises(ValueError, match="dice is 6, and must be from 1 to 5"):
        deadheat.env("liars-dice", variant={"dice": 6})


def test_a_seat_knows_from_the_beginning_how_many_dice_a_variant_has() -> None:
    env = deadheat.env("liars-dice", 3, {"dice": 2})
    env.reset(seed=1)
    assert env.layout.named(env.observe("seat_2")["observation"])["counts"] == [2, 2, 2, 0, 0, 0]
