"""Sign-in through the OpenID Connect provider that the operator configured: the code flow with PKCE.

Theory of operation
-------------------
An answer from the provider is trusted if

* its state is that of the browser's cookie (`api.edge.flow`), and `iss`, if present, names our provider (RFC 9207,
  against mix-up attacks),
* the provider gives an ID token for the code, over a connection that we opened, and
* that token is signed by one of the provider's keys with one of `ALGORITHMS`, which are asymmetric, comes from the
  issuer, is for this client, has not expired, and carries the cookie's nonce.

Only the token's issuer and subject are used. An e-mail address in it identifies nobody here.

Requests go to the issuer, and to addresses that its own document names: on its origin, or elsewhere by https and not
inside the operator's network. No redirect is followed, answers are bounded, and the document and the keys are kept for
`KEPT_SECONDS`; keys are fetched again when a token names an unknown one, at most every `AGAIN_SECONDS`.

This module is imported only if a provider is configured, and no other module imports the library that reads tokens.
"""

import base64
import contextlib
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import urllib3
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, KeySet
from joserfc.jws import JWSRegistry
from urllib3.exceptions import HTTPError

from deadheat.api.edge.flow import EXPIRED, Flow, base64url
from deadheat.api.schemas import is_plain
from deadheat.engine.language import N_, _, gettext
from deadheat.league.config import Settings
from deadheat.league.errors import ProviderAway, ProviderRefused
from deadheat.league.outgoing import is_inside

CALLBACK = "/sign-in/openid/callback"

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
"""None of them is symmetric, so a public key can never pass for a shared secret."""

KEPT_SECONDS = 3600.0
AGAIN_SECONDS = 60.0
AWAY_SECONDS = 10.0
"""How long a provider that did not answer is left alone."""

WAIT_SECONDS = 2.0
"""How long a request waits for another request's query to the provider. It holds one of the API's threads meanwhile."""

LEEWAY_SECONDS = 60
"""How much the provider's clock may differ from ours."""

TIMEOUT = urllib3.Timeout(connect=5.0, read=5.0)
MOST_BYTES = 256 * 1024
MOST_SUBJECT = 255  # OpenID Connect Core 1.0, section 2

REFUSED = N_("The provider's answer cannot be trusted. Begin again; if it happens again, tell the operator.")


class Provider:
    """The provider named in the settings."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._clock = clock
        self._http = urllib3.PoolManager(timeout=TIMEOUT, retries=False, maxsize=4)
        self._asking = threading.Lock()
        self._known: dict[str, tuple[float, Any]] = {}
        self._failed_at = -AWAY_SECONDS

    @property
    def issuer(self) -> str:
        """The issuer as tokens name it."""
        return self._settings.openid_issuer

    @property
    def host(self) -> str:
        """The provider's host, as people see it."""
        return urlsplit(self.issuer).netloc

    @property
    def _callback(self) -> str:
        return self._settings.site_url + CALLBACK

    def address(self, flow: Flow) -> str:
        """Return the address to which the browser is sent. Raises ProviderAway, ProviderRefused."""
        where = self._endpoint("authorization_endpoint")
        query = {
            "response_type": "code",
            "scope": "openid",
            "client_id": self._settings.openid_client_id,
            "redirect_uri": self._callback,
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": base64url(hashlib.sha256(flow.verifier.encode()).digest()),
            "code_challenge_method": "S256",
        }
        return f"{where}{'&' if urlsplit(where).query else '?'}{urlencode(query)}"

    def subject(self, flow: Flow, answer: Mapping[str, str]) -> str:
        """Return the provider's subject for the browser that brings this answer.

        Raises:
            ProviderRefused: the answer does not belong to this flow, or the provider refused.
            ProviderAway.
        """
        if not hmac.compare_digest(answer.get("state", "").encode(), flow.state.encode()):
            raise ProviderRefused(gettext(EXPIRED))
        if answer.get("iss", self.issuer) != self.issuer:
            raise ProviderRefused(gettext(REFUSED))
        if not (code := answer.get("code")):
            raise ProviderRefused(_("The provider did not let you in. Begin again, or sign in with a password."))
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
        token = self._fetched("POST", self._endpoint("token_endpoint"), form, headers).get("id_token")
        if not isinstance(token, str):
            raise ProviderRefused(gettext(REFUSED))
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
        except (JoseError, ValueError, TypeError, RecursionError) as error:
            raise ProviderRefused(gettext(REFUSED)) from error
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        subject = str(claims["sub"])
        if claims.get("azp", None if several else ours) != ours or len(subject) > MOST_SUBJECT or not is_plain(subject):
            raise ProviderRefused(gettext(REFUSED))
        return subject

    def _verified(self, token: str) -> dict[str, Any]:
        """Verify that one of the provider's keys signed a token; return its claims. Raises JoseError, ValueError."""
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
        document: dict[str, Any] = self._kept("document", KEPT_SECONDS, self._document)
        return document

    def _key_set(self, seconds: float) -> KeySet:
        """Return the provider's keys, fetched at most `seconds` ago."""
        where = self._endpoint("jwks_uri")
        keys: KeySet = self._kept("keys", seconds, lambda: self._keys(where))
        return keys

    def _kept(self, name: str, seconds: float, ask: Callable[[], Any]) -> Any:
        """Return the stored value if it is at most `seconds` old, or ask the provider. Raises ProviderAway,
        ProviderRefused.
        """
        if not self._asking.acquire(timeout=WAIT_SECONDS):
            raise ProviderAway
        try:
            at, value = self._known.get(name, (0.0, None))
            if value is not None and self._clock() - at <= seconds:
                return value
            if self._clock() - self._failed_at < AWAY_SECONDS:
                raise ProviderAway
            try:
                value = ask()
            except ProviderAway:
                self._failed_at = self._clock()
                raise
            self._known[name] = (self._clock(), value)
            return value
        finally:
            self._asking.release()

    def _document(self) -> dict[str, Any]:
        document = self._fetched("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
        if document.get("issuer") != self.issuer:
            raise ProviderRefused(_("The provider's own name is not the one in the operator's setting."))
        return document

    def _keys(self, where: str) -> KeySet:
        """Return the keys whose kinds `ALGORITHMS` need, without any that cannot be read."""
        listed = self._fetched("GET", where).get("keys")
        keys = []
        for key in listed if isinstance(listed, list) else ():
            if isinstance(key, dict) and key.get("kty") in {"RSA", "EC"} and key.get("use", "sig") == "sig":
                with contextlib.suppress(JoseError, ValueError, TypeError, KeyError):
                    keys.append(JWKRegistry.import_key(key))
        return KeySet(keys)

    def _endpoint(self, name: str) -> str:
        """Return an address from the provider's document. Raises ProviderRefused if we must not contact it."""
        where = self._discovered().get(name)
        if not isinstance(where, str):
            raise ProviderRefused(gettext(REFUSED))
        parts, ours = urlsplit(where), urlsplit(self.issuer)
        elsewhere = (parts.scheme, parts.netloc) != (ours.scheme, ours.netloc)
        if elsewhere and (parts.scheme != "https" or not parts.hostname or is_inside(parts.hostname)):
            raise ProviderRefused(gettext(REFUSED))
        return where

    def _fetched(
        self, method: str, where: str, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Ask the provider for JSON. Raises ProviderAway, ProviderRefused."""
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
            document = json.loads(content) if answer.status == 200 and len(content) <= MOST_BYTES else None
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise ProviderRefused(gettext(REFUSED))
        return document
