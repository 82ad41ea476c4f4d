"""Promotion gates: a new version plays the one that is active, and takes its place only if it is stronger.

Theory of operation
-------------------
An author asks for a gate when entering a bot (`GateTerms`). From then on a version that becomes ready does not take
over; it begins a challenge. Series of the two versions are played one after the other, with fresh dice, and after
each the SPRT (`league.sprt`, trinomial) looks at all finished games of the challenge. It passes: the new version is
active. It fails, or the budget of games is spent without a verdict: the old one stays.

These games say nothing about anybody else, and both sides are one author's, so they are never rated. A ranking ties a
version that passed less closely to its predecessor (`league.service.rankings.lineage`). With enough attempts anything
passes, so each program has one test: a program that failed against a version is not tried again, even as another upload
of the same archive, and a challenge that ended undecided (the season froze, the author chose another version) continues
from its games when the same two programs meet at this gate again.

The counts are taken from the matches each time, so it does not matter which process looks when. Matches that
both versions lost by their own fault, or that an organiser voided, count for neither.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, exists, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from deadheat.engine.figures import counted
from deadheat.engine.games import GAMES
from deadheat.league import sprt
from deadheat.league.causes import Cause
from deadheat.league.database import now
from deadheat.league.errors import BadSetting, NotFound
from deadheat.league.records import from_row
from deadheat.league.records.entries import Challenge as ChallengeInfo
from deadheat.league.service.bots.bots import own_bot
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.counting import taking_part
from deadheat.league.service.ground.steps import move, touch_log
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.dropping import drop_waiting
from deadheat.league.service.series.planning import add_series
from deadheat.league.states import UNFINISHED, WITH_RESULT, ChallengeState, MatchState, Precedence, Purpose
from deadheat.league.tables import BotVersion, Challenge, Entry, Match, Participant, Season, Series, VoidedMatch

log = logging.getLogger(__name__)

OPEN_CHALLENGES = 4
"""Series of one season at promotion gates that wait or run at a time: a gate must not keep the season from playing."""


@dataclass(frozen=True, slots=True)
class GateTerms:
    """What new versions must show: normalised Elo, shares of wrong verdicts, and a budget of games.

    The closer the bounds, the more games a verdict takes. These fit their budget: one equal in twenty uses it up. With
    bounds of 0 and 20, nine in ten are undecided after 400 games (./scripts/bench ratings, part f).
    """

    elo0: float = 0.0
    elo1: float = 100.0
    alpha: float = 0.05
    beta: float = 0.05
    games: int = 200

    @property
    def tested(self) -> sprt.Terms:
        """For the test. Raises ValueError: with a sentence."""
        return sprt.Terms(self.elo0, self.elo1, sprt.Model.NORMALIZED, self.alpha, self.beta)


@dataclass(frozen=True, slots=True)
class Count:
    """How a challenge stands. `abandoned`: games that we failed to play."""

    wins: int
    draws: int
    losses: int
    spoiled: int  # both versions failed, or an organiser voided the game
    abandoned: int

    @property
    def played(self) -> int:
        """Games that count against the budget."""
        return self.wins + self.draws + self.losses + self.spoiled


def gate_as_json(season: Season, terms: GateTerms) -> dict[str, Any]:
    """The terms as an entry keeps them. Raises BadSetting: the season has no gates, or the terms make no test."""
    if season.challenge_games == 0:
        raise BadSetting("gate", "this season has no promotion gates")
    if terms.games > season.challenge_games:
        raise BadSetting("gate", f"this season allows a new version at most {season.challenge_games} games")
    if GAMES[season.game].seats.start > 2:
        raise BadSetting("gate", f"{season.game} cannot be played by two")
    try:
        _ = terms.tested
    except ValueError as error:
        raise BadSetting("gate", str(error)) from error
    return {name: getattr(terms, name) for name in GateTerms.__slots__}


def begin_challenge(session: Session, entry: Entry, candidate: BotVersion) -> None:
    """Send a version to the entry's gate, unless it is there or has failed there already.

    Whoever is at the gate goes home: the newest version is the one that its author wants to know about. But a version
    that is the same program as the active one, or as one that failed, fails at once with a sentence that says so.
    """
    assert entry.gate is not None
    own = _tests(session, entry, candidate.id).where(Challenge.candidate_id == candidate.id)
    if session.exec(own.where(col(Challenge.state).in_([ChallengeState.RUNNING, ChallengeState.FAILED]))).first():
        return
    known = _already_known(session, entry, candidate)
    if not known:
        end_challenges(session, entry.season_id, f"Version {candidate.number} replaced it.", entry.id)
    terms = GateTerms(**entry.gate)
    season = session.get_one(Season, entry.season_id)
    row = Challenge(
        season_id=entry.season_id,
        entry_id=entry.id,
        candidate_id=candidate.id,
        incumbent_id=entry.version_id,
        elo0=terms.elo0,
        elo1=terms.elo1,
        alpha=terms.alpha,
        beta=terms.beta,
        games_limit=max(1, min(terms.games, season.challenge_games)),
        created_at=now(session),
    )
    session.add(row)
    session.flush()
    data = {"bot": entry.bot_id, "candidate": candidate.number}
    record(session, SYSTEM, "challenge-began", f"season/{entry.season_id}", data)
    if known:
        _end(session, row.id, ChallengeState.FAILED, known)


def end_challenges(session: Session, season_id: int, reason: str, entry_id: int | None = None) -> None:
    """End the season's (or the entry's) running challenges without a verdict."""
    running = select(Challenge.id).where(Challenge.season_id == season_id, Challenge.state == ChallengeState.RUNNING)
    if entry_id is not None:
        running = running.where(Challenge.entry_id == entry_id)
    for challenge_id in session.exec(running).all():
        _end(session, challenge_id, ChallengeState.ENDED, reason)


def plan_challenges(session: Session, season: Season) -> list[int]:
    """Decide what can be decided, and make the next series of the rest; the new series."""
    room = OPEN_CHALLENGES - len(session.exec(_busy(season.id)).all())
    running = (
        select(Challenge, Entry)
        .join(Entry, col(Entry.id) == Challenge.entry_id)
        .where(
            Challenge.season_id == season.id,
            Challenge.state == ChallengeState.RUNNING,
            taking_part(season.id),
            col(Challenge.id).not_in(_busy(season.id)),
        )
        .order_by(col(Challenge.games_planned), col(Challenge.id))
    )
    made = []
    for challenge, entry in session.exec(running).all():
        count = _count(session, challenge, entry)
        if _decide(session, challenge, entry, count) or room <= 0:
            continue
        length = min(season.series_length, challenge.games_limit - count.played)
        first, second = challenge.candidate_id, challenge.incumbent_id
        if challenge.games_planned % 2:  # seats change with every game, over all series
            first, second = second, first
        made.extend(
            add_series(
                session,
                season,
                (first, second),
                length,
                purpose=Purpose.CHALLENGE,
                precedence=Precedence.NEW_VERSION,
                challenge_id=challenge.id,
            )
        )
        challenge.games_planned += length
        session.flush()
        room -= 1
    return made


def challenges(session: Session, asker: Person, season_id: int, bot_id: int, limit: int = 50) -> list[ChallengeInfo]:
    """A bot's challenges in a season, the newest first, for its author and organisers. Raises NotFound."""
    if not asker.organises:
        own_bot(session, asker, bot_id)
    entry = session.exec(select(Entry).where(Entry.season_id == season_id, Entry.bot_id == bot_id)).first()
    if entry is None:
        raise NotFound.entry(bot_id)
    found = session.exec(
        select(Challenge).where(Challenge.entry_id == entry.id).order_by(col(Challenge.id).desc()).limit(limit)
    ).all()
    ids = {version for row in found for version in (row.candidate_id, row.incumbent_id)}
    named = select(BotVersion.id, BotVersion.number).where(col(BotVersion.id).in_(ids))
    numbers = dict(session.exec(named).all())
    return [_view(row, numbers) for row in found]


def _already_known(session: Session, entry: Entry, candidate: BotVersion) -> str:
    """Why this program need not be tried against the entry's version; "": it must."""
    twins = same_program(session, candidate.id)
    if entry.version_id in twins:
        number = session.exec(select(BotVersion.number).where(BotVersion.id == entry.version_id)).one()
        return f"It is the same program as version {number}, which is active."
    failed = _tests(session, entry, candidate.id).where(Challenge.state == ChallengeState.FAILED)
    before = session.exec(failed.order_by(col(Challenge.id)).limit(1)).first()
    if before is None:
        return ""
    numbers = dict(session.exec(select(BotVersion.id, BotVersion.number).where(col(BotVersion.id).in_(twins))).all())
    return f"It is the same program as version {numbers[before.candidate_id]}, which has failed here: {before.reason}"


def _tests(session: Session, entry: Entry, candidate_id: int) -> SelectOfScalar[Challenge]:
    """All challenges of this program, under whatever number, against the program that plays for the entry."""
    return select(Challenge).where(
        Challenge.entry_id == entry.id,
        col(Challenge.candidate_id).in_(same_program(session, candidate_id)),
        col(Challenge.incumbent_id).in_(same_program(session, entry.version_id)),
    )


def same_program(session: Session, version_id: int) -> list[int]:
    """Versions of the bot that are the same program as this one, itself included: equal uploads, or equal builds."""
    this = session.get_one(BotVersion, version_id)
    equal = col(BotVersion.source_sha256) == this.source_sha256
    if this.program_sha256 is not None:
        equal = or_(equal, col(BotVersion.program_sha256) == this.program_sha256)
    alike = (BotVersion.bot_id == this.bot_id, BotVersion.language == this.language, BotVersion.entry == this.entry)
    return list(session.exec(select(BotVersion.id).where(*alike, equal)))


def _decide(session: Session, challenge: Challenge, entry: Entry, count: Count) -> bool:
    """Note how it stands; True: it is over."""
    test = sprt.test((count.losses, count.draws, count.wins), _terms(challenge))
    challenge.wins, challenge.draws, challenge.losses, challenge.llr = count.wins, count.draws, count.losses, test.llr
    session.flush()
    if test.verdict is sprt.Verdict.ACCEPT:
        if _end(session, challenge.id, ChallengeState.PASSED, "It is stronger."):
            entry.version_id = challenge.candidate_id
            session.flush()
            touch_log(session, challenge.season_id)
        return True
    if test.verdict is sprt.Verdict.REJECT:
        return _end(session, challenge.id, ChallengeState.FAILED, "It is not stronger.")
    if count.played >= challenge.games_limit:
        reason = f"{counted(count.played, 'game')} did not show that it is stronger."
        return _end(session, challenge.id, ChallengeState.FAILED, reason)
    if count.abandoned >= challenge.games_limit:
        reason = f"The service failed: {counted(count.abandoned, 'game')} could not be played."
        return _end(session, challenge.id, ChallengeState.ENDED, reason)
    return False


def _end(session: Session, challenge_id: int, state: ChallengeState, reason: str) -> bool:
    at = now(session)
    if not move(session, Challenge, challenge_id, ChallengeState.RUNNING, state, reason=reason, ended_at=at):
        return False
    row = session.get_one(Challenge, challenge_id, populate_existing=True)
    detail = "The challenge ended before this series was played."
    drop_waiting(session, row.season_id, Cause.CHALLENGE_OVER, detail, col(Series.challenge_id) == challenge_id)
    bot_id = session.exec(select(Entry.bot_id).where(Entry.id == row.entry_id)).one()
    data = {
        "bot": bot_id,
        "challenge": challenge_id,
        "wins": row.wins,
        "draws": row.draws,
        "losses": row.losses,
        "reason": reason,
    }
    record(session, SYSTEM, f"challenge-{state.value}", f"season/{row.season_id}", data)
    log.info("challenge %d %s: %s", challenge_id, state.value, reason)
    return True


def _count(session: Session, challenge: Challenge, entry: Entry) -> Count:
    """All games of the test so far, from the candidate's side; of earlier challenges what was played, too."""
    tests = {test.id: test for test in session.exec(_tests(session, entry, challenge.candidate_id))}
    statement = (
        select(Match, Participant, Series.challenge_id)
        .join(Series, col(Series.id) == Match.series_id)
        .join(Participant, col(Participant.match_id) == Match.id)
        .where(col(Series.challenge_id).in_(list(tests)), Match.state != MatchState.SCHEDULED)
    )
    voided = select(VoidedMatch.match_id).where(VoidedMatch.season_id == challenge.season_id)
    games: dict[int, tuple[Challenge, dict[int, int]]] = {}
    spoiled, faulty, abandoned = set(session.exec(voided).all()), set(), set()
    for match, seat, test_id in session.exec(statement):
        if match.state not in WITH_RESULT:
            if test_id == challenge.id:
                abandoned.add(match.id)
            continue
        assert seat.rank is not None and test_id is not None, "a match with a result has ranks, and here a challenge"
        games.setdefault(match.id, (tests[test_id], {}))[1][seat.version_id] = seat.rank
        if seat.fault is not None and match.id in faulty:
            spoiled.add(match.id)
        if seat.fault is not None:
            faulty.add(match.id)
    results = [_result(ranks, test) for match_id, (test, ranks) in games.items() if match_id not in spoiled]
    return Count(results.count(1), results.count(0), results.count(-1), len(spoiled & games.keys()), len(abandoned))


def _result(ranks: Mapping[int, int], challenge: Challenge) -> int:
    """1: the candidate won, 0: nobody, -1: it lost."""
    candidate, incumbent = ranks[challenge.candidate_id], ranks[challenge.incumbent_id]
    return (candidate < incumbent) - (candidate > incumbent)


def _busy(season_id: int) -> Any:
    """Running challenges with a series that is not finished, or a game that waits for an organiser: a test that went on
    without it would not count it.
    """
    # Found by challenge: by season and state, all that the ladder has waiting would be read.
    mine = col(Series.challenge_id) == Challenge.id
    played_for = exists().where(mine, col(Series.state).in_(UNFINISHED))
    held = exists().where(mine, col(Match.series_id) == Series.id, col(Match.state) == MatchState.HELD)
    running = (Challenge.season_id == season_id, Challenge.state == ChallengeState.RUNNING)
    return select(Challenge.id).where(*running, or_(played_for, held))


def _terms(row: Challenge) -> sprt.Terms:
    return sprt.Terms(row.elo0, row.elo1, sprt.Model.NORMALIZED, row.alpha, row.beta)


def _view(row: Challenge, numbers: Mapping[int, int]) -> ChallengeInfo:
    lower, upper = _terms(row).bounds
    candidate, incumbent = numbers[row.candidate_id], numbers[row.incumbent_id]
    return from_row(ChallengeInfo, row, candidate=candidate, incumbent=incumbent, lower=lower, upper=upper)
