"""Teach the Yacht Auction bot in main.py by playing against itself, and write it as an upload.

    python examples/yacht_learner/train.py FOLDER --minutes 6

The bot plays itself in `deadheat.env`, through the same lines as in the league. After each match, a small network is
taught what the dice and categories that a play left have really brought. NumPy does the teaching; the bot in FOLDER has
the weights in a file that needs the standard library only.
"""

import argparse
import runpy
import shutil
import sys
import time
from collections import deque
from functools import lru_cache
from pathlib import Path

import numpy as np

import deadheat
from deadheat.engine.games.folder import bots_of
from deadheat.training import export

GAME = "yacht-auction"
INS, HIDDEN = 38, 32  # numbers that describe a position (main.py), and what the network makes of them
KEPT = 100_000  # of the latest positions, from which it learns
BATCH, BATCHES = 256, 12  # positions at a time, and how often after each match
PACE = 2e-3  # of learning at first; it falls to 0
LOOKS, LOOK = 10, 40  # how often its play is compared during the training, and by how many matches


class Network:
    """One hidden layer, taught by Adam (Kingma and Ba 2015) to make the squared error small."""

    def __init__(self, layers):
        self.weights = [part for layer in layers for part in layer]
        self.moments = [np.zeros((2, *each.shape)) for each in self.weights]
        self.steps = 0

    def forward(self, numbers):
        first, bias, last, end = self.weights
        return np.maximum(numbers @ first + bias, 0) @ last + end

    def learn(self, numbers, targets, pace):
        first, bias, last, end = self.weights
        hidden = np.maximum(numbers @ first + bias, 0)
        error = (hidden @ last + end - targets[:, None]) / len(targets)
        back = (error @ last.T) * (hidden > 0)
        slopes = [numbers.T @ back, back.sum(0), hidden.T @ error, error.sum(0)]
        self.steps += 1
        for each, slope, moments in zip(self.weights, slopes, self.moments, strict=True):
            keep = np.reshape([0.9, 0.999], (2, *(1 for _ in slope.shape)))
            moments[...] = keep * moments + (1 - keep) * np.stack([slope, slope**2])
            mean, square = moments / (1 - keep**self.steps)
            each[...] -= pace * mean / (np.sqrt(square) + 1e-8)

    @property
    def layers(self):
        first, bias, last, end = self.weights
        return [(first, bias), (last, end)]


def student_of(folder, network):
    """Return the class of the bot in `folder`, as it plays in training: it asks the network itself, all plays at once,
    and remembers the positions that it left, and what it had scored by then.
    """
    sys.path.insert(0, str(folder))
    import main

    @lru_cache(1 << 16)
    def packed(numbers, *arguments):
        return np.array(numbers(*arguments), np.float32).tobytes()

    def rows(states):
        pairs = ((packed(main.dice_numbers, dice), packed(main.sheet_numbers, *sheet)) for dice, *sheet in states)
        return np.frombuffer(b"".join(part for pair in pairs for part in pair), np.float32).reshape(-1, INS)

    class Student(main.Learner):
        def __init__(self):
            super().__init__()
            self.left, self.scored = [], []

        def futures(self, states):
            return (main.UNIT * network.forward(rows(states))[:, 0]).tolist()

        def on_get(self):
            if self.round == 1:
                self.remember()

        def on_set(self, category, dice):
            self.remember()

        def remember(self):
            self.left.append((self.me.dice, frozenset(self.me.free), self.me.basic))
            self.scored.append(self.me.total - self.me.bids)

        def lessons(self):
            """Return the positions, each with what it has brought; the last one is the end."""
            scored = np.array(self.scored)
            return zip(rows(self.left[:-1]), (scored[-1] - scored[:-1]) / main.UNIT, strict=True)

    return Student


def play(env, bots):
    """Play a match; return the rewards of the seats."""
    env.reset()
    rewards = []
    for agent in env.agent_iter():
        bot = bots[env.possible_agents.index(agent)]
        replies = [bot.answer(line) for line in env.lines]
        _, reward, over, _, _ = env.last(observe=False)
        if over:
            rewards.append(reward)
        env.step(None if over else replies[-1])
    return rewards


def compare(new_bot, house, matches):
    """Return the share of matches that a bot wins against a house bot, a draw counting half."""
    rival = runpy.run_path(str(bots_of(GAME) / house / "main.py"))["Bot"]
    env = deadheat.env(GAME)
    env.reset(seed="compare")
    return sum(0.5 + play(env, [new_bot(), rival(seed)])[0] / 2 for seed in range(matches)) / matches


def write(folder, network):
    """Write the bot as an upload: what plays, the file that keeps its state, and the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("main.py"), folder)
    shutil.copy(bots_of(GAME) / "_sdk" / "python" / "yacht_auction.py", folder)
    export.write(folder / "network.py", network.layers)


def train(folder, seconds, say):
    """Teach for so many seconds of processor time, and write the bot into `folder`. Return the bot's class."""
    chance = np.random.default_rng(1)
    first = chance.normal(0, INS**-0.5, (INS, HIDDEN))
    network = Network([(first, np.zeros(HIDDEN)), (np.zeros((HIDDEN, 1)), np.zeros(1))])
    write(folder, network)
    student = student_of(folder, network)
    env = deadheat.env(GAME)
    env.reset(seed="train")
    lessons = deque(maxlen=KEPT)
    begun, told, matches = time.process_time(), 0.0, 0
    while (spent := time.process_time() - begun) < seconds:
        bots = [student(), student()]
        play(env, bots)
        matches += 1
        for bot in bots:
            lessons.extend(bot.lessons())
        for _ in range(BATCHES):
            chosen = [lessons[place] for place in chance.integers(len(lessons), size=BATCH)]
            numbers, targets = map(np.array, zip(*chosen, strict=True))
            network.learn(numbers, targets, PACE * (1 - spent / seconds))
        if spent - told > seconds / LOOKS:
            told = spent
            won = compare(student, "greedy", LOOK)
            say(f"{spent:.0f} s, {matches} matches: wins {won:.0%} of {LOOK} against greedy")
    write(folder, network)
    return student


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Teach a Yacht Auction bot.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=6, help="of processor time")
    given = parser.parse_args()
    taught = train(given.folder, 60 * given.minutes, lambda text: sys.stdout.write(f"{text}\n") and sys.stdout.flush())
    for rival, matches in (("greedy", 500), ("expert", 100)):
        sys.stdout.write(f"wins {compare(taught, rival, matches):.1%} of {matches} against {rival}\n")
