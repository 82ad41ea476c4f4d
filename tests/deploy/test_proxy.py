"""deploy/nginx in front of the API: Debian's nginx, a certificate of the test, real requests."""

import select
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from deadheat.api.edge.connections import Socket, capped
from tests.api.served import served
from tests.api.site import PASSWORD, Site
from tests.certificates import certified
from tests.deploy.compose import DEPLOY
from tests.deployment import free_port

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin")
START_SECONDS = 60
MOST = 4
"""The requests of one address at a time."""

MAIN = """
daemon off;
{user}
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 768; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/league.conf;
}}
"""
"""What Debian's nginx.conf has around the file, in the test's folder."""


@dataclass(frozen=True)
class Proxy:
    site: Site
    https: httpx.Client
    plain: str
    trusting: ssl.SSLContext

    def connected(self, sending: bytes) -> ssl.SSLSocket:
        url = self.https.base_url
        made = self.trusting.wrap_socket(
            socket.create_connection((url.host, url.port or 443)), server_hostname=url.host
        )
        made.sendall(sending)
        return made


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    if NGINX is None:
        pytest.skip("nginx is not installed (Debian: nginx-light)")
    plain, secure = free_port(), free_port()
    certificate, _ = certified(tmp_path)
    url = f"https://localhost:{secure}"
    values = {"trusted_proxies": "127.0.0.1", "sign_ups_per_hour": 2}
    with (
        closing(Site(tmp_path / "data", site_url=url, **values)) as site,
        served(site.app, capped(site.world.settings), Socket) as api,
    ):
        ours = {
            "send_timeout 60s;": "send_timeout 10s;",
            "limit_conn league 1024;": f"limit_conn league {MOST};",
            "127.0.0.1:8080": api.removeprefix("http://"),
            "443 ssl": f"{secure} ssl",
            "[::]:80": f"[::]:{plain}",
            "listen 80": f"listen 127.0.0.1:{plain}",
            "league.example;": "localhost;",
            "/etc/letsencrypt/live/league.example/fullchain.pem": str(certificate),
            "/etc/letsencrypt/live/league.example/privkey.pem": str(tmp_path / "key.pem"),
        }
        text = (DEPLOY / "nginx" / "league.conf").read_text()
        for theirs, own in ours.items():
            assert theirs in text, theirs
            text = text.replace(theirs, own)
        if not Path("/proc/net/if_inet6").exists():
            text = "".join(line for line in text.splitlines(keepends=True) if "[::]" not in line)
        (tmp_path / "league.conf").write_text(text)
        user = "user root;" if tmp_path.owner() == "root" else ""
        (tmp_path / "nginx.conf").write_text(MAIN.format(folder=tmp_path, user=user))
        command = [NGINX, "-e", str(tmp_path / "error.log"), "-c", str(tmp_path / "nginx.conf")]
        tried = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
        assert tried.returncode == 0 and "[warn]" not in tried.stderr, tried.stderr
        with subprocess.Popen(command) as server:
            trusting = ssl.create_default_context(cafile=str(certificate))
            with httpx.Client(base_url=url, verify=trusting, timeout=60) as client:
                try:
                    wait_for(client)
                    yield Proxy(site, client, f"http://localhost:{plain}", trusting)
                finally:
                    server.terminate()


def wait_for(client: httpx.Client) -> None:
    give_up_at = time.monotonic() + START_SECONDS
    while True:
        try:
            client.get("/healthz")
            return
        except httpx.ConnectError:
            assert time.monotonic() < give_up_at, "nginx does not answer"
            time.sleep(0.05)


def test_a_request_goes_through_with_the_address_that_the_proxy_saw(proxy: Proxy) -> None:
    moved = httpx.get(f"{proxy.plain}/seasons?page=2")
    assert (moved.status_code, moved.headers["location"]) == (308, "https://localhost/seasons?page=2")
    assert proxy.https.get("/").status_code == 200
    for number, expected in enumerate((201, 201, 429)):
        body = {"name": f"author{number}", "password": PASSWORD}
        claimed = {"X-Forwarded-For": f"192.0.2.{number}", "X-Forwarded-Proto": "http"}
        answer = proxy.https.post("/v1/users", json=body, headers=claimed)
        assert answer.status_code == expected, "a client cannot claim another address"


def test_an_upload_of_the_largest_size_reaches_the_api(proxy: Proxy) -> None:
    largest = proxy.site.world.settings.upload_limit_bytes
    for _ in range(5):  # an answer that is taken back by the end of its connection would be a matter of chance
        answer = proxy.https.post("/v1/bots/1/versions", files={"file": ("bot.zip", b"x" * largest)})
        assert answer.status_code == 401 and answer.headers["content-type"] == "application/problem+json"


def test_an_event_arrives_while_its_stream_goes_on(proxy: Proxy) -> None:
    season = proxy.site.world.season(2)
    with proxy.https.stream("GET", f"/seasons/{season}/events", params={"after": "7"}) as stream:
        said = stream.iter_lines()
        assert [next(said) for _ in range(3)] == ["retry: 5000", "", "event: snapshot"]
        assert proxy.site.app.state.news.streams.total == 1, "it is still open"


def test_an_address_has_so_many_requests_at_a_time(proxy: Proxy) -> None:
    season = proxy.site.world.season(2)
    events = f"GET /seasons/{season}/events?after=7 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with ExitStack() as stack:
        for _ in range(MOST):
            assert stack.enter_context(proxy.connected(events)).recv(12) == b"HTTP/1.1 200"
        assert proxy.https.get("/healthz").status_code == 429


@pytest.mark.all
def test_slow_clients_are_cut_off_and_keep_nobody_out(proxy: Proxy) -> None:
    head = b"POST /v1/users HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
    get = b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    sent = {"silent": b"", "slow head": head, "slow body": head + b"\r\n{", "idle": get, "slow reader": get * 100}
    with ExitStack() as stack:
        slow = {kind: stack.enter_context(proxy.connected(text)) for kind, text in sent.items()}
        slow["idle"].settimeout(5)
        with suppress(TimeoutError):
            while slow["idle"].recv(1_000_000):
                pass
        idle = [stack.enter_context(proxy.connected(b"")) for _ in range(200)]
        assert proxy.https.get("/healthz").status_code == 200
        for client in (*slow.values(), *idle):
            ending = select.poll()
            ending.register(client, select.POLLRDHUP)
            assert ending.poll(START_SECONDS * 1000)


def test_agents_get_their_sockets_through_the_proxy_and_nobody_elses_page_does(proxy: Proxy) -> None:
    account = proxy.site.author("ada")
    key = proxy.site.ok(201, proxy.https.post("/api/agents", json={"name": "one"}, headers=account))["apiKey"]
    url = f"wss://localhost:{proxy.https.base_url.port}/ws/agent"
    headers, own = {"Authorization": f"Bearer {key}"}, proxy.site.world.settings.site_url
    with connect(url, ssl=proxy.trusting, additional_headers={**headers, "Origin": own}) as socket:
        assert '"connected"' in str(socket.recv(30))
    with pytest.raises(InvalidStatus):
        connect(url, ssl=proxy.trusting, additional_headers={**headers, "Origin": "https://elsewhere.example"})
