"""Reads and writes an organiser's declaration of a season as a TOML file.

A file has a table for each group of settings (`league.terms.Group`), in which each setting has its usual name.
`[season]`, `invited`, `timezone` and `[[divisions]]` are declared here, and all that is played in `[[contests]]`
(`league.pairing.notation`). Files of version 0.2 say the latter in the settings' tables and in `[[evaluations]]`, which
works, too. Omitted settings have their defaults; `"none"` stands for none, which TOML lacks. Dates have an offset, or
are local times of `timezone`.

`read` reports every mistake that shows in the file alone and continues with the rest, so that the league
(`league.service.seasons.declared`) can add what is impossible in this season.

This module is pure, as `league.terms` is.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from itertools import accumulate
from operator import itemgetter
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field, ValidationError

from deadheat.engine.language import _
from deadheat.league.complaints import plainly
from deadheat.league.pairing.notation import (
    ABSENT,
    CONTESTS,
    COVERED,
    MEANINGS,
    SETTINGS,
    Contests,
    Mistake,
    contests_of,
    translated,
    unknown,
)
from deadheat.league.terms import MAX_DIVISIONS, TERMS, DivisionName, DivisionSize, SeasonName, Terms
from deadheat.league.timetable import MOST_DECLARED, DeclaredEvaluation

MAX_CHARACTERS = 48_000
"""The most characters of a file: as JSON, it then fits into a request to the API. It has room for 3,000 authors."""

MOST_NESTED = 8
"""The most brackets within each other, and the most dots in a key; a declaration has 2 and 1. The parser's time grows
with the square of either, and Python's own stack ends at some hundred brackets.
"""

MOST_MISTAKES = 100
"""The most mistakes that are told at once."""

NONE = "none"
"""The text for no value, where a setting may have none."""

DIVISIONS = "divisions"

EVALUATIONS = "evaluations"

LISTS = (DIVISIONS, EVALUATIONS)
"""Keys whose values are lists of tables."""

ZONE = "timezone"


@dataclass(frozen=True, slots=True)
class Place:
    """The file's table to which a key belongs; empty: the key is a table of its own."""

    table: str


class DeclaredDivision(BaseModel, extra="forbid"):
    """A part of the field."""

    name: DivisionName
    size: DivisionSize | None = None


class Declaration(Terms, extra="forbid", use_attribute_docstrings=True):
    """The content of a file. Its required keys may be missing here: that is a mistake among the others."""

    name: Annotated[SeasonName | None, Place("season")] = None
    """Its name."""

    game: Annotated[str | None, Field(max_length=64), Place("season")] = None
    """What is played; not needed with `previous_id`."""

    previous_id: Annotated[int | None, Field(ge=1, le=2**31 - 1), Place("season")] = None
    """The published season that it continues, whose settings apply where this file leaves them out."""

    timezone: Annotated[str | None, Field(max_length=64), Place("dates")] = None
    """The time zone of dates without an offset, such as Asia/Seoul."""

    invited: Annotated[list[Annotated[str, Field(max_length=32)]] | None, Place("entry")] = None
    """Authors who may enter while admission is invited. Left out: the list does not change."""

    divisions: Annotated[list[DeclaredDivision] | None, Field(max_length=MAX_DIVISIONS), Place("")] = None
    """Parts of the field, highest first. Left out: they do not change."""

    evaluations: Annotated[list[DeclaredEvaluation] | None, Field(max_length=MOST_DECLARED), Place("")] = None
    """Tournaments beside the ladder, at the times `at`, or `every_minutes` from `from` to `until`. Left out: none."""


def _path(name: str) -> str:
    if name in TERMS:
        return TERMS[name].path
    (place,) = (note for note in Declaration.model_fields[name].metadata if isinstance(note, Place))
    return f"{place.table}.{name}" if place.table else name


PATHS: Mapping[str, str] = {name: _path(name) for name in Declaration.model_fields}
"""The path of each declared key in a file."""

TABLES: Mapping[str, tuple[str, ...]] = {
    table: tuple(name for name, path in PATHS.items() if path.rpartition(".")[0] == table)
    for table in dict.fromkeys(["season", *(path.rpartition(".")[0] for path in PATHS.values())])
    if table
}
"""The file's tables with their keys, in order."""

KEYS: tuple[str, ...] = (*(name for names in TABLES.values() for name in names if name != ZONE), *LISTS)
"""All keys of a file that declare something, in order; `timezone` only serves to read the dates."""


@dataclass(frozen=True, slots=True)
class Read:
    """The content of a file as far as it was understood, and all mistakes in it."""

    declared: Declaration
    mistakes: tuple[Mistake, ...]
    text: str = ""
    contests: Contests | None = None
    """None: the file says in the notation of 0.2 what is played."""

    def located(self, mistakes: Iterable[Mistake]) -> list[Mistake]:
        """Return mistakes in the order of the file's lines, with those in contests at the contests."""
        bare = _TEXTS.sub(lambda match: "\n" * match[0].count("\n"), self.text).splitlines()
        placed = []
        for mistake in mistakes:
            path, why = self.contests.located(mistake) if self.contests else mistake
            number = _line(bare, path)
            in_contest = number and path.startswith(f"{CONTESTS}.")
            prefix = _("line %(number)s: ", number=number) if in_contest else ""
            placed.append((number or len(bare) + 1, path, f"{prefix}{why}"))
        return [(path, why) for _line_number, path, why in sorted(placed, key=itemgetter(0))]

    @property
    def outdated(self) -> list[str]:
        """The keys that a file of today replaces by `[[contests]]`."""
        given = self.declared.model_fields_set & COVERED if self.contests is None else ()
        return [PATHS[name] for name in KEYS if name in given]


def read(text: str) -> Read:
    """Read a file. Never fail: everything wrong is among the mistakes."""
    try:
        text.encode()
        if len(text) > MAX_CHARACTERS or _is_nested(text):
            return Read(Declaration(), (("", _("it is longer or more deeply nested than any season's file")),))
        tables = tomllib.loads(text)
    except UnicodeEncodeError:
        return Read(Declaration(), (("", _("it is not UTF-8")),))
    except ValueError as error:  # a number of 5,000 digits raises no TOMLDecodeError
        return Read(Declaration(), (("", _("it is not TOML: %(why)s", why=_clause(str(error)))),))
    mistakes: list[Mistake] = []
    given = dict(_keys(tables, mistakes))
    contests = None
    if CONTESTS in given:
        contests = translated(given.pop(CONTESTS), mistakes)
        twice = (PATHS[name] for name in contests.settings if name in given)
        mistakes += ((CONTESTS, _("they decide %(path)s; leave it out there", path=path)) for path in twice)
        given |= contests.settings
    zone = _zone(given.get(ZONE), mistakes)
    plain = dict(_plain(given, zone, mistakes))
    declared = _checked(plain, mistakes)
    complained = {path for path, _ in mistakes}
    if declared.name is None and PATHS["name"] not in complained:
        mistakes.append((PATHS["name"], _("this is required")))
    return Read(declared, tuple(mistakes[:MOST_MISTAKES]), text, contests)


def _line(bare: Sequence[str], path: str) -> int:
    """Return the line of a key, else of its table, else 0. `bare`: lines without strings, comments and spaces."""
    table, *rest = path.split(".")
    place = int(rest[0]) if table == CONTESTS and rest else 1
    headers = [number for number, line in enumerate(bare, 1) if line in (f"[{table}]", f"[[{table}]]")]
    if len(headers) < place:
        return 0  # they are not written as tables
    at = headers[place - 1]
    for number, line in enumerate(bare[at:], at + 1):
        if re.match(r"\[\[?[a-z]", line):
            break
        if rest and line.startswith(f"{rest[-1]}="):
            return number
    return at


_TEXTS = re.compile(
    r"""\"{3}(?:[^\\]|\\.?)*?(?:\"{3,5}|\Z)|'{3}.*?(?:'{3,5}|\Z)|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|\#[^\n]*|[ \t]+""",
    re.DOTALL,
)
"""Strings, comments and spaces. A string without an end reaches to that of its line or of the file."""

_DOTS = re.compile(rf"(?:\.[\w-]*){{{MOST_NESTED + 1}}}")


def _is_nested(text: str) -> bool:
    """Return whether a text has more than `MOST_NESTED`, as far as it is TOML. The time is linear in its length."""
    bare = _TEXTS.sub("", text)
    depths = accumulate(1 if bracket in "[{" else -1 for bracket in re.findall(r"[\[\]{}]", bare))
    return max(depths, default=0) > MOST_NESTED or _DOTS.search(bare) is not None


def _keys(tables: Mapping[str, Any], mistakes: list[Mistake]) -> Iterator[tuple[str, Any]]:
    """Yield the known keys of all tables with their values."""
    for table, content in tables.items():
        if table in (*LISTS, CONTESTS):
            yield table, content
        elif table not in TABLES:
            mistakes.append((table, _unknown(table, (*TABLES, *LISTS, CONTESTS))))
        elif not isinstance(content, dict):
            mistakes.append((table, _("it is a table; write [%(table)s] and its keys below", table=table)))
        else:
            for key, value in content.items():
                if key in TABLES[table]:
                    yield key, value
                else:
                    mistakes.append((f"{table}.{key}", _unknown(key, TABLES[table])))


def _unknown(word: str, known: Iterable[str]) -> str:
    if word in PATHS:
        return _("it belongs in the table [%(table)s]", table=PATHS[word].partition(".")[0])
    return unknown(word, known)


def _zone(name: object, mistakes: list[Mistake]) -> ZoneInfo | None:
    if not isinstance(name, str):
        return None  # a wrong type is reported with all other mistakes
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        why = _("the server knows no such time zone; write one such as Asia/Seoul, or give each date its offset")
        mistakes.append((PATHS[ZONE], why))
        return None


def _plain(given: Mapping[str, Any], zone: ZoneInfo | None, mistakes: list[Mistake]) -> Iterator[tuple[str, Any]]:
    """Yield the values in the form of JSON."""
    for name, value in given.items():
        term = TERMS.get(name)
        if term is not None and term.optional and value == NONE:
            yield name, None
        elif term is not None and term.kind is datetime:
            when = _date(value, zone)
            if isinstance(when, datetime):
                yield name, when.isoformat()
            else:
                mistakes.append((PATHS[name], when))
        elif name == EVALUATIONS and isinstance(value, list):
            yield name, [_plain_evaluation(number, entry, zone, mistakes) for number, entry in enumerate(value, 1)]
        else:
            yield name, value


def _plain_evaluation(number: int, given: object, zone: ZoneInfo | None, mistakes: list[Mistake]) -> object:
    """Return an evaluation with its dates in the form of JSON."""
    if not isinstance(given, dict):
        return given
    plain = dict(given)
    for key in ("at", "from", "until"):
        if key not in given:
            continue
        several = given[key] if isinstance(given[key], list) else [given[key]]
        dates = [_date(value, zone) for value in several]
        mistakes += ((EVALUATIONS, f"number {number}, {key}: {when}") for when in dates if isinstance(when, str))
        known = [when.isoformat() for when in dates if isinstance(when, datetime)]
        plain[key] = known if key == "at" else next(iter(known), None)
    return plain


def _date(value: object, zone: ZoneInfo | None) -> datetime | str:
    """Return the date, or what is wrong with it."""
    if not isinstance(value, datetime):
        day = f"{value}" if isinstance(value, date) else "2026-12-01"
        return _("write date and time without quotation marks, such as %(day)sT18:00:00+09:00", day=day)
    if value.tzinfo is not None:
        return value
    if zone is None:
        sentence = _("it has no offset; write, for example, %(at)s+09:00, or set timezone in [dates]")
        return sentence % {"at": value.isoformat()}
    local = value.replace(tzinfo=zone)
    if local.utcoffset() != local.replace(fold=1).utcoffset():
        return _("the clocks of %(zone)s change then; write it with its offset", zone=zone.key)
    return local


def _checked(plain: Mapping[str, Any], mistakes: list[Mistake]) -> Declaration:
    """Return the valid values. They are checked as JSON, so that no other type passes, such as "5" for 5."""
    try:
        return Declaration.model_validate_json(json.dumps(plain, default=str), strict=True)
    except ValidationError as error:
        complaints = error.errors(include_url=False)
    mistakes += ((PATHS[str(complaint["loc"][0])], _why(complaint)) for complaint in complaints)
    wrong = {complaint["loc"][0] for complaint in complaints}
    return _checked({name: value for name, value in plain.items() if name not in wrong}, mistakes)


def _why(complaint: Mapping[str, Any]) -> str:
    """Say what is wrong with a value, and in which part."""
    parts = (f"number {part + 1}" if isinstance(part, int) else part for part in complaint["loc"][1:])
    where = ", ".join(parts)
    return f"{where}: {_clause(plainly(complaint))}" if where else _clause(plainly(complaint))


def _clause(sentence: str) -> str:
    return f"{sentence[:1].lower()}{sentence[1:]}".rstrip(".")


def write(season: Mapping[str, Any]) -> str:
    """Return a file that declares a season, given its values by key; `divisions` are pairs of a name and a size."""
    contests = contests_of(season)
    named = {name for kind, words in contests for name in SETTINGS.get(kind, {}).values()} | ABSENT.keys()
    lines = ["# A season of Deadheat: `deadheat season apply FILE --season NUMBER` applies it.", ""]
    lines += [] if contests else [f"{CONTESTS} = []", ""]
    for table, names in TABLES.items():
        lines.append(f"[{table}]")
        for name in names:
            if name in named or (name in COVERED and season[name] == TERMS[name].default):
                continue
            if name in season and (name in TERMS or season[name] is not None):
                lines += _explained(name, name, season[name])
        lines.append("")
    lines.append(f"# {Declaration.model_fields[DIVISIONS].description}")
    for name, size in season[DIVISIONS]:
        lines += [f"[[{DIVISIONS}]]", f"name = {_spelled(name)}", *([f"size = {size}"] if size else []), ""]
    before = None
    for kind, words in contests:
        lines += [*([] if kind is before else [f"# {MEANINGS[kind]}"]), f"[[{CONTESTS}]]", f"kind = {_spelled(kind)}"]
        for word, value in words.items():
            lines += _explained(word, SETTINGS.get(kind, {}).get(word, ""), value)
        lines.append("")
        before = kind
    return "\n".join(lines).rstrip("\n") + "\n"


def _explained(word: str, name: str, value: object) -> list[str]:
    """Return the lines of a key: the meaning of the declared key that has this name, if any, and the value."""
    known = TERMS[name].words if name in TERMS else name and Declaration.model_fields[name].description
    return [*([f"# {known}"] if known else []), f"{word} = {_spelled(value)}"]


def _spelled(value: object) -> str:
    """Return a value in TOML. Text is written as JSON, which is also valid TOML if there are no control characters."""
    match value:
        case None:
            return _spelled(NONE)
        case bool():
            return str(value).lower()
        case StrEnum():
            return _spelled(value.value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case list():
            return f"[{', '.join(map(_spelled, value))}]"
        case _:
            return str(value)
