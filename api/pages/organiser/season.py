"""A season at the desk: its page, with its settings, entries and list; and the questions about a new one."""

import re
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlmodel import Session
from starlette.exceptions import HTTPException

from deadheat.api import schemas as base
from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages.forms import (
    Complaint,
    NameForm,
    Submitted,
    Visit,
    Visiting,
    attempt,
    checked,
    posting,
    private,
    shows,
)
from deadheat.api.pages.organiser import season_form
from deadheat.api.pages.organiser.presets import Answers, continued_file, preset_file, weekend
from deadheat.api.pages.organiser.season_file import file_page
from deadheat.api.pages.organiser.season_form import STATE, done, steps, to_season
from deadheat.api.pages.render import game_title
from deadheat.api.routes import rulings
from deadheat.api.routes import seasons as api_seasons
from deadheat.api.routes.entries import EntryChange, change_entry
from deadheat.engine.games import GAMES
from deadheat.engine.language import _, gettext
from deadheat.league.database import now
from deadheat.league.errors import NameTaken, NotFound
from deadheat.league.season_file import PATHS
from deadheat.league.service.bots.bots import bots_named
from deadheat.league.service.course.states import set_season_state, unfinished
from deadheat.league.service.seasons import entries as league_entries
from deadheat.league.service.seasons.admission import invited_to_season
from deadheat.league.service.seasons.declared import season_as_file, season_timetable
from deadheat.league.service.seasons.entries import entries_named
from deadheat.league.service.seasons.seasons import season_info, season_progress
from deadheat.league.service.views.contests import of_season
from deadheat.league.service.views.forecasts import season_forecast
from deadheat.league.states import ENTERABLE, EVALUATIONS, ON_LADDER, SEASON_STEPS, FinalsFormat, SeasonState, allowed

router = APIRouter(prefix="/desk/seasons")

ENTRIES = 100
ENTRY_VERBS = {"withdraw": rulings.withdraw, "disqualify": rulings.disqualify, "reinstate": rulings.reinstate}


class _StateForm(BaseModel):
    """A season's next state. `force` closes it whatever is open."""

    state: SeasonState
    force: bool = False


class _BotForm(BaseModel):
    bot: Annotated[str, Field(max_length=80)]


class _Listed(base.Query):
    """The filter of a season's entries. The forms in its rows return to it."""

    model_config = ConfigDict(extra="ignore")

    q: Annotated[str, Query(max_length=64)] = ""
    page: base.RowId = 1
    done: Annotated[str, Query(max_length=16)] = ""
    """The word for what was just done (see `api.pages.organiser.season_form`)."""
    bots: api_seasons.Bots | None = None
    """The number of bots that the forecast assumes; None: those that have entered."""

    @property
    def query(self) -> str:
        """The filter without the page, to be added to an address with a query."""
        return f"&{urlencode({'q': self.q})}" if self.q else ""

    @property
    def address(self) -> str:
        """The whole filter, to be added to an address without a query."""
        return f"?page={self.page}{self.query}" if self.q or self.page > 1 else ""


Listing = Annotated[_Listed, Query()]
FIRST = _Listed()


def season_page(
    shared: Shared,
    visit: Visit,
    season_id: int,
    complaint: Complaint | None = None,
    listed: _Listed = FIRST,
    **_given: Any,
) -> Response:
    visit.person.must_organise()
    skip = (listed.page - 1) * ENTRIES
    with shared.db.reading() as session:
        info = season_info(session, season_id)
        entries, count = entries_named(session, season_id, listed.q, skip=skip, limit=ENTRIES)
        values: dict[str, Any] = {
            "groups": season_form.groups(info),
            "first": skip + 1,
            "enterable": info.state in ENTERABLE,
            "on_ladder": info.state in ON_LADDER,
            "closed": not info.state.goes_on,
            "done": done(listed.done, info.state),
            "movable": len(info.divisions) > 1 and info.state in ENTERABLE,
            "progress": season_progress(session, season_id, whole=False),
            "unfinished": unfinished(session, season_id),
            "invited": invited_to_season(session, visit.person, season_id),
            "steps": steps(season_timetable(session, season_id), None, now(session), info.state),
            "evaluation": next(iter(of_season(session, season_id, EVALUATIONS, limit=1)), None),
            "forecast": None,
        }
        if info.state.goes_on:
            values["forecast"] = season_forecast(session, visit.person, season_id, listed.bots)
    following = {
        state.value: gettext(step.verb)
        for state, step in SEASON_STEPS.items()
        if allowed(info.state, state) and (state is not SeasonState.FINALS or info.finals is not FinalsFormat.NONE)
    }
    divisions = [f"{each.name}, {each.size}" if each.size else each.name for each in info.divisions]
    values |= {"following": following, "divisions": "\n".join(divisions), "entries": entries, "found": count}
    pages = -(-count // ENTRIES)
    return private(shared, "desk-season.html", visit, complaint, season=info, listed=listed, pages=pages, **values)


@shows(router, "/new")
def _questions(
    shared: Shared, visit: Visiting, previous: Number = None, complaint: Complaint | None = None, **_given: Any
) -> Response:
    """Ask about a new season, which continues the season `previous`, if given."""
    visit.person.must_organise()
    with shared.db.reading() as session:
        continued = None if previous is None else season_info(session, previous)
        dates = weekend(now(session))
    games = [(game, game_title(game)) for game in sorted(GAMES)]
    return private(shared, "desk-new.html", visit, complaint, previous=continued, games=games, **dates)


@router.post("")
@posting("season", _questions)
def preview_season(shared: Shared, posted: Submitted, previous: Number = None) -> Response:
    """Show the preview of the file that follows from the answers, or else that file and what is wrong with it."""
    visit, answers = posted.visit, checked(Answers, posted.fields)
    if previous is None:
        text, bots = preset_file(answers), 20  # enough to show whether evaluations fit
    else:
        text = continued_file(answers, previous, shared.read(season_as_file, visit.person, previous))
        bots = max(2, shared.read(season_info, previous).entries)

    def preview() -> Response:
        body = api_seasons.SeasonFileRequest(document=text, preview=True, bots=bots)
        return file_page(shared, visit, None, None, text, api_seasons.declare(shared, visit.person, body, None))

    def mistaken(complaint: Complaint) -> Response:
        if PATHS["name"] in complaint.fields:
            raise NameTaken("season", answers.name)
        return file_page(shared, visit, None, complaint, text)

    return attempt("file", {}, preview, mistaken)


@router.get("/{season_id}")
def season(shared: Shared, visit: Visiting, season_id: Id, listed: Listing) -> Response:
    return season_page(shared, visit, season_id, listed=listed)


@router.post("/{season_id}/state")
@posting("state", season_page)
def set_state(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    body = checked(_StateForm, posted.fields)
    shared.change(set_season_state, posted.visit.person, season_id, body.state, force=body.force)
    return to_season(season_id, STATE)


@router.post("/{season_id}/settings")
@posting("settings", season_page)
def edit(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    """Change settings. An empty field removes an optional setting."""
    given = season_form.read(posted.fields)
    settings = {name: value for name, value in given.items() if name not in ("state", "force")}
    api_seasons.change_season(shared, posted.visit.person, season_id, checked(api_seasons.SeasonChange, settings))
    return to_season(season_id, "saved")


@router.post("/{season_id}/invitations")
@posting("invite", season_page)
def invite(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    """Put an author on the season's list, or (with `remove`) take them off it."""
    change = api_seasons.uninvite if "remove" in posted.fields else api_seasons.invite
    change(shared, posted.visit.person, season_id, checked(NameForm, posted.fields).name)
    return to_season(season_id, "uninvited" if "remove" in posted.fields else "invited")


@router.post("/{season_id}/entries")
@posting("enter", season_page)
def let_in(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    wanted = checked(_BotForm, posted.fields).bot
    with shared.db.transaction() as session:
        game = season_info(session, season_id).game
        bot_id = int(wanted) if re.fullmatch("[1-9][0-9]{0,8}", wanted) else _named(session, game, wanted)
        entry = league_entries.let_in(session, posted.visit.person, season_id, bot_id)
    return to_season(season_id, "entered", _Listed(q=entry.bot).address)


def _named(session: Session, game: str, wanted: str) -> int:
    """Return the only bot of a game with this name, which its author's may precede: AUTHOR/NAME. Raises NotFound."""
    author, _slash, name = wanted.lower().rpartition("/")
    listed, _count = bots_named(session, name, game=game)
    bots = [bot for bot in listed if bot.name.lower() == name and author in ("", bot.author.lower())]
    if len(bots) != 1:
        several = _("Several bots are called %(name)s. Put the author before it: AUTHOR/NAME.", name=wanted)
        raise NotFound("bot", wanted, several if bots else "")
    return bots[0].id


@router.post("/{season_id}/entries/{bot_id}/division")
@posting("entry-{bot_id}", season_page)
def assign_division(shared: Shared, posted: Submitted, season_id: Id, bot_id: Id, listed: Listing) -> Response:
    change_entry(shared, posted.visit.person, season_id, bot_id, checked(EntryChange, posted.fields))
    return to_season(season_id, "moved", listed.address)


@router.post("/{season_id}/entries/{bot_id}/{verb}")
@posting("entry-{bot_id}", season_page)
def rule_on_entry(shared: Shared, posted: Submitted, season_id: Id, bot_id: Id, verb: str, listed: Listing) -> Response:
    if verb not in ENTRY_VERBS:
        raise HTTPException(404)
    ENTRY_VERBS[verb](shared, posted.visit.person, season_id, bot_id, checked(rulings.Reason, posted.fields))
    return to_season(season_id, verb, listed.address)
