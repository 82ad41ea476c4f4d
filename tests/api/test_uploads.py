"""Uploads: what is accepted, what is refused, and that nothing beyond the limit is read."""

import stat
import zipfile
from typing import Any

import anyio
import pytest
from sqlmodel import func, select

from deadheat.api.edge.uploading import BODY_BYTES
from deadheat.league.jobs import Failure
from deadheat.league.service.jobs.builds import BUILDS, give_back_build
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.states import VersionState
from deadheat.league.tables import BotVersion
from tests.api.site import Site, bearer, zipped


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("main.py")
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def versions(site: Site) -> int:
    with site.world.db.reading() as session:
        return session.exec(select(func.count()).select_from(BotVersion)).one()


def test_an_upload_is_stored_enqueued_and_can_be_polled(site: Site) -> None:
    ada = site.author()
    bot_id = site.bot(ada)
    answer = site.upload(ada, bot_id, b"print()\n")
    made = site.ok(202, answer)
    assert answer.headers["location"] == f"/v1/bots/{bot_id}/versions/1"
    assert (made["state"], made["language"], made["size_bytes"]) == ("uploaded", "python", 8)
    assert site.queue.builds == [made["id"]] and site.blobs.get(made["sha256"], 100) == b"print()\n"
    assert site.ok(200, site.client.get(answer.headers["location"], headers=ada)) == made
    site.world.build(made["id"])
    assert site.ok(200, site.client.get(answer.headers["location"], headers=ada))["state"] == "ready"


def test_versions_are_numbered_and_the_same_file_is_none_unless_it_was_broken(site: Site) -> None:
    ada = site.author()
    bot_id, other = site.bot(ada), site.bot(ada, "other")
    broken = site.ok(202, site.upload(ada, bot_id, b"print()"))["id"]
    site.problem(422, site.upload(ada, bot_id, b"print()", "main.py"), "bad-upload")
    site.world.build(broken, "does not compile")
    site.version(ada, bot_id)
    assert site.ok(202, site.upload(ada, bot_id, b"print(1)"))["number"] == 3
    refused = site.problem(422, site.upload(ada, bot_id, b"print()"), "bad-upload")
    assert refused["reason"] == "same-file"
    assert "Version 2" in refused["detail"]
    site.ok(202, site.upload(ada, other, b"print()"))
    listed = site.ok(200, site.client.get(f"/v1/bots/{bot_id}/versions", headers=ada))["items"]
    assert [version["number"] for version in listed] == [3, 2, 1]


def test_a_broker_that_is_away_loses_no_upload(site: Site) -> None:
    site.queue.broken = True
    ada = site.author()
    made = site.ok(202, site.upload(ada, site.bot(ada), b"print()"))
    site.world.clock.turn(site.world.settings.requeue_seconds)
    assert site.world.write(sweep)[BUILDS] == [made["id"]]


@pytest.mark.parametrize(
    ("content", "filename", "reason"),
    [
        pytest.param(b"not an archive", "bot.zip", "not-an-archive", id="not an archive"),
        pytest.param(zipped({"main.py": bytes(20 * 2**20)}), "bot.zip", "bomb", id="zip bomb"),
        pytest.param(zipped({link(): "/etc/passwd"}), "bot.zip", "link", id="symbolic link"),
        pytest.param(b"puts 1", "bot.rb", "unknown-language", id="unknown language"),
        pytest.param(b"x", "a b.py", "bad-name", id="odd filename"),
    ],
)
def test_a_bad_upload_is_refused_and_leaves_nothing(site: Site, content: bytes, filename: str, reason: str) -> None:
    ada = site.author()
    problem = site.problem(422, site.upload(ada, site.bot(ada), content, filename), "bad-upload")
    assert problem["reason"] == reason and problem["detail"]
    assert versions(site) == 0 and site.queue.builds == []


def form(content: bytes, name: str = "file", filename: str | None = "bot.py") -> bytes:
    told = f'; filename="{filename}"' if filename is not None else ""
    head = f'--b\r\nContent-Disposition: form-data; name="{name}"{told}\r\n\r\n'
    return head.encode() + content + b"\r\n--b--\r\n"


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        pytest.param(b"print()", "application/octet-stream", 415, id="no form"),
        pytest.param(b"{}", "application/json", 415, id="json"),
        pytest.param(b"x", "multipart/form-data", 400, id="no boundary"),
        pytest.param(b"garbage", "multipart/form-data; boundary=b", 400, id="garbage"),
        pytest.param(b"", "multipart/form-data; boundary=b", 400, id="nothing"),
        pytest.param(b"--b--\r\n", "multipart/form-data; boundary=b", 400, id="no part"),
        pytest.param(form(b"x")[:-8], "multipart/form-data; boundary=b", 400, id="cut short"),
        pytest.param(form(b"x", "other"), "multipart/form-data; boundary=b", 400, id="another field"),
        pytest.param(form(b"x", filename=None), "multipart/form-data; boundary=b", 400, id="no filename"),
        pytest.param(form(b"x")[:-7] + form(b"y"), "multipart/form-data; boundary=b", 400, id="two files"),
        pytest.param(
            b"--b\r\nX-Long: " + b"x" * 10_000 + b"\r\n\r\n", "multipart/form-data; boundary=b", 400, id="long header"
        ),
    ],
)
def test_a_bad_form_is_refused(site: Site, body: bytes, kind: str, status: int) -> None:
    ada = site.author()
    path = f"/v1/bots/{site.bot(ada)}/versions"
    site.problem(status, site.client.post(path, content=body, headers={**ada, "Content-Type": kind}))
    assert versions(site) == 0


def test_the_largest_upload_is_taken_and_one_byte_more_is_not(site: Site) -> None:
    site = site.beside(upload_limit_bytes=100_000)
    ada = site.author()
    bot_id = site.bot(ada)
    site.ok(202, site.upload(ada, bot_id, b"#" * 100_000))
    problem = site.problem(413, site.upload(ada, bot_id, b"#" * 100_001), "upload-too-large")
    assert problem["limit_bytes"] == 100_000
    assert versions(site) == 1


FORM = {"Content-Type": "multipart/form-data; boundary=b"}


class Endless:
    """A client that never stops sending, and counts what it has sent."""

    def __init__(self) -> None:
        self.sent = 0
        self._first = form(b"")[: -len(b"\r\n--b--\r\n")]

    async def receive(self) -> dict[str, Any]:
        body = self._first if not self.sent else b"#" * 10_000
        self.sent += len(body)
        return {"type": "http.request", "body": body, "more_body": True}


def call(site: Site, client: Endless, headers: dict[str, str], path: str) -> tuple[int, dict[str, str]]:
    """Send one request at the level of ASGI, and return the answer's status and headers."""
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("league", 80),
        "state": {},
    }

    async def run() -> None:
        await site.app(scope, client.receive, send)

    anyio.run(run)
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def test_a_body_without_a_length_is_cut_off_while_it_comes(site: Site) -> None:
    site = site.beside(upload_limit_bytes=100_000)
    ada, client = site.author(), Endless()
    path = f"/v1/bots/{site.bot(ada)}/versions"
    status, answered = call(site, client, {**ada, **FORM, "Transfer-Encoding": "chunked"}, path)
    assert (status, answered["connection"]) == (413, "close") and 100_000 < client.sent <= 120_000
    client = Endless()
    status, _ = call(site, client, {**ada, **FORM, "Content-Length": "10000000000"}, path)
    assert (status, client.sent) == (413, 0), "of one that declares too much nothing is read"


@pytest.mark.parametrize("headers", [{}, bearer("dh_wrong")])
def test_a_strangers_upload_is_not_read_at_all(site: Site, headers: dict[str, str]) -> None:
    client = Endless()
    status, _ = call(site, client, {**headers, **FORM}, f"/v1/bots/{site.bot(site.author())}/versions")
    assert (status, client.sent) == (401, 0)


@pytest.mark.parametrize(
    "path", ["/v1/users", "/mail/versions", "/account/teams", "/account/teams/1/versions", "/bots/1/x/versions"]
)
def test_other_bodies_have_a_small_limit(site: Site, path: str) -> None:
    client = Endless()
    same_site = {"Sec-Fetch-Site": "same-origin"}
    headers = {"Content-Type": "application/json"} if path.startswith("/v1") else {**FORM, **same_site}
    status, _ = call(site, client, headers, path)
    assert client.sent < 2 * BODY_BYTES
    assert status == 413 or not client.sent, "the path does not exist"
    client, declared = Endless(), {"Content-Length": str(BODY_BYTES + 1)}
    status, _ = call(site, client, {**headers, **declared}, path)
    assert (status, client.sent) == (413, 0)


def test_an_upload_that_breaks_off_leaves_nothing(site: Site) -> None:
    ada = site.author()
    path = f"/v1/bots/{site.bot(ada)}/versions"

    site.problem(400, site.client.post(path, content=form(b"x" * 1000)[:-10], headers={**ada, **FORM}))
    assert versions(site) == 0


def test_a_build_that_we_failed_is_told_to_its_author(site: Site) -> None:
    ada = site.author()
    bot_id = site.bot(ada)
    job = site.world.building(site.ok(202, site.upload(ada, bot_id, b"print()"))["id"], "w1")
    failure = Failure("no-engine", "no answer at /run/docker.sock")
    site.world.write(give_back_build, job.version_id, job.attempt, "w1", failure)
    log = site.ok(200, site.client.get(f"/v1/bots/{bot_id}/versions/1/log", headers=ada))
    assert [(attempt["cause"], attempt["detail"]) for attempt in log["tries"]] == [
        ("no-engine", "A machine's container engine did not answer.")
    ]
    version = site.ok(200, site.client.get(f"/v1/bots/{bot_id}/versions/1", headers=ada))
    assert version["state"] == VersionState.UPLOADED
    assert version["reason"].endswith("engine did not answer.")
