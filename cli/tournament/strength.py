"""The parts of a report about strength: ratings and the crosstable."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from deadheat.cli.local import page
from deadheat.cli.local.page import shown
from deadheat.cli.output import Column, Columns
from deadheat.cli.tournament.games import GameRecord
from deadheat.cli.tournament.records import Played
from deadheat.engine.figures import counted
from deadheat.engine.intervals import bars, interval
from deadheat.league.ratings import Rating, RatingConfig, RatingTable, rate
from deadheat.league.ratings.log import read
from deadheat.league.ratings.table import NORMAL_95

MOST_MORE = 100
"""The table gives no number if separating neighbours takes more than this many times the games."""


def rated(played: Played) -> RatingTable:
    """Rate the games that count."""
    return rate(read(played.rated), RatingConfig())


def ratings(found: RatingTable, played: Played) -> Iterator[str]:
    """Show the ratings, and how well they are resolved."""
    entries = found.entries
    if not entries:
        yield '<p class="note">No game counts: in each of them every bot committed a fault.</p>\n'
        return
    figures = [{"low": row.low, "elo": row.elo, "high": row.high} for row in entries]
    pictures = {row.player: interval(of, bar) for row, of, bar in zip(entries, figures, bars(figures), strict=True)}
    columns: Columns[Rating] = (
        Column("Place", lambda row: str(_place(row)), right=True),
        Column("Bot", lambda row: shown(row.player)),
        Column("Rating", lambda row: f"{row.elo:.0f} ± {NORMAL_95 * row.se:.0f}", right=True),
        Column("95 % interval", lambda row: f'<span class="interval">{pictures[row.player]}</span>'),
        Column("Places", _places, right=True),
        Column("Games", lambda row: str(row.games), right=True),
        Column("Won / drawn / lost", lambda row: f"{row.wins} / {row.draws} / {row.losses}", right=True),
        Column("Ahead of the next", _gap, right=True),
        Column("Told apart", lambda row: _resolved(row, played.about.games)),
    )
    yield from page.table("Ratings", entries, columns, head=1)
    yield '<p class="note">Elo around 1500 with 95 % intervals, as in <code>deadheat rate</code>; so are places. Told '
    yield "apart: ahead of the next by more than that interval; the games that it takes assume that the gap stays."
    fit = found.fit()
    if fit.chi2_per_dof is not None:
        yield f" Fit: chi-squared {fit.chi2_per_dof:.2f} per degree of freedom (near 1: a single rating per bot "
        yield "explains the results)."
    yield "</p>\n"
    if len(entries) > 2:
        yield (
            f'<p class="note">The first of {len(entries)} is there partly by luck. Before you choose it, '
            "play it against its rivals with another <code>--seed</code>: expect less than this table says.</p>\n"
        )


def _place(row: Rating) -> int:
    assert row.place is not None, "all are in one field"
    return row.place.rank


def _places(row: Rating) -> str:
    assert row.place is not None, "all are in one field"
    low, high = row.place.low, row.place.high
    return f"{low} to {high}" if low < high else f"{low}"


def _gap(row: Rating) -> str:
    if row.place is None or row.place.gap_elo is None or row.place.gap_se is None:
        return "&ndash;"
    return f"{row.place.gap_elo:+.0f} ± {NORMAL_95 * row.place.gap_se:.0f}"


def _resolved(row: Rating, games: int) -> str:
    """Say whether a gap exceeds its 95 % interval, or how many games per pair would resolve it if it stays."""
    if row.place is None or row.place.gap_elo is None or row.place.gap_se is None:
        return ""
    gap, width = row.place.gap_elo, NORMAL_95 * row.place.gap_se
    if gap > width:
        return '<span class="met">yes</span>'
    if gap <= 0 or (times := (width / gap) ** 2) > MOST_MORE:
        return "no"
    return f"no: needs {math.ceil(games * times):,} games per pair"


@dataclass
class Meeting:
    """The results of one bot against another. `groups`: points and games by group of games with shared dice."""

    points: float = 0.0
    games: int = 0
    faults: int = 0
    groups: dict[str, tuple[float, int]] = field(default_factory=dict)

    def add(self, points: float, group: str | None, failed: bool) -> None:
        """Count one game: 1 point for a better place than the other's, 1/2 for the same place."""
        self.points += points
        self.games += 1
        self.faults += failed
        if group is not None:
            before = self.groups.get(group, (0.0, 0))
            self.groups[group] = before[0] + points, before[1] + 1

    @property
    def pairs(self) -> tuple[int, int, int]:
        """Return how many groups of two or more games were won, drawn and lost."""
        several = ((points, games) for points, games in self.groups.values() if games > 1)
        signs = Counter((2 * points > games) - (2 * points < games) for points, games in several)
        return signs[1], signs[0], signs[-1]


def meetings(games: Sequence[GameRecord]) -> dict[tuple[str, str], Meeting]:
    """Count the results of each bot against each other, from both sides."""
    found: dict[tuple[str, str], Meeting] = defaultdict(Meeting)
    for game in (game for game in games if game.rated):
        for seat, bot in enumerate(game.players):
            for other, opponent in enumerate(game.players):
                if seat != other:
                    points = (1 + (game.ranks[seat] < game.ranks[other]) - (game.ranks[seat] > game.ranks[other])) / 2
                    found[bot, opponent].add(points, game.group, game.failed(seat))
    return found


def crosstable(found: RatingTable, played: Played) -> Iterator[str]:
    """Show the points, pairs and faults of each bot against each other, in the order of the ratings."""
    order = [row.player for row in found.entries]
    results = meetings(played.games)
    numbers = {player: place for place, player in enumerate(order)}

    def column(opponent: str) -> Column[str]:
        number = str(numbers[opponent] + 1)
        return Column(number, lambda bot: _cell(results.get((bot, opponent)), bot, opponent, played))

    columns: Columns[str] = (Column("Bot", lambda bot: f"{numbers[bot] + 1}. {shown(bot)}"), *map(column, order))
    yield '<div class="pairs">'
    yield from page.table("Crosstable", order, columns)
    yield "</div>\n"
    several = " At tables of three and more, each pair of places counts as a game." if played.about.seats > 2 else ""
    yield (
        '<p class="note">A cell shows what the bot on the left took from the one above: points of games (a draw is '
        "half a point), pairs won, drawn and lost (games that share their dice, seats exchanged), and its own faults. "
        f"A click lists the games.{several}</p>\n"
    )


def _cell(meeting: Meeting | None, bot: str, opponent: str, played: Played) -> str:
    if meeting is None:
        return ""
    place = played.numbers
    shade = round(10 * meeting.points / meeting.games)
    cell = f'<a class="score s{shade}" href="#pair-{place[bot]}-{place[opponent]}">'
    cell += f"{meeting.points:g}<small>/{meeting.games}</small></a>"
    if any(meeting.pairs):
        cell += f"<small>{'&ndash;'.join(map(str, meeting.pairs))}</small>"
    if meeting.faults:
        cell += f'<small class="fault">{counted(meeting.faults, "fault")}</small>'
    return cell
