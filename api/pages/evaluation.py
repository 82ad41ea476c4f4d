"""Evaluations of a season: their list, and each one's standings and pairings by round."""

from __future__ import annotations

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Query

from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages.pictures.bracket import name_of, picture
from deadheat.api.pages.pictures.charts import courses
from deadheat.api.pages.render import ROWS, everyones, first_of, render
from deadheat.api.schemas.base import RowId
from deadheat.league.service.evaluations import views
from deadheat.league.service.seasons.seasons import season_info

router = APIRouter()

ROWS_OF_ONE = 50
"""The number of places on one page of standings, and of boards on one page of a round."""

Page = Annotated[RowId, Query(le=100_000)]


@router.get("/seasons/{season_id}/evaluations")
@everyones
def of_season(shared: Shared, season_id: Id, before: Number = None) -> str:
    """List the season's evaluations, the newest first."""
    with shared.db.reading() as session:
        season = season_info(session, season_id)
        found = views.evaluations(session, season_id, before=before, limit=ROWS + 1)
        coming = views.coming(session, season_id)
        late_since = views.overdue(session, season_id)
        chart = courses(views.courses(session, season_id)) if before is None else None
    shown, older = first_of(found, ROWS, attrgetter("number"))
    return render(
        shared,
        "evaluations.html",
        season=season,
        evaluations=shown,
        coming=coming,
        late_since=late_since,
        older=older,
        chart=chart,
    )


@router.get("/evaluations/{evaluation_id}")
@everyones
def evaluation(
    shared: Shared,
    evaluation_id: Id,
    number: Annotated[RowId | None, Query(alias="round")] = None,
    q: Annotated[str, Query(max_length=64)] = "",
    page: Page = 1,
    boards: Page = 1,
) -> str:
    """Show a page of the standings, and of the boards of the newest or the requested round.

    With `q`, show only bots whose own, author's or team's name matches, and their boards of all rounds.
    """
    with shared.db.reading() as session:
        versions = views.versions_named(session, evaluation_id, q) if q.strip() else None
        first = (page - 1) * ROWS_OF_ONE
        keep = shared.boards.newest_part
        info = views.evaluation(session, evaluation_id, versions, skip=first, limit=ROWS_OF_ONE, keep=keep)
        shown = None if versions is not None and number is None else min(number or info.round, info.round)
        skip = (boards - 1) * ROWS_OF_ONE
        pairings, drawn = views.pairings(session, evaluation_id, shown, versions, skip=skip, limit=ROWS_OF_ONE)
    many = info.players if versions is None else len(versions)
    return render(
        shared,
        "evaluation.html",
        evaluation=info,
        late_minutes=int((info.created_at - info.due_at).total_seconds() // 60),
        q=q.strip(),
        page=page,
        pages=-(-many // ROWS_OF_ONE),
        number=shown,
        pairings=pairings,
        boards=boards,
        board_pages=-(-drawn // ROWS_OF_ONE),
        picture=picture(info.bracket, info.seats),
        ties=info.format.rules.figures(info.tie_breaks),
        names=[name_of(tie, info.bracket[-1].round) for tie in info.bracket],
    )
