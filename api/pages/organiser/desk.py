"""The organiser's desk: results, appeals, announcements, and sign-up. A season's own page there is in `season`. The
audit log records every decision made here.

Each form posts to its own address and is answered with its page. A table below lists the words that may follow a
match's address.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from deadheat.api import schemas as base
from deadheat.api.deps import Id, Shared
from deadheat.api.pages.forms import Complaint, Submitted, Visiting, checked, onward, posting, private, shows
from deadheat.api.pages.match import ended
from deadheat.api.routes import rulings
from deadheat.engine.language import N_, _, gettext
from deadheat.league.service.people.notices import announcements
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import set_newcomer_rule, welcome
from deadheat.league.service.rulings.appeals import waiting_appeals
from deadheat.league.service.rulings.rulings import decide_match, held_matches, leave_match, rejudge_match
from deadheat.league.service.seasons.seasons import seasons
from deadheat.league.service.views.matches import matches_by_id
from deadheat.league.service.views.voids import decisions, flagged_voids
from deadheat.league.states import IN_PLAY, NewcomerRule
from deadheat.league.words import Remedy

router = APIRouter(prefix="/desk")

SHOWN = 50
"""The most appeals and announcements on the desk, which states how many more there are."""

HELD = 20
"""The most held matches on the desk, the oldest ones. The desk states how many more there are."""

SEASONS = 200

MATCH_VERBS: Mapping[str, Callable[[Shared, Person, int, rulings.Reason], object]] = {
    "void": rulings.void_match,
    "restore": rulings.restore_match,
    "rejudge": rulings.rejudge_match,
}


class _MatchForm(rulings.Reason):
    match: base.RowId
    verb: str = Field(pattern=f"^({'|'.join(MATCH_VERBS)})$")


class _HeldForm(rulings.Reason):
    """The decision on a held match: play it again, leave it unplayed, or let a seat (from 0) lose it."""

    answer: str = Field(pattern=r"^(again|leave|[0-9])$")


class _NewcomerForm(BaseModel):
    rule: NewcomerRule
    code: str = Field(default="", max_length=64)


Numbered = Annotated[int, Query(ge=0, le=base.MAX_ID)]


@shows(router, "")
def _desk(
    shared: Shared,
    visit: Visiting,
    complaint: Complaint | None = None,
    after: Numbered = 0,
    match: Numbered = 0,
    **_given: Any,
) -> Response:
    """Show the whole desk, with the open appeals above `after`, and with `match` filled in in the form for rulings."""
    with shared.db.reading() as session:
        appeals, in_all = waiting_appeals(session, visit.person, after=after, limit=SHOWN + 1)
        values: dict[str, Any] = {
            "appeals": appeals[:SHOWN],
            "appeals_in_all": in_all,
            "later": appeals[SHOWN - 1].id if len(appeals) > SHOWN else None,
            "after": after,
            "match": match,
            "ended": ended,
            "most_seasons": SEASONS,
            "most": SHOWN,
            "remedies": [(value, gettext(words)) for value, words in REMEDIES],
            "newcomers": [(value, gettext(words)) for value, words in NEWCOMERS],
            "seasons": seasons(session, SEASONS),
            "announcements": announcements(session, limit=SHOWN),
            "welcome": welcome(session, visit.person),
            "held": held_matches(session, visit.person, HELD),
            "appealed": matches_by_id(session, {item.match_id for item in appeals[:SHOWN]}),
        }
        in_play = {season.id: season.name for season in values["seasons"] if season.state in IN_PLAY}
        values["flagged"] = [
            (season_id, in_play[season_id], item) for season_id, item in flagged_voids(session, visit.person, in_play)
        ]
        values["waits"] = decisions(session, visit.person, values["seasons"])
        values["held_in_all"] = values["waits"].held.count
    about = [("", _("the whole league")), *((season.id, season.name) for season in values["seasons"])]
    return private(shared, "desk.html", visit, complaint, about=about, **values)


@router.post("/sign-up")
@posting("sign-up", _desk)
def rule_newcomers(shared: Shared, posted: Submitted) -> Response:
    body = checked(_NewcomerForm, posted.fields)
    shared.change(set_newcomer_rule, posted.visit.person, body.rule, body.code.strip())
    return onward("/desk#sign-up")


@router.post("/announcements")
@posting("announce", _desk)
def announce(shared: Shared, posted: Submitted) -> Response:
    rulings.announce(shared, posted.visit.person, checked(rulings.AnnouncementRequest, posted.fields))
    return onward("/desk#announcements")


@router.post("/announcements/{announcement_id}/take-down")
@posting("announce", _desk)
def take_down(shared: Shared, posted: Submitted, announcement_id: Id) -> Response:
    rulings.take_down(shared, posted.visit.person, announcement_id)
    return onward("/desk#announcements")


@router.post("/matches")
@posting("match", _desk)
def rule_on_match(shared: Shared, posted: Submitted) -> Response:
    body = checked(_MatchForm, posted.fields)
    MATCH_VERBS[body.verb](shared, posted.visit.person, body.match, body)
    return onward(f"/matches/{body.match}")


@router.post("/held/{match_id}")
@posting("held-{match_id}", _desk)
def answer_held(shared: Shared, posted: Submitted, match_id: Id) -> Response:
    body = checked(_HeldForm, posted.fields)
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
@posting("appeal-{appeal_id}", lambda appeal_id, **given: _desk(after=appeal_id - 1, **given))  # it shows this appeal
def rule_on_appeal(shared: Shared, posted: Submitted, appeal_id: Id) -> Response:
    rulings.rule(shared, posted.visit.person, appeal_id, checked(rulings.Ruling, posted.fields))
    return onward("/desk#appeals")


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
