"""Plays textarena's Liar's Dice in an environment of its own, where it is installed; see engine.py beside this.

Reads numbers of matches, a line each, and answers with the moves made and the CPU nanoseconds that they took. It
imports nothing of Deadheat, which is not there; both sides of the comparison play the moves of `claims`.
"""

import gc
import random
import sys
import time
from functools import cache

Claim = tuple[int, int]
"""A quantity and a face."""


def next_bid(current: Claim | None, chance: random.Random) -> Claim | None:
    """Draw a raise that is legal under both sets of rules, None for a challenge, which is one move in four.

    It draws no ones (nothing special to textarena) and no lower face with a higher quantity (which it forbids).
    """
    if current is None:
        return chance.randint(1, 3), chance.randint(2, 6)
    quantity, face = current
    choice = chance.random()
    if choice < 0.25 or quantity == 30:
        return None
    return (quantity, face + 1) if face < 6 and choice < 0.6 else (quantity + 1, face)


@cache
def claims(seed: int) -> list[Claim | None]:
    """Draw more moves than a match takes. They are drawn once, in the round that warms up."""
    chance = random.Random(seed)
    drawn: list[Claim | None] = []
    current: Claim | None = None
    for _ in range(500):
        current = next_bid(current, chance)
        drawn.append(current)
    return drawn


def play(seed: int) -> int:
    """Play a match of two players with five dice each; return how many moves it took."""
    from textarena.envs.LiarsDice.env import LiarsDiceEnv  # type: ignore[import-not-found,unused-ignore]

    following = iter(claims(seed)).__next__
    environment = LiarsDiceEnv(num_dice=5)
    environment.reset(num_players=2, seed=seed)
    moves, done = 0, False
    while not done:
        environment.get_observation()
        done, _ = environment.step(LINES[following()])
        moves += 1
    assert not any(info["invalid_move"] for info in environment.state.game_info.values())
    return moves


LINES: dict[Claim | None, str] = {None: "[Call]"} | {
    (quantity, face): f"[Bid: {quantity}, {face}]" for quantity in range(1, 31) for face in range(1, 7)
}


def main() -> None:
    play(0)
    print("ready", flush=True)
    for line in sys.stdin:
        gc.collect()
        gc.disable()
        before_ns = time.process_time_ns()
        moves = sum(play(seed) for seed in range(int(line)))
        taken_ns = time.process_time_ns() - before_ns
        gc.enable()
        print(moves, taken_ns, flush=True)


if __name__ == "__main__":
    main()
