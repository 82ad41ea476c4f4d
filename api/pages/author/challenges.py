"""Unrated matches on request: the form beside a bot, the visitor's list, and each challenge's progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from sqlmodel import Session

from deadheat.api.deps import Id, Number, Shared
from deadheat.api.edge.caching import NOWHERE
from deadheat.api.pages.forms import Complaint, Present, Submitted, Visit, Visiting, checked, onward, posting
from deadheat.api.pages.forms import private as page_of_one
from deadheat.api.pages.render import ROWS, first_of, render
from deadheat.api.schemas.base import RowId
from deadheat.api.schemas.challenges import ChallengeRequest, SequentialTest
from deadheat.api.services import Services
from deadheat.engine.language import gettext
from deadheat.league.errors import NotFound
from deadheat.league.ratings import Rating, RatingConfig, rate
from deadheat.league.records.entries import AskedChallenge
from deadheat.league.service.bots.bots import bot_info, bots_of, is_own
from deadheat.league.service.duels import requests, views
from deadheat.league.service.duels.panels import log_of_scores
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.views.careers import parts_of
from deadheat.league.service.views.matches import matches

router = APIRouter()

GAMES = 20
"""The form's default: enough to see a large difference, but little work for a machine."""


@dataclass(frozen=True, slots=True)
class Side:
    """A row of a challenge's table. `rating` is None before the first game."""

    bot_id: int
    name: str
    rating: Rating | None
    won: int
    drawn: int
    lost: int
    faults: int


@router.get("/challenges")
def challenges(shared: Shared, visit: Visiting, before: Number = None) -> Response:
    """List the visitor's challenges, the newest first."""
    with shared.db.reading() as session:
        found = views.asked(session, visit.person, before=before, limit=ROWS + 1)
    shown, older = first_of(found, ROWS)
    return page_of_one(shared, "challenges.html", visit, None, challenges=shown, older=older)


def _form(
    shared: Services, visit: Visit, bot_id: int, season: int | None, complaint: Complaint | None = None, **_: Any
) -> Response:
    with shared.db.reading() as session:
        opponent = bot_info(session, bot_id)
        if season is None:
            season = next((part.season_id for part in parts_of(session, [bot_id])[bot_id] if part.challenged), None)
        if season is None:
            raise NotFound("season", 0, gettext("No season that this bot is in lets authors ask for matches now."))
        where = season_info(session, season)
        if opponent.game != where.game:
            raise NotFound.entry(bot_id)
        own = _challengers(session, visit, opponent.game)
        ours = is_own(session, visit.person, bot_id)
    return page_of_one(
        shared,
        "challenge-form.html",
        visit,
        complaint,
        opponent=opponent,
        season=where,
        challengers=own,
        ours=ours,
        games=min(GAMES, where.unrated_games),
    )


@router.get("/bots/{bot_id}/challenge")
def form(shared: Shared, visit: Visiting, bot_id: Id, season: Number = None) -> Response:
    """Show the form to ask for matches against a bot, in the newest season that allows it if none is given."""
    return _form(shared, visit, bot_id, season)


@router.post("/bots/{bot_id}/challenge")
@posting("challenge", _form)
def ask(shared: Shared, posted: Submitted, bot_id: Id, season: Annotated[RowId, Query()]) -> Response:
    """Ask for unrated matches."""
    given = dict(posted.fields)
    bounds = {name: given.pop(name) for name in ("elo0", "elo1") if given.get(name, "") != ""}
    given = {name: value for name, value in given.items() if name not in ("elo0", "elo1")}
    body = checked(ChallengeRequest, given | {"season_id": str(season), "opponent_id": str(bot_id)})
    if bounds:
        body = body.model_copy(update={"test": checked(SequentialTest, bounds)})
    with shared.db.transaction() as session:
        made = requests.ask(session, posted.visit.person, season, **body.question())
    return onward(f"/challenges/{made.id}")


@router.get("/challenges/{challenge_id}")
def challenge(shared: Shared, visit: Present, challenge_id: Id, before: Number = None) -> Response:
    """Show a challenge's progress, with its matches."""
    with shared.db.reading() as session:
        found = views.asked_challenge(session, None if visit is None else visit.person, challenge_id)
        played = matches(session, challenge_id=challenge_id, before=before, limit=ROWS + 1)
        faults = views.faults_of(session, challenge_id)
        mine = visit is not None and is_own(session, visit.person, found.bot_id)
    shown, older = first_of(played, ROWS)
    content = render(
        shared,
        "challenge.html",
        visit=visit,
        complaint=None,
        challenge=found,
        sides=_sides(found, faults),
        matches=shown,
        older=older,
        mine=mine,
    )
    return Response(content, headers={"Cache-Control": NOWHERE}, media_type="text/html")


@router.post("/challenges/{challenge_id}/stop")
def stop(shared: Shared, posted: Submitted, challenge_id: Id) -> Response:
    """Stop one of the visitor's challenges."""
    with shared.db.transaction() as session:
        requests.stop(session, posted.visit.person, challenge_id)
    return onward(f"/challenges/{challenge_id}")


def _challengers(session: Session, visit: Visit, game: str) -> Sequence[tuple[int, str]]:
    """Return the visitor's bots in that game that may play, in the form's order."""
    found = [bot for bot in bots_of(session, visit.person) if bot.game == game and bot.versions and not bot.retired_at]
    return [(bot.id, f"{bot.name} (team {bot.team})" if bot.team else bot.name) for bot in found]


def _sides(found: AskedChallenge, faults: Mapping[int, int]) -> list[Side]:
    """Return both versions, rated only by the challenge's games."""
    won, drawn, lost = found.wins, found.draws, found.losses
    own, other = found.version_id, found.opponent_version_id
    ratings: dict[str, Rating] = {}
    if won + drawn + lost:
        table = rate(log_of_scores([(own, other, (won, drawn, lost))]), RatingConfig())
        ratings = {entry.player: entry for entry in table.entries}
    failed = [faults.get(version_id, 0) for version_id in (own, other)]
    return [
        Side(found.bot_id, found.sides[0], ratings.get(str(own)), won, drawn, lost, failed[0]),
        Side(found.opponent_id, found.sides[1], ratings.get(str(other)), lost, drawn, won, failed[1]),
    ]
