"""The home page: a match that plays by itself, the seasons, the games, and news."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter
from sqlmodel import Session

from deadheat.api.deps import Number, Shared
from deadheat.api.pages.render import everyones, first_of, render
from deadheat.api.services import Services
from deadheat.engine.games import GAMES
from deadheat.league.errors import BlobsAway
from deadheat.league.records.matches import Match
from deadheat.league.records.seasons import Season
from deadheat.league.service.people import notices as league_announcements
from deadheat.league.service.seasons import seasons as league_seasons
from deadheat.league.service.views import matches as league_matches
from deadheat.league.service.views import overview
from deadheat.league.service.views.overview import newest_versions, running_series
from deadheat.league.service.views.uncounted import stopped
from deadheat.league.states import MatchState, dated_steps

router = APIRouter()

SEASONS = 24
"""The number of seasons on one page."""

NEWEST = 6
"""The number of matches, running series and versions shown."""

TRIED = 5
"""The most matches whose transcripts are looked for in the store before none is shown."""


@dataclass(frozen=True, slots=True)
class Card:
    """A season on the home page. `coming`: the next step on its timetable, if it has one."""

    season: Season
    bots: int
    leader: overview.Leader | None
    coming: tuple[str, datetime] | None


@router.get("/")
@everyones
def home(shared: Shared, before: Number = None) -> str:
    """Show the newest seasons, or those before a given one."""
    with shared.db.reading() as session:
        seasons = league_seasons.seasons(session, limit=SEASONS + 1, before=before)
        announcements = league_announcements.announcements(session, limit=3)
        running, stop = running_series(session, NEWEST), stopped(session)
        versions = newest_versions(session, NEWEST)
        matches = league_matches.matches(session, state=MatchState.DONE, limit=NEWEST)
        shown, older = first_of(seasons, SEASONS)
        cards = _cards(session, shown)
        watched = None if before else _featured(shared, session)
    return render(
        shared,
        "home.html",
        games=[GAMES[name] for name in sorted(GAMES)],
        announcements=announcements,
        cards=[card for card in cards if card.season.state.goes_on],
        past=[card for card in cards if not card.season.state.goes_on],
        older=older,
        newest=before is None,
        running=running,
        stop=stop,
        versions=versions,
        matches=matches,
        featured=watched,
    )


def _cards(session: Session, seasons: Sequence[Season]) -> list[Card]:
    leaders = overview.leaders(session, [season.id for season in seasons])
    cards = []
    for season in seasons:
        coming = next(((name.removesuffix("_at"), at) for _, name, at in dated_steps(season, season.state)), None)
        cards.append(Card(season, season.entries, leaders.get(season.id), coming))
    return cards


def _featured(shared: Services, session: Session) -> Match | None:
    number = shared.featured.number(lambda: _chosen(shared, session))
    return None if number is None else league_matches.match_detail(session, number)


def _chosen(shared: Services, session: Session) -> int | None:
    """Return the first match worth watching whose transcript is public and stored."""
    for number in overview.worth_watching(session)[:TRIED]:
        transcript = league_matches.match_detail(session, number).transcript_sha256
        try:
            if transcript is not None and shared.blobs.has(transcript):
                return number
        except BlobsAway:
            return None
    return None
