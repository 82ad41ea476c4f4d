"""Finished matches of people against bots: to watch, to verify, to download."""

import logging
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from deadheat.api.deps import Id, Shared
from deadheat.api.edge.caching import answer
from deadheat.api.pages.render import grouped_points
from deadheat.api.routes.replays import FOR_EVER, JSON, made_of, record_file, stored_record, transcript_of, verified
from deadheat.api.services import Services
from deadheat.engine.advice import ADVISERS, Advice, advice
from deadheat.engine.core import Fault
from deadheat.engine.language import N_, _
from deadheat.engine.replay import known_rules
from deadheat.engine.scenes import document
from deadheat.engine.transcript import Transcript
from deadheat.league.causes import Cause
from deadheat.league.errors import NotFound, WrongState
from deadheat.league.service.tables.viewing import Player, Table, TableInfo, table_info
from deadheat.league.states import SeatKind, TableState

log = logging.getLogger(__name__)

MAX_MOVES = 3000


def told_table(table: Table) -> str:
    """Describe the state of a match for its person."""
    info = table.info
    if info.state is TableState.QUEUED:
        if table.queue:
            return _failed(info) + _(
                "All places are taken. "
                "You are number %(number)s in the queue; the match begins by itself when it is your turn.",
                number=table.queue,
            )
        return _failed(info) + _("You have a seat; the match begins as soon as a worker is free.")
    if table.resigned:
        return _("You have resigned; the record is being written. You may play elsewhere.")
    if table.prompt is not None:
        return _failed(info) + _("It is your move.")
    if table.waits_since_at is not None:
        text = _("%(bot)s waits until the machine has ended a series, and then comes first.", bot=info.bot)
        return _failed(info) + text
    return _failed(info) + _("%(bot)s is thinking; this page updates itself.", bot=info.bot)


RESIGNED = N_("%(person)s resigned.")
ABSENT = N_("%(person)s did not fetch the question in time and lost.")
LATE = N_("%(person)s did not answer in time and lost.")


def _failing(player: Player) -> str:
    """Return the sentence on how a person or an agent failed, or ""."""
    if player.bot_id or player.fault not in (Fault.EXITED, Fault.TIMEOUT):
        return ""
    if player.fault is Fault.EXITED and player.resigned:
        return RESIGNED
    return ABSENT if player.fault is Fault.EXITED and player.kind is SeatKind.AGENT else LATE


def told_of(info: TableInfo, is_own: bool) -> str:
    """Describe how the match ended, addressing its person if `is_own`."""
    if info.ranks is None:
        if info.resigned or info.cause == Cause.RESIGNED:
            resigned = [player.known_as for player in info.players if player.resigned]
            return _("%(person)s resigned.", person=", ".join(resigned) or info.person)
        if info.cause == Cause.LEFT:
            return _("It was not played: %(person)s left before it began.", person=info.person)
        if info.cause == Cause.NO_WORKER:
            return _("It was not played: no worker was free.")
        return _("It was not played: the service failed too often (most recently: %(cause)s).", cause=info.cause)
    failed = ""
    for sentence in (RESIGNED, ABSENT, LATE):
        if names := [player.known_as for player in info.players if _failing(player) == sentence]:
            failed += _(sentence, person=", ".join(names)) + " "
    if info.fault in (Fault.EXITED, Fault.TIMEOUT):
        return failed.strip()
    mine, words = info.ranks[info.seat], {"person": info.person, "seats": info.seats}
    if mine > 1 and info.seats > 2:
        own, other = N_("You lost: place %(place)s of %(seats)s."), N_("%(person)s lost: place %(place)s of %(seats)s.")
        return failed + _(own if is_own else other, **words, place=mine)
    if mine > 1:
        result = _("You lost.") if is_own else _("%(person)s lost.", **words)
    elif info.ranks.count(1) > 1:
        result = _("A draw.")
    else:
        result = _("You won.") if is_own else _("%(person)s won.", **words)
    if info.points is None or info.seats > 2:
        return failed + result
    own_points, other_points = grouped_points(info.points[info.seat]), grouped_points(info.points[1 - info.seat])
    return f"{failed}{result} {own_points} : {other_points}"


def _failed(info: TableInfo) -> str:
    if not info.voids:
        return ""
    again = _(
        "The service failed (%(cause)s), not you or the bot. The match restarts with the same dice.", cause=info.cause
    )
    return f"{again} "


def advice_of(shared: Services, info: TableInfo) -> list[Advice]:
    """Return the strongest house bot's advice on the person's moves, once the match is over and advice was given."""
    match = transcript_of(shared, info) if info.advice_sha256 else None
    if match is None or not known_rules(match) or info.game not in ADVISERS:
        return []
    answers = stored_record(shared, info.advice_sha256, f"advice on exhibition {info.id}")
    return [] if answers is None else advice(match, info.seat, answers, ADVISERS[info.game])


router = APIRouter(prefix="/v1/exhibitions", tags=["exhibitions"])

NOT_OVER: dict[int | str, dict[str, Any]] = {409: {"description": "Not over yet"}}
RECORD: dict[int | str, dict[str, Any]] = {200: {"content": {"application/x-ndjson": {}}}, 404: {}, **NOT_OVER}


@router.get("/{exhibition_id}/replay", response_class=Response, responses=JSON | NOT_OVER)
def get_replay(shared: Shared, exhibition_id: Id, request: Request) -> Response:
    """Return a person's finished match against a bot as scenes, which the viewer draws."""
    info = _done(shared, exhibition_id)

    draw = partial(document, names=info.names)
    return answer(request, made_of(shared, info, "exhibition-replay", draw))


@router.get("/{exhibition_id}/verification", response_class=Response, responses=JSON | NOT_OVER)
def verify(shared: Shared, exhibition_id: Id, request: Request) -> Response:
    """Re-simulate a person's match: do rules, dice and recorded answers lead to the result?"""
    info = _done(shared, exhibition_id)

    def check(record: Transcript) -> dict[str, Any]:
        wrong = []
        if record.seed.hex() != info.seed:
            wrong.append("the transcript's seed is not the match's")
        if record.result.ranks != info.ranks:
            wrong.append("the transcript's result is not the recorded one")
        return verified(record, wrong)

    return answer(request, made_of(shared, info, "exhibition-verification", check))


@router.get("/{exhibition_id}/transcript", response_class=StreamingResponse, responses=RECORD)
def get_transcript(shared: Shared, exhibition_id: Id) -> Response:
    """Return the transcript of a person's match; `deadheat verify` re-simulates it."""
    info = _done(shared, exhibition_id)
    return record_file(
        shared, info.transcript_sha256 or "", f"exhibition-{exhibition_id}.jsonl", {"Cache-Control": FOR_EVER}
    )


@router.get("/{exhibition_id}/advice", response_class=StreamingResponse, responses=RECORD)
def get_advice(shared: Shared, exhibition_id: Id) -> Response:
    """Return the strongest house bot's answers to each of the person's prompts, as a transcript."""
    info = _done(shared, exhibition_id)
    if info.advice_sha256 is None:
        raise WrongState("no-advice", "No bot has advised on this match.")
    return record_file(
        shared, info.advice_sha256, f"exhibition-{exhibition_id}-advice.jsonl", {"Cache-Control": FOR_EVER}
    )


def _done(shared: Services, exhibition_id: int) -> TableInfo:
    info = shared.read(table_info, exhibition_id)
    if info.match_id is not None:
        raise NotFound("table", exhibition_id, _("It is match %(n)s of a season.", n=info.match_id))
    if info.transcript_sha256 is None:
        raise WrongState.of_match(info.state, "only matches that were played to the end have a transcript")
    return info
