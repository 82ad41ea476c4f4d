"""Each season's faults, failures of the service and rankings, from its newest snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, func, select

from deadheat.league.records import from_row
from deadheat.league.service.ground.counting import HELD
from deadheat.league.service.series.privacy import PLANNED
from deadheat.league.service.series.rules_played import rules_played
from deadheat.league.states import SeasonState
from deadheat.league.tables import Match, RatingSnapshot, Season

MOST_SEASONS = 50


@dataclass(frozen=True, slots=True)
class Honesty:
    """One season. `totals`: see `league.service.rankings.ranking`; empty, as the rest, before the first ranking.

    `held`: its matches that wait for an organiser now, ranked or not. `rules`: the versions of the game's rules under
    which it was played, and since when.
    """

    season_id: int
    name: str
    game: str
    state: SeasonState
    held: int
    totals: dict[str, Any]
    log_sha256: str | None
    ranked_at: datetime | None
    rules: tuple[tuple[int, datetime], ...]


def honesty(session: Session, limit: int = MOST_SEASONS) -> list[Honesty]:
    """The newest seasons first."""
    seasons = session.exec(select(Season).order_by(col(Season.id).desc()).limit(limit)).all()
    of_these = col(RatingSnapshot.season_id).in_([season.id for season in seasons])
    newest = select(func.max(RatingSnapshot.id)).where(of_these).group_by(col(RatingSnapshot.season_id))
    rankings = session.exec(select(RatingSnapshot).where(col(RatingSnapshot.id).in_(newest)))
    snapshots = {snapshot.season_id: snapshot for snapshot in rankings}
    rules: dict[int, list[tuple[int, datetime]]] = {}
    for row in rules_played(session, [season.id for season in seasons]):
        rules.setdefault(row.season_id, []).append((row.rules_version, row.first_at))
    waiting = select(Match.season_id, func.count()).where(HELD, PLANNED).group_by(col(Match.season_id))
    held = dict(session.exec(waiting).all())
    return [
        from_row(
            Honesty,
            season,
            season_id=season.id,
            held=held.get(season.id, 0),
            totals=snapshots[season.id].standings["totals"] if season.id in snapshots else {},
            log_sha256=snapshots[season.id].log_sha256 if season.id in snapshots else None,
            ranked_at=snapshots[season.id].created_at if season.id in snapshots else None,
            rules=tuple(rules.get(season.id, ())),
        )
        for season in seasons
    ]
