"""The fields of a ranking: the divisions of a season, and in each the finalists before all others.

Ratings say how strong bots are; a season's rules decide their places. Each division has its own places, and finalists
come before all others, whatever the ratings. Finals in stages give places of their own: finalists that have one are
ranked by it alone, and come after those that are still in a stage. A bot without a game that counts has no place: its
rating is only its prior.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlmodel import Session, col, select

from deadheat.league.service.ground.counting import taking_part
from deadheat.league.tables import Entry


@dataclass(frozen=True, slots=True)
class Field:
    """Versions that are ranked against each other; without `ranked`, they have no places and come last.

    `finals_place`: the place of its only version after the stages of the finals.
    """

    division: int
    finalists: bool
    version_ids: tuple[int, ...]
    ranked: bool = True
    finals_place: int | None = None


def fields_of(session: Session, season_id: int) -> tuple[Field, ...]:
    """Return the active versions of all bots that take part: by division, finalists first."""
    members: dict[tuple[int, bool, int], list[int]] = {}
    entered = select(Entry.version_id, Entry.division, Entry.finals_seed, Entry.finals_place)
    entered = entered.where(taking_part(season_id)).order_by(col(Entry.version_id))
    for version_id, division, seed, place in session.exec(entered):
        members.setdefault((division, seed is None, place or 0), []).append(version_id)
    return tuple(
        Field(division, not others, tuple(members[division, others, place]), finals_place=place or None)
        for division, others, place in sorted(members)
    )


def set_apart(fields: Sequence[Field], played: Collection[int], in_finals: Collection[int] | None) -> list[Field]:
    """Return the fields as they are ranked: in each division, those in `played` come first, and the others follow
    without places.

    `in_finals`: if the finals alone rank the finalists, the versions with games in them. Finalists whose games there we
    failed to play come after the others, ranked by the whole season.
    """
    found: list[tuple[tuple[int, bool, bool, bool, int], Field]] = []
    for field in fields:
        members: dict[tuple[bool, bool], list[int]] = {}
        for version_id in field.version_ids:
            missed = in_finals is not None and field.finalists and version_id not in in_finals
            members.setdefault((version_id not in played, missed), []).append(version_id)
        for (unplayed, missed), version_ids in members.items():
            order = (field.division, unplayed, not field.finalists, missed, field.finals_place or 0)
            found.append((order, replace(field, version_ids=tuple(version_ids), ranked=not unplayed)))
    return [field for _, field in sorted(found, key=lambda one: one[0])]


def with_places_before(fields: Sequence[Field]) -> Iterator[tuple[Field, int]]:
    """Yield each field, with the number of places of its division that precede it."""
    taken: Counter[int] = Counter()
    for field in fields:
        yield field, taken[field.division]
        taken[field.division] += len(field.version_ids)
