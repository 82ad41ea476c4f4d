"""A bot and its opponents: ratings, response times, failures, versions. The pages are public and have no secrets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlmodel import Session

from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages.board import met as line_of
from deadheat.api.pages.people import courses
from deadheat.api.pages.pictures import charts
from deadheat.api.pages.render import everyones, render
from deadheat.api.schemas.base import RowId
from deadheat.api.services import Services
from deadheat.engine.core import Fault
from deadheat.engine.intervals import Bar, bars
from deadheat.engine.language import N_, gettext
from deadheat.league.errors import NotFound
from deadheat.league.records.rankings import tally
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.duels.views import at_gate
from deadheat.league.service.evaluations import views as evaluations
from deadheat.league.service.rankings.history import history
from deadheat.league.service.series.response_times import command_times
from deadheat.league.service.views import careers
from deadheat.league.service.views import matches as league_matches
from deadheat.league.service.views.careers import Opponent, Part
from deadheat.league.service.views.forecasts import waiting
from deadheat.league.states import MatchState
from deadheat.league.time_buckets import late_share

router = APIRouter()

RECENT = 10
"""The number of matches shown."""

Row = Mapping[str, Any]


@router.get("/bots/{bot_id}")
@everyones
def bot(shared: Shared, bot_id: Id, season: Number = None) -> str:
    """Show a bot in the requested season, or in the one in which it has the most matches."""
    with shared.db.reading() as session:
        info = bot_info(session, bot_id)
        parts = careers.parts_of(session, [bot_id])[bot_id]
        career = courses(shared, session, [info])[bot_id] if len(parts) > 1 else []
        most = max(((row["games"], one.season_id) for one, row, _ in career if row is not None), default=(0, None))
        part = _chosen(parts, season or most[1])
        versions = careers.public_versions(session, bot_id)
        matches = league_matches.matches(session, bot_id=bot_id, state=MatchState.DONE, limit=RECENT)
        there = {} if part is None else _in_season(shared, session, bot_id, part)
    return render(
        shared,
        "bot.html",
        bot=info,
        parts=parts,
        part=part,
        career=career,
        versions=versions,
        matches=matches,
        what_if_words=[gettext(words) for words, _ in WHAT_IFS],
        **(NOWHERE | there),
    )


@router.get("/bots/{bot_id}/opponents")
@everyones
def opponents(shared: Shared, bot_id: Id, season: Number = None, page: Annotated[RowId, Query()] = 1) -> str:
    """Show a bot's opponents in the requested season, or in its newest one with results."""
    with shared.db.reading() as session:
        info = bot_info(session, bot_id)
        part = _chosen(careers.parts_of(session, [bot_id])[bot_id], season)
        met = [] if part is None else careers.opponents(session, part.season_id, bot_id)
    best, worst = extremes(met)
    return render(
        shared,
        "opponents.html",
        bot=info,
        part=part,
        best=best,
        worst=worst,
        lines=[line_of(bot_id, other) for other in met[(page - 1) * OPPONENTS : page * OPPONENTS]],
        page=page,
        pages=-(-len(met) // OPPONENTS),
        looked_at=careers.RECENT_MATCHES,
    )


OPPONENTS = 50
"""The number of opponents on one page."""

WHAT_IFS = (
    (N_("now"), 1.0),
    (N_("at 1.5 times the load"), 2 / 3),
    (N_("with half the limit"), 1 / 2),
    (N_("with a quarter"), 1 / 4),
)
"""Smaller limits, as parts of the real one, for which the page counts late answers."""

NEAR = 4
"""The number of neighbours shown above and below, among those within reach."""

LOOKED_AT = 100
"""The number of rows above and below that are searched for neighbours."""

EXTREMES = 3
"""The number of best and of worst opponents shown."""

MET_OFTEN = 4
"""The fewest matches against an opponent for it to be among the best or worst."""

NOWHERE: dict[str, Any] = {
    "near": [],
    "compared": [],
    "gates": [],
    "what_ifs": [],
    "row": None,
    "tally": "",
    "chart": None,
    "course": None,
    "times": [],
    "failures": [],
    "causes": {},
    "recent_failures": [],
    "waits": None,
}
"""The page's figures for a bot without a season."""


def _chosen(parts: Sequence[Part], season_id: int | None) -> Part | None:
    if season_id is None:
        return next((part for part in parts if part.has_results), parts[0] if parts else None)
    for part in parts:
        if part.season_id == season_id:
            return part
    raise NotFound("season", season_id, gettext("This bot is not in season %(number)s.") % {"number": season_id})


def _in_season(shared: Services, session: Session, bot_id: int, part: Part) -> dict[str, Any]:
    """Return the page's section about one season."""
    board = shared.boards.newest(session, part.season_id)
    standings = board.standings
    row, above, below = standings["rows"].around(bot_id)
    failures = careers.failures(session, part.season_id, bot_id)
    version_ids = [] if row is None else [row["version_id"]]
    times = command_times(session, part.season_id, version_ids)
    return {
        "near": near(row, above, below),
        "compared": compared(standings, row, bot_id),
        "gates": at_gate(session, part.season_id, bot_id, careers.MAX_VERSIONS, running=False),
        "what_ifs": [(time, [late_share(time.counts, part) for _, part in WHAT_IFS]) for time in times if time.counts],
        "row": row,
        "tally": tally(board.config, [] if row is None else [row["plackett_luce"]]),
        "chart": charts.history(history(session, part.season_id, bot_id)),
        "course": charts.courses(evaluations.courses(session, part.season_id, [bot_id])),
        "times": times,
        "failures": failures,
        "causes": _by_cause(careers.failure_counts(session, part.season_id, bot_id)),
        "waits": waiting(session, part.season_id, bot_id) if part.state.goes_on else None,
        "recent_failures": [failure for failure in failures if failure.version == part.version],
    }


def near(own: Row | None, above: Iterable[Row], below: Iterable[Row]) -> list[tuple[Row, Bar]]:
    """Return the bot in this row with the neighbours whose intervals of places overlap its own."""
    if own is None or own["rank"] is None:
        return []

    def is_near(row: Row) -> bool:
        ranked = row["division"] == own["division"] and row["rank"] is not None
        return ranked and row["rank_low"] <= own["rank_high"] and row["rank_high"] >= own["rank_low"]

    over, under = ([*islice(filter(is_near, islice(way, LOOKED_AT)), NEAR)] for way in (above, below))
    found = [*over[::-1], own, *under]
    return list(zip(found, bars(found), strict=True)) if len(found) > 1 else []


def extremes(met: Sequence[Opponent]) -> tuple[list[Opponent], list[Opponent]]:
    """Return the opponents from whom the bot took the most points, and the fewest, among those met often enough."""
    often = sorted((one for one in met if one.matches >= MET_OFTEN), key=lambda one: one.share, reverse=True)
    best = [one for one in often[:EXTREMES] if one.share > 0.5]
    worst = [one for one in often[::-1][:EXTREMES] if one.share < 0.5]
    return best, worst


def compared(standings: Row, own: Row | None, bot_id: int) -> list[tuple[Row, Row | None]]:
    """Return the rows of the bot's versions with games, the newest first, each with its response times."""
    rows = [own] * (own is not None) + standings["unranked"].of([bot_id])
    times = standings["latency"].of(rows)
    return [(row, times.get(row["version_id"])) for row in sorted(rows, key=lambda row: -row["version"])]


def _by_cause(counts: Mapping[tuple[int, Fault], int]) -> dict[str, Counter[int]]:
    """Return, for each kind of fault, how often each version committed it."""
    found: dict[str, Counter[int]] = {}
    for (number, fault), count in sorted(counts.items()):
        found.setdefault(fault.value, Counter())[number] += count
    return found
