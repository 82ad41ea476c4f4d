"""A bot, and its author: ratings, opponents, response times, failures, versions; for everyone, no secrets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlmodel import Session

from deadheat.api.deps import Id, Shared
from deadheat.api.pages import charts
from deadheat.api.pages.render import everyones, render
from deadheat.api.schemas.base import RowId
from deadheat.api.services import Services
from deadheat.engine.core import Fault
from deadheat.league.beside import tally
from deadheat.league.errors import NotFound
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.evaluations import views as evaluations
from deadheat.league.service.rankings.history import history
from deadheat.league.service.series.response_times import command_times
from deadheat.league.service.views import careers
from deadheat.league.service.views import matches as league_matches
from deadheat.league.service.views.careers import Part
from deadheat.league.service.views.waiting import waiting
from deadheat.league.states import MatchState, SeasonState

router = APIRouter(include_in_schema=False)

RECENT = 20
"""Matches shown."""


@router.get("/bots/{bot_id}")
@everyones
def bot(shared: Shared, bot_id: Id, season: Annotated[RowId | None, Query()] = None) -> str:
    """One bot, as it does in the season asked for, or its newest one with results."""
    with shared.db.reading() as session:
        info = bot_info(session, bot_id)
        parts = careers.parts_of(session, bot_id)
        part = _chosen(parts, season)
        versions = careers.public_versions(session, bot_id)
        matches = league_matches.matches(session, bot_id=bot_id, state=MatchState.DONE, limit=RECENT)
        there = {} if part is None else _in_season(shared, session, bot_id, part)
    return render(
        shared, "bot.html", bot=info, parts=parts, part=part, versions=versions, matches=matches, **(NOWHERE | there)
    )


NOWHERE: dict[str, Any] = {
    "row": None,
    "tally": "",
    "chart": None,
    "course": None,
    "opponents": [],
    "times": [],
    "failures": [],
    "causes": {},
    "recent_failures": [],
    "waits": None,
    "looked_at": careers.RECENT_MATCHES,
}
"""What the page shows of a bot that is in no season."""


def _chosen(parts: Sequence[Part], season_id: int | None) -> Part | None:
    if season_id is None:
        return next((part for part in parts if part.has_results), parts[0] if parts else None)
    for part in parts:
        if part.season_id == season_id:
            return part
    raise NotFound("season", season_id, f"This bot is not in a season number {season_id}.")


def _in_season(shared: Services, session: Session, bot_id: int, part: Part) -> dict[str, Any]:
    """Everything that the page shows of one season."""
    board = shared.boards.newest(session, part.season_id)
    standings = board.standings
    row = next((row for row in standings["rows"] if row["bot_id"] == bot_id), None)
    failures = careers.failures(session, part.season_id, bot_id)
    version_ids = [] if row is None else [row["version_id"]]
    return {
        "row": row,
        "tally": tally(board.config, [] if row is None else [row["plackett_luce"]]),
        "chart": charts.history(history(session, part.season_id, bot_id)),
        "course": charts.courses(evaluations.courses(session, part.season_id, bot_id=bot_id)),
        "opponents": careers.opponents(session, part.season_id, bot_id),
        "times": command_times(session, part.season_id, version_ids),
        "failures": failures,
        "causes": _by_cause(careers.failure_counts(session, part.season_id, bot_id)),
        "waits": None if part.state is SeasonState.CLOSED else waiting(session, part.season_id, bot_id),
        "recent_failures": [failure for failure in failures if failure.version == part.version],
    }


def _by_cause(counts: Mapping[tuple[int, Fault], int]) -> dict[str, Counter[int]]:
    """For each cause how often which version."""
    found: dict[str, Counter[int]] = {}
    for (number, fault), count in sorted(counts.items()):
        found.setdefault(fault.value, Counter())[number] += count
    return found
