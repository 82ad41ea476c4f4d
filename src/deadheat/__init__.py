"""Deadheat: a league for bots under hard deadlines, and its tools for authors.

    import deadheat

    env = deadheat.env("yacht-auction")

What stands in `__all__` is imported when it is first used, so `import deadheat` itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deadheat.training import env

__all__ = ["env"]

_PLACES = {
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
