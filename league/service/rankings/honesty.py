"""Each season's faults, failures of the service and rankings, from its newest snapshot."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Text, cast
from sqlalchemy import select as columns
from sqlmodel import Session, col, func, select

from deadheat.league.records import from_row
from deadheat.league.service.ground.counting import HELD
from deadheat.league.service.rankings.stored import standings_in
from deadheat.league.service.series.privacy import PLANNED
from deadheat.league.service.series.rules_played import rules_played
from deadheat.league.states import SeasonState
from deadheat.league.tables import Match, RatingSnapshot, Season

MOST_SEASONS = 50


@dataclass(frozen=True, slots=True)
class Honesty:
    """The figures of one season. `totals`: see `league.service.rankings.ranking`; empty, like the rest, before the
    first ranking.

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


def totals_of(session: Session, snapshot_id: int) -> dict[str, Any]:
    """Return the totals of the log from which a ranking was made. Rankings are large and never change."""
    statement = columns(cast(RatingSnapshot.standings, Text)).where(col(RatingSnapshot.id) == snapshot_id)
    text = session.connection().execute(statement).scalar_one()
    totals: dict[str, Any] = standings_in(text)["totals"]
    return totals


def honesty(session: Session, totals: Callable[[Session, int], dict[str, Any]] = totals_of) -> list[Honesty]:
    """Return the figures of seasons, the newest first."""
    seasons = session.exec(select(Season).order_by(col(Season.id).desc()).limit(MOST_SEASONS)).all()
    of_these = col(RatingSnapshot.season_id).in_([season.id for season in seasons])
    newest = select(func.max(RatingSnapshot.id)).where(of_these).group_by(col(RatingSnapshot.season_id))
    told = (RatingSnapshot.season_id, RatingSnapshot.id, RatingSnapshot.log_sha256, RatingSnapshot.created_at)
    rankings = session.exec(select(*told).where(col(RatingSnapshot.id).in_(newest)))
    snapshots = {season_id: (number, log, at) for season_id, number, log, at in rankings}
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
            totals=totals(session, snapshots[season.id][0]) if season.id in snapshots else {},
            log_sha256=snapshots[season.id][1] if season.id in snapshots else None,
            ranked_at=snapshots[season.id][2] if season.id in snapshots else None,
            rules=tuple(rules.get(season.id, ())),
        )
        for season in seasons
    ]
