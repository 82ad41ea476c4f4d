"""Sends one request to an address that an author chose, from inside the operator's network.

Theory of operation
-------------------
The host's name is resolved once. All its addresses must be public (`league.outgoing`), and the connection is made to
exactly one of them: the name's server cannot answer with another one later (DNS rebinding). TLS is checked against the
name. No redirect is followed, no proxy is used and no cookie is kept. The whole request, from the connection to the
last byte read, ends after `TOTAL_SECONDS`: time-outs of single reads would let a server that sends a byte now and then
hold the process for hours, so a timer shuts the socket down. Of the answer only its status is read.
The webhook's owner learns that, or that there was no HTTP answer, but not why: the service is no scanner of ports.
"""

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence

from deadheat.league.outgoing import Target, is_public, must_be_outside, read_url

CONNECT_SECONDS = 5.0
TOTAL_SECONDS = 15.0
MOST_ADDRESSES = 3
"""The most addresses of one name to try: a host may have one that cannot be reached from here, such as IPv6."""

NOT_PUBLIC = "The host has no address on the public internet, so nothing was sent."
"""Names without any address get the same sentence, so that authors cannot learn which names exist inside."""

NO_ANSWER = "No HTTP answer came: the host, port or certificate may be wrong, or it took too long."


class NotReached(Exception):
    """The request was not made or not answered. The text is a sentence for the owner of the webhook."""


def post(url: str, body: bytes, headers: Mapping[str, str], *, inside: bool) -> int:
    """Post the body to the address, and return the answer's status. `inside`: allow addresses that are not public.
    Raises NotReached.
    """
    try:
        target = read_url(url)
        if not inside:
            must_be_outside(target)
    except ValueError as error:
        raise NotReached(f"The address is not accepted: {error}.") from error
    addresses = _checked_addresses(target, inside)
    try:
        with _connected(addresses, target.port) as plain, plain.dup() as same:  # TLS takes `plain`'s descriptor away
            timer = threading.Timer(TOTAL_SECONDS, _shut_down, [same])
            timer.daemon = True
            timer.start()
            try:
                return _exchange(plain, target, body, headers)
            finally:
                timer.cancel()
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotReached(NO_ANSWER) from error


def _checked_addresses(target: Target, inside: bool) -> list[str]:
    """Return the addresses to connect to, in the resolver's order. Raises NotReached."""
    try:
        answers = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotReached(NOT_PUBLIC) from error
    addresses = [str(where[0]) for *_, where in answers]
    if not inside and not all(map(is_public, addresses)):
        raise NotReached(NOT_PUBLIC)
    return addresses[:MOST_ADDRESSES]


def _connected(addresses: Sequence[str], port: int) -> socket.socket:
    """Connect to the first address that accepts. Raises the last address's OSError if none does."""
    *others, last = addresses
    for address in others:
        with contextlib.suppress(OSError):
            return socket.create_connection((address, port), CONNECT_SECONDS)
    return socket.create_connection((last, port), CONNECT_SECONDS)


def _exchange(plain: socket.socket, target: Target, body: bytes, headers: Mapping[str, str]) -> int:
    connection = http.client.HTTPConnection(target.host, target.port)
    if target.scheme == "https":
        connection.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=target.host)
    else:
        connection.sock = plain
    with contextlib.closing(connection):
        sent = {"Host": target.authority, "Connection": "close", "User-Agent": "Deadheat", **headers}
        connection.request("POST", target.path, body, sent)
        return connection.getresponse().status


def _shut_down(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
