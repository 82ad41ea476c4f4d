"""An application on a small league, without sockets: a client, a queue that records, hand-made zips."""

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio.from_thread
import httpx
from fastapi import FastAPI
from httpx import Response

from deadheat.api.app import create_app
from deadheat.league.blobs import Blobs
from deadheat.league.service.ground.life import Life
from deadheat.league.service.jobs.builds import BUILDS
from deadheat.league.service.jobs.sweep import KINDS
from deadheat.league.service.rulings.closing import ensure_organiser
from deadheat.league.service.tables.programs import TABLES
from tests.league.ground import settings
from tests.league.world import World

PASSWORD = "a long enough password"
PROBLEM = "application/problem+json"


class NotedQueue:
    """Notes what it is asked to enqueue; `broken` makes it raise."""

    def __init__(self) -> None:
        self.noted: dict[Life, list[int]] = {life: [] for life in KINDS}
        self.builds, self.exhibitions = self.noted[BUILDS], self.noted[TABLES]
        self.broken = False

    def enqueue(self, life: Life, row_id: int) -> None:
        if self.broken:
            raise ConnectionError("no broker")
        self.noted[life].append(row_id)

    def check(self) -> None:
        if self.broken:
            raise ConnectionError("no broker")


class InProcess(httpx.BaseTransport):
    """Passes requests to an application in this process, whose event loop has its own thread."""

    def __init__(self, app: FastAPI) -> None:
        self._inner = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self._context = anyio.from_thread.start_blocking_portal()
        self._portal = self._context.__enter__()

    def handle_request(self, request: httpx.Request) -> Response:
        return self._portal.call(self._answer, request)

    def close(self) -> None:
        self._context.__exit__(None, None, None)

    async def _answer(self, request: httpx.Request) -> Response:
        answer = await self._inner.handle_async_request(request)
        sent = b"".join([part async for part in answer.aiter_raw()])
        return Response(answer.status_code, headers=answer.headers, content=sent, request=request)


class Site:
    """The application and what is behind it."""

    def __init__(self, folder: Path, **values: object) -> None:
        self.world = World(settings(folder, **values))
        self.queue = NotedQueue()
        self.blobs = Blobs("memory:///")
        self.app = create_app(self.world.settings, queue=self.queue, db=self.world.db, blobs=self.blobs)
        self._closes: list[Callable[[], None]] = [self.world.close]
        self.client = self.connected()

    def connected(self) -> httpx.Client:
        """Return another client, with its own cookies; the site closes it."""
        client = httpx.Client(transport=InProcess(self.app), base_url="http://league")
        self._closes.append(client.close)
        return client

    def beside(self, **values: object) -> "Site":
        """Return another league with these settings, which is closed with this one."""
        made = Site(self.world.settings.data_dir / f"beside{len(self._closes)}", **values)
        self._closes.append(made.close)
        return made

    def close(self) -> None:
        for close in reversed(self._closes):
            close()

    def version(self, headers: Mapping[str, str], bot_id: int, content: bytes = b"print()") -> int:
        """Upload and build a version, and return its id."""
        made: int = self.ok(202, self.upload(headers, bot_id, content))["id"]
        self.world.build(made)
        return made

    def author(self, name: str = "ada") -> dict[str, str]:
        """Sign up, and return headers with a token."""
        self.ok(201, self.client.post("/v1/users", json={"name": name, "password": PASSWORD}))
        return self.sign_in(name)

    def sign_in(self, name: str = "ada") -> dict[str, str]:
        answer = self.client.post("/v1/tokens", json={"name": name, "password": PASSWORD, "label": "test"})
        return bearer(self.ok(201, answer)["token"])

    def organiser(self) -> dict[str, str]:
        return bearer(self.world.write(ensure_organiser, "boss"))

    def bot(self, headers: Mapping[str, str], name: str = "greedy") -> int:
        body = {"game": "yacht-auction", "name": name}
        found: int = self.ok(201, self.client.post("/v1/bots", json=body, headers=dict(headers)))["id"]
        return found

    def upload(self, headers: Mapping[str, str], bot_id: int, content: bytes, filename: str = "bot.py") -> Response:
        files = {"file": (filename, content)}
        return self.client.post(f"/v1/bots/{bot_id}/versions", files=files, headers=dict(headers))

    def ok(self, status: int, answer: Response) -> Any:
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def problem(self, status: int, answer: Response, code: str = "") -> dict[str, Any]:
        """Check that the answer is a document of this problem, and return it."""
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == PROBLEM
        body: dict[str, Any] = answer.json()
        assert body["status"] == status
        assert {"type", "title", "detail", "instance", "code"} <= body.keys()
        assert not code or body["code"] == code, body
        return body


def token_in(headers: Mapping[str, str]) -> str:
    return headers["Authorization"].removeprefix("Bearer ")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def zipped(files: Mapping[str | zipfile.ZipInfo, bytes | str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()
