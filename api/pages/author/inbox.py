"""Notices: the inbox, the webhooks and addresses to which they are sent, the pages behind links in messages, and what a
script shows a visitor on the home page. A link alone proves the right to confirm an address or stop messages to it.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from deadheat.api import schemas as base
from deadheat.api.deps import Id, Number, Shared
from deadheat.api.pages import forms
from deadheat.api.pages.author.account import confirm, password_in
from deadheat.api.pages.lists import courses
from deadheat.api.pages.pictures.charts import trend
from deadheat.api.pages.render import ROWS, first_of
from deadheat.api.routes.people import ReadRequest
from deadheat.league.service.bots.bots import bots_of
from deadheat.league.service.people import channels, notices
from deadheat.league.service.people.users import has_password, must_still_open
from deadheat.league.service.rankings.history import trends

router = APIRouter()

BOTS = 12
NOTICES = 3


@router.get("/inbox")
def inbox(shared: Shared, visit: forms.Visiting, before: Number = None) -> Response:
    shown, older = first_of(shared.read(notices.inbox, visit.person, before=before, limit=ROWS + 1), ROWS)
    return forms.private(shared, "inbox.html", visit, None, notices=shown, older=older)


@router.post("/inbox/read")
def mark_read(shared: Shared, posted: forms.Submitted) -> Response:
    shared.change(notices.mark_read, posted.visit.person, forms.checked(ReadRequest, posted.fields).up_to)
    return forms.onward("/inbox")


@router.get("/mine")
def mine(shared: Shared, visit: forms.Visiting) -> Response:
    """List the visitor's bots, each in its newest season, and the newest unread notices."""
    with shared.db.reading() as session:
        bots = [bot for bot in bots_of(session, visit.person) if bot.retired_at is None][:BOTS]
        unread = notices.inbox(session, visit.person, unread=True, limit=NOTICES)
        parts = courses(shared, session, bots)
        lines = []
        for bot in bots:
            part, row, ranked = next(iter(parts[bot.id]), (None, None, 0))
            way = None if part is None else trend(trends(session, part.season_id, [bot.id]).get(bot.id, []))
            lines.append((bot, part, row, ranked, way))
    return forms.private(shared, "mine.html", visit, None, lines=lines, notices=unread)


HERE = "/account/webhooks"

VERBS = {"remove": channels.remove_channel, "switch-on": channels.switch_on, "test": channels.send_test}


class _WebhookForm(BaseModel):
    url: str


class _AddressForm(BaseModel):
    address: str


@forms.shows(router, HERE)
def _page(
    shared: Shared, visit: forms.Visiting, complaint: forms.Complaint | None = None, secret: str = "", **_: Any
) -> Response:
    with shared.db.reading() as session:
        listed, sent = channels.channels(session, visit.person), channels.deliveries(session, visit.person)
        by_password = has_password(session, visit.person)
    values = {"webhooks": listed, "deliveries": sent, "secret": secret, "by_password": by_password}
    return forms.private(shared, "webhooks.html", visit, complaint, mail=bool(shared.settings.smtp_url), **values)


@router.post("/account/webhooks")
@forms.posting("webhook", _page)
def add(shared: Shared, request: Request, posted: forms.Submitted) -> Response:
    """Add a webhook. The answer is the page itself: the secret is shown once and must not be in an address or store."""
    body = forms.checked(_WebhookForm, posted.fields)
    person = confirm(shared, request, posted)
    with shared.db.transaction() as session:
        must_still_open(session, person, password_in(posted))
        _, secret = channels.add_webhook(session, person, body.url.strip())
    return _page(shared, posted.visit, secret=secret)


@router.post("/account/webhooks/mail")
@forms.posting("mail", _page)
def add_address(shared: Shared, request: Request, posted: forms.Submitted) -> Response:
    """Add an e-mail address, and send a link to it. The password is required, because mail can replace it."""
    body = forms.checked(_AddressForm, posted.fields)
    person = confirm(shared, request, posted)
    shared.rates.confirmation(person.id, body.address.strip())
    with shared.db.transaction() as session:
        must_still_open(session, person, password_in(posted))
        channels.add_address(session, person, body.address.strip())
    return forms.onward(HERE)


@router.post("/account/webhooks/{channel_id}/{verb}")
def change(shared: Shared, posted: forms.Submitted, channel_id: Id, verb: str) -> Response:
    if verb in VERBS:
        shared.change(VERBS[verb], posted.visit.person, channel_id)
    return forms.onward(HERE)


class Token(base.Query):
    channel: base.RowId
    token: Annotated[str, Query(max_length=64)]


@router.get("/mail/{link}")
def ask(shared: Shared, visit: forms.Present, link: channels.Link, given: Annotated[Token, Query()]) -> Response:
    """Ask for confirmation: opening a link changes nothing, because mail servers open links, too."""
    address = shared.read(channels.address_of, link, given.channel, given.token)
    return forms.private(shared, "mail.html", visit, None, link=link.value, address=address, given=given)


@router.post("/mail/{link}")
def act(shared: Shared, visit: forms.Present, sent: forms.Sent, link: channels.Link) -> Response:
    given = forms.picked(Token, sent)
    shared.change(channels.follow_link, link, given.channel, given.token)
    return forms.onward("/account/webhooks" if visit else "/")
