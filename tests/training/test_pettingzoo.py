"""PettingZoo's own conformance tests, for every game.

Its test of ``max_cycles`` does not fit: matches end by their rules.
"""

import pytest

import deadheat
from tests.training.playing import TABLES, moves

pettingzoo = pytest.importorskip("pettingzoo", reason="pettingzoo is not installed")
test = pytest.importorskip("pettingzoo.test")
conversions = pytest.importorskip("pettingzoo.utils.conversions")

# It knows its own games with a mask by name, and warns about all others.
pytestmark = [
    pytest.mark.quick,
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array"),
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be"),
]


@pytest.mark.parametrize(("name", "seats"), TABLES)
def test_it_conforms(name: str, seats: int) -> None:
    test.api_test(deadheat.env(name, seats), num_cycles=150)


@pytest.mark.parametrize(("name", "seats"), TABLES)
def test_equal_seeds_give_equal_matches(name: str, seats: int) -> None:
    test.seed_test(lambda: deadheat.env(name, seats), num_cycles=100)


@pytest.mark.parametrize("name", ["betris-large", "yacht-auction"])
def test_duels_can_be_stepped_together(name: str) -> None:
    test.parallel_api_test(conversions.aec_to_parallel(deadheat.env(name)), num_cycles=50)


def test_spaces_hold_what_is_observed() -> None:
    env = deadheat.env("liars-dice", 3)
    assert isinstance(env, pettingzoo.AECEnv)
    for action in moves(env, 1):
        agent = env.agent_selection
        assert env.action_space(agent).contains(action) and env.observation_space(agent).contains(env.observe(agent))
    assert str(env) == "liars_dice_v1"
