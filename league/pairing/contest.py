"""The draw and the standings of an evaluation, by the rules of contests: Swiss and round robin with their tie-breaks.

Everything here is a pure function of the seeds and of what was played, so anybody can compute it again.

*Swiss.* Players are drawn by descending score, then by seed, the best first: each takes the first one below that it has
not met yet; where it has met everybody who is left, the first of those whom it has met least. Of an odd number one has
a bye: the lowest score among those without one (then: with the fewest), and of equals the weakest seed. A bye is worth
as much as a round that was won, and is not a round won outright, for nobody was beaten.

*Scores.* Points of matches: win 1, draw 1/2, loss and own failure 0. What the service failed to play is worth nothing
to either side, so nobody gains by bringing a failure about.

*Ties in a Swiss*, in this order: rounds won outright (more points in them than the opponent); the sum of the opponents'
scores; the own scores weighted towards early rounds, which is the sum of what one had after each round ("cumulative");
the sum of that of the opponents ("opposition's cumulative"); the seed. An opponent counts once for each round.
*Ties in a round robin*: Sonneborn-Berger, which is the sum of each opponent's score times the points taken from it; the
seed.

All points are multiples of a half, and all figures of a quarter, so floats hold them exactly.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, replace

from deadheat.league.pairing.pairs import PairKey, pair_key


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two players in a round, `first` in seat 0 of the first match, and the points that each took.

    `second` None: a bye, whose points are the first's.
    """

    round: int
    first: int
    second: int | None
    first_points: float = 0.0
    second_points: float = 0.0


@dataclass(frozen=True, slots=True)
class Placed:
    """A player in the standings, with the figures that its place follows from, the first deciding first.

    `seed` and `place` are from 1. Of a round robin the Swiss figures are left at 0, and the reverse.
    """

    player: int
    seed: int
    place: int
    points: float
    rounds_won: int
    opponents_points: float = 0.0
    early_points: float = 0.0
    opponents_early_points: float = 0.0
    sonneborn_berger: float = 0.0

    @property
    def figures(self) -> dict[str, float]:
        """All but who it is and its seed and place, by their names."""
        return {name: figure for name, figure in asdict(self).items() if name not in ("player", "seed", "place")}


def draw(
    seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting]
) -> tuple[list[tuple[int, int]], int | None]:
    """The next Swiss round of those present: pairs, the best first, and who has the bye. `seeded`: all players, the
    best seed first.

    In a pair, who has sat first less often does so; of equals the better placed.
    """
    scores = _scores(played)
    seed = {player: number for number, player in enumerate(seeded)}
    order = sorted((player for player in seeded if player in present), key=lambda one: (-scores[one], seed[one]))
    bye = _bye(order, played, scores) if len(order) % 2 else None
    met = Counter(pair_key(one.first, one.second) for one in played if one.second is not None)
    began = Counter(one.first for one in played if one.second is not None)
    pairs = _pairs([player for player in order if player != bye], met)
    return [(one, other) if began[one] <= began[other] else (other, one) for one, other in pairs], bye


def _scores(played: Sequence[Meeting]) -> defaultdict[int, float]:
    scores: defaultdict[int, float] = defaultdict(float)
    for one in played:
        scores[one.first] += one.first_points
        if one.second is not None:
            scores[one.second] += one.second_points
    return scores


def _bye(order: Sequence[int], played: Sequence[Meeting], scores: Mapping[int, float]) -> int:
    """Who sits out; `order` has the weakest of equal scores last."""
    had = Counter(one.first for one in played if one.second is None)
    return min(reversed(order), key=lambda player: (had[player], scores[player]))


def _pairs(order: Sequence[int], met: Counter[PairKey]) -> list[tuple[int, int]]:
    """Pairs of an even number of players, from the top.

    Those who are not paired yet are a chain, so each player passes over those alone whom it has met: n players after r
    rounds cost n * r steps, 1,600 in their twentieth round a few hundredths of a second.
    """
    end = len(order)
    below = list(range(1, end + 1))  # of each place the next that is not paired; `end`: none
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


def swiss_standings(seeded: Sequence[int], played: Sequence[Meeting]) -> list[Placed]:
    """All players, the best first."""
    scores, won, opponents = _scores(played), _rounds_won(played), _opponents(played)
    rounds = max((one.round for one in played), default=0)
    early: dict[int, float] = dict.fromkeys(seeded, 0.0)
    for one in played:
        left = rounds - one.round + 1  # the rounds after which these points stood in the score
        early[one.first] += one.first_points * left
        if one.second is not None:
            early[one.second] += one.second_points * left
    figures = [
        Placed(
            player=player,
            seed=number,
            place=0,
            points=float(scores[player]),
            rounds_won=won[player],
            opponents_points=float(sum(scores[other] for other in opponents[player])),
            early_points=early[player],
            opponents_early_points=float(sum(early[other] for other in opponents[player])),
        )
        for number, player in enumerate(seeded, 1)
    ]
    return _placed(figures)


def round_robin_standings(seeded: Sequence[int], played: Sequence[Meeting]) -> list[Placed]:
    """All players, the best first."""
    scores = _scores(played)
    berger: dict[int, float] = dict.fromkeys(seeded, 0.0)
    for one in played:
        if one.second is not None:
            berger[one.first] += one.first_points * scores[one.second]
            berger[one.second] += one.second_points * scores[one.first]
    figures = [
        Placed(player, number, 0, float(scores[player]), 0, sonneborn_berger=berger[player])
        for number, player in enumerate(seeded, 1)
    ]
    return _placed(figures)


def _rounds_won(played: Sequence[Meeting]) -> Counter[int]:
    won: Counter[int] = Counter()
    for one in played:
        if one.second is not None and one.first_points != one.second_points:
            won[one.first if one.first_points > one.second_points else one.second] += 1
    return won


def _opponents(played: Sequence[Meeting]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for one in played:
        if one.second is not None:
            found[one.first].append(one.second)
            found[one.second].append(one.first)
    return found


def _rank(one: Placed) -> tuple[float, ...]:
    """What the standings are sorted by; the figures of the other format are all 0."""
    figures = (
        one.points,
        one.sonneborn_berger,
        one.rounds_won,
        one.opponents_points,
        one.early_points,
        one.opponents_early_points,
    )
    return (*(-figure for figure in figures), one.seed)


def _placed(figures: Sequence[Placed]) -> list[Placed]:
    order = sorted(figures, key=_rank)
    return [replace(one, place=place) for place, one in enumerate(order, 1)]
