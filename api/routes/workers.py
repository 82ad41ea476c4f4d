"""The machines that play: for organisers."""

from __future__ import annotations

from fastapi import APIRouter

from deadheat.api.deps import Asker, Shared
from deadheat.engine.games.folder import problems
from deadheat.league.records.hosts import Workers
from deadheat.league.service.series.games import games_for
from deadheat.league.service.series.hosts import hosts_for

router = APIRouter(prefix="/v1/workers", tags=["operation"])


@router.get("", responses={401: {}, 403: {}})
def list_workers(shared: Shared, asker: Asker) -> Workers:
    """List the machines, whether each may judge, and if not, why; and the league's games."""
    with shared.db.reading() as session:
        found = hosts_for(session, asker)
        games = games_for(session, asker)
    return Workers(items=found, judge_unfit=shared.settings.judge_unfit, games=games, broken_games=problems())
