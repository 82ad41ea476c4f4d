"""How often something may be asked for: by address and by user for everything that changes, tighter where passwords
are tried; by address for what has to be worked out to be read.

Counted in Redis where that is the broker (all processes then count together), else in this process's memory. A Redis
that is away must not close the site: this process counts by itself until it is back. What is read is always counted by
the process alone, for a question to Redis would cost more than most answers; what everyone sees and is in memory is
not counted at all.

An IPv6 address counts as its network of 64 bits, which is what one customer has. Passwords tried for one name count
by address, so that nobody keeps others out by guessing; those from everywhere count together only up to a number that
one address cannot reach. A right password clears both counts, so only guessing fills them.
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

from api.edge.sessions import SAFE
from api.errors import league_error
from league.config import Settings
from league.errors import OverQuota

log = logging.getLogger(__name__)

REDIS = ("redis://", "rediss://")
REDIS_TIMEOUT = {"socket_timeout": 1, "socket_connect_timeout": 1}
IPV6_NETWORK = 64

FREE = ("/static/", "/healthz", "/readyz", "/metrics")
"""Reading these is not counted: files, and what a deployment asks of itself, maybe through a proxy's address."""

TRIES = "sign-in attempts for one name"

TRIES_PER_NAME = 20
"""Most wrong passwords for one name from one address in a quarter of an hour: more than anybody mistypes."""

ADDRESSES_PER_NAME = 15
"""So many addresses may each use up their tries for one name before all others have to wait. 300 guesses in a quarter
of an hour find no password that is not among the very first of a list, and cost an attacker as many addresses.
"""

_Limiter = SlidingWindowCounterRateLimiter
_Answer = TypeVar("_Answer")


class Rates:
    """The limits of one deployment."""

    def __init__(self, settings: Settings) -> None:
        self._alone = _Limiter(MemoryStorage())
        self._shared = _Limiter(_storage(settings))
        self._reads = RateLimitItemPerMinute(settings.reads_per_minute, namespace="reads")
        self._writes = RateLimitItemPerMinute(settings.writes_per_minute, namespace="writes")
        self._writes_by = RateLimitItemPerMinute(settings.writes_per_minute, namespace="writes-by")
        self._sign_ins = RateLimitItemPerMinute(settings.sign_ins_per_minute, namespace="sign-ins")
        self._guesses = RateLimitItemPerMinute(TRIES_PER_NAME, 15, namespace="guesses")
        self._all_guesses = RateLimitItemPerMinute(ADDRESSES_PER_NAME * TRIES_PER_NAME, 15, namespace="all-guesses")
        self._sign_ups = RateLimitItemPerHour(settings.sign_ups_per_hour, namespace="sign-ups")

    def write(self, request: Request) -> None:
        """One more changing request. Raises OverQuota, as all of these."""
        self._spend(self._writes, address(request), "changes from one address", "a minute")

    def write_by(self, request: Request, user_id: int) -> None:
        """A request of somebody who is known, from wherever; only those that change something count."""
        if request.method not in SAFE:
            self._spend(self._writes_by, str(user_id), "changes by one user", "a minute")

    def read(self, request: Request) -> None:
        """One more answer that has to be worked out."""
        if not self._alone.hit(self._reads, address(request)):
            raise self._over(self._alone, self._reads, address(request), "requests from one address", "a minute")

    def sign_in(self, request: Request, name: str) -> None:
        """One more try at a password."""
        self._spend(self._sign_ins, address(request), "sign-in attempts from one address", "a minute")
        self._spend(self._guesses, _by_name(request, name), TRIES, "in a quarter of an hour")
        self._spend(self._all_guesses, name.lower(), f"{TRIES} from everywhere", "in a quarter of an hour")

    def signed_in(self, request: Request, name: str) -> None:
        """The password was right."""
        self._ask(lambda limiter: limiter.clear(self._guesses, _by_name(request, name)))
        self._ask(lambda limiter: limiter.clear(self._all_guesses, name.lower()))

    def sign_up(self, request: Request) -> None:
        """One more account."""
        self._spend(self._sign_ups, address(request), "new accounts from one address", "an hour")

    def _spend(self, item: RateLimitItem, key: str, what: str, window: str) -> None:
        if self._ask(lambda limiter: limiter.hit(item, key)):
            return
        raise self._ask(lambda limiter: self._over(limiter, item, key, what, window))

    @staticmethod
    def _over(limiter: _Limiter, item: RateLimitItem, key: str, what: str, window: str) -> OverQuota:
        stats = limiter.get_window_stats(item, key)
        return OverQuota(what, item.amount, window, max(1, math.ceil(stats.reset_time - time.time())))

    def _ask(self, question: Callable[[_Limiter], _Answer]) -> _Answer:
        try:
            return question(self._shared)
        except RedisError:
            log.warning("the rate limits' Redis does not answer; this process counts alone", exc_info=True)
            return question(self._alone)


class _Limit:
    """Refuses an address's requests over a budget."""

    def __init__(self, app: ASGIApp, rates: Rates) -> None:
        self._app = app
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answering = self._app
        if scope["type"] == "http":
            request = Request(scope)
            try:
                await self._count(request)
            except OverQuota as over:
                answering = await league_error(request, over)
        await answering(scope, receive, send)

    async def _count(self, request: Request) -> None:
        raise NotImplementedError


class WriteLimit(_Limit):
    """Refuses an address's changing requests over its budget before anything else looks at them."""

    async def _count(self, request: Request) -> None:
        if request.method not in SAFE:
            await run_in_threadpool(self._rates.write, request)


class ReadLimit(_Limit):
    """Refuses an address's reading requests over its budget; stands behind all that answers from memory."""

    async def _count(self, request: Request) -> None:
        if request.method in SAFE and not request.scope["path"].startswith(FREE):
            self._rates.read(request)


def _by_name(request: Request, name: str) -> str:
    return f"{address(request)} {name.lower()}"


def address(request: Request) -> str:
    """Who asks, as limits count them. Proxies have been looked through already (`trusted_proxies`)."""
    return counted_as(request.client.host if request.client is not None else "")


def counted_as(host: str) -> str:
    """The address, or the network that one customer has."""
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
