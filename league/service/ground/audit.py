"""The audit log: every decision and its author, in a chain that reveals changes (`league.verification.fairness`).

Nothing is ever changed or removed (the database refuses), so an organiser's corrections appear as further records.

All writers of the log wait in one line, whatever their season. Records are kept until the transaction commits and
written last, so that nobody waits there while holding a lock that others need.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Integer, event, text
from sqlmodel import Session, case, cast, col, exists, func, or_, select

from deadheat.league.database import now
from deadheat.league.records import from_row
from deadheat.league.records.rulings import AuditRecord as AuditEntry
from deadheat.league.tables import Announcement, AuditRecord, Bot, Match, Season, Series, Team, User
from deadheat.league.verification.fairness import GENESIS, canonical, record_sha256

AUDIT_LOCK = 7_341_553
"""PostgreSQL advisory lock under which records are appended one at a time; SQLite's writers queue anyway."""

WAITING = "audit"
"""The key under which a session keeps the records of its transaction."""

SYSTEM = "system"
"""The actor of decisions that no person made."""


def record(session: Session, actor: str, action: str, subject: str, data: Mapping[str, object] | None = None) -> None:
    """Append one record when the caller's transaction commits, and only then."""
    session.info.setdefault(WAITING, []).append((actor, action, subject, canonical(data or {})))


@event.listens_for(Session, "before_commit")
def _append_waiting(session: Session) -> None:
    if waiting := session.info.pop(WAITING, []):
        session.flush()  # every other lock comes before the log's
        if session.get_bind().dialect.name == "postgresql":
            session.connection().execute(text(f"SELECT pg_advisory_xact_lock({AUDIT_LOCK})"))
        newest = select(AuditRecord.sha256).order_by(col(AuditRecord.id).desc()).limit(1)
        previous = session.exec(newest).first() or GENESIS
        for actor, action, subject, data in waiting:
            about = {"at": now(session).isoformat(), "actor": actor, "action": action, "subject": subject, "data": data}
            row = AuditRecord(**about, prev_sha256=previous, sha256="")
            previous = row.sha256 = record_sha256(from_row(AuditEntry, row))
            session.add(row)
            session.flush()


@event.listens_for(Session, "after_rollback")
def _forget_waiting(session: Session) -> None:
    session.info.pop(WAITING, None)


def audit_log(
    session: Session,
    *,
    before: int | None = None,
    subject: str = "",
    about: Collection[str] = (),
    actor: str = "",
    actions: Collection[str] = (),
    oldest_first: bool = False,
    limit: int = 100,
) -> list[AuditEntry]:
    """List records with an id below `before`, the newest first; with `oldest_first` those above it, the oldest first.

    `subject`: only those about one thing, e.g. ``match/5``; `about`: only those that concern one of these things (a
    season's matches and announcements belong to it, and a decision on a bot in a season concerns the bot); `actor`:
    only one person's; `actions`: only these.
    """
    statement = select(AuditRecord).order_by(col(AuditRecord.id) if oldest_first else col(AuditRecord.id).desc())
    if before is not None:
        statement = statement.where(AuditRecord.id > before if oldest_first else AuditRecord.id < before)
    if subject:
        statement = statement.where(AuditRecord.subject == subject)
    if about:
        statement = statement.where(or_(*(_concerns(*thing.split("/", 1)) for thing in about)))
    if actor:
        statement = statement.where(AuditRecord.actor == actor)
    if actions:
        statement = statement.where(col(AuditRecord.action).in_(sorted(actions)))
    return [from_row(AuditEntry, row) for row in session.exec(statement.limit(limit))]


def _concerns(kind: str, number: str = "") -> ColumnElement[bool]:
    itself = col(AuditRecord.subject) == (f"{kind}/{number}" if number else kind)
    if not number.isdecimal() or len(number) > 9 or kind not in ("season", "bot"):  # no id has more digits
        return itself
    mentions = (col(AuditRecord.data).contains(f'"{kind}":{int(number)}{end}', autoescape=True) for end in ",}")
    if kind == "bot":
        return or_(itself, *mentions)
    archive = col(AuditRecord.subject) == f"archive/{number}"
    return or_(
        itself, archive, *mentions, _lies_in(Match, "match/", int(number)), _lies_in(Series, "series/", int(number))
    )


def _lies_in(table: type[Match] | type[Series], prefix: str, season_id: int) -> ColumnElement[bool]:
    """Return the condition that a record is about a row of that table which belongs to the season."""
    subject = col(AuditRecord.subject)
    number = case((subject.startswith(prefix), cast(func.substr(subject, len(prefix) + 1), Integer)))
    return exists().where(col(table.id) == number, col(table.season_id) == season_id)


def first_broken(session: Session) -> int | None:
    """Return the id of the first record that does not follow from the one before, or None if the chain holds."""
    previous = GENESIS
    for row in session.exec(select(AuditRecord).order_by(col(AuditRecord.id)).execution_options(yield_per=1000)):
        if row.prev_sha256 != previous or row.sha256 != record_sha256(from_row(AuditEntry, row)):
            return row.id
        previous = row.sha256
    return None


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
        for kind, ids in numbers.items()
        for number, name in session.exec(select(*NAMED[kind]).where(col(NAMED[kind][0]).in_(ids)))
    }
