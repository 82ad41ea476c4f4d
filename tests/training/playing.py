"""Random matches, and a game with known dice, for the tests of training."""

import random
from collections.abc import Generator, Iterator, Mapping

import numpy as np

from deadheat.engine.chance import Chance
from deadheat.engine.core import Reply, Result, Seat, Step
from deadheat.engine.games import GAMES
from deadheat.training import VIEWS
from deadheat.training.environment import Environment
from tests.engine.liars_players import Loaded

TABLES = [("betris-large", 2), ("liars-dice", 2), ("liars-dice", 5), ("yacht-auction", 2)]


def plain(name: str, seats: int = 2) -> Environment:
    """Make an environment, whether or not PettingZoo is installed."""
    return Environment(GAMES[name], VIEWS[name], seats)


def legal(env: Environment) -> list[int]:
    found: list[int] = np.flatnonzero(env.observe(env.agent_selection)["action_mask"]).tolist()
    return found


def is_over(env: Environment) -> bool:
    return env.terminations[env.agent_selection]


def moves(env: Environment, number: int, seed: int | None = None) -> Iterator[int]:
    """Play a random match, and yield each action before it is taken."""
    chance = random.Random(number)
    env.reset(seed=number if seed is None else seed)
    while not is_over(env):
        action = chance.choice(legal(env))
        yield action
        env.step(action)


class Told:
    """Liar's Dice with known dice."""

    name = "liars-dice"
    title = "Liar's Dice"
    rules_version = 1
    seats = range(2, 7)
    commands = ("READY", "TURN")

    def __init__(self, dice: str) -> None:
        self.dice = dice

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        return GAMES["liars-dice"].play(seats, Loaded(self.dice))
