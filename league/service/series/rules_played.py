"""The versions of the rules under which a season was played, recorded from the transcripts as series end.

Today's code says nothing about the rules of last year's season; `/audit` and a ranking show what was played.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import bindparam, text
from sqlmodel import Session, col, select

from deadheat.league.jobs import MatchOutcome
from deadheat.league.tables import SeasonRules, UtcDateTime

_NOTE = text(
    "INSERT INTO season_rules (season_id, rules_version, first_at) VALUES (:season_id, :rules_version, :first_at)"
    " ON CONFLICT DO NOTHING"
).bindparams(bindparam("first_at", type_=UtcDateTime))


def note_rules(
    session: Session, season_id: int, newest: int | None, outcomes: Sequence[MatchOutcome], at: datetime
) -> None:
    """Note the rules versions of a series that has just ended; the season's `newest` is noted already."""
    versions = sorted({out.rules_version for out in outcomes if out.rules_version not in (newest, None)})
    if versions:
        rows = [{"season_id": season_id, "rules_version": version, "first_at": at} for version in versions]
        session.connection().execute(_NOTE, rows)


def rules_played(session: Session, season_ids: Sequence[int]) -> list[SeasonRules]:
    """Return the rules versions played in these seasons, by season and version."""
    return list(session.exec(PLAYED, params={"seasons": list(season_ids)}))


PLAYED = (
    select(SeasonRules)
    .where(col(SeasonRules.season_id).in_(bindparam("seasons", expanding=True)))
    .order_by(col(SeasonRules.season_id), col(SeasonRules.rules_version))
)
