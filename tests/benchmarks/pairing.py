"""How well pairing spends the games it plans, and what planning costs, compared with simpler ways in the same run.

    ./scripts/bench pairing [--short]

(a) Placing: new versions against a field of 200 whose ratings are known, by the ladder's rule and against random
opponents; the error of their ratings after 50 games, and how many games random opponents take to get there.
(b) Fields in which strength is not transitive: everybody's rating after 600 games a bot, by the ladder, by random
pairing and by always taking the closest rating. Right is the order that a full round robin without luck would give.
(c) Bots come and go: how long anybody waited, and how soon everybody was linked again.
(d) What it costs to plan 16 series among 2,000 bots: CPU time beside the plain way of weighing all pairs, and a whole
tick of the scheduler on a database with few pairs and with a hundred times as many.

Ratings are Bradley-Terry as in `league.ratings`, fitted here by a few lines of their own; a draw, as likely as 20 %
between equals, is half a win.
"""

import hashlib
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sqlmodel import Session

from deadheat.league.pairing.finals import ELO_PER_NAT
from deadheat.league.pairing.ladder import PLACED_SE_ELO, Entrant, Met, Terms, propose
from deadheat.league.pairing.pairs import PairKey, pair_key
from deadheat.league.service.ground.steps import insert_rows
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.series.capacity import OPEN_SERIES
from deadheat.league.tables import Bot, BotVersion, Entry, Pair
from tests.benchmarks.leagues import leagues
from tests.benchmarks.targets import Targets, arguments
from tests.league.clock import START
from tests.league.paper import Ladder
from tests.league.people import GAME

Floats = NDArray[np.float64]

PRIOR_SD_ELO = 350.0
SPREAD_ELO = 200.0
DRAWS = 0.2

PLACING_TARGET = 0.75  # a share of the games; the ideal, with only equal opponents, would be 0.66
TAU_TARGET = 0.01
SPEED_TARGET = 10.0
GROWTH_TARGET = 2.0


def main() -> int:
    short = arguments(__doc__, "small fields, and once").parse_args().short
    targets = Targets(short)
    placing(targets, newcomers=60 if short else 1000)
    intransitive(targets, bots=40 if short else 200, rounds=100 if short else 600, fields=1 if short else 3)
    coming_and_going(targets, events=300 if short else 5000)
    speed(targets, bots=300 if short else 2000, rounds=1 if short else 5)
    return targets.report()


# Games and ratings ------------------------------------------------------------------------------------------------


def score(chance: Generator, p: float, games: int) -> float:
    """Draw the points won in so many games, draws as halves, with an expected share of p."""
    draw = DRAWS * 4 * p * (1 - p)
    drawn = chance.random(games)
    return float(np.sum(drawn < p - draw / 2) + np.sum(np.abs(drawn - p) <= draw / 2) / 2)


def strengths(wins: Floats, start_elo: Floats) -> Floats:
    """Compute the most likely ratings in Elo around 0 given `wins[i, j]`, i's half-wins over j, and the prior."""
    games = wins + wins.T
    nats = start_elo / ELO_PER_NAT
    precision = (ELO_PER_NAT / PRIOR_SD_ELO) ** 2
    for _ in range(50):
        p = 1 / (1 + np.exp(nats[None, :] - nats[:, None]))
        gradient = (wins - games * p).sum(axis=1) - precision * nats
        weights = games * p * (1 - p)
        step = np.linalg.solve(np.diag(weights.sum(axis=1) + precision) - weights, gradient)
        nats = nats + step * min(1.0, 1.0 / max(float(np.max(np.abs(step))), 1e-9))
        if np.max(np.abs(step)) < 1e-6:
            break
    elo: Floats = ELO_PER_NAT * nats
    return elo


# (a) Placing ------------------------------------------------------------------------------------------------------


def placing(targets: Targets, newcomers: int, bots: int = 200, games: int = 50, series_length: int = 10) -> None:
    errors: dict[str, list[float]] = {"random opponents": [], "placed": []}
    for name, found in errors.items():
        for number in range(newcomers):
            chance = np.random.default_rng([1, number])  # the same field and newcomer for both
            field = chance.normal(0, SPREAD_ELO, bots)
            known = field + chance.normal(0, 20, bots)
            truth = chance.normal(0, SPREAD_ELO)
            won = np.zeros(bots)
            played = np.zeros(bots)
            rating, se = 0.0, PRIOR_SD_ELO
            for series in range(games // series_length):
                if name == "placed":
                    opponent = next_opponent(known, played, rating, se, number, series)
                else:
                    opponent = int(chance.integers(bots))
                won[opponent] += score(chance, 1 / (1 + 10 ** ((field[opponent] - truth) / 400)), series_length)
                played[opponent] += series_length
                rating, se = place(known, won, played)
            found.append(rating - truth)
    rmse = {name: float(np.sqrt(np.mean(np.square(found)))) for name, found in errors.items()}
    share = (rmse["placed"] / rmse["random opponents"]) ** 2  # an error falls with the root of the games
    print(f"(a) Error of a new version's rating after {games} games ({newcomers} of them, field of {bots})")
    for name, value in rmse.items():
        print(f"    {name:20}{value:6.1f} Elo")
    shown = targets.shown("share of the games for placing", share, most=PLACING_TARGET, form=".2f")
    print(f"    Share of the games that placing takes for the same error: {shown}\n")


def next_opponent(known: Floats, played: Floats, rating: float, se: float, number: int, series: int) -> int:
    """Return the opponent that the ladder gives a new version, number 0, whose turn it is."""
    entrants = [Entrant(0, rating, se > PLACED_SE_ELO, 0, 0)]
    entrants += [Entrant(1 + place, float(elo), False, 1, 0) for place, elo in enumerate(known)]
    met = {1 + int(place): Met(int(played[place])) for place in np.flatnonzero(played)}
    seed = hashlib.sha256(number.to_bytes(4, "big")).digest()
    (proposal,) = propose(entrants, lambda _: met, 1, Terms(), 2 * series, seed)
    return next(version for version in proposal.versions if version != 0) - 1


def place(known: Floats, won: Floats, played: Floats) -> tuple[float, float]:
    """Compute one rating against known ones, with its standard error."""
    nats = 0.0
    information = precision = (ELO_PER_NAT / PRIOR_SD_ELO) ** 2
    for _ in range(50):
        p = 1 / (1 + np.exp(known / ELO_PER_NAT - nats))
        information = float(np.sum(played * p * (1 - p))) + precision
        step = (float(np.sum(won - played * p)) - precision * nats) / information
        nats += float(np.clip(step, -1, 1))
        if abs(step) < 1e-6:
            break
    return ELO_PER_NAT * nats, ELO_PER_NAT / float(np.sqrt(information))


# (b) Strength that is not transitive ------------------------------------------------------------------------------


class Way(Protocol):
    """A way of pairing a field for a round, in which each of n bots plays about one series."""

    def __call__(self, chance: Generator, elo: Floats, games: Floats) -> list[tuple[int, int]]:
        """Draw about n / 2 pairs, from the current ratings and the games of each pair."""


def at_random(chance: Generator, elo: Floats, games: Floats) -> list[tuple[int, int]]:
    order = chance.permutation(len(elo))
    return [(int(one), int(other)) for one, other in zip(order[::2], order[1::2], strict=False)]


class AlwaysClosest:
    """Pairs neighbours in the ranking; every other round begins with the second, so that all meet both."""

    def __init__(self) -> None:
        self.first = 0

    def __call__(self, chance: Generator, elo: Floats, games: Floats) -> list[tuple[int, int]]:
        order = np.lexsort((chance.random(len(elo)), elo))[self.first :]
        self.first = 1 - self.first
        return [(int(one), int(other)) for one, other in zip(order[::2], order[1::2], strict=False)]


class ByTheLadder:
    """Pairs as the scheduler does, from a season's first series on."""

    def __init__(self, bots: int) -> None:
        self.ladder = Ladder()
        for bot in range(bots):
            self.ladder.come(bot)

    def __call__(self, chance: Generator, elo: Floats, games: Floats) -> list[tuple[int, int]]:
        for bot, entrant in self.ladder.there.items():
            placing = games[bot].sum() < PLACED_AFTER
            self.ladder.there[bot] = replace(entrant, elo=float(elo[bot]), placing=bool(placing))
        return [(one, other) for one, other in (proposal.versions for proposal in self.ladder.plan(len(elo) // 2))]


PLACED_AFTER = 45
"""Games after which a standard error is 60 Elo or so."""


def intransitive(targets: Targets, bots: int, rounds: int, fields: int) -> None:
    """Print part (b): Kendall's tau by way of pairing."""
    ways: dict[str, Callable[[], Way]] = {
        "random": lambda: at_random,
        "ladder": lambda: ByTheLadder(bots),
        "always the closest": AlwaysClosest,
    }
    print(f"(b) Kendall's tau with the order of a full round robin: {bots} bots, {rounds} rounds, {fields} fields each")
    print(f"    {'':14}" + "".join(f"{name:>20}" for name in ways) + "    ladder behind random")
    for kind, cyclic in (("transitive", no_cycles), ("three types", three_types), ("two skills", two_skills)):
        taus = {
            name: float(np.mean([season(way(), cyclic, bots, rounds, number) for number in range(fields)]))
            for name, way in ways.items()
        }
        behind = targets.shown(f"tau, {kind}", taus["random"] - taus["ladder"], most=TAU_TARGET, form=".4f")
        print(f"    {kind:14}" + "".join(f"{value:20.4f}" for value in taus.values()) + f"    {behind}")
    print()


def no_cycles(chance: Generator, bots: int) -> Floats:
    return np.zeros((bots, bots))


def three_types(chance: Generator, bots: int) -> Floats:
    """Draw rock, paper, scissors: each type is 150 Elo above the next."""
    kind = chance.integers(0, 3, bots)
    turn = (kind[:, None] - kind[None, :]) % 3
    advantage: Floats = 150.0 * ((turn == 1).astype(float) - (turn == 2))
    return advantage


def two_skills(chance: Generator, bots: int) -> Floats:
    """Draw skills that play against each other: 100 Elo of it, without types."""
    skill = chance.normal(0, 10, (bots, 2))
    cyclic: Floats = skill[:, None, 0] * skill[None, :, 1] - skill[:, None, 1] * skill[None, :, 0]
    return cyclic


def season(
    way: Way, cyclic: Callable[[Generator, int], Floats], bots: int, rounds: int, number: int, series_length: int = 10
) -> float:
    """Play a season and compare its order with the true one."""
    field = np.random.default_rng([2, number])
    strength = field.normal(0, SPREAD_ELO, bots)
    p = 1 / (1 + 10 ** (-(strength[:, None] - strength[None, :] + cyclic(field, bots)) / 400))
    np.fill_diagonal(p, 0)
    truth = strengths(1000 * p, np.zeros(bots))  # enough games to make the prior irrelevant
    chance = np.random.default_rng([3, number])
    wins = np.zeros((bots, bots))
    elo = np.zeros(bots)
    for _ in range(rounds // series_length):
        for one, other in way(chance, elo, wins + wins.T):
            won = score(chance, p[one, other], series_length)
            wins[one, other] += won
            wins[other, one] += series_length - won
        elo = strengths(wins, elo)
    from scipy.stats import kendalltau  # importing it would cost every collection of tests half a second

    return float(kendalltau(elo, truth).statistic)


# (c) One field, and nobody forgotten ------------------------------------------------------------------------------


def coming_and_going(targets: Targets, events: int) -> None:
    """Print part (c): how long anybody waited, and how long the field was in parts."""
    chance = random.Random(4)
    ladder = Ladder(Terms(series_length=10))
    for bot in range(20):
        ladder.come(bot, chance.gauss(1500, SPREAD_ELO))
    bots = 20
    waited: dict[int, int] = {}
    line: dict[int, int] = {}  # how many were in the queue when each one joined it
    worst_wait = worst_link = 0.0
    apart, since = ladder.parts(), 0
    for _ in range(events):
        event = chance.choices(["come", "go", "series"], [2, 1, 12])[0]
        if event == "come":
            ladder.come(bots, chance.gauss(1500, SPREAD_ELO))
            bots += 1
            apart, since = ladder.parts(), 0
        elif event == "go" and len(ladder.there) > 10:
            gone = chance.choice(sorted(ladder.there))
            ladder.go(gone)
            waited.pop(gone, None)
            line.pop(gone, None)
            apart, since = ladder.parts(), 0
        else:
            (proposal,) = ladder.plan()
            since += 1
            for bot in ladder.there:
                waited[bot] = 0 if bot in proposal.versions else waited.get(bot, 0) + 1
                line[bot] = len(ladder.there) if waited[bot] == 0 else line.get(bot, len(ladder.there))
                worst_wait = max(worst_wait, waited[bot] / (2 * line[bot]))
            if ladder.parts() > 1:
                worst_link = max(worst_link, (since + 1) / (2 * (apart - 1)))
    ladder.plan(2 * (ladder.parts() - 1))
    print(f"(c) {len(ladder.series)} series, {bots} bots that came and {bots - len(ladder.there)} that left")
    for what, figure in (
        ("Longest wait, as a share of two series for each bot that was there", worst_wait),
        ("Slowest to link, as a share of two series for each loose part", worst_link),
        ("Parts at the end", ladder.parts()),
    ):
        print(f"    {what}: {targets.shown(what, figure, most=1, form='.2f')}")
    print()


# (d) What planning costs ------------------------------------------------------------------------------------------


def speed(targets: Targets, bots: int, rounds: int, wanted: int = 16) -> None:
    chance = random.Random(5)
    versions = list(range(1, bots + 1))
    games = {pair_key(*chance.sample(versions, 2)): 10 for _ in range(25 * bots)}
    met: dict[int, dict[int, Met]] = {version: {} for version in versions}
    for (low, high), count in games.items():
        met[low][high] = met[high][low] = Met(count)
    entrants = [Entrant(version, chance.gauss(1500, 200), version % 20 == 0, version % 97, 0) for version in versions]
    spent_ms: dict[str, list[float]] = {"ladder": [], "all pairs": []}
    for number in range(rounds + 1):
        started_ns = time.process_time_ns()
        assert len(propose(entrants, met.__getitem__, wanted, Terms(), number, b"speed")) == wanted
        halfway_ns = time.process_time_ns()
        assert len(all_pairs(versions, games, wanted, 10, b"speed")) == wanted
        ended_ns = time.process_time_ns()
        if number:  # the first round warms up
            spent_ms["ladder"].append((halfway_ns - started_ns) / 1e6)
            spent_ms["all pairs"].append((ended_ns - halfway_ns) / 1e6)
    ladder_ms, pairs_ms = (statistics.median(values) for values in spent_ms.values())
    print(f"(d) CPU time of planning {wanted} series among {bots} bots with {len(games)} pairs played")
    times = targets.shown("weighing all pairs", pairs_ms / ladder_ms, least=SPEED_TARGET, form=".0f")
    print(f"    ladder {ladder_ms:.1f} ms, weighing all pairs {pairs_ms:.1f} ms, times as much: {times}")
    low, high = bots // 4, 25 * bots
    few_ms, many_ms = tick_ms(bots, low, rounds), tick_ms(bots, high, rounds)
    times = targets.shown("a tick with more pairs", many_ms / few_ms, most=GROWTH_TARGET, form=".2f")
    print(f"    a tick with a database: {few_ms:.0f} ms with {low} pairs, {many_ms:.0f} ms with {high}; ratio {times}")


def all_pairs(
    versions: Sequence[int], games: Mapping[PairKey, int], wanted: int, length: int, seed: bytes
) -> list[PairKey]:
    """Plan the plain way, among all pairs: the one that has played least, then the one whose bots have."""
    planned = dict.fromkeys(versions, 0)
    for pair, count in games.items():
        for version in pair:
            planned[version] += count

    def lot(pair: PairKey) -> bytes:
        return hashlib.sha256(seed + pair[0].to_bytes(8, "big") + pair[1].to_bytes(8, "big")).digest()[:8]

    heap = [(games.get(one, 0), planned[one[0]] + planned[one[1]], lot(one), one) for one in combinations(versions, 2)]
    heapify(heap)
    chosen: list[PairKey] = []
    while len(chosen) < wanted:
        count, both, drawn, (low, high) = heappop(heap)
        if both == planned[low] + planned[high]:
            chosen.append((low, high))
            planned[low] += length
            planned[high] += length
            count += length
        heappush(heap, (count, planned[low] + planned[high], drawn, (low, high)))
    return chosen


def tick_ms(bots: int, pairs: int, rounds: int) -> float:
    """Measure the CPU time of one tick on a season with that many bots, and pairs that have played."""
    with leagues() as [world]:
        season_id = world.season(0, games_per_pair=None, series_length=10)
        world.write(fill, season_id, bots, pairs)
        world.write(refit, season_id)
        spent_ms = []
        for _ in range(rounds + 1):
            started_ns = time.process_time_ns()
            planned = world.tick()
            spent_ms.append((time.process_time_ns() - started_ns) / 1e6)
            assert len(planned) == OPEN_SERIES
            for series_id in planned:
                assert world.finish(world.claimed(series_id))
    return statistics.median(spent_ms[1:])


def fill(session: Session, season_id: int, bots: int, pairs: int) -> None:
    """Insert entries that are ready, and pairs as if they had played."""
    chance = random.Random(6)
    numbers = range(1, bots + 1)
    owner = {"owner_id": 1, "game": GAME, "created_at": START}
    insert_rows(session, Bot, [{"id": n, "name": f"b{n}", "name_key": f"b{n}", **owner} for n in numbers])
    ready = {"number": 1, "filename": "", "size_bytes": 1, "source_sha256": "", "language": "python", "entry": ""}
    ready |= {"state": "ready", "attempt": 1, "program_sha256": "", "reason": "", "log": ""}
    dates = {"created_at": START, "queued_at": START, "nudge_at": START}
    insert_rows(session, BotVersion, [{"id": n, "bot_id": n, **ready, **dates} for n in numbers])
    entry = {"season_id": season_id, "follows": True, "division": 1, "created_at": START}
    insert_rows(session, Entry, [{"bot_id": n, "version_id": n, **entry} for n in numbers])
    chosen = {pair_key(*chance.sample(numbers, 2)) for _ in range(pairs)}
    played = {"season_id": season_id, "games": 10, "lead": 0}
    insert_rows(session, Pair, [{"low_id": low, "high_id": high, **played} for low, high in chosen])


if __name__ == "__main__":
    sys.exit(main())
