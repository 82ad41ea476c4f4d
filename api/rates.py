"""How often something may be asked for: by address for everything that changes, tighter where passwords are tried.

Counted in Redis where that is the broker (all processes then count together), else in this process's memory. A Redis
that is away must not close the site: this process counts by itself until it is back.

An IPv6 address counts as its network of 64 bits, which is what one customer has. Passwords tried for one name count
together wherever they come from; a right one clears the count, so only guessing fills it.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from collections.abc import Callable
from typing import TypeVar

from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.storage import MemoryStorage, Storage, storage_from_string
from limits.strategies import SlidingWindowCounterRateLimiter
from redis.exceptions import RedisError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import league_error
from api.sessions import SAFE
from league.config import Settings
from league.errors import OverQuota

log = logging.getLogger(__name__)

REDIS = ("redis://", "rediss://")
REDIS_TIMEOUT = {"socket_timeout": 1, "socket_connect_timeout": 1}
IPV6_NETWORK = 64

_Answer = TypeVar("_Answer")


class Rates:
    """The limits of one deployment."""

    def __init__(self, settings: Settings) -> None:
        self._alone = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._shared = SlidingWindowCounterRateLimiter(_storage(settings))
        self._writes = RateLimitItemPerMinute(settings.writes_per_minute, namespace="writes")
        self._sign_ins = RateLimitItemPerMinute(settings.sign_ins_per_minute, namespace="sign-ins")
        self._guesses = RateLimitItemPerMinute(settings.sign_ins_per_name, 15, namespace="guesses")
        self._sign_ups = RateLimitItemPerHour(settings.sign_ups_per_hour, namespace="sign-ups")

    def write(self, request: Request) -> None:
        """One more changing request. Raises OverQuota, as all of these."""
        self._spend(self._writes, address(request), "changes from one address", "a minute")

    def sign_in(self, request: Request, name: str) -> None:
        """One more try at a password."""
        self._spend(self._sign_ins, address(request), "tries to sign in from one address", "a minute")
        self._spend(self._guesses, name.lower(), "tries to sign in by one name", "in a quarter of an hour")

    def signed_in(self, name: str) -> None:
        """The password was right."""
        self._ask(lambda limiter: limiter.clear(self._guesses, name.lower()))

    def sign_up(self, request: Request) -> None:
        """One more account."""
        self._spend(self._sign_ups, address(request), "new accounts from one address", "an hour")

    def _spend(self, item: RateLimitItem, key: str, what: str, window: str) -> None:
        if self._ask(lambda limiter: limiter.hit(item, key)):
            return
        stats = self._ask(lambda limiter: limiter.get_window_stats(item, key))
        raise OverQuota(what, item.amount, window, max(1, math.ceil(stats.reset_time - time.time())))

    def _ask(self, question: Callable[[SlidingWindowCounterRateLimiter], _Answer]) -> _Answer:
        try:
            return question(self._shared)
        except RedisError:
            log.warning("the rate limits' Redis does not answer; this process counts alone", exc_info=True)
            return question(self._alone)


class WriteLimit:
    """Refuses an address's changing requests over its budget before anything else looks at them."""

    def __init__(self, app: ASGIApp, rates: Rates) -> None:
        self._app = app
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in SAFE:
            request = Request(scope)
            try:
                await run_in_threadpool(self._rates.write, request)
            except OverQuota as over:
                answer = await league_error(request, over)
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def address(request: Request) -> str:
    """Who asks, as limits count them. Proxies have been looked through already (`trusted_proxies`)."""
    host = request.client.host if request.client is not None else ""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:  # a Unix socket
        return host
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, IPV6_NETWORK), strict=False))
    return str(found)


def _storage(settings: Settings) -> Storage:
    if not settings.broker.startswith(REDIS):
        return MemoryStorage()
    found = storage_from_string(settings.broker, **REDIS_TIMEOUT)
    assert isinstance(found, Storage)
    return found
