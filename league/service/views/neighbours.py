"""The matches before and after a given one: in its series, of each of its bots, and of two bots against each other."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import sqlalchemy
from sqlalchemy import BindParameter, Integer, Select, bindparam, exists, or_
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from deadheat.engine.language import _
from deadheat.league.records.matches import Match as MatchInfo
from deadheat.league.service.series.privacy import SHOWN
from deadheat.league.tables import Match, Participant

WINDOW = 200
"""The number of a bot's matches, in the order of their ends, that are searched for one that everybody may see, or one
against that opponent. The search walks along an index; if none is among them, there is no link.
"""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The matches before and after a given one, or None if none is near, and their common subject (for readers)."""

    of: str
    before: int | None
    after: int | None


def neighbours(session: Session, match: MatchInfo) -> list[Neighbours]:
    """Return the neighbours of a match that a viewer may see, if any; those of its bots only if the match is done."""
    bots = {seat.bot_id: seat.bot for seat in match.seats}
    words, subjects = [_("of the series")], list[tuple[int, ...]]()
    if match.finished_at is not None and match.seats and match.seats[0].rank is not None:
        words += [_("of %(bot)s", bot=name) for name in bots.values()]
        subjects = [(place,) for place in range(len(bots))]
        if len(match.seats) == len(bots) == 2:
            words.append(_("of both"))
            subjects.append((0, 1))
    known = {"match": match.id, "at": match.finished_at, "window": WINDOW}
    known |= {f"bot{place}": bot_id for place, bot_id in enumerate(bots)}
    near = session.connection().execute(_near(tuple(subjects)), known).one()
    found = [Neighbours(of, *near[2 * place : 2 * place + 2]) for place, of in enumerate(words)]
    return [item for item in found if item.before is not None or item.after is not None]


@lru_cache(maxsize=64)
def _near(subjects: tuple[tuple[int, ...], ...]) -> Select[Any]:
    """Return the statement for the matches before and after a given one: in its series, and for each of these subjects,
    which are the numbers of one or two of its bots.
    """
    this = select(Match.series_id, Match.number).where(Match.id == bindparam("match")).subquery()
    of_series = [
        select(Match.id).where(Match.series_id == this.c.series_id, Match.number == this.c.number + step)
        for step in (-1, 1)
    ]
    of_bots = [_of_bot(*subject, later=later) for subject in subjects for later in (False, True)]
    return sqlalchemy.select(*(statement.scalar_subquery() for statement in (*of_series, *of_bots)))


def _of_bot(bot: int, opponent: int | None = None, *, later: bool) -> SelectOfScalar[int]:
    ended, number = col(Participant.finished_at), col(Participant.match_id)
    at: BindParameter[datetime] = bindparam("at")
    match: BindParameter[int] = bindparam("match")
    if later:
        beyond = (ended >= at, or_(ended > at, number > match))
    else:
        beyond = (ended <= at, or_(ended < at, number < match))
    window = (
        select(Participant.match_id, ended)
        .where(Participant.bot_id == bindparam(f"bot{bot}"), *beyond)
        .order_by(*(column.asc() if later else column.desc() for column in (ended, number)))
        .limit(bindparam("window", type_=Integer))
        .subquery()
    )
    near = (window.c.finished_at, window.c.match_id)
    found = select(Match.id).join(window, window.c.match_id == Match.id).where(SHOWN)
    if opponent is not None:
        theirs = (col(Participant.match_id) == Match.id, col(Participant.bot_id) == bindparam(f"bot{opponent}"))
        found = found.where(exists().where(*theirs))
    return found.order_by(*(column.asc() if later else column.desc() for column in near)).limit(1)
