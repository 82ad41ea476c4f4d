"""A bot and its opponents: ratings, response times, failures, versions. The pages are public and have no secrets."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlmodel import Session

from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages.board import met as line_of
from deadheat.api.pages.lists import Course, courses
from deadheat.api.pages.pictures import charts
from deadheat.api.pages.render import everyones, render
from deadheat.api.schemas import RowId
from deadheat.engine.figures import Bar, bars
from deadheat.engine.language import N_, gettext
from deadheat.league.errors import NotFound
from deadheat.league.records.rankings import tally
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.rankings.history import history
from deadheat.league.service.series.response_times import command_times
from deadheat.league.service.views import careers, contests
from deadheat.league.service.views import matches as league_matches
from deadheat.league.service.views.forecasts import waiting
from deadheat.league.states import MatchState, SeasonState
from deadheat.league.time_buckets import late_share

router = APIRouter()

RECENT_MATCHES = 10
Row = Mapping[str, Any]


@router.get("/bots/{bot_id}")
@everyones
def bot(shared: Shared, bot_id: Id, season: Number = None) -> str:
    """Show a bot in the requested season, or in the one with most of its matches; one that runs comes first."""
    with shared.db.reading() as session:
        info = bot_info(session, bot_id)
        parts = careers.parts_of(session, [bot_id])[bot_id]
        career = courses(shared, session, [info])[bot_id] if len(parts) > 1 else []
        part = _chosen(parts, season or max(career, key=_weight)[0].season_id if career else season)
        values = NOWHERE | ({} if part is None else _in_season(shared, session, bot_id, part))
        values["versions"] = careers.public_versions(session, bot_id)
        values["matches"] = league_matches.matches(session, bot_id=bot_id, state=MatchState.DONE, limit=RECENT_MATCHES)
    words = [gettext(words) for words, _ in WHAT_IFS]
    return render(shared, "bot.html", bot=info, parts=parts, part=part, career=career, what_if_words=words, **values)


@router.get("/bots/{bot_id}/opponents")
@everyones
def opponents(shared: Shared, bot_id: Id, season: Number = None, page: Annotated[RowId, Query()] = 1) -> str:
    """Show a bot's opponents in the requested season, or in its newest one with results."""
    with shared.db.reading() as session:
        info = bot_info(session, bot_id)
        part = _chosen(careers.parts_of(session, [bot_id])[bot_id], season)
        met = [] if part is None else careers.opponents(session, part.season_id, bot_id)
    often = sorted((other for other in met if other.matches >= MET_OFTEN), key=lambda other: other.share, reverse=True)
    best = [other for other in often[:EXTREMES] if other.share > 0.5]
    worst = [other for other in often[::-1][:EXTREMES] if other.share < 0.5]
    lines = [line_of(bot_id, other) for other in met[(page - 1) * OPPONENTS : page * OPPONENTS]]
    values = {"best": best, "worst": worst, "lines": lines, "page": page, "pages": -(-len(met) // OPPONENTS)}
    return render(shared, "opponents.html", bot=info, part=part, looked_at=careers.RECENT_MATCHES, **values)


OPPONENTS = 50

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
MET_OFTEN = 4
"""The fewest matches against an opponent for it to be among the best or worst."""

_FIGURES = ("near", "compared", "gates", "what_ifs", "row", "tally", "chart", "course", "times", "failures", "causes")
NOWHERE: dict[str, Any] = dict.fromkeys((*_FIGURES, "recent_failures", "waits"), ())
"""The page's figures for a bot without a season."""


def _weight(of: Course) -> tuple[bool, int, bool, int]:
    part, row, _ = of
    runs = part.state.goes_on and part.state is not SeasonState.SCHEDULED
    return runs, row["games"] if row is not None else 0, part.has_results, part.season_id


def _chosen(parts: Sequence[careers.Part], season_id: int | None) -> careers.Part | None:
    if season_id is None:
        return next((part for part in parts if part.has_results), parts[0] if parts else None)
    for part in parts:
        if part.season_id == season_id:
            return part
    raise NotFound("season", season_id, gettext("This bot is not in season %(number)s.") % {"number": season_id})


def _in_season(shared: Shared, session: Session, bot_id: int, part: careers.Part) -> dict[str, Any]:
    board = shared.boards.newest(session, part.season_id)
    standings = board.standings
    row, above, below = standings["rows"].around(bot_id)
    failures = careers.failures(session, part.season_id, bot_id)
    version_ids = [] if row is None else [row["version_id"]]
    times = command_times(session, part.season_id, version_ids)
    causes: dict[str, Counter[int]] = {}  # by kind of fault, how often each version committed it
    for (number, fault), count in sorted(careers.failure_counts(session, part.season_id, bot_id).items()):
        causes.setdefault(fault.value, Counter())[number] += count
    versions = [row] * (row is not None) + standings["unranked"].of([bot_id])
    version_times = standings["latency"].of(versions)
    versions.sort(key=lambda version: -version["version"])
    return {
        "near": near(row, above, below),
        "compared": [(version, version_times.get(version["version_id"])) for version in versions],
        "gates": contests.at_gate(session, part.season_id, bot_id, careers.MAX_VERSIONS, running=False),
        "what_ifs": [(time, [late_share(time.counts, part) for _, part in WHAT_IFS]) for time in times if time.counts],
        "row": row,
        "tally": tally(board.config, [] if row is None else [row["plackett_luce"]]),
        "chart": charts.history(history(session, part.season_id, bot_id)),
        "course": charts.courses(contests.courses(session, part.season_id, [bot_id])),
        "times": times,
        "failures": failures,
        "causes": causes,
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
    rows = [*over[::-1], own, *under]
    return list(zip(rows, bars(rows), strict=True)) if len(rows) > 1 else []
