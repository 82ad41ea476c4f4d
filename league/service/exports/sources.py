"""The sources of a season's versions, if it publishes them: of those that played for an entry in the season's own
matches, not only against its panel, at a gate or at an author's request.
"""

from __future__ import annotations

from typing import Any

from sqlmodel import Session, col, select

from deadheat.league.errors import NotFound
from deadheat.league.service.exports.pages import Page, Scope, cells
from deadheat.league.states import WITH_RESULT, Purpose, SourcesFrom
from deadheat.league.tables import Bot, BotVersion, Match, Participant, RatingSnapshot, Season, Series, User

UNASKED = (Purpose.LADDER, Purpose.FINALS, Purpose.EVALUATION, Purpose.RATED_EVALUATION)


def sources(session: Session, scope: Scope, after: int, limit: int) -> Page:
    """Return one row for each version whose source is public."""
    statement = (
        select(BotVersion, Bot.name, User.name)
        .join(Bot, col(Bot.id) == BotVersion.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .where(*_public(scope.season_id), BotVersion.id > after, *scope.about(BotVersion.bot_id))
    )
    found = session.exec(statement.order_by(col(BotVersion.id)).limit(limit)).all()
    rows = [
        {
            "version_id": version.id,
            "author": author,
            "bot": bot,
            "version": version.number,
            **cells(version, "bot_id", "language", "filename", "size_bytes", "source_sha256"),
        }
        for version, bot, author in found
    ]
    return rows, found[-1][0].id if len(found) == limit else None


def public_source(session: Session, season_id: int, version_id: int) -> BotVersion:
    """Return a version whose source is public. Raises NotFound."""
    found = session.exec(select(BotVersion).where(*_public(season_id), BotVersion.id == version_id)).first()
    if found is None:
        raise NotFound("source", version_id)
    return found


def _public(season_id: int) -> tuple[Any, ...]:
    """Return the condition on `BotVersion`."""
    published = (
        select(Season.id)
        .join(RatingSnapshot, col(RatingSnapshot.season_id) == Season.id)
        .where(Season.id == season_id, Season.sources == SourcesFrom.CLOSED, col(RatingSnapshot.final).is_(True))
    )
    played = (
        select(Participant.version_id)
        .join(Match, col(Match.id) == Participant.match_id)
        .join(Series, col(Series.id) == Match.series_id)
        .where(col(Match.season_id).in_(published), col(Series.purpose).in_(UNASKED))
        .where(col(Match.state).in_(WITH_RESULT))
    )
    return (col(BotVersion.id).in_(played),)
