"""The client against the API's own description: it requests what exists and reads the answers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest

from deadheat.api.app import create_app
from deadheat.api.edge import middleware
from deadheat.cli.server import wire
from deadheat.cli.server.api_client import Client, Refused
from deadheat.league.config import Settings
from deadheat.league.records import Record, seasons
from tests.cli.line import Asked, Line, answer, line

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


def test_both_sides_name_the_same_api() -> None:
    assert middleware.API == wire.API
