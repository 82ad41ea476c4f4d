"""The hashes of seasons' archives, which the audit log keeps."""

from __future__ import annotations

from sqlmodel import Session

from deadheat.league.service.ground.audit import audit_log, record
from deadheat.league.service.ground.steps import lock_season
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.seasons import published
from deadheat.league.verification.chain import canonical


def note_archive(session: Session, organiser: Person, season_id: int, sha256: str) -> None:
    """Record the hash of a closed season's archive; recording it again changes nothing.

    The record is about ``archive/1`` rather than ``season/1``, whose records are in the archive.

    Raises:
        NotAllowed, NotFound. WrongState: the standings are not published.
    """
    organiser.must_organise()
    lock_season(session, season_id)
    published(session, season_id, "its archive is final")
    subject, data = f"archive/{season_id}", {"sha256": sha256}
    if canonical(data) not in {one.data for one in audit_log(session, subject=subject)}:
        record(session, organiser.name, "season-archived", subject, data)
