"""The client's methods as coroutines, and its iterators as asynchronous ones.

    async with AsyncClient("http://127.0.0.1:8080", token) as league:
        async for match in league.matches(bot=7, limit=20):
            print(match.id, match.state)

Each request runs in a thread (`asyncio.to_thread`), so several can wait at once: `asyncio.gather` sends many, as many
at a time as the event loop's default executor has threads. A cancelled call ends at once for its caller; its request
continues in its thread until it is answered or timed out.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from inspect import isfunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any, Self

from deadheat.cli.server.api_client import Client


def _awaited(method: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @wraps(method)
    async def call(self: "AsyncClient", /, *args: Any, **given: Any) -> Any:
        return await asyncio.to_thread(method, self.client, *args, **given)

    return call


def _iterated(method: Callable[..., Iterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
    @wraps(method)
    async def walk(self: "AsyncClient", /, *args: Any, **given: Any) -> AsyncIterator[Any]:
        items = method(self.client, *args, **given)
        while single := await asyncio.to_thread(_next, items):
            yield single[0]

    return walk


def _next(items: Iterator[Any]) -> tuple[Any] | None:
    """Return the next item, or None after the last, because a thread cannot pass StopIteration to a coroutine."""
    for item in items:
        return (item,)
    return None


class AsyncClient:
    """The methods of `Client`, to be awaited, and its iterators, for `async for`."""

    def __init__(self, server: str, token: str = "") -> None:
        self.client = Client(server, token)
        self.server = self.client.server
        self.has_token = self.client.has_token

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


for _name, _method in vars(Client).items():
    if isfunction(_method) and not _name.startswith("_"):
        setattr(AsyncClient, _name, (_iterated if isgeneratorfunction(_method) else _awaited)(_method))
