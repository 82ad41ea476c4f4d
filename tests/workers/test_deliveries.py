"""Notices to webhooks are signed, tried again, given up in the end, and never sent to an internal address."""

import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deadheat.league.errors import BadSetting, NotFound, TooMany
from deadheat.league.outgoing import is_inside, is_public, read_url
from deadheat.league.service.people import channels, notices
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings.closing import close_account
from deadheat.league.states import ChannelKind, DeliveryState
from deadheat.workers.sending import deliveries, webhooks
from deadheat.workers.sending.webhooks import NotReached, post
from tests.certificates import certified
from tests.league.ground import settings
from tests.league.world import World
from tests.receiver import Receiver


class Hook(Receiver):
    """A webhook that keeps what it gets and answers with `status`."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.status, self.location, self.drip_seconds = 200, "", 0.0
        self.dripping = threading.Event()
        super().__init__()
        self.url += "/hook?channel=7"

    def receive(self, path: str, headers: dict[str, str], body: bytes) -> None:
        self.got.append((headers, body))

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        request.send_response(self.status)
        if self.drip_seconds:
            request.flush_headers()
        while self.drip_seconds:
            request.wfile.write(b".")
            self.dripping.set()
            time.sleep(self.drip_seconds)
        if self.location:
            request.send_header("Location", self.location)
        request.end_headers()
        request.wfile.write(b"a banner of 100_000 bytes" * 4000)


@pytest.fixture
def receiver() -> Iterator[Hook]:
    with closing(Hook()) as made:
        yield made
        made.drip_seconds = 0.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(settings(tmp_path, webhooks_inside=True, site_url="https://league.example"))
    yield made
    made.close()


def send(world: World) -> int:
    return deliveries.send_due(SimpleNamespace(database=world.db, settings=world.settings))  # type: ignore[arg-type]


def states(world: World, person: Person) -> list[tuple[DeliveryState, int]]:
    return [(one.state, one.tries) for one in world.read(channels.deliveries, person)]


def test_a_notice_arrives_once_signed_as_discord_and_slack_take_it(world: World, receiver: Hook) -> None:
    ada = world.author("ada")
    info, secret = world.write(channels.add_webhook, ada, receiver.url)
    _, bot_id = world.bot("swift", owner=ada)
    version_id = world.upload(ada, bot_id)
    world.build(version_id, reason="<!everyone> & @everyone")
    world.write(notices.version_settled, version_id)
    assert send(world) == 2
    assert send(world) == 0
    assert states(world, ada) == [(DeliveryState.SENT, 1)] * 2
    (ready, broken) = sorted(receiver.got, key=lambda one: int(one[0]["Deadheat-Delivery"]))
    headers, body = broken
    signed = headers["Deadheat-Timestamp"].encode() + b"." + body
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["Deadheat-Signature"] == f"sha256={digest}"
    assert abs(int(headers["Deadheat-Timestamp"]) - time.time()) < 60
    said = json.loads(body)
    page = f"https://league.example/bots/{bot_id}/versions/2"
    assert said["content"] == f"Version 2 of swift is broken: <!everyone> & @everyone {page}"
    assert said["text"] == f"Version 2 of swift is broken: &lt;!everyone&gt; &amp; @everyone {page}"
    assert said["allowed_mentions"] == {"parse": []}
    assert (said["notice"]["kind"], said["notice"]["about"]["bot_id"]) == ("version-broken", bot_id)
    assert json.loads(ready[1])["notice"]["kind"] == "version-ready"
    world.write(channels.send_test, ada, info.id)
    world.write(channels.send_test, ada, info.id)
    assert send(world) == 1 and "test" in json.loads(receiver.got[-1][1])["text"]


def test_what_fails_is_tried_again_after_longer_and_longer_pauses_and_given_up(world: World, receiver: Hook) -> None:
    ada = world.author("ada")
    world.write(channels.add_webhook, ada, receiver.url)
    world.bot("swift", owner=ada)
    receiver.status = 500
    pauses = []
    for _ in range(channels.MOST_TRIES):
        assert send(world) == 1 and send(world) == 0
        pauses.append((world.read(channels.deliveries, ada)[0].due_at - world.clock.now).total_seconds())
        world.clock.turn(pauses[-1])
    (one,) = world.read(channels.deliveries, ada)
    assert pauses[:4] == [30, 60, 120, 240] and one.state is DeliveryState.FAILED and one.detail == "500"
    receiver.status = 200
    assert send(world) == 0
    world.bot("slow", owner=ada)
    assert send(world) == 1
    assert [one.failing_since for one in world.read(channels.channels, ada)] == [None]


def test_a_webhook_that_fails_for_days_is_switched_off_until_its_owner_wants_it(world: World, receiver: Hook) -> None:
    ada = world.author("ada")
    hook, _ = world.write(channels.add_webhook, ada, receiver.url)
    receiver.status, receiver.location = 302, "http://127.0.0.1/elsewhere"
    world.bot("swift", owner=ada)
    send(world)
    world.clock.turn(channels.PATIENCE.total_seconds() + 1)
    send(world)
    (found,) = world.read(channels.channels, ada)
    assert found.disabled_at is not None
    assert states(world, ada) == [(DeliveryState.FAILED, 2)], "a redirect is a failure, and is not followed"
    world.bot("slow", owner=ada)
    assert send(world) == 0 and len(states(world, ada)) == 1
    world.write(channels.switch_on, ada, hook.id)
    receiver.status = 410
    world.bot("steady", owner=ada)
    assert send(world) == 1
    assert world.read(channels.channels, ada)[0].disabled_at is not None, "it is gone, says its server"


def test_what_a_dead_process_had_claimed_is_sent_by_another_and_its_own_note_comes_too_late(
    world: World, receiver: Hook
) -> None:
    ada = world.author("ada")
    world.write(channels.add_webhook, ada, receiver.url)
    world.bot("swift", owner=ada)
    (parcel,) = world.write(channels.claim_deliveries, ChannelKind.WEBHOOK, 8)
    assert world.write(channels.claim_deliveries, ChannelKind.WEBHOOK, 8) == []
    world.clock.turn(channels.LEASE.total_seconds())
    assert send(world) == 1
    assert not world.write(channels.not_delivered, parcel, "late")
    assert not world.write(channels.delivered, parcel, "late")
    assert states(world, ada) == [(DeliveryState.SENT, 2)]


def test_every_kind_of_channel_has_its_sender() -> None:
    assert deliveries.SENDERS.keys() == set(ChannelKind)


def test_a_webhook_is_its_owners_and_ends_with_the_account(world: World, receiver: Hook) -> None:
    ada, eve = world.author("ada"), world.author("eve")
    hook, secret = world.write(channels.add_webhook, ada, receiver.url)
    assert len(secret) == 64 and not hasattr(world.read(channels.channels, ada)[0], "secret")
    for act in (channels.remove_channel, channels.switch_on, channels.send_test):
        with pytest.raises(NotFound):
            world.write(act, eve, hook.id)
    for _ in range(channels.MOST_CHANNELS - 1):
        world.write(channels.add_webhook, ada, receiver.url)
    with pytest.raises(TooMany):
        world.write(channels.add_webhook, ada, receiver.url)
    world.bot("swift", owner=ada)
    world.write(channels.remove_channel, ada, hook.id)
    world.write(close_account, ada)
    assert send(world) == 1
    ((_, told),) = receiver.got
    assert "no longer sent to 127.0.0.1" in json.loads(told)["content"]


INSIDE = (
    "127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255 192.0.2.1 "
    "240.0.0.1 ::1 :: fe80::1 fe80::1%eth0 fc00::1 fec0::1 ff02::1 ::ffff:127.0.0.1 2002:7f00:1:: 64:ff9b::7f00:1 "
    "2001:0:7f00:1:: 2001:db8::1 168.63.129.16 192.88.99.1 ::ffff:168.63.129.16 2002:a83f:8110::"
)


@pytest.mark.parametrize("address", INSIDE.split())
def test_no_address_inside_counts_as_public(address: str) -> None:
    assert not is_public(address)


def test_public_addresses_are_public() -> None:
    assert all(map(is_public, ("8.8.8.8", "1.1.1.1", "2606:4700:4700::1111")))
    assert is_inside("localhost") and is_inside("db.internal") and not is_inside("discord.com")


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://a.example/", "https://", "https://u:p@a.example/", "https://a.example/ b", "https://a.example/\u00e4"),
        *("https://a.example:99999/", f"https://a.example/{'a' * 500}", "https://[::1/"),
    ],
)
def test_an_address_that_is_none_is_refused(world: World, url: str) -> None:
    with pytest.raises(BadSetting):
        world.write(channels.add_webhook, world.author(), url)


def test_an_address_keeps_its_port_and_query() -> None:
    target = read_url("https://[2606:4700::1]:8443/a?b=c#d")
    assert (target.authority, target.path) == ("[2606:4700::1]:8443", "/a?b=c")


def test_nothing_is_sent_inside_whatever_a_name_stands_for(tmp_path: Path, receiver: Hook, monkeypatch) -> None:
    world = World(settings(tmp_path / "closed"))
    with pytest.raises(BadSetting, match="not on the public internet"):
        world.write(channels.add_webhook, world.author(), receiver.url)
    for odd in ("2130706433", "0x7f.1", "127.1", "a..b", "a.example:0", "a.example:80:80"):
        with pytest.raises(BadSetting, match=r"its (host|port) must be"):
            world.write(channels.add_webhook, world.author(), f"http://{odd}/")
    world.close()
    with pytest.raises(NotReached, match="not on the public internet"):
        post(receiver.url, b"{}", {}, inside=False)
    answers = iter([["8.8.8.8", "127.0.0.1"], ["93.184.216.34"]])
    asked: list[str] = []
    connected: list[Any] = []

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in next(answers)]

    def connect(address: Any, timeout: float) -> socket.socket:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(NotReached, match="no address on the public"):
        post("http://rebound.example/", b"{}", {}, inside=False)
    with pytest.raises(NotReached, match="No HTTP answer came"):
        post("http://rebound.example/", b"{}", {}, inside=False)
    assert connected == [("93.184.216.34", 80)], "to the address that was checked, and the name is not asked again"
    assert asked == ["rebound.example"] * 2


@pytest.mark.parametrize("port", ["22", "25", "6379", "65535"])
def test_on_the_public_internet_only_ports_of_web_servers_are_reached(tmp_path: Path, port: str) -> None:
    world = World(settings(tmp_path))
    with pytest.raises(BadSetting, match="port must be 80, 443, 8080 or 8443"):
        world.write(channels.add_webhook, world.author(), f"https://hook.example:{port}/")
    world.write(channels.add_webhook, world.author(), "https://hook.example:8443/")
    world.close()
    with pytest.raises(NotReached, match="its port must be"):
        post(f"https://hook.example:{port}/", b"{}", {}, inside=False)


def test_what_an_author_sees_is_the_same_for_closed_ports_banners_and_hosts_that_are_silent(
    world: World, tmp_path: Path, monkeypatch
) -> None:
    """Neither the sentence nor a time says what there is, or how long it took to find out."""
    monkeypatch.setattr(webhooks, "TOTAL_SECONDS", 0.2)
    closed, silent, banner, tls = (socket.create_server(("127.0.0.1", 0)) for _ in range(4))
    for talking, said in ((banner, b"SSH-2.0-OpenSSH_9.2\r\n"), (tls, b"220 mail ready\r\n")):
        threading.Thread(target=greet, args=(talking, said), daemon=True).start()
    ada = world.author("ada")
    for server in (closed, silent, banner, tls):
        scheme = "https" if server is tls else "http"
        world.write(channels.add_webhook, ada, f"{scheme}://127.0.0.1:{server.getsockname()[1]}/")
    closed.close()
    really = webhooks.post

    def slowly(*told: Any, **how: Any) -> int:
        world.clock.turn(7)
        return really(*told, **how)

    monkeypatch.setattr(deliveries, "post", slowly)
    world.bot("swift", owner=ada)
    begun = world.clock.now
    assert send(world) == 4
    seen = world.read(channels.deliveries, ada)
    assert {one.detail for one in seen} == {webhooks.NO_ANSWER}
    assert sorted((one.due_at - begun).total_seconds() for one in seen) == [30, 37, 44, 51], "from their beginnings"
    silent.close()


def greet(server: socket.socket, said: bytes) -> None:
    with server, server.accept()[0] as one:
        one.sendall(said)
        one.recv(65536)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_never_ends_its_answer_holds_nobody(
    scheme: str, receiver: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scheme == "https":
        certificate, tls = certified(tmp_path)
        receiver.encrypt(tls)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    receiver.drip_seconds = 0.05
    really = webhooks._shut_down

    def once_it_drips(connection: socket.socket) -> None:
        receiver.dripping.wait(60)
        really(connection)

    monkeypatch.setattr(webhooks, "_shut_down", once_it_drips)
    began = time.monotonic()
    monkeypatch.setattr(webhooks, "TOTAL_SECONDS", 0.5)
    with suppress(NotReached):
        post(receiver.url, b"{}", {}, inside=True)
    assert receiver.got and time.monotonic() - began < 10
