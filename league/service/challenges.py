"""Promotion gates: a new version plays the one that is active, and takes its place only if it is stronger.

Theory of operation
-------------------
An author asks for a gate when entering a bot (`GateTerms`). From then on a version that becomes ready does not take
over; it begins a challenge. Series of the two versions are played one after the other, with fresh dice, and after
each the SPRT (`league.sprt`, trinomial) looks at all finished games of the challenge. It passes: the new version is
active. It fails, or the budget of games is spent without a verdict: the old one stays.

These games say nothing about anybody else and there may be hundreds of them, so they are never rated and no ranking
sees them. What has failed is not tried again against the same version, for whoever tries often enough passes.

The counts are taken from the matches anew each time, so it does not matter which process looks when. Matches that
both versions lost by their own fault, or that an organiser voided, count for neither.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, select

from engine.games import GAMES
from league import sprt
from league.database import now, settings_of
from league.errors import BadSetting, NotFound
from league.service.audit import SYSTEM, record
from league.service.bots import own_bot
from league.service.counting import taking_part
from league.service.planning import add_series
from league.service.play import drop_waiting
from league.service.steps import move, touch_log
from league.service.users import Person
from league.states import UNFINISHED, ChallengeState, MatchState, Purpose
from league.tables import BotVersion, Challenge, Entry, Match, Participant, Season, Series, VoidedMatch

log = logging.getLogger(__name__)

CHALLENGE_OVER = "challenge-over"
"""Cause in the ledger of a series that nobody had begun when its challenge ended."""


@dataclass(frozen=True, slots=True)
class GateTerms:
    """What an author asks of new versions: normalised Elo, shares of wrong verdicts, and a budget of games."""

    elo0: float = 0.0
    elo1: float = 20.0
    alpha: float = 0.05
    beta: float = 0.05
    games: int = 400

    @property
    def tested(self) -> sprt.Terms:
        """For the test. Raises ValueError: with a sentence."""
        return sprt.Terms(self.elo0, self.elo1, sprt.Model.NORMALIZED, self.alpha, self.beta)


@dataclass(frozen=True, slots=True)
class ChallengeInfo:
    """A challenge as its author sees it. The test ends when `llr` reaches `lower` or `upper`."""

    id: int
    candidate: int
    incumbent: int
    state: ChallengeState
    elo0: float
    elo1: float
    wins: int
    draws: int
    losses: int
    games_limit: int
    llr: float
    lower: float
    upper: float
    reason: str
    created_at: datetime
    ended_at: datetime | None


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
        raise BadSetting("gate", f"this season gives a new version at most {season.challenge_games} games")
    if GAMES[season.game].seats.start > 2:
        raise BadSetting("gate", f"{season.game} cannot be played by two")
    try:
        _ = terms.tested
    except ValueError as error:
        raise BadSetting("gate", str(error)) from error
    return {name: getattr(terms, name) for name in GateTerms.__slots__}


def begin_challenge(session: Session, entry: Entry, candidate: BotVersion) -> bool:
    """Send a version to the entry's gate; False: it has failed there already, or is there now.

    Whoever is at the gate goes home: the newest version is the one that its author wants to know about.
    """
    assert entry.gate is not None
    tried = select(Challenge.id).where(
        Challenge.entry_id == entry.id,
        Challenge.candidate_id == candidate.id,
        Challenge.incumbent_id == entry.version_id,
        col(Challenge.state).in_([ChallengeState.RUNNING, ChallengeState.FAILED]),
    )
    if session.exec(tried).first() is not None:
        return False
    end_challenges(session, entry.season_id, f"Version {candidate.number} came.", entry.id)
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
    return True


def end_challenges(session: Session, season_id: int, reason: str, entry_id: int | None = None) -> None:
    """End the season's (or the entry's) running challenges without a verdict."""
    running = select(Challenge.id).where(Challenge.season_id == season_id, Challenge.state == ChallengeState.RUNNING)
    if entry_id is not None:
        running = running.where(Challenge.entry_id == entry_id)
    for challenge_id in session.exec(running).all():
        _end(session, challenge_id, ChallengeState.ENDED, reason)


def plan_challenges(session: Session, season: Season) -> list[int]:
    """Decide what can be decided, and make the next series of the rest; the new series."""
    room = settings_of(session).open_challenges_limit - len(_busy(session, season.id))
    running = (
        select(Challenge, Entry)
        .join(Entry, col(Entry.id) == Challenge.entry_id)
        .where(
            Challenge.season_id == season.id,
            Challenge.state == ChallengeState.RUNNING,
            taking_part(season.id),
            col(Challenge.id).not_in(_busy_ids(season.id)),
        )
        .order_by(col(Challenge.games_planned), col(Challenge.id))
    )
    made = []
    for challenge, entry in session.exec(running).all():
        count = _count(session, challenge)
        if _decide(session, challenge, entry, count) or room <= 0:
            continue
        length = min(season.series_length, challenge.games_limit - count.played)
        first, second = challenge.candidate_id, challenge.incumbent_id
        if challenge.games_planned % 2:  # seats change with every game, over all series
            first, second = second, first
        made.append(
            add_series(
                session,
                season,
                (first, second),
                length,
                purpose=Purpose.CHALLENGE,
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
        raise NotFound("entry of the bot", bot_id)
    found = session.exec(
        select(Challenge).where(Challenge.entry_id == entry.id).order_by(col(Challenge.id).desc()).limit(limit)
    ).all()
    ids = {version for row in found for version in (row.candidate_id, row.incumbent_id)}
    named = select(BotVersion.id, BotVersion.number).where(col(BotVersion.id).in_(ids))
    numbers = dict(session.exec(named).all())
    return [_view(row, numbers) for row in found]


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
        reason = f"{count.played} games did not show that it is stronger."
        return _end(session, challenge.id, ChallengeState.FAILED, reason)
    if count.abandoned >= challenge.games_limit:
        reason = f"Our own failure: {count.abandoned} games could not be played."
        return _end(session, challenge.id, ChallengeState.ENDED, reason)
    return False


def _end(session: Session, challenge_id: int, state: ChallengeState, reason: str) -> bool:
    at = now(session)
    if not move(session, Challenge, challenge_id, ChallengeState.RUNNING, state, reason=reason, ended_at=at):
        return False
    row = session.get_one(Challenge, challenge_id, populate_existing=True)
    detail = "The challenge ended before this series was played."
    drop_waiting(session, row.season_id, CHALLENGE_OVER, detail, col(Series.challenge_id) == challenge_id)
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


def _count(session: Session, challenge: Challenge) -> Count:
    """All games of the challenge so far, from the candidate's side."""
    statement = (
        select(Match, Participant)
        .join(Series, col(Series.id) == Match.series_id)
        .join(Participant, col(Participant.match_id) == Match.id)
        .where(Series.challenge_id == challenge.id, Match.state != MatchState.SCHEDULED)
    )
    voided = select(VoidedMatch.match_id).where(VoidedMatch.season_id == challenge.season_id)
    ranks: dict[int, dict[int, int]] = {}
    spoiled, faulty, abandoned = set(session.exec(voided).all()), set(), set()
    for match, seat in session.exec(statement):
        if match.state is MatchState.ABANDONED:
            abandoned.add(match.id)
            continue
        assert seat.rank is not None, "a match that is done has ranks"
        ranks.setdefault(match.id, {})[seat.version_id] = seat.rank
        if seat.fault is not None and match.id in faulty:
            spoiled.add(match.id)
        if seat.fault is not None:
            faulty.add(match.id)
    counted = [seen for match_id, seen in ranks.items() if match_id not in spoiled]
    results = [_result(seen, challenge) for seen in counted]
    return Count(results.count(1), results.count(0), results.count(-1), len(spoiled & ranks.keys()), len(abandoned))


def _result(ranks: Mapping[int, int], challenge: Challenge) -> int:
    """1: the candidate won, 0: nobody, -1: it lost."""
    candidate, incumbent = ranks[challenge.candidate_id], ranks[challenge.incumbent_id]
    return (candidate < incumbent) - (candidate > incumbent)


def _busy_ids(season_id: int) -> Any:
    """Challenges with a series that is not finished."""
    return select(Series.challenge_id).where(
        Series.season_id == season_id,
        Series.purpose == Purpose.CHALLENGE,
        col(Series.state).in_(UNFINISHED),
    )


def _busy(session: Session, season_id: int) -> list[int | None]:
    return list(session.exec(_busy_ids(season_id)).all())


def _terms(row: Challenge) -> sprt.Terms:
    return sprt.Terms(row.elo0, row.elo1, sprt.Model.NORMALIZED, row.alpha, row.beta)


def _view(row: Challenge, numbers: Mapping[int, int]) -> ChallengeInfo:
    lower, upper = _terms(row).bounds
    return ChallengeInfo(
        id=row.id,
        candidate=numbers[row.candidate_id],
        incumbent=numbers[row.incumbent_id],
        state=row.state,
        elo0=row.elo0,
        elo1=row.elo1,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        games_limit=row.games_limit,
        llr=row.llr,
        lower=lower,
        upper=upper,
        reason=row.reason,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )
