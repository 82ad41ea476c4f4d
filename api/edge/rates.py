"""Rate limits: changes by address and by user, password attempts more tightly, and computed answers by address. Open
streams of server-sent events are limited by process and address; refused clients poll, like pages without streams.

Requests are counted in Redis if it is the broker (all processes then count together), otherwise in this process's
memory. An unavailable Redis must not close the site: until it is back, this process counts alone. Redis learns neither
addresses nor names: its keys are hashes, keyed with a secret from the database that workers cannot read. Each process
always counts reads alone, because asking Redis would cost more than most answers. Public pages answered from memory are
not counted.

An IPv6 address counts as its 64-bit network, which is what one customer gets. Password attempts for one name count by
address, so that guessing locks nobody else out. A second count covers all addresses together; one address cannot reach
its limit. A correct password clears both counts, so only guessing fills them. Attempts at the invitation code count in
the same way. Each process also keeps both counts for itself: emptying Redis must not give a guesser more tries.
"""

import ipaddress
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b

from limits import RateLimitItem, RateLimitItemPerDay, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.storage import MemoryStorage, storage_from_string
from limits.strategies import SlidingWindowCounterRateLimiter
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from deadheat.api.edge import Around
from deadheat.api.edge.sessions import SAFE
from deadheat.api.errors import league_error
from deadheat.engine.language import N_
from deadheat.league.config import Settings
from deadheat.league.errors import OverQuota

log = logging.getLogger(__name__)

REDIS = ("redis://", "rediss://")
REDIS_TIMEOUT = {"socket_timeout": 1, "socket_connect_timeout": 1}
IPV6_NETWORK = 64

FREE = ("/static/", "/healthz", "/readyz", "/metrics")
"""Paths whose reads are not counted: files, and a deployment's own requests, perhaps through a proxy's address."""

MACHINES = "/v1/machine/"
"""The routes of machines that play over HTTP: each slot sends two requests for each series."""

TRIES_PER_NAME = 20
"""The most wrong passwords for one name from one address in a quarter of an hour: more than anybody mistypes."""

ADDRESSES_PER_NAME = 15
"""This many addresses may each use up their tries for one name before all others must wait. 300 guesses in a quarter of
an hour find only passwords at the very top of a list, and cost an attacker this many addresses."""

INVITATION = "The invitation code"
"""The name under which attempts at it count. A person's name counts in lower case, so nobody has this one."""

MAILS_PER_HOUR = 5
"""Messages to unconfirmed addresses that one user may cause."""

MAILS_PER_ADDRESS = 3
"""Messages to one unconfirmed address that all users together may cause in a day: it may be a stranger's."""

PICTURES_PER_MINUTE = 60
"""Pictures of matches that one address may have drawn by a process: each costs as much CPU as some pages. Those that
are kept do not count."""

_Limiter = SlidingWindowCounterRateLimiter


class _Memory(MemoryStorage):
    """Counts in this process. Expired ones are removed once a minute; the library itself would start a thread for this
    after nearly every request, which reads all counts.
    """

    @property
    def timer(self) -> threading.Timer:
        return self._timer

    @timer.setter
    def timer(self, timer: threading.Timer) -> None:
        timer.interval, timer.daemon = 60.0, True  # the process may end meanwhile
        self._timer = timer


class Rates:
    """Counts requests against the limits of one deployment."""

    def __init__(self, settings: Settings, secret: Callable[[], str]) -> None:
        """`secret` returns the same for all processes, at most 64 characters; it is called only if Redis counts."""
        self._secret = cache(secret)
        self._alone = _Limiter(_Memory())
        together = settings.broker.startswith(REDIS)
        self._shared = _Limiter(storage_from_string(settings.broker, **REDIS_TIMEOUT) if together else _Memory())
        self._floor = _Limiter(_Memory())
        self._reads = RateLimitItemPerMinute(settings.reads_per_minute, namespace="reads")
        self._pictures = RateLimitItemPerMinute(PICTURES_PER_MINUTE, namespace="pictures")
        self._writes = RateLimitItemPerMinute(settings.writes_per_minute, namespace="writes")
        self._writes_by = RateLimitItemPerMinute(settings.writes_per_minute, namespace="writes-by")
        self._sign_ins = RateLimitItemPerMinute(settings.sign_ins_per_minute, namespace="sign-ins")
        self._guesses = RateLimitItemPerMinute(TRIES_PER_NAME, 15, namespace="guesses")
        self._all_guesses = RateLimitItemPerMinute(ADDRESSES_PER_NAME * TRIES_PER_NAME, 15, namespace="all-guesses")
        self._mails = RateLimitItemPerHour(MAILS_PER_HOUR, namespace="mails")
        self._mails_to = RateLimitItemPerDay(MAILS_PER_ADDRESS, namespace="mails-to")
        self._sign_ups = RateLimitItemPerHour(settings.sign_ups_per_hour, namespace="sign-ups")

    def write(self, request: Request) -> None:
        self._spend(self._writes, address(request), N_("changes from one address"), N_("a minute"))

    async def limit_writes(self, request: Request) -> None:
        """Count a request if it changes something. A machine's, with a token of its own, costs no more than a read."""
        if request.scope["path"].startswith(MACHINES):
            self.read(request)
        elif request.method not in SAFE:
            await run_in_threadpool(self.write, request)

    async def limit_reads(self, request: Request) -> None:
        """Count a request if it reads what must be computed."""
        if request.method in SAFE and not request.scope["path"].startswith((*FREE, MACHINES)):
            self.read(request)

    def write_by(self, request: Request, user_id: int) -> None:
        """Count a user's request, whatever its address; only changing requests count."""
        if request.method not in SAFE:
            self.message_by(user_id)

    def message_by(self, user_id: int) -> None:
        """Count a change by a user."""
        self._spend(self._writes_by, str(user_id), N_("changes by one user"), N_("a minute"))

    def read(self, request: HTTPConnection) -> None:
        _hit(self._alone, self._reads, address(request), N_("requests from one address"), N_("a minute"))

    def picture(self, request: Request) -> None:
        _hit(self._alone, self._pictures, address(request), N_("requests from one address"), N_("a minute"))

    def sign_in(self, request: Request, name: str) -> None:
        """Count an attempt at a password."""
        self._spend(self._sign_ins, address(request), N_("sign-in attempts from one address"), N_("a minute"))
        from_one, from_all = N_("sign-in attempts for one name"), N_("sign-in attempts for one name from everywhere")
        self._guess(request, name.lower(), from_one, from_all)

    def signed_in(self, request: Request, name: str) -> None:
        """Clear the counts of wrong passwords."""
        self._guessed(request, name.lower())

    def provider(self, request: Request) -> None:
        """Count an answer that a browser brings from the OpenID provider; checking it costs a request there."""
        self._spend(self._sign_ins, address(request), N_("sign-in attempts from one address"), N_("a minute"))

    def sign_up(self, request: Request, code: str = "") -> None:
        """Count a new account, and an attempt at the invitation code if there is one."""
        self._spend(self._sign_ups, address(request), N_("new accounts from one address"), N_("an hour"))
        if code:
            self._guess(request, INVITATION, *[N_("attempts at the invitation code")] * 2)

    def invited(self, request: Request) -> None:
        """Clear the counts of wrong invitation codes."""
        self._guessed(request, INVITATION)

    def confirmation(self, user_id: int, mail_address: str) -> None:
        """Count a message that a user has sent to an address that may not be theirs."""
        self._spend(self._mails, str(user_id), N_("messages to confirm an address"), N_("an hour"))
        # Many providers deliver to one mailbox whatever the case and the dots, and what follows a `+`.
        name, _, domain = mail_address.lower().rpartition("@")
        mailbox = f"{name.partition('+')[0].replace('.', '')}@{domain}"
        self._spend(self._mails_to, mailbox, N_("messages to confirm this address"), N_("a day"))

    def forgotten(self, request: Request, name: str) -> None:
        """Count a request for a password reset link, whether or not an account has that name."""
        self._spend(self._sign_ups, address(request), N_("requests from one address"), N_("an hour"))
        self._spend(self._mails, f"name {name.lower()}", N_("requests for one name"), N_("an hour"))

    def _guess(self, request: Request, whose: str, from_one: str, from_all: str) -> None:
        quarter = N_("in a quarter of an hour")
        for (item, key), what in zip(self._counts(request, whose), (from_one, from_all), strict=True):
            _hit(self._floor, item, key, what, quarter)
            self._spend(item, key, what, quarter)

    def _guessed(self, request: Request, whose: str) -> None:
        for item, key in self._counts(request, whose):
            self._floor.clear(item, key)
            self._ask(_Limiter.clear, item, key)

    def _counts(self, request: Request, whose: str) -> tuple[tuple[RateLimitItem, str], ...]:
        return (self._guesses, f"{address(request)} {whose}"), (self._all_guesses, whose)

    def _spend(self, item: RateLimitItem, key: str, what: str, window: str) -> None:
        self._ask(_hit, item, key, what, window)

    def _ask(self, question: Callable[..., None], item: RateLimitItem, key: str, *words: str) -> None:
        try:
            question(self._shared, item, self._hidden(key), *words)
        except (RedisError, SQLAlchemyError):
            log.warning("the rate limits' Redis or database does not answer; this process counts alone", exc_info=True)
            question(self._alone, item, key, *words)

    def _hidden(self, key: str) -> str:
        if isinstance(self._shared.storage, MemoryStorage):
            return key
        return blake2b(key.encode("utf-8", "surrogatepass"), key=self._secret().encode(), digest_size=16).hexdigest()


def _hit(limiter: _Limiter, item: RateLimitItem, key: str, what: str, window: str) -> None:
    if not limiter.hit(item, key):
        seconds = limiter.get_window_stats(item, key).reset_time - time.time()
        raise OverQuota(what, item.amount, window, max(1, math.ceil(seconds)))


class Limit(Around):
    """Refuses requests from an address that has used up a budget."""

    def __init__(self, app: ASGIApp, count: Callable[[Request], Awaitable[None]]) -> None:
        super().__init__(app)
        self._count = count

    async def request(self, scope: Scope, receive: Receive, send: Send) -> None:
        answering, request = self._app, Request(scope)
        try:
            await self._count(request)
        except OverQuota as over:
            answering = await league_error(request, over)
        await answering(scope, receive, send)


def address(request: HTTPConnection) -> str:
    """Return the client's address as limits count it. Trusted proxies are already resolved (`trusted_proxies`)."""
    return counted_as(host_of(request))


def host_of(request: HTTPConnection) -> str:
    """Return the client's address; empty for a Unix socket."""
    return request.client.host if request.client is not None else ""


def counted_as(host: str) -> str:
    """Return the address, or for IPv6 its 64-bit network."""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:  # a Unix socket
        return host
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((ip, IPV6_NETWORK), strict=False))
    return str(ip)


SHARE = 2
"""One address has at most half of all streams, because a whole hall may have one."""


class Streams:
    """Open streams of one kind, in the event loop's thread. `retry_seconds`: when a refused client may try again."""

    def __init__(self, most: int, retry_seconds: int) -> None:
        self._most = most
        self._retry = {"Retry-After": str(retry_seconds)}
        self._open = Counter[str]()

    @property
    def total(self) -> int:
        return self._open.total()

    def check(self, request: HTTPConnection) -> None:
        """Raise HTTPException 429 if there is no room for another stream of this address."""
        if self.total >= self._most:
            raise HTTPException(429, "Too many clients are watching already; poll instead.", self._retry)
        if self._open[address(request)] >= self._most // SHARE:
            refusal = "Too many clients are watching from your address already; poll instead."
            raise HTTPException(429, refusal, self._retry)

    @contextmanager
    def taken(self, request: HTTPConnection) -> Iterator[None]:
        """Count one more stream inside the block."""
        asker = address(request)
        self._open[asker] += 1
        try:
            yield
        finally:
            self._open[asker] -= 1
            if not self._open[asker]:
                del self._open[asker]
