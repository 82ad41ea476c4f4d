"""`import deadheat`: what the library offers, and its asynchronous client beside the client."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

import deadheat
from tests.cli.line import answer, line

ME = {"id": 1, "name": "ada", "role": "author"}


def test_what_the_library_offers_is_there() -> None:
    for name in deadheat.__all__:
        assert getattr(deadheat, name).__name__ == name and name in dir(deadheat)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = deadheat.Nothing


def test_both_clients_have_the_same_methods() -> None:
    def methods(of: type) -> dict[str, inspect.Signature]:
        found = {name: member for name, member in vars(of).items() if inspect.isfunction(member)}
        return {name: inspect.signature(member) for name, member in found.items() if not name.startswith("_")}

    assert methods(deadheat.AsyncClient) == methods(deadheat.Client)
    for name, signature in methods(deadheat.Client).items():
        member = getattr(deadheat.AsyncClient, name)
        yields = str(signature.return_annotation).startswith("Iterator[")
        assert inspect.isasyncgenfunction(member) is yields and inspect.iscoroutinefunction(member) is not yields


def test_requests_of_an_asynchronous_client_wait_at_once() -> None:
    async def ask(url: str) -> list[str]:
        async with deadheat.AsyncClient(url) as league:
            return [person.name for person in await asyncio.gather(league.me(), league.me(), league.me())]

    with line(answer(200, ME)) as server:
        server.together = threading.Barrier(3, timeout=60)
        assert asyncio.run(ask(server.url)) == ["ada"] * 3


def test_a_refusal_reaches_who_awaits() -> None:
    async def ask(url: str) -> None:
        async with deadheat.AsyncClient(url) as league:
            await league.season(1)

    said = answer(403, {"code": "not-allowed", "detail": "Not yours"})
    with line(said) as server, pytest.raises(deadheat.Refused, match="Not yours"):
        asyncio.run(ask(server.url))


def test_an_asynchronous_iterator_asks_for_a_page_when_it_is_needed() -> None:
    async def walk(url: str, stop_at: int) -> list[int]:
        found = []
        async with deadheat.AsyncClient(url) as league:
            async for record in league.audit():
                found.append(record.id)
                if record.id == stop_at:
                    break
        return found

    record = dict.fromkeys(("at", "actor", "action", "subject", "data", "prev_sha256", "sha256"), "")
    pages = [
        {"items": [record | {"id": 1}, record | {"id": 2}], "next": "n"},
        {"items": [record | {"id": 3}], "next": ""},
    ]
    for stop_at, read, asked in ((1, [1], 1), (3, [1, 2, 3], 2), (0, [1, 2, 3], 2)):
        with line(*(answer(200, page) for page in pages)) as server:
            assert asyncio.run(walk(server.url, stop_at)) == read
            assert len(server.asked) == asked
