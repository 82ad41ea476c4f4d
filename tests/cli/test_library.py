"""The library: its clients have the same methods, and what the server has."""

import asyncio
import inspect
import re
import threading
from collections.abc import Iterator
from typing import Any, assert_type, get_args, get_type_hints

import pytest

import deadheat
from deadheat.api.app import create_app
from deadheat.api.edge import middleware
from deadheat.cli.server import wire
from deadheat.cli.server.api_client import Client, Refused
from deadheat.league.config import Settings
from deadheat.league.records import Record, seasons
from deadheat.league.records.bots import User
from tests.cli.line import Asked, Line, answer, line

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
            people = await asyncio.gather(league.me(), league.me(), league.me())
            assert_type(people, tuple[User, User, User])  # mypy knows the methods, which `Any` would hide
            return [person.name for person in people]

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


ARGUMENTS: dict[str, Any] = {
    "body": {}, "content": b"x", "filename": "x.py", "form": "csv", "game": "g", "table": "matches", "uphold": True,
}  # fmt: skip
VERBS = {"change_entry": ("withdraw", "rejoin", "disqualify", "reinstate"), "rule_on_match": ("void", "restore")}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return create_app(Settings(data_dir=tmp_path_factory.mktemp("data"))).openapi()


@pytest.fixture(scope="module")
def server() -> Iterator[Line]:
    with line(answer(404, {"code": "not-found", "detail": "no"})) as made:
        yield made


def requests_of(method: str, server: Line) -> list[Asked]:
    """Call a method of the client, and return the requests that it sent."""
    server.asked.clear()
    signature = inspect.signature(getattr(Client, method))
    for verb in VERBS.get(method, ("",)):
        chosen = {
            name: ARGUMENTS.get(name, verb if name == "verb" else 7 if "int" in str(parameter.annotation) else "name")
            for name, parameter in signature.parameters.items()
            if name != "self" and (parameter.default is inspect.Parameter.empty)
        }
        with Client(server.url, "t") as client, pytest.raises(Refused):
            list(getattr(client, method)(**chosen))  # an iterator sends its request when it is read
    return server.asked


def told(method: str) -> str | None:
    """Return the name of the record that a method makes from the answer or from each item."""
    shape = get_type_hints(getattr(Client, method), localns=vars(seasons))["return"]
    (item,) = get_args(shape) or (shape,)
    return item.__name__ if isinstance(item, type) and issubclass(item, Record) else None


def answers(operation: dict[str, Any], schemas: dict[str, Any]) -> set[str]:
    """Return the names of the schemas of an operation's answer and of its items."""
    (answer,) = [response for status, response in operation["responses"].items() if status in {"200", "201", "202"}]
    name = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    items = schemas[name]["properties"].get("items", {}).get("items", {})
    return {name, items.get("$ref", "").rpartition("/")[2]}


METHODS = sorted(
    name
    for name, member in vars(Client).items()
    if inspect.isfunction(member) and not name.startswith("_") and name not in {"call", "close", "download"}
)


@pytest.mark.filterwarnings("ignore:a former name:DeprecationWarning")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_asks_for_what_the_server_has(method: str, document: dict[str, Any], server: Line) -> None:
    asked = requests_of(method, server)
    assert asked
    for request in asked:
        fitting = [
            path
            for path, operations in document["paths"].items()
            if request.method.lower() in operations and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), request.path)
        ]
        assert fitting, f"{request.method} {request.path}"
        (operation,) = [document["paths"][path][request.method.lower()] for path in fitting[:1]]
        known = {parameter["name"] for parameter in operation.get("parameters", ())}
        assert set(request.params) <= known, request.target
        record = told(method)
        assert record is None or record in answers(operation, document["components"]["schemas"])


def test_a_former_name_warns(server: Line) -> None:
    with Client(server.url) as client:
        for ask in (lambda: client.evaluation(1), lambda: list(client.own_challenges())):
            with pytest.warns(DeprecationWarning, match="the next release") as told, pytest.raises(Refused):
                ask()
            assert told[0].filename == __file__, "the warning points at who uses it"


def test_both_sides_name_the_same_api() -> None:
    assert middleware.API == wire.API
