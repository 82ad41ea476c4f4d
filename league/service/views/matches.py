"""Views of matches: lists by cursor, one match with its evidence and neighbours, and what only an author may see."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import sqlalchemy
from sqlalchemy import BindParameter, ColumnElement, Integer, Select, bindparam, case, exists, or_, text
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, func, select
from sqlmodel.sql.expression import SelectOfScalar

from deadheat.engine.core import Fault
from deadheat.engine.language import _
from deadheat.league.causes import Cause, told, told_evidence
from deadheat.league.errors import BadCursor, NotFound, WrongState
from deadheat.league.records import from_row
from deadheat.league.records.matches import (
    MOST_ATTEMPTS,
    AttemptView,
    EndingView,
    FaultView,
    LatencyView,
    MatchDetail,
    SeatView,
    Whose,
)
from deadheat.league.records.matches import Match as MatchInfo
from deadheat.league.service.bots.bots import AGENT
from deadheat.league.service.ground.lookups import machine_numbers
from deadheat.league.service.ground.steps import existing
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import owned_by
from deadheat.league.service.series.deals import dice_in_use, withheld
from deadheat.league.service.series.privacy import SHOWN, may_see, must_see
from deadheat.league.service.views.uncounted import uncounted, why_not_played
from deadheat.league.states import OF_CHALLENGES, MatchState, Players
from deadheat.league.tables import (
    Attempt,
    Bot,
    BotVersion,
    Ending,
    LatencySummary,
    Machine,
    Match,
    Meeting,
    Participant,
    Season,
    Series,
    User,
    VoidedMatch,
)


def matches(
    session: Session,
    *,
    season_id: int | None = None,
    bot_id: int | None = None,
    opponent_id: int | None = None,
    lost: bool = False,
    late: Whose | None = None,
    game: str | None = None,
    command: str | None = None,
    machine: int | None = None,
    state: MatchState | None = None,
    finished_since: datetime | None = None,
    before: int | None = None,
    contest_id: int | None = None,
    limit: int = 50,
) -> list[MatchInfo]:
    """Return matches, the newest first, after the match `before`. `opponent_id`: only those of `bot_id` against it;
    `lost`: only those in which it was not first. `late`: only those with late answers, of `bot_id` and to `command` if
    they are bots' faults, and otherwise of the `NEWEST` such attempts. `machine`: its number. `contest_id`: those of
    a contest that the caller may see; no other list contains private matches.

    A list that may contain waiting or running matches is in the order of planning, the last planned first. A list of
    played matches (`state` done) is in the order of their ends, the last first: whole series end at once, in any order.
    So is a list with `finished_since`, which contains those that ended at that instant or later, done or abandoned. A
    result becomes visible a moment after the end that it states, so clients that follow look back a little. Raises
    BadCursor: in a list by end, `before` is not a match that has ended and may be in that list.
    """
    chosen: dict[str, Any] = {"season": season_id, "bot": bot_id, "opponent": opponent_id, "above": 1 if lost else None}
    chosen |= {"since": finished_since, "before": before, "contest": contest_id}
    chosen |= {"game": game, "command": command, "machine": machine}
    given = {name: value for name, value in chosen.items() if value is not None}
    state = MatchState.DONE if late in (Whose.BOT, Whose.HOST) else state
    by_end = finished_since is not None or state is MatchState.DONE
    if before is not None and by_end:
        ended = select(Match.finished_at).where(Match.id == before)
        ended = ended.where(SHOWN if contest_id is None else col(Match.series_id).in_(_of_contest(contest_id)))
        given["end"] = session.exec(ended).first()
        if given["end"] is None:
            raise BadCursor
    return _views(session, session.exec(_listed(frozenset(given), state, late), params={**given, "most": limit}).all())


def matches_by_id(session: Session, match_ids: Collection[int]) -> dict[int, MatchInfo]:
    """Return the matches with these ids, including private ones."""
    rows = session.exec(THESE, params={"ids": list(match_ids)}).all() if match_ids else ()
    return {match.id: match for match in _views(session, rows)}


def _views(session: Session, rows: Sequence[Any], *, whole: bool = False) -> list[MatchInfo]:
    """Return these matches, which are rows of `PLAYED`. The reason for a fault may reveal a bid, so those whose dice
    are withheld lack it, unless they are wanted as a `whole`.
    """
    untold = set() if whole else withheld(session, rows)
    seats: dict[int, tuple[SeatView, ...]] = {row.id: () for row in rows}
    for seat in seated(session, list(seats)):
        fault = None
        if seat.fault is not None:
            why = "" if seat.match_id in untold else seat.fault_why or ""
            fault = FaultView(seat.fault, seat.fault_command or "", seat.fault_elapsed_ms, why)
        seats[seat.match_id] += (from_row(SeatView, seat, version=seat.number, fault=fault),)
    reasons = uncounted(session, rows)
    return [
        from_row(
            MatchInfo,
            row,
            seed=row.seed.hex() if told_all and row.state is MatchState.DONE else None,
            transcript_sha256=row.transcript_sha256 if told_all else None,
            comeback=row.comeback if told_all else None,
            seats=seats[row.id],
            uncounted=reasons[row.id],
        )
        for row in rows
        for told_all in (row.id not in untold,)
    ]


@lru_cache(maxsize=64)
def _listed(given: frozenset[str], state: MatchState | None, late: Whose | None) -> Any:
    """Return the statement for a list of `matches`, by the names of its parameters. It is built once, because building
    it takes longer than executing it.
    """
    number, ended = col(Match.id), col(Match.finished_at)
    statement = PLAYED
    if late is not None:
        statement = statement.where(*_late(given, late))
    if late is Whose.BOT:
        statement = statement.join(Participant, col(Participant.match_id) == Match.id).where(LATE)
        number, ended = col(Participant.match_id), col(Participant.finished_at)  # their index has only such seats
        for name, column in (("bot", Participant.bot_id), ("command", Participant.fault_command)):
            statement = statement.where(col(column) == bindparam(name)) if name in given else statement
    elif "bot" in given:
        statement = statement.join(Participant, col(Participant.match_id) == Match.id)
        statement = statement.where(Participant.bot_id == bindparam("bot"))
        statement = statement.where(~_another_seat("bot", lambda seat, other: other < seat))  # once per match
        number = col(Participant.match_id)  # this column has an index
        if state is MatchState.DONE:
            ended = col(Participant.finished_at)  # so has this one
        if "above" in given:
            statement = statement.where(col(Participant.rank) > bindparam("above"))  # the index has the rank too
    if "opponent" in given:
        statement = statement.where(_another_seat("opponent", lambda seat, other: other != seat))
    if "season" in given:
        here = col(Match.season_id) + 0 if late is Whose.BOT else col(Match.season_id)  # no index: few seats were late
        statement = statement.where(here == bindparam("season"))
    if "contest" not in given:
        statement = statement.where(SHOWN)
    else:
        statement = statement.where(col(Match.series_id).in_(_of_contest(bindparam("contest"))))
    if state is not None:
        statement = statement.where(Match.state == state)
    earlier = number < bindparam("before")
    if "since" in given:
        statement = statement.where(ended >= bindparam("since"))
    if "since" in given or state is MatchState.DONE:
        statement = statement.where(ended.is_not(None)).order_by(ended.desc(), number.desc())
        earlier = (ended <= bindparam("end")) & or_(ended < bindparam("end"), earlier)
    else:
        statement = statement.order_by(number.desc())
    if "before" in given:
        statement = statement.where(earlier)
    return statement.limit(bindparam("most"))


LATE = text("participant.fault = 'timeout'")
"""The condition on `Participant` that it was late, as a literal: otherwise databases do not use the index of these few
rows.
"""

GIVEN_BACK = text("CAST(attempt.evidence AS TEXT) LIKE '%past_deadline%'")
UNDECIDED = text("attempt.cause <> 'played' AND CAST(attempt.evidence AS TEXT) LIKE '%\"seat\"%'")
"""The conditions on `Attempt` that answers counted past their deadlines, or one was awaited when it became void."""

NEWEST = 1000
"""The number of newest attempts of either kind whose matches are listed."""


def _late(given: frozenset[str], late: Whose) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions on matches with late answers, apart from those on the seats of late bots."""
    voided = exists().where(col(VoidedMatch.match_id) == col(Match.id))
    other = aliased(Participant)
    timed_out = col(other.fault) == Fault.TIMEOUT
    there: ColumnElement[bool] = col(Attempt.cause) == Cause.PLAYED  # the attempt whose machine is meant
    if late is Whose.BOT:  # once per match
        before = (col(other.match_id) == col(Match.id), timed_out, col(other.seat) < col(Participant.seat))
        yield ~voided
        yield ~exists().where(*before)
        if "season" not in given and "bot" not in given:
            yield col(Season.players) == Players.PROGRAMS  # agents' are listed by season
    else:
        tried = columns(col(Attempt.match_id)).where(GIVEN_BACK if late is Whose.HOST else UNDECIDED)
        ids: Any = columns(tried.order_by(col(Attempt.id).desc()).limit(NEWEST).subquery())
        if late is Whose.VOID:
            # With a join, SQLite reads all faults instead of the few rulings.
            ruled = exists().where(col(other.match_id) == VoidedMatch.match_id, timed_out)
            ids, there = ids.union(columns(col(VoidedMatch.match_id)).where(ruled)), or_(~there, voided)
        yield col(Match.id).in_(ids)
    if "game" in given:
        yield col(Season.game) == bindparam("game")
    if "machine" in given:
        name = col(Machine.name) + ":"
        here = (col(Machine.id) == bindparam("machine"), func.substr(Attempt.worker, 1, func.length(name)) == name)
        yield exists().where(col(Attempt.match_id) == col(Match.id), there, *here)


def _another_seat(bot: str, where: Callable[[Any, Any], ColumnElement[bool]]) -> ColumnElement[bool]:
    """Return the condition that the bot in the parameter of this name has another seat in the participant's match.
    `where` compares the participant's seat with it.
    """
    other = aliased(Participant)
    there = (col(other.match_id) == col(Participant.match_id), col(other.bot_id) == bindparam(bot))
    return exists().where(*there, where(col(Participant.seat), col(other.seat)))


def _of_contest(contest_id: Any) -> Any:
    """Return the statement for the series of a contest."""
    of_it = select(Series.id).join(Meeting, col(Meeting.id) == Series.meeting_id)
    return of_it.where(Meeting.contest_id == contest_id)


def first_match(session: Session, version_id: int, season_id: int) -> int | None:
    """Return the first finished match of a version on a season's ladder, in its evaluations or finals."""
    first = (
        select(func.min(Participant.match_id))
        .join(Match, col(Match.id) == Participant.match_id)
        .join(Series, col(Series.id) == Match.series_id)
        .where(Participant.version_id == version_id, Match.season_id == season_id)
        .where(Match.state == MatchState.DONE, col(Series.purpose).not_in(OF_CHALLENGES))
    )
    return session.exec(first).one()


def match_detail(session: Session, match_id: int, viewer: Person | None = None, *, whole: bool = False) -> MatchDetail:
    """Return one match with its attempts and response times, for a viewer who may see it. `whole`: including parts that
    are not public yet, for the service itself. Raises NotFound.
    """
    row = session.exec(ONE, params={"id": match_id}).first()
    if row is None:
        raise NotFound("match", match_id)
    must_see(session, viewer, row)
    ledger = session.exec(LEDGER, params={"match": match_id, "series": row.series_id}).all()
    machines = machine_numbers(session, {attempt.worker for attempt in ledger})
    attempts = tuple(
        from_row(
            AttemptView,
            attempt,
            machine=machines.get(attempt.worker),
            detail=told(attempt.cause, attempt.detail),
            seat=attempt.evidence.get("seat"),
            evidence=told_evidence(attempt.evidence),
        )
        for attempt in ledger
    )
    latencies = tuple(
        from_row(LatencyView, t, mean_ns=t.total_ns // max(t.prompts, 1))
        for t in session.exec(LATENCIES, params={"id": match_id})
    )
    not_played = why_not_played(session, match_id, attempts) if row.state is MatchState.ABANDONED else ""
    (view,) = _views(session, [row], whole=whole)
    return from_row(MatchDetail, view, not_played=not_played, attempts=attempts, latencies=latencies)


PLAYED: Any = columns(
    *Match.__table__.c,  # type: ignore[attr-defined]
    col(Season.game),
    col(Season.variant),
).join_from(Match, Season, col(Season.id) == Match.season_id)
ONE = PLAYED.where(Match.id == bindparam("id"))
THESE = PLAYED.where(col(Match.id).in_(bindparam("ids", expanding=True)))

LATENCIES = (
    select(LatencySummary)
    .where(LatencySummary.match_id == bindparam("id"))
    .order_by(col(LatencySummary.seat), col(LatencySummary.command))
)


LEDGER = (
    select(Attempt)
    .where(
        (col(Attempt.match_id) == bindparam("match"))
        | ((col(Attempt.series_id) == bindparam("series")) & col(Attempt.match_id).is_(None))
    )
    .order_by(col(Attempt.id))
    .limit(MOST_ATTEMPTS)
)
"""A match's own attempts, and failures of its series as a whole."""


def transcript_of(session: Session, match_id: int, viewer: Person | None = None) -> str:
    """Return the name of a match's transcript in the blob store. The transcript contains the seed, so it is given only
    if the dice may be shown. `viewer`: a person who must be allowed to see the match. Raises NotFound, WrongState.
    """
    row = existing(session, Match, match_id)
    must_see(session, viewer, row)
    if row.transcript_sha256 is None:
        raise WrongState.of_match(row.state, _("only matches that were played to the end have a transcript"))
    if withheld(session, [row]):
        raise WrongState.withheld()
    return row.transcript_sha256


def own_seats(session: Session, owner: Person, match_id: int) -> dict[int, tuple[str, int]]:
    """Return the seats of the caller's own bots, each with the bot's name and the version's number. Raises NotFound:
    there is no such match, none of the caller's bots is in it, or it is another author's private match.
    """
    match = session.get(Match, match_id)
    mine = (
        select(Participant.seat, Bot.name, BotVersion.number)
        .join(Bot, col(Bot.id) == Participant.bot_id)
        .join(BotVersion, col(BotVersion.id) == Participant.version_id)
        .where(Participant.match_id == match_id, owned_by(owner))
        .order_by(col(Participant.seat))
    )
    seated = {seat: (name, number) for seat, name, number in session.exec(mine)}
    if not seated or match is None or not may_see(session, owner, match):
        raise NotFound.own_match(match_id)
    return seated


def endings(session: Session, owner: Person, match_id: int) -> list[EndingView]:
    """Return how the processes of the caller's bots ended, with their stderr; nothing while the dice are in use. Raises
    NotFound: as for `own_seats`.
    """
    seated = own_seats(session, owner, match_id)
    if dice_in_use(session, [session.get_one(Match, match_id)]):
        return []
    chosen = (Ending.match_id == match_id, col(Ending.seat).in_(list(seated)))
    return [
        from_row(EndingView, row, bot=seated[row.seat][0], version=seated[row.seat][1])
        for row in session.exec(select(Ending).where(*chosen).order_by(col(Ending.seat)))
    ]


def seated(session: Session, match_ids: Sequence[int]) -> Iterable[Any]:
    """Return the rows of the seats of these matches, by match and seat, each with the names of its `bot` and `author`
    the `number` of its version, and an agent's `model`, but without the match's end.
    """
    return session.connection().execute(SEATED, {"ids": match_ids})


SEATED = (
    columns(
        *(column for column in Participant.__table__.c if column.name != "finished_at"),  # type: ignore[attr-defined]
        col(Bot.name).label("bot"),
        col(User.name).label("author"),
        col(BotVersion.number),
        case((col(BotVersion.language) == AGENT, col(BotVersion.entry)), else_="").label("model"),
    )
    .join_from(Participant, Bot, col(Bot.id) == Participant.bot_id)
    .join(User, col(User.id) == Bot.owner_id)
    .join(BotVersion, col(BotVersion.id) == Participant.version_id)
    .where(col(Participant.match_id).in_(bindparam("ids", expanding=True)))
    .order_by(col(Participant.match_id), col(Participant.seat))
)


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
    pairs = [Neighbours(of, *near[2 * place : 2 * place + 2]) for place, of in enumerate(words)]
    return [pair for pair in pairs if pair.before is not None or pair.after is not None]


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
    statement = select(Match.id).join(window, window.c.match_id == Match.id).where(SHOWN)
    if opponent is not None:
        theirs = (col(Participant.match_id) == Match.id, col(Participant.bot_id) == bindparam(f"bot{opponent}"))
        statement = statement.where(exists().where(*theirs))
    return statement.order_by(*(column.asc() if later else column.desc() for column in near)).limit(1)
