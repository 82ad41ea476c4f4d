"""The base of all schemas: requests, answers, texts without control characters, and cursors of lists."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, Union, cast, get_args, get_origin

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from deadheat.league.errors import BadCursor

MAX_ID = 2**31 - 1
"""The largest of the database's integers. A larger number identifies nothing."""

CURSOR = r"^1-1?[0-9]{1,9}$"
"""The pattern of a cursor, for the API's document. The number before the dash is the version of the format.
The one behind it is below two thousand million, as the database's integers end a little later."""

_cursor = re.compile(CURSOR, re.ASCII)


def write_cursor(last_id: int) -> str:
    """Return the cursor at which the next page begins."""
    return f"1-{last_id}"


def read_cursor(cursor: str | None) -> int | None:
    """Read a cursor; None means the first page. Raises BadCursor."""
    if cursor is None:
        return None
    if _cursor.fullmatch(cursor) is None:
        raise BadCursor
    return int(cursor[2:])


Item = TypeVar("Item")

Name = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=32),
    Field(description="1 to 32 letters, digits, - and _; upper and lower case are the same.", examples=["ada"]),
]

Label = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._@+:-]*$", max_length=64, strip_whitespace=True)
]

LabelOrEmpty = Annotated[Label, StringConstraints(pattern=r"^([A-Za-z0-9][A-Za-z0-9 ._@+:-]*)?$")]

MOST_LISTED = 1000
Limit = Annotated[int, Field(ge=1, le=MOST_LISTED)]

PAGE_LIMIT = 100
"""The most rows in one page of matches, appeals or audit records, whatever was requested: each has some kilobytes."""

Cursor = Annotated[str, Field(json_schema_extra={"pattern": CURSOR}, description="`next` of the previous page.")]

RowId = Annotated[int, Field(ge=1, le=MAX_ID)]

_CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"

PLAIN = f"^[^{_CONTROL}]*$"
"""The pattern of every text that people send: no control characters, except tabs and line ends. Nobody can
see them, PostgreSQL stores no NUL, and terminals obey some of them.
"""

UNSEEN = "It contains invisible control characters. Remove them."

_unseen = re.compile(rf"[{_CONTROL}\ud800-\udfff]")


def is_plain(text: str) -> bool:
    """Return whether a text has no control characters (`PLAIN`) and no lone surrogates, which UTF-8 lacks."""
    return _unseen.search(text) is None


class Input(BaseModel):
    """The body of a request: an unknown field is an error, because it is usually a typing mistake. All text is `PLAIN`.

    In JSON a number is a number: "5", 1 for true and seconds for a date are refused, as the document says.
    Forms and addresses have nothing but text, which pydantic reads as what it stands for.
    """

    model_config = ConfigDict(extra="forbid")
    all_text: ClassVar[bool] = False

    @model_validator(mode="wrap")
    @classmethod
    def _is_of_the_type_it_says(
        cls, given: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        if isinstance(given, dict):
            unseen = []
            for name in cls.model_fields:  # no field has lists in lists; nested shapes check their own texts
                texts = value if isinstance(value := given.get(name), list) else [value]
                unseen += [name] * any(isinstance(text, str) and not is_plain(text) for text in texts)
            cls._refuse(unseen, PydanticCustomError("control_characters", UNSEEN))
        if isinstance(given, dict) and info.context is not TEXT and not cls.all_text:
            wrong = [name for name, field in cls.model_fields.items() if not _fits(field.annotation, given.get(name))]
            cls._refuse(wrong, PydanticCustomError("wrong_type", "This has the wrong type for the field."))
        return handler(given)

    @classmethod
    def _refuse(cls, names: list[str], kind: PydanticCustomError) -> None:
        if names:
            mistakes = [InitErrorDetails(type=kind, loc=(name,), input=None) for name in names]
            raise ValidationError.from_exception_data(cls.__name__, mistakes)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add `PLAIN` to every text without a stricter pattern."""
        schema = handler(core)
        for field in handler.resolve_ref_schema(schema).get("properties", {}).values():
            for kind in (field, field.get("items", {}), *field.get("anyOf", ())):
                own = kind.get("pattern", "")
                if kind.get("type") == "string" and not {"enum", "format"} & kind.keys() and not own.startswith("^"):
                    kind["pattern"] = PLAIN
                    if own:
                        kind["allOf"] = [{"pattern": own}]
        return schema


class Query(Input):
    """The query of an address, where everything is text."""

    all_text = True


class Page(Query):
    """The requested page of a list; lists with filters add theirs."""

    most: ClassVar[int] = PAGE_LIMIT
    cursor: Cursor | None = None
    limit: Limit = 50

    @property
    def before(self) -> int | None:
        """The id after which the page begins; None for the first page. Raises BadCursor."""
        return read_cursor(self.cursor)

    @property
    def size(self) -> int:
        """The most items on the page."""
        return min(self.limit, self.most)

    def next(self, items: Sequence[Item], number: Callable[[Item], int] = attrgetter("id")) -> str | None:
        """Return the cursor of the page after this one, if it is full, from the number of its last item."""
        return write_cursor(number(items[-1])) if len(items) == self.size else None


class Items(BaseModel, Generic[Item]):
    """A complete list, without pages."""

    items: list[Item]


class Paged(Items[Item], Generic[Item]):
    """One page of a list."""

    next: str | None = Field(description="Cursor of the next page; null: this is the last.")


TEXT = object()
"""The context in which a form's fields are validated."""

_NUMBERS = (int, float)

_DATES = frozenset({datetime, cast("type", AwareDatetime)})

_DATE = re.compile(r"\d{4}-\d\d-\d\dT")


def _fits(annotation: Any, value: Any) -> bool:
    """Return whether a JSON value's type matches the annotation; false only if pydantic would convert the value."""
    kinds = _kinds(annotation)
    if isinstance(value, bool):
        return bool in kinds or not kinds & {*_NUMBERS}
    if isinstance(value, _NUMBERS):
        return bool(kinds & {*_NUMBERS}) or not kinds & {bool, *_DATES}
    if isinstance(value, str):
        if kinds & _DATES:
            return _DATE.match(value) is not None
        return str in kinds or not kinds & {bool, *_NUMBERS}
    return True


@cache
def _kinds(annotation: Any) -> frozenset[type]:
    """Return the plain types of an annotation, including those inside `Annotated` and unions. Enumerations of
    text count as text.
    """
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return frozenset[type]().union(*map(_kinds, get_args(annotation)))
    if isinstance(annotation, type) and issubclass(annotation, str):
        return frozenset({str})
    return frozenset({annotation} if isinstance(annotation, type) else ())


class Problem(BaseModel):
    """RFC 9457. Further members depend on `code`."""

    type: str = Field(description="A URN that ends in `code`.", examples=["urn:deadheat:problem:not-found"])
    title: str = Field(description="The status in words.", examples=["Not Found"])
    status: int = Field(description="The HTTP status.", examples=[404])
    detail: str = Field(description="What was wrong, for people.", examples=["There is no season '7'."])
    instance: str = Field(description="The path that was asked for.", examples=["/v1/seasons/7"])
    code: str = Field(description="What was wrong, as a stable word.", examples=["not-found"])
