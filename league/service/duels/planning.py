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

from itertools import chain

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from deadheat.engine.figures import plural
from deadheat.engine.language import N_
from deadheat.league.pairing.duel import Count, Outcome
from deadheat.league.service.contests.life import POLICIES, end
from deadheat.league.service.duels import gates, panels, requests
from deadheat.league.service.duels.counting import Matchup, count_games, duel_of, in_play, running_duels
from deadheat.league.service.series.capacity import open_series, open_series_bound
from deadheat.league.service.series.planning import Table, add_series
from deadheat.league.states import Asked, ContestKind, ContestState, Purpose
from deadheat.league.tables import AbsentEntry, Entry, Season

OPEN_SERIES = 4
"""The series of one season that wait or run at a time at its gates, and as many at authors' requests: enough for idle
machines, and too few to hold up the season.
"""

GATE, REQUEST = ContestKind.GATE, ContestKind.REQUEST
ENDS = {
    (GATE, Outcome.STRONGER): (ContestState.PASSED, N_("It is stronger.")),
    (GATE, Outcome.NOT_STRONGER): (ContestState.FAILED, N_("It is not stronger.")),
    (GATE, Outcome.SPENT): (ContestState.FAILED, "{spent} did not show that it is stronger."),
    (REQUEST, Outcome.STRONGER): (
        ContestState.PASSED,
        "It is stronger by {elo1:g} normalised Elo, rather than by {elo0:g}.",
    ),
    (REQUEST, Outcome.NOT_STRONGER): (
        ContestState.FAILED,
        "It is not stronger by {elo1:g} normalised Elo, but by {elo0:g} or less.",
    ),
    (REQUEST, Outcome.SPENT): (ContestState.ENDED, "{played}{undecided}."),
}
"""The state and the reason of an end."""

Wanted = list[tuple[Matchup, Count]]
"""Duels whose next series may be planned, with their games so far."""


def plan_duels(session: Session, season: Season, kind: ContestKind) -> list[int]:
    """Decide the season's duels of a kind that can be decided, plan the next series of the others, and return the new
    series.
    """
    room, wanted = _panel(session, season) if kind is ContestKind.PANEL else _single(session, season, kind)
    policy = POLICIES[kind]
    made: list[int] = []
    for one, count in wanted[: max(0, room)]:
        length, candidate_begins = duel_of(one.contest).draw(count, one.meeting.planned, season.series_length)
        sides = (one.candidate_id, one.opponent_id)
        seats = sides if candidate_begins else sides[::-1]
        table = Table(seats, length, policy.precedence, meeting_id=one.meeting.id)
        asked = None
        if kind is REQUEST:
            asked = Asked.PRIVATE if one.contest.private else Asked.PUBLIC
        made += add_series(session, season, [table], purpose=policy.purpose, asked=asked)[0]
        one.meeting.planned += length
        session.flush()
    return made


def _single(session: Session, season: Season, kind: ContestKind) -> tuple[int, Wanted]:
    """Return the room for series at gates or on request, and the duels that go on, those with the fewest games first.
    One duel of each entry or author is played at a time, the oldest first.
    """
    if kind is REQUEST:
        requests.end_forbidden(session, season)
    duels = running_duels(session, season.id, kind)
    playing = in_play(session, duels)
    served: set[int | None] = set(session.exec(ABSENT, params={"season": season.id}) if kind is GATE else ())
    wanted: Wanted = []
    for one in duels:
        whose = one.contest.entry_id if kind is GATE else one.contest.asker_id
        if whose in served:
            continue
        if one.meeting.id not in playing:
            tests = [one] if kind is REQUEST else gates.tests(session, whose, one.candidate_id, one.opponent_id)
            count = count_games(session, {one.meeting.id: tests})[one.meeting.id]
            outcome = _judge(one, count)
            if outcome is not None:
                _decide(session, season, one, count, outcome)
                continue
            wanted.append((one, count))
        served.add(whose)
    wanted.sort(key=lambda each: (each[0].meeting.planned, each[0].meeting.id))
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
    changed: list[panels.Run] = []
    over: list[tuple[panels.Run, list[Matchup]]] = []
    for run in runs:
        if len(wanted) >= room and run.contest.id not in begun:
            continue
        found = panels.tests(session, run)
        duels, tests = [duel for duel, _ in found], {duel.meeting.id: several for duel, several in found}
        counts = count_games(session, tests)
        before = [duel.meeting.score for duel in duels]
        outcomes = [_judge(duel, counts[duel.meeting.id]) for duel in duels]
        if [duel.meeting.score for duel in duels] != before:
            changed.append(run)
        if None not in outcomes:
            over.append((run, duels))
            continue
        playing = in_play(session, chain(*tests.values()))
        wanted += [
            (duel, counts[duel.meeting.id])
            for duel, outcome in zip(duels, outcomes, strict=True)
            if outcome is None and playing.isdisjoint(test.meeting.id for test in tests[duel.meeting.id])
        ]
    session.flush()
    if changed:
        panels.estimate(session, season, changed)
    for run, duels in over:
        panels.decide(session, season, run, duels)
    return room, wanted


def _judge(one: Matchup, count: Count) -> Outcome | None:
    """Store a duel's score, and return why it is over, or None if it goes on."""
    outcome, llr = duel_of(one.contest).judge(count)
    one.meeting.score = {"wins": count.wins, "draws": count.draws, "losses": count.losses, "llr": llr}
    return outcome


def _decide(session: Session, season: Season, one: Matchup, count: Count, outcome: Outcome) -> None:
    """End a duel as its games decide; a version that has passed its gate plays from now on."""
    row = one.contest
    state, reason = ContestState.ENDED, "The service failed: {abandoned} could not be played."
    if outcome is not Outcome.UNPLAYABLE:
        state, reason = ENDS[row.kind, outcome]
    all_games = f"All {plural(row.matches, 'game')} have been played"
    reason = reason.format(
        **row.terms,
        spent=plural(count.spent, "game"),
        abandoned=plural(count.abandoned, "game"),
        played=all_games if row.matches > 1 else "The game has been played",
        undecided=" without a verdict" if row.terms else "",
    )
    session.flush()
    if end(session, row, state, reason) and state is ContestState.PASSED and row.kind is GATE:
        gates.promote(session, season, one)
