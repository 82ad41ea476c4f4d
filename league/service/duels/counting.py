"""The duels of a season by their kind, their games so far, and their end.

The counts are taken from the matches each time, so it does not matter which process decides a duel, or when.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, bindparam, case, func
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, exists, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from deadheat.engine.language import N_
from deadheat.league import sprt
from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.pairing.duel import Count, Duel
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.steps import move
from deadheat.league.service.people import notices
from deadheat.league.service.series.dropping import drop_waiting
from deadheat.league.states import UNFINISHED, WITH_RESULT, ChallengeState, MatchState
from deadheat.league.tables import BotVersion, Challenge, Entry, Match, Participant, Season, Series, VoidedMatch

log = logging.getLogger(__name__)

TESTED = ("elo0", "elo1", "alpha", "beta")
"""The columns with the terms of a duel's test."""


class Kind(Enum):
    """The kinds of duels, each with the column of `Challenge` that says for whom it is played."""

    GATE = "entry_id"  # an entry, whose version it may replace
    REQUEST = "asker_id"  # an author
    PANEL = "panel_id"  # a version's run against the season's panel

    @property
    def condition(self) -> ColumnElement[bool]:
        """The condition on `Challenge` that it is of this kind."""
        return col(getattr(Challenge, self.value)).is_not(None)


def kind_of(row: Challenge) -> Kind:
    """Return the kind of a duel."""
    return next(kind for kind in Kind if getattr(row, kind.value) is not None)


def duel_of(row: Challenge) -> Duel:
    """Return the terms of a duel."""
    test = None
    if row.elo0 is not None and row.elo1 is not None and row.alpha is not None and row.beta is not None:
        test = sprt.Terms(row.elo0, row.elo1, sprt.Model.NORMALIZED, row.alpha, row.beta)
    return Duel(row.games_limit, test, replays=kind_of(row) is Kind.PANEL)


def new_duel(
    session: Session, season: Season, candidate_id: int, incumbent_id: int, terms: Duel, **of: Any
) -> Challenge:
    """Add a duel, for the entry, author or run that the column in `of` names."""
    test = {} if terms.test is None else {name: getattr(terms.test, name) for name in TESTED}
    row = Challenge(
        season_id=season.id,
        candidate_id=candidate_id,
        incumbent_id=incumbent_id,
        games_limit=terms.games,
        created_at=now(session),
        **test,
        **of,
    )
    session.add(row)
    session.flush()
    return row


def running(session: Session, season_id: int, kind: Kind) -> Sequence[Challenge]:
    """Return the season's duels of a kind that are not over, the oldest first."""
    return session.exec(_running(kind), params={"season_id": season_id}).all()


@cache
def _running(kind: Kind) -> SelectOfScalar[Challenge]:
    here = (Challenge.season_id == bindparam("season_id"), Challenge.state == ChallengeState.RUNNING)
    return select(Challenge).where(*here, kind.condition).order_by(col(Challenge.id))


def in_play(session: Session, duels: Iterable[Challenge]) -> set[int]:
    """Return those of the duels that have an unfinished series, or a game that waits for an organiser. Deciding a test
    earlier would leave that game out.
    """
    return set(session.exec(IN_PLAY, params={"duels": [row.id for row in duels]}))


# Series are looked up by challenge: by season and state, the query would read all waiting series of the ladder.
_MINE = col(Series.challenge_id) == Challenge.id
IN_PLAY = select(Challenge.id).where(
    col(Challenge.id).in_(bindparam("duels", expanding=True)),
    or_(
        exists().where(_MINE, col(Series.state).in_(UNFINISHED)),
        exists().where(_MINE, col(Match.series_id) == Series.id, col(Match.state) == MatchState.HELD),
    ),
)


def same_program(session: Session, version_id: int) -> list[int]:
    """Return the bot's versions that are the same program as this one, itself included: equal uploads or builds."""
    this = session.get_one(BotVersion, version_id)
    equal = col(BotVersion.source_sha256) == this.source_sha256
    if this.program_sha256 is not None:
        equal = or_(equal, col(BotVersion.program_sha256) == this.program_sha256)
    alike = (BotVersion.bot_id == this.bot_id, BotVersion.language == this.language, BotVersion.entry == this.entry)
    return list(session.exec(select(BotVersion.id).where(*alike, equal)))


def count_games(session: Session, tests: Mapping[int, Sequence[Challenge]]) -> dict[int, Count]:
    """Count the games of duels, by id. `tests`: for each duel, itself and others of the same two programs, whose games
    count too, except those that were abandoned.
    """
    session.flush()
    ids = {row.id for several in tests.values() for row in several}
    tallies: dict[int, Counter[str]] = defaultdict(Counter)
    for duel_id, kind, seat, games in session.connection().execute(TALLIES, {"duels": sorted(ids)}):
        tallies[duel_id][kind] += games
        tallies[duel_id]["begun"] += games if seat == 0 and kind not in ("voided", "abandoned") else 0
    found = {}
    for duel_id, several in tests.items():
        tally = Counter(tallies[duel_id])
        for row in several:
            if row.id != duel_id:
                tally.update({**tallies[row.id], "abandoned": 0})
        found[duel_id] = Count(**tally)
    return found


_own, _other = aliased(Participant), aliased(Participant)
_GAMES = (
    columns(
        col(Series.challenge_id).label("duel_id"),
        case(
            (col(Match.state) == MatchState.ABANDONED, "abandoned"),
            (col(VoidedMatch.match_id).is_not(None), "voided"),
            (col(_own.fault).is_not(None) & col(_other.fault).is_not(None), "both_failed"),
            (col(_own.rank) == col(_other.rank), "draws"),
            (col(_own.rank) < col(_other.rank), "wins"),
            else_="losses",
        ).label("kind"),
        col(_own.seat).label("seat"),
    )
    .join_from(Series, Challenge, col(Challenge.id) == Series.challenge_id)
    .join(Match, col(Match.series_id) == Series.id)
    .join(_own, (col(_own.match_id) == Match.id) & (col(_own.version_id) == Challenge.candidate_id))
    .join(_other, (col(_other.match_id) == Match.id) & (col(_other.version_id) == Challenge.incumbent_id))
    .join(VoidedMatch, col(VoidedMatch.match_id) == Match.id, isouter=True)
    .where(col(Series.challenge_id).in_(bindparam("duels", expanding=True)))
    .where(col(Match.state).in_((*WITH_RESULT, MatchState.ABANDONED)))
    .subquery()
)
TALLIES: Any = columns(*_GAMES.c, func.count()).group_by(*_GAMES.c)
"""How often each field of `Count` occurs in the games of duels, by the candidate's seat."""


def end_duel(session: Session, row: Challenge, state: ChallengeState, reason: str, *, told: bool = True) -> bool:
    """End a duel, so that nothing more of it is played. Return False if it was over. Its bot's owners are told of a
    gate's verdict, and of a request's end unless not `told`; of a panel they are told as a whole.
    """
    at = now(session)
    if not move(session, Challenge, row.id, ChallengeState.RUNNING, state, reason=reason, ended_at=at):
        return False
    session.refresh(row)
    detail = N_("The challenge ended before this series began.")
    mine = col(Series.challenge_id) == row.id
    row.games_planned -= drop_waiting(session, row.season_id, Cause.CHALLENGE_OVER, detail, mine)
    session.flush()
    log.info("challenge %d %s: %s", row.id, state.value, reason)
    if kind_of(row) is Kind.GATE:
        bot_id = session.exec(select(Entry.bot_id).where(Entry.id == row.entry_id)).one()
        data = {"bot": bot_id, "challenge": row.id, "wins": row.wins, "draws": row.draws, "losses": row.losses}
        record(session, SYSTEM, f"challenge-{state.value}", f"season/{row.season_id}", data | {"reason": reason})
        notices.gate_decided(session, row, bot_id)
    elif told and kind_of(row) is Kind.REQUEST:
        notices.challenge_over(session, row)
    return True


def end_duels(session: Session, season_id: int, kind: Kind, reason: str, of: int | None = None) -> None:
    """End the season's running duels of a kind, or those `of` one entry, without a verdict."""
    for row in running(session, season_id, kind):
        if of is None or row.entry_id == of:
            end_duel(session, row, ChallengeState.ENDED, reason)
