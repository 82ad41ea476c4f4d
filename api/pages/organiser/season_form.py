"""The form of a season's settings: how the API's settings are grouped, called and read.

What each setting may be, its default and what is said of it come from `api.schemas.SeasonTerms`; here are the groups
and the labels. The form shows what holds: a new season's defaults, or what another season has, so that what is sent is
what was seen. A setting left empty is none, where it may be none, and left as it is elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from api import schemas
from league.service.seasons.seasons import CHANGEABLE_UNTIL, SeasonInfo
from league.states import SeasonState

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Matches": {
        "seats": "Seats at a table",
        "ranks": "What counts",
        "series_length": "Matches per series",
        "games_per_pair": "Matches per pair",
    },
    "Dates, in UTC": {
        "opens_at": "Opens",
        "freezes_at": "Freezes",
        "finals_at": "Finals begin",
        "closes_at": "Closes",
    },
    "Qualification and finals": {
        "finals": "Finals",
        "finals_top": "How many qualify",
        "finals_games": "Matches per meeting",
        "finals_rounds": "Swiss rounds",
        "finals_extra_games": "Extra matches",
        "finals_log": "What ranks the finalists",
        "closes_when_done": "When they are over",
        "promoted": "Promoted bots",
    },
    "Who may enter": {
        "admission": "Admission",
        "entries_per_author": "Entries per author",
        "teams_only": "Bots of",
        "languages": "Languages",
    },
    "Quotas and gates": {
        "uploads_per_hour": "Uploads per author and hour",
        "versions_per_day": "Versions per bot and day",
        "challenge_games": "Matches at a promotion gate",
    },
}

CHOICES: Mapping[str, Mapping[str, str]] = {
    "ranks": {"placement": "every place", "wins": "only the win"},
    "finals": {"none": "none: the ladder decides", "round-robin": "everybody meets everybody", "swiss": "Swiss rounds"},
    "finals_log": {"season": "all matches of the season", "finals": "only the finals"},
    "closes_when_done": {"true": "the season closes", "false": "it is closed by date or manually"},
    "admission": {"everyone": "everyone", "invited": "invited authors", "nobody": "nobody: organisers enter bots"},
    "teams_only": {"false": "anybody", "true": "teams only"},
}

NOTES: Mapping[str, str] = {
    "seats": "Empty: the game's minimum.",
    "finals_log": "",
    "freezes_at": "Fixes entries and versions. Empty: manually.",
    "teams_only": "",
    "admission": "",
    "finals": "",
    "closes_when_done": "",
    "languages": "Separated by commas. Empty: all that the judge image has.",
    "entries_per_author": "Counts a person's bots, alone and in teams. Empty: unlimited.",
    "uploads_per_hour": "For bots that take part. Empty: the site's limit.",
    "versions_per_day": "For bots that take part. Empty: the site's limit.",
}
"""Where the API's own words do not fit beside a field."""

_PROPERTIES: Mapping[str, Mapping[str, Any]] = schemas.SeasonTerms.model_json_schema()["properties"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One field. `settled`: it cannot be changed any more."""

    name: str
    label: str
    kind: str
    note: str
    value: str
    least: int | None
    most: int | None
    options: Sequence[tuple[str, str]]
    optional: bool
    settled: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Fields that belong together."""

    title: str
    settings: Sequence[Setting]


def groups(season: SeasonInfo | None = None, state: SeasonState = SeasonState.SCHEDULED) -> list[Group]:
    """The form, filled in with a season's settings, or with the defaults."""
    return [
        Group(title, [_setting(name, label, season, state) for name, label in labels.items()])
        for title, labels in GROUPS.items()
    ]


def read(fields: Mapping[str, str]) -> dict[str, Any]:
    """What was sent, as the API has it: dates in UTC, lists as lists, an empty setting none where it may be none."""
    terms: dict[str, Any] = {name: value for name, value in fields.items() if value != ""}
    for labels in GROUPS.values():
        for name in labels:
            if fields.get(name) == "" and _optional(name):
                terms[name] = None
            elif name in terms and _kind(name) == "datetime-local":
                terms[name] = f"{terms[name]}Z"
    if "languages" in fields and terms["languages"] is not None:
        terms["languages"] = [word.strip() for word in fields["languages"].split(",")]
    if "divisions" in fields:
        terms["divisions"] = [_division(line) for line in fields["divisions"].splitlines() if line.strip()]
    return terms


def divisions_text(season: SeasonInfo) -> str:
    """Its divisions as they are typed: one a line, the highest first, perhaps with the most entries."""
    return "\n".join(f"{one.name}, {one.size}" if one.size else one.name for one in season.divisions)


def _division(line: str) -> dict[str, str]:
    name, _, size = line.partition(",")
    return {"name": name.strip()} | ({"size": size.strip()} if size.strip() else {})


def _setting(name: str, label: str, season: SeasonInfo | None, state: SeasonState) -> Setting:
    bounds = _bounds(name)
    default = "" if name == "seats" else _PROPERTIES[name].get("default")
    return Setting(
        name=name,
        label=label,
        kind=_kind(name),
        note=NOTES.get(name, _note(name)),
        value=_shown(default if season is None else getattr(season, name)),
        least=bounds.get("minimum"),
        most=bounds.get("maximum"),
        options=tuple(CHOICES.get(name, {}).items()),
        optional=_optional(name) or name == "seats",
        settled=_place(state) > _place(CHANGEABLE_UNTIL[name]),
    )


def _note(name: str) -> str:
    said: str = _PROPERTIES[name].get("description", "")
    return said.replace("; null:", "; empty:").replace("null:", "Empty:")


def _place(state: SeasonState) -> int:
    return tuple(SeasonState).index(state)


def _bounds(name: str) -> Mapping[str, Any]:
    """The schema of a setting that is not none."""
    either: list[Mapping[str, Any]] = _PROPERTIES[name].get("anyOf", [_PROPERTIES[name]])
    return either[0]


def _optional(name: str) -> bool:
    return {"type": "null"} in _PROPERTIES[name].get("anyOf", [])


def _kind(name: str) -> str:
    """What an `<input>` calls it, or "choice"."""
    if name in CHOICES:
        return "choice"
    bounds = _bounds(name)
    if bounds.get("format") == "date-time":
        return "datetime-local"
    return "number" if bounds.get("type") == "integer" else "text"


def _shown(value: object) -> str:
    """A setting as a form has it."""
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
            return ", ".join(value)
        case _:
            return str(value)
