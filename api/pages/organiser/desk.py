"""The organiser's desk: seasons, entries, results, appeals, announcements. The audit log records every decision made
here.

Each form posts to an address of its own and is answered with its page; the tables below list the words that may follow
a season's or match's address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from deadheat.api.deps import Id, Shared
from deadheat.api.pages.forms import (
    Complaint,
    NameForm,
    Posted,
    Submitted,
    Visit,
    Visiting,
    checked,
    onward,
    posting,
    private,
)
from deadheat.api.pages.match import ended
from deadheat.api.pages.organiser import season_form
from deadheat.api.pages.organiser.done import STATE, done, to_season
from deadheat.api.pages.organiser.timetable import steps
from deadheat.api.routes import appeals as api_appeals
from deadheat.api.routes import rulings
from deadheat.api.routes.season import announcements as api_announcements
from deadheat.api.routes.season import seasons as api_seasons
from deadheat.api.routes.season.entries import change_entry
from deadheat.api.schemas import base
from deadheat.api.schemas import rulings as shapes
from deadheat.api.schemas import seasons as schemas
from deadheat.api.schemas.base import MAX_ID
from deadheat.api.schemas.entries import EntryChange
from deadheat.api.services import Services
from deadheat.engine.games import GAMES
from deadheat.engine.language import N_, _, gettext
from deadheat.league.database import now
from deadheat.league.service.course.open_matters import season_unfinished
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.evaluations.views import evaluations
from deadheat.league.service.people.announcements import announcements
from deadheat.league.service.people.newcomers import set_newcomer_rule, welcome
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings.appeals import waiting_appeals
from deadheat.league.service.rulings.held import decide_match, held_by_game, held_matches, leave_match
from deadheat.league.service.rulings.rulings import rejudge_match
from deadheat.league.service.seasons import entries as league_entries
from deadheat.league.service.seasons.admission import invited_to_season
from deadheat.league.service.seasons.declared import season_timetable
from deadheat.league.service.seasons.entries import entries_named
from deadheat.league.service.seasons.seasons import season_info, season_progress, seasons
from deadheat.league.service.views.decisions import decisions
from deadheat.league.service.views.forecasts import season_forecast
from deadheat.league.service.views.matches import matches_by_id
from deadheat.league.service.views.voids import flagged_voids
from deadheat.league.states import (
    ENTERABLE,
    IN_PLAY,
    ON_LADDER,
    SEASON_STEPS,
    FinalsFormat,
    NewcomerRule,
    SeasonState,
    allowed,
)
from deadheat.league.words import Remedy

router = APIRouter(prefix="/desk", include_in_schema=False)

SHOWN = 50
"""Appeals and announcements on the desk, which states how many more there are."""

HELD = 20
"""The oldest held matches on the desk, which states how many more there are."""

SEASONS = 200
"""How many of the newest seasons the desk shows."""

ENTRIES = 100
"""Entries on one page of a season's list."""

ENTRY_VERBS = {"withdraw": rulings.withdraw, "disqualify": rulings.disqualify, "reinstate": rulings.reinstate}
MATCH_VERBS: Mapping[str, Callable[[Services, Person, int, shapes.Reason], object]] = {
    "void": rulings.void_match,
    "restore": rulings.restore_match,
    "rejudge": rulings.rejudge_match,
}


class MatchForm(shapes.Reason):
    """The form for a ruling on a match."""

    match: base.RowId
    verb: str = Field(pattern=f"^({'|'.join(MATCH_VERBS)})$")


class HeldForm(shapes.Reason):
    """The decision on a held match: to play it again, to leave it unplayed, or that a seat (from 0) loses it."""

    answer: str = Field(pattern=r"^(again|leave|[0-9])$")


class StateForm(BaseModel):
    """A season's next state; `force` closes it whatever is open."""

    state: SeasonState
    force: bool = False


class NewcomerForm(BaseModel):
    """The form that says who may sign up."""

    rule: NewcomerRule
    code: str = Field(default="", max_length=64)


class BotForm(BaseModel):
    """The form that names a bot by its number."""

    bot: base.RowId


class Listed(base.Query):
    """The part of a season's entries that is shown; the forms in its rows return to it."""

    model_config = ConfigDict(extra="ignore")

    q: Annotated[str, Query(max_length=64)] = ""
    page: base.RowId = 1
    done: Annotated[str, Query(max_length=16)] = ""
    """What was just done, see `api.pages.organiser.done`."""
    bots: schemas.Bots | None = None
    """The number of bots that the forecast assumes; None: those that have entered."""

    @property
    def query(self) -> str:
        """The filter without the page, to be added to an address with a query."""
        return f"&{urlencode({'q': self.q})}" if self.q else ""

    @property
    def address(self) -> str:
        """The whole filter, to be added to an address without a query."""
        return f"?page={self.page}{self.query}" if self.q or self.page > 1 else ""


Listing = Annotated[Listed, Query()]
Numbered = Annotated[int, Query(ge=0, le=MAX_ID)]
FIRST = Listed()


def _desk(
    shared: Services, visit: Visit, complaint: Complaint | None = None, after: int = 0, match: int = 0, **_given: Any
) -> Response:
    with shared.db.reading() as session:
        appeals, in_all = waiting_appeals(session, visit.person, after=after, limit=SHOWN + 1)
        values: dict[str, Any] = {
            "seasons": seasons(session, SEASONS),
            "announcements": announcements(session, limit=SHOWN),
            "welcome": welcome(session, visit.person),
            "held": held_matches(session, visit.person, HELD),
            "held_in_all": sum(held_by_game(session).values()),
            "appealed": matches_by_id(session, {item.match_id for item in appeals[:SHOWN]}),
        }
        in_play = {season.id: season.name for season in values["seasons"] if season.state in IN_PLAY}
        values["flagged"] = [
            (season_id, in_play[season_id], item) for season_id, item in flagged_voids(session, visit.person, in_play)
        ]
        values["waits"] = decisions(session, visit.person, values["seasons"])
    named = [(season.id, season.name) for season in values["seasons"]]
    return private(
        shared,
        "desk.html",
        visit,
        complaint,
        about=[("", _("the whole league")), *named],
        remedies=[(value, gettext(words)) for value, words in REMEDIES],
        newcomers=[(value, gettext(words)) for value, words in NEWCOMERS],
        appeals=appeals[:SHOWN],
        appeals_in_all=in_all,
        later=appeals[SHOWN - 1].id if len(appeals) > SHOWN else None,
        after=after,
        match=match,
        ended=ended,
        most_seasons=SEASONS,
        most=SHOWN,
        **values,
    )


def season_page(
    shared: Services,
    visit: Visit,
    season_id: int,
    complaint: Complaint | None = None,
    listed: Listed = FIRST,
    **_given: Any,
) -> Response:
    """Render a season's page at the desk."""
    visit.person.must_organise()
    skip = (listed.page - 1) * ENTRIES
    with shared.db.reading() as session:
        info = season_info(session, season_id)
        entries, found = entries_named(session, season_id, listed.q, skip=skip, limit=ENTRIES)
        values: dict[str, Any] = {
            "progress": season_progress(session, season_id),
            "unfinished": season_unfinished(session, season_id),
            "invited": invited_to_season(session, visit.person, season_id),
            "steps": steps(season_timetable(session, season_id), None, now(session)),
            "evaluation": next(iter(evaluations(session, season_id, limit=1)), None),
            "forecast": None,
        }
        if info.state.goes_on:
            values["forecast"] = season_forecast(session, visit.person, season_id, listed.bots)
    following = {
        state.value: gettext(step.verb)
        for state, step in SEASON_STEPS.items()
        if allowed(info.state, state) and (state is not SeasonState.FINALS or info.finals is not FinalsFormat.NONE)
    }
    return private(
        shared,
        "desk-season.html",
        visit,
        complaint,
        season=info,
        following=following,
        groups=season_form.groups(info, info.state),
        divisions=season_form.divisions_text(info),
        entries=entries,
        found=found,
        pages=-(-found // ENTRIES),
        first=skip + 1,
        listed=listed,
        enterable=info.state in ENTERABLE,
        on_ladder=info.state in ON_LADDER,
        closed=not info.state.goes_on,
        done=done(listed.done, info.state),
        movable=len(info.divisions) > 1 and info.state in ENTERABLE,
        **values,
    )


@router.get("")
def desk(shared: Shared, visit: Visiting, after: Numbered = 0, match: Numbered = 0) -> Response:
    """Show the whole desk, with the open appeals above `after`, and `match` filled in where matches are ruled on."""
    return _desk(shared, visit, after=after, match=match)


@router.get("/seasons/new")
def new_season(shared: Shared, visit: Visiting, previous: Annotated[base.RowId | None, Query()] = None) -> Response:
    """Show the form of a new season, which continues the season `previous` if it is given."""
    return _new_season(shared, visit, previous)


def _appeal_again(complaint: Complaint, shared: Services, visit: Visit, appeal_id: int, **_given: Any) -> Response:
    return _desk(shared, visit, complaint, appeal_id - 1)  # so that the page shows this appeal


def _new_season_again(complaint: Complaint, shared: Services, visit: Visit, posted: Posted) -> Response:
    previous = posted.fields.get("previous_id", "")
    previous_id = int(previous) if previous.isascii() and previous.isdigit() and len(previous) < 10 else None
    return _new_season(shared, visit, previous_id, complaint)


@router.post("/seasons")
@posting("season", _new_season_again)
def create_season(shared: Shared, posted: Submitted) -> Response:
    """Create a scheduled season."""
    body = checked(schemas.SeasonRequest, season_form.read(posted.fields))
    season = api_seasons.create_season(shared, posted.visit.person, body, Response())
    return to_season(season.id, "created")


@router.post("/sign-up")
@posting("sign-up", _desk)
def rule_newcomers(shared: Shared, posted: Submitted) -> Response:
    """Change who may sign up."""
    body = checked(NewcomerForm, posted.fields)
    with shared.db.transaction() as session:
        set_newcomer_rule(session, posted.visit.person, body.rule, body.code.strip())
    return onward("/desk#sign-up")


@router.post("/announcements")
@posting("announce", _desk)
def announce(shared: Shared, posted: Submitted) -> Response:
    """Publish an announcement."""
    api_announcements.announce(shared, posted.visit.person, checked(shapes.AnnouncementRequest, posted.fields))
    return onward("/desk#announcements")


@router.post("/announcements/{announcement_id}/take-down")
@posting("announce", _desk)
def take_down(shared: Shared, posted: Submitted, announcement_id: Id) -> Response:
    """Remove an announcement."""
    api_announcements.take_down(shared, posted.visit.person, announcement_id)
    return onward("/desk#announcements")


@router.post("/matches")
@posting("match", _desk)
def rule_on_match(shared: Shared, posted: Submitted) -> Response:
    """Void, restore or rejudge a match."""
    body = checked(MatchForm, posted.fields)
    MATCH_VERBS[body.verb](shared, posted.visit.person, body.match, body)
    return onward(f"/matches/{body.match}")


@router.post("/held/{match_id}")
@posting("held-{match_id}", _desk)
def answer_held(shared: Shared, posted: Submitted, match_id: Id) -> Response:
    """Play a held match again, leave it, or decide it against a seat."""
    body = checked(HeldForm, posted.fields)
    asker = posted.visit.person
    with shared.db.transaction() as session:
        if body.answer == "again":
            rejudge_match(session, asker, match_id, body.reason)
        elif body.answer == "leave":
            leave_match(session, asker, match_id, body.reason)
        else:
            decide_match(session, asker, match_id, int(body.answer), body.reason)
    return onward("/desk#held")


@router.post("/appeals/{appeal_id}")
@posting("appeal-{appeal_id}", _appeal_again)
def rule_on_appeal(shared: Shared, posted: Submitted, appeal_id: Id) -> Response:
    """Reject an appeal, or uphold it with a remedy."""
    api_appeals.rule(shared, posted.visit.person, appeal_id, checked(shapes.Ruling, posted.fields))
    return onward("/desk#appeals")


@router.get("/seasons/{season_id}")
def season(shared: Shared, visit: Visiting, season_id: Id, listed: Listing) -> Response:
    """Show a season: its state, settings, entries and list."""
    return season_page(shared, visit, season_id, listed=listed)


@router.post("/seasons/{season_id}/state")
@posting("state", season_page)
def set_state(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    """Open or freeze a season, begin its finals, or close it."""
    body = checked(StateForm, posted.fields)
    with shared.db.transaction() as session:
        set_season_state(session, posted.visit.person, season_id, body.state, force=body.force)
    return to_season(season_id, STATE)


@router.post("/seasons/{season_id}/settings")
@posting("settings", season_page)
def edit(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    """Change settings. An empty field removes a setting that may be none."""
    given = season_form.read(posted.fields)
    settings = {name: value for name, value in given.items() if name not in ("state", "force")}
    api_seasons.change_season(shared, posted.visit.person, season_id, checked(schemas.SeasonChange, settings))
    return to_season(season_id, "saved")


@router.post("/seasons/{season_id}/invitations")
@posting("invite", season_page)
def invite(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    """Put an author on the season's list, or (with `remove`) take them off."""
    change = api_seasons.uninvite if "remove" in posted.fields else api_seasons.invite
    change(shared, posted.visit.person, season_id, checked(NameForm, posted.fields).name)
    return to_season(season_id, "uninvited" if "remove" in posted.fields else "invited")


@router.post("/seasons/{season_id}/entries")
@posting("enter", season_page)
def let_in(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    """Enter anybody's bot, and show it."""
    bot_id = checked(BotForm, posted.fields).bot
    with shared.db.transaction() as session:
        entry = league_entries.let_in(session, posted.visit.person, season_id, bot_id)
    return to_season(season_id, "entered", Listed(q=entry.bot).address)


@router.post("/seasons/{season_id}/entries/{bot_id}/division")
@posting("entry-{bot_id}", season_page)
def assign_division(shared: Shared, posted: Submitted, season_id: Id, bot_id: Id, listed: Listing) -> Response:
    """Move an entry to another division."""
    change_entry(shared, posted.visit.person, season_id, bot_id, checked(EntryChange, posted.fields))
    return to_season(season_id, "moved", listed.address)


@router.post("/seasons/{season_id}/entries/{bot_id}/{verb}")
@posting("entry-{bot_id}", season_page)
def rule_on_entry(shared: Shared, posted: Submitted, season_id: Id, bot_id: Id, verb: str, listed: Listing) -> Response:
    """Withdraw, disqualify or reinstate."""
    if verb not in ENTRY_VERBS:
        raise HTTPException(404)
    ENTRY_VERBS[verb](shared, posted.visit.person, season_id, bot_id, checked(shapes.Reason, posted.fields))
    return to_season(season_id, verb, listed.address)


def _new_season(
    shared: Services, visit: Visit, previous_id: int | None, complaint: Complaint | None = None
) -> Response:
    visit.person.must_organise()
    previous = None
    if previous_id is not None:
        with shared.db.reading() as session:
            previous = season_info(session, previous_id)
    return private(
        shared,
        "desk-new.html",
        visit,
        complaint,
        previous=previous,
        games=[(game, game) for game in sorted(GAMES)],
        groups=season_form.groups(previous),
    )


NEWCOMERS = [
    (NewcomerRule.OPEN.value, N_("everybody")),
    (NewcomerRule.CODE.value, N_("people with the code")),
    (NewcomerRule.CLOSED.value, N_("nobody")),
]

REMEDIES = [
    (Remedy.NONE.value, N_("leave the match")),
    (Remedy.VOID.value, N_("void it")),
    (Remedy.REJUDGE.value, N_("play it again")),
]
