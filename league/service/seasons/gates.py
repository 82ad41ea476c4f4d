"""Promotion gates: a new version plays against the active one, and replaces it only if it is stronger.

Theory of operation
-------------------
An author asks for a gate when entering a bot (`GateTerms`). From then on a version that becomes ready does not take
over, but begins a challenge. Series of the two versions are played one after the other, with fresh dice, and after each
the SPRT (`league.sprt`, trinomial) looks at all finished games of the challenge. If the test passes, the new version
becomes active. If it fails, or the budget of games is spent without a verdict, the old one stays.

These games say nothing about anybody else, and both sides are one author's, so they are never rated. A ranking ties a
version that passed less closely to its predecessor (`league.service.rankings.lineage`). With enough attempts anything
passes, so each program gets one test. A program that failed against a version is not tried again, even as another
upload of the same archive. A challenge that ended undecided (the season froze, the author chose another version)
continues from its games when the same two programs meet at this gate again.

`league.service.seasons.challenges` says how a challenge is played and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from deadheat.engine.figures import plural
from deadheat.engine.games import GAMES
from deadheat.engine.language import N_, _
from deadheat.league import sprt
from deadheat.league.database import now
from deadheat.league.errors import BadSetting
from deadheat.league.records import from_row
from deadheat.league.records.entries import Challenge as ChallengeInfo
from deadheat.league.service.bots.bots import own_bot
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.counting import taking_part
from deadheat.league.service.ground.lookups import existing_entry
from deadheat.league.service.ground.steps import touch_log
from deadheat.league.service.people import notices
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.challenges import (
    AT_GATES,
    TESTED,
    Count,
    busy,
    count_games,
    end_challenge,
    judge,
    plan_series,
    running,
    terms_of,
    unplayable,
)
from deadheat.league.service.seasons.resting import wake
from deadheat.league.states import ChallengeState
from deadheat.league.tables import BotVersion, Challenge, Entry, Season

OPEN_CHALLENGES = 4
"""How many series at a season's promotion gates may wait or run, so that gates do not hold up the season."""


@dataclass(frozen=True, slots=True)
class GateTerms:
    """The test that new versions must pass: normalised Elo, shares of wrong verdicts, and a budget of games.

    The closer the bounds, the more games a verdict takes. These fit their budget: one equal version in twenty uses it
    up. With bounds of 0 and 20, nine in ten are undecided after 400 games (./scripts/bench ratings, part f).
    """

    elo0: float = 0.0
    elo1: float = 100.0
    alpha: float = 0.05
    beta: float = 0.05
    games: int = 200

    @property
    def tested(self) -> sprt.Terms:
        """Return the terms of the sequential test. Raises ValueError with a sentence."""
        return sprt.Terms(self.elo0, self.elo1, sprt.Model.NORMALIZED, self.alpha, self.beta)


def gate_as_json(season: Season, terms: GateTerms) -> dict[str, Any]:
    """Return the terms as an entry stores them. Raises BadSetting: there are no gates here, or not on these terms."""
    if season.challenge_games == 0:
        raise BadSetting("gate", _("this season has no promotion gates"))
    if terms.games > season.challenge_games:
        raise BadSetting("gate", _("this season allows a new version at most %(n)s games", n=season.challenge_games))
    if GAMES[season.game].seats.start > 2:
        raise BadSetting("gate", _("%(game)s cannot be played by two bots", game=season.game))
    try:
        _tested = terms.tested
    except ValueError as error:
        raise BadSetting("gate", str(error)) from error
    return {name: getattr(terms, name) for name in GateTerms.__slots__}


def choose_version(session: Session, season: Season, entry: Entry, version: BotVersion, *, by_gate: bool) -> None:
    """Make the version active, directly or through the gate. An entry without an active version has no gate yet."""
    chosen_again = version.id == entry.version_id
    gated = by_gate and entry.gate is not None and season.challenge_games > 0 and not entry.waits_for_panel
    if gated and not chosen_again:
        begin_challenge(session, entry, version)
        return
    reason = N_("The active version was chosen again.") if chosen_again else f"Version {version.number} was chosen."
    end_challenges(session, season.id, reason, entry.id)
    entry.waits_for_panel = False
    if not chosen_again:
        entry.version_id = version.id
        wake(session, entry)
    session.flush()


def begin_challenge(session: Session, entry: Entry, candidate: BotVersion) -> None:
    """Send a version to the entry's gate, unless it is there already or has failed there.

    It replaces a version at the gate, because its author wants to know about the newest one. A version that is the same
    program as the active one, or as one that failed, fails at once with a sentence that says so.
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
        **{name: getattr(terms, name) for name in TESTED},
        games_limit=max(1, min(terms.games, season.challenge_games)),
        created_at=now(session),
    )
    session.add(row)
    session.flush()
    data = {"bot": entry.bot_id, "candidate": candidate.number}
    record(session, SYSTEM, "challenge-began", f"season/{entry.season_id}", data)
    if known:
        _end(session, row, ChallengeState.FAILED, known)


def end_challenges(session: Session, season_id: int, reason: str, entry_id: int | None = None) -> None:
    """End the running challenges at the season's (or the entry's) gates without a verdict."""
    for row in running(session, season_id, AT_GATES):
        if entry_id is None or row.entry_id == entry_id:
            _end(session, row, ChallengeState.ENDED, reason)


def plan_challenges(session: Session, season: Season) -> list[int]:
    """Decide the challenges at the season's gates that can be decided, plan the next series of the others, and return
    the new series.
    """
    if not running(session, season.id, AT_GATES):
        return []
    playing = busy(session, season.id, AT_GATES)
    room = OPEN_CHALLENGES - len(playing)
    idle = col(Challenge.id).not_in(playing)
    statement = (
        select(Challenge, Entry)
        .join(Entry, col(Entry.id) == Challenge.entry_id)
        .where(Challenge.season_id == season.id, Challenge.state == ChallengeState.RUNNING, idle)
        .where(taking_part(season.id))
        .order_by(col(Challenge.games_planned), col(Challenge.id))
    )
    made: list[int] = []
    for challenge, entry in session.exec(statement).all():
        count = count_games(session, challenge, session.exec(_tests(session, entry, challenge.candidate_id)).all())
        if _decide(session, challenge, entry, count) or room <= 0:
            continue
        made += plan_series(session, season, challenge, count)
        room -= 1
    return made


def challenges(session: Session, asker: Person, season_id: int, bot_id: int, limit: int = 50) -> list[ChallengeInfo]:
    """Return a bot's challenges in a season, the newest first, for its author and organisers. Raises NotFound."""
    if not asker.organises:
        own_bot(session, asker, bot_id)
    entry = existing_entry(session, season_id, bot_id)
    found = session.exec(
        select(Challenge).where(Challenge.entry_id == entry.id).order_by(col(Challenge.id).desc()).limit(limit)
    ).all()
    ids = {version for row in found for version in (row.candidate_id, row.incumbent_id)}
    named = select(BotVersion.id, BotVersion.number).where(col(BotVersion.id).in_(ids))
    numbers = dict(session.exec(named).all())
    return [_view(row, numbers) for row in found]


def _already_known(session: Session, entry: Entry, candidate: BotVersion) -> str:
    """Return why this program need not be tested against the entry's version; "" if it must be."""
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
    """Return all challenges of this program, as any version, against the entry's active program."""
    return select(Challenge).where(
        Challenge.entry_id == entry.id,
        col(Challenge.candidate_id).in_(same_program(session, candidate_id)),
        col(Challenge.incumbent_id).in_(same_program(session, entry.version_id)),
    )


def same_program(session: Session, version_id: int) -> list[int]:
    """Return the bot's versions that are the same program as this one, itself included: equal uploads or builds."""
    this = session.get_one(BotVersion, version_id)
    equal = col(BotVersion.source_sha256) == this.source_sha256
    if this.program_sha256 is not None:
        equal = or_(equal, col(BotVersion.program_sha256) == this.program_sha256)
    alike = (BotVersion.bot_id == this.bot_id, BotVersion.language == this.language, BotVersion.entry == this.entry)
    return list(session.exec(select(BotVersion.id).where(*alike, equal)))


def _decide(session: Session, challenge: Challenge, entry: Entry, count: Count) -> bool:
    """End the challenge if its games decide it; return whether it is over."""
    verdict = judge(session, challenge, count)
    if verdict is sprt.Verdict.ACCEPT:
        if _end(session, challenge, ChallengeState.PASSED, N_("It is stronger.")):
            entry.version_id = challenge.candidate_id
            wake(session, entry)
            session.flush()
            touch_log(session, challenge.season_id)
        return True
    if verdict is sprt.Verdict.REJECT:
        return _end(session, challenge, ChallengeState.FAILED, N_("It is not stronger."))
    if count.played >= challenge.games_limit:
        reason = f"{plural(count.played, 'game')} did not show that it is stronger."
        return _end(session, challenge, ChallengeState.FAILED, reason)
    if count.abandoned >= challenge.games_limit:
        return _end(session, challenge, ChallengeState.ENDED, unplayable(count))
    return False


def _end(session: Session, challenge: Challenge, state: ChallengeState, reason: str) -> bool:
    if not end_challenge(session, challenge, state, reason):
        return False
    bot_id = session.exec(select(Entry.bot_id).where(Entry.id == challenge.entry_id)).one()
    figures = {name: getattr(challenge, name) for name in ("wins", "draws", "losses")}
    data = {"bot": bot_id, "challenge": challenge.id, **figures, "reason": reason}
    record(session, SYSTEM, f"challenge-{state.value}", f"season/{challenge.season_id}", data)
    notices.gate_decided(session, challenge, bot_id)
    return True


def _view(row: Challenge, numbers: Mapping[int, int]) -> ChallengeInfo:
    terms = terms_of(row)
    assert terms is not None, "at a gate there is a test"
    lower, upper = terms.bounds
    candidate, incumbent = numbers[row.candidate_id], numbers[row.incumbent_id]
    return from_row(ChallengeInfo, row, candidate=candidate, incumbent=incumbent, lower=lower, upper=upper)
