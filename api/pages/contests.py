"""Contests: a season's list and a person's own, each one's page, and the forms that begin and end them."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ConfigDict, Field
from sqlmodel import Session

from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages import forms
from deadheat.api.pages.organiser.season import season_page
from deadheat.api.pages.pictures.bracket import name_of, picture
from deadheat.api.pages.pictures.charts import courses
from deadheat.api.pages.render import ROWS, everyones, first_of, render
from deadheat.api.routes import contests as api
from deadheat.api.schemas import Query as Shape
from deadheat.api.schemas import RowId
from deadheat.engine.language import _, gettext
from deadheat.league.errors import BadSetting, NotFound
from deadheat.league.service.bots.bots import bot_info, bots_of, is_own
from deadheat.league.service.duels import requests
from deadheat.league.service.duels.panels import bot_named
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.views import contests as views
from deadheat.league.service.views.careers import parts_of
from deadheat.league.service.views.matches import matches
from deadheat.league.states import EVALUATIONS, ContestKind, ContestState, SeasonState
from deadheat.league.tables import Contest

router = APIRouter()

ROWS_OF_ONE = 50
"""The number of places on one page of standings, and of boards on one page of a round."""

ROWS_ON_A_WALL = 10
"""The most places, and boards, that are still read from the last row of a room."""

GAMES = 20
"""The form's default: enough to see a large difference, but little work for a machine."""


class Chosen(Shape):
    """The part of a contest to show. `round`: None for the newest; `before`: the match before which the list begins."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    round: RowId | None = None
    q: str = Field(default="", max_length=64)
    page: RowId = Field(default=1, le=100_000)
    boards: RowId = Field(default=1, le=100_000)
    before: RowId | None = None


# Lists --------------------------------------------------------------------------------------------------------------


@router.get("/seasons/{season_id}/contests")
@everyones
def of_season(
    shared: Shared, season_id: Id, kind: Annotated[ContestKind | None, Query()] = None, before: Number = None
) -> str:
    """List the season's evaluations and stages, or its contests of another kind, the newest first."""
    kinds = EVALUATIONS if kind is None else (kind,)
    with shared.db.reading() as session:
        season = season_info(session, season_id)
        rows = views.of_season(session, season_id, kinds, before=before, limit=ROWS + 1)
        newest = kind is None and before is None
        chart = courses(views.courses(session, season_id)) if newest else None
        timing = {"coming": views.coming(session, season_id), "late_since": views.overdue(session, season_id)}
    shown, older = first_of(rows, ROWS)
    return render(shared, "contests.html", season=season, kind=kind, contests=shown, older=older, chart=chart, **timing)


@router.get("/seasons/{season_id}/projector")
@everyones
def projector(shared: Shared, season_id: Id) -> str:
    """Show, for a room, what decides at the moment: the stage or evaluation that is played, else the ranking."""
    contest, boards = None, list[Any]()
    with shared.db.reading() as session:
        season, board = season_info(session, season_id), shared.boards.newest(session, season_id)
        rows = [row for row in board.standings["rows"] if row["rank"] is not None][:ROWS_ON_A_WALL]
        newest = next(iter(views.of_season(session, season_id, EVALUATIONS, limit=1)), None)
        playing = newest is not None and (newest.state is ContestState.RUNNING or season.state is SeasonState.FINALS)
        if newest is not None and not season.published_at and (playing or not rows):
            keep = shared.boards.newest_part
            contest = views.contest(session, newest.id, limit=ROWS_ON_A_WALL, keep=keep)
            boards, _drawn = views.pairings(session, newest.id, contest.round, limit=ROWS_ON_A_WALL)
    shown = picture(contest.bracket, contest.seats) if contest else None
    values = {"season": season, "contest": contest, "rows": rows, "boards": boards, "picture": shown}
    return render(shared, "projector.html", **values)


@router.get("/contests")
def own(shared: Shared, visit: forms.Visiting, before: Number = None) -> Response:
    """List the duels of the visitor's bots, the newest first."""
    rows = shared.read(views.contests, views.played_for(visit.person), before=before, limit=ROWS + 1)
    shown, older = first_of(rows, ROWS)
    return forms.private(shared, "contests.html", visit, None, season=None, contests=shown, older=older, chart=None)


@router.get("/challenges")
@router.get("/evaluations/{number}")
@router.get("/seasons/{season_id}/evaluations")
def moved(request: Request) -> Response:
    """Redirect from an address of earlier releases. Evaluations had the numbers of their contests, but the
    lists' older parts began at numbers of each kind's own: their query leads nowhere.
    """
    path = request.url.path.replace("/evaluations", "/contests").replace("/challenges", "/contests")
    query = request.url.query if request.url.path.startswith("/evaluations/") else ""
    return RedirectResponse(f"{path}?{query}" if query else path, 308)


@router.get("/challenges/{number}")
def moved_challenge(shared: Shared, visit: forms.Present, number: Id) -> Response:
    """Redirect from the earlier address of a challenge, if the visitor may see it."""
    with shared.db.reading() as session:
        row = views.must_see(session, None if visit is None else visit.person, number, ContestKind.REQUEST)
        return RedirectResponse(f"/contests/{row.id}", 308, {"Cache-Control": "no-store"})


# One contest --------------------------------------------------------------------------------------------------------


def _is_duel(shared: Shared, contest_id: Id) -> bool:
    """Say whether the contest is a duel, so that its page depends on the visitor. It must then never be kept
    for all, not even as strangers see it: a page that is kept is the answer to everybody (`api.services`).
    """
    with shared.db.reading() as session:
        row = session.get(Contest, contest_id)
        return row is not None and row.kind not in EVALUATIONS


def _values(shared: Shared, contest_id: int, chosen: Chosen, person: Person | None) -> dict[str, Any]:
    q, first, boards = chosen.q.strip(), (chosen.page - 1) * ROWS_OF_ONE, (chosen.boards - 1) * ROWS_OF_ONE
    with shared.db.reading() as session:
        tournament = views.must_see(session, person, contest_id).kind in EVALUATIONS
        versions = views.versions_named(session, contest_id, q) if q else None
        keep = shared.boards.newest_part
        info = views.contest(session, contest_id, versions, skip=first, limit=ROWS_OF_ONE, keep=keep)
        number = None if versions is not None and chosen.round is None else min(chosen.round or info.round, info.round)
        limit = ROWS_OF_ONE if tournament else 0
        pairings, drawn = views.pairings(session, contest_id, number, versions, skip=boards, limit=limit)
        limit = 0 if tournament else ROWS + 1
        played = matches(session, contest_id=contest_id, before=chosen.before, limit=limit)
        mine = person is not None and bool(info.versions) and is_own(session, person, info.versions[0].bot_id)
    shown, older = first_of(played, ROWS)
    many = info.players if versions is None else len(versions)
    return {
        "contest": info,
        "late_minutes": int((info.created_at - info.due_at).total_seconds() // 60) if info.due_at else 0,
        "q": q,
        "page": chosen.page,
        "pages": -(-many // ROWS_OF_ONE),
        "number": number,
        "pairings": pairings,
        "boards": chosen.boards,
        "board_pages": -(-drawn // ROWS_OF_ONE),
        "picture": picture(info.bracket, info.seats),
        "names": [name_of(tie, info.bracket[-1].round) for tie in info.bracket],
        "matches": shown,
        "older": older,
        "mine": mine,
    }


def _personal(
    shared: Shared,
    visit: forms.Visit | None,
    contest_id: int,
    chosen: Chosen = Chosen(),  # noqa: B008  it is frozen
    complaint: forms.Complaint | None = None,
    **_: Any,
) -> Response:
    values = _values(shared, contest_id, chosen, None if visit is None else visit.person)
    return forms.private(shared, "contest.html", visit, complaint, **values)


@everyones
def _shown_to_all(shared: Shared, contest_id: Id, chosen: Annotated[Chosen, Query()]) -> str:
    values = _values(shared, contest_id, chosen, None)
    return render(shared, "contest.html", visit=None, complaint=None, **values)


@router.get("/contests/{contest_id}")
async def contest(
    request: Request,
    shared: Shared,
    visit: forms.Present,
    personal: Annotated[bool, Depends(_is_duel)],
    contest_id: Id,
    chosen: Annotated[Chosen, Query()],
) -> Response:
    """Show a contest: its standings, a page of them at a time, the boards of the newest or the requested
    round, and its bracket; or a duel's results, its test and its matches. With `q`, show only bots whose own,
    author's or team's name matches, and their boards of all rounds.
    """
    if not personal:
        return await _shown_to_all(shared=shared, request=request, contest_id=contest_id, chosen=chosen)
    return await to_thread.run_sync(partial(_personal, shared, visit, contest_id, chosen))


@router.post("/contests/{contest_id}/cancel")
@forms.posting("contest", _personal)
def cancel(shared: Shared, posted: forms.Submitted, contest_id: Id) -> Response:
    api.cancel_contest(shared, posted.visit.person, contest_id)
    return forms.onward(f"/contests/{contest_id}")


@router.post("/contests/{contest_id}/resume")
@forms.posting("contest", _personal)
def resume(shared: Shared, posted: forms.Submitted, contest_id: Id) -> Response:
    api.resume_contest(shared, posted.visit.person, contest_id)
    return forms.onward(f"/contests/{contest_id}")


# Beginning one ------------------------------------------------------------------------------------------------------


@router.post("/desk/seasons/{season_id}/contests")
@forms.posting("evaluation", season_page)
def begin(shared: Shared, posted: forms.Submitted, season_id: Id) -> Response:
    """Begin an evaluation now. Its `matches` are `each` in the form, because a field with the name of a
    form's method would hide the method in a browser.
    """
    given = {"matches" if name == "each" else name: value for name, value in posted.fields.items()}
    begun = api.begin(shared, posted.visit.person, season_id, forms.checked(api.EvaluationRequest, given), Response())
    return forms.onward(f"/contests/{begun.id}")


@forms.shows(router, "/bots/{bot_id}/challenge")
def _form(
    shared: Shared,
    visit: forms.Visiting,
    bot_id: Id,
    season: Number = None,
    complaint: forms.Complaint | None = None,
    **_: Any,
) -> Response:
    """Show the form to ask for matches against a bot, in the newest season that allows it if none is given."""
    with shared.db.reading() as session:
        opponent = bot_info(session, bot_id)
        if season is None:
            season = next((part.season_id for part in parts_of(session, [bot_id])[bot_id] if part.challenged), None)
        if season is None:
            raise NotFound("season", 0, gettext("No season that this bot is in lets authors ask for matches now."))
        where = season_info(session, season)
        if opponent.game != where.game:
            raise NotFound.entry(bot_id)
        fitting = [bot for bot in bots_of(session, visit.person) if bot.game == opponent.game and bot.versions]
        ours = is_own(session, visit.person, bot_id)
    own = [(bot.id, f"{bot.name} (team {bot.team})" if bot.team else bot.name) for bot in fitting if not bot.retired_at]
    return forms.private(
        shared,
        "challenge-form.html",
        visit,
        complaint,
        opponent=opponent,
        season=where,
        challengers=own,
        ours=ours,
        games=min(GAMES, where.unrated_games),
        most=api.MOST_OPPONENTS,
    )


@router.post("/bots/{bot_id}/challenge")
@forms.posting("challenge", _form)
def ask(shared: Shared, posted: forms.Submitted, bot_id: Id, season: Annotated[RowId, Query()]) -> Response:
    given: dict[str, Any] = dict(posted.fields)
    bounds = {name: value for name in ("elo0", "elo1") if (value := given.pop(name, ""))}
    with shared.db.transaction() as session:
        given["opponent_ids"] = _bots(session, season, given.pop("opponent_ids", "").split())
        body = forms.checked(api.ChallengeRequest, given | {"season_id": str(season), "opponent_id": str(bot_id)})
        if bounds:
            body = body.model_copy(update={"test": forms.checked(api.SequentialTest, bounds)})
        made = requests.ask(session, posted.visit.person, season, **body.question())
    return forms.onward(f"/contests/{made.id}")


def _bots(session: Session, season_id: int, names: Sequence[str]) -> list[int]:
    """Return the numbers of the bots with these names, each AUTHOR/BOT or TEAM/BOT, of the season's game."""
    game = season_info(session, season_id).game
    bots = {name: bot_named(session, game, name) for name in names}
    if unknown := ", ".join(name for name, bot in bots.items() if bot is None):
        raise BadSetting("opponent_ids", _("there is no bot %(names)s in %(game)s", names=unknown, game=game))
    return [bot.id for bot in bots.values() if bot is not None]
