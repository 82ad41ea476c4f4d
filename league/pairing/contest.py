"""The draw of a Swiss, and the standings of a Swiss or a round robin with their tie-breaks.

Everything here is a pure function of seeds and results, so anybody can recompute it.

*Swiss.* Players are paired by descending score, then by seed, the best first: each meets the first unmet player below.
If it has met everybody left, it meets the first of those that it has met least often. At larger tables, each seat goes
to the first of those whom the players already at the table have met least often, all together. Of a field that does not
fill its tables, the lowest score among those with the fewest byes gets a bye; among equals, the weakest seed. A bye is
worth as much as a won round, but does not count as a round won outright.

*Scores.* Points of matches: win 1, draw 1/2, loss and own failure 0; at larger tables `league.pairing.rounds` has the
points of a match. Matches that the service failed to play give nobody points, so nobody gains by causing a failure.

*Ties* are broken by figures (`league.pairing.figures`). In a Swiss, in this order: rounds won outright (more points in
them than the opponent); the sum of the opponents' scores; the sum of the player's scores after each round
("cumulative"); the sum of the opponents' cumulative scores ("opposition's cumulative"); the seed. An opponent counts
once for each round. In a round robin: Sonneborn-Berger, which is the sum of each opponent's score times the points
taken from it (at larger tables, of the opponents' mean score times the points taken there); the seed.

With two players, all points are multiples of a half, and all figures of a quarter, so floats hold them exactly. Larger
tables share points in thirds and fifths, so figures are rounded before they are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations

from deadheat.league.pairing.figures import DIGITS, Figure, Meeting, points
from deadheat.league.pairing.pairs import PairKey, pair_key


@dataclass(frozen=True, slots=True)
class Placed:
    """A player in the standings. `seed` and `place` are from 1.

    `figures`: the points, then the tie-breaks of its format, by the names of `league.pairing.figures`.
    """

    player: int
    seed: int
    place: int
    figures: Mapping[str, float]

    @property
    def points(self) -> float:
        """The sum of the points taken."""
        return self.figures["points"]


def draw(
    seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting], seats: int = 2
) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Draw the next Swiss round: the tables of `present` players, the best first, and the players with a bye. `seeded`:
    all players, the best seed first.

    Players that have sat first less often sit before the others; if equal, the better placed ones.
    """
    scores = points(played)
    order = sorted((one for one in seeded if one in present), key=lambda one: -round(scores[one], DIGITS))
    had = Counter(one.players[0] for one in played if len(one.players) == 1)
    byes = []
    for _ in range(len(order) % seats):  # among equals the weakest, which the stable order lists last
        byes.append(min(reversed(order), key=lambda player: (had[player], round(scores[player], DIGITS))))
        order.remove(byes[-1])
    met = Counter(pair_key(*two) for one in played for two in combinations(one.players, 2))
    began = Counter(one.players[0] for one in played if len(one.players) > 1)
    tables = _tables(order, met, seats)
    return [tuple(sorted(table, key=began.__getitem__)) for table in tables], tuple(byes)


def _tables(order: Sequence[int], met: Counter[PairKey], seats: int) -> list[list[int]]:
    """Fill tables from the top with a number of players that does.

    The players without a table form a linked list, so each passes only over those that it has met: n players after r
    rounds cost n * r steps, for 1,600 players in the twentieth round a few hundredths of a second.
    """
    end = len(order)
    below = list(range(1, end + 1))  # for each place, the next one that is free; `end`: none
    tables = []
    top = 0
    while top < end:
        table = [top]
        while len(table) < seats:
            least: int | None = None
            chosen = before_chosen = before = top
            while (place := below[before]) < end:
                times = sum([met[pair_key(order[one], order[place])] for one in table])
                if least is None or times < least:
                    least, chosen, before_chosen = times, place, before
                if times == 0:
                    break
                before = place
            assert chosen != top, "the tables are filled"
            table.append(chosen)
            below[before_chosen] = below[chosen]
        tables.append([order[one] for one in sorted(table)])
        top = below[top]
    return tables


def placed(ties: Sequence[Figure], seeded: Sequence[int], played: Sequence[Meeting]) -> list[Placed]:
    """Return all players, the best first: by points, then by the figures that break ties, then by seed."""
    found = {"points": points(played)} | {tie.name: tie.of(played) for tie in ties if tie.of is not None}
    figured = [{name: round(figure[player], DIGITS) for name, figure in found.items()} for player in seeded]
    order = sorted(range(len(seeded)), key=lambda one: [-figure for figure in figured[one].values()])  # stable: by seed
    return [Placed(seeded[one], one + 1, place, figured[one]) for place, one in enumerate(order, 1)]
