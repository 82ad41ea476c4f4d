"""A Swiss: each round pairs players with similar scores.

Players are paired by descending score, then by seed, the best first: each meets the first unmet player below. If it has
met everybody left, it meets the first of those that it has met least often. At larger tables, each seat goes to the
first of those whom the players already at the table have met least often, all together. Of a field that does not fill
its tables, the lowest score among those with the fewest byes gets a bye; among equals, the weakest seed. A bye is worth
as much as a won round, but does not count as a round won outright.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations

from deadheat.engine.language import _
from deadheat.league.pairing.figures import (
    DIGITS,
    EARLY_POINTS,
    OPPONENTS_EARLY_POINTS,
    OPPONENTS_POINTS,
    ROUNDS_WON,
    Meeting,
    points,
)
from deadheat.league.pairing.pairs import PairKey, pair_key
from deadheat.league.pairing.tournament import Drawn, Form, Rules


class Swiss(Rules):
    """The rules of a Swiss."""

    words = "Swiss"
    usual = (ROUNDS_WON, OPPONENTS_POINTS, EARLY_POINTS, OPPONENTS_EARLY_POINTS)
    has_rounds = bye_wins = True

    def draw(
        self, form: Form, seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting]
    ) -> list[Drawn]:
        last = max((meeting.round for meeting in played), default=0)
        is_over = last >= form.rounds or len(present) < form.seats
        return [] if is_over else [draw(seeded, present, played, form.seats)]

    def pools(self, form: Form, players: int) -> list[tuple[int, int]]:
        return [(form.rounds, players // form.seats), (form.further, 1)]

    def faults(self, rounds: int | None, tie_breaks: Sequence[str] | None) -> Iterator[str]:
        if rounds is None:
            yield _("a Swiss needs rounds")
        yield from super().faults(rounds, tie_breaks)


def draw(
    seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting], seats: int = 2
) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Draw the next Swiss round: the tables of `present` players, the best first, and the players with a bye. `seeded`:
    all players, the best seed first.

    Players that have sat first less often sit before the others; if equal, the better placed ones.
    """
    scores = points(played)
    order = sorted((entry for entry in seeded if entry in present), key=lambda entry: -round(scores[entry], DIGITS))
    had = Counter(meeting.players[0] for meeting in played if len(meeting.players) == 1)
    byes = []
    for _bye in range(len(order) % seats):  # among equals the weakest, which the stable order lists last
        byes.append(min(reversed(order), key=lambda player: (had[player], round(scores[player], DIGITS))))
        order.remove(byes[-1])
    met = Counter(pair_key(*two) for meeting in played for two in combinations(meeting.players, 2))
    began = Counter(meeting.players[0] for meeting in played if len(meeting.players) > 1)
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
                times = sum([met[pair_key(order[index], order[place])] for index in table])
                if least is None or times < least:
                    least, chosen, before_chosen = times, place, before
                if times == 0:
                    break
                before = place
            assert chosen != top, "the tables are filled"
            table.append(chosen)
            below[before_chosen] = below[chosen]
        tables.append([order[index] for index in sorted(table)])
        top = below[top]
    return tables
