"""The form of a season's settings, which `league.terms` defines: fills it in and reads it.

The form shows the present values: a new season's defaults, or another season's settings, so that people see what they
send. An empty setting becomes none if it may be none, and otherwise does not change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from deadheat.api.pages.forms import setting_label
from deadheat.engine.language import _, gettext
from deadheat.league.records.seasons import Season
from deadheat.league.states import SeasonState
from deadheat.league.terms import TERMS, Group, Term

SEATS = "seats"
"""The only setting whose default depends on the game; it is empty in the form for a new season."""

LINES = frozenset({"stages"})
"""Lists whose members are too long to be side by side."""

NAMED = re.compile("`([a-z_]+)`")
"""The pattern of another setting's name in a description."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A setting in the form. `settled`: it can no longer change."""

    term: Term
    value: str
    settled: bool

    @property
    def type(self) -> str:
        """The type of its `<input>`. A setting with options is a choice instead."""
        return {datetime: "datetime-local", int: "number"}.get(self.term.kind, "text")

    @property
    def lines(self) -> bool:
        """Whether it has a field of several lines."""
        return self.term.name in LINES

    @property
    def required(self) -> bool:
        return not self.term.optional and self.term.name != SEATS

    @property
    def options(self) -> list[tuple[str, str]]:
        return [(value, gettext(label)) for value, label in self.term.setting.options.items()]

    @property
    def note(self) -> str:
        """The note beside the field. A choice needs none."""
        if self.settled:
            return _("This can no longer be changed.")
        if self.term.setting.options:
            return ""
        said = NAMED.sub(lambda named: setting_label(named[1]), gettext(in_form(self.term)))
        if self.lines:
            return _("One per line. %(meaning)s", meaning=said)
        return _("Separated by commas. %(meaning)s", meaning=said) if self.term.kind is list else said


def in_form(term: Term) -> str:
    """Return a setting's description for the form, where an empty field means none."""
    return term.meaning.replace("; null:", "; empty:")


def groups(
    season: Season | None = None, state: SeasonState = SeasonState.SCHEDULED
) -> Mapping[Group, Sequence[Filled]]:
    """Return the form, filled in with a season's settings or with the defaults."""
    found: dict[Group, list[Filled]] = {}
    for name, term in TERMS.items():
        default = "" if name == SEATS else term.default
        value = _shown(name, default if season is None else getattr(season, name))
        found.setdefault(term.setting.group, []).append(Filled(term, value, not term.may_change(state)))
    return found


def read(fields: Mapping[str, str]) -> dict[str, Any]:
    """Read the form as the API's values: dates in UTC, lists as lists, an empty setting as none if it may be none."""
    sent: dict[str, Any] = {name: value for name, value in fields.items() if value != ""}
    for name in TERMS.keys() & fields.keys():
        if fields[name] == "":
            sent |= {name: None} if TERMS[name].optional else {}
        elif TERMS[name].kind is datetime:
            sent[name] = f"{fields[name]}Z"
        elif TERMS[name].kind is list:
            sent[name] = [word.strip() for word in fields[name].strip().replace("\n", ",").split(",")]
    if "divisions" in fields:
        sent["divisions"] = [_division(line) for line in fields["divisions"].splitlines() if line.strip()]
    return sent


def _division(line: str) -> dict[str, str]:
    name, _, size = line.partition(",")
    return {"name": name.strip()} | ({"size": size.strip()} if size.strip() else {})


def _shown(name: str, value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case StrEnum():
            return value.value
        case datetime():
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        case list():
            return ("\n" if name in LINES else ", ").join(value)
        case _:
            return str(value)
