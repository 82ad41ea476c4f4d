"""A tournament so far: results, ratings, places, pairs, faults, times and the sequential test, and their display."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from deadheat.cli.console import err, short
from deadheat.cli.output import Column, Columns, places, table
from deadheat.cli.tournament.records import GameRecord, Request
from deadheat.engine.core import NS_PER_MS
from deadheat.engine.figures import counted, duration
from deadheat.engine.own_time import WALL_CLOCK

if TYPE_CHECKING:
    from deadheat.league.ratings import Rating, RatingTable
    from deadheat.league.sprt import State

REFIT_SHARE = 0.05
"""The largest share of the time during play that ratings may take."""

DRAWS_OF_THE_BEST = 4000
"""The number of simulations that estimate how much the best of many is flattered, to a 20th of a standard error."""

NAME_WIDTH = 20
REDRAW_SECONDS = 0.5

VERDICTS = {
    "accept": "accepted: {bot} is stronger by {elo1:g} normalised Elo or more (rather than by {elo0:g})",
    "reject": "rejected: {bot} is not stronger by {elo1:g} normalised Elo (but by {elo0:g} or less)",
    "continue": "undecided whether {bot} is stronger by {elo0:g} or by {elo1:g} normalised Elo",
}

Score = tuple[int, int, int]
"""Games won, drawn, lost."""


@dataclass(slots=True)
class _Seen:
    """The record of one bot. `faults`: by kind and command. `share`: the largest share of a limit that a reply in time
    took. `host_ms`: what the host took in each game.
    """

    games: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    share: float = 0.0
    host_ms: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Meeting:
    """The results of one bot against another. `halves`: pairs of games that shared their dice, by half points (0 to 4);
    `groups`: half points and games, by group of games that shared their dice.
    """

    score: list[int] = field(default_factory=lambda: [0, 0, 0])
    faults: int = 0
    halves: list[int] = field(default_factory=lambda: [0] * 5)
    groups: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, half_points: int, group: str | None, failed: bool) -> None:
        """Count one game: 2 half points for a better place than the other's, 1 for the same place."""
        self.score[2 - half_points] += 1
        self.faults += failed
        if group is not None:
            before, games = self.groups.get(group, (0, 0))
            self.groups[group] = before + half_points, games + 1
            if games == 1:
                self.halves[before + half_points] += 1

    @property
    def pairs(self) -> Score:
        """How many groups of two or more games were won, drawn and lost."""
        several = ((points, games) for points, games in self.groups.values() if games > 1)
        signs = Counter((points > games) - (points < games) for points, games in several)
        return signs[1], signs[0], signs[-1]


@dataclass
class Standings:
    """All games of a tournament so far. Bots are numbers: their places in `labels`. `paired`: its games come in pairs
    of two bots that exchange seats.
    """

    about: Request
    paired: bool = True
    labels: list[str] = field(default_factory=list)
    seen: list[_Seen] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    games: dict[int, GameRecord] = field(default_factory=dict)
    void_attempts: int = 0
    unrated: int = 0
    meetings: dict[tuple[int, int], Meeting] = field(default_factory=lambda: defaultdict(Meeting))
    _tested: tuple[list[int], State] | None = None
    _fitted_at: tuple[int, float, float] = (-1, 0.0, 0.0)  # number of games, time of the fit, its duration
    _ratings: list[Rating] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.paired &= self.about.seats == 2
        for label in self.about.labels:
            self._number(label)

    def _number(self, label: str) -> int:
        if label not in self.numbers:
            self.numbers[label] = len(self.labels)
            self.labels.append(label)
            self.seen.append(_Seen())
        return self.numbers[label]

    def add(self, game: GameRecord) -> None:
        """Count a finished game. Counting a game again changes nothing."""
        if game.number in self.games:
            return
        self.games[game.number] = game
        players = [self._number(label) for label in game.players]
        self.void_attempts += game.void_attempts
        for seat, player in enumerate(players):
            self._look(self.seen[player], game, seat)
        if not game.rated:
            self.unrated += 1
            return
        for seat, (player, rank) in enumerate(zip(players, game.ranks, strict=True)):
            failed = game.failed(seat)
            for other, other_rank in zip(players, game.ranks, strict=True):
                if player != other:
                    half_points = (rank <= other_rank) + (rank < other_rank)
                    self.meetings[player, other].add(half_points, game.group, failed)

    @staticmethod
    def _look(seen: _Seen, game: GameRecord, seat: int) -> None:
        seen.games += 1
        seen.faults.update(
            f"{fault.fault} at {fault.command or 'the start'}" for fault in game.faults if fault.seat == seat
        )
        seen.host_ms.append(game.host_ms[seat])
        for answers in game.times[seat].values():
            if answers.limit_ms and answers.own_ms:
                seen.share = max(seen.share, answers.own_ms[-1][0] / answers.limit_ms)

    def _met(self, bot: int, others: Iterable[int] | None) -> list[Meeting]:
        against = range(len(self.labels)) if others is None else others
        return [self.meetings[bot, other] for other in against if (bot, other) in self.meetings]

    def total(self, bot: int, others: Iterable[int] | None = None) -> Score:
        """Return the games that a bot won, drew and lost against some others (None: all)."""
        scores = [meeting.score for meeting in self._met(bot, others)]
        return sum(s[0] for s in scores), sum(s[1] for s in scores), sum(s[2] for s in scores)

    def halves_of(self, bot: int, others: Iterable[int] | None = None) -> list[int]:
        """Count a bot's finished pairs of games with the same dice by its half points, 0 to 4, against some others."""
        met = self._met(bot, others)
        return [sum(meeting.halves[points] for meeting in met) for points in range(5)]

    def pairs(self, bot: int) -> Score:
        """Return the pairs of games with the same dice that a bot won, drew and lost, by the points of both games."""
        counts = self.halves_of(bot)
        return sum(counts[3:]), counts[2], sum(counts[:2])

    def test(self) -> State:
        """Return the sequential test of the first bot against all others, by pairs of games that share their dice."""
        from deadheat.league.sprt import Terms, test

        assert self.about.sprt is not None
        counts = self.halves_of(0)
        if self._tested is None or self._tested[0] != counts:
            self._tested = counts, test(counts, Terms(self.about.sprt["elo0"], self.about.sprt["elo1"]))
        return self._tested[1]

    def ratings(self, now: bool = False) -> list[Rating]:
        """Return the ratings, best first. Unless `now`, they may be a moment old, so that fitting takes little time."""
        import deadheat.league.ratings  # noqa: F401  before the clock: this takes longer than a fit

        games, at, took = self._fitted_at
        began = time.monotonic()
        if games == len(self.games) or (not now and began - at < max(0.5, took / REFIT_SHARE)):
            return self._ratings
        self._ratings = list(self.table().entries)
        lasted = 0.0 if games < 0 else time.monotonic() - began  # the first one also loads what all of them need
        self._fitted_at = len(self.games), time.monotonic(), lasted
        return self._ratings

    def table(self) -> RatingTable:
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
        return rate(log_of(self.labels, played, list(groups)), RatingConfig())

    def width(self, label: str) -> float | None:
        """Return half the width of a bot's 95 % interval in Elo, from ratings that may be a moment old."""
        return next(((r.high - r.low) / 2 for r in self.ratings() if r.player == label), None)


def standings_of(about: Request, games: Iterable[GameRecord], paired: bool = True) -> Standings:
    standings = Standings(about, paired)
    for game in games:
        standings.add(game)
    return standings


def _flattery(ratings: Sequence[Rating]) -> float | None:
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
                "host_ms": round(sum(seen.host_ms), 3),
            }
        )
    best = _flattery(choice)
    return {
        "games": len(standings.games),
        "unrated": standings.unrated,
        "void_attempts": standings.void_attempts,
        "bots": bots,
        "best_flattered_by_elo": None if best is None else round(best, 1),
    }


def standings_table(standings: Standings, ratings: list[Rating]) -> Table:
    number = standings.numbers

    def faults(rating: Rating) -> Text:
        count = sum(standings.seen[number[rating.player]].faults.values())
        return Text(str(count), "red" if count else "")

    columns: Columns[Rating] = (
        Column("place", lambda r: places(r.place.low, r.place.high) if r.place else "", right=True),
        Column("bot", lambda r: short(r.player, NAME_WIDTH), whole=True),
        Column("rating", lambda r: f"{r.elo:.0f} ± {(r.high - r.low) / 2:.0f}", right=True),
        Column("games\nW/D/L", lambda r: "/".join(map(str, standings.total(number[r.player]))), right=True),
    )
    if standings.paired:
        columns += (
            Column("pairs\nW/D/L", lambda r: "/".join(map(str, standings.pairs(number[r.player]))), right=True),
        )
    columns += (Column("faults", faults, right=True),)
    if any(seen.share for seen in standings.seen):
        columns += (Column("most of\na limit", lambda r: _percent(standings.seen[number[r.player]].share), right=True),)
    return table(ratings, columns)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def sprt_line(request: Request, state: State) -> str:
    assert request.sprt is not None
    score = "" if state.score is None else f", score {100 * state.score:.1f} %"
    head = f"LLR {state.llr:.2f} in [{state.lower:.2f}, {state.upper:.2f}] after {counted(state.games, 'game')}{score}"
    return f"{head}: {VERDICTS[state.verdict.value].format(bot=request.labels[0], **request.sprt)}"


def closing_lines(standings: Standings, choice: list[Rating]) -> Iterator[RenderableType]:
    """Yield the lines below the final table: faults by kind, the time that the host took, and the winner's curse if
    somebody may choose the best of these.
    """
    for label, seen in zip(standings.labels, standings.seen, strict=True):
        for what, count in sorted(seen.faults.items()):
            yield Text.assemble(f"{short(label, NAME_WIDTH)}: ", (f"{count} x {what}", "red"))
    if standings.unrated:
        yield f"{counted(standings.unrated, 'game')} without a winner, because all at the table committed faults."
    if standings.void_attempts:
        yield f"{counted(standings.void_attempts, 'attempt was', 'attempts were')} void because of this machine."
    host_ms = sum(sum(seen.host_ms) for seen in standings.seen)
    if standings.about.time:
        yield f"{WALL_CLOCK}."
    if host_ms:
        yield f"The host took {duration(round(host_ms * NS_PER_MS))} from the bots; limits apply to their own time."
    excess = _flattery(choice)
    if excess is not None and excess >= 1:
        yield (
            f"The best of {len(choice)} looks better than it is: by about {excess:.0f} Elo here, because it was "
            "chosen for its result. Before you choose it, play it again with another --seed."
        )


@dataclass
class Screen:
    """The live table on stderr, if that is a terminal. It has no thread; `draw` draws it."""

    standings: Standings
    planned: int
    wanted: bool
    waits: tuple[str, ...] = ()
    _live: Live | None = None
    _began: float = field(default_factory=time.monotonic)
    _before: int = 0
    _next: float = 0.0

    def __enter__(self) -> Screen:
        self._before = len(self.standings.games)
        if self.wanted:
            self._live = Live(console=err, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def draw(self) -> None:
        """Draw the table, but not more often than a person can see."""
        if self._live is not None and time.monotonic() >= self._next:
            self._live.update(Group(*self._parts()), refresh=True)
            self._next = time.monotonic() + REDRAW_SECONDS

    def _parts(self) -> Iterator[RenderableType]:
        if self.standings.games:
            yield standings_table(self.standings, self.standings.ratings())
        if self.standings.about.sprt is not None:
            yield Text(sprt_line(self.standings.about, self.standings.test()))
        if self.waits:
            yield Text(f"waiting for processors. Taken: {'; '.join(self.waits)}", "magenta")
        yield Text(self._progress())

    def _progress(self) -> str:
        """Return the number of games played, their pace, and the time that the rest will take."""
        played = len(self.standings.games)
        seconds = time.monotonic() - self._began
        rate = (played - self._before) / seconds if seconds else 0.0
        bound = "at most " if self.standings.about.open_end else ""
        progress = f"{played} of {bound}{counted(self.planned, 'game')}"
        if rate:
            minutes, second = divmod(round((self.planned - played) / rate), 60)
            hours, minute = divmod(minutes, 60)
            left = f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
            progress += f", {rate:.3g} a second, {bound}{left} left"
        return progress
