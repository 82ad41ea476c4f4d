"""The audit page, for everyone: how honest the league has been, and who decided what."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from sqlmodel import Session

from deadheat.api.cursors import read_cursor, write_cursor
from deadheat.api.deps import Shared
from deadheat.api.pages.render import everyones, render
from deadheat.api.pages.texts.decisions import ACTIONS, words
from deadheat.engine.language import N_, gettext
from deadheat.league.records.rulings import AuditRecord
from deadheat.league.service.ground.audit import SYSTEM, audit_log
from deadheat.league.service.rankings.honesty import honesty
from deadheat.league.service.views.subjects import subject_names, subjects_named

router = APIRouter()

RECORDS = 50
"""The number of records on one page."""

PAGES = {
    N_("announcement"): "",
    N_("archive"): "/seasons/",
    N_("bot"): "/bots/",
    N_("match"): "/matches/",
    N_("season"): "/seasons/",
    N_("series"): "",
    N_("team"): "/teams/",
    N_("user"): "",
}
"""The address of a subject's page by the subject's kind; "" if it has none."""


@dataclass(frozen=True, slots=True)
class Line:
    """A record in words: the actor and the action (before and after the subject), the subject, and figures."""

    record: AuditRecord
    at: datetime
    who: str
    before: str
    after: str
    thing: str
    page: str
    said: list[tuple[str, object]]


@router.get("/audit")
@everyones
def audit(
    shared: Shared,
    who: Annotated[str, Query(max_length=32)] = "",
    about: Annotated[str, Query(max_length=64)] = "",
    kind: Annotated[str, Query(max_length=64)] = "",
    cursor: Annotated[str | None, Query(max_length=32)] = None,
) -> str:
    """Show each season's faults and failures, and the audit log: all of it, or by person, subject and kind."""
    before = read_cursor(cursor)
    chosen = {"who": who.strip(), "about": about.strip().strip("/"), "kind": kind if kind in ACTIONS else ""}
    filtered = any(chosen.values())
    with shared.db.reading() as session:
        records = audit_log(
            session,
            before=before,
            about=_subjects(session, chosen["about"]),
            actor=chosen["who"],
            actions=tuple(ACTIONS.get(chosen["kind"], ())),
            limit=RECORDS,
        )
        lines = [(record, _data(record)) for record in records]
        mentioned = [record.subject for record in records]
        mentioned += [f"bot/{data['bot']}" for _, data in lines if "bot" in data]
        names = subject_names(session, mentioned)
        seasons = [] if before or filtered else honesty(session, totals=shared.boards.totals)
    query = urlencode({name: value for name, value in chosen.items() if value})
    return render(
        shared,
        "audit.html",
        lines=[_line(record, data, names) for record, data in lines],
        older=write_cursor(records[-1].id) if len(records) == RECORDS else None,
        seasons=seasons,
        kinds=tuple(ACTIONS),
        chosen=chosen,
        filtered=filtered,
        query=query,
    )


def _subjects(session: Session, about: str) -> list[str]:
    """Return the subjects that the input may mean: ``season/1``, "season 1" in the reader's language, or a name."""
    kind, _, number = about.replace("/", " ").partition(" ")
    kinds = {word: one for one in PAGES for word in (one, gettext(one))}
    numbered = [f"{kinds[kind.lower()]}/{int(number)}"] if kind.lower() in kinds and number.isdecimal() else []
    return numbered + subjects_named(session, about) or [about] * bool(about)


def _data(record: AuditRecord) -> dict[str, object]:
    """Return the record's figures. For a changed setting, return both values if the record has the old one."""
    data = found if isinstance(found := json.loads(record.data), dict) else {}
    was = data.pop("was") if isinstance(data.get("was"), dict) else {}
    data |= {key: f"{_shown(old)} → {_shown(data.get(key))}" for key, old in was.items()}
    return {key: value for key, value in data.items() if value not in ("", None)}


def _shown(value: object) -> str:
    if value in ("", None):
        return "\N{EN DASH}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _line(record: AuditRecord, data: dict[str, object], names: dict[str, str]) -> Line:
    kind, _, number = record.subject.partition("/")
    before, _, after = words(record.action).partition("{}")
    own = names.get(record.subject)
    if "bot" in data and f"bot/{data['bot']}" in names:
        data["bot"] = names[f"bot/{data['bot']}"]
    return Line(
        record,
        datetime.fromisoformat(record.at),
        "Deadheat" if record.actor == SYSTEM else record.actor,
        before,
        after,
        f"{gettext(kind)} {own or number}" if "{}" in words(record.action) else "",
        f"{PAGES[kind]}{number}" if PAGES.get(kind) else "",
        list(data.items()),
    )
