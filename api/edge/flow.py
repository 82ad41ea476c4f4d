"""A browser's way to the OpenID provider and back.

A browser sent to the provider gets a cookie with a random secret and the purpose of the visit. State, nonce and PKCE's
verifier are HMACs over the purpose, keyed with the secret, so an answer fits only the browser and the purpose that
asked for it. Nothing is kept here. The cookie is used once.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from dataclasses import asdict, dataclass
from typing import Any, Literal

from deadheat.engine.language import N_, gettext
from deadheat.league.errors import ProviderRefused

MOST_COOKIE = 3000

EXPIRED = N_("This sign-in has expired, or belongs to another browser. Begin again.")


@dataclass(frozen=True, slots=True)
class Flow:
    """The purpose of a visit to the provider. `name` and `code`: of a new account; `user_id`: of a linked account."""

    act: Literal["in", "up", "link"]
    back: str
    name: str = ""
    code: str = ""
    user_id: int = 0
    secret: str = ""

    @classmethod
    def begun(cls, act: Literal["in", "up", "link"], back: str, **more: Any) -> Flow:
        """Begin a flow with a fresh secret."""
        return cls(act, back, secret=secrets.token_urlsafe(32), **more)

    @classmethod
    def read(cls, cookie: str) -> Flow:
        """Read the browser's cookie. Raises ProviderRefused if it is missing or not ours."""
        try:
            given: Any = json.loads(base64.urlsafe_b64decode(cookie + "==")) if len(cookie) <= MOST_COOKIE else None
            flow = cls(**given)
            json.dumps(given, ensure_ascii=False).encode()  # no lone surrogates
        except (ValueError, TypeError, RecursionError) as error:
            raise ProviderRefused(gettext(EXPIRED)) from error
        texts = (flow.act, flow.back, flow.name, flow.code, flow.secret)
        if not all(isinstance(text, str) for text in texts) or type(flow.user_id) is not int or len(flow.secret) < 43:
            raise ProviderRefused(gettext(EXPIRED))
        return flow

    @property
    def cookie(self) -> str:
        """The cookie's text, which `read` parses."""
        return base64url(json.dumps(asdict(self)).encode())

    @property
    def state(self) -> str:
        """The state, which proves that an answer belongs to this browser and this purpose."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """The nonce, which proves that an ID token was issued for this flow."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """PKCE's verifier, with 43 characters, the fewest allowed."""
        return self._derived("verifier")

    def _derived(self, what: str) -> str:
        about = json.dumps([what, self.act, self.back, self.name, self.code, self.user_id])
        return base64url(hmac.digest(self.secret.encode(), about.encode(), "sha256"))


def base64url(content: bytes) -> str:
    """Encode as URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
