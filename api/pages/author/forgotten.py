"""The pages for a forgotten password: requesting a link, and choosing a new password through it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.background import BackgroundTask

from deadheat.api.deps import Shared
from deadheat.api.pages.forms import Complaint, Fields, Sent, checked, onward, posting, private
from deadheat.api.schemas import base
from deadheat.api.schemas.people import Password
from deadheat.api.services import Services
from deadheat.engine.language import _
from deadheat.league.errors import NotFound
from deadheat.league.service.people import access

router = APIRouter()


class ResetLink(base.Query):
    """The data in a reset link."""

    channel: base.RowId
    until: Annotated[int, Query(ge=0, le=2**40)]
    token: Annotated[str, Query(max_length=64)]


class ResetForm(ResetLink):
    """The link's data with the new password."""

    password: Password


def _ask(shared: Services, complaint: Complaint | None = None, *, asked: bool = False, **_given: Any) -> Response:
    if not shared.settings.smtp_url:
        raise NotFound("page", "/forgotten", _("This league sends no mail. Ask its administrators for a new password."))
    return private(shared, "forgotten.html", None, complaint, asked=asked)


@router.get("/forgotten")
def ask_page(shared: Shared) -> Response:
    """Show the form that asks for the account or its address."""
    return _ask(shared)


@router.post("/forgotten")
@posting("forgotten", _ask)
def ask(shared: Shared, request: Request, sent: Sent) -> Response:
    """Send a link after the answer, so that the response time reveals nothing."""
    name = sent.get("name", "").strip()[:254]
    answer = _ask(shared, asked=True)  # first, so that nothing is counted where no mail is sent
    shared.rates.forgotten(request, name)
    answer.background = BackgroundTask(_send_link, shared, name)
    return answer


@router.get("/reset")
def reset_page(shared: Shared, link: Annotated[ResetLink, Query()]) -> Response:
    """Show the form to choose a new password."""
    return _reset(shared, link)


def _reset_again(complaint: Complaint, shared: Services, sent: Fields, **_: Any) -> Response:
    link = {name: sent.get(name, "") for name in ResetLink.model_fields}
    return _reset(shared, checked(ResetLink, link), complaint)


@router.post("/reset")
@posting("reset", _reset_again)
def reset(shared: Shared, request: Request, sent: Sent) -> Response:
    """Set a new password. Every browser is signed out, and every token ends."""
    shared.rates.sign_up(request)  # counts as a sign-up, because it may be a guess and costs a hash
    body = checked(ResetForm, {name: sent.get(name, "") for name in ResetForm.model_fields})
    with shared.db.transaction() as session:
        access.reset_password(session, body.channel, body.until, body.token, body.password)
    return onward("/sign-in")


def _send_link(shared: Services, name: str) -> None:
    with shared.db.transaction() as session:
        access.ask_for_link(session, name)


def _reset(shared: Services, link: ResetLink, complaint: Complaint | None = None) -> Response:
    with shared.db.reading() as session:
        owner = access.owner_of_link(session, link.channel, link.until, link.token)
    return private(shared, "reset.html", None, complaint, link=link, owner=owner.name)
