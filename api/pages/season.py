"""A season: its leaderboard and newest matches; and its statistics in pictures: points between bots, cycles, the values
of seats, and the fit of the ratings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from pydantic import ConfigDict
from sqlmodel import Session

from deadheat.api import schemas as base
from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages.board import line
from deadheat.api.pages.match import worth_watching
from deadheat.api.pages.pictures.charts import trend
from deadheat.api.pages.render import ROWS, everyones, render
from deadheat.engine.figures import bars
from deadheat.engine.language import N_, gettext, language
from deadheat.league.database import now
from deadheat.league.records.contests import Contest, ContestDetail
from deadheat.league.records.rankings import NORMAL_95, tally
from deadheat.league.records.seasons import Progress, Season
from deadheat.league.service.course import states
from deadheat.league.service.course.finals import finals_progress
from deadheat.league.service.evaluations.views import stages_of
from deadheat.league.service.people import notices as league_announcements
from deadheat.league.service.rankings.history import trends
from deadheat.league.service.rankings.standings import Leaderboard, order_is_settled
from deadheat.league.service.seasons.participation import absent_bots
from deadheat.league.service.seasons.seasons import season_info, season_progress, season_waiting
from deadheat.league.service.views.contests import coming, contest, of_season
from deadheat.league.service.views.matches import matches
from deadheat.league.service.views.overview import running_series
from deadheat.league.states import (
    EVALUATIONS,
    SEASON_STEPS,
    Absence,
    ContestState,
    MatchState,
    Players,
    SeasonState,
    dated_steps,
)
from deadheat.league.terms import TERMS, Group
from deadheat.sandbox.languages import LANGUAGES

router = APIRouter()

RECENT_MATCHES = 10
RECENT_EVALUATIONS = 10
"""The number of newest evaluations among which one with standings is searched."""

Row = Mapping[str, Any]


class Chosen(base.Query):
    """The filter of a leaderboard: part of a bot's, an author's or a team's name, a language, a division."""

    model_config = ConfigDict(extra="ignore", frozen=True)  # a shared link may carry unknown parameters

    q: Annotated[str, Query(max_length=64)] = ""
    language: Annotated[str, Query(max_length=32)] = ""
    division: Number = None
    page: base.RowId = 1

    @property
    def query(self) -> str:
        """The filter without the page, to be added to an address with a query."""
        kept = {"q": self.q, "language": self.language, "division": self.division}
        query = urlencode({name: value for name, value in kept.items() if value})
        return f"&{query}" if query else ""

    def matching(self, rows: Sequence[Row]) -> Sequence[Row]:
        matched = rows
        if wanted := self.q.strip().casefold():
            named = (
                (row, f"{row['bot']}\n{row['author']}\n{row['team'] or ''}") for row in rows
            )  # none has a line break
            matched = [row for row, names in named if wanted in names.casefold()]
        for setting, value in (("language", self.language), ("division", self.division)):
            if value:
                matched = [row for row in matched if row[setting] == value]
        return matched


@dataclass(frozen=True, slots=True)
class Podium:
    """The first three places of a division. `steps`: each place that is taken, with the rows that share it.

    `by_stages`: the stages of the finals decided, not the ratings.
    """

    division: str
    by_stages: bool
    steps: Sequence[tuple[int, Sequence[Row]]]

    @property
    def winners(self) -> Sequence[Row]:
        return self.steps[0][1]


STEPS = 3


def podiums(rows: Sequence[Row], divisions: Mapping[int, str]) -> list[Podium]:
    """Return the podium of each division that has places. `rows`: best first."""
    found = []
    for number, name in divisions.items():
        first = [row for row in rows if row["division"] == number and row["rank"] is not None and row["rank"] <= STEPS]
        if first:
            steps = [(rank, list(shared)) for rank, shared in groupby(first, lambda row: row["rank"])]
            found.append(Podium(name, first[0].get("finals_place") is not None, steps))
    return found


@dataclass(frozen=True, slots=True)
class Shown:
    """A page of the leaderboard. `found`: the number of matching rows."""

    table: Markup
    found: int


@router.get("/seasons/{season_id}")
@everyones
def season(shared: Shared, season_id: Id, chosen: Annotated[Chosen, Query()]) -> str:
    with shared.db.reading() as session:
        info = season_info(session, season_id)
        board = shared.boards.newest(session, season_id)
        rows, totals = board.standings["rows"], board.standings["totals"]
        at, draws = now(session), coming(session, season_id)
        dates = []  # each step's words before and after its date; one that is late keeps the former
        for state, name, date in dated_steps(info, SeasonState.SCHEDULED):
            what = name.removesuffix("_at")
            dates.append((what, what.capitalize() if state.is_after(info.state) else SEASON_STEPS[state].past, date))
        key = (season_id, board.snapshot_id, chosen, language(), tuple(info.divisions))
        next_draw = [(N_("next evaluation"), due) for _words, due in draws[:1]]
        # Says the ranking anything? A match counts, or ratings come from an earlier season.
        ranked = totals is not None and (totals["rated"] > 0 or any(row["prior_elo"] is not None for row in rows))
        divisions = {division.number: division.name for division in info.divisions}
        newest = of_season(session, season_id, EVALUATIONS, limit=RECENT_EVALUATIONS)
        absent = absent_bots(session, season_id)
        here = {row["bot_id"] for row in rows} if absent else ()  # they are shown already
        unseen = {
            kind.value: [bot for bot in absent if bot.absence is kind and bot.bot_id not in here] for kind in Absence
        }
        values: dict[str, Any] = {
            "announcements": league_announcements.announcements(session, season_id, limit=3),
            "dates": [(what.capitalize() if date > at else past, date) for what, past, date in dates],
            "begun": info.state.ladder_is_over,
            "limits": _limits(info),
            "coming": next_draw + [(what, date) for what, _past, date in dates if date > at],
            "note": gettext(step.note) if (step := SEASON_STEPS.get(info.state)) else "",
            "finals": finals_progress(session, season_id) if info.state is SeasonState.FINALS else [],
            "settled": info.state is SeasonState.OPEN and order_is_settled(session, season_id),
            "stages": stages_of(session, season_id),
            "divisions": divisions,
            "waits_for": states.waits_for(session, season_id),
            "evaluation": next(iter(newest), None),
            "ranked": ranked,
            "instead": None if ranked else _instead(shared, session, newest),
            "podiums": podiums(rows, divisions) if info.published_at else [],
            "progress": _progress(session, info, totals),
            "shown": ranked and shared.boards.part(key, lambda: shown(shared, session, board, chosen, info)),
            "languages": sorted(info.languages or LANGUAGES),
            "absent": {kind: bots for kind, bots in unseen.items() if bots},
            "worth": worth_watching(shared, session, season_id),
            "running": running_series(session, RECENT_MATCHES, season_id) if info.players is Players.AGENTS else [],
            "matches": matches(session, season_id=season_id, state=MatchState.DONE, limit=RECENT_MATCHES),
        }
    values |= {"season": info, "board": board, "rows": rows, "totals": totals, "chosen": chosen, "draws": draws}
    return render(shared, "season.html", **values)


def _instead(shared: Shared, session: Session, newest: Sequence[Contest]) -> ContestDetail | None:
    """Return what a page shows in place of a ranking that says nothing: the newest evaluation that is over, else the
    one that is played, with the first places; None if there is neither.
    """
    for state in (ContestState.DONE, ContestState.RUNNING):
        for each in newest:
            if each.state is state and each.round:
                return contest(session, each.id, limit=ROWS, keep=shared.boards.newest_part)
    return None


def _progress(session: Session, info: Season, totals: Row | None) -> Progress:
    """Return the matches as the ranking counted them, because counting takes a second; the rest is up to date."""
    if totals is None:
        return season_progress(session, info.id, whole=False)
    scheduled, held = season_waiting(session, info.id)
    return Progress(
        info.entries, scheduled, totals["matches"], totals["rated"], held, totals["abandoned"], totals["voids"]
    )


def shown(shared: Shared, session: Session, board: Leaderboard, chosen: Chosen, info: Season) -> Shown:
    """Return the requested page of the matching rows, by the name of their division, with pictures of intervals and
    trends. The intervals of a page share a scale. With a filter, the scale contains the ratings of all rows.
    """
    rows: Sequence[Row] = board.standings["rows"]
    hits = chosen.matching(rows)
    part = hits[(chosen.page - 1) * ROWS : chosen.page * ROWS]
    every = [row["elo"] for row in (rows if chosen.query else part)]
    ways = trends(session, info.id, [row["bot_id"] for row in part])
    times = board.standings["latency"].of(part)
    leads = board.standings["leads"]
    about = tally(board.config, (row["plackett_luce"] for row in part))
    names = {division.number: division.name for division in info.divisions}
    divisions: dict[str, list[Markup]] = {}
    for row, bar in zip(part, bars(part, every), strict=True):
        way = trend(ways.get(row["bot_id"], []))
        lead = leads.get(str(row["version_id"]))
        made = line(info.id, row, bar, way, times.get(row["version_id"]), lead, second=bool(about))
        divisions.setdefault(names[row["division"]], []).append(made)
    table = render(
        shared, "board.html", season=info, divisions=divisions, chosen=chosen, pages=-(-len(hits) // ROWS), tally=about
    )
    return Shown(Markup(table), len(hits))  # noqa: S704  a template's, which escapes


def _limits(info: Season) -> list[tuple[str, str]]:
    """Return the labels and values of the season's unusual settings for those who enter and upload, except those that
    the page states in words.
    """
    limits = []
    for name, term in TERMS.items():
        value, setting = getattr(info, name), term.setting
        if setting.group in (Group.ENTRY, Group.QUOTAS) and not setting.in_words and value != term.default:
            options = setting.options
            text = gettext(options[str(value).lower()]) if options else ", ".join(value) if term.kind is list else value
            limits.append((gettext(setting.label), str(text)))
    return limits


CYCLES = 3
"""The number of cycles drawn: those in which the weakest of the three wins is clearest."""

HEATS = 10


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    heat: int


@dataclass(frozen=True, slots=True)
class Beat:
    """One bot took more than half of the points from another."""

    winner: Row
    loser: Row
    text: str


@dataclass(frozen=True, slots=True)
class _SeatBar:
    """A seat's value in Elo, its 95 % interval, and their places in the picture (0 to 100)."""

    seat: int
    elo: float
    low: float
    high: float
    places: tuple[float, float, float]


@router.get("/seasons/{season_id}/statistics")
@everyones
def statistics(shared: Shared, season_id: Id) -> str:
    with shared.db.reading() as session:
        info = season_info(session, season_id)
        board = shared.boards.newest(session, season_id)
    standings = board.standings
    tables = [(effect["seats"], effect["tables"], _seat_bars(effect)) for effect in standings["seats"]]
    values = {"pairs": points(standings), "cycles": cycles(standings), "fit": standings["fit"], "tables": tables}
    return render(shared, "statistics.html", season=info, board=board, **values)


@router.get("/seasons/{season_id}/matrix")
def matrix(season_id: Id) -> RedirectResponse:
    """Redirect from the page's former address."""
    return RedirectResponse(f"/seasons/{season_id}/statistics", 308)


def points(standings: Row) -> list[tuple[Row, list[Cell | None]]]:
    """Return the counted bots, each with its points against the others; None if two did not meet."""
    pairs = standings["pairs"]
    if pairs is None or len(standings["rows"]) < 2:
        return []
    first = standings["rows"][: len(pairs["version_ids"])]
    return [
        (row, [_cell(took, of) for took, of in zip(won, played, strict=True)][: len(first)])
        for row, won, played in zip(first, pairs["points"], pairs["games"], strict=False)
    ]


def _cell(took: float, of: int) -> Cell | None:
    return Cell(f"{took:g}/{of}", round(HEATS * took / of)) if of else None


def cycles(standings: Row) -> list[tuple[Beat, Beat, Beat]]:
    """Return the clearest cycles among the first bots: each beats the next, and the last beats the first."""
    pairs = standings["pairs"]
    if pairs is None:
        return []
    rows, won, of = standings["rows"][: len(pairs["version_ids"])], pairs["points"], pairs["games"]
    candidates = []
    for three in combinations(range(len(rows)), 3):
        for a, b, c in (three, three[::-1]):
            edges = ((a, b), (b, c), (c, a))
            if all(of[i][j] and 2 * won[i][j] > of[i][j] for i, j in edges):
                clear = min((won[i][j] - of[i][j] / 2) / of[i][j] ** 0.5 for i, j in edges)
                beats = [Beat(rows[i], rows[j], f"{won[i][j]:g} : {won[j][i]:g}") for i, j in edges]
                candidates.append((clear, (beats[0], beats[1], beats[2])))
    candidates.sort(key=lambda cycle: -cycle[0])
    return [beats for _, beats in candidates[:CYCLES]]


def _seat_bars(effect: Row) -> list[_SeatBar]:
    """Return the seats of tables of one size on a common scale with zero in the middle."""
    errors = [NORMAL_95 * se for se in effect["se_elo"]]
    most: float = max([abs(elo) + error for elo, error in zip(effect["elo"], errors, strict=True)] + [10.0])

    def place(elo: float) -> float:
        return round(50 + 50 * elo / most, 1)

    return [
        _SeatBar(seat, elo, elo - error, elo + error, (place(elo - error), place(elo), place(elo + error)))
        for seat, (elo, error) in enumerate(zip(effect["elo"], errors, strict=True))
    ]
