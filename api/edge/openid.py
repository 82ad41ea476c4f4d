"""Signing in through the OpenID Connect provider that the operator has set: the code flow with PKCE.

Theory of operation
-------------------
A browser that is sent to the provider gets a cookie with a random secret and what it is about to do (`Flow`). State,
nonce and PKCE's verifier are HMACs of that by that secret, so an answer fits only the browser, and only the act, that
asked for it; nothing is kept here. The cookie is used once. What an answer says is believed when

* its state is the cookie's, and `iss`, if it is there, is our provider (RFC 9207: no mix-up of two),
* the provider gives an ID token for the code, over a connection that we opened, and
* that token is signed by one of the provider's keys with one of `ALGORITHMS`, which are asymmetric, comes from the
  issuer, is for this client, has not expired, and carries the cookie's nonce.

Of the token only issuer and subject are used. An e-mail address in it says nothing about who somebody is here.

Requests go to the issuer, and to addresses that its own document names: on its origin, or elsewhere by https and not
inside the operator's network. No redirect is followed, answers are bounded, and the document and the keys are kept for
`KEPT_SECONDS`; keys are asked for again when a token names an unknown one, at most every `AGAIN_SECONDS`.

This module is imported only where a provider is set, and it alone imports the library that reads tokens.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal
from urllib.parse import quote_plus, urlencode, urlsplit

import urllib3
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, KeySet
from joserfc.jws import JWSRegistry
from urllib3.exceptions import HTTPError

from deadheat.league.config import Settings
from deadheat.league.errors import ProviderAway, ProviderRefused
from deadheat.league.outgoing import is_inside

CALLBACK = "/sign-in/openid/callback"

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
"""None of them is symmetric: a public key can never pass for a shared secret."""

KEPT_SECONDS = 3600.0
AGAIN_SECONDS = 60.0
LEEWAY_SECONDS = 60
"""By so much the provider's clock may differ from ours."""

TIMEOUT = urllib3.Timeout(connect=5.0, read=5.0)
MOST_BYTES = 256 * 1024
"""Of an answer of the provider's."""

MOST_COOKIE = 3000
MOST_SUBJECT = 255  # OpenID Connect Core 1.0, section 2


@dataclass(frozen=True, slots=True)
class Flow:
    """What a browser went to the provider for. `name` and `code`: of a new account; `user_id`: who links theirs."""

    act: Literal["in", "up", "link"]
    back: str
    name: str = ""
    code: str = ""
    user_id: int = 0
    secret: str = ""

    @classmethod
    def begun(cls, act: Literal["in", "up", "link"], back: str, **more: Any) -> Flow:
        """A new one."""
        return cls(act, back, secret=secrets.token_urlsafe(32), **more)

    @classmethod
    def read(cls, cookie: str) -> Flow:
        """What the browser brings back. Raises ProviderRefused: nothing, or not what we gave it."""
        try:
            given: Any = json.loads(base64.urlsafe_b64decode(cookie + "==")) if len(cookie) <= MOST_COOKIE else None
            flow = cls(**given)
        except (ValueError, TypeError) as error:
            raise ProviderRefused(EXPIRED) from error
        texts = (flow.act, flow.back, flow.name, flow.code, flow.secret)
        if not all(isinstance(text, str) for text in texts) or type(flow.user_id) is not int or len(flow.secret) < 43:
            raise ProviderRefused(EXPIRED)
        return flow

    @property
    def cookie(self) -> str:
        """What `read` reads."""
        return _base64(json.dumps(asdict(self)).encode())

    @property
    def state(self) -> str:
        """Proves that an answer belongs to this browser and this act."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """Proves that an ID token was made for it."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """PKCE's: of 43 characters, the fewest that there may be."""
        return self._derived("verifier")

    def _derived(self, what: str) -> str:
        about = json.dumps([what, self.act, self.back, self.name, self.code, self.user_id])
        return _base64(hmac.digest(self.secret.encode(), about.encode(), "sha256"))


EXPIRED = "This sign-in has expired, or belongs to another browser. Begin again."
REFUSED = "The provider's answer cannot be trusted. Begin again; if it happens again, tell the operator."


class Provider:
    """The provider that the settings name."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._clock = clock
        self._http = urllib3.PoolManager(timeout=TIMEOUT, retries=False, maxsize=4)
        self._asking = threading.Lock()
        self._document: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    @property
    def issuer(self) -> str:
        """As tokens name it."""
        return self._settings.openid_issuer

    @property
    def host(self) -> str:
        """As people are told of it."""
        return urlsplit(self.issuer).netloc

    @property
    def _callback(self) -> str:
        return self._settings.site_url.rstrip("/") + CALLBACK

    def address(self, flow: Flow) -> str:
        """Where the browser goes. Raises ProviderAway, ProviderRefused."""
        where = self._endpoint("authorization_endpoint")
        asked = {
            "response_type": "code",
            "scope": "openid",
            "client_id": self._settings.openid_client_id,
            "redirect_uri": self._callback,
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": _base64(hashlib.sha256(flow.verifier.encode()).digest()),
            "code_challenge_method": "S256",
        }
        return f"{where}{'&' if urlsplit(where).query else '?'}{urlencode(asked)}"

    def subject(self, flow: Flow, answer: Mapping[str, str]) -> str:
        """Who the browser that brings this answer is, in the provider's terms.

        Raises:
            ProviderRefused: the answer is not one to this flow, or the provider refused.
            ProviderAway.
        """
        if not hmac.compare_digest(answer.get("state", "").encode(), flow.state.encode()):
            raise ProviderRefused(EXPIRED)
        if answer.get("iss", self.issuer) != self.issuer:
            raise ProviderRefused(REFUSED)
        if not (code := answer.get("code")):
            raise ProviderRefused("The provider did not let you in. Begin again, or sign in with a password.")
        return self._subject_of(self._token(code, flow), flow)

    def _token(self, code: str, flow: Flow) -> str:
        settings = self._settings
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._callback,
            "client_id": settings.openid_client_id,
            "code_verifier": flow.verifier,
        }
        headers = {}
        ways = self._discovered().get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if settings.openid_client_secret and "client_secret_basic" in ways:
            both = f"{quote_plus(settings.openid_client_id)}:{quote_plus(settings.openid_client_secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(both.encode()).decode()}"
        elif settings.openid_client_secret:
            form["client_secret"] = settings.openid_client_secret
        token = self._asked("POST", self._endpoint("token_endpoint"), form, headers).get("id_token")
        if not isinstance(token, str):
            raise ProviderRefused(REFUSED)
        return token

    def _subject_of(self, token: str, flow: Flow) -> str:
        try:
            claims = self._verified(token)
            ours = self._settings.openid_client_id
            jwt.JWTClaimsRegistry(
                now=int(self._clock()),
                leeway=LEEWAY_SECONDS,
                iss={"essential": True, "value": self.issuer},
                aud={"essential": True, "value": ours},
                exp={"essential": True},
                iat={"essential": True},
                sub={"essential": True},
                nonce={"essential": True, "value": flow.nonce},
            ).validate(claims)
        except (JoseError, ValueError, TypeError) as error:
            raise ProviderRefused(REFUSED) from error
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if several else ours) != ours or len(claims["sub"]) > MOST_SUBJECT:
            raise ProviderRefused(REFUSED)
        return str(claims["sub"])

    def _verified(self, token: str) -> dict[str, Any]:
        """The claims of a token that one of the provider's keys has signed. Raises JoseError, ValueError."""
        registry = JWSRegistry(algorithms=ALGORITHMS)
        try:
            return jwt.decode(token, self._key_set(KEPT_SECONDS), ALGORITHMS, registry).claims
        except (JoseError, ValueError):
            keys, newer = self._key_set(KEPT_SECONDS), self._key_set(AGAIN_SECONDS)
            if newer is keys:
                raise
            return jwt.decode(token, newer, ALGORITHMS, registry).claims

    # What the provider says of itself ---------------------------------------------------------------------------------

    def _discovered(self) -> dict[str, Any]:
        with self._asking:
            if self._document is None or self._clock() - self._document[0] > KEPT_SECONDS:
                found = self._asked("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
                if found.get("issuer") != self.issuer:
                    raise ProviderRefused("The provider calls itself by another name than the operator's setting.")
                self._document = (self._clock(), found)
            return self._document[1]

    def _key_set(self, seconds: float) -> KeySet:
        """The provider's keys, not older than that."""
        where = self._endpoint("jwks_uri")
        with self._asking:
            if self._keys is None or self._clock() - self._keys[0] > seconds:
                listed = self._asked("GET", where).get("keys")
                if not isinstance(listed, list):
                    raise ProviderRefused(REFUSED)
                usable = [key for key in listed if isinstance(key, dict) and key.get("kty") in {"RSA", "EC"}]
                keys = [JWKRegistry.import_key(key) for key in usable if key.get("use", "sig") == "sig"]
                self._keys = (self._clock(), KeySet(keys))
            return self._keys[1]

    def _endpoint(self, name: str) -> str:
        """An address from the provider's document. Raises ProviderRefused: we do not go there."""
        where = self._discovered().get(name)
        if not isinstance(where, str):
            raise ProviderRefused(REFUSED)
        parts, ours = urlsplit(where), urlsplit(self.issuer)
        elsewhere = (parts.scheme, parts.netloc) != (ours.scheme, ours.netloc)
        if elsewhere and (parts.scheme != "https" or not parts.hostname or is_inside(parts.hostname)):
            raise ProviderRefused(REFUSED)
        return where

    def _asked(
        self, method: str, where: str, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The provider's JSON. Raises ProviderAway, ProviderRefused."""
        body = None if form is None else urlencode(form)
        sent = {"Accept": "application/json", "User-Agent": "Deadheat", **(headers or {})}
        if body is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            answer = self._http.request(method, where, body=body, headers=sent, redirect=False, preload_content=False)
            content = answer.read(MOST_BYTES + 1)
            answer.close()
        except HTTPError as error:
            raise ProviderAway from error
        if answer.status >= 500:
            raise ProviderAway
        try:
            found = json.loads(content) if answer.status == 200 and len(content) <= MOST_BYTES else None
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ProviderRefused(REFUSED)
        return found


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
