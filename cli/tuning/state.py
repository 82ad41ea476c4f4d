"""What `deadheat tune` searches for, and what it keeps of a search."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from deadheat.cli.console import USAGE, fail
from deadheat.cli.tuning.surface import Array, Surface

STATE = "tune.json"
ENV = "/usr/bin/env"  # which the judge image lacks
EDGE = 0.1

PARAMETER = re.compile(r"([A-Za-z_]\w{0,39})=(-?N)\.\.(-?N)(?:/(N))?".replace("N", r"\d+(?:\.\d+)?"), re.ASCII)
"""The form of ``--param``; a number with a point makes it a parameter of any value instead of whole numbers."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the bot with its range. Values are multiples of `step` above `low`; 0: any value."""

    name: str
    low: float
    high: float
    step: float

    @classmethod
    def read(cls, text: str) -> Parameter:
        """Read a parameter. Raises ValueError: the text is a sentence."""
        match = PARAMETER.fullmatch(text)
        if match is None:
            raise ValueError(f"{text} is not NAME=LOW..HIGH or NAME=LOW..HIGH/STEP, as in MARGIN=0..50")
        low, high, step = float(match[2]), float(match[3]), float(match[4] or ("." not in match[2] + match[3]))
        if not low < high or (step and step > high - low):
            raise ValueError(f"{text}: there is nothing between {low:g} and {high:g}")
        return cls(match[1], low, high, step)

    def value(self, share: float) -> float:
        """Return the value at a share of the range, to four digits."""
        exact = share * (self.high - self.low)
        if self.step:
            exact = min(round(exact / self.step), int((self.high - self.low) / self.step + 1e-9)) * self.step
        return float(f"{self.low + exact:.4g}") if not self.step else round(self.low + exact, 10)

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Step:
    """The search after so many games: the best values, and the widths of the region where it plays."""

    games: int
    values: list[float]
    widths: list[float]


@dataclass
class Tuning:
    """The request, and the points drawn so far, which are values by parameter. `by_argument`: the bot gets values as
    --NAME=VALUE instead of variables of its environment.
    """

    parameters: list[Parameter]
    by_argument: bool
    games: int
    sprt: str
    points: list[list[float]] = field(default_factory=list)

    @classmethod
    def load(cls, folder: Path) -> Tuning:
        """Read the state in a folder, or end the command."""
        try:
            stored = json.loads((folder / STATE).read_text(encoding="utf-8"))
            return cls(**{**stored, "parameters": [Parameter(**given) for given in stored["parameters"]]})
        except OSError as error:
            fail(f"there is nothing to continue in {folder}: cannot read {STATE}: {error.strerror}", USAGE)
        except (ValueError, TypeError, KeyError):
            fail(f"{folder / STATE} was not written by tune", USAGE)

    def save(self, folder: Path) -> None:
        new = folder / f"{STATE}.new"
        new.write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")
        new.replace(folder / STATE)

    def snapped(self, shares: Array) -> Array:
        """Return the shares of the values that the bot can get nearest to these shares."""
        columns = [[p.share(p.value(share)) for share in shares[:, n]] for n, p in enumerate(self.parameters)]
        return np.array(columns).T

    def shares(self, points: int) -> Array:
        """Return the first so many points as shares of the ranges."""
        return np.array([[p.share(v) for p, v in zip(self.parameters, of, strict=True)] for of in self.points[:points]])

    def step(self, games: int, surface: Surface) -> Step:
        best = surface.best(self.snapped)
        widths = [share * (p.high - p.low) for share, p in zip(surface.spread.tolist(), self.parameters, strict=True)]
        return Step(games, self.values(best), widths)

    def at_edges(self, step: Step) -> list[str]:
        """Return the names of the parameters whose best value may lie beyond their range."""
        told = zip(self.parameters, step.values, step.widths, strict=True)
        return [p.name for p, v, w in told if min(v - p.low, p.high - v) < min(w / 2, EDGE * (p.high - p.low))]

    def values(self, shares: Array) -> list[float]:
        return [p.value(float(share)) for p, share in zip(self.parameters, shares, strict=True)]

    def with_values(self, words: Sequence[str], values: Sequence[float]) -> tuple[str, ...]:
        """Return the command that starts the bot with these values."""
        pairs = [f"{p.name}={value:.10g}" for p, value in zip(self.parameters, values, strict=True)]
        return (*words, *(f"--{pair}" for pair in pairs)) if self.by_argument else (ENV, *pairs, *words)

    def more(self, surface: Surface | None, count: int, seed: str) -> None:
        """Draw points: at first evenly over the ranges, later where the surface says."""
        chance = np.random.default_rng(list(hashlib.sha256(f"{seed} {len(self.points)}".encode()).digest()))
        if surface is None:  # one in each of as many slices of every range
            slices = np.stack([chance.permutation(count) for _ in self.parameters], axis=1)
            shares = (slices + chance.random(slices.shape)) / count
        else:
            shares = surface.draw(count, chance)
        self.points += [self.values(point) for point in shares]
