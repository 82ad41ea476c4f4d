"""How honest the league has been: each season's faults, failures of ours and rankings, from its newest snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, func, select

from league.service.ground.counting import HELD
from league.service.series.rules_played import rules_played
from league.states import SeasonState
from league.tables import Match, RatingSnapshot, Season

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
    held = dict(session.exec(select(Match.season_id, func.count()).where(HELD).group_by(col(Match.season_id))).all())
    return [
        _honesty(season, held.get(season.id, 0), snapshots.get(season.id), rules.get(season.id, []))
        for season in seasons
    ]


def _honesty(
    season: Season, held: int, snapshot: RatingSnapshot | None, rules: Sequence[tuple[int, datetime]]
) -> Honesty:
    return Honesty(
        season_id=season.id,
        name=season.name,
        game=season.game,
        state=season.state,
        held=held,
        totals={} if snapshot is None else snapshot.standings["totals"],
        log_sha256=None if snapshot is None else snapshot.log_sha256,
        ranked_at=None if snapshot is None else snapshot.created_at,
        rules=tuple(rules),
    )
