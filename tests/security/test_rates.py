"""Limits that several processes count together, in a real Redis."""

import re
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import pytest
from redis import Redis
from starlette.requests import Request

from deadheat.api.app import create_app
from deadheat.api.edge.rates import ADDRESSES_PER_NAME, REDIS_TIMEOUT, Rates
from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.errors import OverQuota
from deadheat.league.service.people.access import signing_key
from tests.league import ground
from tests.workers.conftest import redis_server


@pytest.fixture
def redis_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A Redis whose answers are awaited however long they take: after a time-out, a question counts twice or alone."""
    monkeypatch.setattr("deadheat.api.edge.rates.TRIES_PER_NAME", 3)
    monkeypatch.setattr("deadheat.api.edge.rates.REDIS_TIMEOUT", dict.fromkeys(REDIS_TIMEOUT))
    with redis_server(tmp_path, "a-password") as url:
        yield url


def asking(address: str) -> Request:
    return Request({"type": "http", "headers": [], "client": (address, 1)})


def processes(url: str) -> tuple[Rates, Rates]:
    settings = Settings(broker_url=url, reads_per_minute=30)
    return Rates(settings, lambda: "a" * 64), Rates(settings, lambda: "a" * 64)


def test_processes_count_an_address_together(redis_url: str) -> None:
    one, other = processes(redis_url)
    for rates in (one, other) * 3:
        rates.write(asking("192.0.2.1"))
    for rates in (one, other):
        with pytest.raises(OverQuota):
            rates.write(asking("192.0.2.1"))
        rates.write(asking("192.0.2.2"))


def test_a_right_password_clears_the_count_for_all(redis_url: str) -> None:
    one, other = processes(redis_url)
    guesser = asking("192.0.2.1")
    for rates in (one, other, one):
        rates.sign_in(guesser, "ada")
    with pytest.raises(OverQuota):
        other.sign_in(guesser, "ADA")
    one.signed_in(guesser, "Ada")
    other.sign_in(guesser, "ada")


def test_guesses_from_one_address_keep_nobody_else_out_and_those_from_everywhere_end(redis_url: str) -> None:
    one, _ = processes(redis_url)
    for number in range(ADDRESSES_PER_NAME):
        for _ in range(3):
            one.sign_in(asking(f"192.0.2.{number}"), "ada")
        with pytest.raises(OverQuota):
            one.sign_in(asking(f"192.0.2.{number}"), "ada")
        if number < ADDRESSES_PER_NAME - 1:
            one.sign_in(asking("198.51.100.1"), f"somebody{number}")
    with pytest.raises(OverQuota, match="from everywhere"):
        one.sign_in(asking("198.51.100.2"), "ada")


def test_a_network_of_64_bits_is_one_address(redis_url: str) -> None:
    one, other = processes(redis_url)
    for number, rates in enumerate((one, other) * 3):
        rates.write(asking(f"2001:db8:1:2::{number + 1:x}"))
    with pytest.raises(OverQuota):
        one.write(asking("2001:db8:1:2:ffff::1"))
    one.write(asking("2001:db8:1:3::1"))


@pytest.mark.parametrize("everywhere", [False, True])
def test_an_emptied_redis_gives_nobody_more_guesses(redis_url: str, everywhere: bool) -> None:
    rates, _ = processes(redis_url)
    guessers = [asking(f"192.0.2.{number}") for number in range(ADDRESSES_PER_NAME if everywhere else 1)]
    for guesser in guessers:
        for _ in range(3):
            rates.sign_in(guesser, "ada")
    with Redis.from_url(redis_url) as emptied:
        emptied.flushall()
    with pytest.raises(OverQuota, match="from everywhere" if everywhere else None):
        rates.sign_in(asking("198.51.100.2") if everywhere else guessers[0], "Ada")
    rates.signed_in(guessers[0], "ada")
    rates.sign_in(guessers[0], "ada")


def test_the_invitation_code_is_guessed_no_faster_than_a_password(redis_url: str) -> None:
    one, other = processes(redis_url)
    for number in range(ADDRESSES_PER_NAME):
        for rates in (one, other, one):
            rates.sign_up(asking(f"192.0.2.{number}"), "guess")
        with pytest.raises(OverQuota, match="invitation code"):
            other.sign_up(asking(f"192.0.2.{number}"), "guess")
        other.sign_up(asking(f"192.0.2.{number}"))  # only attempts at the code count
        if number < ADDRESSES_PER_NAME - 1:
            one.sign_in(asking(f"192.0.2.{number}"), "the invitation code")  # nobody's name fills this count
    with pytest.raises(OverQuota, match="invitation code"):
        one.sign_up(asking("198.51.100.2"), "guess")
    one.invited(asking("198.51.100.2"))
    one.sign_up(asking("198.51.100.2"), "guess")


def test_redis_learns_no_address_and_no_name(redis_url: str) -> None:
    one, _ = processes(redis_url)
    asked, person = asking("2001:db8:1:2::7"), "ada@mail.example"
    one.sign_in(asked, person)
    one.forgotten(asked, person)
    one.confirmation(7, person)
    one.sign_up(asked, "code")
    one.write(asked)
    one.write_by(Request({**asked.scope, "method": "POST"}), 7)
    with Redis.from_url(redis_url) as client:
        before = keys(client)
        kinds = {"sign-ins", "guesses", "all-guesses", "mails", "mails-to", "sign-ups", "writes", "writes-by"}
        assert {kind for kind, _ in before} == kinds
        assert all(re.fullmatch("[0-9a-f]{32}", name) for _, name in before)
        Rates(Settings(broker_url=redis_url), lambda: "b" * 64).write(asked)
        assert len(keys(client) - before) == 1, "another league's secret gives other names"


def keys(client: Redis) -> set[tuple[str, str]]:
    found = [re.fullmatch(r"LIMITS:\{(.+)/(\d+)/(\d+)/(\w+)\}.*", key.decode()) for key in client.scan_iter()]
    return {(kind, name) for one in found if one for kind, _, name in [one[1].partition("/")]}


def test_the_api_hides_names_with_the_leagues_own_key(redis_url: str, tmp_path: Path) -> None:
    settings = ground.settings(tmp_path, broker_url=redis_url)
    db = Database(settings)
    rates = create_app(settings, db=db).state.services.rates
    rates.write(asking("192.0.2.1"))  # has no table yet, so it counts alone
    db.migrate()
    rates.write(asking("192.0.2.1"))
    with db.transaction() as session:
        key = signing_key(session).encode()
    db.close()
    with Redis.from_url(redis_url) as client:
        (found,) = client.scan_iter()
    assert blake2b(b"192.0.2.1", key=key, digest_size=16).hexdigest() in found.decode()
