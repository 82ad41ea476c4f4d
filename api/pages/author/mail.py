"""The pages behind links in messages. A link alone proves the right to confirm an address or stop messages to it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from deadheat.api.deps import Shared
from deadheat.api.pages.forms import Present, Sent, checked, onward, private
from deadheat.api.schemas import base
from deadheat.league.service.people import channels
from deadheat.league.service.people.channels import Link

router = APIRouter(prefix="/mail")


class Token(base.Query):
    channel: base.RowId
    token: Annotated[str, Query(max_length=64)]


@router.get("/{link}")
def ask(shared: Shared, visit: Present, link: Link, given: Annotated[Token, Query()]) -> Response:
    """Ask for confirmation: opening a link changes nothing, because mail servers open links, too."""
    address = shared.read(channels.address_of, link, given.channel, given.token)
    return private(shared, "mail.html", visit, None, link=link.value, address=address, given=given)


@router.post("/{link}")
def act(shared: Shared, visit: Present, sent: Sent, link: Link) -> Response:
    """Confirm the address, or remove it."""
    given = checked(Token, {name: sent.get(name, "") for name in ("channel", "token")})
    shared.change(channels.follow_link, link, given.channel, given.token)
    return onward("/account/webhooks" if visit else "/")
