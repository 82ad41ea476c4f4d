"""Channels: where people have their notices sent besides the inbox, and the deliveries.

Theory of operation
-------------------
A channel is one person's webhook or confirmed e-mail address. With every new notice a delivery is stored for each of
their channels, in the same transaction, so none is lost. A background process (`workers.sending.deliveries`) claims due
deliveries by a compare-and-set of the number of tries, which also moves the time of the next try past the end of this
one. So only one of two processes gets it, and a delivery whose process died is tried again. A delivery may arrive twice
if the process died before it noted the answer; the receiver can tell by its number.

Nobody's slow webhooks delay others: mail is sent apart, each person has at most one delivery of either kind under way,
and channels that have failed come after all others.

Until its owner has followed a link, an e-mail address gets nothing but the message with that link. Links carry a token
that follows from the channel's secret; a confirmation link works once, within `CONFIRM_WITHIN`.

A failure is tried again after a pause that doubles, `MOST_TRIES` times. A channel that has failed throughout
`PATIENCE` is switched off, until its owner switches it on again.
"""

import hashlib
import hmac
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, delete, exists, func, select

from deadheat.engine.language import N_, _, gettext, language
from deadheat.league.database import now, settings_of, surroundings
from deadheat.league.errors import BadSetting, NotFound, TooMany
from deadheat.league.outgoing import must_be_outside, read_url
from deadheat.league.records import from_row
from deadheat.league.service.ground.steps import set_values, storable
from deadheat.league.service.people.notices import account_changed
from deadheat.league.service.people.person import Person
from deadheat.league.states import ChannelKind, DeliveryState
from deadheat.league.tables import Channel, Delivery, Notice

MOST_CHANNELS = 5
"""The most channels of one person."""

CONFIRM_WITHIN = timedelta(hours=24)
OVER = N_("This link is no longer valid: it was used, it is too old, or the address was removed.")

MOST_ADDRESS = 254
ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", re.ASCII)
"""The addresses that HTML's form fields accept (WHATWG), with a dot in the domain."""

REMOVED = N_("Your notices are no longer sent to {channel}.")

MOST_TRIES = 10
FIRST_PAUSE = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(hours=6)
"""The longest pause; ten tries take about four hours."""

LEASE = timedelta(minutes=2)
"""How long a claimed delivery is left alone: far longer than a try may take."""

PATIENCE = timedelta(days=3)
"""How long a channel may fail before it is switched off."""

SECRET_BYTES = 32
MOST_DETAIL = 200


class Link(StrEnum):
    """The purpose of a link in a message."""

    CONFIRM = "confirm"
    UNSUBSCRIBE = "unsubscribe"


@dataclass(frozen=True, slots=True)
class ChannelInfo:
    """One channel, for its owner. `secret` is shown only when the channel is created."""

    id: int
    kind: ChannelKind
    address: str
    created_at: datetime
    confirmed_at: datetime | None
    failing_since: datetime | None
    disabled_at: datetime | None


@dataclass(frozen=True, slots=True)
class Parcel:
    """A delivery that a process claimed at `at`, with everything needed to send it. `notice` is None for a test, a
    request to confirm the address, or a password reset link.
    """

    at: datetime
    delivery_id: int
    attempt: int
    person: int  # the owner, or the channel's own negative number if it was removed
    kind: ChannelKind
    address: str
    secret: str
    language: str
    channel_id: int
    is_confirmed: bool
    resets_password: bool
    notice: Notice | None


def add_webhook(session: Session, person: Person, url: str) -> tuple[ChannelInfo, str]:
    """Add a person's webhook; return the secret that signs its requests, which is never shown again. Raises TooMany;
    BadSetting: about `url`.
    """
    try:
        target = read_url(url)
        if not settings_of(session).webhooks_inside:
            must_be_outside(target)
    except ValueError as error:
        raise BadSetting("url", str(error)) from error
    account_changed(session, person.id, N_("Your notices are also sent to {channel}."), channel=target.host)
    row = _add(session, person, ChannelKind.WEBHOOK, url, confirmed_at=now(session))
    return from_row(ChannelInfo, row), row.secret


def add_address(session: Session, person: Person, address: str) -> ChannelInfo:
    """Add a person's e-mail address, and send it a confirmation link.

    Raises:
        BadSetting: about `address`; also if this league sends no mail.
        TooMany.
    """
    if not settings_of(session).smtp_url:
        raise BadSetting("address", _("this league sends no mail"))
    if len(address) > MOST_ADDRESS or ADDRESS.fullmatch(address) is None:
        raise BadSetting("address", _("it is not an e-mail address that this service accepts"))
    row = _add(session, person, ChannelKind.MAIL, address, confirmed_at=None)
    session.add(Delivery(channel_id=row.id, at=row.created_at, due_at=row.created_at))
    added = N_("The address {channel} was added, and has to be confirmed.")
    account_changed(session, person.id, added, channel=address)
    return from_row(ChannelInfo, row)


def link_token(secret: str, link: Link) -> str:
    """Make the token in a link, which proves that its message was read."""
    return hmac.new(secret.encode(), link.value.encode(), hashlib.sha256).hexdigest()


def address_of(session: Session, link: Link, channel_id: int, token: str) -> str:
    """Return the address to which a link was sent. Raises NotFound: the link is invalid or has expired."""
    return _linked(session, link, channel_id, token).address


def follow_link(session: Session, link: Link, channel_id: int, token: str) -> None:
    """Carry out the purpose of a link. Raises NotFound."""
    row = _linked(session, link, channel_id, token)
    if link is Link.CONFIRM:
        row.confirmed_at = now(session)
        session.flush()
    else:
        session.delete(row)
        session.flush()
        if row.user_id is not None:
            account_changed(session, row.user_id, REMOVED, channel=row.address)


def _add(session: Session, person: Person, kind: ChannelKind, address: str, confirmed_at: datetime | None) -> Channel:
    mine = select(func.count()).select_from(Channel).where(Channel.user_id == person.id)
    if session.exec(mine).one() >= MOST_CHANNELS:
        raise TooMany("webhooks and addresses", MOST_CHANNELS)
    secret = surroundings(session).entropy(SECRET_BYTES).hex()
    row = Channel(
        user_id=person.id,
        kind=kind,
        address=address,
        secret=secret,
        language=language(),
        created_at=now(session),
        confirmed_at=confirmed_at,
    )
    session.add(row)
    session.flush()
    return row


def _linked(session: Session, link: Link, channel_id: int, token: str) -> Channel:
    row = session.get(Channel, channel_id)
    if row is not None and row.kind is ChannelKind.MAIL:
        genuine = hmac.compare_digest(link_token(row.secret, link).encode(), token.encode())
        late = row.confirmed_at is not None or now(session) > row.created_at + CONFIRM_WITHIN
        if genuine and not (late and link is Link.CONFIRM):
            return row
    raise NotFound("link", channel_id, gettext(OVER))


def speak(session: Session, person: Person, chosen: str) -> None:
    """Send a person's notices in another language from now on."""
    set_values(session, Channel, col(Channel.user_id) == person.id, language=chosen)


def remove_channel(session: Session, person: Person, channel_id: int) -> None:
    """Remove a channel, so that nothing is sent there but that it was removed. Raises NotFound."""
    row = _own(session, person, channel_id)
    session.exec(delete(Delivery).where(*_on_their_way(row)))
    name = urlsplit(row.address).hostname or row.address  # a webhook's path may be a secret
    account_changed(session, person.id, REMOVED, channel=name)
    _let_go(session, row)


def remove_channels(session: Session, user_id: int, kept: int = 0) -> None:
    """Remove all channels of an account but the one that is `kept`. Notices on their way there are still sent."""
    for row in session.exec(select(Channel).where(Channel.user_id == user_id, Channel.id != kept)).all():
        _let_go(session, row)


def _let_go(session: Session, row: Channel) -> None:
    """Leave a channel without an owner until the notices on their way have been sent (`forget_removed`)."""
    session.exec(delete(Delivery).where(*_on_their_way(row), col(Delivery.notice_id).is_(None)))
    row.user_id = None
    if row.confirmed_at is None or row.disabled_at is not None:
        session.delete(row)
    session.flush()


def _on_their_way(row: Channel) -> tuple[ColumnElement[bool], ...]:
    return col(Delivery.channel_id) == row.id, col(Delivery.state) == DeliveryState.WAITING


def forget_removed(session: Session) -> None:
    """Delete the removed channels to which nothing is on its way."""
    waits = exists().where(col(Delivery.channel_id) == Channel.id, col(Delivery.state) == DeliveryState.WAITING)
    session.exec(delete(Channel).where(col(Channel.user_id).is_(None), ~waits))


def switch_on(session: Session, person: Person, channel_id: int) -> None:
    """Switch a channel on again. Raises NotFound."""
    row = _own(session, person, channel_id)
    row.failing_since = row.disabled_at = None
    session.flush()


def send_test(session: Session, person: Person, channel_id: int) -> None:
    """Send a test to a channel, unless one is under way or the address is not confirmed. Raises NotFound."""
    row = _own(session, person, channel_id)
    if row.confirmed_at is None:
        return
    waits = select(Delivery.id).where(Delivery.channel_id == row.id, col(Delivery.notice_id).is_(None))
    if session.exec(waits.where(Delivery.state == DeliveryState.WAITING)).first() is None:
        session.add(Delivery(channel_id=row.id, at=now(session), due_at=now(session)))
        session.flush()


def channels(session: Session, person: Person) -> list[ChannelInfo]:
    """Return a person's channels, the oldest first."""
    mine = select(Channel).where(Channel.user_id == person.id).order_by(col(Channel.id))
    return [from_row(ChannelInfo, row) for row in session.exec(mine)]


def deliveries(session: Session, person: Person, limit: int = 50) -> list[Delivery]:
    """Return the deliveries of a person's channels, the newest first; `notice_id` is None for a test or a link."""
    mine = select(Delivery).join(Channel, col(Channel.id) == Delivery.channel_id).where(Channel.user_id == person.id)
    return list(session.exec(mine.order_by(col(Delivery.id).desc()).limit(limit)))


def claim_deliveries(
    session: Session, kind: ChannelKind, limit: int, busy: Collection[int] = frozenset()
) -> list[Parcel]:
    """Claim due deliveries of one kind, one a person at most and none of the persons `busy`: links and tests first,
    then the longest due, and after all others what goes to failing channels. Each is the caller's until its lease ends.
    """
    at = now(session)
    rank = (col(Channel.failing_since).is_not(None), col(Delivery.notice_id).is_not(None))
    order = (*rank, col(Delivery.due_at), col(Delivery.id))
    whose = func.coalesce(Channel.user_id, -col(Channel.id))  # a removed channel has no owner
    turn = func.row_number().over(partition_by=whose, order_by=order)
    ours = select(col(Delivery.id), turn.label("turn")).join(Channel, col(Channel.id) == Delivery.channel_id)
    ours = ours.where(
        Delivery.state == DeliveryState.WAITING, Delivery.due_at <= at, col(Channel.disabled_at).is_(None)
    )
    each = ours.where(Channel.kind == kind, whose.not_in(busy)).subquery()
    due = (
        select(Delivery, Channel, Notice)
        .join(each, each.c.id == Delivery.id)
        .join(Channel, col(Channel.id) == Delivery.channel_id)
        .outerjoin(Notice, col(Notice.id) == Delivery.notice_id)
        .where(each.c.turn == 1)
        .order_by(*order)
        .limit(limit)
    )
    taken = []
    for row, channel, notice in session.exec(due).all():
        attempt = row.tries + 1
        if set_values(session, Delivery, *_held(row.id, row.tries), tries=attempt, due_at=at + LEASE):
            of_row = {"delivery_id": row.id, "channel_id": row.channel_id, "resets_password": row.resets_password}
            person, confirmed = channel.user_id or -channel.id, channel.confirmed_at is not None
            more = {"at": at, "attempt": attempt, "person": person, "is_confirmed": confirmed, "notice": notice}
            taken.append(from_row(Parcel, channel, **of_row, **more))
    return taken


def delivered(session: Session, parcel: Parcel, detail: str) -> bool:
    """Note that a delivery has arrived. Return False if another process has tried it in the meantime."""
    at = now(session)
    done = {"state": DeliveryState.SENT, "detail": storable(detail, MOST_DETAIL), "finished_at": at}
    if not set_values(session, Delivery, *_held(parcel.delivery_id, parcel.attempt), **done):
        return False
    set_values(session, Channel, col(Channel.id) == parcel.channel_id, failing_since=None)
    return True


def not_delivered(session: Session, parcel: Parcel, detail: str, *, for_good: bool = False) -> bool:
    """Note why a try failed. Return False if another process has tried it in the meantime. `for_good`: the receiver
    has asked for no more, so the channel is switched off. Times count from the try's beginning: its length would tell
    the owner a closed port from a silent one.
    """
    at = parcel.at
    pause = min(FIRST_PAUSE * 2 ** (parcel.attempt - 1), LONGEST_PAUSE)
    values: dict[str, object] = {"detail": storable(detail, MOST_DETAIL), "due_at": at + pause}
    if for_good or parcel.attempt >= MOST_TRIES:
        values |= {"state": DeliveryState.FAILED, "finished_at": at}
    if not set_values(session, Delivery, *_held(parcel.delivery_id, parcel.attempt), **values):
        return False
    channel = session.get_one(Channel, parcel.channel_id)
    channel.failing_since = channel.failing_since or at
    if for_good or channel.failing_since <= at - PATIENCE:
        channel.disabled_at = at
        set_values(session, Delivery, *_on_their_way(channel), state=DeliveryState.FAILED, finished_at=at)
    session.flush()
    return True


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """Sign a webhook's request, as proof that it comes from the league: HMAC-SHA256 of instant and body."""
    return hmac.new(secret.encode(), b"%d.%b" % (timestamp, body), hashlib.sha256).hexdigest()


def _held(delivery_id: int, tries: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that no other process has tried a delivery since it was read."""
    return (col(Delivery.id) == delivery_id, col(Delivery.tries) == tries, col(Delivery.state) == DeliveryState.WAITING)


def _own(session: Session, person: Person, channel_id: int) -> Channel:
    row = session.get(Channel, channel_id)
    if row is None or row.user_id != person.id:
        raise NotFound("webhook", channel_id)
    return row
