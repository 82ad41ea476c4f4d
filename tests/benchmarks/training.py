"""Steps a second of `deadheat.env`, in CPU time, for every game.

    ./scripts/bench training [--short]

Random matches are drawn up first and then played again, so choosing an action costs nothing: a step is `last`, with its
observation and mask, and `step`. For Yacht Auction the rules alone, given the same replies, take turns with it: what is
left is the environment's own. A slice is ten matches, and twenty slices are a turn. The fastest tenth of slices shows
what the code needs on an undisturbed core, which is what the target is about; the median also shows the machine's other
work.
"""

import random
import sys
import time
from collections.abc import Callable

import numpy as np

from deadheat.engine.chance import Chance
from deadheat.engine.core import Reply
from deadheat.engine.games import GAMES
from deadheat.training import VIEWS
from deadheat.training.environment import Environment
from tests.benchmarks.targets import Targets, arguments

TARGET = 50_000  # steps a second of Yacht Auction
YACHT, ALONE = "yacht-auction", "yacht-auction, rules alone"
MATCHES = 10  # a slice
SLICES = 20  # a turn

Actions = list[list[int]]
"""Actions by match, at its seed."""


def main() -> int:
    short = arguments(__doc__, "one turn each").parse_args().short
    turns, targets = (1 if short else 8), Targets(short)
    plays: dict[str, tuple[Callable[[], None], int]] = {}
    for name in sorted(VIEWS):
        env = Environment(GAMES[name], VIEWS[name])
        drawn, replies = draw(env)
        steps = sum(map(len, drawn))
        plays[name] = (lambda env=env, drawn=drawn: play(env, drawn), steps)  # type: ignore[misc]
        if name == YACHT:
            plays[ALONE] = (lambda replies=replies: rules(replies), steps)  # type: ignore[misc]
    paces: dict[str, list[float]] = {name: [] for name in plays}
    for _ in range(turns):
        for name, (run, steps) in plays.items():
            for _ in range(SLICES):
                before_ns = time.process_time_ns()
                run()
                paces[name].append(steps / (time.process_time_ns() - before_ns) * 1e9)
    print(f"{'steps a second of CPU time':30}{'fastest tenth':>16}{'median':>10}")
    for name, pace in paces.items():
        print(f"{name:30}{fastest(pace):16,.0f}{np.median(pace):10,.0f}")
    pace_of_yacht = targets.shown(YACHT, fastest(paces[YACHT]), least=TARGET, form=".0f")
    print(f"Steps a second of {YACHT} on an undisturbed core: {pace_of_yacht}")
    return targets.report()


def fastest(pace: list[float]) -> float:
    """Return the pace that a tenth of the slices reached."""
    return float(np.quantile(pace, 0.9))


def draw(env: Environment) -> tuple[Actions, list[tuple[bytes, list[dict[int, Reply]]]]]:
    """Play random matches; return their actions, and their seeds with all replies."""
    chance = random.Random(1)
    drawn: Actions = []
    replies = []
    for number in range(MATCHES):
        env.reset(seed=number)
        actions = []
        while not env.terminations[env.agent_selection]:
            actions.append(chance.choice(np.flatnonzero(env.observe(env.agent_selection)["action_mask"]).tolist()))
            env.step(actions[-1])
        drawn.append(actions)
        replies.append((env.match_seed, [dict(exchange.replies) for exchange in env.transcript().exchanges]))
    return drawn, replies


def play(env: Environment, drawn: Actions) -> None:
    """Play the matches again, looking at each step as a learner does."""
    for number, actions in enumerate(drawn):
        env.reset(seed=number)
        for action in actions:
            env.last()
            env.step(action)


def rules(replies: list[tuple[bytes, list[dict[int, Reply]]]]) -> None:
    """Play the matches again by the rules alone."""
    for seed, exchanges in replies:
        match = GAMES[YACHT].play(2, Chance(seed))
        next(match)
        for given in exchanges[:-1]:
            match.send(given)


if __name__ == "__main__":
    sys.exit(main())
