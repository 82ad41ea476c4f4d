"""Webhooks and e-mail addresses of an account: adding, testing and removing them, and their deliveries."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from deadheat.api.deps import Id, Shared
from deadheat.api.pages.author.account import confirm, password_in
from deadheat.api.pages.forms import Complaint, Submitted, Visit, Visiting, checked, onward, posting, private
from deadheat.api.services import Services
from deadheat.league.service.people import channels
from deadheat.league.service.people.users import has_password, must_still_open

router = APIRouter(prefix="/account/webhooks")

HERE = "/account/webhooks"

VERBS = {"remove": channels.remove_channel, "switch-on": channels.switch_on, "test": channels.send_test}


class WebhookForm(BaseModel):
    """The form for a new webhook."""

    url: str


class AddressForm(BaseModel):
    """The form for a new e-mail address."""

    address: str


def _page(shared: Services, visit: Visit, complaint: Complaint | None = None, secret: str = "", **_: Any) -> Response:
    with shared.db.reading() as session:
        found, sent = channels.channels(session, visit.person), channels.deliveries(session, visit.person)
        by_password = has_password(session, visit.person)
    told = {"webhooks": found, "deliveries": sent, "secret": secret, "by_password": by_password}
    return private(shared, "webhooks.html", visit, complaint, mail=bool(shared.settings.smtp_url), **told)


@router.get("")
def webhooks(shared: Shared, visit: Visiting) -> Response:
    """Show all channels of the account, and the newest deliveries."""
    return _page(shared, visit)


@router.post("")
@posting("webhook", _page)
def add(shared: Shared, request: Request, posted: Submitted) -> Response:
    """Add a webhook. The answer is the page itself: the secret is shown once and must not be in an address or store."""
    body = checked(WebhookForm, posted.fields)
    person = confirm(shared, request, posted)
    with shared.db.transaction() as session:
        must_still_open(session, person, password_in(posted))
        _, secret = channels.add_webhook(session, person, body.url.strip())
    return _page(shared, posted.visit, secret=secret)


@router.post("/mail")
@posting("mail", _page)
def add_address(shared: Shared, request: Request, posted: Submitted) -> Response:
    """Add an e-mail address, and send a link to it. The password is required, because mail can replace it."""
    body = checked(AddressForm, posted.fields)
    person = confirm(shared, request, posted)
    shared.rates.confirmation(person.id, body.address.strip())
    with shared.db.transaction() as session:
        must_still_open(session, person, password_in(posted))
        channels.add_address(session, person, body.address.strip())
    return onward(HERE)


@router.post("/{channel_id}/{verb}")
def change(shared: Shared, posted: Submitted, channel_id: Id, verb: str) -> Response:
    """Remove a channel, switch it on again, or test it."""
    if verb in VERBS:
        with shared.db.transaction() as session:
            VERBS[verb](session, posted.visit.person, channel_id)
    return onward(HERE)
