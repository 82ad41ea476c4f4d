"""Matches in one process for programs that learn: the judge's rules, played move by move.

Theory of operation
-------------------
`Environment` drives a game's generator as the referee does (`engine.referee`), but takes each reply from the caller of
`step`. Its interface is PettingZoo's agent environment cycle (AEC), on which it does not depend: with PettingZoo
installed, `env` returns a subclass that also has its spaces (`training.pettingzoo`).

A `View` computes an agent's observation from the lines sent to one seat and that seat's own replies, and nothing else.
So an observation cannot contain more than the protocol has told that seat. Actions are numbers for lines, and the rules
judge every line.

There are no clocks: a reply takes no time, so nobody times out, and time banks stay full.
"""

from collections.abc import Mapping

from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import Parts
from deadheat.engine.games.variants import varied
from deadheat.training.environment import Environment
from deadheat.training.view import View

VIEWS: Mapping[str, type[View]] = Parts("training", "VIEW")
"""The views by game: what its agents observe and do. A game without a view does not support training."""


def env(name: str, seats: int | None = None, variant: Mapping[str, int] | None = None) -> Environment:
    """Return an environment for the game of that name, with its fewest seats if `seats` is None.

    `variant` sets parameters of the game, as a season does. The environment is a ``pettingzoo.AECEnv`` if PettingZoo is
    installed. Call `reset` first.

    Raises:
        ValueError: no game of that name supports training, it does not have that many seats, or it has no such variant.
    """
    if name not in VIEWS:
        raise ValueError(f"no game to train for is called {name!r}; there are {', '.join(sorted(VIEWS))}")
    game = varied(GAMES[name], variant or {})
    try:
        from deadheat.training.pettingzoo import PettingZooEnvironment as Made
    except ImportError:
        return Environment(game, VIEWS[name], seats)
    return Made(game, VIEWS[name], seats)
