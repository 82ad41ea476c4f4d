"""Sends notices through people's channels (see `league.service.people.channels`).

Requests are made outside of any transaction, a few of each kind at a time; each outcome is recorded in its own one.
"""

import json
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from http import HTTPStatus

from deadheat.engine.language import _, reading
from deadheat.league.config import Settings
from deadheat.league.locale import catalogue
from deadheat.league.service.people import channels
from deadheat.league.service.people.access import link_query
from deadheat.league.service.people.notices import notice_info
from deadheat.league.states import ChannelKind
from deadheat.workers.context import Context
from deadheat.workers.sending import mail
from deadheat.workers.sending.webhooks import NotReached, post

log = logging.getLogger(__name__)

AT_ONCE = {ChannelKind.MAIL: 4, ChannelKind.WEBHOOK: 8}
"""The number of concurrent deliveries of each kind; each ends within seconds, long before its lease."""

MOST_SUBJECT = 100
"""The most characters of a message's subject."""

TURN_SECONDS = 30.0
"""How long one call keeps taking due deliveries, and mail until its last webhook ends; the next call follows soon."""

LOOK_SECONDS = 1.0
"""How often due deliveries are searched for while others are on their way."""


def send_due(context: Context) -> int:
    """Send the deliveries that are due, and return how many were tried."""
    tried, until = 0, time.monotonic() + TURN_SECONDS
    under_way: dict[Future[None], channels.Parcel] = {}
    with ThreadPoolExecutor(sum(AT_ONCE.values())) as pool:
        while True:
            for kind, most in AT_ONCE.items():
                busy = {parcel.person for parcel in under_way.values() if parcel.kind is kind}
                late = time.monotonic() > until and (kind is ChannelKind.WEBHOOK or len(under_way) == len(busy))
                if not late and len(busy) < most:
                    with context.database.transaction() as session:
                        parcels = channels.claim_deliveries(session, kind, most - len(busy), busy)
                    under_way |= {pool.submit(_send, context, parcel): parcel for parcel in parcels}
            if not under_way:
                return tried
            for ended in wait(under_way, LOOK_SECONDS, FIRST_COMPLETED).done:
                del under_way[ended]
                ended.result()
                tried += 1


def _send(context: Context, parcel: channels.Parcel) -> None:
    try:
        taken, gone, detail = SENDERS[parcel.kind](context, parcel)
    except NotReached as error:
        taken, gone, detail = False, False, str(error)
        log.info("delivery %d was not sent: %r", parcel.delivery_id, error.__cause__)
    with context.database.transaction() as session:
        if taken:
            noted = channels.delivered(session, parcel, detail)
        else:
            noted = channels.not_delivered(session, parcel, detail, for_good=gone)
    log.info("delivery %d, try %d: %s%s", parcel.delivery_id, parcel.attempt, detail[:80], "" if noted else " (late)")


Sent = tuple[bool, bool, str]
"""Whether the delivery was accepted, whether the channel wants nothing more, and the answer."""


def _by_mail(context: Context, parcel: channels.Parcel) -> Sent:
    with reading(catalogue(parcel.language)):
        sent = _reset(context, parcel) if parcel.resets_password else letter(parcel, context.settings)
    return True, False, mail.send(context.settings, sent)


def _by_webhook(context: Context, parcel: channels.Parcel) -> Sent:
    with reading(catalogue(parcel.language)):
        body = json.dumps(payload(parcel, context.settings)).encode()
    timestamp = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "Deadheat-Delivery": str(parcel.delivery_id),
        "Deadheat-Timestamp": str(timestamp),
        "Deadheat-Signature": f"sha256={channels.signature(parcel.secret, timestamp, body)}",
    }
    status = post(parcel.address, body, headers, inside=context.settings.webhooks_inside)
    return 200 <= status < 300, status == HTTPStatus.GONE, str(status)


SENDERS: Mapping[ChannelKind, Callable[[Context, channels.Parcel], Sent]] = {
    ChannelKind.WEBHOOK: _by_webhook,
    ChannelKind.MAIL: _by_mail,
}
"""The function that sends to each kind of channel. They raise NotReached."""


def _reset(context: Context, parcel: channels.Parcel) -> mail.Letter:
    """Write the message with the password reset link."""
    with context.database.reading() as session:
        query = link_query(session, parcel.channel_id)
    page = f"{context.settings.site_url}/reset?{query}"
    text = _("Somebody, probably you, asked for a new password for your account. Choose one within an hour:")
    unsubscribe = _link(parcel, context.settings, channels.Link.UNSUBSCRIBE)
    subject, otherwise = _("Your password at Deadheat"), _("If it was not you, do nothing.")
    return mail.Letter(parcel.address, subject, f"{text}\n{page}\n\n{otherwise}\n", unsubscribe)


def letter(parcel: channels.Parcel, settings: Settings) -> mail.Letter:
    """Return the message for an e-mail address."""
    confirm, unsubscribe = (
        _link(parcel, settings, link) for link in (channels.Link.CONFIRM, channels.Link.UNSUBSCRIBE)
    )
    if not parcel.is_confirmed:
        subject, otherwise = _("Confirm your address at Deadheat"), _("If it was not you, do nothing.")
        text = _("Somebody, probably you, asked for notices to be sent to this address. Confirm it within a day:")
        return mail.Letter(parcel.address, subject, f"{text}\n{confirm}\n\n{otherwise}\n", unsubscribe)
    subject = text = _("A test of your address at Deadheat")
    if parcel.notice is not None:
        notice = notice_info(parcel.notice)
        subject, text = notice.text[:MOST_SUBJECT], f"{notice.text}\n{settings.site_url}{notice.path}"
    end = _("To stop these messages: %(link)s", link=unsubscribe)
    return mail.Letter(parcel.address, subject, f"{text}\n\n-- \n{end}\n", unsubscribe)


def _link(parcel: channels.Parcel, settings: Settings, link: channels.Link) -> str:
    token = channels.link_token(parcel.secret, link)
    return f"{settings.site_url}/mail/{link.value}?channel={parcel.channel_id}&token={token}"


def payload(parcel: channels.Parcel, settings: Settings) -> dict[str, object]:
    """Return the document for a webhook. Discord shows `content`, Slack `text`; neither may mention anybody."""
    if parcel.notice is None:
        text, facts = _("This is a test of your webhook at Deadheat."), {}
    else:
        notice = notice_info(parcel.notice)
        page = f"{settings.site_url}{notice.path}"
        text = f"{notice.text} {page}" if settings.site_url else notice.text
        facts = {
            "id": notice.id,
            "kind": notice.kind.value,
            "path": notice.path,
            "about": notice.about,
            "at": notice.at.isoformat(),
        }
    for_slack = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"content": text, "allowed_mentions": {"parse": []}, "text": for_slack, "notice": facts or None}
