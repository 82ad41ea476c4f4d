"""The one planner of duels: it decides those that can be decided, and plans the next series of the others.

Theory of operation
-------------------
The series of a duel are played one after the other, with fresh dice, and after each `league.pairing.duel` says whether
it goes on. While one is played, or a game of it waits for an organiser, a test is not decided, which would leave that
game out. A version's duels against the bots of a panel are decided together.

The database is read each time, and what can be done next is done. The season is locked meanwhile, so two schedulers do
nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from deadheat.engine.figures import plural
from deadheat.engine.language import N_
from deadheat.league.pairing.duel import Count, Outcome
from deadheat.league.service.duels import gates, panels, requests
from deadheat.league.service.duels.counting import Kind, count_games, duel_of, end_duel, in_play, kind_of, running
from deadheat.league.service.series.capacity import open_series, open_series_bound
from deadheat.league.service.series.planning import Table, add_series
from deadheat.league.states import Asked, ChallengeState, Precedence, Purpose
from deadheat.league.tables import AbsentEntry, Challenge, Entry, PanelRun, Season

OPEN_SERIES = 4
"""The series of one season that wait or run at a time at its gates, and as many at authors' requests: enough for idle
machines, and too few to hold up the season.
"""

QUEUED = {
    Kind.GATE: (Purpose.CHALLENGE, Precedence.NEW_VERSION),
    Kind.REQUEST: (Purpose.CHALLENGE, Precedence.ASKED),
    Kind.PANEL: (Purpose.PANEL, Precedence.PANEL),
}

ENDS = {
    (Kind.GATE, Outcome.STRONGER): (ChallengeState.PASSED, N_("It is stronger.")),
    (Kind.GATE, Outcome.NOT_STRONGER): (ChallengeState.FAILED, N_("It is not stronger.")),
    (Kind.GATE, Outcome.SPENT): (ChallengeState.FAILED, "{spent} did not show that it is stronger."),
    (Kind.REQUEST, Outcome.STRONGER): (
        ChallengeState.PASSED,
        "It is stronger by {elo1:g} normalised Elo, rather than by {elo0:g}.",
    ),
    (Kind.REQUEST, Outcome.NOT_STRONGER): (
        ChallengeState.FAILED,
        "It is not stronger by {elo1:g} normalised Elo, but by {elo0:g} or less.",
    ),
    (Kind.REQUEST, Outcome.SPENT): (ChallengeState.ENDED, "{played}{undecided}."),
}
"""The state and the reason of an end."""

Wanted = list[tuple[Challenge, Count]]
"""Duels whose next series may be planned, with their games so far."""


def plan_duels(session: Session, season: Season, kind: Kind) -> list[int]:
    """Decide the season's duels of a kind that can be decided, plan the next series of the others, and return the new
    series.
    """
    room, wanted = _panel(session, season) if kind is Kind.PANEL else _single(session, season, kind)
    purpose, precedence = QUEUED[kind]
    made: list[int] = []
    for row, count in wanted[: max(0, room)]:
        length, candidate_begins = duel_of(row).draw(count, row.games_planned, season.series_length)
        sides = (row.candidate_id, row.incumbent_id)
        table = Table(sides if candidate_begins else sides[::-1], length, precedence, challenge_id=row.id)
        asked = None
        if kind is Kind.REQUEST:
            asked = Asked.PRIVATE if row.private else Asked.PUBLIC
        made += add_series(session, season, [table], purpose=purpose, asked=asked)[0]
        row.games_planned += length
        session.flush()
    return made


def _single(session: Session, season: Season, kind: Kind) -> tuple[int, Wanted]:
    """Return the room for series at gates or on request, and the duels that go on, those with the fewest games first.
    One duel of each entry or author is played at a time, the oldest first.
    """
    if kind is Kind.REQUEST:
        requests.end_forbidden(session, season)
    rows = running(session, season.id, kind)
    playing = in_play(session, rows)
    served = set(session.exec(ABSENT, params={"season": season.id})) if kind is Kind.GATE else set()
    wanted: Wanted = []
    for row in rows:
        whose = getattr(row, kind.value)
        if whose in served:
            continue
        if row.id not in playing:
            tests = [row] if kind is Kind.REQUEST else gates.tests(session, whose, row.candidate_id, row.incumbent_id)
            count = count_games(session, {row.id: tests})[row.id]
            outcome = _judge(row, count)
            if outcome is not None:
                _decide(session, season, row, count, outcome)
                continue
            wanted.append((row, count))
        served.add(whose)
    wanted.sort(key=lambda one: (one[0].games_planned, one[0].id))
    return OPEN_SERIES - len(playing), wanted


ABSENT = (
    select(Entry.id)
    .join(AbsentEntry, (col(AbsentEntry.season_id) == Entry.season_id) & (col(AbsentEntry.bot_id) == Entry.bot_id))
    .where(Entry.season_id == bindparam("season"))
)


def _panel(session: Session, season: Season) -> tuple[int, Wanted]:
    """Return the room for series at the season's panel, independent of the ladder and of evaluations, and the duels
    that go on, in the order of arrival.
    """
    runs = panels.runs_to_play(session, season)
    if not runs:
        return 0, []
    room = open_series_bound(session) - open_series(session, season.id, Purpose.PANEL)
    # Matches are read only for runs with planned games, and for as many others as have room.
    begun = panels.begun(session, season.id)
    wanted: Wanted = []
    changed: list[PanelRun] = []
    over: list[PanelRun] = []
    for run in runs:
        if len(wanted) >= room and run.id not in begun:
            continue
        duels = panels.opponents(session, run.id)
        tests = panels.tests(session, run, duels)
        counts = count_games(session, tests)
        before = _scores(duels)
        outcomes = [_judge(duel, counts[duel.id]) for duel in duels]
        if _scores(duels) != before:
            changed.append(run)
        if None not in outcomes:
            over.append(run)
            continue
        playing = in_play(session, chain(*tests.values()))
        wanted += [
            (duel, counts[duel.id])
            for duel, outcome in zip(duels, outcomes, strict=True)
            if outcome is None and playing.isdisjoint(test.id for test in tests[duel.id])
        ]
    session.flush()
    if changed:
        panels.estimate(session, season, changed)
    for run in over:
        panels.decide(session, season, run)
    return room, wanted


def _scores(duels: Sequence[Challenge]) -> list[tuple[int, int, int]]:
    return [(duel.wins, duel.draws, duel.losses) for duel in duels]


def _judge(row: Challenge, count: Count) -> Outcome | None:
    """Store a duel's score, and return why it is over, or None if it goes on."""
    row.wins, row.draws, row.losses = count.wins, count.draws, count.losses
    outcome, row.llr = duel_of(row).judge(count)
    return outcome


def _decide(session: Session, season: Season, row: Challenge, count: Count, outcome: Outcome) -> None:
    """End a duel as its games decide; a version that has passed its gate plays from now on."""
    state, reason = ChallengeState.ENDED, "The service failed: {abandoned} could not be played."
    if outcome is not Outcome.UNPLAYABLE:
        state, reason = ENDS[kind_of(row), outcome]
    all_games = f"All {plural(row.games_limit, 'game')} have been played"
    reason = reason.format(
        elo0=row.elo0,
        elo1=row.elo1,
        spent=plural(count.spent, "game"),
        abandoned=plural(count.abandoned, "game"),
        played=all_games if row.games_limit > 1 else "The game has been played",
        undecided="" if row.elo0 is None else " without a verdict",
    )
    session.flush()
    if end_duel(session, row, state, reason) and state is ChallengeState.PASSED and row.entry_id is not None:
        gates.promote(session, season, row)
