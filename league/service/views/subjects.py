"""Names the subjects of the audit log's records, and finds subjects by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlmodel import Session, col, select

from deadheat.league.tables import Announcement, Bot, Season, Team, User

NAMED: Mapping[str, tuple[Any, Any]] = {
    "announcement": (Announcement.id, Announcement.title),
    "archive": (Season.id, Season.name),
    "bot": (Bot.id, Bot.name),
    "season": (Season.id, Season.name),
    "team": (Team.id, Team.name),
    "user": (User.id, User.name),
}

MOST_NAMED = 20
"""The most subjects with one name: bots of different authors may have the same."""


def subjects_named(session: Session, name: str) -> list[str]:
    """Return the seasons, bots, teams and people with that name, whatever its case."""
    return [
        f"{kind}/{number}"
        for kind, table in (("season", Season), ("bot", Bot), ("team", Team), ("user", User))
        for number in session.exec(select(table.id).where(table.name_key == name.lower()).limit(MOST_NAMED))
    ]


def subject_names(session: Session, subjects: Iterable[str]) -> dict[str, str]:
    """Return the present names of the subjects (``bot/3``) that have one, with one statement for each kind."""
    numbers: dict[str, set[int]] = {}
    for subject in subjects:
        kind, _, number = subject.partition("/")
        if kind in NAMED and number.isdecimal():
            numbers.setdefault(kind, set()).add(int(number))
    return {
        f"{kind}/{number}": name
        for kind, found in numbers.items()
        for number, name in session.exec(select(*NAMED[kind]).where(col(NAMED[kind][0]).in_(found)))
    }
