"""The duels of a season by their kind, their games so far.

A duel is a meeting of two in a contest: the candidate for whom it is played, and an opponent. At a gate and on request
a contest is one duel; against a panel there is one for each of its bots.

The counts are taken from the matches each time, so it does not matter which process decides a duel, or when.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, case, func
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, exists, or_, select

from deadheat.league import sprt
from deadheat.league.pairing.duel import Count, Duel
from deadheat.league.service.contests.life import add_meetings, begin
from deadheat.league.states import UNFINISHED, WITH_RESULT, ContestKind, ContestState, MatchState
from deadheat.league.tables import (
    BotVersion,
    Contest,
    Match,
    Meeting,
    MeetingPlayer,
    Participant,
    Season,
    Series,
    VoidedMatch,
)

TESTED = ("elo0", "elo1", "alpha", "beta")
"""The terms of a duel's test, by their names in `Contest.terms`."""


class Matchup(NamedTuple):
    """A duel as it is stored."""

    contest: Contest
    meeting: Meeting
    candidate_id: int
    opponent_id: int


CANDIDATE, OPPONENT = aliased(MeetingPlayer), aliased(MeetingPlayer)
MATCHUPS: Any = (
    select(Contest, Meeting, CANDIDATE.version_id, OPPONENT.version_id)
    .join(Meeting, col(Meeting.contest_id) == Contest.id)
    .join(CANDIDATE, (col(CANDIDATE.meeting_id) == Meeting.id) & (col(CANDIDATE.seat) == 0))
    .join(OPPONENT, (col(OPPONENT.meeting_id) == Meeting.id) & (col(OPPONENT.seat) == 1))
    .order_by(col(Meeting.id))
)


def matchups(session: Session, *conditions: Any) -> list[Matchup]:
    """Return the duels that meet the conditions, the oldest first."""
    return [Matchup(*row) for row in session.exec(MATCHUPS.where(*conditions))]


def running_duels(session: Session, season_id: int, kind: ContestKind) -> list[Matchup]:
    """Return the season's duels of a kind that are not over, the oldest first."""
    return [Matchup(*row) for row in session.exec(RUNNING, params={"season_id": season_id, "kind": kind})]


RUNNING = MATCHUPS.where(
    Contest.season_id == bindparam("season_id"),
    Contest.kind == bindparam("kind"),
    Contest.state == ContestState.RUNNING,
)


def duel_of(row: Contest) -> Duel:
    """Return the terms of a contest's duels."""
    test = sprt.Terms(**{name: row.terms[name] for name in TESTED}) if "elo0" in row.terms else None
    return Duel(row.matches, test, replays=row.kind is ContestKind.PANEL)


def begin_duels(
    session: Session,
    season: Season,
    kind: ContestKind,
    candidate: BotVersion,
    opponents: Sequence[BotVersion],
    games: int,
    **values: Any,
) -> Contest:
    """Begin a contest in which a version meets each of the opponents."""
    field = [(version.id, version.bot_id) for version in (candidate, *opponents)]
    row = begin(session, kind, season.id, field, matches=games, **values)
    places = [(1, board, (candidate.id, opponent.id)) for board, opponent in enumerate(opponents, 1)]
    add_meetings(session, row.id, places, score={"wins": 0, "draws": 0, "losses": 0, "llr": 0.0})
    return row


def test_terms(terms: Duel) -> dict[str, float]:
    """Return the terms of a duel's test as they are stored; none without one."""
    return {} if terms.test is None else {name: getattr(terms.test, name) for name in TESTED}


def in_play(session: Session, duels: Iterable[Matchup]) -> set[int]:
    """Return the meetings of duels with an unfinished series, or a game that waits for an organiser. Deciding a test
    earlier would leave that game out.
    """
    return set(session.exec(IN_PLAY, params={"duels": [one.meeting.id for one in duels]}))


# Series are looked up by meeting: by season and state, the query would read all waiting series of the ladder.
_MINE = col(Series.meeting_id) == Meeting.id
IN_PLAY = select(Meeting.id).where(
    col(Meeting.id).in_(bindparam("duels", expanding=True)),
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


def of_program(session: Session, entry_id: int | None, kind: ContestKind, candidate_id: int) -> list[Matchup]:
    """Return the duels of a program, as any version, in an entry's contests of a kind, the oldest first."""
    given = {"entry_id": entry_id, "kind": kind, "candidates": same_program(session, candidate_id)}
    return [Matchup(*row) for row in session.exec(OF_PROGRAM, params=given)]


OF_PROGRAM = MATCHUPS.where(
    Contest.entry_id == bindparam("entry_id"),
    Contest.kind == bindparam("kind"),
    col(CANDIDATE.version_id).in_(bindparam("candidates", expanding=True)),
)


def count_games(session: Session, tests: Mapping[int, Sequence[Matchup]]) -> dict[int, Count]:
    """Count the games of duels, by meeting. `tests`: for each of them, itself and others of the same two programs,
    whose games count too, except those that were abandoned.
    """
    session.flush()
    ids = {one.meeting.id for several in tests.values() for one in several}
    tallies: dict[int, Counter[str]] = defaultdict(Counter)
    for meeting_id, kind, seat, games in session.connection().execute(TALLIES, {"duels": sorted(ids)}):
        tallies[meeting_id][kind] += games
        tallies[meeting_id]["begun"] += games if seat == 0 and kind not in ("voided", "abandoned") else 0
    found = {}
    for meeting_id, several in tests.items():
        tally = Counter(tallies[meeting_id])
        for one in several:
            if one.meeting.id != meeting_id:
                tally.update({**tallies[one.meeting.id], "abandoned": 0})
        found[meeting_id] = Count(**tally)
    return found


_own, _other = aliased(Participant), aliased(Participant)
_GAMES = (
    columns(
        col(Series.meeting_id).label("meeting_id"),
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
    .join_from(Series, CANDIDATE, (col(CANDIDATE.meeting_id) == Series.meeting_id) & (col(CANDIDATE.seat) == 0))
    .join(Match, col(Match.series_id) == Series.id)
    .join(_own, (col(_own.match_id) == Match.id) & (col(_own.version_id) == CANDIDATE.version_id))
    .join(_other, (col(_other.match_id) == Match.id) & (col(_other.seat) != _own.seat))
    .join(VoidedMatch, col(VoidedMatch.match_id) == Match.id, isouter=True)
    .where(col(Series.meeting_id).in_(bindparam("duels", expanding=True)))
    .where(col(Match.state).in_((*WITH_RESULT, MatchState.ABANDONED)))
    .subquery()
)
TALLIES: Any = columns(*_GAMES.c, func.count()).group_by(*_GAMES.c)
"""How often each field of `Count` occurs in the games of duels, by the candidate's seat."""
