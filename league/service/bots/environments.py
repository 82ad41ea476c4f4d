"""Descriptions of the judge image, written by workers for authors."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from deadheat.league.database import now, settings_of
from deadheat.league.service.ground.steps import set_values
from deadheat.league.tables import JudgingEnvironment


@dataclass(frozen=True, slots=True)
class EnvironmentInfo:
    """A description (see `sandbox.environment.describe`), and when a worker last found it true."""

    document: Mapping[str, Any]
    described_at: datetime

    @property
    def languages(self) -> Set[str]:
        """The languages in which bots may be written here."""
        return frozenset(language["name"] for language in self.document["languages"])


def confirm_environment(session: Session, fingerprint: str) -> bool:
    """Note that a description is still true. Return False if there is no such description."""
    known = col(JudgingEnvironment.fingerprint) == fingerprint
    return set_values(session, JudgingEnvironment, known, described_at=now(session)) == 1


def record_environment(
    session: Session, fingerprint: str, image: str, document: Mapping[str, Any], worker: str
) -> None:
    """Store a description, unless another worker has just done so."""
    row = JudgingEnvironment(
        fingerprint=fingerprint, image=image, document=dict(document), worker=worker, described_at=now(session)
    )
    try:
        with session.begin_nested():
            session.add(row)
    except IntegrityError:
        confirm_environment(session, fingerprint)


def environment(session: Session) -> EnvironmentInfo | None:
    """Return the newest description of the image named in the settings, or None until a worker has described it."""
    newest = (
        select(JudgingEnvironment.document, JudgingEnvironment.described_at)
        .where(JudgingEnvironment.image == settings_of(session).image)
        .order_by(col(JudgingEnvironment.described_at).desc())
        .limit(1)
    )
    row = session.exec(newest).first()
    return None if row is None else EnvironmentInfo(*row)


def installed_languages(session: Session) -> Set[str] | None:
    """Return the languages in which bots may be written here, or None while they are unknown."""
    found = environment(session)
    return None if found is None else found.languages
