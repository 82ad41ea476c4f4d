"""Deadheat: a league for bots under hard deadlines, and its tools for authors.

    import deadheat

    with deadheat.Client("http://127.0.0.1:8080") as league:
        for match in league.matches(limit=3):
            print(match.id)

    env = deadheat.env("GAME")

What stands in `__all__` is imported when it is first used, so `import deadheat` itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deadheat.cli.server.agent import Agent
    from deadheat.cli.server.api_client import Client
    from deadheat.cli.server.async_client import AsyncClient
    from deadheat.cli.server.wire import Refused
    from deadheat.training import env

__all__ = ["Agent", "AsyncClient", "Client", "Refused", "env"]
__version__ = "0.3.0"

_PLACES = {
    "Agent": "deadheat.cli.server.agent",
    "AsyncClient": "deadheat.cli.server.async_client",
    "Client": "deadheat.cli.server.api_client",
    "Refused": "deadheat.cli.server.wire",
    "env": "deadheat.training",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_PLACES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
