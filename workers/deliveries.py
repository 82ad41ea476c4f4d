"""Sends notices through the channels that people chose (see `league.service.people.channels`).

Requests are made outside of any transaction, a few at a time; each note of how one went is a transaction of its own.
"""

from __future__ import annotations

import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

from deadheat.league.config import Settings
from deadheat.league.service.people import channels
from deadheat.league.service.people.channels import Parcel
from deadheat.league.service.people.notices import notice_info
from deadheat.workers.context import Context
from deadheat.workers.webhooks import Answer, NotReached, post

log = logging.getLogger(__name__)

AT_ONCE = 8
"""Requests under way at a time; each ends within seconds, long before its lease."""

TURN_SECONDS = 30.0
"""How long one call goes on taking what is due; the next call is never far."""


def send_due(context: Context) -> int:
    """Send what is due; how many deliveries were tried."""
    database, tried, until = context.database, 0, time.monotonic() + TURN_SECONDS
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while time.monotonic() < until:
            with database.transaction() as session:
                parcels = channels.claim_deliveries(session, AT_ONCE)
            if not parcels:
                break
            tried += len(parcels)
            list(pool.map(lambda parcel: _send(context, parcel), parcels))
    return tried


def _send(context: Context, parcel: Parcel) -> None:
    body = json.dumps(payload(parcel, context.settings)).encode()
    timestamp = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "Deadheat-Delivery": str(parcel.delivery_id),
        "Deadheat-Timestamp": str(timestamp),
        "Deadheat-Signature": f"sha256={channels.signature(parcel.secret, timestamp, body)}",
    }
    answer: Answer | None = None
    try:
        answer = post(parcel.address, body, headers, inside=context.settings.webhooks_inside)
        detail = f"{answer.status} {answer.text}"
    except NotReached as error:
        detail = str(error)
    with context.database.transaction() as session:
        if answer is not None and answer.is_good:
            noted = channels.delivered(session, parcel, detail)
        else:
            gone = answer is not None and answer.status == HTTPStatus.GONE
            noted = channels.not_delivered(session, parcel, detail, for_good=gone)
    log.info("delivery %d, try %d: %s%s", parcel.delivery_id, parcel.attempt, detail[:80], "" if noted else " (late)")


def payload(parcel: Parcel, settings: Settings) -> dict[str, object]:
    """The document that a webhook gets. Discord shows `content` and Slack `text`; neither may call anybody by it."""
    if parcel.notice is None:
        text, facts = "This is a test of your webhook at Deadheat.", {}
    else:
        notice = notice_info(parcel.notice)
        page = f"{settings.site_url.rstrip('/')}{notice.path}"
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
