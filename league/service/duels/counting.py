"""The duels of a season by their kind, their games so far.

A duel is a meeting of two in a contest: the candidate for whom it is played, and an opponent. At a gate a contest is
one duel; on request and against a panel there is one for each opponent.

The counts are taken from the matches each time, so it does not matter which process decides a duel, or when. The
series of a duel are played one after the other, or two at once where a test counts pairs, with fresh dice. After them
`league.pairing.duel` says whether it goes on.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import bindparam, case, func
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, exists, or_, select

from deadheat.engine.figures import plural
from deadheat.engine.games import same_deals
from deadheat.league import sprt
from deadheat.league.pairing.duel import Count, Duel
from deadheat.league.service.contests.life import POLICIES, Progress, add_meetings, begin, end
from deadheat.league.service.series.planning import Table
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
from deadheat.league.words import Outcome

TESTED = ("elo0", "elo1", "alpha", "beta")
"""The terms of a duel's test, by their names in `Contest.terms`."""


class Matchup(NamedTuple):
    """A duel as it is stored."""

    contest: Contest
    meeting: Meeting
    opponent_id: int

    @property
    def candidate_id(self) -> int:
        """The version for which it is played."""
        return self.contest.candidate_id


OPPONENT = aliased(MeetingPlayer)
MATCHUPS: Any = (
    select(Contest, Meeting, OPPONENT.version_id)
    .join(Meeting, col(Meeting.contest_id) == Contest.id)
    .join(OPPONENT, (col(OPPONENT.meeting_id) == Meeting.id) & (col(OPPONENT.seat) == 1))
    .where(col(Contest.candidate_id).is_not(None))
    .order_by(col(Meeting.id))
)
OF_CONTEST = MATCHUPS.where(Contest.id == bindparam("contest_id"))


def matchups(session: Session, *conditions: Any) -> list[Matchup]:
    return [Matchup(*row) for row in session.exec(MATCHUPS.where(*conditions))]


def duel_of(row: Contest) -> Duel:
    test = sprt.Terms(**{name: row.terms[name] for name in TESTED}) if "elo0" in row.terms else None
    return Duel(row.matches, test, replays=row.kind is ContestKind.PANEL, paired=row.terms.get("paired", False))


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
    row = begin(session, kind, season.id, field, candidate_id=candidate.id, matches=games, **values)
    places = [(1, board, (candidate.id, opponent.id)) for board, opponent in enumerate(opponents, 1)]
    add_meetings(session, row.id, places, score={"wins": 0, "draws": 0, "losses": 0, "llr": 0.0})
    return row


def test_terms(terms: Duel) -> dict[str, float]:
    """Return the terms of a duel's test as they are stored; none without one."""
    return {} if terms.test is None else {name: getattr(terms.test, name) for name in TESTED}


def in_pairs(season: Season, terms: Mapping[str, Any]) -> dict[str, Any]:
    """Return the terms of a new duel's test, of pairs where the game's hands are hidden. Duels that began before there
    were pairs keep theirs: their games have no partners.
    """
    return {**terms, "paired": True} if terms and same_deals(season.game) else {**terms}


def in_play(session: Session, duels: Iterable[Matchup]) -> set[int]:
    """Return the meetings of duels with an unfinished series or a held game, which a verdict would leave out."""
    return set(session.exec(IN_PLAY, params={"duels": [duel.meeting.id for duel in duels]}))


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
    col(Contest.candidate_id).in_(bindparam("candidates", expanding=True)),
)


def _count_games(session: Session, tests: Mapping[int, Sequence[Matchup]], *, paired: bool = False) -> dict[int, Count]:
    """Count the games of duels, by meeting, and if they are `paired` their pairs. `tests`: for each of them, itself and
    others of the same two programs, whose games count too, except those that were abandoned.
    """
    session.flush()
    ids = {duel.meeting.id for several in tests.values() for duel in several}
    tallies: dict[int, Counter[str]] = defaultdict(Counter)
    for meeting_id, kind, seat, games in session.connection().execute(TALLIES, {"duels": sorted(ids)}):
        tallies[meeting_id][kind] += games
        tallies[meeting_id]["begun"] += games if seat == 0 and kind not in ("voided", "abandoned") else 0
    scores: dict[int, Counter[int]] = defaultdict(Counter)
    for meeting_id, half_points in session.connection().execute(PAIRS, {"duels": sorted(ids)}) if paired else ():
        scores[meeting_id][half_points] += 1
    counts = {}
    for meeting_id, several in tests.items():
        tally = Counter(tallies[meeting_id])
        for duel in several:
            if duel.meeting.id != meeting_id:
                tally.update({**tallies[duel.meeting.id], "abandoned": 0})
        pairs = tuple(sum(scores[duel.meeting.id][score] for duel in several) for score in range(5))
        counts[meeting_id] = Count(**tally, pairs=pairs)
    return counts


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
        col(Match.commitment).label("deal"),
    )
    .join_from(Series, Meeting, col(Meeting.id) == Series.meeting_id)
    .join(Contest, col(Contest.id) == Meeting.contest_id)
    .join(Match, col(Match.series_id) == Series.id)
    .join(_own, (col(_own.match_id) == Match.id) & (col(_own.version_id) == Contest.candidate_id))
    .join(_other, (col(_other.match_id) == Match.id) & (col(_other.seat) != _own.seat))
    .join(VoidedMatch, col(VoidedMatch.match_id) == Match.id, isouter=True)
    .where(col(Series.meeting_id).in_(bindparam("duels", expanding=True)))
    .where(col(Match.state).in_((*WITH_RESULT, MatchState.ABANDONED)))
    .subquery()
)
_KEY = (_GAMES.c.meeting_id, _GAMES.c.kind, _GAMES.c.seat)
TALLIES: Any = columns(*_KEY, func.count()).group_by(*_KEY)
"""How often each field of `Count` occurs in the games of duels, by the candidate's seat."""
PAIRS: Any = (
    columns(_GAMES.c.meeting_id, func.sum(case((_GAMES.c.kind == "wins", 2), (_GAMES.c.kind == "draws", 1), else_=0)))
    .where(_GAMES.c.kind.in_(("wins", "draws", "losses")))
    .group_by(_GAMES.c.meeting_id, _GAMES.c.deal)
    .having(func.count() == 2)
)
"""The half points in each deal of duels of which both games count."""


# Going on -----------------------------------------------------------------------------------------------------------

Tests = Callable[[Session, Contest, Sequence[Matchup]], Mapping[int, Sequence[Matchup]]]
"""For each of a contest's duels, by meeting: itself and others of the same two programs, whose games count too."""


def alone(_session: Session, _row: Contest, duels: Sequence[Matchup]) -> Mapping[int, Sequence[Matchup]]:
    """Return the duels, for whose tests no other games count."""
    return {duel.meeting.id: [duel] for duel in duels}


class Judged(NamedTuple):
    """A duel with its games so far. `outcome`: why it is over; None: it continues."""

    duel: Matchup
    games: Count
    outcome: Outcome | None


def settle(session: Session, season: Season, row: Contest, _room: int, *, tests: Tests) -> Progress:
    """Store the scores of a contest's duels, and judge them. A duel waits while a series of its `tests` is played, or a
    game in them waits for an organiser, which a verdict would leave out. One that replays games is counted meanwhile.
    """
    terms = duel_of(row)
    duels = [Matchup(*values) for values in session.exec(OF_CONTEST, params={"contest_id": row.id})]
    over = {duel.meeting.id for duel in duels if "outcome" in duel.meeting.score}
    counted = {meeting_id: its for meeting_id, its in tests(session, row, duels).items() if meeting_id not in over}
    playing = in_play(session, chain(*counted.values()))
    idle = {one for one, its in counted.items() if playing.isdisjoint(other.meeting.id for other in its)}
    if not terms.replays:
        counted = {meeting_id: counted[meeting_id] for meeting_id in counted if meeting_id in idle}
    counts = _count_games(session, counted, paired=terms.paired)
    judged, tables, changed = [], [], False
    for duel in duels:
        if (count := counts.get(duel.meeting.id)) is None:
            continue
        outcome, llr = terms.judge(count)
        score = _score(count, llr)
        if outcome is not None and not terms.replays:  # it stands, while the contest's other duels go on
            score["outcome"] = outcome.value
        changed |= score != duel.meeting.score
        duel.meeting.score = score
        judged.append(Judged(duel, count, outcome))
        if outcome is None and duel.meeting.id in idle:
            length, candidate_begins = terms.draw(count, duel.meeting.planned, season.series_length)
            seats = (row.candidate_id, duel.opponent_id)[:: 1 if candidate_begins else -1]
            precedence = POLICIES[row.kind].precedence
            tables.append(Table(seats, length, precedence, meeting_id=duel.meeting.id, paired=terms.paired))
    session.flush()
    is_over = len(judged) + len(over) == len(duels) and all(duel.outcome for duel in judged)
    return Progress(not is_over, tables, judged, changed)


def _score(count: Count, llr: float) -> dict[str, Any]:
    return {"wins": count.wins, "draws": count.draws, "losses": count.losses, "llr": llr}


def close(session: Session, row: Contest, duels: Sequence[Matchup], outcome: Outcome) -> None:
    """End those of a contest's duels of which nothing is played any more, with a last count and this outcome."""
    terms, playing = duel_of(row), in_play(session, duels)
    idle = [duel for duel in duels if duel.meeting.id not in playing]
    counts = _count_games(session, alone(session, row, idle), paired=terms.paired)
    for duel in idle:
        count = counts[duel.meeting.id]
        duel.meeting.score = {**_score(count, terms.judge(count)[1]), "outcome": outcome.value}
    session.flush()


Ends = Mapping[Outcome, tuple[ContestState, str]]
"""The state and the reason of an end, by a duel's outcome."""

UNPLAYABLE = ContestState.ENDED, "The service failed: {abandoned} could not be played."


def decide(session: Session, row: Contest, progress: Progress, ends: Ends) -> bool:
    """End a contest of one duel as its games decide. Return whether the candidate has passed."""
    ((_, games, outcome),) = progress.duels
    state, reason = ends.get(outcome, UNPLAYABLE)
    all_games = f"All {plural(row.matches, 'game')} have been played"
    reason = reason.format(
        **row.terms,
        spent=plural(games.spent, "game"),
        abandoned=plural(games.abandoned, "game"),
        played=all_games if row.matches > 1 else "The game has been played",
        undecided=" without a verdict" if row.terms else "",
    )
    return end(session, row, state, reason) and state is ContestState.PASSED
