"""Draws and standings of every evaluation in a database, computed a second time from the rules in words alone.

It reads the matches as they were played, by plain SQL, and shares nothing with `league.pairing` or
`league.service.evaluations`: points in halves as whole numbers, each tie-break by its definition, the draw by looking
at all who are left. See docs/how-to/evaluations.md.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlalchemy import text

from tests.league.world import World

HALVES = """
    SELECT e.id, e.format, e.matches, p.round, p.board, a.version_id, b.version_id, a.points,
        CASE WHEN b.version_id IS NULL THEN 0 * a.points ELSE b.points END, p.id
    FROM contest e JOIN meeting p ON p.contest_id = e.id
    JOIN meeting_player a ON a.meeting_id = p.id AND a.seat = 0
    LEFT JOIN meeting_player b ON b.meeting_id = p.id AND b.seat = 1
    WHERE e.state = 'done' AND e.id > :after ORDER BY e.id, p.round, p.board
"""

SEATS = """
    SELECT s.meeting_id, m.id, q.version_id, q.rank, q.fault FROM series s
    JOIN meeting p ON p.id = s.meeting_id
    JOIN match m ON m.series_id = s.id JOIN participant q ON q.match_id = m.id
    WHERE p.contest_id > :after AND m.state IN ('done', 'forfeit')
"""

FIELD = """
    SELECT contest_id, version_id, place, figures FROM contest_player
    WHERE contest_id > :after ORDER BY contest_id, seed
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the league has recorded of a version."""

    place: int
    figures: dict[str, float]


@dataclass
class Pairing:
    """One pairing. Points are halves, so a win is two."""

    round: int
    board: int
    first: int
    second: int | None
    first_halves: int
    second_halves: int
    stored: tuple[float, float]


def counted(world: World) -> str:
    with world.db.reading() as session:
        ended = text("SELECT count(*) FROM contest WHERE state = 'done'")
        evaluations = session.connection().execute(ended).scalar()
        pairings = session.connection().execute(text("SELECT count(*) FROM meeting")).scalar()
    return f"{evaluations} evaluations with {pairings} pairings"


@dataclass
class Recount:
    """Computes the evaluations of a league again as they are done, each once."""

    world: World
    faults: list[str] = field(default_factory=list)
    newest: int = 0

    def go_on(self) -> list[str]:
        """Compute those done since the last call; return all differences so far."""
        with self.world.db.reading() as session:
            newest = session.connection().execute(text("SELECT max(id) FROM contest WHERE state = 'done'")).scalar()
        self.faults += differences(self.world, self.newest)
        self.newest = newest or 0
        return self.faults


def differences(world: World, after: int = 0) -> Iterator[str]:
    """Yield a sentence for each difference from the league's records."""
    since = {"after": after}
    with world.db.reading() as session:
        connection = session.connection()
        halves: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        seats: dict[tuple[int, int], list[tuple[int, int, object]]] = defaultdict(list)
        for pairing, match, version, rank, fault in connection.execute(text(SEATS), since):
            seats[pairing, match].append((version, rank, fault))
        for (pairing, _), both in seats.items():
            for version, won_halves in _of_match(both):
                halves[pairing][version] += won_halves
        seeded: dict[int, list[int]] = defaultdict(list)
        kept: dict[int, dict[int, Kept]] = defaultdict(dict)
        for evaluation, version, place, figures in connection.execute(text(FIELD), since):
            seeded[evaluation].append(version)
            told = json.loads(figures) if isinstance(figures, str) else figures  # SQLite keeps text
            kept[evaluation][version] = Kept(place, told)
        drawn: dict[int, list[Pairing]] = defaultdict(list)
        format_of: dict[int, str] = {}
        for evaluation, format_, matches, number, board, first, second, one, other, pairing in connection.execute(
            text(HALVES), since
        ):
            bye = 2 * matches if format_ == "swiss" else 0  # in a round robin everybody sits out equally often
            mine = halves[pairing][first] if second is not None else bye
            theirs = halves[pairing][second] if second is not None else 0
            drawn[evaluation].append(Pairing(number, board, first, second, mine, theirs, (one, other)))
            format_of[evaluation] = format_
    for evaluation, pairings in drawn.items():
        yield from _of_evaluation(evaluation, format_of[evaluation], seeded[evaluation], pairings, kept[evaluation])


def _of_match(both: list[tuple[int, int, object]]) -> Iterator[tuple[int, int]]:
    (one, one_rank, one_fault), (other, other_rank, other_fault) = both
    if one_fault is not None or other_fault is not None:
        yield one, 0 if one_fault is not None else 2
        yield other, 0 if other_fault is not None else 2
    elif one_rank == other_rank:
        yield one, 1
        yield other, 1
    else:
        yield (one if one_rank < other_rank else other), 2


def _of_evaluation(
    number: int, format_: str, field: list[int], pairings: list[Pairing], kept: dict[int, Kept]
) -> Iterator[str]:
    for one in pairings:
        if one.stored != (one.first_halves / 2, one.second_halves / 2):
            yield f"evaluation {number}, round {one.round}, board {one.board}: {one.stored} points are stored"
    if format_ == "swiss":
        yield from _draws(number, field, pairings)
        figures = _swiss(field, pairings)
    else:
        met = [frozenset({one.first, one.second}) for one in pairings if one.second is not None]
        if len(met) != len(set(met)) or len(met) != len(field) * (len(field) - 1) // 2:
            yield f"evaluation {number}: not everybody met everybody once"
        figures = _round_robin(field, pairings)
    for version in field:
        if any(kept[version].figures[name] != figure for name, figure in figures[version].items()):
            yield f"evaluation {number}: version {version} has {figures[version]}, not {kept[version].figures}"
    order = sorted(field, key=lambda one: [*(-figure for figure in figures[one].values()), field.index(one)])
    if (theirs := sorted(field, key=lambda version: kept[version].place)) != order:
        first = next(place for place in range(len(order)) if order[place] != theirs[place])
        yield f"evaluation {number}: place {first + 1} should be version {order[first]}'s, not {theirs[first]}'s"


def _draws(number: int, field: list[int], pairings: list[Pairing]) -> Iterator[str]:
    halves = dict.fromkeys(field, 0)
    byes = dict.fromkeys(field, 0)
    met: dict[int, dict[int, int]] = {version: defaultdict(int) for version in field}
    seed = {version: place for place, version in enumerate(field)}
    for round_number in range(1, max(one.round for one in pairings) + 1):
        now = [one for one in pairings if one.round == round_number]
        left = sorted(field, key=lambda version: (-halves[version], seed[version]))
        bye = min(left, key=lambda version: (byes[version], halves[version], -seed[version])) if len(left) % 2 else None
        if bye is not None:
            left.remove(bye)
        for one in (one for one in now if one.second is not None):
            top = left.pop(0)
            least = min(met[top][other] for other in left) if 0 not in (met[top].get(v, 0) for v in left[:1]) else 0
            other = next(version for version in left if met[top].get(version, 0) == least)
            left.remove(other)
            if {one.first, one.second} != {top, other}:
                yield f"evaluation {number}, round {round_number}, board {one.board}: {top} should meet {other}"
                return
        if left or [one.first for one in now if one.second is None] != ([] if bye is None else [bye]):
            yield f"evaluation {number}, round {round_number}: {bye} should have a bye, and {len(left)} are left"
            return
        for one in now:
            halves[one.first] += one.first_halves
            if one.second is None:
                byes[one.first] += 1
                continue
            halves[one.second] += one.second_halves
            met[one.first][one.second] += 1
            met[one.second][one.first] += 1


def _swiss(field: list[int], pairings: list[Pairing]) -> dict[int, dict[str, float]]:
    """Return each version's figures in the order in which they decide."""
    rounds = max(one.round for one in pairings)
    of_round: dict[int, list[int]] = {version: [0] * (rounds + 1) for version in field}
    won, opponents = dict.fromkeys(field, 0), {version: list[int]() for version in field}
    for one in pairings:
        of_round[one.first][one.round] = one.first_halves
        if one.second is None:
            continue
        of_round[one.second][one.round] = one.second_halves
        opponents[one.first].append(one.second)
        opponents[one.second].append(one.first)
        won[one.first] += one.first_halves > one.second_halves
        won[one.second] += one.second_halves > one.first_halves
    total = {version: sum(of_round[version]) for version in field}
    early = {}
    for version in field:  # the scores after each round, added up
        had = early[version] = 0
        for number in range(1, rounds + 1):
            had += of_round[version][number]
            early[version] += had
    return {
        version: {
            "points": total[version] / 2,
            "rounds_won": won[version],
            "opponents_points": sum(total[other] for other in opponents[version]) / 2,
            "early_points": early[version] / 2,
            "opponents_early_points": sum(early[other] for other in opponents[version]) / 2,
        }
        for version in field
    }


def _round_robin(field: list[int], pairings: list[Pairing]) -> dict[int, dict[str, float]]:
    total, berger = dict.fromkeys(field, 0), dict.fromkeys(field, 0)
    played = [one for one in pairings if one.second is not None]
    for one in played:
        assert one.second is not None
        total[one.first] += one.first_halves
        total[one.second] += one.second_halves
    for one in played:
        assert one.second is not None
        berger[one.first] += one.first_halves * total[one.second]
        berger[one.second] += one.second_halves * total[one.first]
    return {version: {"points": total[version] / 2, "sonneborn_berger": berger[version] / 4} for version in field}
