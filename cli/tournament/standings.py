"""The results of a tournament's games: ratings, places, pairs, faults, times, and the sequential test."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deadheat.cli.tournament.games import GameRecord
from deadheat.cli.tournament.schedule import Deal

if TYPE_CHECKING:
    from deadheat.league.ratings import Rating
    from deadheat.league.sprt import State

REFIT_SHARE = 0.05
"""The largest share of the time during play that ratings may take."""

DRAWS_OF_THE_BEST = 4000
"""The number of simulations that estimate how much the best of many is flattered, to a 20th of a standard error."""

Score = tuple[int, int, int]
"""Games won, drawn, lost."""


@dataclass(slots=True)
class Seen:
    """The record of one bot."""

    games: int = 0
    faults: Counter[str] = field(default_factory=Counter)  # keyed by kind and command
    share: float = 0.0  # the largest share of a limit that a reply in time took
    host_ms: float = 0.0


@dataclass
class Standings:
    """All games of a tournament so far, by the numbers of `labels`."""

    labels: Sequence[str]
    deals: Sequence[Deal]
    seen: list[Seen] = field(init=False)
    games: dict[int, GameRecord] = field(default_factory=dict)
    void_attempts: int = 0
    unrated: int = 0
    _scores: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _pairs: dict[tuple[int, int], list[int]] = field(default_factory=dict)  # by half points (0 to 4)
    _tested: tuple[list[int], State] | None = None
    _fitted_at: tuple[int, float, float] = (-1, 0.0, 0.0)  # number of games, time of the fit, its duration
    _ratings: list[Rating] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seen = [Seen() for _ in self.labels]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The place of each bot in `labels`."""
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def _deal_of(self) -> dict[int, Deal]:
        return {seated.number: deal for deal in self.deals for seated in deal.games}

    def add(self, game: GameRecord) -> None:
        """Count a finished game. Counting a game again changes nothing."""
        if game.number in self.games:
            return
        self.games[game.number] = game
        players = [self.numbers[label] for label in game.players]
        self.void_attempts += game.void_attempts
        for seat, player in enumerate(players):
            self._look(self.seen[player], game, seat)
        if not game.rated:
            self.unrated += 1
            return
        for player, rank in zip(players, game.ranks, strict=True):
            for other, other_rank in zip(players, game.ranks, strict=True):
                if player != other:
                    place = (rank >= other_rank) + (rank > other_rank)
                    self._scores.setdefault((player, other), [0, 0, 0])[place] += 1
        deal = self._deal_of[game.number]
        if len(deal.table) == len(deal.games) == 2:
            self._count_deal(deal)

    @staticmethod
    def _look(seen: Seen, game: GameRecord, seat: int) -> None:
        seen.games += 1
        seen.faults.update(
            f"{fault.fault} at {fault.command or 'the start'}" for fault in game.faults if fault.seat == seat
        )
        seen.host_ms += game.host_ms[seat]
        for answers in game.times[seat].values():
            if answers.limit_ms and answers.own_ms:
                seen.share = max(seen.share, answers.own_ms[-1][0] / answers.limit_ms)

    def score(self, one: int, other: int) -> Score:
        """Return the games that a bot won, drew and lost against another."""
        won, drawn, lost = self._scores.get((one, other), (0, 0, 0))
        return won, drawn, lost

    def total(self, one: int, others: Iterable[int] | None = None) -> Score:
        """Return the games that a bot won, drew and lost against some others (None: all)."""
        scores = [self.score(one, other) for other in (range(len(self.labels)) if others is None else others)]
        return sum(s[0] for s in scores), sum(s[1] for s in scores), sum(s[2] for s in scores)

    def _count_deal(self, deal: Deal) -> None:
        """Count a deal of two bots once both of its games have ended and count."""
        games = [self.games.get(seated.number) for seated in deal.games]
        if not all(game and game.rated for game in games):
            return
        one, other = deal.table
        halves = sum(_half_points(game, self.labels[one]) for game in games if game)
        for two, points in (((one, other), halves), ((other, one), 4 - halves)):
            self._pairs.setdefault(two, [0] * 5)[points] += 1

    def halves_of(self, one: int, other: int | None = None) -> list[int]:
        """Count a bot's finished pairs of games with the same dice by its half points, 0 to 4, against another (None:
        all others).
        """
        found = [counts for two, counts in self._pairs.items() if two[0] == one and other in {None, two[1]}]
        return [sum(counts[points] for counts in found) for points in range(5)]

    def pairs(self, one: int) -> Score:
        """Return the pairs of games with the same dice that a bot won, drew and lost, by the points of both games."""
        counts = self.halves_of(one)
        return sum(counts[3:]), counts[2], sum(counts[:2])

    def test(self, sprt: Mapping[str, float]) -> State:
        """Return the sequential test of the first bot against all others, by pairs of games that share their dice."""
        from deadheat.league.sprt import Terms, test

        counts = self.halves_of(0)
        if self._tested is None or self._tested[0] != counts:
            self._tested = counts, test(counts, Terms(sprt["elo0"], sprt["elo1"]))
        return self._tested[1]

    def ratings(self, now: bool = False) -> list[Rating]:
        """Return the ratings, best first. Unless `now`, they may be a moment old, so that fitting takes little time."""
        import deadheat.league.ratings  # noqa: F401  before the clock: this takes longer than a fit

        games, at, took = self._fitted_at
        began = time.monotonic()
        if games == len(self.games) or (not now and began - at < max(0.5, took / REFIT_SHARE)):
            return self._ratings
        self._ratings = self._fit()
        self._fitted_at = len(self.games), time.monotonic(), time.monotonic() - began
        return self._ratings

    def _fit(self) -> list[Rating]:
        from deadheat.league.ratings import Games, RatingConfig, log_of, rate

        groups: dict[str, int] = {}
        by_seats: dict[int, tuple[list[list[int]], list[list[int]], list[int]]] = {}
        for game in self.games.values():
            if game.rated:
                players, ranks, of = by_seats.setdefault(len(game.ranks), ([], [], []))
                players.append([self.numbers[label] for label in game.players])
                ranks.append(game.ranks)
                of.append(groups.setdefault(str(game.group), len(groups)))
        played = [Games(*(np.array(part, np.int64) for part in parts)) for parts in by_seats.values()]
        return list(rate(log_of(list(self.labels), played, list(groups)), RatingConfig()).entries)

    def width(self, label: str) -> float | None:
        """Return half the width of a bot's 95 % interval in Elo, from ratings that may be a moment old."""
        return next(((r.high - r.low) / 2 for r in self.ratings() if r.player == label), None)


def _half_points(game: GameRecord, label: str) -> int:
    seat = game.players.index(label)
    own, other = game.ranks[seat], game.ranks[1 - seat]
    return (own <= other) + (own < other)


def flattery(ratings: Sequence[Rating]) -> float | None:
    """Return by how many Elo the best one's rating is expected to be too high because it was chosen as the best: the
    winner's curse. None if nobody chose.

    The ratings are taken as the true strengths, and the tournament is simulated many times with their errors. The best
    of each simulation is worth less than it seems, on average by its error.
    """
    if len(ratings) < 2:
        return None
    true = np.array([rating.elo for rating in ratings])
    errors = np.random.default_rng(1).standard_normal((DRAWS_OF_THE_BEST, len(true)))
    errors *= np.array([rating.se for rating in ratings])
    best = np.argmax(true + errors, axis=1)
    return float(np.mean(errors[np.arange(len(best)), best]))


def summary(standings: Standings, choice: Sequence[Rating]) -> dict[str, Any]:
    """Return the standings as JSON. `choice`: the ratings of the bots from which somebody may choose the best."""
    ratings = standings.ratings(now=True)
    number = standings.numbers
    bots = []
    for rating in ratings:
        seen = standings.seen[number[rating.player]]
        won, drawn, lost = standings.total(number[rating.player])
        assert rating.place is not None
        bots.append(
            {
                "bot": rating.player,
                "elo": round(rating.elo, 1),
                "ci95": [round(rating.low, 1), round(rating.high, 1)],
                "places": [rating.place.low, rating.place.high],
                "wins": won,
                "draws": drawn,
                "losses": lost,
                "faults": dict(sorted(seen.faults.items())),
                "most_of_a_limit": round(seen.share, 4),
                "host_ms": round(seen.host_ms, 3),
            }
        )
    best = flattery(choice)
    return {
        "games": len(standings.games),
        "unrated": standings.unrated,
        "void_attempts": standings.void_attempts,
        "bots": bots,
        "best_flattered_by_elo": None if best is None else round(best, 1),
    }
