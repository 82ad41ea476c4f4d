"""A round robin: everybody meets everybody; at tables of three to six about equally often.

Two meet by Berger's table (`league.pairing.rounds`). At larger tables, the field sits on a circle, by seed. A *block*
is a table on that circle. Turned by each step, it gives as many tables as there are players: each player sits in each
of its seats once, and two players meet as often as the distance between them occurs in the block. So all play equally
many tables, equally often in each seat, whatever the blocks are, and nobody needs a bye. What remains is to choose
blocks in which each distance occurs, and about equally often. Blocks in which all occur equally often are a difference
family; their tables are a balanced block design (Bose 1939).

`_blocks` looks for blocks in which no distance occurs more often than a bound, for the lowest bound with which it
succeeds, so it finds difference families. A block begins with a distance that occurs least, so there are at most n / 2
blocks of s seats. A bound little above s (s - 1)^2 / 2 always suffices, whatever n is: if F distances are at it or just
below, they bar at most (s - 1) (F + 1) of the n places for the next player, and F is at most n s (s - 1) / 2 divided by
the bound. In fact nobody meets anybody more than three times in a field of at least three tables (tested up to 130).
Archives are verified by drawing again, so a change of the search, its `STEPS` included, is a new version of the rules.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import count, permutations
from math import comb

from deadheat.engine.language import N_
from deadheat.league.pairing.figures import SONNEBORN_BERGER, Meeting
from deadheat.league.pairing.rounds import berger
from deadheat.league.pairing.tournament import Drawn, Form, Rules


class RoundRobin(Rules):
    """The rules of a round robin."""

    words = N_("round robin")
    usual = (SONNEBORN_BERGER,)
    no_rounds = N_("a round robin has as many rounds as its field needs; leave “rounds” out")

    def rounds_in(self, players: int, chosen: int | None, seats: int) -> int:
        return max(0, players - 1 + players % 2) if seats == 2 else len(block_rounds(players, seats))

    def draw(
        self, form: Form, seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting]
    ) -> list[Drawn]:
        if played:
            return []
        if form.seats > 2:
            rounds = block_rounds(len(seeded), form.seats)
            return [([tuple(seeded[place] for place in table) for table in tables], ()) for tables in rounds]
        return [([*drawing.pairs], () if drawing.bye is None else (drawing.bye,)) for drawing in berger(list(seeded))]

    def pools(self, form: Form, players: int) -> list[tuple[int, int]]:
        tables = comb(players, 2) if form.seats == 2 else sum(map(len, block_rounds(players, form.seats)))
        return [(1, tables), (form.further, 1)]


Table = tuple[int, ...]

STEPS = 8000
"""The most players placed for one bound: a second for a field of 64. It finds families of up to 43 players."""


@lru_cache(64)
def block_rounds(players: int, seats: int) -> tuple[tuple[Table, ...], ...]:
    """Return the rounds of a round robin: their tables, by the places of seeds from 0, in the order of seats.

    A table belongs to the first round in which all its players are free.
    """
    busy = [0] * players  # for each player, its rounds as bits
    rounds: list[list[Table]] = []
    for block in _blocks(players, seats):
        for turn in range(players if seats < players else 1):
            table = tuple((place + turn) % players for place in block)
            taken = 0
            for player in table:
                taken |= busy[player]
            free = (~taken & (taken + 1)).bit_length() - 1
            for player in table:
                busy[player] |= 1 << free
            if free == len(rounds):
                rounds.append([])
            rounds[free].append(table)
    return tuple(tuple(tables) for tables in rounds)


def _blocks(players: int, seats: int) -> list[Table]:
    if players <= seats:
        return [tuple(range(players))] if players == seats else []
    others = seats * (seats - 1)
    lowest = -(-(-(-(players - 1) // others) * others) // (players - 1))
    return next(filter(None, (_search(players, seats, most) for most in count(lowest))))


def _search(players: int, seats: int, most: int) -> list[Table] | None:
    """Search for blocks in which each distance occurs, none more than `most` times; None if it finds none in time."""
    chosen: list[int] = []
    options: list[Iterator[int]] = []
    for _ in range(max(STEPS, seats * players)):
        blocks = [tuple(chosen[start : start + seats]) for start in range(0, len(chosen), seats)]
        met = [0] * players  # how often a distance occurs, in both directions
        for mine, other in (two for block in blocks for two in permutations(block, 2)):
            met[mine - other] += 1
        if len(chosen) % seats == 0 and min(met[1:]):
            return blocks
        options.append(iter(_choices(blocks[-1] if len(chosen) % seats else (), met, most)))
        while (place := next(options[-1], None)) is None:
            options.pop()
            if not options:
                return None
            chosen.pop()
        chosen.append(place)
    return None


def _choices(block: Sequence[int], met: Sequence[int], most: int) -> list[int]:
    """Return the places that may follow in a block, those that its players have met least first."""
    if not block:
        return [0]
    if len(block) == 1:
        return [min(range(1, len(met) // 2 + 1), key=met.__getitem__)]
    choices = []
    for place in range(1, len(met)):
        distances = [(place - other) % len(met) for other in block]
        both = [*distances, *(len(met) - distance for distance in distances)]
        if place not in block and all(met[distance] + both.count(distance) <= most for distance in distances):
            choices.append((sum(met[distance] for distance in distances), place))
    return [place for _, place in sorted(choices)]
