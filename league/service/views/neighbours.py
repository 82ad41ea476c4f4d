"""The matches before and after one: of its series, of each of its bots, and of two bots against each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import exists, or_
from sqlmodel import Session, col, select

from deadheat.engine.language import _
from deadheat.league.records.matches import Match as MatchInfo
from deadheat.league.service.series.privacy import SHOWN
from deadheat.league.tables import Match, Participant

WINDOW = 200
"""The number of a bot's matches, in the order of their ends, among which to look for one that everybody may see, or one
against that opponent. The search walks along an index; if none is among them, there is no link.
"""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The matches before and after one, and their common subject (for readers); None if there is none, or none near."""

    of: str
    before: int | None
    after: int | None


def neighbours(session: Session, match: MatchInfo) -> list[Neighbours]:
    """The neighbours of a match that a viewer may see, if any; those of its bots only if the match is done."""
    found = [_of_series(session, match)]
    bots = {seat.bot_id: seat.bot for seat in match.seats}
    if match.finished_at is not None and match.seats and match.seats[0].rank is not None:
        found += [_of_bot(session, match, _("of %(bot)s", bot=name), bot_id) for bot_id, name in bots.items()]
        if len(match.seats) == len(bots) == 2:
            first, second = bots
            found.append(_of_bot(session, match, _("of both"), first, second))
    return [item for item in found if item.before is not None or item.after is not None]


def _of_series(session: Session, match: MatchInfo) -> Neighbours:
    number = session.exec(select(Match.number).where(Match.id == match.id)).one()
    near = select(Match.number, Match.id).where(
        Match.series_id == match.series_id, col(Match.number).in_((number - 1, number + 1))
    )
    there = dict(session.exec(near).all())
    return Neighbours(_("of the series"), there.get(number - 1), there.get(number + 1))


def _of_bot(session: Session, match: MatchInfo, of: str, bot_id: int, opponent_id: int | None = None) -> Neighbours:
    before, after = (next(_near(session, match, bot_id, opponent_id, later), None) for later in (False, True))
    return Neighbours(of, before, after)


def _near(session: Session, match: MatchInfo, bot_id: int, opponent_id: int | None, later: bool) -> Iterator[int]:
    ended, number = col(Participant.finished_at), col(Participant.match_id)
    at = match.finished_at
    if later:
        beyond = (ended >= at, or_(ended > at, number > match.id))
        order = (ended.asc(), number.asc())
    else:
        beyond = (ended <= at, or_(ended < at, number < match.id))
        order = (ended.desc(), number.desc())
    window = select(Participant.match_id).where(Participant.bot_id == bot_id, *beyond).order_by(*order).limit(WINDOW)
    ids = list(dict.fromkeys(session.exec(window)))
    wanted = select(Match.id).where(col(Match.id).in_(ids), SHOWN)
    if opponent_id is not None:
        wanted = wanted.where(
            exists().where(col(Participant.match_id) == Match.id, col(Participant.bot_id) == opponent_id)
        )
    seen = set(session.exec(wanted))
    yield from (match_id for match_id in ids if match_id in seen)
