"""What organisers decide: rulings on results and entries, appeals, announcements; and the audit log of it."""

from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import Field, StringConstraints, model_validator

from deadheat.api import schemas as base
from deadheat.api.deps import REFUSED, Asker, Id, Number, Shared
from deadheat.api.routes.matches import HeldMatches
from deadheat.league.records.rulings import Announcement, Appeal, AuditRecord, Rejudged, RuledOn, VersionVoids
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.people import notices as league_announcements
from deadheat.league.service.rulings import appeals as league_appeals
from deadheat.league.service.rulings import rulings
from deadheat.league.service.seasons import absence
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.views import voids
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import AppealState
from deadheat.league.words import Remedy

_SAYS_SOMETHING = r"\S"
"""The meaning of `min_length` after stripping, in a form that a schema can express."""

Sentence = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, pattern=_SAYS_SOMETHING, max_length=1000)
]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, pattern=_SAYS_SOMETHING, max_length=4000)]


class Reason(base.Input):
    """The reason, public in the audit log."""

    reason: Sentence = Field(examples=["The referee's host ran out of memory."])


class Decision(Reason):
    """The seat that loses a held match."""

    seat: int = Field(ge=0, description="The loser's seat, from 0.")


class SeasonVoids(base.Items[VersionVoids]):
    """Flagged versions of a season, the least likely first."""


class AnnouncementRequest(base.Input):
    """A new announcement: about a season, or without `season` about the whole league."""

    season: base.RowId | None = None
    title: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, pattern=_SAYS_SOMETHING, max_length=120)
    ]
    text: Text


class AppealRequest(base.Input):
    """An appeal: what is wrong with the match, in the author's words."""

    text: Text = Field(examples=["My bot answered SCORE within 20 ms in all other matches."])


class Ruling(base.Input):
    """An organiser's decision; `remedy` only if the appeal is upheld."""

    uphold: bool
    ruling: Sentence = Field(description="The reason, public in the audit log.")
    remedy: Remedy = Remedy.NONE

    @model_validator(mode="after")
    def _nothing_to_mend(self) -> Self:
        if not self.uphold and self.remedy is not Remedy.NONE:
            raise ValueError("a rejected appeal has no remedy")
        return self


router = APIRouter(prefix="/v1", tags=["rulings"])


@router.post("/matches/{match_id}/void", responses=REFUSED)
def void_match(shared: Shared, asker: Asker, match_id: Id, body: Reason) -> RuledOn:
    """Take a finished match out of the log of results and update the ranking. Organisers only."""
    changed = shared.change(rulings.void_match, asker, match_id, body.reason)
    return RuledOn(match_id=match_id, changed=changed)


@router.post("/matches/{match_id}/restore", responses=REFUSED)
def restore_match(shared: Shared, asker: Asker, match_id: Id, body: Reason) -> RuledOn:
    """Restore a voided match; the ranking is then exactly as it was before. Organisers only."""
    changed = shared.change(rulings.restore_match, asker, match_id, body.reason)
    return RuledOn(match_id=match_id, changed=changed)


@router.post("/matches/{match_id}/rejudge", status_code=201, responses=REFUSED)
def rejudge_match(shared: Shared, asker: Asker, match_id: Id, body: Reason) -> Rejudged:
    """Void a finished match, or take a held one, and replay it with the same versions and seats but different dice.
    Organisers only.
    """
    return Rejudged(match_id=shared.change(rulings.rejudge_match, asker, match_id, body.reason))


@router.get("/held-matches", responses={401: {}, 403: {}})
def held_matches(shared: Shared, asker: Asker) -> HeldMatches:
    """List matches that the service failed to play and an organiser must decide, the oldest first. Organisers only."""
    return HeldMatches(items=shared.read(rulings.held_matches, asker, base.PAGE_LIMIT))


@router.post("/matches/{match_id}/decide", status_code=204, responses={**REFUSED, 422: {}})
def decide_match(shared: Shared, asker: Asker, match_id: Id, body: Decision) -> None:
    """Decide that a seat loses a held match, as if by forfeit. Organisers only."""
    shared.change(rulings.decide_match, asker, match_id, body.seat, body.reason)


@router.post("/matches/{match_id}/leave", status_code=204, responses=REFUSED)
def leave_match(shared: Shared, asker: Asker, match_id: Id, body: Reason) -> None:
    """Leave a held match unplayed. Organisers only."""
    shared.change(rulings.leave_match, asker, match_id, body.reason)


@router.get("/seasons/{season_id}/voids", responses={401: {}, 403: {}, 404: {}})
def season_voids(shared: Shared, asker: Asker, season_id: Id) -> SeasonVoids:
    """List versions with more void attempts than others on the same machines. Organisers only."""
    with shared.db.reading() as session:
        season_info(session, season_id)
        return SeasonVoids(items=voids.season_voids(session, asker, season_id))


@router.post("/seasons/{season_id}/entries/{bot_id}/disqualify", status_code=204, responses=REFUSED)
def disqualify(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: Reason) -> None:
    """Disqualify a bot: no new matches, and none of its matches counts until it is reinstated. Organisers only."""
    shared.change(absence.disqualify, asker, season_id, bot_id, body.reason)


@router.post("/seasons/{season_id}/entries/{bot_id}/reinstate", status_code=204, responses=REFUSED)
def reinstate(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: Reason) -> None:
    """Reverse a disqualification or withdrawal. Organisers only."""
    shared.change(absence.reinstate, asker, season_id, bot_id, body.reason)


@router.post("/seasons/{season_id}/entries/{bot_id}/withdraw", status_code=204, responses=REFUSED)
def withdraw(shared: Shared, asker: Asker, season_id: Id, bot_id: Id, body: Reason | None = None) -> None:
    """Withdraw a bot: no new matches; those played count. Authors may withdraw their own bots until the season is
    frozen; waiting series are played. Organisers may withdraw any bot at any time, with a reason; waiting series are
    dropped.
    """
    with shared.db.transaction() as session:
        if body is None:
            absence.withdraw(session, asker, season_id, bot_id)
        else:
            absence.take_out(session, asker, season_id, bot_id, body.reason)


@router.post("/seasons/{season_id}/entries/{bot_id}/rejoin", status_code=204, responses={**REFUSED, 429: {}})
def rejoin(shared: Shared, asker: Asker, season_id: Id, bot_id: Id) -> None:
    """Reverse your own withdrawal until the season is frozen; in an open season, only after a pause."""
    shared.change(absence.rejoin, asker, season_id, bot_id)


appeals_router = APIRouter(prefix="/v1", tags=["appeals"])


class _AppealPage(base.Page):
    """The filter of a list of appeals."""

    season: base.RowId | None = None
    state: AppealState | None = None


@appeals_router.post("/matches/{match_id}/appeals", status_code=201, responses={401: {}, 404: {}, 409: {}})
def open_appeal(shared: Shared, asker: Asker, match_id: Id, body: AppealRequest) -> Appeal:
    """Appeal against a finished match of your bot. It is re-simulated at once.

    An organiser reads your text and the outcome, and rules.
    """
    with shared.db.reading() as session:
        league_appeals.appealable(session, asker, match_id)
        detail, whole = (match_detail(session, match_id, asker, whole=yes) for yes in (False, True))
    findings = league_appeals.review(shared.blobs, detail, whole)
    return shared.change(league_appeals.open_appeal, asker, match_id, body.text, findings)


@appeals_router.get("/appeals", responses={401: {}})
def list_appeals(shared: Shared, asker: Asker, page: Annotated[_AppealPage, Query()]) -> base.Paged[Appeal]:
    """List appeals, the newest first: all for an organiser, their own for an author."""
    items = shared.read(
        league_appeals.appeals, asker, season_id=page.season, state=page.state, before=page.before, limit=page.size
    )
    return base.Paged[Appeal](items=items, next=page.next(items))


@appeals_router.post("/appeals/{appeal_id}/ruling", responses=REFUSED)
def rule(shared: Shared, asker: Asker, appeal_id: Id, body: Ruling) -> Appeal:
    """Reject an appeal, or uphold it (and void the match or have it replayed). Organisers only."""
    return shared.change(
        league_appeals.rule, asker, appeal_id, uphold=body.uphold, ruling=body.ruling, remedy=body.remedy
    )


@appeals_router.post("/appeals/{appeal_id}/withdraw", responses={401: {}, 404: {}, 409: {}})
def withdraw_appeal(shared: Shared, asker: Asker, appeal_id: Id) -> Appeal:
    """Withdraw your open appeal."""
    return shared.change(league_appeals.withdraw_appeal, asker, appeal_id)


announcements_router = APIRouter(prefix="/v1/announcements", tags=["announcements"])


@announcements_router.get("")
def list_announcements(shared: Shared, season: Number = None) -> base.Items[Announcement]:
    """List the newest 50 announcements. For a season, this includes those about the whole league."""
    return base.Items[Announcement](items=shared.read(league_announcements.announcements, season))


@announcements_router.post("", status_code=201, responses={401: {}, 403: {}, 404: {}})
def announce(shared: Shared, asker: Asker, body: AnnouncementRequest) -> Announcement:
    """Publish an announcement. Organisers only."""
    return shared.change(league_announcements.announce, asker, body.season, body.title, body.text)


@announcements_router.delete("/{announcement_id}", status_code=204, responses={401: {}, 403: {}, 404: {}})
def take_down(shared: Shared, asker: Asker, announcement_id: Id) -> None:
    """Remove an announcement; the audit log still records it. Organisers only."""
    shared.change(league_announcements.take_down, asker, announcement_id)


audit_router = APIRouter(prefix="/v1/audit", tags=["audit"])


class _AuditPage(base.Page):
    """The filter of the audit log. `oldest_first`: from the first record on, in the order in which they are chained."""

    subject: str = Field(default="", max_length=128, pattern=base.PLAIN, examples=["match/5"])
    oldest_first: bool = False
    limit: base.Limit = 100


@audit_router.get("")
def read_audit_log(shared: Shared, page: Annotated[_AuditPage, Query()]) -> base.Paged[AuditRecord]:
    """List decisions with authors and reasons. Each record's hash covers the previous one, which reveals changes."""
    items = shared.read(
        audit_log, before=page.before, subject=page.subject, oldest_first=page.oldest_first, limit=page.size
    )
    return base.Paged[AuditRecord](items=items, next=page.next(items))
