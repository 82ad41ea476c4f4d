"""The records that the league reports: one frozen class for each. Use cases build them, HTTP and pages show them, and
the command line's client reads them.

A field is described where it is declared, or in `api/fields.toml` if its name means the same everywhere: `api` uses
these classes as response models, so the descriptions enter the OpenAPI document. Only the standard library, pydantic,
and enumerations of the engine and the league are imported here, because every command of the client loads these
modules.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Protocol, TypeVar


class _Fielded(Protocol):
    """The protocol of dataclasses."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Told = TypeVar("Told", bound=_Fielded)


class Record:
    """The base of all records."""

    __slots__ = ("__dict__",)  # pydantic would take "said" for a field, and its models could not share it

    @property
    def said(self) -> dict[str, Any]:
        """The JSON from which the client read this record, including unknown fields; unset in the league."""
        json: dict[str, Any] = self.__dict__["said"]
        return json


def from_row(kind: type[Told], row: object, **others: Any) -> Told:
    """Make a record of `kind`: `others` are given, and `row` has the rest as attributes of the same names."""
    names, values_of = _same(kind, tuple(others))
    return kind(**dict(zip(names, values_of(row), strict=True)), **others)


@cache
def _same(kind: type[_Fielded], others: tuple[str, ...]) -> tuple[tuple[str, ...], Callable[[object], tuple[Any, ...]]]:
    """Return the fields that a row has, and a function that reads them, which is built once for speed."""
    names = tuple(field.name for field in fields(kind) if field.name not in others)
    if len(names) > 1:
        return names, attrgetter(*names)
    return names, lambda row: tuple(getattr(row, name) for name in names)
