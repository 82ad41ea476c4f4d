"""The ladder's next series: pure functions with the same result for the same seed.

Theory of operation
-------------------
A season numbers its series. Each begins with one bot and then finds opponents for it.

*Whose turn.* Every second series belongs to the bot that has waited longest since it was last planned, or entered. A
new bot queues behind the others, so with n bots nobody waits for more than 2 n series, whatever the rest do. The other
half goes to bots that no games link to the largest part of their field, then to those being placed (new, with a wide
interval), each in the order of waiting. A bot being placed has one series at a time, because its next opponent follows
from the last result. If nobody needs it, this half goes by waiting, too.

*Against whom.* The weight of an opponent is p (1 - p) / (1 + games): the information of one game that is won with
probability p, less for each game that the two bots have planned, including their earlier versions. A bot being placed
gets one of the `NEAREST` heaviest at random: the closest expected ratings that it has not met. Every other bot gets a
random one in proportion to the weights. Measured (tests/benchmarks/pairing.py): placing costs a third fewer games than
random opponents; after that, if strength is not transitive, the broad draw is never behind random pairing, while always
taking the closest opponent ends in a wrong order.

*One field.* Ratings compare only bots that games link. A bot outside the largest part plays somebody outside its own
part, so every such series leaves one part less, and a field of k parts is linked after 2 (k - 1) series.

Nobody can choose an opponent: the random draws come from a seed that is secret during the season, waiting belongs to
the bot and not to its newest version, and a new upload does not erase past opponents.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from deadheat.league.pairing.pairs import pair_key

PLACED_SE_ELO = 60.0
"""A version whose standard error is below this has been placed, after some 40 games. The prior's error is 350."""

PLACED_GAMES = 100
"""A version with this many games counts as placed, too: the error falls slowly in a much weaker or stronger field."""

NEAREST = 6
"""A bot being placed gets one of this many nearest opponents, so that nobody can foresee which.

Measured: after 50 games the error is the same for 1, 5 and 10 of them, and 2 % larger for 20.
"""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Reason(StrEnum):
    """The reason why a series is played."""

    LINK = "link"  # the field was not connected
    PLACEMENT = "placement"
    TURN = "turn"  # it had waited longest


@dataclass(frozen=True, slots=True)
class Entrant:
    """A version that may play.

    `elo` is its expected rating. `waiting_since`: how many series the season had planned when its bot was last planned,
    or entered. `part`: equal for versions that games link (`league.pairing.pairs.parts`). `through`: it has had all its
    games with everybody. It begins no series, but at a larger table it may sit with others who still need games.
    """

    version: int
    elo: float
    placing: bool
    waiting_since: int
    part: int
    division: int = 1
    open_series: int = 0
    through: bool = False


@dataclass(frozen=True, slots=True)
class Met:
    """The games that a version has planned and played with an opponent.

    `games`: of these two versions; `before`: of earlier versions of the two bots; `lead`: in how many more of the
    `games` it sat first than second.
    """

    games: int = 0
    before: int = 0
    lead: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """The season's terms for pairing. `series_length` and `games_per_pair` count matches; with groups, whole groups."""

    seats: int = 2
    series_length: int = 10
    games_per_pair: int | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed series: its versions (of two, the first begins), its number of matches, and the reason."""

    versions: tuple[int, ...]
    matches: int
    reason: Reason


def propose(
    entrants: Sequence[Entrant],
    met: Callable[[int], Mapping[int, Met]],
    wanted: int,
    terms: Terms,
    planned: int,
    seed: bytes,
) -> list[Proposal]:
    """Propose up to `wanted` series; fewer if pairs have reached `games_per_pair` or nobody is left to play.

    `planned` is the number of series that the season has planned so far. `met` is called only for a version whose turn
    it is, and returns its planned games by opponent, without opponents that it has not met. With two seats, no pair
    gets more than `games_per_pair`; at a larger table, one pair that needs games may sit with pairs that need none.
    """
    field = _Field(entrants, met, terms)
    proposals = []
    for number in range(planned, planned + wanted):
        proposal = field.next(number, seed)
        if proposal is None:
            break
        proposals.append(proposal)
    return proposals


class _Field:
    """The bots that may play, as columns ordered by version, together with the series planned so far."""

    def __init__(self, entrants: Sequence[Entrant], met: Callable[[int], Mapping[int, Met]], terms: Terms) -> None:
        self.entrants = sorted(entrants, key=lambda entrant: entrant.version)
        self.terms = terms
        self.place = {entrant.version: place for place, entrant in enumerate(self.entrants)}
        self.elo = np.array([entrant.elo for entrant in self.entrants])
        self.placing = np.array([entrant.placing for entrant in self.entrants], dtype=bool)
        self.waiting_since = np.array([entrant.waiting_since for entrant in self.entrants])
        self.part = np.array([entrant.part for entrant in self.entrants])
        self.division = np.array([entrant.division for entrant in self.entrants])
        self.open_series = np.array([entrant.open_series for entrant in self.entrants])
        self.apart = self._apart()
        self._ask = met
        self._met: dict[int, dict[int, Met]] = {}
        self._planned: dict[int, dict[int, Met]] = {}
        # The places of bots with no opponent left to play.
        self._through = {place for place, entrant in enumerate(self.entrants) if entrant.through}

    def next(self, number: int, seed: bytes) -> Proposal | None:
        """Plan the series with this number, or return None if nobody can play."""
        if not self.entrants:
            return None
        drawn = hashlib.shake_256(seed + number.to_bytes(8, "big")).digest(8 * len(self.entrants))
        lots: Floats = (np.frombuffer(drawn, dtype=">u8").astype(np.float64) + 1) / 2.0**64  # in (0, 1]
        for first in self._in_turn(number, lots):
            if first in self._through:
                continue
            others = self._opponents(first, lots)
            if others is None:
                self._through.add(first)
                continue
            return self._plan(first, others, number)
        return None

    def _in_turn(self, number: int, lots: Floats) -> Iterator[int]:
        """Yield places in the order in which they may begin this series."""
        by_waiting = np.lexsort((lots, self.waiting_since))
        if number % 2 == 0:
            yield from map(int, by_waiting[self.apart[by_waiting]])
            placeable = self.placing & (self.open_series == 0)
            yield from map(int, by_waiting[placeable[by_waiting]])
        yield from map(int, by_waiting)

    def _opponents(self, first: int, lots: Floats) -> list[int] | None:
        """Return the places that fill the other seats. The first one still needs games against `first`."""
        games = np.zeros(len(self.entrants), dtype=np.int64)
        before = np.zeros_like(games)
        for version, met in self._met_by(self.entrants[first].version).items():
            if version in self.place:
                games[self.place[version]] = met.games
                before[self.place[version]] = met.before
        there = self.division == self.division[first]
        there[first] = False
        new = there & (games < self.terms.games_per_pair) if self.terms.games_per_pair is not None else there
        if not new.any() or np.count_nonzero(there) < self.terms.seats - 1:
            return None
        order = self._draw(first, games + before, lots)
        linking = new & (self.part != self.part[first])
        chosen = order[(linking if self.apart[first] and linking.any() else new)[order]][:1]
        rest = np.concatenate([order[new[order]], order[(there & ~new)[order]]])
        return list(map(int, [*chosen, *rest[rest != chosen[0]][: self.terms.seats - 2]]))

    def _draw(self, first: int, games: NDArray[np.int64], lots: Floats) -> NDArray[np.int64]:
        """Return all places in the order in which they would be chosen as opponents of `first`."""
        p = 1 / (1 + 10 ** ((self.elo - self.elo[first]) / 400))
        weight = p * (1 - p) / (1 + games)
        if not self.placing[first]:
            return np.argsort(-np.log(lots) / weight, kind="stable")  # the shortest exponential waiting time wins
        weight[self.division != self.division[first]] = 0
        weight[first] = 0
        order = np.lexsort((lots, -weight))
        nearest = order[: max(NEAREST, 2 * self.terms.seats - 2)]
        return np.concatenate([nearest[np.argsort(lots[nearest])], order[len(nearest) :]])

    def _plan(self, first: int, others: list[int], number: int) -> Proposal:
        """Record the series in every column, and return it."""
        reason = Reason.TURN
        if self.apart[first] and self.part[others[0]] != self.part[first]:
            reason = Reason.LINK
        elif number % 2 == 0 and self.placing[first] and self.open_series[first] == 0:
            reason = Reason.PLACEMENT
        places = [first, *others]
        joined = self.part[places]
        self.part[np.isin(self.part, joined)] = joined.min()
        self.apart = self._apart()
        self.waiting_since[places] = number + 1
        self.open_series[places] += 1
        versions = tuple(self.entrants[place].version for place in places)
        matches = self._length(versions)
        if len(versions) == 2:
            versions = self._who_begins(versions[0], versions[1], number)
        self._note(versions, matches)
        return Proposal(versions, matches, reason)

    def _length(self, versions: tuple[int, ...]) -> int:
        most = self.terms.games_per_pair
        if most is None:
            return self.terms.series_length
        met = self._met_by(versions[0])
        left = [most - met[other].games if other in met else most for other in versions[1:]]
        return min(self.terms.series_length, *(games for games in left if games > 0))

    def _who_begins(self, version: int, other: int, number: int) -> tuple[int, int]:
        """Order a pair: first the player that sat first less often, in this pair or else in total, or by turns."""
        met = self._met_by(version)
        lead = met[other].lead if other in met else 0
        lead = lead or sum(pair.lead for pair in met.values())
        if lead == 0:
            return pair_key(version, other) if number % 2 == 0 else pair_key(version, other)[::-1]
        return (version, other) if lead < 0 else (other, version)

    def _note(self, versions: tuple[int, ...], matches: int) -> None:
        lead = matches % 2 if len(versions) == 2 else 0
        for version, other in permutations(versions, 2):
            planned = self._planned.setdefault(version, {})
            was = planned.get(other, Met())
            signed = lead if version == versions[0] else -lead
            planned[other] = Met(was.games + matches, was.before, was.lead + signed)
            self._met.pop(version, None)

    def _met_by(self, version: int) -> dict[int, Met]:
        """Return a version's past games by opponent, including the series planned so far."""
        if version not in self._met:
            met = dict(self._ask(version))
            for other, planned in self._planned.get(version, {}).items():
                was = met.get(other, Met())
                met[other] = Met(was.games + planned.games, was.before, was.lead + planned.lead)
            self._met[version] = met
        return self._met[version]

    def _apart(self) -> Bools:
        """Return which places are outside the largest connected part of their division."""
        apart = np.zeros(len(self.entrants), dtype=bool)
        for division in np.unique(self.division):
            inside = self.division == division
            names, sizes = np.unique(self.part[inside], return_counts=True)
            apart |= inside & (self.part != names[np.argmax(sizes)])
        return apart
