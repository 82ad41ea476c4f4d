"""Notices by e-mail, through a real SMTP server: only to confirmed addresses, and nothing but the text."""

import base64
import re
import socketserver
import ssl
import threading
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import cast

import pytest
from pydantic import ValidationError
from sqlmodel import Session

from deadheat.engine.language import reading
from deadheat.league.database import now
from deadheat.league.errors import BadSetting, NotFound
from deadheat.league.locale import catalogue
from deadheat.league.service.people import channels
from deadheat.league.service.people.access import ask_for_link
from deadheat.league.service.people.channels import Link, Parcel
from deadheat.league.states import ChannelKind, DeliveryState
from deadheat.league.tables import Delivery
from deadheat.workers.context import Context
from deadheat.workers.sending import deliveries, mail
from deadheat.workers.sending.mail import Letter
from deadheat.workers.sending.webhooks import NotReached
from tests.certificates import certified
from tests.league.ground import settings
from tests.league.world import World
from tests.receiver import SHUTDOWN_SECONDS
from tests.workers.test_deliveries import send

SENDER = "Deadheat <league@league.example>"
SITE = "https://league.example"


class Conversation(socketserver.StreamRequestHandler):
    """One conversation by RFC 5321, with STARTTLS and AUTH PLAIN where the server wants them."""

    def handle(self) -> None:
        server = cast("MailServer", self.server)
        if server.mode == "smtps":
            self._encrypt(server)
        self._say("220 here")
        encrypted, envelope = server.mode == "smtps", [""]
        while line := self.rfile.readline().decode().strip():
            verb = line.upper()
            if verb.startswith("EHLO"):
                offer = ["STARTTLS"] if server.mode == "smtp+starttls" and not encrypted else []
                offer += ["AUTH PLAIN"] if server.password else []
                self._say("250-here", *(f"250-{word}" for word in offer), "250 8BITMIME")
            elif verb == "STARTTLS":
                self._say("220 go on")
                self._encrypt(server)
                encrypted = True
            elif verb.startswith("AUTH PLAIN"):
                said = base64.b64decode(line.split()[2]).decode().split("\0")
                self._say("235 welcome" if said[1:] == ["league", server.password] else "535 no")
            elif verb.startswith("RCPT TO:"):
                envelope.append(re.sub(".*<|>.*", "", line))
                self._say(server.answer)
            elif verb == "DATA":
                self._say("354 go on")
                lines = []
                while (part := self.rfile.readline()) != b".\r\n":
                    lines.append(part.removeprefix(b".") if part.startswith(b"..") else part)
                found = message_from_bytes(b"".join(lines), policy=default)
                server.got.append((envelope.pop(), encrypted, found))
                self._say("250 taken")
            elif verb == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 ok")

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def _say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())

    def _encrypt(self, server: "MailServer") -> None:
        self.request = server.tls.wrap_socket(self.request, server_side=True)
        self.setup()


class MailServer(socketserver.ThreadingTCPServer):
    """Keeps each message, with its recipient and whether it came encrypted."""

    daemon_threads = True

    def __init__(self, mode: str, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Conversation)
        self.mode, self.password, self.answer = mode, "", "250 ok"
        self.got: list[tuple[str, bool, EmailMessage]] = []
        if mode != "smtp":
            self.certificate, self.tls = certified(folder)
        threading.Thread(target=self.serve_forever, args=(SHUTDOWN_SECONDS,), daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """Ignore a client that hangs up, for instance because it does not trust the certificate."""

    @property
    def url(self) -> str:
        user = f"league:{self.password}@" if self.password else ""
        return f"{self.mode}://{user}localhost:{self.server_address[1]}"


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MailServer]:
    made = MailServer(getattr(request, "param", "smtp"), tmp_path)
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def world(tmp_path: Path, server: MailServer) -> Iterator[World]:
    made = World(settings(tmp_path / "league", smtp_url=server.url, mail_from=SENDER, site_url=SITE))
    yield made
    made.close()


def link_in(message: EmailMessage, link: Link) -> tuple[Link, int, str]:
    found = re.search(rf"{SITE}/mail/{link.value}\?channel=(\d+)&token=([0-9a-f]+)", message.get_content())
    assert found is not None, message.get_content()
    return link, int(found[1]), found[2]


def test_an_address_gets_notices_from_its_confirmation_until_they_are_stopped(world: World, server: MailServer) -> None:
    ada = world.author("ada")
    world.write(channels.add_address, ada, "ada@a.example")
    world.bot("early", owner=ada)
    assert send(world) == 1
    (to, _, asked) = server.got.pop()
    assert to == "ada@a.example" and asked["From"] == SENDER and "Confirm" in asked["Subject"]
    confirm = link_in(asked, Link.CONFIRM)
    with pytest.raises(NotFound):
        world.write(channels.follow_link, Link.CONFIRM, confirm[1], "0" * 64)
    world.write(channels.follow_link, *confirm)
    with pytest.raises(NotFound):
        world.write(channels.follow_link, *confirm)
    _, bot_id = world.bot("swift", owner=ada)
    world.build(world.upload(ada, bot_id), reason="Line 1\nBcc: eve@a.example\r\n.\r\nMAIL FROM:<eve>")
    assert send(world) == 2
    letters = {letter["Subject"]: letter for _, _, letter in server.got}
    ready = letters["Version 1 of swift is ready."]
    assert f"{SITE}/bots/{bot_id}/versions/1" in ready.get_content()
    assert ready["List-Unsubscribe"].startswith(f"<{SITE}/mail/unsubscribe?")
    assert ready.get_content_type() == "text/plain" and ready["Bcc"] is None
    (broken,) = (letter for subject, letter in letters.items() if "broken" in subject)
    assert broken["Bcc"] is None and "\nBcc: eve@a.example" in broken.get_content().replace("\r", "")
    assert {to for to, _, _ in server.got} == {"ada@a.example"}
    world.write(channels.follow_link, *link_in(ready, Link.UNSUBSCRIBE))
    world.bot("late", owner=ada)
    assert send(world) == 0 and world.read(channels.channels, ada) == []


def test_letters_are_in_the_language_that_their_owner_reads(world: World, server: MailServer) -> None:
    ada = world.author("ada")
    with reading(catalogue("ko")):
        world.write(channels.add_address, ada, "ada@a.example")
    send(world)
    asked = server.got.pop()[2]
    assert "확인" in asked["Subject"] and "본인" in asked.get_content()
    world.write(channels.follow_link, *link_in(asked, Link.CONFIRM))
    _, bot_id = world.bot("swift", owner=ada)
    send(world)
    korean = server.got.pop()[2]
    assert re.search("[가-힣]", korean["Subject"]) and "그만 받기: https://" in korean.get_content()
    world.write(channels.speak, ada, "en")
    world.build(world.upload(ada, bot_id))
    send(world)
    assert server.got.pop()[2]["Subject"] == "Version 2 of swift is ready."


def test_a_long_address_in_a_header_is_written_as_it_is(world: World) -> None:
    address = f"{SITE}/mail/unsubscribe?channel=1&token={'0' * 64}"
    sent = mail.composed(world.settings, Letter("ada@a.example", "Ready", "Text", address)).as_bytes()
    assert f"List-Unsubscribe: <{address}>\r\n".encode() in sent


def test_a_link_to_confirm_is_worth_nothing_after_a_day(world: World, server: MailServer) -> None:
    world.write(channels.add_address, world.author(), "ada@a.example")
    send(world)
    world.clock.turn(channels.CONFIRM_WITHIN.total_seconds() + 1)
    with pytest.raises(NotFound, match="too old"):
        world.write(channels.follow_link, *link_in(server.got[0][2], Link.CONFIRM))


@pytest.mark.parametrize("server", ["smtp+starttls", "smtps"], indirect=True)
def test_mail_goes_encrypted_to_a_server_that_proves_its_name(server: MailServer, tmp_path: Path, monkeypatch) -> None:
    server.password = "a%40b"
    letter = Letter("ada@a.example", "Hear", "Hear!\n", SITE)
    named = settings(tmp_path, smtp_url=server.url, mail_from=SENDER, site_url=SITE)
    with pytest.raises(NotReached, match="SSLCertVerificationError"):
        mail.send(named, letter)
    trusting = ssl.create_default_context(cafile=server.certificate)
    monkeypatch.setattr(ssl, "create_default_context", lambda: trusting)
    server.password = "a@b"
    assert mail.send(named, letter) == "The mail server took it."
    server.password = "other"
    with pytest.raises(NotReached, match="refused it: 535"):
        mail.send(named, letter)
    assert [(to, encrypted) for to, encrypted, _ in server.got] == [("ada@a.example", True)]


def test_what_the_server_refuses_is_tried_again(world: World, server: MailServer) -> None:
    ada = world.author("ada")
    world.write(channels.add_address, ada, "ada@a.example")
    server.answer = "451 later"
    assert send(world) == 1
    (one,) = world.read(channels.deliveries, ada)
    assert (one.state, one.detail) == (DeliveryState.WAITING, "The mail server refused the address.")
    world.clock.turn(60)
    server.answer = "250 ok"
    assert send(world) == 1 and len(server.got) == 1


@pytest.mark.parametrize("address", ["ada", "ada@localhost", "a@b.example\nBcc: e@f.example", "a b@c.d", "a@b..c"])
def test_an_address_that_is_none_is_refused(world: World, address: str) -> None:
    with pytest.raises(BadSetting):
        world.write(channels.add_address, world.author(), address)


def test_no_text_adds_a_header(tmp_path: Path) -> None:
    named = settings(tmp_path, mail_from=SENDER)
    made = mail.composed(named, Letter("ada@a.example", "Hear\r\nBcc: eve@a.example", "text", SITE))
    assert made["Bcc"] is None and made["Subject"] == "Hear Bcc: eve@a.example"
    with pytest.raises(ValueError, match="linefeed"):
        mail.composed(named, Letter("ada@a.example\r\nBcc: eve@a.example", "Hear", "text", SITE))


@pytest.mark.parametrize("url", ["http://a.example", "smtp://", "smtp://a.example"])
def test_a_league_that_cannot_send_mail_does_not_start(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValidationError):
        settings(tmp_path, smtp_url=url)


def test_without_a_mail_server_no_address_is_taken(tmp_path: Path) -> None:
    world = World(settings(tmp_path))
    with pytest.raises(BadSetting, match="sends no mail"):
        world.write(channels.add_address, world.author(), "ada@a.example")
    world.close()


@pytest.mark.parametrize("people", [1, 200])
def test_a_reset_link_waits_for_no_webhook(world: World, server: MailServer, monkeypatch, people: int) -> None:
    """200 webhooks hang until the mail has arrived, which is asked for after the first of them."""
    ada = world.author("ada")
    world.write(channels.add_address, ada, "ada@a.example")
    send(world)
    world.write(channels.follow_link, *link_in(server.got.pop()[2], Link.CONFIRM))
    slow = [world.author(f"slow-{number}") for number in range(people)]
    hooks = [world.write(channels.add_webhook, person, "https://hook.example/")[0].id for person in slow]

    def wait_all(session: Session) -> None:
        at = now(session)
        session.add_all(Delivery(channel_id=hooks[number % people], at=at, due_at=at) for number in range(200))

    world.write(wait_all)
    began, mailed, timed_out = threading.Event(), threading.Event(), threading.Event()
    flying: list[int] = []
    shared_by: list[int] = []

    def hang(_: object, parcel: Parcel) -> tuple[bool, bool, str]:
        flying.append(parcel.person)
        shared_by.append(flying.count(parcel.person))
        began.set()
        if not mailed.wait(60):
            timed_out.set()
        flying.remove(parcel.person)
        return True, False, "200"

    def by_mail(context: Context, parcel: Parcel) -> tuple[bool, bool, str]:
        told = really(context, parcel)
        mailed.set()
        return told

    really = deliveries.SENDERS[ChannelKind.MAIL]
    monkeypatch.setattr(deliveries, "SENDERS", {ChannelKind.WEBHOOK: hang, ChannelKind.MAIL: by_mail})
    sending = threading.Thread(target=send, args=(world,), daemon=True)
    sending.start()
    assert began.wait(60)
    world.write(ask_for_link, "ada")
    assert mailed.wait(60) and not timed_out.is_set()
    sending.join()
    assert [letter["Subject"] for *_, letter in server.got] == ["Your password at Deadheat"]
    assert set(shared_by) == {1}, "one webhook at a time a person"


def test_links_come_before_notices_and_failing_addresses_last(world: World, server: MailServer) -> None:
    people = ada, eve, bob = [world.author(name) for name in ("ada", "eve", "bob")]
    for person in people:
        world.write(channels.add_address, person, f"{person.name}@a.example")
    server.answer = "451 later"
    send(world)
    server.answer = "250 ok"
    world.clock.turn(60)
    send(world)
    for *_, letter in server.got:
        world.write(channels.follow_link, *link_in(letter, Link.CONFIRM))
    server.answer = "451 later"
    world.bot("swift", owner=eve)
    send(world)
    world.clock.turn(60)
    world.bot("slow", owner=ada)
    world.write(ask_for_link, "bob")
    claimed = world.write(channels.claim_deliveries, ChannelKind.MAIL, 3)
    assert [parcel.person for parcel in claimed] == [bob.id, ada.id, eve.id]
    assert not world.write(channels.claim_deliveries, ChannelKind.WEBHOOK, 3)
