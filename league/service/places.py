"""Who is ranked against whom: the divisions of a season, and in them finalists before all others.

Ratings say how strong; a season's rules say what follows from it. Each division has places of its own, and whoever
qualified for the finals comes before whoever did not, whatever the ratings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from league.service.counting import taking_part
from league.tables import Entry


@dataclass(frozen=True, slots=True)
class Field:
    """Versions that are ranked against each other."""

    division: int
    finalists: bool
    version_ids: tuple[int, ...]


def fields_of(session: Session, season_id: int) -> tuple[Field, ...]:
    """The active versions of all bots that take part: by division, finalists first."""
    statement = select(Entry).where(Entry.season_id == season_id, taking_part(season_id))
    members: dict[tuple[int, bool], list[int]] = {}
    for row in session.exec(statement.order_by(col(Entry.version_id))):
        members.setdefault((row.division, row.finals_seed is None), []).append(row.version_id)
    return tuple(Field(division, not others, tuple(members[division, others])) for division, others in sorted(members))


def with_places_before(fields: Sequence[Field]) -> Iterator[tuple[Field, int]]:
    """Each field, and how many places of its division are taken before its first."""
    taken: Counter[int] = Counter()
    for field in fields:
        yield field, taken[field.division]
        taken[field.division] += len(field.version_ids)
