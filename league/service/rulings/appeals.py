"""Appeals: an author disputes a match, the service re-simulates it, an organiser rules.

Only the owner of a bot in a match (or a member of its team) may appeal, with one open appeal for each bot at a time.
Its author and organisers can read an appeal; its existence and the ruling are in the public audit log.

The re-simulation proves that rules, dice, result and every counted answer belong together, and that each verdict on
time follows from the evidence beside it. It cannot prove that the evidence itself is true (see docs/why/own-time.md).
"""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sqlmodel import Session, col, func, select

from deadheat.engine.core import NS_PER_MS
from deadheat.engine.language import N_, _, gettext
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, BadTranscript, decode, untimed
from deadheat.engine.verdicts import Taken, used
from deadheat.league.blobs import Blobs
from deadheat.league.causes import told_findings
from deadheat.league.database import now
from deadheat.league.errors import BlobDamaged, BlobMissing, NotFound, TooMany, WrongState
from deadheat.league.records import from_row
from deadheat.league.records.matches import MatchDetail
from deadheat.league.records.rulings import Appeal as AppealInfo
from deadheat.league.service.ground.audit import record
from deadheat.league.service.ground.lookups import newest_first
from deadheat.league.service.ground.steps import evidence_json, flush_unless_taken, lock_season, storable
from deadheat.league.service.people import notices
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import owned_by
from deadheat.league.service.rulings import rulings
from deadheat.league.service.rulings.rulings import judging
from deadheat.league.service.series.deals import dice_in_use
from deadheat.league.service.series.privacy import may_see
from deadheat.league.states import AppealState, MatchState
from deadheat.league.tables import Appeal, Bot, Match, Participant, Season
from deadheat.league.verification.agreement import disagreements, verdict
from deadheat.league.words import Remedy

log = logging.getLogger(__name__)

MAX_OPEN = 20
"""The most open appeals of one author."""

MAX_OF_MATCH = 3
"""The most appeals of one bot against one match, including those that were withdrawn or ruled on."""

ALREADY = N_(
    "This bot already has an open appeal against this match; wait for the ruling, or withdraw it and write another."
)


def appealable(session: Session, owner: Person, match_id: int) -> int:
    """Find the caller's bot in that finished match. Raises NotFound: none of the caller's bots is in it; WrongState: it
    is not finished, its dice are still in use, its season is closed, or an author asked for it.
    """
    bots = (
        select(Participant.bot_id)
        .join(Bot, col(Bot.id) == Participant.bot_id)
        .where(Participant.match_id == match_id, owned_by(owner))
        .order_by(col(Participant.seat))
    )
    bot_id = session.exec(bots).first()
    match = session.get(Match, match_id)
    if bot_id is None or match is None or not may_see(session, owner, match):
        raise NotFound.own_match(match_id)
    if match.asked is not None:
        raise WrongState("unrated", _("An author asked for this match. It is unrated, so there is nothing to rule on."))
    if match.state is not MatchState.DONE:
        raise WrongState.of_match(match.state, _("only results can be appealed"))
    if dice_in_use(session, [match]):
        raise WrongState.withheld()
    season = session.get_one(Season, match.season_id)
    if not season.state.goes_on:
        raise WrongState.of_season(season.state, _("its results are final, so appeals are no longer possible"))
    return bot_id


def review(blobs: Blobs, match: MatchDetail, whole: MatchDetail | None = None) -> dict[str, Any]:
    """Review a match, and return the findings as JSON. `whole`: the match with what is not public yet, only for
    comparison with the transcript; None: all of it is public.

    ``verified`` (null if unknown), ``problem`` (a clause, unless verified), ``exchanges``; ``faults``: the fault,
    command and time of each seat that failed; ``replies``: for each program the number of its answers, the slowest by
    own time, and what the host took; ``attempts``: cause and evidence of each attempt at the match.
    """
    findings: dict[str, Any] = {
        "verified": None,
        "faults": [
            {"seat": seat.seat, "bot": seat.bot, **asdict(seat.fault)} for seat in match.seats if seat.fault is not None
        ],
        "attempts": [
            {"cause": attempt.cause, "detail": attempt.detail, "evidence": attempt.evidence}
            for attempt in match.attempts
        ],
    }
    whole = whole or match
    assert whole.transcript_sha256 is not None, "only finished matches can be re-simulated"
    try:
        content = blobs.get(whole.transcript_sha256, MAX_TRANSCRIPT_BYTES)
    except (BlobDamaged, BlobMissing) as error:
        log.error("match %d cannot be looked at again: %s", match.id, error)  # the error's words are for operators only
        lost = "is lost" if isinstance(error, BlobMissing) else "is damaged in the store"
        return findings | {"problem": f"its transcript {lost}"}
    try:
        transcript = decode(content)
    except BadTranscript as error:
        return findings | {"verified": False, "problem": str(error)}
    verified, problem = verdict(transcript, disagreements(transcript, whole))
    if not verified:
        return findings | {"verified": verified, "problem": problem}
    replies = []
    for seat in sorted({*range(transcript.seats)} - untimed(transcript.about)):
        prompts = [prompt for prompt in transcript.prompts() if prompt.message.seat == seat]
        taken = Taken.of(prompts)
        of_seat = {
            "seat": seat,
            "answers": sum(prompt.reply.fault is None for prompt in prompts),
            "most_of_limit": round(max(map(used, prompts), default=0.0), 4),
            "slowest_ms": round(max((prompt.reply.own_ns for prompt in prompts), default=0) / NS_PER_MS, 3),
            "stolen_ms": round(taken.stolen_ns / NS_PER_MS, 3),
            "past_deadline": taken.past_deadline,
        }
        replies.append(of_seat)
    return findings | {"verified": True, "exchanges": len(transcript.exchanges), "replies": replies}


def open_appeal(
    session: Session, owner: Person, match_id: int, text: str, findings: Mapping[str, object]
) -> AppealInfo:
    """Store an appeal with the findings of a re-simulation of the match. Raises NotFound, WrongState (also if the bot
    has an open appeal against it), TooMany.
    """
    match = session.get(Match, match_id)
    if match is not None:
        lock_season(session, match.season_id)  # so that it does not close between the check and the appeal
    bot_id = appealable(session, owner, match_id)
    of_match = select(Appeal.id).where(Appeal.match_id == match_id, Appeal.bot_id == bot_id).limit(MAX_OF_MATCH)
    if len(session.exec(of_match).all()) >= MAX_OF_MATCH:
        raise TooMany("appeals of one bot against one match", MAX_OF_MATCH)
    mine = select(Appeal.id).join(Bot, col(Bot.id) == Appeal.bot_id)
    mine = mine.where(owned_by(owner), Appeal.state == AppealState.OPEN).limit(MAX_OPEN)
    if len(session.exec(mine).all()) >= MAX_OPEN:
        raise TooMany("open appeals of one author", MAX_OPEN)
    row = Appeal(
        match_id=match_id,
        season_id=session.get_one(Match, match_id).season_id,
        bot_id=bot_id,
        open_key=f"{match_id}/{bot_id}",
        text=storable(text),
        findings=evidence_json(findings),
        opened_at=now(session),
    )
    session.add(row)
    flush_unless_taken(session, WrongState(AppealState.OPEN, gettext(ALREADY)))
    data = {"appeal": row.id, "verified": findings.get("verified")}
    record(session, owner.name, "appeal-opened", f"match/{match_id}", data)
    notices.appeal_opened(session, row, owner)
    return _view(session, row)


def rule(
    session: Session, organiser: Person, appeal_id: int, *, uphold: bool, ruling: str, remedy: Remedy = Remedy.NONE
) -> AppealInfo:
    """Decide an open appeal; upholding it voids the match or has it played again. Raises NotAllowed, NotFound,
    OwnMatch, WrongState.
    """
    organiser.must_organise()
    assert uphold or remedy is Remedy.NONE, "looked at where the request comes in"
    row = _open(session, appeal_id)
    own = judging(session, organiser, row.match_id)
    _close(session, row, AppealState.UPHELD if uphold else AppealState.REJECTED, organiser.name, ruling)
    data = {"appeal": row.id, "upheld": uphold, "remedy": remedy.value, "ruling": ruling, **own}
    record(session, organiser.name, "appeal-ruled", f"match/{row.match_id}", data)
    notices.appeal_decided(session, row)
    if remedy is Remedy.VOID:
        rulings.void_match(session, organiser, row.match_id, ruling)
    elif remedy is Remedy.REJUDGE:
        rulings.rejudge_match(session, organiser, row.match_id, ruling)
    return _view(session, row)


def withdraw_appeal(session: Session, owner: Person, appeal_id: int) -> AppealInfo:
    """Withdraw the author's own appeal. Raises NotFound, WrongState."""
    mine = select(Appeal.id).join(Bot, col(Bot.id) == Appeal.bot_id).where(Appeal.id == appeal_id, owned_by(owner))
    if session.exec(mine).first() is None:
        raise NotFound("appeal", appeal_id)
    row = _open(session, appeal_id)
    _close(session, row, AppealState.WITHDRAWN, owner.name, "")
    record(session, owner.name, "appeal-withdrawn", f"match/{row.match_id}", {"appeal": row.id})
    return _view(session, row)


def appeals(
    session: Session,
    asker: Person,
    *,
    season_id: int | None = None,
    match_id: int | None = None,
    state: AppealState | None = None,
    own: bool = False,
    before: int | None = None,
    limit: int = 50,
) -> list[AppealInfo]:
    """List appeals with an id below `before`, the newest first: organisers see all (unless `own`), authors theirs."""
    statement = NAMED
    if own or not asker.organises:
        statement = statement.where(owned_by(asker))
    if match_id is not None:
        statement = statement.where(Appeal.match_id == match_id)
    if season_id is not None:
        statement = statement.where(Appeal.season_id == season_id)
    if state is not None:
        statement = statement.where(Appeal.state == state)
    return [_info(*row) for row in session.exec(newest_first(statement, Appeal.id, before, limit))]


def waiting_appeals(session: Session, organiser: Person, *, after: int, limit: int) -> tuple[list[AppealInfo], int]:
    """Return open appeals, oldest first: those with an id above `after`, and the total number. Raises NotAllowed."""
    organiser.must_organise()
    waits = Appeal.state == AppealState.OPEN
    rows = session.exec(NAMED.where(waits, Appeal.id > after).order_by(col(Appeal.id)).limit(limit))
    in_all = session.exec(select(func.count()).select_from(Appeal).where(waits)).one()
    return [_info(*row) for row in rows], in_all


NAMED = (
    select(Appeal, Bot.name, Season.name)
    .join(Bot, col(Bot.id) == Appeal.bot_id)
    .join(Season, col(Season.id) == Appeal.season_id)
)


def _open(session: Session, appeal_id: int) -> Appeal:
    row = session.exec(select(Appeal).where(Appeal.id == appeal_id).with_for_update()).first()
    if row is None:
        raise NotFound("appeal", appeal_id)
    if row.state is not AppealState.OPEN:
        it = gettext(row.state)
        sentence = _("This appeal is already %(it)s; only open appeals can be ruled on or withdrawn.", it=it)
        raise WrongState(row.state, sentence)
    return row


def _close(session: Session, row: Appeal, state: AppealState, who: str, ruling: str) -> None:
    row.state, row.open_key, row.ruled_at, row.ruled_by, row.ruling = state, None, now(session), who, ruling
    session.flush()


def _view(session: Session, row: Appeal) -> AppealInfo:
    return _info(row, session.get_one(Bot, row.bot_id).name, session.get_one(Season, row.season_id).name)


def _info(row: Appeal, bot: str, season: str) -> AppealInfo:
    return from_row(AppealInfo, row, bot=bot, season=season, findings=told_findings(row.findings))
