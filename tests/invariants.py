"""What must hold for a league's database and transcripts, whatever was killed, cut off, stopped or doubled meanwhile.

Each check yields a sentence for each thing that is wrong; `broken` runs them all. The simulation of the play path
(`tests/simulation`) and the tests of a cluster use the same checks.

Statements are built outside the functions: thousands of storms end here, and building a statement takes longer than
querying a small database.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import TypeVar

from sqlmodel import Session, SQLModel, and_, col, func, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from deadheat.engine.core import Fault
from deadheat.engine.games import GAMES
from deadheat.engine.replay import Diverged, replay
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, BadTranscript, Transcript, decode
from deadheat.league.blobs import Blobs
from deadheat.league.causes import BLAMELESS, Cause
from deadheat.league.database import now, settings_of
from deadheat.league.errors import BlobDamaged, BlobMissing
from deadheat.league.records.hosts import slots
from deadheat.league.service.ground.audit import first_broken
from deadheat.league.service.jobs.sweep import KINDS
from deadheat.league.service.rankings.standings import recount
from deadheat.league.service.series import carrying_out
from deadheat.league.service.series.capacity import bound_with
from deadheat.league.states import (
    UNFINISHED,
    UNRATED,
    WITH_RESULT,
    FinalsFormat,
    JobState,
    MatchState,
    Purpose,
    Span,
    TableState,
    VersionState,
)
from deadheat.league.tables import (
    Attempt,
    BotVersion,
    Contest,
    DeadlineCount,
    GameTable,
    LatencySummary,
    Match,
    Meeting,
    Pair,
    Participant,
    ResponseTimes,
    Season,
    Series,
    TableSeat,
    VoidedMatch,
    WorkerHost,
)

TAKEN_BACK = (Cause.LEASE_EXPIRED, Cause.HOST_UNFIT)
"""Causes in the ledger for attempts at a series from which no result is taken."""

Row = TypeVar("Row", bound=SQLModel)


def every(session: Session, table: type[Row]) -> Sequence[Row]:
    """Return all rows of a table. They are read once, because a session that reads sees one instant."""
    read = session.info.setdefault("every", {})
    if table not in read:
        read[table] = session.exec(_all(table)).all()
    found: Sequence[Row] = read[table]
    return found


@cache
def _all(table: type[Row]) -> SelectOfScalar[Row]:
    return select(table)


def broken(session: Session, blobs: Blobs) -> list[str]:
    """Return everything that is wrong; work that waits or is being done is not, see `unfinished`."""
    began_at = now(session)  # all reads see the database at this instant, however long they take
    looked: list[Iterable[str]] = [
        misplaced_series(session),
        misplaced_matches(session),
        dice_met_again(session),
        doubled_results(session),
        unexplained_attempts(session),
        misplaced_builds(session),
        unswept_leases(session, began_at),
        lost_programs(session, blobs),
        unproven_results(session, blobs),
        unproven_exhibitions(session, blobs),
        miscounted_pairs(session),
        miscounted_prompts(session),
        miscounted_deadlines(session),
        wrong_rankings(session),
        exceeded_quotas(session),
        asked_matches_that_count(session),
        broken_chain(session),
    ]
    return [sentence for sentences in looked for sentence in sentences]


def unfinished(session: Session) -> list[str]:
    """Return series, builds and people's matches that wait or are under way: none at the end of a season."""
    found = []
    for life in KINDS:
        table = life.table
        waiting = select(table.id, table.state, table.attempt).where(col(table.state).in_((life.waiting, life.held)))
        for number, state, attempt in session.exec(waiting.order_by(col(table.id))):
            found.append(f"{table.__name__} {number} is {state} at attempt {attempt}")
    return found


def misplaced_series(session: Session) -> Iterator[str]:
    """Only series that are being played have leases, and nobody tries for ever."""
    limit = carrying_out.SERIES_ATTEMPTS
    whole = [line for line in every(session, Attempt) if line.match_id is None and line.worker is not None]
    lost = Counter(line.series_id for line in whole if line.cause not in BLAMELESS)
    for series in every(session, Series):
        if (series.lease_until is not None) != (series.state is JobState.RUNNING):
            yield f"series {series.id} is {series.state} with a lease until {series.lease_until}"
        if (series.finished_at is not None) != (series.state in {JobState.DONE, JobState.ABANDONED}):
            yield f"series {series.id} is {series.state} and finished at {series.finished_at}"
        if lost[series.id] > limit:
            yield f"series {series.id} was tried again after {lost[series.id]} failures, of {limit}"


def misplaced_builds(session: Session) -> Iterator[str]:
    """Only builds and exhibitions under way have leases, and a build's failed attempts are in the ledger once."""
    noted: dict[int | None, list[int]] = defaultdict(list)
    for line in sorted(every(session, Attempt), key=lambda line: line.attempt):
        noted[line.version_id].append(line.attempt)
    for version in every(session, BotVersion):
        if (version.lease_until is not None) != (version.state is VersionState.BUILDING):
            yield f"version {version.id} is {version.state} with a lease until {version.lease_until}"
        if noted[version.id] != [*range(1, version.attempt + (version.state is VersionState.UPLOADED))]:
            attempts = f"at attempt {version.attempt}; failed were {noted[version.id]}"
            yield f"version {version.id} is {version.state} {attempts}"
    for row in every(session, GameTable):
        if (row.lease_until is not None) != (row.state is TableState.RUNNING):
            yield f"exhibition {row.id} is {row.state} with a lease until {row.lease_until}"


def unswept_leases(session: Session, at: datetime) -> Iterator[str]:
    """Every lease is renewed or lost: none stays expired for as long as another lease lasts."""
    latest = at - timedelta(seconds=settings_of(session).lease_seconds)
    for table in (life.table for life in KINDS):
        for row in every(session, table):
            if row.lease_until is not None and row.lease_until < latest:
                yield f"{table.__name__} {row.id} has a lease until {row.lease_until}"


def lost_programs(session: Session, blobs: Blobs) -> Iterator[str]:
    """Every program that is ready to play is in the store, and so is the transcript of every trial."""
    for version in every(session, BotVersion):
        if (version.program_sha256 is not None) != (version.state is VersionState.READY):
            yield f"version {version.id} is {version.state} with the program {version.program_sha256}"
        names = (version.program_sha256, version.trial_sha256)
        yield from (
            f"version {version.id}: {name} is not in the store" for name in names if name and not blobs.has(name)
        )


def misplaced_matches(session: Session) -> Iterator[str]:
    """No match is lost: series under way, and no others, have waiting ones; a rated match has a result."""
    states = {series.id: series.state for series in every(session, Series)}
    waiting = [match for match in every(session, Match) if match.state is MatchState.SCHEDULED]
    for match in waiting:
        if states[match.series_id] not in UNFINISHED:
            yield f"match {match.id} is {match.state} in series {match.series_id}, which is {states[match.series_id]}"
    for match in every(session, Match):
        if match.rated and match.state not in WITH_RESULT:
            yield f"match {match.id} is rated and {match.state}"
    going_on = {series_id for series_id, state in states.items() if state in UNFINISHED}
    for series_id in sorted(going_on - {match.series_id for match in waiting}):
        yield f"series {series_id} goes on, and has nothing left to be played"


def dice_met_again(session: Session) -> Iterator[str]:
    """No two matches of a series share dice, so a bot that remembers one match has not seen those of the next."""
    dice = Counter((match.series_id, match.seed) for match in every(session, Match))
    for (series_id, _), count in dice.items():
        if count > 1:
            yield f"series {series_id} has {count} matches with the same dice"


def doubled_results(session: Session) -> Iterator[str]:
    """Each result is from one attempt, which was not taken back, with the next seed after those that failed."""
    attempts = every(session, Attempt)
    results = [line for line in attempts if line.cause == Cause.PLAYED]
    played = Counter(line.match_id for line in results)
    matches = every(session, Match)
    for match in matches:
        if played[match.id] != int(match.state is MatchState.DONE):
            yield f"match {match.id} is {match.state} and was played {played[match.id]} times"
    dead = {(line.series_id, line.attempt) for line in attempts if line.cause in TAKEN_BACK}
    for line in results:
        if (line.series_id, line.attempt) in dead:
            yield f"match {line.match_id} has the result of attempt {line.attempt}, which was taken back"
    yield from _wrong_seeds(matches, attempts)


def _wrong_seeds(matches: Iterable[Match], attempts: Iterable[Attempt]) -> Iterator[str]:
    """Each attempt at a match has the next seed of the match's list."""
    by_match, by_series = defaultdict(list), defaultdict(list)
    for line in sorted(attempts, key=lambda line: line.id):
        if line.match_id is not None:
            by_match[line.match_id].append(line)
        elif line.started_at is not None:
            by_series[line.series_id].append(line)
    for match in matches:
        lines = sorted(by_match[match.id] + by_series[match.series_id], key=lambda line: line.id)
        ended = [line.attempt for line in lines if line.cause == Cause.PLAYED]
        failed = [line for line in lines if line.cause != Cause.PLAYED and (not ended or line.attempt < ended[0])]
        numbers = [line.seed_number for line in lines if line.match_id is not None]
        if len(set(numbers)) != len(numbers):
            yield f"match {match.id} was played twice with one seed: {numbers}"
        if ended and numbers[-1] != match.attempt:
            yield f"match {match.id} was played with seed {numbers[-1]}, and is said to be with {match.attempt}"
        waits = match.state in {MatchState.SCHEDULED, MatchState.DONE}
        if waits and match.attempt != 1 + len(failed):
            yield f"match {match.id} has seed {match.attempt} after {len(failed)} failures"


def unexplained_attempts(session: Session) -> Iterator[str]:
    """Every past attempt at a series has its reason in the ledger once, or has attempts at matches."""
    explained: set[tuple[int | None, int]] = set()
    noted: dict[int | None, list[int]] = defaultdict(list)
    for line in every(session, Attempt):
        if line.match_id is not None:
            explained.add((line.series_id, line.attempt))
        elif line.series_id is not None and line.started_at is not None:
            noted[line.series_id].append(line.attempt)
    for series in every(session, Series):
        over = range(1, series.attempt + (series.state is not JobState.RUNNING))
        why = [number for number in over if number in noted[series.id] or (series.id, number) in explained]
        if why != [*over] or len(set(noted[series.id])) != len(noted[series.id]):
            yield f"series {series.id} is {series.state} at attempt {series.attempt}; failed were {noted[series.id]}"


def unproven_results(session: Session, blobs: Blobs) -> Iterator[str]:
    """A result follows from its transcript, which is stored and is this match's; otherwise there is neither."""
    seats: dict[int, list[Participant]] = {}
    for participant in sorted(every(session, Participant), key=lambda one: (one.match_id, one.seat)):
        seats.setdefault(participant.match_id, []).append(participant)
    for match in every(session, Match):
        seated = seats.get(match.id, [])
        if match.state is MatchState.DONE:
            yield from (f"match {match.id}: {problem}" for problem in _unproven(match, seated, blobs))
        elif match.transcript_sha256 is not None or (
            match.state is not MatchState.DECIDED and any(one.rank is not None for one in seated)
        ):
            yield f"match {match.id} is {match.state} and has a result"


def unproven_exhibitions(session: Session, blobs: Blobs) -> Iterator[str]:
    """A table's result follows from its transcript, too; a match given up says why."""
    faults: dict[int, dict[int, Fault]] = defaultdict(dict)
    for seat in every(session, TableSeat):
        if seat.fault is not None:
            faults[seat.table_id][seat.seat] = seat.fault
    for row in every(session, GameTable):
        if row.state is TableState.DONE:
            yield from (
                f"exhibition {row.id}: {problem}" for problem in _unproven_exhibition(row, faults[row.id], blobs)
            )
        elif row.state is TableState.ABANDONED and not row.cause:
            yield f"exhibition {row.id} was given up without a cause"


def _unproven_exhibition(row: GameTable, faults: dict[int, Fault], blobs: Blobs) -> Iterator[str]:
    transcript = _replayed(row.transcript_sha256, blobs)
    if isinstance(transcript, str):
        yield transcript
        return
    if transcript.seed != row.seed or transcript.about.get("exhibition") != row.id:
        yield f"its transcript is of exhibition {transcript.about.get('exhibition')}"
    result = transcript.result
    points = None if result.points is None else [str(value) for value in result.points]
    stored, proven = (row.ranks, row.points, faults), (list(result.ranks), points, dict(result.faults))
    if stored != proven:
        yield f"stored is {stored}, its transcript says {proven}"


def _replayed(sha256: str | None, blobs: Blobs) -> Transcript | str:
    """Return the transcript if it follows from the rules, otherwise what is wrong with it."""
    try:
        assert sha256 is not None, "it has no transcript"
        transcript = decode(blobs.get(sha256, MAX_TRANSCRIPT_BYTES))
        replay(GAMES[transcript.game], transcript)
    except (AssertionError, BadTranscript, BlobDamaged, BlobMissing, Diverged, KeyError, ValueError) as error:
        return f"its transcript proves nothing: {error!r}"
    return transcript


def _unproven(match: Match, seated: list[Participant], blobs: Blobs) -> Iterator[str]:
    transcript = _replayed(match.transcript_sha256, blobs)
    if isinstance(transcript, str):
        yield transcript
        return
    if (transcript.seed, transcript.attempt) != (match.seed, match.attempt) or transcript.about.get(
        "match"
    ) != match.id:
        yield f"its transcript is of match {transcript.about.get('match')}"
    if {one.finished_at for one in seated} != {match.finished_at}:
        yield "its participants do not have its end"
    stored = [(one.rank, one.points and Fraction(one.points), one.fault) for one in seated]
    if stored != _proven(transcript):
        yield f"stored is {stored}, its transcript says {_proven(transcript)}"


def _proven(transcript: Transcript) -> list[tuple[object, ...]]:
    result = transcript.result
    points = [None if result.points is None else Fraction(value) for value in result.points or result.ranks]
    return [(rank, points[seat], result.faults.get(seat)) for seat, rank in enumerate(result.ranks)]


REPETITIONS = select(VoidedMatch.rejudged_id).where(col(VoidedMatch.rejudged_id).is_not(None))
PAIRED = (
    select(Match.id, Match.season_id, Match.state, Participant.version_id)
    .join(Series, col(Series.id) == Match.series_id)
    .join(Participant, col(Participant.match_id) == Match.id)
    .where(col(Series.purpose).not_in(UNRATED), col(Match.id).not_in(REPETITIONS))
)


def miscounted_pairs(session: Session) -> Iterator[str]:
    """Pairing counts all played games, and none that is not planned; a repetition counts as neither."""
    tables: dict[int, tuple[int, MatchState, set[int]]] = {}
    for match_id, season_id, state, version in session.exec(PAIRED):
        tables.setdefault(match_id, (season_id, MatchState(state), set()))[2].add(version)
    planned: Counter[tuple[int, int, int]] = Counter()
    played: Counter[tuple[int, int, int]] = Counter()
    for season_id, state, versions in tables.values():
        for low, high in combinations(sorted(versions), 2):
            planned[season_id, low, high] += 1
            played[season_id, low, high] += state in WITH_RESULT
    counted = {(pair.season_id, pair.low_id, pair.high_id): pair.games for pair in every(session, Pair)}
    for key in sorted(planned.keys() | counted.keys()):
        if not played[key] <= counted.get(key, 0) <= planned[key]:
            yield f"pair {key}: {counted.get(key, 0)} games counted, {planned[key]} planned, {played[key]} played"


PROMPTED = (
    select(Match.season_id, Participant.version_id, func.sum(LatencySummary.prompts))
    .join(Participant, col(Participant.match_id) == Match.id)
    .join(LatencySummary, (col(LatencySummary.match_id) == Match.id) & (col(LatencySummary.seat) == Participant.seat))
    .where(col(Match.asked).is_(None))
    .group_by(col(Match.season_id), col(Participant.version_id))
)
ADDED_UP = (
    select(ResponseTimes.season_id, ResponseTimes.version_id, func.sum(ResponseTimes.prompts))
    .where(ResponseTimes.prompts > 0)
    .group_by(col(ResponseTimes.season_id), col(ResponseTimes.version_id))
)


def miscounted_prompts(session: Session) -> Iterator[str]:
    """Response times add up to those of the matches, each counted once."""
    apart = {tuple(row) for row in session.exec(PROMPTED)} ^ {tuple(row) for row in session.exec(ADDED_UP)}
    yield from (f"response times of season {season}, version {version}: {n}" for season, version, n in sorted(apart))


ANSWERED = (
    select(Match.season_id, func.sum(LatencySummary.prompts))
    .join(LatencySummary, col(LatencySummary.match_id) == Match.id)
    .where(col(Match.asked).is_(None))
    .group_by(col(Match.season_id))
)
COUNTED = (
    select(DeadlineCount.span, DeadlineCount.season_id, func.sum(DeadlineCount.prompts))
    .where(DeadlineCount.span != Span.MINUTE, DeadlineCount.prompts > 0)
    .group_by(col(DeadlineCount.span), col(DeadlineCount.season_id))
)


def miscounted_deadlines(session: Session) -> Iterator[str]:
    """Each span's counts add up to the prompts of all matches that nobody asked for."""
    answered = [tuple(row) for row in session.exec(ANSWERED)]
    sums = session.exec(COUNTED).all()
    for span in (Span.HOUR, Span.DAY, Span.SEASON):
        counted = {(season, prompts) for one, season, prompts in sums if one is span}
        yield from (f"prompts of season {season} by {span}: {n}" for season, n in sorted({*answered} ^ counted))


AT_GATES = (
    select(Series.id)
    .join(Meeting, col(Meeting.id) == Series.meeting_id)
    .join(Contest, col(Contest.id) == Meeting.contest_id)
    .where(col(Contest.asker_id).is_(None))
)
ASKED_AND_COUNTING = select(Match.id).where(
    col(Match.asked).is_not(None),
    or_(col(Match.rated).is_(True), col(Match.deal).is_not(None), col(Match.series_id).in_(AT_GATES)),
)


def asked_matches_that_count(session: Session) -> Iterator[str]:
    """Matches that authors asked for are unrated, belong to no gate and have dice of their own."""
    yield from (f"match {match_id} was asked for, and counts" for match_id in session.exec(ASKED_AND_COUNTING))


def wrong_rankings(session: Session) -> Iterator[str]:
    """Every season's newest ranking follows from its log, unless a refit is due."""
    for season in every(session, Season):
        found = recount(session, season.id)
        if not found.refit_due:
            yield from (f"ranking of season {season.id}: {difference}" for difference in found.differences)


EXCEEDED = (
    select(Pair, Season.games_per_pair)
    .join(Season, col(Season.id) == Pair.season_id)
    .where(col(Pair.games) > col(Season.games_per_pair), Season.seats == 2)
    .where(Season.finals == FinalsFormat.NONE)  # finals' games count as well, with a number of their own
)
ASKED_FOR = select(Match.series_id).where(col(Match.id).in_(REPETITIONS))  # by an organiser, whatever is open
REPORTS = select(WorkerHost.report)
OPEN_SERIES = (
    select(Series.season_id, func.count())
    .where(col(Series.state).in_(UNFINISHED), Series.purpose == Purpose.LADDER, col(Series.id).not_in(ASKED_FOR))
    .group_by(col(Series.season_id))
)


def exceeded_quotas(session: Session) -> Iterator[str]:
    """No pair has more games planned than its season wants, and no season has more open series than allowed."""
    for pair, limit in session.exec(EXCEEDED):
        yield f"pair {(pair.season_id, pair.low_id, pair.high_id)}: {pair.games} games planned, {limit} wanted"
    known = sum(map(slots, session.exec(REPORTS)))  # and of machines that have gone
    for season_id, count in session.exec(OPEN_SERIES):
        if count > bound_with(known):
            yield f"season {season_id} has {count} open series"


def given_up(session: Session, poisoned: Collection[int] = ()) -> list[str]:
    """Return matches that were begun and are held or abandoned: none, if nothing may be given up. (A match dropped
    before anybody began it was not given up.) The seasons in `poisoned` are skipped.
    """
    found = []
    gone = (MatchState.ABANDONED, MatchState.HELD)
    lost = select(Match.id, Match.series_id).where(col(Match.state).in_(gone)).order_by(col(Match.id))
    lost = lost.where(col(Match.season_id).not_in(poisoned))
    for match_id, series_id in session.exec(lost).all():
        of_series = and_(col(Attempt.series_id) == series_id, col(Attempt.match_id).is_(None))
        about = or_(col(Attempt.match_id) == match_id, of_series)
        last = session.exec(select(Attempt).where(about).order_by(col(Attempt.id).desc()).limit(1)).first()
        if last is None or last.started_at is not None:
            found.append(f"match {match_id} was given up: {last and last.cause}")
    return found


def convicted(session: Session, innocent: Collection[int]) -> list[str]:
    """Return faults of the `innocent` bots, and versions of theirs that were called broken."""
    faults = (col(Participant.bot_id).in_(innocent), col(Participant.fault).is_not(None))
    found = session.exec(select(Participant).where(*faults))
    broken_ones = (col(BotVersion.bot_id).in_(innocent), BotVersion.state == VersionState.BROKEN)
    return [
        *(f"match {one.match_id}: {one.fault} at {one.fault_command}, {one.fault_why}" for one in found),
        *(f"version {one.id}: {one.reason}" for one in session.exec(select(BotVersion).where(*broken_ones))),
    ]


def broken_chain(session: Session) -> Iterator[str]:
    """The audit log's chain is unbroken."""
    if (record := first_broken(session)) is not None:
        yield f"the audit log is broken at record {record}"
