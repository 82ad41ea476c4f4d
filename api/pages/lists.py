"""Lists: games, bots, participants of a season, submissions of a game, bots of an author or a team with their results;
and the environment in which bots run.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from sqlmodel import Session

from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages.board import entered
from deadheat.api.pages.pictures import charts
from deadheat.api.pages.render import everyones, first_of, game_title, render
from deadheat.api.routes import environment as schemas
from deadheat.api.schemas import RowId
from deadheat.engine.games import GAMES
from deadheat.league.errors import NotFound
from deadheat.league.records.bots import Bot
from deadheat.league.service.bots.bots import bots_named
from deadheat.league.service.bots.bots import environment as newest_environment
from deadheat.league.service.people.teams import team_info
from deadheat.league.service.seasons.entries import entries_named
from deadheat.league.service.seasons.seasons import leading_season, season_info, seasons
from deadheat.league.service.views import careers, contests
from deadheat.league.service.views.overview import newest_versions

router = APIRouter()

ROWS = 100
Search = Annotated[str, Query(max_length=64)]
Page = Annotated[RowId, Query(le=100_000)]


@router.get("/games")
@everyones
def games(shared: Shared) -> str:
    with shared.db.reading() as session:
        leading = {name: leading_season(session, name) for name in GAMES}
        of_game = {
            name: seasons(session, 1, game=name) if number is None else [season_info(session, number)]
            for name, number in leading.items()
        }
        lines = [
            (GAMES[name], careers.game_counts(session, name), next(iter(found), None))
            for name, found in of_game.items()
        ]
    return render(shared, "games.html", games=lines)


@router.get("/bots")
@everyones
def bots(shared: Shared, q: Search = "", game: Annotated[str, Query(max_length=64)] = "", page: Page = 1) -> str:
    if game and game not in GAMES:
        raise NotFound("game", game)
    listed, count = shared.read(bots_named, q, game=game or None, skip=(page - 1) * ROWS, limit=ROWS)
    pages = -(-count // ROWS)
    return render(
        shared, "bots.html", bots=listed, count=count, q=q, game=game, games=tuple(GAMES), page=page, pages=pages
    )


@router.get("/games/{name}/submissions")
@everyones
def submissions(shared: Shared, name: str, before: Number = None) -> str:
    if name not in GAMES:
        raise NotFound("game", name)
    shown, older = first_of(shared.read(newest_versions, ROWS + 1, game=name, before=before), ROWS)
    about = {"game": name, "title": game_title(name), "newest": before is None}
    return render(shared, "submissions.html", versions=shown, older=older, **about)


@router.get("/seasons/{season_id}/participants")
@everyones
def participants(shared: Shared, season_id: Id, q: Search = "", page: Page = 1) -> str:
    with shared.db.reading() as session:
        season = season_info(session, season_id)
        entries, count = entries_named(session, season_id, q, skip=(page - 1) * ROWS, limit=ROWS)
        rows = shared.boards.newest(session, season_id).standings["rows"]
    places = {row["bot_id"]: row for row in rows.of({entry.bot_id for entry in entries}) if row["rank"] is not None}
    lines, pages = [entered(entry, places.get(entry.bot_id)) for entry in entries], -(-count // ROWS)
    return render(shared, "participants.html", season=season, lines=lines, count=count, q=q, page=page, pages=pages)


@router.get("/environment")
@everyones
def environment(shared: Shared) -> str:
    newest = shared.read(newest_environment)
    described = None if newest is None else schemas.Environment.of(newest, shared.settings)
    return render(shared, "environment.html", environment=described, image=shared.settings.image)


PICTURES = 4
"""The number of seasons for which the courses of an author's or a team's bots through the evaluations are drawn."""

MOST_WAYS = 10
Course = tuple[careers.Part, Mapping[str, Any] | None, int]
"""One of a bot's seasons, with its row (None: no place) and the number of bots with a place."""


@router.get("/authors/{name}")
@everyones
def author(shared: Shared, name: Annotated[str, Path(min_length=1, max_length=32)]) -> str:
    with shared.db.reading() as session:
        written, bots, teams = careers.author_bots(session, name)
        return _people(shared, session, bots, who=written, team=None, teams=teams)


@router.get("/teams/{team_id}")
@everyones
def team(shared: Shared, team_id: Id) -> str:
    with shared.db.reading() as session:
        info = team_info(session, team_id)
        return _people(shared, session, careers.team_bots(session, team_id), who=info.name, team=info, teams=[])


def _people(shared: Shared, session: Session, bots: Sequence[Bot], **about: Any) -> str:
    """Render the page, with pictures of the newest seasons in which these bots were in two evaluations."""
    by_bot = courses(shared, session, bots)
    in_season: dict[int, tuple[careers.Part, list[int]]] = {}
    for bot_id, parts in by_bot.items():
        for part, _, _ in parts:
            in_season.setdefault(part.season_id, (part, []))[1].append(bot_id)
    made: list[tuple[careers.Part, charts.Courses]] = []
    for season_id in sorted(in_season, reverse=True):
        part, bot_ids = in_season[season_id]
        picture = charts.courses(contests.courses(session, season_id, bot_ids[:MOST_WAYS]))
        if picture is not None:
            made.append((part, picture))
        if len(made) == PICTURES:
            break
    return render(shared, "people.html", bots=bots, courses=by_bot, pictures=made, **about)


def courses(shared: Shared, session: Session, bots: Sequence[Bot]) -> dict[int, list[Course]]:
    """Return the seasons of each bot, the newest first."""
    parts = careers.parts_of(session, [bot.id for bot in bots])
    seasons = {part.season_id for own in parts.values() for part in own if part.has_results}
    standings = {season_id: shared.boards.newest(session, season_id).standings["rows"] for season_id in seasons}
    ranked = {
        season_id: {row["bot_id"]: row for row in rows.of(parts) if row["rank"] is not None}
        for season_id, rows in standings.items()
    }
    counts = {season_id: rows.ranked for season_id, rows in standings.items()}

    def course(bot_id: int, part: careers.Part) -> Course:
        season_id = part.season_id
        return part, ranked.get(season_id, {}).get(bot_id), counts.get(season_id, 0)

    return {bot_id: [course(bot_id, part) for part in own] for bot_id, own in parts.items()}
