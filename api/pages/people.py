"""An author and a team: their bots in all seasons, with results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path
from sqlmodel import Session

from deadheat.api.deps import Id, Shared
from deadheat.api.pages.pictures import charts
from deadheat.api.pages.render import everyones, render
from deadheat.api.services import Services
from deadheat.league.records.bots import Bot
from deadheat.league.service.evaluations import views as evaluations
from deadheat.league.service.people.teams import team_info
from deadheat.league.service.views import careers
from deadheat.league.service.views.careers import Part

router = APIRouter()

PICTURES = 4
"""The number of seasons for which the courses of an author's or a team's bots through the evaluations are drawn."""

MOST_WAYS = 10
"""The most bots in one of these pictures."""

Course = list[tuple[Part, Mapping[str, Any] | None, int]]
"""A bot's seasons, the newest first: each with its row (None: no place) and the number of bots with a place."""


@router.get("/authors/{name}")
@everyones
def author(shared: Shared, name: Annotated[str, Path(min_length=1, max_length=32)]) -> str:
    with shared.db.reading() as session:
        written, bots = careers.author_bots(session, name)
        teams = careers.teams_of_author(session, name)
        found = courses(shared, session, bots)
        pictures = evaluated(session, found)
    return render(
        shared, "people.html", who=written, team=None, teams=teams, bots=bots, courses=found, pictures=pictures
    )


@router.get("/teams/{team_id}")
@everyones
def team(shared: Shared, team_id: Id) -> str:
    with shared.db.reading() as session:
        info = team_info(session, team_id)
        bots = careers.team_bots(session, team_id)
        found = courses(shared, session, bots)
        pictures = evaluated(session, found)
    return render(
        shared, "people.html", who=info.name, team=info, teams=[], bots=bots, courses=found, pictures=pictures
    )


def evaluated(session: Session, found: Mapping[int, Course]) -> list[tuple[Part, charts.Courses]]:
    """Return the newest `PICTURES` seasons in which these bots were in two evaluations, each with their courses."""
    in_season: dict[int, tuple[Part, list[int]]] = {}
    for bot_id, parts in found.items():
        for part, _, _ in parts:
            in_season.setdefault(part.season_id, (part, []))[1].append(bot_id)
    made = []
    for season_id in sorted(in_season, reverse=True):
        part, bot_ids = in_season[season_id]
        picture = charts.courses(evaluations.courses(session, season_id, bot_ids[:MOST_WAYS]))
        if picture is not None:
            made.append((part, picture))
        if len(made) == PICTURES:
            break
    return made


def courses(shared: Services, session: Session, bots: Sequence[Bot]) -> dict[int, Course]:
    parts = careers.parts_of(session, [bot.id for bot in bots])
    seasons = {part.season_id for found in parts.values() for part in found if part.has_results}
    standings = {season_id: shared.boards.newest(session, season_id).standings["rows"] for season_id in seasons}
    ranked = {
        season_id: {row["bot_id"]: row for row in rows.of(parts) if row["rank"] is not None}
        for season_id, rows in standings.items()
    }
    counts = {season_id: rows.ranked for season_id, rows in standings.items()}

    def course(bot_id: int, part: careers.Part) -> tuple[careers.Part, Mapping[str, Any] | None, int]:
        season_id = part.season_id
        return part, ranked.get(season_id, {}).get(bot_id), counts.get(season_id, 0)

    return {bot_id: [course(bot_id, part) for part in found] for bot_id, found in parts.items()}
