"""Finished matches of people against bots: to watch, to verify, to download."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from deadheat.api.deps import Id, Shared
from deadheat.api.edge.caching import answer
from deadheat.api.exhibitions import untimed_document
from deadheat.api.replays import FOR_EVER, JSON, made_of, record_file, verified
from deadheat.api.services import Services
from deadheat.engine.scenes import document
from deadheat.engine.transcript import Transcript
from deadheat.league.errors import WrongState
from deadheat.league.service.jobs import exhibitions
from deadheat.league.service.jobs.exhibitions import ExhibitionInfo

router = APIRouter(prefix="/v1/exhibitions", tags=["exhibitions"])

NOT_OVER: dict[int | str, dict[str, Any]] = {409: {"description": "Not over yet"}}
RECORD: dict[int | str, dict[str, Any]] = {200: {"content": {"application/x-ndjson": {}}}, 404: {}, **NOT_OVER}


@router.get("/{exhibition_id}/replay", response_class=Response, responses=JSON | NOT_OVER)
def get_replay(shared: Shared, exhibition_id: Id, request: Request) -> Response:
    """Return a person's finished match against a bot as scenes, which the viewer draws."""
    info = _done(shared, exhibition_id)

    def draw(record: Transcript) -> dict[str, Any]:
        return untimed_document(document(record, info.names), info)

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


def _done(shared: Services, exhibition_id: int) -> ExhibitionInfo:
    info = shared.read(exhibitions.exhibition, exhibition_id)
    if info.transcript_sha256 is None:
        raise WrongState.of_match(info.state, "only matches that were played to the end have a transcript")
    return info
