"""What may happen in a storm, and how much there is for it to happen to: both are drawn by a seed."""

import random
from dataclasses import dataclass, fields

from greenlet import GreenletExit


class Killed(GreenletExit):
    """The process ends at once; only cleanup in its own memory still runs."""


@dataclass(frozen=True, slots=True)
class Weather:
    """How likely each kind of harm is, at each point where it may happen."""

    kill: float = 0.0
    stop: float = 0.0
    told_to_end: float = 0.0
    database_away: float = 0.0
    answer_lost: float = 0.0
    message_lost: float = 0.0
    message_doubled: float = 0.0
    blob_refused: float = 0.0
    void: float = 0.0
    unfit: float = 0.0
    interfere: float = 0.0

    @classmethod
    def of(cls, chance: random.Random) -> "Weather":
        """Draw a storm with some harms, each mild or heavy."""
        harms = {kind.name: chance.choice([0.0, 0.02, 0.1]) for kind in fields(cls)}
        return cls(**{**harms, "message_lost": harms["message_lost"] * 3, "void": harms["void"] * 3})


CALM = Weather()
ROUGH = Weather(kill=0.03, stop=0.06, message_doubled=0.2)
"""What most often brings two workers to one series."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much there is to harm, and for how long. `games`: of the league's one pair, in series of two; `ranked`:
    whether rankings are made of them.
    """

    games: int
    ranked: bool
    machines: int
    schedulers: int
    storm_seconds: float
    uploads: int
    sittings: int

    @classmethod
    def of(cls, chance: random.Random) -> "Extent":
        """Draw an extent, mostly small: two workers and one series are enough for most mistakes, and several small
        storms take no longer than a large one. Every fiftieth is large, for mistakes that only these show.
        """
        if chance.random() < LARGE_SHARE:
            return LARGE
        return cls(
            games=chance.choice(GAMES),
            ranked=chance.random() < 0.3,
            machines=chance.choice([2, 2, 3]),
            schedulers=chance.choice([1, 1, 1, 2]),
            storm_seconds=chance.choice([15.0, 15.0, 30.0, 60.0]),
            uploads=chance.choice([0, 0, 0, 0, 0, 1, 2]),
            sittings=int(chance.random() < 0.1),
        )


GAMES = (2, 2, 2, 4)
"""A seed chooses one: mostly few."""
LARGE_SHARE = 0.02
LARGE = Extent(games=4, ranked=True, machines=3, schedulers=2, storm_seconds=100.0, uploads=3, sittings=2)
