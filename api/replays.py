"""What is made from a transcript for people: the scenes of a match, and whether it replays.

A transcript never changes, so what follows from it is made once and kept as bytes under its name. Both cost CPU in
proportion to a match's length, which is bounded (`engine.transcript.MAX_EXCHANGES`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from starlette.responses import Response, StreamingResponse

from api.services import Body, Services
from engine.games import GAMES
from engine.replay import Diverged, known_rules, replay, why_unknown
from engine.scenes import document
from engine.transcript import MAX_TRANSCRIPT_BYTES, BadTranscript, Transcript, decode
from league.errors import BlobDamaged, BlobMissing
from league.service.matches import MatchInfo

log = logging.getLogger(__name__)

FOR_EVER = "public, max-age=31536000, immutable"
"""A transcript never changes: its address names one match, its ETag the content."""

READ_BEFORE = 4
"""Pieces of `league.blobs.CHUNK_BYTES`."""

VERSION = 3
"""Of what is made here: part of the ETag, so that browsers ask again when it changes."""


def transcript_of(shared: Services, match: MatchInfo) -> Transcript | None:
    """The record of a match that is done; None where the store has lost it, which the log then says."""
    if match.transcript_sha256 is None:
        return None
    try:
        return decode(shared.blobs.get(match.transcript_sha256, MAX_TRANSCRIPT_BYTES))
    except (BadTranscript, BlobDamaged, BlobMissing) as error:
        log.error("match %d has no readable transcript: %s", match.id, error)
        return None


def record_file(shared: Services, sha256: str, filename: str, headers: Mapping[str, str] | None = None) -> Response:
    """The record itself, to be kept under that name. What is read before anything is answered is most records as a
    whole, so that damage is told and not an answer that breaks off. Raises BlobsAway, BlobMissing, BlobDamaged.
    """
    pieces = shared.blobs.stream(sha256, MAX_TRANSCRIPT_BYTES)
    first = list(islice(pieces, READ_BEFORE))
    kept = {"Content-Disposition": f'attachment; filename="{filename}"', **(headers or {})}
    return StreamingResponse(chain(first, pieces), headers=kept, media_type="application/x-ndjson")


def replay_body(shared: Services, match: MatchInfo) -> Body | None:
    """The document that the viewer draws (`engine.scenes.document`)."""
    return _kept(shared, match, "replay", lambda transcript: document(transcript, match.names))


def verification_body(shared: Services, match: MatchInfo) -> Body | None:
    """``verified``, ``exchanges``, and ``problem`` where it does not replay, or (``verified`` null) cannot be."""
    ranks = [seat.rank for seat in match.seats]
    return _kept(shared, match, "verification", lambda transcript: verified(transcript, match.seed or "", ranks))


def verified(transcript: Transcript, seed: str, ranks: Sequence[int | None]) -> dict[str, Any]:
    """Whether the record replays, and is that of a match with this seed (hexadecimal) and these ranks. By the rules of
    today nothing can be said of one that was played by others.
    """
    found: dict[str, Any] = {"verified": False, "exchanges": len(transcript.exchanges), "problem": None}
    if transcript.seed.hex() != seed:
        return found | {"problem": "the transcript's seed is not the match's"}
    if list(transcript.result.ranks) != list(ranks):
        return found | {"problem": "the transcript's result is not the one that is ranked"}
    if not known_rules(transcript):
        return found | {"verified": None, "problem": why_unknown(transcript)}
    try:
        replay(GAMES[transcript.game], transcript)
    except (Diverged, ValueError) as error:
        return found | {"problem": str(error)}
    return found | {"verified": True}


def _kept(shared: Services, match: MatchInfo, what: str, make: Callable[[Transcript], Any]) -> Body | None:
    return made_of(shared, (what, match.id), match.transcript_sha256, lambda: transcript_of(shared, match), make)


def made_of(
    shared: Services,
    key: tuple[str, int],
    sha256: str | None,
    read: Callable[[], Transcript | None],
    make: Callable[[Transcript], Any],
) -> Body | None:
    """What is made of the transcript of that name, kept under `key`; None where `read` finds none."""
    version = (sha256, VERSION)
    if (body := shared.bodies.current(key, version)) is not None:
        return body
    transcript = read()
    if transcript is None:
        return None
    content = json.dumps(make(transcript), separators=(",", ":")).encode()
    etag = f'"{key[0]}-{VERSION}-{sha256}"'
    return shared.bodies.keep(key, Body(version, etag, content, "application/json"))
