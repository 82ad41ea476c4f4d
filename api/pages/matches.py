"""All matches of a season or a bot, latest end first, page by page. Their own pages show only the newest."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages.render import ROWS, everyones, first_of, render
from deadheat.api.services import Services
from deadheat.league.records.seasons import Season
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.views.matches import matches
from deadheat.league.states import MatchState

router = APIRouter()


@router.get("/seasons/{season_id}/matches")
@everyones
def of_season(shared: Shared, season_id: Id, before: Number = None) -> str:
    """List the matches of a season, or those before a given one."""
    with shared.db.reading() as session:
        season = season_info(session, season_id)
    return _listed(shared, f"/seasons/{season_id}", season.name, before, season=season)


@router.get("/bots/{bot_id}/matches")
@everyones
def of_bot(
    shared: Shared, bot_id: Id, before: Number = None, opponent: Number = None, lost: Annotated[bool, Query()] = False
) -> str:
    """List the matches of a bot, of all its versions and seasons: against everybody or one `opponent`, and all or only
    those in which the bot was not first.
    """
    with shared.db.reading() as session:
        bot = bot_info(session, bot_id)
        other = None if opponent is None else bot_info(session, opponent)
    against = None if other is None else (other.id, other.name)
    return _listed(shared, f"/bots/{bot_id}", bot.name, before, bot_id=bot_id, opponent=against, lost=lost)


def _listed(
    shared: Services,
    path: str,
    name: str,
    before: int | None,
    *,
    season: Season | None = None,
    bot_id: int | None = None,
    opponent: tuple[int, str] | None = None,
    lost: bool = False,
) -> str:
    with shared.db.reading() as session:
        found = matches(
            session,
            season_id=None if season is None else season.id,
            bot_id=bot_id,
            opponent_id=None if opponent is None else opponent[0],
            lost=lost,
            state=MatchState.DONE,
            before=before,
            limit=ROWS + 1,
        )
    shown, older = first_of(found, ROWS)
    return render(
        shared,
        "matches.html",
        path=path,
        of=name,
        season=season,
        bot_id=bot_id,
        opponent=opponent,
        lost=lost,
        matches=shown,
        newest=before is None,
        older=older,
    )
