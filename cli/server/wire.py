"""HTTP to a server: requests, answers in pieces, and every failure as a `Refused`.

Retries: an idempotent request (GET, PUT) is sent up to four times while the connection breaks or a proxy reports that
the server is unavailable. Any other is retried only if no connection could be made, because the server has then not
received it. The waits add up to some four seconds. A request that timed out is not retried.

Trust: the server is not trusted. No redirect is followed, and https requires a certificate that this machine trusts.
`Client.download` limits an answer's size; `Wire.pieces` does not. Proxies are those of the environment (HTTPS_PROXY and
so on), if it names any.

Time: a timeout bounds one wait for the other side, not a whole transfer, however slow. urllib3 would limit the sending
of a body to the time to connect, so connections set their own timeout as soon as they are made, and a body is sent in
pieces.
"""

import json as notation
import re
import time
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import Any, NoReturn
from urllib.parse import unquote, urlencode

from urllib3 import BaseHTTPResponse, PoolManager, ProxyManager, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    LocationValueError,
    NewConnectionError,
    ProtocolError,
    ProxyError,
    SSLError,
)
from urllib3.filepost import encode_multipart_formdata
from urllib3.util import Url, make_headers, parse_url

CONNECT_TIMEOUT_S = 10
TIMEOUT_S = 60  # for sending a piece, and between two pieces of an answer
RETRY_WAITS_S = (0.25, 1.0, 3.0)
RETRIED_STATUS = frozenset({502, 503, 504})
SUCCESS = range(200, 300)
PIECE_BYTES = 64 * 1024
MAX_SPARE = 8  # idle connections kept: as many as an asynchronous client usually needs at once
PORTS = {"http": 80, "https": 443}
EXAMPLE = "https://league.example"

API = "1.0"
"""The API version of this client. The server states its own in the header `Deadheat-API`: a different first number is
incompatible, a higher second one means only additions."""


class Refused(Exception):
    """The server refused or did not answer. The text is its sentence, and `status` is 0 without an answer."""

    def __init__(self, status: int, code: str, detail: str, retry_after_seconds: int = 0) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.retry_after_seconds = retry_after_seconds

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed later: nobody answered, the server failed, or a quota is used up."""
        return self.code == "no-answer" or self.status == 429 or self.status >= 500


def address(server: str) -> Url:
    """Return a server's address in normal form, without query, default port and final slash.

    Raises:
        Refused: it is not an address of HTTP.
    """
    try:
        url = parse_url(server if server.isascii() else _ascii(server))
    except (LocationValueError, UnicodeError):
        url = Url()
    if url.scheme not in PORTS or not url.host:
        raise Refused(0, "bad-address", f"{server!r} is not an address such as {EXAMPLE}")
    port = None if url.port == PORTS[url.scheme] else url.port
    path = (url.path or "").rstrip("/") or None
    return url._replace(port=port, path=path, query=None, fragment=None)


def _ascii(server: str) -> str:
    """Encode an international host name as the network requires."""
    scheme, _, rest = server.partition("://")
    place, slash, path = rest.partition("/")
    host, colon, port = place.partition(":")
    return f"{scheme}://{host.encode('idna').decode()}{colon}{port}{slash}{path}"


class Wire:
    """The connections to one server. Threads may share it."""

    def __init__(self, server: str, token: str = "") -> None:
        url = address(server)
        self.server = str(url)
        self._headers = {"Accept": "application/json", "Accept-Encoding": "gzip, deflate"}
        self._headers |= {"User-Agent": f"deadheat/{API}"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._pools = _pools(url)
        self._pools.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}

    def close(self) -> None:
        """Close all idle connections."""
        self._pools.clear()

    def pieces(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        files: Mapping[str, tuple[str, bytes]] | None = None,
    ) -> Iterator[bytes]:
        """Yield the body of a successful answer, decoded."""
        url = f"{self.server}{path}?{urlencode(params)}" if params else self.server + path
        body, kind = None, ""
        if files is not None:
            body, kind = encode_multipart_formdata(files)
        elif json is not None:
            body, kind = notation.dumps(json, ensure_ascii=False, allow_nan=False).encode(), "application/json"
        response = self._patiently(method, url, body, kind)
        try:
            if refused := _refusal(response):
                raise refused
            yield from response.stream(PIECE_BYTES)
        except HTTPError as error:
            self._no_answer(error)
        finally:
            response.close()

    def _patiently(self, method: str, url: str, body: bytes | None, kind: str) -> BaseHTTPResponse:
        """Send a request, and repeat it where the module's text allows. Return the answer, whatever its status."""
        waits = iter(RETRY_WAITS_S)
        while True:
            try:
                response = self._send(method, url, body, kind)
            except HTTPError as error:
                broken = isinstance(error, ProtocolError | SSLError) and not isinstance(_root(error), TimeoutError)
                again = isinstance(error, ConnectTimeoutError | ProxyError) or (method in {"GET", "PUT"} and broken)
                wait = next(waits, None) if again else None
                if wait is None:
                    self._no_answer(error)
            else:
                again = method in {"GET", "PUT"} and response.status in RETRIED_STATUS
                wait = next(waits, None) if again else None
                if wait is None:
                    return response
                response.close()
            time.sleep(wait)

    def _send(self, method: str, url: str, body: bytes | None, kind: str) -> BaseHTTPResponse:
        headers = self._headers
        if body is not None:
            headers = {**headers, "Content-Type": kind, "Content-Length": str(len(body))}
        return self._pools.urlopen(
            method,
            url,
            body=None if body is None else BytesIO(body),
            headers=headers,
            timeout=Timeout(connect=CONNECT_TIMEOUT_S, read=TIMEOUT_S),
            redirect=False,
            retries=False,
            preload_content=False,
        )

    def _no_answer(self, error: HTTPError) -> NoReturn:
        root = _root(error)
        why = str(root) or type(root).__name__
        raise Refused(0, "no-answer", f"{self.server} does not answer: {why}") from error


def _pools(url: Url) -> PoolManager:
    """Create the connections to an address, through the environment's proxy for it, if any."""
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    proxy = proxies.get(url.scheme or "") or proxies.get("all")
    if not proxy or proxy_bypass((url.host or "").strip("[]")):
        return PoolManager(maxsize=MAX_SPARE)
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        auth = parse_url(proxy).auth
        headers = make_headers(proxy_basic_auth=unquote(auth)) if auth else None
        return ProxyManager(proxy, proxy_headers=headers, maxsize=MAX_SPARE)
    except LocationValueError as error:
        raise Refused(0, "bad-proxy", f"the environment's proxy cannot be used: {error}") from error


class _Connection(HTTPConnection):
    def connect(self) -> None:
        _connect(self, super().connect)


class _SecureConnection(HTTPSConnection):
    def connect(self) -> None:
        _connect(self, super().connect)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


def _connect(connection: HTTPConnection, connect: Callable[[], None]) -> None:
    """Connect. The type of any error here, including TLS errors, shows that the server has not received a request."""
    try:
        connect()
    except (OSError, SSLError) as error:
        raise NewConnectionError(connection, str(error)) from error
    if connection.sock is not None:
        connection.sock.settimeout(TIMEOUT_S)


def _root(error: BaseException) -> BaseException:
    """Return the message of the system or protocol, without the library's wrapping."""
    inner = error.__cause__ or next((part for part in reversed(error.args) if isinstance(part, Exception)), None)
    return error if inner is None else _root(inner)


def _refusal(response: BaseHTTPResponse) -> Refused | None:
    """Return a `Refused` with the server's sentence or a default one, or if its version of the API is incompatible;
    None for success.
    """
    status, theirs = response.status, response.headers.get("Deadheat-API", "")
    if theirs and theirs.partition(".")[0] != API.partition(".")[0]:
        versions = f"the server uses version {theirs} of the API, this command version {API}"
        return Refused(400 if status in SUCCESS else status, "other-api", f"{versions}; install a matching command")
    if status in SUCCESS:
        return None
    retry_after = response.headers.get("Retry-After", "")
    seconds = int(retry_after) if re.fullmatch("[0-9]{1,5}", retry_after) else 0  # a day at most
    if where := response.get_redirect_location():
        return Refused(status, "redirect", f"the server redirects to {where}; is the address right?")
    try:
        content = b""  # as much of a refusal as a person may want to read
        for piece in response.stream(PIECE_BYTES):
            content += piece
            if len(content) > PIECE_BYTES:
                break
        problem = notation.loads(content)
        return Refused(status, str(problem["code"]), str(problem["detail"]), seconds)
    except (HTTPError, KeyError, TypeError, ValueError, RecursionError):
        return Refused(status, "unknown", f"HTTP {status} without a reason; is this a Deadheat server?", seconds)
