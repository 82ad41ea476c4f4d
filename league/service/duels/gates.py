"""Promotion gates: a new version plays against the active one, and replaces it only if it is stronger.

Theory of operation
-------------------
An author asks for a gate when entering a bot. From then on a version that becomes ready begins a duel, and takes over
if its test passes. These games are never rated: both sides are one author's. A ranking ties a version that passed less
closely to its predecessor (`league.service.rankings.ranking`).

With enough attempts anything passes, so each program gets one test: a program that failed against a version is not
tried again, even as another upload. A duel that ended undecided (the season froze, the author chose another version)
continues from its games when the same two programs meet at this gate again, once those in progress are over; half a
pair counts as one (`league.service.contests.life.COMPLETES_PAIRS`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from deadheat.engine.games import GAMES
from deadheat.engine.language import N_, _
from deadheat.league import sprt
from deadheat.league.errors import BadSetting
from deadheat.league.pairing.duel import Duel
from deadheat.league.service.contests.life import Progress, end, end_all, running
from deadheat.league.service.duels import counting
from deadheat.league.service.duels.counting import (
    TESTED,
    Ends,
    Matchup,
    begin_duels,
    in_pairs,
    of_program,
    same_program,
    test_terms,
)
from deadheat.league.service.duels.counting import decide as decide_duel
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.steps import touch_log
from deadheat.league.service.seasons.absence import wake
from deadheat.league.states import ContestKind, ContestState
from deadheat.league.tables import AbsentEntry, BotVersion, Contest, Entry, Season
from deadheat.league.words import Outcome

TEST, MOST_GAMES = sprt.Terms(0.0, 100.0), 200
"""What new versions must pass unless their author says otherwise. The closer the bounds, the more games a verdict
takes. These fit their budget: one equal version in twenty uses it up. With bounds of 0 and 20, nine in ten are
undecided after 400 games (./scripts/bench ratings, part f).
"""


TRIED = (ContestState.RUNNING, ContestState.FAILED)
"""The states of a version's duel at a gate, after which it has none against the same version again."""


def gate_as_json(season: Season, terms: Callable[[], Duel]) -> dict[str, Any]:
    """Return the terms as an entry stores them. Raises BadSetting: there are no gates here, or not on these terms."""
    if season.challenge_games == 0:
        raise BadSetting("gate", _("this season has no promotion gates"))
    duel = terms()
    if duel.games > season.challenge_games:
        raise BadSetting("gate", _("this season allows a new version at most %(n)s games", n=season.challenge_games))
    if GAMES[season.game].seats.start > 2:
        raise BadSetting("gate", _("%(game)s cannot be played by two bots", game=season.game))
    return {**test_terms(duel), "games": duel.games}


def choose_version(session: Session, season: Season, entry: Entry, version: BotVersion, *, by_gate: bool) -> None:
    """Make the version active, directly or through the gate. An entry without an active version has no gate yet."""
    chosen_again = version.id == entry.version_id
    gated = by_gate and entry.gate is not None and season.challenge_games > 0 and not entry.waits_for_panel
    if gated and not chosen_again:
        _begin(session, season, entry, version)
        return
    reason = N_("The active version was chosen again.") if chosen_again else f"Version {version.number} was chosen."
    end_all(session, season.id, reason, ContestKind.GATE, entry_id=entry.id)
    entry.waits_for_panel = False
    if not chosen_again:
        entry.version_id = version.id
        wake(session, entry)
    session.flush()


def _begin(session: Session, season: Season, entry: Entry, candidate: BotVersion) -> None:
    """Send a version to the entry's gate, unless it is there already or has failed there.

    It replaces a version at the gate, because its author wants to know about the newest one. A version that is the same
    program as the active one, or as one that failed, fails at once with a sentence that says so.
    """
    assert entry.gate is not None
    tried = tests(session, entry.id, candidate.id, entry.version_id)
    if any(duel.candidate_id == candidate.id and duel.contest.state in TRIED for duel in tried):
        return
    incumbent, known = session.get_one(BotVersion, entry.version_id), ""
    if entry.version_id in same_program(session, candidate.id):
        known = f"It is the same program as version {incumbent.number}, which is active."
    elif failed := next((duel for duel in tried if duel.contest.state is ContestState.FAILED), None):
        number = session.get_one(BotVersion, failed.candidate_id).number
        known = f"It is the same program as version {number}, which has failed here: {failed.contest.reason}"
    else:
        end_all(session, season.id, f"Version {candidate.number} replaced it.", ContestKind.GATE, entry_id=entry.id)
    games = max(1, min(entry.gate["games"], season.challenge_games))
    terms = {name: entry.gate[name] for name in TESTED}
    if games > 1 and all(duel.contest.terms.get("paired") for duel in tried):  # otherwise it continues without pairs
        terms = in_pairs(season, terms)
    row = begin_duels(session, season, ContestKind.GATE, candidate, [incumbent], games, entry_id=entry.id, terms=terms)
    data = {"bot": entry.bot_id, "candidate": candidate.number}
    record(session, SYSTEM, "challenge-began", f"season/{season.id}", data)
    if known:
        end(session, row, ContestState.FAILED, known)


def tests(session: Session, entry_id: int | None, candidate_id: int, incumbent_id: int) -> list[Matchup]:
    """Return the duels of two programs, as any versions, at an entry's gate, the oldest first."""
    incumbents = same_program(session, incumbent_id)
    every = of_program(session, entry_id, ContestKind.GATE, candidate_id)
    return [duel for duel in every if duel.opponent_id in incumbents]


# Going on -----------------------------------------------------------------------------------------------------------


def at_gates(session: Session, season: Season) -> list[Contest]:
    """Return the season's running gates of bots that take part, the oldest first."""
    absent = set(session.exec(ABSENT, params={"season": season.id}))
    return [row for row in running(session, season.id, ContestKind.GATE) if row.entry_id not in absent]


ABSENT = (
    select(Entry.id)
    .join(AbsentEntry, (col(AbsentEntry.season_id) == Entry.season_id) & (col(AbsentEntry.bot_id) == Entry.bot_id))
    .where(Entry.season_id == bindparam("season"))
)


def tests_of(session: Session, row: Contest, duels: Sequence[Matchup]) -> dict[int, list[Matchup]]:
    """Return a gate's duel with those whose games count for its test."""
    return {duel.meeting.id: tests(session, row.entry_id, row.candidate_id, duel.opponent_id) for duel in duels}


settle = partial(counting.settle, tests=tests_of)

ENDS: Ends = {
    Outcome.STRONGER: (ContestState.PASSED, N_("It is stronger.")),
    Outcome.NOT_STRONGER: (ContestState.FAILED, N_("It is not stronger.")),
    Outcome.SPENT: (ContestState.FAILED, "{spent} did not show that it is stronger."),
}


def decide(session: Session, season: Season, row: Contest, progress: Progress) -> None:
    """End a gate as its test decides; a version that has passed plays from now on."""
    if not decide_duel(session, row, progress, ENDS):
        return
    entry = session.get_one(Entry, row.entry_id)
    entry.version_id = row.candidate_id
    wake(session, entry)
    session.flush()
    touch_log(session, season.id)
