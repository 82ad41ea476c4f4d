"""A knock-out: pairings, winners and final places. All of it follows from seeds and points.

Byes for the best seeds fill the field up to a power of two. Seeds are laid out so that the first and the second can
meet in the final at the earliest, the first four in the semifinals, and so on. Two players that are level after their
matches play as many again, up to a declared number of times; then the better seed advances. Optionally, the losers of
the semifinals play for the third place.

*At tables of three to six* the better half of each table advances, until one table is left. A round seats as many full
tables as the field fills; the best seeds have a bye if it fills none with them. The others are dealt to the tables in
turn, to and fro by seed, so the best seeds meet late and no table is stronger than another. From each table the better
half advances, rounded down, or more if less than a table would remain. So if the better seed always wins, nobody is
knocked out before a worse seed. At the final table the first one wins; its order gives the other places, the third
among them.

The order at a table is by points, then by seed. Two that are level at its cut have the whole table play as many matches
again, with the seats in reverse order, up to a declared number of times.

*Places*: a player that was knocked out later comes first; among those knocked out in the same round, at larger tables
the one with more points there; then the better seed.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from deadheat.engine.language import N_
from deadheat.league.pairing.figures import DIGITS, TIES_WON, Meeting, points
from deadheat.league.pairing.tournament import Drawn, Form, Placed, Rules, Tie, rounds_of


class Knockout(Rules):
    """The rules of a knock-out."""

    words = N_("knock-out")
    usual = (TIES_WON,)
    has_winner = True

    def rounds_in(self, players: int, chosen: int | None, seats: int) -> int:
        return rounds_of(players) if seats == 2 else len(_heat_tables(players, seats))

    def draw(
        self, form: Form, seeded: Sequence[int], present: AbstractSet[int], played: Sequence[Meeting]
    ) -> list[Drawn]:
        tables = next_ties(self.ties(form, seeded, played))
        return [(tables, ())] if tables else []

    def pools(self, form: Form, players: int) -> list[tuple[int, int]]:
        rounds = Counter(tie.round for tie in self.ties(form, range(players), []) if not tie.is_bye)
        return [pool for many in rounds.values() for pool in ((1, many), (form.further, 1))]

    def ties(self, form: Form, seeded: Sequence[int], played: Sequence[Meeting]) -> list[Tie]:
        if form.seats > 2:
            return heats(seeded, played, form.seats, form.further)
        return bracket(seeded, played, form.further, form.third_place)

    def places(self, form: Form, seeded: Sequence[int], played: Sequence[Meeting]) -> list[Placed]:
        return bracket_standings(seeded, self.ties(form, seeded, played))


class Ties:
    """Makes the ties of a bracket in their order. Each takes the meetings of its players that no earlier tie has taken,
    until it is decided, so the same players may meet again in a later one. `further`: how often those level at the cut
    of a tie may meet again.
    """

    def __init__(self, seeded: Sequence[int], played: Sequence[Meeting], further: int) -> None:
        self.seed = {player: number for number, player in enumerate(seeded)}
        self.further = further
        self.left: dict[frozenset[int], list[Meeting]] = defaultdict(list)
        for meeting in reversed(played):
            self.left[frozenset(meeting.players)].append(meeting)

    def make(self, number: int, slot: int, table: Sequence[int | None], places: int = 1) -> Tie:
        """Return a tie from which so many advance. Where one of two is unknown, the other has a bye in round 1."""
        known = [player for player in table if player is not None]
        if len(known) < len(table):
            is_bye = number == 1
            return Tie(number, slot, tuple(table), (0.0,) * len(table), 0, tuple(known) if is_bye else None, is_bye)
        left, taken = self.left[frozenset(known)], list[Meeting]()
        while True:
            total = points(taken)
            score = [round(total[player], DIGITS) for player in known]
            order = sorted(range(len(known)), key=lambda seat: (-score[seat], self.seed[known[seat]]))
            decided = places == len(known) or len(taken) > self.further
            if not decided and taken:
                decided = score[order[places - 1]] > score[order[places]]
            if decided or not left:
                break
            taken.append(left.pop())
        advancing = tuple(known[seat] for seat in order[:places]) if decided else None
        return Tie(number, slot, tuple(known), tuple(score), len(taken), advancing, len(known) == 1)


def bracket(seeded: Sequence[int], played: Sequence[Meeting], further: int, third_place: bool) -> list[Tie]:
    """Return all ties of two, round by round from the top, with the results so far."""
    ties, so_far = Ties(seeded, played, further), list[Tie]()
    rounds = rounds_of(len(seeded))
    lines: list[int | None] = [seeded[place] if place < len(seeded) else None for place in _layout(rounds)]
    for number in range(1, rounds + 1):
        pairs = [*zip(lines[::2], lines[1::2], strict=True)]
        if number == rounds and third_place and rounds > 1:
            loser, other = (tie.loser for tie in so_far[-2:])
            pairs.append((loser, other))
        now = [ties.make(number, slot, pair) for slot, pair in enumerate(pairs, 1)]
        so_far += now
        lines = [tie.winner for tie in now]
    return so_far


def _layout(rounds: int) -> list[int]:
    """Return the seeds, counted from 0, in the order of the first round's lines."""
    order = [0]
    for number in range(1, rounds + 1):
        order = [place for seed in order for place in (seed, 2**number - 1 - seed)]
    return order


def next_ties(ties: Sequence[Tie]) -> list[tuple[int, ...]]:
    """Return the tables that play now. The better seed sits first, or the seats are reversed when they meet again."""
    tables = []
    for tie in ties:
        known = tuple(player for player in tie.players if player is not None)
        if tie.advancing is None and known and len(known) == len(tie.players):
            tables.append(known if tie.times % 2 == 0 else known[::-1])
    return tables


def bracket_standings(seeded: Sequence[int], ties: Sequence[Tie]) -> list[Placed]:
    """Rank all players, the best first. While ties are open, the ranking is provisional."""
    points: dict[int, float] = dict.fromkeys(seeded, 0.0)
    won: dict[int, int] = dict.fromkeys(seeded, 0)
    reached: dict[int, tuple[float, ...]] = dict.fromkeys(seeded, (0,))
    for tie in ties:
        for player, taken in zip(tie.players, tie.points, strict=True):
            if player is not None:
                outcome = 0 if tie.advancing is None else 1 if player in tie.advancing else -1
                points[player] += taken
                won[player] += outcome == 1 and not tie.is_bye
                # A later round ranks higher, the final above the match for third place, and a winner above a loser.
                slot = -tie.slot if tie.round == ties[-1].round else 0
                each = (
                    round(taken / max(1, tie.times), DIGITS) if len(tie.players) > 2 else 0.0
                )  # a table may meet again
                reached[player] = (tie.round, slot, outcome, each)
    order = sorted(enumerate(seeded, 1), key=lambda pair: (*(-figure for figure in reached[pair[1]]), pair[0]))
    return [
        Placed(player, number, place, {"points": round(points[player], DIGITS), TIES_WON.name: won[player]})
        for place, (number, player) in enumerate(order, 1)
    ]


# At larger tables ---------------------------------------------------------------------------------------------------


def _losers(field: int, seats: int) -> list[int]:
    """Return how many are knocked out at each table of a round."""
    if field <= seats:
        return [seats - 1] if field == seats else []
    tables = field // seats
    out = min(tables * (seats - seats // 2), field - seats)
    more = [out // tables + (table >= tables - out % tables) for table in range(tables)]
    return more if (seats - max(more)) % 2 == 0 else more[::-1]  # fewer where the best of the next row were dealt


def _heat_tables(field: int, seats: int) -> list[int]:
    """Return the number of tables in each round."""
    counts = []
    while out := _losers(field, seats):
        counts.append(len(out))
        field -= sum(out)
    return counts


def heats(seeded: Sequence[int], played: Sequence[Meeting], seats: int, further: int) -> list[Tie]:
    """Return all tables, round by round, with the results so far."""
    ties, so_far, field = Ties(seeded, played, further), list[Tie](), list(seeded)
    for number, many in enumerate(_heat_tables(len(seeded), seats), 1):
        if not field:  # the round before is not over
            so_far += [Tie(number, slot) for slot in range(1, many + 1)]
            continue
        resting = field[: len(field) % seats]
        rows = [field[start : start + many] for start in range(len(resting), len(field), many)]
        rows[1::2] = [row[::-1] for row in rows[1::2]]  # they are dealt to and fro
        tables = [*zip(*rows, strict=True), *((player,) for player in resting)]
        places = [*(seats - lost for lost in _losers(len(field), seats)), *(1 for _ in resting)]
        now = [ties.make(number, slot, *seated) for slot, seated in enumerate(zip(tables, places, strict=True), 1)]
        so_far += now
        decided = all(tie.advancing is not None for tie in now)
        going_on = (player for tie in now for player in tie.advancing or ())
        field = sorted(going_on, key=ties.seed.__getitem__) if decided else []
    return so_far
