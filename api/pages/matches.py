"""All matches of a season or a bot, latest end first, page by page. Their own pages show only the newest."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages.render import ROWS, everyones, first_of, render
from deadheat.api.services import Services
from deadheat.engine.figures import STORED
from deadheat.engine.scenes import has_lead
from deadheat.league.records.matches import Match
from deadheat.league.records.seasons import Season
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.views.matches import matches
from deadheat.league.states import MatchState

router = APIRouter()

Chosen = Annotated[Literal["", "closest", "comebacks", "faults"], Query()]
"""Which of the newest matches are listed: all in order, the closest or biggest turn-arounds first, or with a fault."""

LOOKED_AT = 200
"""The number of newest matches from which these are chosen."""


@router.get("/seasons/{season_id}/matches")
@everyones
def of_season(shared: Shared, season_id: Id, before: Number = None, bot: Number = None, show: Chosen = "") -> str:
    """List the matches of a season, or those before a given one, of all bots or of one."""
    with shared.db.reading() as session:
        season = season_info(session, season_id)
        name = season.name if bot is None else f"{bot_info(session, bot).name}, {season.name}"
    turns = season.seats == 2 and has_lead(season.game)
    return _listed(shared, f"/seasons/{season_id}", name, before, turns, season=season, bot_id=bot, show=show)


@router.get("/bots/{bot_id}/matches")
@everyones
def of_bot(
    shared: Shared,
    bot_id: Id,
    before: Number = None,
    opponent: Number = None,
    lost: Annotated[bool, Query()] = False,
    show: Chosen = "",
) -> str:
    """List the matches of a bot, of all its versions and seasons: against everybody or one `opponent`, and all or only
    those in which the bot was not first.
    """
    with shared.db.reading() as session:
        bot = bot_info(session, bot_id)
        other = None if opponent is None else bot_info(session, opponent)
    against = None if other is None else (other.id, other.name)
    path, turns = f"/bots/{bot_id}", has_lead(bot.game)
    return _listed(shared, path, bot.name, before, turns, bot_id=bot_id, opponent=against, lost=lost, show=show)


def _listed(
    shared: Services,
    path: str,
    name: str,
    before: int | None,
    turns: bool,
    *,
    season: Season | None = None,
    bot_id: int | None = None,
    opponent: tuple[int, str] | None = None,
    lost: bool = False,
    show: str = "",
) -> str:
    found = shared.read(
        matches,
        season_id=None if season is None else season.id,
        bot_id=bot_id,
        opponent_id=None if opponent is None else opponent[0],
        lost=lost,
        state=MatchState.DONE,
        before=before,
        limit=LOOKED_AT if show else ROWS + 1,
    )
    if show == "faults":
        found = [match for match in found if any(seat.fault for seat in match.seats)]
    elif show == "closest":
        found = sorted((match for match in found if margin(match) < math.inf), key=margin)
    elif show == "comebacks":
        found = sorted((match for match in found if match.comeback), key=lambda match: -(match.comeback or 0))
    shown, older = first_of(found, ROWS)
    about = {"path": path, "of": name, "season": season, "bot_id": bot_id, "opponent": opponent, "lost": lost}
    about |= {"show": show, "turns": turns, "looked_at": LOOKED_AT, "newest": before is None}
    return render(shared, "matches.html", matches=shown, older=None if show else older, **about)


def margin(match: Match) -> float:
    """Return the distance of the first from the last, as a share of the most points; infinite without points."""
    points = [float(Fraction(seat.points)) for seat in match.seats if seat.points and STORED.fullmatch(seat.points)]
    if len(points) < len(match.seats):
        return math.inf
    return (max(points) - min(points)) / (max(map(abs, points)) or 1.0)
