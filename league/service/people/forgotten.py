"""Forgotten passwords: a link by e-mail lets the owner choose a new one.

The link goes to the confirmed addresses of the named account, or to the typed address. It carries a token made from the
address's secret, an instant and the hash of the present password. So it works for an hour, and only once, because the
hash changes. The answer is the same whether or not there is such an account or address.

Anybody who can read mail at a confirmed address can take over the account. Therefore adding one requires the password.
"""

import hashlib
import hmac
from datetime import timedelta

from sqlmodel import Session, col, func, or_, select

from deadheat.engine.language import gettext
from deadheat.league.database import now
from deadheat.league.errors import NotFound
from deadheat.league.service.people.access import change_password
from deadheat.league.service.people.channels import OVER
from deadheat.league.service.people.notices import IN_USE
from deadheat.league.service.people.person import Person
from deadheat.league.states import ChannelKind, DeliveryState
from deadheat.league.tables import Channel, Delivery, User

WITHIN = timedelta(hours=1)


def ask_for_link(session: Session, named: str) -> None:
    """Have a link sent to the confirmed addresses of the account with that name, and to that address if it is one."""
    key = named.strip().lower()
    meant = or_(col(User.name_key) == key, func.lower(Channel.address) == key)
    addresses = select(Channel.id).join(User, col(User.id) == Channel.user_id)
    addresses = addresses.where(meant, Channel.kind == ChannelKind.MAIL, *IN_USE)
    addresses = addresses.where(col(User.password_hash).is_not(None), col(User.closed_at).is_(None))
    at = now(session)
    for channel_id in session.exec(addresses).all():
        waits = (Delivery.channel_id == channel_id, Delivery.state == DeliveryState.WAITING)
        if session.exec(select(Delivery.id).where(*waits, col(Delivery.resets_password).is_(True))).first() is None:
            session.add(Delivery(channel_id=channel_id, resets_password=True, at=at, due_at=at))
    session.flush()


def link_query(session: Session, channel_id: int) -> str:
    """Make the query of the reset link for the address of that channel."""
    channel = session.get_one(Channel, channel_id)
    until = int((now(session) + WITHIN).timestamp())
    return f"channel={channel_id}&until={until}&token={_token(session, channel, until)}"


def owner_of_link(session: Session, channel_id: int, until: int, token: str) -> Person:
    """Find the account whose password a link resets. Raises NotFound: the link is invalid or has expired."""
    channel = session.get(Channel, channel_id)
    if channel is not None and channel.user_id is not None and now(session).timestamp() <= until:
        user = session.get_one(User, channel.user_id)
        genuine = hmac.compare_digest(_token(session, channel, until).encode(), token.encode())
        if genuine and user.password_hash is not None and user.closed_at is None:
            return Person.of(user)
    raise NotFound("link", channel_id, gettext(OVER))


def reset_password(session: Session, channel_id: int, until: int, token: str, password: str) -> None:
    """Set another password by means of a link; of other ways in only its address is kept. Raises NotFound."""
    session.exec(select(Channel.id).where(Channel.id == channel_id).with_for_update()).first()  # one request at a time
    change_password(session, owner_of_link(session, channel_id, until, token), password, used=channel_id)


def _token(session: Session, channel: Channel, until: int) -> str:
    password_hash = session.get_one(User, channel.user_id, populate_existing=True).password_hash or ""
    return hmac.new(channel.secret.encode(), f"reset.{until}.{password_hash}".encode(), hashlib.sha256).hexdigest()
