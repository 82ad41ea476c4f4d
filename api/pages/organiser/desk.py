"""The organiser's desk: seasons, entries, results, appeals, announcements. What is decided here is in the audit log.

Each form posts to an address of its own and is answered with the page it stands on; the words that may follow a
season's or match's address are in the tables below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlmodel import Session
from starlette.exceptions import HTTPException

from api.deps import MAX_ID, Id, Shared
from api.pages.forms import Complaint, Submitted, Visit, Visiting, attempt, checked, onward, private
from api.pages.organiser import season_form
from api.schemas import base
from api.schemas import rulings as shapes
from api.schemas import seasons as schemas
from api.schemas.entries import EntryChange
from api.services import Services
from engine.games import GAMES
from league.service.course.open_matters import season_unfinished
from league.service.course.states import set_season_state
from league.service.people import announcements as league_announcements
from league.service.people.announcements import announcements
from league.service.people.newcomers import set_newcomer_rule, welcome
from league.service.people.person import Person
from league.service.rulings import appeals as league_appeals
from league.service.rulings.appeals import waiting_appeals
from league.service.rulings.held import decide_match, held_by_game, held_matches, leave_match
from league.service.rulings.rulings import rejudge_match, restore_match, void_match
from league.service.seasons import divisions as league_divisions
from league.service.seasons import entries as league_entries
from league.service.seasons import seasons as league_seasons
from league.service.seasons.absence import disqualify, reinstate, take_out
from league.service.seasons.admission import invite_to_season, invited_to_season, uninvite_from_season
from league.service.seasons.divisions import change_divisions
from league.service.seasons.entries import entries_named
from league.service.seasons.seasons import edit_season, season_info, season_progress, seasons
from league.service.views.voids import LEAST_VOIDS, season_voids
from league.states import ENTERABLE, IN_PLAY, SEASON_STEPS, FinalsFormat, NewcomerRule, SeasonState, allowed
from league.words import Remedy

router = APIRouter(prefix="/desk", include_in_schema=False)

SHOWN = 50
"""Appeals and announcements on the desk; what else there is, it says."""

HELD = 20
"""Held matches on the desk, the oldest; what else there is, it says."""

SEASONS = 200
"""On the desk, the newest."""

ENTRIES = 100
"""Of one page of a season's entries."""

EntryVerb = Callable[[Session, Person, int, int, str], None]
ENTRY_VERBS: Mapping[str, EntryVerb] = {
    "withdraw": take_out,
    "disqualify": disqualify,
    "reinstate": reinstate,
}

MatchVerb = Callable[[Session, Person, int, str], object]
MATCH_VERBS: Mapping[str, MatchVerb] = {
    "void": void_match,
    "restore": restore_match,
    "rejudge": rejudge_match,
}


class MatchForm(shapes.Reason):
    """A ruling on a match."""

    match: int = Field(ge=1, le=2**31 - 1)
    verb: str = Field(pattern=f"^({'|'.join(MATCH_VERBS)})$")


class HeldForm(shapes.Reason):
    """What becomes of a match at which we failed too often: it is played again, left, or lost by a seat (from 0)."""

    answer: str = Field(pattern=r"^(again|leave|[0-9])$")


class StateForm(BaseModel):
    """A season's next state; `force` closes it whatever is open."""

    state: SeasonState
    force: bool = False


class NameForm(BaseModel):
    """Somebody."""

    name: base.Name


class NewcomerForm(BaseModel):
    """Who may sign up."""

    rule: NewcomerRule
    code: str = Field(default="", max_length=64)


class BotForm(BaseModel):
    """A bot by its number."""

    bot: base.RowId


class Listed(base.Query):
    """Which of a season's entries are shown; the forms in their rows come back to the same."""

    model_config = ConfigDict(extra="ignore")

    q: Annotated[str, Query(max_length=64)] = ""
    page: Annotated[int, Query(ge=1, le=MAX_ID)] = 1

    @property
    def query(self) -> str:
        """The choice without the page, to be added to an address that has a query already."""
        return f"&{urlencode({'q': self.q})}" if self.q else ""

    @property
    def address(self) -> str:
        """All of it, to be added to an address that has none."""
        return f"?page={self.page}{self.query}" if self.q or self.page > 1 else ""


Listing = Annotated[Listed, Query()]


@router.get("")
def desk(shared: Shared, visit: Visiting, after: Annotated[int, Query(ge=0, le=MAX_ID)] = 0) -> Response:
    """Everything at once, of open appeals those above `after`."""
    return _desk(shared, visit, None, after)


@router.get("/seasons/new")
def new_season(shared: Shared, visit: Visiting, previous: Annotated[base.RowId | None, Query()] = None) -> Response:
    """The form of a new season; with `previous` of one that continues that season."""
    return _new_season(shared, visit, previous, None)


@router.post("/seasons")
def create_season(shared: Shared, posted: Submitted) -> Response:
    """A scheduled season."""

    def act() -> Response:
        body = checked(schemas.SeasonRequest, season_form.read(posted.fields))
        given = body.model_dump(exclude_unset=True, exclude={"divisions"})
        divisions = [(division.name, division.size) for division in body.divisions]
        with shared.db.transaction() as session:
            season = league_seasons.create_season(session, posted.visit.person, divisions=divisions, **given)
        return onward(f"/desk/seasons/{season.id}")

    previous = posted.fields.get("previous_id", "")
    previous_id = int(previous) if previous.isascii() and previous.isdigit() and len(previous) < 10 else None
    return attempt(
        "season", posted.fields, act, lambda complaint: _new_season(shared, posted.visit, previous_id, complaint)
    )


@router.post("/sign-up")
def rule_newcomers(shared: Shared, posted: Submitted) -> Response:
    """Who may sign up from now on."""

    def act() -> Response:
        body = checked(NewcomerForm, posted.fields)
        with shared.db.transaction() as session:
            set_newcomer_rule(session, posted.visit.person, body.rule, body.code.strip())
        return onward("/desk#sign-up")

    return _attempt(shared, posted, "sign-up", act)


@router.post("/announcements")
def announce(shared: Shared, posted: Submitted) -> Response:
    """Tell everyone."""

    def act() -> Response:
        body = checked(shapes.AnnouncementRequest, posted.fields)
        with shared.db.transaction() as session:
            league_announcements.announce(session, posted.visit.person, body.season, body.title, body.text)
        return onward("/desk#announcements")

    return _attempt(shared, posted, "announce", act)


@router.post("/announcements/{announcement_id}/take-down")
def take_down(shared: Shared, posted: Submitted, announcement_id: Id) -> Response:
    """Remove an announcement."""

    def act() -> Response:
        with shared.db.transaction() as session:
            league_announcements.take_down(session, posted.visit.person, announcement_id)
        return onward("/desk#announcements")

    return _attempt(shared, posted, "announce", act)


@router.post("/matches")
def rule_on_match(shared: Shared, posted: Submitted) -> Response:
    """Void, restore or rejudge a match."""

    def act() -> Response:
        body = checked(MatchForm, posted.fields)
        with shared.db.transaction() as session:
            MATCH_VERBS[body.verb](session, posted.visit.person, body.match, body.reason)
        return onward(f"/matches/{body.match}")

    return _attempt(shared, posted, "match", act)


@router.post("/held/{match_id}")
def answer_held(shared: Shared, posted: Submitted, match_id: Id) -> Response:
    """Play a held match again, leave it, or decide it against a seat."""

    def act() -> Response:
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

    return _attempt(shared, posted, f"held-{match_id}", act)


@router.post("/appeals/{appeal_id}")
def rule_on_appeal(shared: Shared, posted: Submitted, appeal_id: Id) -> Response:
    """Reject an appeal, or uphold it with a remedy."""

    def act() -> Response:
        body = checked(shapes.Ruling, posted.fields)
        with shared.db.transaction() as session:
            league_appeals.rule(
                session,
                posted.visit.person,
                appeal_id,
                uphold=body.uphold,
                ruling=body.ruling,
                remedy=body.remedy,
            )
        return onward("/desk#appeals")

    def again(complaint: Complaint) -> Response:
        return _desk(shared, posted.visit, complaint, appeal_id - 1)  # so that it is among those shown

    return attempt(f"appeal-{appeal_id}", posted.fields, act, again)


@router.get("/seasons/{season_id}")
def season(shared: Shared, visit: Visiting, season_id: Id, listed: Listing) -> Response:
    """One season: its state, settings, entries and list."""
    return _season(shared, visit, season_id, None, listed)


@router.post("/seasons/{season_id}/state")
def set_state(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    """Open, freeze, begin the finals, close."""

    def act() -> Response:
        body = checked(StateForm, posted.fields)
        with shared.db.transaction() as session:
            set_season_state(session, posted.visit.person, season_id, body.state, force=body.force)
        return onward(f"/desk/seasons/{season_id}")

    return _attempt_in(shared, posted, season_id, "state", act)


@router.post("/seasons/{season_id}/settings")
def edit(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    """Change settings: what is left empty is taken away, where nothing is a choice."""

    def act() -> Response:
        body = checked(schemas.SeasonChange, season_form.read(posted.fields))
        given = body.model_dump(exclude_unset=True, exclude={"state", "divisions", "force"})
        with shared.db.transaction() as session:
            if body.divisions is not None:
                wanted = [(division.name, division.size) for division in body.divisions]
                change_divisions(session, posted.visit.person, season_id, wanted)
            edit_season(session, posted.visit.person, season_id, **given)
        return onward(f"/desk/seasons/{season_id}")

    return _attempt_in(shared, posted, season_id, "settings", act)


@router.post("/seasons/{season_id}/invitations")
def invite(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    """Put an author on the season's list, or (with `remove`) take them off."""

    def act() -> Response:
        change = uninvite_from_season if "remove" in posted.fields else invite_to_season
        name = checked(NameForm, posted.fields).name
        with shared.db.transaction() as session:
            change(session, posted.visit.person, season_id, name)
        return onward(f"/desk/seasons/{season_id}#invitations")

    return _attempt_in(shared, posted, season_id, "invite", act)


@router.post("/seasons/{season_id}/entries")
def let_in(shared: Shared, posted: Submitted, season_id: Id) -> Response:
    """Enter anybody's bot; it is shown then."""

    def act() -> Response:
        bot_id = checked(BotForm, posted.fields).bot
        with shared.db.transaction() as session:
            entry = league_entries.let_in(session, posted.visit.person, season_id, bot_id)
        return onward(f"/desk/seasons/{season_id}{Listed(q=entry.bot).address}#entries")

    return _attempt_in(shared, posted, season_id, "enter", act)


@router.post("/seasons/{season_id}/entries/{bot_id}/division")
def assign_division(shared: Shared, posted: Submitted, season_id: Id, bot_id: Id, listed: Listing) -> Response:
    """Put an entry into another division."""

    def act() -> Response:
        number = checked(EntryChange, posted.fields).division
        with shared.db.transaction() as session:
            league_divisions.assign_division(session, posted.visit.person, season_id, bot_id, number)
        return onward(f"/desk/seasons/{season_id}{listed.address}#entries")

    return _attempt_in(shared, posted, season_id, f"entry-{bot_id}", act, listed)


@router.post("/seasons/{season_id}/entries/{bot_id}/{verb}")
def rule_on_entry(shared: Shared, posted: Submitted, season_id: Id, bot_id: Id, verb: str, listed: Listing) -> Response:
    """Withdraw, disqualify or reinstate."""
    if verb not in ENTRY_VERBS:
        raise HTTPException(404)

    def act() -> Response:
        reason = checked(shapes.Reason, posted.fields).reason
        with shared.db.transaction() as session:
            ENTRY_VERBS[verb](session, posted.visit.person, season_id, bot_id, reason)
        return onward(f"/desk/seasons/{season_id}{listed.address}#entries")

    return _attempt_in(shared, posted, season_id, f"entry-{bot_id}", act, listed)


def _attempt(shared: Services, posted: Submitted, form: str, act: Callable[[], Response]) -> Response:
    return attempt(form, posted.fields, act, lambda complaint: _desk(shared, posted.visit, complaint))


def _attempt_in(
    shared: Services,
    posted: Submitted,
    season_id: int,
    form: str,
    act: Callable[[], Response],
    listed: Listed | None = None,
) -> Response:
    def again(complaint: Complaint) -> Response:
        return _season(shared, posted.visit, season_id, complaint, listed or Listed())

    return attempt(form, posted.fields, act, again)


def _desk(shared: Services, visit: Visit, complaint: Complaint | None, after: int = 0) -> Response:
    with shared.db.reading() as session:
        appeals, in_all = waiting_appeals(session, visit.person, after=after, limit=SHOWN + 1)
        values: dict[str, Any] = {
            "seasons": seasons(session, SEASONS),
            "announcements": announcements(session, limit=SHOWN),
            "welcome": welcome(session, visit.person),
            "held": held_matches(session, visit.person, HELD),
            "held_in_all": sum(held_by_game(session).values()),
        }
        values["flagged"] = [
            (season.id, season.name, item)
            for season in values["seasons"]
            if season.state in IN_PLAY
            for item in season_voids(session, visit.person, season.id, LEAST_VOIDS)
            if item.flagged
        ]
    named = [(season.id, season.name) for season in values["seasons"]]
    return private(
        shared,
        "desk.html",
        visit,
        complaint,
        about=[("", "the whole league"), *named],
        remedies=REMEDIES,
        newcomers=NEWCOMERS,
        appeals=appeals[:SHOWN],
        appeals_in_all=in_all,
        later=appeals[SHOWN - 1].id if len(appeals) > SHOWN else None,
        after=after,
        most_seasons=SEASONS,
        most=SHOWN,
        **values,
    )


def _new_season(shared: Services, visit: Visit, previous_id: int | None, complaint: Complaint | None) -> Response:
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


def _season(shared: Services, visit: Visit, season_id: int, complaint: Complaint | None, listed: Listed) -> Response:
    visit.person.must_organise()
    skip = (listed.page - 1) * ENTRIES
    with shared.db.reading() as session:
        info = season_info(session, season_id)
        entries, found = entries_named(session, season_id, listed.q, skip=skip, limit=ENTRIES)
        values: dict[str, Any] = {
            "progress": season_progress(session, season_id),
            "unfinished": season_unfinished(session, season_id),
            "invited": invited_to_season(session, visit.person, season_id),
        }
    following = {
        state.value: step.verb
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
        movable=len(info.divisions) > 1 and info.state in ENTERABLE,
        **values,
    )


NEWCOMERS = [
    (NewcomerRule.OPEN.value, "everybody"),
    (NewcomerRule.CODE.value, "people with the code"),
    (NewcomerRule.CLOSED.value, "nobody"),
]

REMEDIES = [
    (Remedy.NONE.value, "leave the match"),
    (Remedy.VOID.value, "void it"),
    (Remedy.REJUDGE.value, "play it again"),
]
