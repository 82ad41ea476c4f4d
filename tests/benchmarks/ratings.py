"""How good the ratings are, what they cost, and how often the sequential test is wrong; each figure beside its target.

    ./scripts/bench ratings [--short]

(a) Games of two: 200 bots, strengths normal with a deviation of 200 Elo, a fifth of the games between equals drawn,
random matchings. How far the order is right (Kendall's tau) after 50 to 500 games a bot, beside openskill and
trueskill on the same games in the order in which they were played; how often the 95 % interval holds the truth; its
half-width.
(b) Tables of four and six: 48 bots, rankings by Plackett and Luce. Coverage, and tau beside the same two.
(c) CPU time from arrays to intervals of ratings and ranks, hash of the log included.
(d) The sequential test with H0 = 0 and H1 = 50 Elo: how often it is wrong under either, and how long it takes; on
single games, and on pairs of games that share their dice.
(e) A version 200 Elo better than the one before it passes its gate: after how many games its rating is within 50 Elo
of its strength, on average, if it is tied to its parent as any version is (before), less closely since it passed
(after), or if the games at the gate are rated with the rest; and what an author gains by throwing games at the gate.
(f) Promotion gates: how often versions pass, and how many games that takes, by the default terms and by others.

Pairing is measured by ./scripts/bench pairing.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

import numpy as np
from openskill.models import PlackettLuce

from deadheat.league import sprt
from deadheat.league.ratings import Games, Prior, RatingConfig, RatingTable, log_of, rate
from deadheat.league.service.duels.gates import MOST_GAMES as AT_GATE
from deadheat.league.service.duels.gates import TEST
from tests.benchmarks.targets import Targets, arguments
from tests.league.logs import Drawn, drawn_duels, drawn_tables, duel_ranks, matchings, names_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # for how its source spells a backslash, when first compiled
    import trueskill


BOTS = 200
TABLE_BOTS = 48
AFTER = (50, 100, 200, 500)

TAU_TARGETS = dict(zip(AFTER, (0.83, 0.875, 0.91, 0.94), strict=True))
HALF_WIDTH_TARGETS_ELO = dict(zip(AFTER, (112, 80, 57, 36), strict=True))
COVERAGE_TARGET = (0.92, 0.995)
TABLE_COVERAGE_TARGET = (0.90, 0.97)
MILLION_TARGET_S, MILLION_REACHED_S = 0.05, 0.2
COLD_TARGET_S = 1.5
WARM_TARGET_S = 0.2
WRONG_TARGET = 0.08
GAMES_TARGET = 300

ELO0, ELO1 = 0.0, 50.0
SHARE_DRAWN = 0.2
MOST_GAMES = 5000
SINGLE = "single games"

FIELD_BOTS = 24
FIELD_GAMES = 100
GATE_GAMES = 60
NEAREST = 12
BETTER_ELO = 200
THROWN_ELO = 600
VERSION_AFTER = (0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80)
NEAR_ELO = 50.0
PASSED_TARGET_GAMES = 25
THROWN_TARGET_ELO = 20.0

SERIES = 10
GATES = ((sprt.Terms(0, 20), 400), (sprt.Terms(0, 50), 400), (TEST, AT_GATE), (sprt.Terms(0, 200), 100))
GATE_ELO = (-50, 0, 20, 50, 100, 200)
FALSE_PASS_TARGET = 0.08
GATE_TARGET_GAMES = 130


def main() -> int:
    short = arguments(__doc__, "little of everything").parse_args().short
    targets = Targets()
    duels(targets, fields=1 if short else 8, after=AFTER[:1] if short else AFTER)
    tables(targets, fields=2 if short else 20, after=(50,) if short else (50, 100, 200))
    costs(targets, rounds=1 if short else 5)
    sequential_tests(targets, tests=50 if short else 2000)
    versions(targets, fields=2 if short else 100)
    gates(targets, tests=20 if short else 500)
    return targets.report()


def tau(one: np.ndarray, other: np.ndarray) -> float:
    """Compute Kendall's tau between two orders."""
    from scipy.stats import kendalltau  # importing it would cost every collection of tests half a second

    return float(kendalltau(one, other).statistic)


def by_name(table: RatingTable, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return ratings and standard errors in the order of the names."""
    found = {entry.player: (entry.elo, entry.se) for entry in table.entries}
    elo, se = zip(*(found[name] for name in names), strict=True)
    return np.array(elo), np.array(se)


def inside(drawn: Drawn, elo: np.ndarray, se: np.ndarray) -> float:
    """Return the share of bots whose distance to the field is in its interval; all have played as many games."""
    error = (elo - elo.mean()) - (drawn.truth_elo - drawn.truth_elo.mean())
    return float(np.mean(np.abs(error) < 1.96 * se))


def first(drawn: Drawn, games_each: int) -> Drawn:
    """Take the games of the first rounds only."""
    count = games_each * len(drawn.names) // drawn.games.players.shape[1]
    return Drawn(drawn.truth_elo, drawn.names, Games(drawn.games.players[:count], drawn.games.ranks[:count]))


# Online systems ------------------------------------------------------------------------------------------------------


@dataclass
class Online:
    """Another rating system, which takes game after game. `mean` is its estimate of a strength."""

    name: str
    new: Callable[[], Any]
    update: Callable[[list[Any], list[int]], list[Any]]
    mean: Callable[[Any], float]
    spent_s: float = 0.0
    games: int = 0

    def estimates(self, drawn: Drawn, after: Sequence[int]) -> Iterator[np.ndarray]:
        """Yield its estimates after so many games of everybody."""
        ratings = [self.new() for _ in drawn.names]
        begin = 0
        for games_each in after:
            begin_s = time.process_time()
            end = len(first(drawn, games_each).games.players)
            for seated, ranks in zip(
                drawn.games.players[begin:end].tolist(), drawn.games.ranks[begin:end].tolist(), strict=True
            ):
                for player, rating in zip(seated, self.update([ratings[one] for one in seated], ranks), strict=True):
                    ratings[player] = rating
            self.spent_s += time.process_time() - begin_s
            self.games += end - begin
            begin = end
            yield np.array([self.mean(rating) for rating in ratings])


def online() -> list[Online]:
    """Make both with their defaults, but TrueSkill knows the share of draws."""
    model, environment = PlackettLuce(), trueskill.TrueSkill(draw_probability=SHARE_DRAWN)
    return [
        Online(
            "openskill",
            model.rating,
            lambda ratings, ranks: [
                team[0] for team in model.rate([[one] for one in ratings], ranks=[*map(float, ranks)])
            ],
            lambda rating: float(rating.mu),
        ),
        Online(
            "trueskill",
            environment.create_rating,
            lambda ratings, ranks: [team[0] for team in environment.rate([(one,) for one in ratings], ranks=ranks)],
            lambda rating: float(rating.mu),
        ),
    ]


# The parts -----------------------------------------------------------------------------------------------------------


def duels(targets: Targets, fields: int, after: Sequence[int]) -> None:
    print(f"(a) Games of two: {BOTS} bots, mean of {fields} fields; targets in parentheses")
    chance = np.random.default_rng(1)
    others = online()
    taus: dict[tuple[str, int], list[float]] = {}
    covered: dict[int, list[float]] = {games: [] for games in after}
    widths: dict[int, list[float]] = {games: [] for games in after}
    spent_s = 0.0
    for _ in range(fields):
        drawn = drawn_duels(chance, BOTS, after[-1])
        for games in after:
            part = first(drawn, games)
            begin_s = time.process_time()
            elo, se = by_name(rate(part.log, RatingConfig()), drawn.names)
            spent_s += time.process_time() - begin_s
            taus.setdefault(("ours", games), []).append(tau(elo, drawn.truth_elo))
            covered[games].append(inside(drawn, elo, se))
            widths[games].append(float(1.96 * se.mean()))
        for other in others:
            for games, means in zip(after, other.estimates(drawn, after), strict=True):
                taus.setdefault((other.name, games), []).append(tau(means, drawn.truth_elo))
    for games in after:
        right = targets.shown(f"tau after {games}", fmean(taus["ours", games]), least=TAU_TARGETS[games])
        held = targets.shown(f"coverage after {games}", fmean(covered[games]), *COVERAGE_TARGET)
        width, most = fmean(widths[games]), HALF_WIDTH_TARGETS_ELO[games]
        wide = targets.shown(f"half-width after {games}", width, most=most, form=".0f")
        print(f"  after {games} games a bot")
        print(f"    tau {right}" + "".join(f"; {other.name} {fmean(taus[other.name, games]):.3f}" for other in others))
        print(f"    coverage {held}; half-width in Elo {wide}")
    print(f"  CPU for all of it: ours {spent_s:.2f} s", end="")
    print("".join(f"; {other.name} {other.spent_s:.2f} s ({other.spent_s / spent_s:.0f} x)" for other in others) + "\n")


def tables(targets: Targets, fields: int, after: Sequence[int]) -> None:
    print(f"(b) Tables: {TABLE_BOTS} bots, mean of {fields} fields")
    chance = np.random.default_rng(2)
    for seats in (4, 6):
        others = online()
        covered: dict[int, list[float]] = {games: [] for games in after}
        taus: dict[tuple[str, int], list[float]] = {}
        for number in range(fields):
            drawn = drawn_tables(chance, TABLE_BOTS, seats, after[-1])
            for games in after:
                elo, se = by_name(rate(first(drawn, games).log, RatingConfig()), drawn.names)
                covered[games].append(inside(drawn, elo, se))
                taus.setdefault(("ours", games), []).append(tau(elo, drawn.truth_elo))
            for other in others if number < 3 else []:  # they are slow, and no bound applies to them
                for games, means in zip(after, other.estimates(drawn, after), strict=True):
                    taus.setdefault((other.name, games), []).append(tau(means, drawn.truth_elo))
        for games in after:
            what = f"coverage at {seats} seats after {games}"
            print(f"  {seats} seats, {games} tables a bot: coverage ", end="")
            print(targets.shown(what, fmean(covered[games]), *TABLE_COVERAGE_TARGET), end="")
            names = ("ours", *(other.name for other in others))
            print("; tau " + ", ".join(f"{name} {fmean(taus[name, games]):.3f}" for name in names))
    print()


def costs(targets: Targets, rounds: int) -> None:
    """Take the least of some rounds, because other work on the machine only adds to CPU time."""
    print(f"(c) CPU seconds from arrays to intervals, least of {rounds}")
    chance = np.random.default_rng(3)
    large = drawn_duels(chance, BOTS, 1_000_000 * 2 // BOTS)
    million_s = least_s(rounds, lambda: rate(large.log, RatingConfig()))
    shown = targets.shown("a million games", million_s, most=MILLION_TARGET_S, reached=MILLION_REACHED_S)
    print(f"  {BOTS} bots, 1,000,000 games: {shown}")
    wide = drawn_duels(chance, 1000, 200)
    before = rate(first(wide, 198).log, RatingConfig())  # the ranking of a thousand games ago
    start = {entry.player: entry.elo for entry in before.entries}
    cold_s = least_s(rounds, lambda: rate(wide.log, RatingConfig()))
    warm_s = least_s(rounds, lambda: rate(wide.log, RatingConfig(), start=start))
    print(f"  1,000 bots, 100,000 games, cold: {targets.shown('a thousand bots, cold', cold_s, most=COLD_TARGET_S)}")
    print(f"  the same from the last ranking:  {targets.shown('a thousand bots, warm', warm_s, most=WARM_TARGET_S)}")
    few = first(large, 20)
    for other in online():
        for _ in other.estimates(few, [20]):
            pass
        per_million_s = 1e6 * other.spent_s / other.games
        print(f"  {other.name}: {per_million_s:.0f} s a million, at the pace of its first {other.games} games")
    print()


def least_s(rounds: int, work: Callable[[], object]) -> float:
    """Return the CPU seconds of the quickest round."""
    spent = []
    for _ in range(rounds):
        begin_s = time.process_time()
        work()
        spent.append(time.process_time() - begin_s)
    return min(spent)


def sequential_tests(targets: Targets, tests: int) -> None:
    print(f"(d) SPRT [{ELO0:g}, {ELO1:g}], asked every four games, {tests} tests under either hypothesis")
    chance = np.random.default_rng(4)
    terms = sprt.Terms(ELO0, ELO1, sprt.Model.LOGISTIC)
    for kind, scores in ((SINGLE, single_games), ("pairs that share dice", pairs)):
        wrong, lengths = {}, []
        for elo, right in ((ELO0, sprt.Verdict.REJECT), (ELO1, sprt.Verdict.ACCEPT)):
            ended = [one_test(chance, scores(elo), terms) for _ in range(tests)]
            wrong[elo] = fmean(state.verdict is not right for state in ended)
            lengths.append(fmean(state.games for state in ended))
        for name, elo in (("false passes", ELO0), ("false fails", ELO1)):
            print(f"  {kind}, {name}: {targets.shown(f'{kind}, {name}', wrong[elo], most=WRONG_TARGET)}")
        most = GAMES_TARGET if kind == SINGLE else np.inf  # shared dice carry less information, so pairs have no target
        shown = targets.shown(f"{kind}, games", max(lengths), most=most, form=".0f")
        print(f"  {kind}: {shown} games on average under the hypothesis that takes longer")


AFTER_PASSING = "after"
TIES = ("before", AFTER_PASSING, "gate games rated")


def versions(targets: Targets, fields: int) -> None:
    print(f"\n(e) A version that passed its gate, among {FIELD_BOTS} bots; mean of {fields} fields")
    better = shown_errors(f"{BETTER_ELO} Elo better", BETTER_ELO, BETTER_ELO, fields)
    for tie, errors in better.items():
        needed = next((n for n, error in zip(VERSION_AFTER, errors, strict=True) if abs(error) <= NEAR_ELO), np.inf)
        most = PASSED_TARGET_GAMES if tie == AFTER_PASSING else np.inf
        print(f"    {tie}: {targets.shown(f'games, {tie}', needed, most=most, form='.0f')} games to stand there")
    shown_errors("50 Elo better", 50, 50, fields)
    thrown = shown_errors("no better, and its parent throws the games at the gate", 0, THROWN_ELO, fields)
    gain = targets.shown("gain by throwing", thrown[AFTER_PASSING][0], most=THROWN_TARGET_ELO, form="+.0f")
    print(f"    {AFTER_PASSING}: {gain} Elo gained by throwing")


def shown_errors(what: str, gain_elo: float, gate_elo: float, fields: int) -> dict[str, list[float]]:
    """Print the errors of such versions; return the mean errors by tie to the parent."""
    chance = np.random.default_rng(5)
    errors = np.array([version_errors(chance, gain_elo, gate_elo) for _ in range(fields)])
    mean, spread = errors.mean(axis=0), np.sqrt((errors**2).mean(axis=0))
    print(f"  {what}: mean error / root of the mean square, in Elo, after so many games of its own")
    for number, tie in enumerate(TIES):
        figures = (f"{n}: {mean[number, at]:+.0f}/{spread[number, at]:.0f}" for at, n in enumerate(VERSION_AFTER))
        print(f"    {tie:16} " + "  ".join(figures))
    return dict(zip(TIES, mean.tolist(), strict=True))


def version_errors(chance: np.random.Generator, gain_elo: float, gate_elo: float) -> np.ndarray:
    """Return, by tie and games of its own, how far the rating of a version is off, as a distance to the field.

    Its parent is the field's first; at the gate the two are `gate_elo` apart.
    """
    names = (*names_of(FIELD_BOTS), "version")
    own, parent = FIELD_BOTS, 0
    truth = chance.normal(0, 200, FIELD_BOTS + 1)
    truth[own] = truth[parent] + gain_elo
    near = 1 + np.argsort(np.abs(truth[1:own] - truth[own]))[:NEAREST]
    seated = matchings(chance, FIELD_BOTS, 2, FIELD_GAMES)
    mine = np.column_stack([np.full(VERSION_AFTER[-1], own), chance.choice(near, VERSION_AFTER[-1])])
    field, games = (Games(some, duel_ranks(chance, truth[some[:, 0]] - truth[some[:, 1]])) for some in (seated, mine))
    gate = Games(np.tile([own, parent], (GATE_GAMES, 1)), duel_ranks(chance, np.full(GATE_GAMES, gate_elo)))
    config = RatingConfig()
    errors = np.zeros((len(TIES), len(VERSION_AFTER)))
    for number, tie in enumerate(TIES):
        prior = Prior(parent=names[parent], sd_elo=config.step_sd_elo(passed=tie == AFTER_PASSING))
        for at, count in enumerate(VERSION_AFTER):
            parts = [field, Games(games.players[:count], games.ranks[:count]), *([gate] if tie == TIES[-1] else [])]
            elo, _ = by_name(rate(log_of(names, parts), config, {names[own]: prior}), names)
            errors[number, at] = (elo[own] - elo[1:own].mean()) - (truth[own] - truth[1:own].mean())
    return errors


def gates(targets: Targets, tests: int) -> None:
    print(f"\n(f) Promotion gates, asked every {SERIES} games: share that passes / mean games, of {tests} each")
    chance = np.random.default_rng(6)
    for terms, most in GATES:
        default = terms == TEST
        found = {elo: gate_ends(chance, terms, most, elo, tests) for elo in GATE_ELO}
        print(f"  --gate {terms.elo0:g},{terms.elo1:g},{most}{' (default)' if default else ''}: ", end="")
        print(f"{straight_losses(terms, most)} straight losses refuse; ", end="")
        print(", ".join(f"{elo:+} Elo {passed:.2f} / {games:.0f}" for elo, (passed, games) in found.items()))
        if default:
            print("    passes of equals ", end="")
            print(targets.shown("gate, passes of equals", found[0][0], most=FALSE_PASS_TARGET, form=".2f"), end="; ")
            longest = max(games for _, games in found.values())
            print(f"games at most {targets.shown('gate, games', longest, most=GATE_TARGET_GAMES, form='.0f')}")


def gate_ends(chance: np.random.Generator, terms: sprt.Terms, most: int, elo: float, tests: int) -> tuple[float, float]:
    """Return the share of versions of that strength that pass, and the mean number of games."""
    passed, games = [], []
    for _ in range(tests):
        counts, played, verdict = np.zeros(3, np.int64), 0, sprt.Verdict.CONTINUE
        while verdict is sprt.Verdict.CONTINUE and played < most:
            step = min(SERIES, most - played)
            counts += chance.multinomial(step, single_games(elo))
            played += step
            verdict = verdict_on(*counts.tolist(), terms)
        passed.append(verdict is sprt.Verdict.ACCEPT)
        games.append(played)
    return fmean(passed), fmean(games)


def straight_losses(terms: sprt.Terms, most: int) -> int:
    """Return how many losses from the first game on refuse a version."""
    losses = (count for count in range(1, most) if verdict_on(count, 0, 0, terms) is sprt.Verdict.REJECT)
    return next(losses, most)


@cache
def verdict_on(losses: int, draws: int, wins: int, terms: sprt.Terms) -> sprt.Verdict:
    """Return the test's verdict; many walks pass through the same counts."""
    return sprt.test((losses, draws, wins), terms).verdict


def single_games(elo: float) -> list[float]:
    """Return the chances of a loss, a draw, a win."""
    score = 1 / (1 + 10 ** (-elo / 400))
    return [1 - score - SHARE_DRAWN / 2, SHARE_DRAWN, score - SHARE_DRAWN / 2]


def pairs(elo: float) -> list[float]:
    """Return the chances of the five scores of two games, if the second repeats the first's result half the time."""
    single = np.array(single_games(elo))
    independent = np.convolve(single, single)
    repeated = np.zeros(5)
    repeated[::2] = single
    return list((independent + repeated) / 2)


def one_test(chance: np.random.Generator, chances: Sequence[float], terms: sprt.Terms) -> sprt.State:
    """Draw games until there is a verdict."""
    counts = np.zeros(len(chances), np.int64)
    at_a_time = 4 if len(chances) == 3 else 2
    while True:
        counts += chance.multinomial(at_a_time, chances)
        state = sprt.test(counts.tolist(), terms)
        if state.verdict is not sprt.Verdict.CONTINUE or state.games >= MOST_GAMES:
            return state


if __name__ == "__main__":
    sys.exit(main())
