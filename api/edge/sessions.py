"""A browser's session: its cookie, and protection against other sites that try to use it.

Theory of operation
-------------------
Signing in creates a row (`league.service.people.access`) and gives the browser its secret in a cookie. Scripts cannot
read it (HttpOnly), and other sites' requests do not carry it (SameSite=Lax). If the site is reached by https, the
cookie is sent over nothing else (Secure, with the prefix __Host-, so that no sister domain can set one). Signing in
always creates a new secret and revokes the one that the browser sent, so a planted cookie never becomes its victim's
session.

A request that changes something and is authenticated by the cookie must prove twice that one of our pages sent it:

* It carries the session's token, in the header `X-CSRF-Token` or the form field `csrf`. The token is a hash of the
  cookie's secret: only our pages contain it, and nothing has to be stored.
* The browser itself says that the request comes from this site, by `Sec-Fetch-Site` or, on a connection that it does
  not trust, by `Origin`. (Hence `Referrer-Policy: same-origin`: under `no-referrer` a form's Origin is null.)

Forms that need no session (signing in, signing up) need to meet only the second rule. A request with a bearer token
need not meet either, because no browser sends it behind its user's back.
"""

import hashlib
import hmac
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from deadheat.league.config import Settings
from deadheat.league.service.people.access import Issued

COOKIE = "deadheat"
SECURE_COOKIE = "__Host-deadheat"
CSRF_HEADER = "X-CSRF-Token"
CSRF_FIELD = "csrf"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

FORGED = "This request did not come from a page of this site, or the page is outdated. Reload it and try again."


def secret_of(request: Request, settings: Settings) -> str | None:
    return request.cookies.get(_name(request, settings)) or None


def csrf_of(secret: str) -> str:
    """Return the token that this session's pages put into their forms."""
    return hashlib.sha256(f"csrf {secret}".encode()).hexdigest()


def keep(response: Response, request: Request, settings: Settings, issued: Issued | None) -> None:
    """Let the browser keep the session's secret, or forget the one that it has."""
    secret, seconds = ("", 0) if issued is None else (issued.secret, settings.session_days * 86400)
    set_cookie(response, request, settings, _name(request, settings), secret, seconds)


def set_cookie(response: Response, request: Request, settings: Settings, name: str, value: str, seconds: int) -> None:
    """Set a cookie that no script can read; with 0 `seconds` the browser removes it."""
    secure = is_secure(request, settings)
    expires = None if seconds else 0
    response.set_cookie(name, value, seconds, expires, path="/", secure=secure, httponly=True, samesite="lax")


def is_secure(request: Request, settings: Settings) -> bool:
    """Say whether people reach the site by https, by the setting or else by this request."""
    return (urlsplit(settings.site_url).scheme or request.url.scheme) == "https"


def must_be_ours(request: Request, settings: Settings) -> None:
    """Raise 403 unless the browser says that a page of this site sent the request."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is None and origin is None:
        raise HTTPException(403, FORGED)
    if site is not None and site != "same-origin":
        raise HTTPException(403, FORGED)
    if origin is not None and not is_own(origin, request, settings):
        raise HTTPException(403, FORGED)


def must_match(secret: str, given: str | None) -> None:
    """Raise 403 unless `given` is the session's token."""
    if given is None or not hmac.compare_digest(csrf_of(secret).encode(), given.encode()):
        raise HTTPException(403, FORGED)


def is_own(origin: str, request: HTTPConnection, settings: Settings) -> bool:
    """Say whether the origin is this site's. If the site's address is not set, a proxy may have terminated https, so
    only the host is compared.
    """
    if settings.site_url:
        ours = urlsplit(settings.site_url)
        return origin == f"{ours.scheme}://{ours.netloc}"
    return origin.partition("://")[2] == request.headers.get("host", "") != ""


def _name(request: Request, settings: Settings) -> str:
    return SECURE_COOKIE if is_secure(request, settings) else COOKIE
