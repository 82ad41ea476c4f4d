"""Checks of the addresses to which people have the service send: the public internet, and nothing inside.

An author chooses a webhook's address, but the service runs in its operator's network. Whatever only that network can
reach (the database, the broker, a cloud's metadata, printers) must stay out of reach. So every address of a name must
be public, including embedded ones (IPv4 in IPv6, 6to4, Teredo; NAT64's are reserved, and refused).
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from deadheat.engine.language import _

MOST_URL = 500
"""The most characters of a webhook's address."""

PORTS = {"http": 80, "https": 443}

PUBLIC_PORTS = frozenset({80, 443, 8080, 8443})
"""The ports of web servers: no author has our address knock at others' databases, mail servers or shells."""

ALSO_INSIDE = (ip_network("168.63.129.16/32"), ip_network("192.88.99.0/24"))
"""Addresses that no registry calls private: the host of every machine in Azure, and the former relays of 6to4."""

NAME = re.compile(r"(?i)(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
"""A host's name. The last label begins with a letter: resolvers read 2130706433, 0x7f.1 and 127.1 as addresses."""


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of an address. `path` includes the query. `host` is a name, or an address without brackets."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the request's header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def read_url(url: str) -> Target:
    """Parse a webhook's address. Raises ValueError, whose text is the end of a sentence."""
    if len(url) > MOST_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError(_("it must be an address of at most %(most)s ASCII characters without spaces", most=MOST_URL))
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError(_("it must begin with https:// or http:// and name a host"))
    if "@" in parts.netloc:
        raise ValueError(_("it must have no user name and no password in it"))
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    host = parts.hostname.rstrip(".")
    if not _is_address(host) and not NAME.fullmatch(host):
        raise ValueError(_("its host must be a name such as hooks.example.org, or an address in its usual form"))
    try:
        port = PORTS[parts.scheme] if parts.port is None else parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError(_("its port must be a number from 1 to 65535"))
    return Target(parts.scheme, host, port, path)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_public(address: str) -> bool:
    """Say whether this is one host's address on the public internet. Raises ValueError if it is not an address."""
    ip = ip_address(address.partition("%")[0])
    embedded: tuple[IPv4Address | None, ...] = ()
    if isinstance(ip, IPv6Address):
        embedded = (ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ()))
    return all(
        form.is_global
        and not (form.is_multicast or form.is_reserved or getattr(form, "is_site_local", False))
        and not any(form in network for network in ALSO_INSIDE)
        for form in (ip, *filter(None, embedded))
    )


def is_inside(host: str) -> bool:
    """Say whether a host is certainly not public, as far as that is possible without resolving its name."""
    if host.lower().rstrip(".").rpartition(".")[2] in {"localhost", "local", "internal"}:
        return True
    try:
        return not is_public(host)
    except ValueError:
        return False


def must_be_outside(target: Target) -> None:
    """Raise ValueError, whose text is the end of a sentence, if this is certainly no public web server."""
    if is_inside(target.host):
        raise ValueError(_("its host is not on the public internet"))
    if target.port not in PUBLIC_PORTS:
        raise ValueError(_("its port must be 80, 443, 8080 or 8443"))
