"""Late answers in a season or the whole league: who, where, how often, and whose fault."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from sqlmodel import Session

from deadheat.api import schemas as base
from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages.pictures.timelines import Timeline, drawn
from deadheat.api.pages.render import ROWS, everyones, first_of, render
from deadheat.engine.language import N_, gettext
from deadheat.league.errors import NotFound
from deadheat.league.records.matches import Late, Over, Timeouts, Whose
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.seasons.seasons import names_going_on, season_info
from deadheat.league.service.views.matches import matches
from deadheat.league.service.views.timeouts import TIMES, of_programs, since, timeouts
from deadheat.league.states import Span

timeouts_router = APIRouter(prefix="/v1/timeouts", tags=["matches"])


@timeouts_router.get("", responses={404: {}})
def get_timeouts(
    shared: Shared, season: Annotated[base.RowId | None, Query()] = None, over: Annotated[Over, Query()] = Over.DAY
) -> Timeouts:
    """Count late answers by game and command, over time, by machine and by bot, in a season or in the whole league.
    `GET /v1/matches` with `late` lists their matches.
    """
    return found(shared, season, over)


def found(shared: Shared, season_id: int | None, over: Over) -> Timeouts:
    """Count late answers. Raises NotFound."""
    with shared.db.reading() as session:
        seasons = names_going_on(session) if season_id is None else [season_id]
        programs = of_programs(session, [*seasons])
        rows = [row for number in programs for row in shared.boards.newest(session, number).standings["rows"]]
        return timeouts(session, season_id, over, rows)


router = APIRouter()

HEATS = (0.0, 0.001, 0.01, 0.1)
"""The shares at which the steps of the heat map's scale begin, besides that of none."""

LEAST_PERCENT = 0.01
"""The least share at the top of the chart: a healthy league's is far below one percent."""

TITLES = {
    Span.MINUTE: N_("Late answers, last hour"),
    Span.HOUR: N_("Late answers, last 24 hours"),
    Span.DAY: N_("Late answers, last 60 days"),
}

Chosen = Annotated[Over, Query()]
Word = Annotated[str | None, Query(max_length=64)]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the heat map, the step of its scale, and the query of its matches."""

    late: Late
    heat: int
    query: str


def heat_map(counted: Timeouts) -> dict[tuple[str, str], list[Cell | None]]:
    """Return the cells by game and command, one for each time; None: no prompts."""
    rows: dict[tuple[str, str], list[Cell | None]] = {}
    for late in sorted(counted.commands, key=lambda late: (late.game, late.command)):
        row = rows.setdefault((late.game or "", late.command or ""), [None] * len(Over))
        heat = sum((late.share or 0.0) > begins for begins in HEATS)
        about = {"season": counted.season_id, "game": late.game, "command": late.command, "over": late.over}
        query = urlencode({name: value for name, value in about.items() if value})
        row[list(Over).index(late.over or Over.SEASON)] = Cell(late, heat, query) if late.prompts else None
    return rows


def course(counted: Timeouts) -> Timeline:
    """Return the chart of late answers over time, stacked by whose fault they were."""
    parts = [(late.timeouts, late.given_back or 0, late.void or 0) for late in counted.course]
    whole = [late.prompts or sum(three) or 1 for late, three in zip(counted.course, parts, strict=True)]
    layers = [[100 * part / of for part in three] for three, of in zip(parts, whole, strict=True)]
    points = [(late.at, sum(three)) for late, three in zip(counted.course, layers, strict=True) if late.at]
    span, step, count = TIMES[counted.over][3]
    title = gettext(TITLES[span])
    return drawn(title, "%", points, points[-1][0], step * (count - 1), step, layers=layers, least=LEAST_PERCENT)


def _page(shared: Shared, season_id: int | None, over: Over) -> str:
    counted = found(shared, season_id, over)
    with shared.db.reading() as session:
        season = None if season_id is None else season_info(session, season_id)
    values = {"season": season, "counted": counted, "map": heat_map(counted), "chart": course(counted)}
    return render(shared, "timeouts.html", **values)


@router.get("/timeouts")
@everyones
def of_league(shared: Shared, over: Chosen = Over.DAY) -> str:
    return _page(shared, None, over)


@router.get("/seasons/{season_id}/timeouts")
@everyones
def of_season(shared: Shared, season_id: Id, over: Chosen = Over.DAY) -> str:
    return _page(shared, season_id, over)


@router.get("/timeouts/matches")
@everyones
def late_matches(
    shared: Shared,
    season: Number = None,
    game: Word = None,
    command: Word = None,
    machine: Number = None,
    bot: Number = None,
    over: Chosen = Over.SEASON,
    late: Annotated[Whose, Query()] = Whose.BOT,
    before: Number = None,
) -> str:
    """List the matches with late answers, perhaps only of a season, a game, a command, a machine, a bot or a time."""
    about = {"season": season, "game": game, "command": command, "machine": machine, "bot": bot}
    about |= {"over": over, "late": late}
    with shared.db.reading() as session:
        rows = matches(
            session,
            season_id=season,
            bot_id=bot,
            late=late,
            game=game,
            command=command,
            machine=machine,
            finished_since=None if over is Over.SEASON else since(session, over),
            before=before,
            limit=ROWS + 1,
        )
        names = _names(session, season, bot)
    shown, older = first_of(rows, ROWS)
    query = urlencode({name: value for name, value in about.items() if value})
    values = {"about": about, "names": names, "matches": shown, "older": older, "newest": before is None}
    return render(shared, "late-matches.html", query=query, **values)


def _names(session: Session, season: int | None, bot: int | None) -> dict[str, str]:
    """Return the names of a season and a bot; "" for what is not asked for or does not exist."""
    names = {"season": "", "bot": ""}
    with suppress(NotFound):
        if bot is not None:
            info = bot_info(session, bot)
            names["bot"] = f"{info.author}/{info.name}"
    with suppress(NotFound):
        if season is not None:
            names["season"] = season_info(session, season).name
    return names
