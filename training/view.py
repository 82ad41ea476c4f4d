"""One seat's knowledge as numbers; see the top of `training`."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deadheat.engine.core import Game

Numbers = NDArray[np.float32]
"""An array of shape (layout.size,)."""

Mask = NDArray[np.int8]
"""An array of shape (actions,): 1 where the action is legal."""


class Layout:
    """The named fields of an observation: the place of each in the vector, its range of numbers, and its meaning.

    Fields are given as ``name=(size, low, high)``, perhaps with a meaning, and follow one another in that order.
    ``print(env.layout)`` shows them.
    """

    def __init__(self, **fields: tuple[int, float, float] | tuple[int, float, float, str]) -> None:
        self.fields: dict[str, slice] = {}
        self.meanings: dict[str, str] = {}
        self.size = 0
        low: list[float] = []
        high: list[float] = []
        for name, (size, least, most, *meaning) in fields.items():
            self.meanings[name] = "".join(map(str, meaning))
            self.fields[name] = slice(self.size, self.size + size)
            self.size += size
            low += [least] * size
            high += [most] * size
        self.low = np.array(low, np.float32)
        self.high = np.array(high, np.float32)

    def __str__(self) -> str:
        """Return a line for each field: its name, how many numbers it has, and what they mean."""
        return "\n".join(
            f"{name:16} {place.stop - place.start:3}  {self.meanings[name]}" for name, place in self.fields.items()
        )

    def zeros(self) -> Numbers:
        return np.zeros(self.size, np.float32)

    def named(self, observation: NDArray[Any]) -> dict[str, list[float]]:
        """Return the numbers of an observation by field, for people."""
        return {name: observation[place].tolist() for name, place in self.fields.items()}


class View(ABC):
    """The lines and replies of one seat as numbers, and the replies that it may now give."""

    layout: ClassVar[Layout]
    start: ClassVar[Numbers]
    """The knowledge before the first line."""

    actions: ClassVar[int]
    """The number of actions, legal or not."""

    def __init__(self, seat: int, seats: int) -> None:
        self.seat = seat
        self.seats = seats
        self.numbers: Numbers = self.start.copy()

    def begin(self, rules: Game) -> None:  # noqa: B027  most views need to know no more than they are told
        """Read the rules of the match, if a variant of the game changes what is known before the first line."""

    @abstractmethod
    def hear(self, line: str) -> None:
        """Process a line that is sent to the seat."""

    @abstractmethod
    def reply(self, line: str) -> None:
        """Process the seat's own reply, which the rules may still refuse."""

    @abstractmethod
    def line(self, action: int) -> str:
        """Return the reply for an action; 0 <= action < `actions`."""

    @abstractmethod
    def mask(self) -> Mask:
        """Return which actions the rules accept as replies to the last prompt."""

    def observation(self) -> Numbers:
        return self.numbers.copy()
