"""The rounds of finals: everybody plays everybody (Berger), or players with similar scores meet (Swiss)."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, groupby

from deadheat.league.pairing.pairs import PairKey, lot, pair_key
from deadheat.league.states import Ranks

Score = int | float | Fraction


class NoRound(Exception):
    """Every possible round repeats a meeting."""


@dataclass(frozen=True, slots=True)
class Round:
    """The pairs of one round, seat 0 first, and the player without an opponent (`bye`)."""

    pairs: tuple[tuple[int, int], ...]
    bye: int | None = None


def berger(players: Sequence[int]) -> list[Round]:
    """Draw a round robin: everybody meets everybody once, and sits out at most once.

    This is Berger's table as chess federations print it: i + j determines the round in which places i and j meet, and
    whether i + j is odd determines who sits first. In an odd field each player has both seats equally often, in an even
    one with a difference of one.
    """
    places = len(players) + len(players) % 2  # in an odd field the last place is empty
    if len(players) < 2:
        return []
    rounds = []
    for number in range(places - 1):
        pairs = _berger_round(places, number)
        met = tuple((players[i], players[j]) for i, j in pairs if max(i, j) < len(players))
        sits_out = [min(pair) for pair in pairs if max(pair) >= len(players)]
        rounds.append(Round(met, players[sits_out[0]] if sits_out else None))
    return rounds


def _berger_round(places: int, number: int) -> list[tuple[int, int]]:
    """Return the pairs of places from 0, the first seat first. The last place meets the one that is its own pair."""
    turning = places - 1
    last = places - 1
    pairs = []
    for low in range(turning):
        high = (number - low) % turning
        if low == high:
            pairs.append((low, last) if low < places // 2 else (last, low))
        elif low < high:
            pairs.append((low, high) if (low + high) % 2 == 1 else (high, low))
    return pairs


def swiss(
    players: Sequence[int],
    scores: Mapping[int, Score],
    met: AbstractSet[PairKey],
    byes: Collection[int] = (),
    seed: bytes = b"",
) -> Round:
    """Draw the next round of a Swiss tournament.

    `players` are in the order of their strength before it, best first. `scores`: their points so far, with the caller's
    value of a bye (missing: 0). `met`: the pairs that have met. `byes`: the players who sat out, once for each time.

    Players with equal scores meet, the better half against the other half; those who find nobody new move down to the
    next score. In an odd field, the last of those who have sat out least sits out, unless the others could then not be
    paired. Nobody meets anybody again: in a field of n this is always possible for n/2 rounds (rounded down); after
    that (or when some have left), a search looks for such pairs. The first seat is drawn at random, because a series
    swaps seats after every match.

    Raises:
        NoRound: whichever player sits out, the others cannot all meet somebody new; never in the first n/2 rounds.
    """
    order = sorted(players, key=lambda player: -scores.get(player, 0))  # stable: by strength
    pairs: Sequence[tuple[int, int]]
    for bye in _sitting_out(order, Counter(byes)):
        try:
            pairs = _by_score([player for player in order if player != bye], scores, met)
            break
        except NoRound:
            continue
    else:
        pairs, bye = _searched(order, _sitting_out(order, Counter(byes)), met)
    return Round(tuple(_seated(pair, seed) for pair in pairs), bye)


def _sitting_out(order: Sequence[int], sat_out: Counter[int]) -> list[int] | list[None]:
    """Return the players who may sit out, first the last of those who sat out least, or [None] for an even field."""
    if len(order) % 2 == 0:
        return [None]
    return [player for _, _, player in sorted((sat_out[player], -rank, player) for rank, player in enumerate(order))]


def _by_score(order: Sequence[int], scores: Mapping[int, Score], met: AbstractSet[PairKey]) -> list[tuple[int, int]]:
    """Pair an even field, score group by score group."""
    pairs: list[tuple[int, int]] = []
    floating: list[int] = []
    for _, group in groupby(order, key=lambda player: scores.get(player, 0)):
        paired, floating = _pair_up([*floating, *group], met)
        pairs += paired
    return _settle(pairs, floating, met)


SEARCH_STEPS = 20_000
"""The most steps of a search for any round. It suffices for every field of a dozen, and takes a tenth of a second."""


def _searched(
    order: Sequence[int], sitting_out: Sequence[int | None], met: AbstractSet[PairKey]
) -> tuple[list[tuple[int, int]], int | None]:
    """Find any pairs without a repeated meeting, neighbours by score if possible, and the player who sits out."""
    steps = 0

    def rest(left: Sequence[int]) -> list[tuple[int, int]] | None:
        nonlocal steps
        steps += 1
        if not left or steps > SEARCH_STEPS:
            return None if left else []
        first, *others = left
        for other in others:
            if pair_key(first, other) not in met:
                pairs = rest([player for player in others if player != other])
                if pairs is not None:
                    return [(first, other), *pairs]
        return None

    for bye in sitting_out:
        pairs = rest([player for player in order if player != bye])
        if pairs is not None:
            return pairs, bye
    raise NoRound


def _pair_up(group: Sequence[int], met: AbstractSet[PairKey]) -> tuple[list[tuple[int, int]], list[int]]:
    """Pair one score group, upper half against lower half; return the pairs and the players left over, best first."""
    half = (len(group) + 1) // 2
    pairs: list[tuple[int, int]] = []
    waiting = list(group[half:])
    left = []
    for player in group[:half]:
        new = _new_to(player, waiting, met)
        if new is None:
            left.append(player)
        else:
            waiting.remove(new)
            pairs.append((player, new))
    left += waiting
    floating = []
    while left:  # pair players of the same half rather than move both down
        player = left.pop(0)
        new = _new_to(player, left, met)
        if new is None:
            floating.append(player)
        else:
            left.remove(new)
            pairs.append((player, new))
    return pairs, floating


def _new_to(player: int, others: Sequence[int], met: AbstractSet[PairKey]) -> int | None:
    """Return the first of the others that the player has not met."""
    return next((other for other in others if pair_key(player, other) not in met), None)


def _settle(pairs: list[tuple[int, int]], left: Sequence[int], met: AbstractSet[PairKey]) -> list[tuple[int, int]]:
    """Pair the players that the last group left over, who have all met each other.

    Two of them, x and y, play the players of a pair (u, v) if x has not met one of these and y has not met the other.
    After k rounds, x and y have had at most 2 (k - 1) meetings with others, and a pair that does not allow the exchange
    takes two of these. So at most k - 1 of the n/2 - 1 pairs do not allow it, and one that does exists as long as k <
    n/2. (With more than two players left over there are fewer pairs, but as many of the meetings were among the players
    left over.)
    """
    pairs = list(pairs)
    for x, y in zip(left[::2], left[1::2], strict=True):
        for place in range(len(pairs) - 1, -1, -1):  # from the bottom, where scores are closest to theirs
            u, v = pairs[place]
            ways = [((u, x), (v, y)), ((u, y), (v, x))]
            way = next((way for way in ways if not any(pair_key(*pair) in met for pair in way)), None)
            if way is not None:
                pairs[place : place + 1] = way
                break
        else:
            raise NoRound
    return pairs


def _seated(pair: tuple[int, int], seed: bytes) -> tuple[int, int]:
    low, high = pair_key(*pair)
    return (low, high) if lot(seed, low, high) % 2 == 0 else (high, low)


def tables(
    players: Sequence[int], scores: Mapping[int, Score], byes: Counter[int], seats: int
) -> list[tuple[int, ...]]:
    """Draw one Swiss round for more than two seats: neighbours by score sit together, the best first.

    If the field does not fill its tables, the last of those who have sat out least sit out.
    """
    order = sorted(players, key=lambda player: -scores.get(player, 0))  # stable: by strength
    for _ in range(len(order) % seats):
        order.remove(min(reversed(order), key=byes.__getitem__))
    return [tuple(order[start : start + seats]) for start in range(0, len(order), seats)]


def points_taken(ranks: Mapping[int, int], failed: Collection[int], what: Ranks) -> dict[int, float]:
    """Return the points of one match as contests count them: a player that lost by its own fault gets none, and counts
    as beaten by everybody who did not.
    """
    last = max(ranks.values()) + 1
    placed = {player: last if player in failed else rank for player, rank in ranks.items()}
    points = match_points(placed, what)
    return {player: 0.0 if player in failed else float(points.get(player, 0)) for player in ranks}


def match_points(ranks: Mapping[int, int], what: Ranks) -> dict[int, Fraction]:
    """Return the points of one match: the share of opponents beaten, or (where wins count) the share of the win."""
    if what is Ranks.WINS:
        best = min(ranks.values())
        winners = [version for version, rank in ranks.items() if rank == best]
        return {version: Fraction(1, len(winners)) for version in winners}
    points = dict.fromkeys(ranks, Fraction())
    for player, other in combinations(ranks, 2):
        share = Fraction(1 + (ranks[player] < ranks[other]) - (ranks[player] > ranks[other]), 2)
        points[player] += share / (len(ranks) - 1)
        points[other] += (1 - share) / (len(ranks) - 1)
    return points
