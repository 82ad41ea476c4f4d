"""A small OpenID provider with real keys, over HTTP on this machine. It can be told to lie."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.receiver import SHUTDOWN_SECONDS

CLIENT, SECRET = "league", "s3cret:with/signs"


def new_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


@cache
def first_key() -> RSAKey:
    """Return the key that providers start with; making one takes a while."""
    return new_key("first")


class Provider:
    """A provider at which `who` signs in. `lie` may change an ID token's claims, and `document` the provider's own
    description.
    """

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}"
        self.who = "subject-1"
        self.lie: Callable[[dict[str, Any]], object] = lambda claims: None
        self.header: dict[str, Any] = {}
        self.document: dict[str, Any] = {}
        self.asked: list[str] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.signing: Any = None
        self.token: str | None = None  # replaces the provider's own token
        self.turn_key(first_key())

    def turn_key(self, key: RSAKey) -> None:
        """Sign with another key, and publish it alone."""
        self.key = key
        self.published = [self.key.as_dict(private=False)]

    def authorise(self, address: str) -> dict[str, str]:
        """Let `who` consent at this address, and return the answer that the browser brings back."""
        parts = urlsplit(address)
        assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{self.issuer}/authorize"
        asked = dict(parse_qsl(parts.query))
        assert asked["response_type"] == "code" and asked["scope"] == "openid" and asked["client_id"] == CLIENT
        assert asked["redirect_uri"] == "http://league/sign-in/openid/callback"
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = {**asked, "sub": self.who}
        return {"code": code, "state": asked["state"], "iss": self.issuer}

    def tokens(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """Exchange a code for tokens; return None to refuse."""
        both = base64.b64decode(authorization.removeprefix("Basic ")).decode().split(":")
        if [unquote_plus(part) for part in both] != [CLIENT, SECRET] or form["grant_type"] != "authorization_code":
            return None
        asked = self.codes.pop(form["code"], None)
        if asked is None or asked["redirect_uri"] != form["redirect_uri"]:
            return None
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if challenge.decode() != asked["code_challenge"]:
            return None
        now = int(time.time())
        claims: dict[str, Any] = {"iss": self.issuer, "aud": CLIENT, "sub": asked["sub"], "nonce": asked["nonce"]}
        claims |= {"iat": now, "exp": now + 300, "email": "ada@a.example", "email_verified": True}
        self.lie(claims)
        header = {"alg": "RS256", "kid": self.key.kid, **self.header}
        token = self.token or jwt.encode(header, claims, self.signing or self.key, [header["alg"]])
        return {"access_token": "unused", "token_type": "Bearer", "id_token": token}

    def answer(self, path: str, form: dict[str, str] | None, authorization: str) -> tuple[int, Any]:
        self.asked.append(path)
        if path == "/.well-known/openid-configuration":
            endpoints = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
            said = {name: f"{self.issuer}/{where}" for name, where in endpoints.items()}
            return 200, {"issuer": self.issuer, **said, **self.document}
        if path == "/keys":
            return 200, {"keys": self.published}
        if path == "/token" and form is not None:
            found = self.tokens(form, authorization)
            return (400, {"error": "invalid_grant"}) if found is None else (200, found)
        return 404, {}


@contextmanager
def running() -> Iterator[Provider]:
    found: list[Provider] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer({name: values[0] for name, values in parse_qs(body).items()})

        def _answer(self, form: dict[str, str] | None) -> None:
            status, said = found[0].answer(self.path, form, self.headers.get("Authorization", ""))
            content = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.append(Provider(server.server_port))
    thread = threading.Thread(target=server.serve_forever, args=(SHUTDOWN_SECONDS,), daemon=True)
    thread.start()
    try:
        yield found[0]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
