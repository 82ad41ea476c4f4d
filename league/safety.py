"""Finds settings that are unsafe in production, with the reason and the remedy.

`unsafe_settings` is a pure function of the settings, so every part of a deployment refuses to start with the same
settings, and the doctor reports them. `DEADHEAT_ENVIRONMENT=production` refuses all of them. Settings that let a
stranger run programs on the host are refused in development, too. The next release will also refuse what `plain_text`
finds; until then production only warns.
"""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from deadheat.league.config import Settings

SHORTEST_PASSWORD = 12
WELL_KNOWN = (
    "admin",
    "changeme",
    "deadheat",
    "default",
    "example",
    "league",
    "password",
    "postgres",
    "redis",
    "secret",
)
"""Words that a password must not consist of, apart from digits and the marks !, - and _ at its ends: those of examples
and of other software's defaults.
"""

ENCRYPTED = ("verify-ca", "verify-full", "rediss", "smtps", "smtp+starttls")
"""The values of `sslmode` and the schemes that allow only TLS and check the certificate; `require` checks none."""

ENCRYPT = {
    "DATABASE": "Add `?sslmode=verify-full&sslrootcert=FILE`",
    "BROKER": "Use `rediss://...?ssl_ca_certs=FILE`",
    "SMTP": "Use `smtps://` or `smtp+starttls://`",
}
"""How each server is spoken to by TLS."""


@dataclass(frozen=True, slots=True)
class Unsafe:
    """One unsafe setting. `setting`: its variable; `always`: it is unsafe in development, too."""

    setting: str
    why: str
    mend: str
    always: bool = False

    def __str__(self) -> str:
        return f"{self.setting}: {self.why} {self.mend}"


def unsafe_settings(settings: Settings) -> list[Unsafe]:
    """Return all settings with which the service must not start. It is empty if none is known to be unsafe."""
    return [unsafe for unsafe in _unsafe(settings) if unsafe.always or settings.environment == "production"]


def plain_text(settings: Settings) -> Iterator[Unsafe]:
    """Yield the settings by which others on the network can read what goes to another host, secrets included."""
    for name, cure in ENCRYPT.items():
        parts = urlsplit(getattr(settings, f"{name.lower()}_url"))
        options = dict(parse_qsl(parts.query))
        unchecked = options.get("sslmode") == "require" or "none" in options.get("ssl_cert_reqs", "").lower()
        if not unchecked and (options.get("sslmode") in ENCRYPTED or parts.scheme in ENCRYPTED):
            continue
        for host in filter(None, (options.get("host") or parts.hostname or "").split(",")):
            if not (host.startswith("/") or is_loopback(host) or host in settings.plain_text_at):
                mend = f"{cure}, or name {host} in DEADHEAT_PLAIN_HOSTS if nobody can listen in between. "
                mend += "The next release will refuse this."
                how = "without a check of its certificate" if unchecked else "in plain text, passwords included"
                yield Unsafe(f"DEADHEAT_{name}_URL", f"{host} is spoken to {how}.", mend)


def refusal(settings: Settings) -> str | None:
    """Return why the service must not start, as text for the operator, or None if it may."""
    faults = unsafe_settings(settings)
    if not faults:
        return None
    how = " in production" if settings.environment == "production" else ""
    listed = "\n".join(f"  {unsafe}" for unsafe in faults)
    return f"these settings are not safe{how}, so nothing was started:\n{listed}"


def _unsafe(settings: Settings) -> Iterator[Unsafe]:
    if settings.sandbox == "local":
        reached = not is_loopback(settings.host)
        yield Unsafe(
            "DEADHEAT_SANDBOX",
            f"bots run without isolation, and anyone who reaches {settings.host} may upload one."
            if reached
            else "bots run without isolation.",
            "Use `docker`, or listen on 127.0.0.1 alone." if reached else "Use `docker`.",
            always=reached,
        )
    yield from _secrets(settings)
    site = urlsplit(settings.site_url)
    is_closed = site.scheme == "http" and site.hostname in settings.plain_text_at  # in a network that nobody taps
    if site.scheme != "https" and not is_closed:
        yield Unsafe(
            "DEADHEAT_SITE_URL",
            "passwords and cookies would go over the network as plain text.",
            "Set the https address at which your proxy serves the site, or in a closed network an http address with "
            "its host in DEADHEAT_PLAIN_HOSTS.",
        )
    if "*" in settings.trusted_proxies or "/0" in settings.trusted_proxies.replace(" ", ""):
        yield Unsafe(
            "DEADHEAT_TRUSTED_PROXIES",
            "anyone could claim any address and evade every limit by address.",
            "Name the proxies' own addresses.",
        )
    elif not settings.trusted_proxies and not is_closed:
        yield Unsafe(
            "DEADHEAT_TRUSTED_PROXIES",
            "everybody would appear under the https proxy's address and share one address's limits.",
            "Name the proxy's address.",
        )
    if any(network.prefixlen == 0 for network in settings.metrics_from):
        yield Unsafe(
            "DEADHEAT_METRICS_NETWORKS",
            "everybody could read the names and states of your machines.",
            "Name the network that Prometheus is in.",
        )
    if settings.broker_url and settings.database.startswith("sqlite"):
        yield Unsafe(
            "DEADHEAT_DATABASE_URL",
            "machines cannot share an SQLite file, and a separate broker implies several machines.",
            "Use PostgreSQL.",
        )
    if settings.log_level == "DEBUG":
        yield Unsafe(
            "DEADHEAT_LOG_LEVEL",
            "DEBUG logs what bots read and write, including the dice of matches in progress.",
            "Use INFO.",
        )


def _secrets(settings: Settings) -> Iterator[Unsafe]:
    """Check the passwords of the servers that hold everything (database) or decide what workers do (broker)."""
    for name, url in (("DATABASE", settings.database_url), ("BROKER", settings.broker_url)):
        parts = urlsplit(url)
        if parts.hostname is None or (name == "BROKER" and is_loopback(parts.hostname)):
            continue  # a file, a socket, or a Redis on this machine, which is as safe as the machine
        weakness = _weakness(unquote(parts.password or ""), unquote(parts.username or ""))
        if weakness:
            yield Unsafe(
                f"DEADHEAT_{name}_URL",
                f"its password {weakness}.",
                f"Give {parts.hostname} a random one of {SHORTEST_PASSWORD} characters or more.",
            )


def _weakness(password: str, user: str) -> str:
    """Say what is wrong with a password for programs; empty if nothing is."""
    plain = password.lower()
    if not password:
        return "is empty"
    if plain == user.lower() or any(plain.strip("0123456789!-_") == word for word in WELL_KNOWN):
        return "is a well-known one"
    return "is too short" if len(password) < SHORTEST_PASSWORD else ""


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach a server that listens at this address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
