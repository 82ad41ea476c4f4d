"""Parts of a season's page at the desk: the form of its settings, its timetable, and the confirmation of what was done.

`league.terms` defines the settings. The form shows the present values, so that people see what they send. An
empty setting becomes none if it may be none, and otherwise does not change.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import Response

from deadheat.api.pages.forms import onward, setting_label
from deadheat.api.pages.render import instant
from deadheat.engine.figures import away
from deadheat.engine.language import N_, _, gettext
from deadheat.league.records.seasons import DeclaredDate, Season
from deadheat.league.states import SEASON_STEPS, SeasonState
from deadheat.league.terms import TERMS, Group, Term

LINES = frozenset({"stages"})
"""Lists whose members are too long to be side by side."""

NAMED = re.compile("`([a-z_]+)`")


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
        return self.term.name in LINES

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
        meaning = NAMED.sub(lambda named: setting_label(named[1]), gettext(in_form(self.term)))
        if self.lines:
            return _("One per line. %(meaning)s", meaning=meaning)
        return _("Separated by commas. %(meaning)s", meaning=meaning) if self.term.kind is list else meaning


def in_form(term: Term) -> str:
    """Return a setting's description for the form, where an empty field means none."""
    return term.meaning.replace("; null:", "; empty:")


def groups(season: Season) -> Mapping[Group, Sequence[Filled]]:
    """Return the form, filled in with a season's settings."""
    by_group: dict[Group, list[Filled]] = {}
    for name, term in TERMS.items():
        filled = Filled(term, _shown(name, getattr(season, name)), not term.may_change(season.state))
        by_group.setdefault(term.setting.group, []).append(filled)
    return by_group


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


@dataclass(frozen=True, slots=True)
class Step:
    """A line of the timetable. `utc`: its date, or when it comes if it has none. `local` is empty if it is the same."""

    label: str
    at: datetime | None
    utc: str
    local: str
    away: str
    next: bool


PAST = {f"dates.{step.date}": (state, step.past) for state, step in SEASON_STEPS.items()}
"""The states that seasons reach by date, and the labels of these dates in the past, by their place in a file."""


def steps(
    dates: Sequence[DeclaredDate], timezone: str | None, now: datetime, reached: SeasonState = SeasonState.CLOSED
) -> list[Step]:
    """Return the lines for a reader at `now`, also in the time zone if it differs from UTC on any of the
    dates. `reached`: the season's state; a date that has passed without effect keeps its label.
    """
    zone = ZoneInfo(timezone) if timezone else None
    if zone is None or not any(date.at and date.at.astimezone(zone).utcoffset() for date in dates):
        zone = None
    coming = min((date.at for date in dates if date.at and date.at > now), default=None)
    done = {path: past for path, (state, past) in PAST.items() if not state.is_after(reached)}
    return [_step(date, zone, now, done, date.at is not None and date.at == coming) for date in dates]


def _step(date: DeclaredDate, zone: ZoneInfo | None, now: datetime, done: Mapping[str, str], coming: bool) -> Step:
    if date.at is None:
        return Step(gettext(date.label), None, gettext(date.otherwise), "", "", next=False)
    label = gettext(date.label if date.at > now else done.get(date.path, date.label))
    local = f"{date.at.astimezone(zone):%Y-%m-%d %H:%M %Z}" if zone else ""
    return Step(label, date.at, instant(date.at.astimezone(UTC)), local, away((date.at - now).total_seconds()), coming)


@dataclass(frozen=True, slots=True)
class Done:
    """A sentence about what was done, and the part of the page that shows it; empty: the top."""

    place: str
    text: str


STATE = "state"

DONE: Mapping[str, Done] = {
    "created": Done("", N_("The season was created. Nothing is played before it opens.")),
    "changed": Done("", N_("The season is now as its file declares.")),
    "saved": Done("settings", N_("The settings were saved.")),
    "invited": Done("invitations", N_("The author was invited.")),
    "uninvited": Done("invitations", N_("The author is no longer invited.")),
    "entered": Done("entries", N_("The bot was entered.")),
    "moved": Done("entries", N_("The bot is now in another division.")),
    "withdraw": Done("entries", N_("The bot was withdrawn.")),
    "disqualify": Done("entries", N_("The bot was disqualified.")),
    "reinstate": Done("entries", N_("The bot was reinstated.")),
}


def done(word: str, state: SeasonState) -> Done | None:
    if word == STATE and state in SEASON_STEPS:
        return Done("", _("The season was %(becomes)s.", becomes=gettext(SEASON_STEPS[state].becomes)))
    return DONE.get(word)


def to_season(season_id: int, word: str, listing: str = "") -> Response:
    """Redirect to a season's page, which confirms what was done. `listing`: the query of its list of entries."""
    place = DONE[word].place if word in DONE else ""
    query = f"{listing}&done={word}" if listing else f"?done={word}"
    return onward(f"/desk/seasons/{season_id}{query}{place and f'#{place}'}")
