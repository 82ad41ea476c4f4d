"""Quotas of uploads: by an author in an hour or in five minutes, of a bot in a day. (`check_quota` serves any.)

The deployment's quotas (`league.config`) apply to everyone. A season's own apply as well, to bots that take part in it,
as long as new versions matter there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import literal
from sqlmodel import Session, col, select

from deadheat.engine.language import N_, _
from deadheat.league.database import now, settings_of
from deadheat.league.errors import OverQuota
from deadheat.league.service.people.person import Person
from deadheat.league.states import ENTERABLE
from deadheat.league.tables import BotVersion, Entry, Season

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
ONE = literal(1)
FIVE_MINUTES = timedelta(minutes=5)

WORDS = {FIVE_MINUTES: N_("in five minutes"), HOUR: N_("an hour"), DAY: N_("a day")}


@dataclass(frozen=True, slots=True)
class Quota:
    """At most `limit` rows that meet the conditions in any `window`, by the column with the time of their creation.
    `each`: how much a row counts, if not one.
    """

    what: str
    limit: int
    window: timedelta
    conditions: tuple[Any, ...]
    made_at: Any = BotVersion.created_at
    each: Any = ONE


def check_quotas(session: Session, uploader: Person, bot_id: int) -> None:
    """Check whether one more version may be uploaded now. Raises OverQuota."""
    for quota in _quotas(session, uploader, bot_id):
        check_quota(session, quota)


def check_quota(session: Session, quota: Quota, wanted: int = 1) -> None:
    """Check that this many more are allowed now; the number must not exceed the limit. Raises OverQuota."""
    at, made_at = now(session), col(quota.made_at)
    recent = select(made_at, quota.each).where(*quota.conditions, made_at > at - quota.window, quota.each > 0)
    used = 0
    free_at = None
    for made, each in session.exec(recent.order_by(made_at.desc()).limit(quota.limit)):
        used += each
        if free_at is None and used + wanted > quota.limit:  # this one has to leave the window first
            free_at = made + quota.window
    if free_at is not None:
        seconds = max(1, math.ceil((free_at - at).total_seconds()))
        raise OverQuota(quota.what, quota.limit, WORDS[quota.window], seconds, max(0, quota.limit - used))


def _quotas(session: Session, uploader: Person, bot_id: int) -> Iterator[Quota]:
    settings = settings_of(session)
    by_uploader = col(BotVersion.uploader_id) == uploader.id
    of_bot = col(BotVersion.bot_id) == bot_id
    yield Quota(N_("uploads by one author"), settings.uploads_per_hour, HOUR, (by_uploader,))
    yield Quota(N_("versions of one bot"), settings.versions_per_day, DAY, (of_bot,))
    entered = select(Season).join(Entry, col(Entry.season_id) == Season.id)
    entered = entered.where(Entry.bot_id == bot_id, col(Season.state).in_(ENTERABLE)).order_by(col(Season.id))
    for season in session.exec(entered).all():
        there = col(BotVersion.bot_id).in_(select(Entry.bot_id).where(Entry.season_id == season.id))
        uploads = ((season.uploads_per_five_minutes, FIVE_MINUTES), (season.uploads_per_hour, HOUR))
        for limit, window in uploads:
            if limit is not None:
                what = _("uploads by one author for %(season)s", season=season.name)
                yield Quota(what, limit, window, (by_uploader, there))
        if season.versions_per_day is not None:
            what = _("versions of one bot for %(season)s", season=season.name)
            yield Quota(what, season.versions_per_day, DAY, (of_bot,))
