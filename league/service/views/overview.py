"""The league at a glance: each season's leader, the number of participants, and the match worth watching."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import sqlalchemy
from sqlmodel import Session, col, func, select

from deadheat.league.service.series.deals import SILENT
from deadheat.league.service.series.privacy import PLANNED
from deadheat.league.states import MatchState
from deadheat.league.tables import Bot, Entry, Match, Participant, RatingPoint, Season, User

LOOKED_AT = 200
"""The number of newest matches from which the one to watch is chosen."""


@dataclass(frozen=True, slots=True)
class Leader:
    """The bot in a season's first place, by its newest ranking; if several share it, the highest rated."""

    bot_id: int
    bot: str
    author: str
    elo: float
    others: int = 0


def leaders(session: Session, season_ids: Sequence[int]) -> dict[int, Leader]:
    """Return each ranked season's leader, in the highest division, and how many others share the place."""
    newest = _last_seconds(session, season_ids)
    statement = FIRST.where(_at(newest))
    found: dict[int, list[Leader]] = {}
    highest: dict[int, int] = {}
    for row in session.connection().execute(statement) if newest else ():
        if highest.setdefault(row.season_id, row.division) == row.division:
            found.setdefault(row.season_id, []).append(Leader(*row[2:]))
    return {season_id: replace(shared[0], others=len(shared) - 1) for season_id, shared in found.items()}


FIRST = (
    sqlalchemy.select(
        col(RatingPoint.season_id),
        col(Entry.division),
        col(Bot.id),
        col(Bot.name),
        col(User.name),
        col(RatingPoint.elo),
    )
    .join_from(RatingPoint, Bot, col(Bot.id) == col(RatingPoint.bot_id))
    .join(User, col(User.id) == Bot.owner_id)
    .join(Entry, (col(Entry.bot_id) == Bot.id) & (col(Entry.season_id) == RatingPoint.season_id))
    .where(col(RatingPoint.rank) == 1)
    .order_by(col(Entry.division), col(RatingPoint.elo).desc(), col(Bot.id))
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A match that could be watched: its seats' bots, points (None after a fault) and places (None: unranked)."""

    match_id: int
    points: list[str | None] = field(default_factory=list)
    places: list[int | None] = field(default_factory=list)

    @property
    def worth(self) -> float:
        """The sum of the players' strength and the closeness of the result, each from 0 to 1."""
        if not self.points or None in self.points:
            return -1.0
        scores = [float(Fraction(points)) for points in self.points if points is not None]
        spread = max(map(abs, scores)) or 1.0
        close = 1 - (max(scores) - min(scores)) / spread
        strong = sum(1 / place if place else 0.0 for place in self.places) / len(self.places)
        return strong + max(close, 0.0)


def worth_watching(session: Session) -> list[int]:
    """Return the newest counted matches, most interesting first: the best players with the closest result."""
    newest = (
        select(Match.id)
        .where(Match.state == MatchState.DONE, PLANNED, col(Match.rated).is_(True))
        .where(col(Match.transcript_sha256).is_not(None), col(Match.finished_at).is_not(None))
        .where(col(Match.season_id).not_in(SILENT))
        .order_by(col(Match.finished_at).desc(), col(Match.id).desc())
        .limit(LOOKED_AT)
    )
    seats = (
        select(Participant.match_id, Match.season_id, Participant.bot_id, Participant.points)
        .join(Match, col(Match.id) == Participant.match_id)
        .where(col(Participant.match_id).in_(session.exec(newest).all()))
    )
    rows = session.exec(seats).all()
    places = _places(session, {(row[1], row[2]) for row in rows})
    found: dict[int, Candidate] = {}
    for match_id, season_id, bot_id, points in rows:
        one = found.setdefault(match_id, Candidate(match_id))
        one.points.append(points)
        one.places.append(places.get((season_id, bot_id)))
    ordered = sorted(found.values(), key=lambda one: (one.worth, one.match_id), reverse=True)
    return [one.match_id for one in ordered if one.worth >= 0]


def _places(session: Session, bots: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return the latest place of each bot, by season and bot."""
    bots = set(bots)
    newest = _last_seconds(session, sorted({season_id for season_id, _ in bots}))
    if not newest:
        return {}
    asked = select(RatingPoint.season_id, RatingPoint.bot_id, RatingPoint.rank)
    asked = asked.where(_at(newest), col(RatingPoint.bot_id).in_({bot_id for _, bot_id in bots}))
    return {(season_id, bot_id): rank for season_id, bot_id, rank in session.exec(asked)}


def _last_seconds(session: Session, season_ids: Sequence[int]) -> dict[int, int]:
    """Return when each season was last ranked, in seconds of its age, read from the index."""
    last = select(func.max(RatingPoint.second)).where(RatingPoint.season_id == Season.id).scalar_subquery()
    rows = session.exec(select(Season.id, last).where(col(Season.id).in_(season_ids)))
    return {season_id: second for season_id, second in rows if second is not None}


def _at(seconds: Mapping[int, int]) -> sqlalchemy.ColumnElement[bool]:
    return sqlalchemy.tuple_(col(RatingPoint.season_id), col(RatingPoint.second)).in_(list(seconds.items()))
