"""When the dice of a match may be shown: once every match that uses them is over.

Theory of operation
-------------------
Where a game's hands are private (`engine.games.same_deals`), the rotations of a deal share one secret seed, hence one
commitment, and lie in different series (`league.service.series.planning`), which end at different times and on
different machines. A reader of the first rotation's record would know every hand of those that are still to be played.
So a match is *withheld* while another match with its commitment is scheduled: its players and winner are shown, because
ratings follow from them, but nothing that reveals hands. That is its seed, its transcript and all that is made from it,
the words of a fault, what a bot wrote to stderr, and the match itself in progress.

Every access checks `withheld`; there is no second rule. A match that is played, abandoned or dropped is over and no
longer withholds others, and a replay by a ruling gets its own dice (`league.service.rulings.rulings`), so nothing that
was shown is withheld later.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import literal_column
from sqlmodel import Session, col, func, select

from deadheat.league.states import MatchState
from deadheat.league.tables import Match


def withheld(session: Session, matches: Sequence[Match]) -> set[int]:
    """The ids of the matches that share their dice with another match that is not over."""
    waiting = col(Match.state) == literal_column(f"'{MatchState.SCHEDULED}'")  # word for word as in the index
    statement = (
        select(Match.commitment, func.count())
        .where(waiting, col(Match.commitment).in_({match.commitment for match in matches}))
        .group_by(col(Match.commitment))
    )
    still_to_play = dict(session.exec(statement).all())
    return {
        match.id for match in matches if still_to_play.get(match.commitment, 0) > (match.state is MatchState.SCHEDULED)
    }
