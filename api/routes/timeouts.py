"""Late answers: how many, where, when, and whose fault they were."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from deadheat.api.deps import Shared
from deadheat.api.schemas import base
from deadheat.api.services import Services
from deadheat.league.records.matches import Over, Timeouts
from deadheat.league.service.seasons.seasons import names_going_on
from deadheat.league.service.views.timeouts import timeouts

router = APIRouter(prefix="/v1/timeouts", tags=["matches"])


@router.get("", responses={404: {}})
def get_timeouts(
    shared: Shared, season: Annotated[base.RowId | None, Query()] = None, over: Annotated[Over, Query()] = Over.DAY
) -> Timeouts:
    """Count late answers by game and command, over time, by machine and by bot, in a season or in the whole league.
    `GET /v1/matches` with `late` lists their matches.
    """
    return found(shared, season, over)


def found(shared: Services, season_id: int | None, over: Over) -> Timeouts:
    """Count late answers. Raises NotFound."""
    with shared.db.reading() as session:
        seasons = names_going_on(session) if season_id is None else [season_id]
        rows = [row for number in seasons for row in shared.boards.newest(session, number).standings["rows"]]
        return timeouts(session, season_id, over, rows)
