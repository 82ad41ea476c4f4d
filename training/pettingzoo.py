"""The environment as PettingZoo's own class, with Gymnasium's spaces. It needs ``pettingzoo``."""

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from deadheat.engine.core import Game
from deadheat.training.environment import Environment
from deadheat.training.view import View


class PettingZooEnvironment(Environment, AECEnv):  # type: ignore[misc]  # PettingZoo may be missing where types are checked
    """An `Environment` that is a ``pettingzoo.AECEnv``."""

    def __init__(self, game: Game, view: type[View], seats: int | None = None) -> None:
        super().__init__(game, view, seats)
        self._observations = {agent: self._observation_space() for agent in self.possible_agents}
        self._actions = {agent: spaces.Discrete(self.actions) for agent in self.possible_agents}

    def _observation_space(self) -> spaces.Dict:
        observation = spaces.Box(self.layout.low, self.layout.high, dtype=np.float32)
        return spaces.Dict({"observation": observation, "action_mask": spaces.Box(0, 1, (self.actions,), np.int8)})

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the space of `observe`, which is always the same object for an agent."""
        return self._observations[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return the space of actions, which is always the same object for an agent."""
        return self._actions[agent]
