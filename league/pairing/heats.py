"""A knock-out at tables of three to six: the better half of each table advances, until one table is left.

A round seats as many full tables as the field fills; the best seeds have a bye if it fills none with them. The others
are dealt to the tables in turn, to and fro by seed, so the best seeds meet late and no table is stronger than another.
From each table the better half advances, rounded down, or more if less than a table would remain. So if the better seed
always wins, nobody is knocked out before a worse seed. At the final table the first one wins; its order gives the other
places, the third among them.

The order at a table is by points, then by seed. Two that are level at its cut have the whole table play as many matches
again, with the seats in reverse order, up to a declared number of times.

Places: a player that was knocked out later comes first; among those knocked out in the same round, the one with more
points there; then the better seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from deadheat.league.pairing.bracket import Tie
from deadheat.league.pairing.figures import DIGITS, Meeting, points


def losers(field: int, seats: int) -> list[int]:
    """Return how many are knocked out at each table of a round."""
    if field <= seats:
        return [seats - 1] if field == seats else []
    tables = field // seats
    out = min(tables * (seats - seats // 2), field - seats)
    more = [out // tables + (table >= tables - out % tables) for table in range(tables)]
    return more if (seats - max(more)) % 2 == 0 else more[::-1]  # fewer where the best of the next row were dealt


def heat_tables(field: int, seats: int) -> list[int]:
    """Return the number of tables in each round."""
    found = []
    while out := losers(field, seats):
        found.append(len(out))
        field -= sum(out)
    return found


def heats(seeded: Sequence[int], played: Sequence[Meeting], seats: int, further: int) -> list[Tie]:
    """Return all tables, round by round, with the results so far. `further`: how often a table may meet again."""
    met: dict[frozenset[int], list[Meeting]] = defaultdict(list)
    for meeting in played:
        met[frozenset(meeting.players)].append(meeting)
    seed = {player: number for number, player in enumerate(seeded)}

    def tie(number: int, slot: int, table: tuple[int, ...], places: int) -> Tie:
        """Return a table from which so many advance; one player alone has a bye."""
        meetings = met[frozenset(table)] if places < len(table) else []
        taken = points(meetings)
        score = [round(taken[player], DIGITS) for player in table]
        order = sorted(range(len(table)), key=lambda seat: (-score[seat], seed[table[seat]]))
        decided = places == len(table) or len(meetings) > further
        if meetings and not decided:
            decided = score[order[places - 1]] > score[order[places]]
        advancing = tuple(table[seat] for seat in order[:places]) if decided else None
        return Tie(number, slot, table, tuple(score), len(meetings), advancing, len(table) == 1)

    found: list[Tie] = []
    field = list(seeded)
    for number, many in enumerate(heat_tables(len(seeded), seats), 1):
        if not field:  # the round before is not over
            found += [Tie(number, slot) for slot in range(1, many + 1)]
            continue
        resting = field[: len(field) % seats]
        tables = [*_dealt(field[len(resting) :], many), *((player,) for player in resting)]
        places = [*(seats - lost for lost in losers(len(field), seats)), *(1 for _ in resting)]
        now = [tie(number, slot, *one) for slot, one in enumerate(zip(tables, places, strict=True), 1)]
        found += now
        decided = all(one.advancing is not None for one in now)
        going_on = (player for one in now for player in one.advancing or ())
        field = sorted(going_on, key=seed.__getitem__) if decided else []
    return found


def _dealt(order: Sequence[int], tables: int) -> list[tuple[int, ...]]:
    """Deal players to tables, to and fro."""
    rows = [order[start : start + tables] for start in range(0, len(order), tables)]
    return list(zip(*(row[::-1] if number % 2 else row for number, row in enumerate(rows)), strict=True))
