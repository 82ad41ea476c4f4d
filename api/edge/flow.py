"""A browser's way to the OpenID provider and back.

A browser sent to the provider gets a cookie with a random secret and the purpose of the visit. State, nonce and PKCE's
verifier are HMACs keyed with the secret, so an answer fits only the browser that asked for it. The league signs the
cookie with a key of its own: who holds somebody's session, or writes cookies, cannot make one for a purpose that was
not allowed. Nothing is kept here. The cookie is used once.
"""

import base64
import hmac
import json
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from deadheat.engine.language import N_, gettext
from deadheat.league.errors import ProviderRefused

MOST_COOKIE = 3000

SECONDS = 600
"""How long signing in at the provider may take, and thus how old the password's check is when an account is linked."""

EXPIRED = N_("This sign-in has expired, or belongs to another browser. Begin again.")


@dataclass(frozen=True, slots=True)
class Flow:
    """The purpose of a visit to the provider. `name` and `code`: of a new account; `session`: the anti-forgery token of
    the session that links its account; `began_at`: in seconds.
    """

    act: Literal["in", "up", "link"]
    back: str
    name: str = ""
    code: str = ""
    session: str = ""
    began_at: float = 0.0
    secret: str = ""

    @classmethod
    def begun(cls, act: Literal["in", "up", "link"], back: str, at: datetime, **more: Any) -> "Flow":
        return cls(act, back, began_at=at.timestamp(), secret=secrets.token_urlsafe(32), **more)

    @classmethod
    def read(cls, cookie: str, key: str, at: datetime) -> "Flow":
        """Read the browser's cookie. Raises ProviderRefused if it is missing, too old or not signed with the key."""
        text, _, signature = cookie.partition(".")
        if len(cookie) <= MOST_COOKIE and hmac.compare_digest(_mac(key, text).encode(), signature.encode()):
            flow = cls(**json.loads(base64.urlsafe_b64decode(text + "==")))
            if 0 <= at.timestamp() - flow.began_at <= SECONDS:
                return flow
        raise ProviderRefused(gettext(EXPIRED))

    def cookie(self, key: str) -> str:
        """Return the cookie's text, which `read` parses."""
        text = base64url(json.dumps(asdict(self)).encode())
        return f"{text}.{_mac(key, text)}"

    @property
    def state(self) -> str:
        """The state, which proves that an answer belongs to this browser and this purpose."""
        return _mac(self.secret, "state")

    @property
    def nonce(self) -> str:
        """The nonce, which proves that an ID token was issued for this flow."""
        return _mac(self.secret, "nonce")

    @property
    def verifier(self) -> str:
        """PKCE's verifier, with 43 characters, the fewest allowed."""
        return _mac(self.secret, "verifier")


def _mac(key: str, text: str) -> str:
    return base64url(hmac.digest(key.encode(), text.encode(), "sha256"))


def base64url(content: bytes) -> str:
    """Encode as URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
