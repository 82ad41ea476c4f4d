"""When the dice and moves of a match may be shown: once every match that uses the dice is over, and the season's
transcripts are public.

Theory of operation
-------------------
Where a game's hands are private (`engine.games.same_deals`), the rotations of a deal share one secret seed, hence one
commitment, and lie in different series (`league.service.series.planning`), which end at different times and on
different machines. A reader of the first rotation's record would know every hand of the rotations still to be played.
So a match is *withheld* while another match with its commitment is scheduled: its players and winner are shown, because
ratings follow from them, but nothing that reveals hands. That is its seed, its transcript and everything derived from
it, the words of a fault, a bot's stderr, and the match itself in progress.

A season may also withhold all its matches until its final standings are published (`Season.transcripts`). A bot's
owners can still read its stderr.

Every access checks `withheld`; there is no second rule. A match that is played, abandoned or dropped is over and no
longer withholds others, and a replay by a ruling gets its own dice (`league.service.rulings.rulings`), so nothing is
withheld once it has been shown.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Row, bindparam, literal_column, null
from sqlmodel import Session, col, exists, func, select

from deadheat.league.states import MatchState, TranscriptsFrom
from deadheat.league.tables import Match, RatingSnapshot, Season

FOR_WITHHOLDING = ("season_id", "commitment", "state")
"""The columns of `Match`, besides its id, that `withheld` reads."""


def withheld(session: Session, matches: Sequence[Match | Row[Any]]) -> set[int]:
    """Return the ids of the matches whose dice and moves are not public yet. They may also be rows of these columns."""
    if not matches:
        return set()
    params = {"season_ids": sorted({match.season_id for match in matches}), "commitments": _commitments(matches)}
    rows = session.connection().execute(WITHHELD, params).all()
    silent = {row.silent_id for row in rows}
    return _in_use(matches, rows) | {match.id for match in matches if match.season_id in silent}


SILENT = select(Season.id).where(
    Season.transcripts == TranscriptsFrom.CLOSED,
    ~exists().where(col(RatingSnapshot.season_id) == Season.id, col(RatingSnapshot.final).is_(True)),
)
"""Seasons that publish their transcripts with the final standings, which are not published yet."""


def dice_in_use(session: Session, matches: Sequence[Match | Row[Any]]) -> set[int]:
    """Return the ids of the matches that share their dice with another match that is not over."""
    return _in_use(matches, session.connection().execute(STILL_TO_PLAY, {"commitments": _commitments(matches)}))


def _commitments(matches: Sequence[Match | Row[Any]]) -> list[str]:
    return sorted({match.commitment for match in matches})


def _in_use(matches: Sequence[Match | Row[Any]], rows: Iterable[Any]) -> set[int]:
    still_to_play = {row.commitment: row.scheduled for row in rows}
    return {
        match.id for match in matches if still_to_play.get(match.commitment, 0) > (match.state is MatchState.SCHEDULED)
    }


STILL_TO_PLAY = (
    select(Match.commitment, func.count().label("scheduled"), null().label("silent_id"))
    .where(col(Match.state) == literal_column(f"'{MatchState.SCHEDULED}'"))  # word for word as in the index
    .where(col(Match.commitment).in_(bindparam("commitments", expanding=True)))
    .group_by(col(Match.commitment))
)
_AMONG_SILENT = SILENT.where(col(Season.id).in_(bindparam("season_ids", expanding=True)))
WITHHELD = STILL_TO_PLAY.union_all(_AMONG_SILENT.with_only_columns(null(), null(), col(Season.id)))
