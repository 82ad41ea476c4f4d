"""The draw and the standings of an evaluation, by the rules of contests: Swiss and round robin with their tie-breaks.

Everything here is a pure function of seeds and results, so anybody can recompute it.

*Swiss.* Players are paired by descending score, then by seed, the best first: each meets the first unmet player below.
If it has met everybody left, it meets the first of those that it has met least often. In an odd field, the lowest score
among those with the fewest byes gets a bye; among equals, the weakest seed. A bye is worth as much as a won round, but
does not count as a round won outright.

*Scores.* Points of matches: win 1, draw 1/2, loss and own failure 0. Matches that the service failed to play give
nobody points, so nobody gains by causing a failure.

*Ties* are broken by figures (`league.pairing.figures`). In a Swiss, in this order: rounds won outright (more points in
them than the opponent); the sum of the opponents' scores; the sum of the player's scores after each round
("cumulative"); the sum of the opponents' cumulative scores ("opposition's cumulative"); the seed. An opponent counts
once for each round. In a round robin: Sonneborn-Berger, which is the sum of each opponent's score times the points
taken from it; the seed.

All points are multiples of a half, and all figures of a quarter, so floats hold them exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from deadheat.league.pairing.figures import Figure, Meeting, points
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
    seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting]
) -> tuple[list[tuple[int, int]], int | None]:
    """Draw the next Swiss round: the pairs of `present` players, the best first, and the player with the bye. `seeded`:
    all players, the best seed first.

    In a pair, the player that has sat first less often sits first; if equal, the better placed one.
    """
    scores = points(played)
    order = sorted((one for one in seeded if one in present), key=lambda one: -scores[one])  # stable: by seed
    bye = _bye(order, played, scores) if len(order) % 2 else None
    met = Counter(pair_key(one.first, one.second) for one in played if one.second is not None)
    began = Counter(one.first for one in played if one.second is not None)
    pairs = _pairs([player for player in order if player != bye], met)
    return [(one, other) if began[one] <= began[other] else (other, one) for one, other in pairs], bye


def _bye(order: Sequence[int], played: Sequence[Meeting], scores: Mapping[int, float]) -> int:
    """Choose the player with the bye. Among equal scores, `order` lists the weakest last."""
    had = Counter(one.first for one in played if one.second is None)
    return min(reversed(order), key=lambda player: (had[player], scores[player]))


def _pairs(order: Sequence[int], met: Counter[PairKey]) -> list[tuple[int, int]]:
    """Pair an even number of players from the top.

    The unpaired players form a linked list, so each player passes only over those that it has met: n players after r
    rounds cost n * r steps, for 1,600 players in the twentieth round a few hundredths of a second.
    """
    end = len(order)
    below = list(range(1, end + 1))  # for each place, the next one that is unpaired; `end`: none
    pairs = []
    top = 0
    while top < end:
        least: int | None = None
        chosen = before_chosen = before = top
        while (place := below[before]) < end:
            times = met[pair_key(order[top], order[place])]
            if least is None or times < least:
                least, chosen, before_chosen = times, place, before
            if times == 0:
                break
            before = place
        assert chosen != top, "an even number of players is paired"
        pairs.append((order[top], order[chosen]))
        below[before_chosen] = below[chosen]
        top = below[top]
    return pairs


def placed(ties: Sequence[Figure], seeded: Sequence[int], played: Sequence[Meeting]) -> list[Placed]:
    """Return all players, the best first: by points, then by the figures that break ties, then by seed."""
    found = {"points": points(played)} | {tie.name: tie.of(played) for tie in ties if tie.of is not None}
    figured = [{name: figure[player] for name, figure in found.items()} for player in seeded]
    order = sorted(range(len(seeded)), key=lambda one: [-figure for figure in figured[one].values()])  # stable: by seed
    return [Placed(seeded[one], one + 1, place, figured[one]) for place, one in enumerate(order, 1)]
