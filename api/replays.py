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
from engine.scenes import document
from engine.transcript import MAX_TRANSCRIPT_BYTES, BadTranscript, Transcript, decode
from league.errors import BlobDamaged, BlobMissing
from league.records.matches import Match
from league.verification.agreement import disagreements, verdict

log = logging.getLogger(__name__)

FOR_EVER = "public, max-age=31536000, immutable"
"""A transcript never changes: its address names one match, its ETag the content."""

READ_BEFORE = 4
"""Pieces of `league.blobs.CHUNK_BYTES`."""

VERSION = 4
"""Of what is made here: part of the ETag, so that browsers ask again when it changes."""


def transcript_of(shared: Services, match: Match) -> Transcript | None:
    """The record of a match that is done; None where the store has lost it, which the log then says."""
    if match.transcript_sha256 is None:
        return None
    try:
        return decode(shared.blobs.get(match.transcript_sha256, MAX_TRANSCRIPT_BYTES))
    except (BadTranscript, BlobDamaged, BlobMissing) as error:
        log.error("match %d has no readable transcript: %s", match.id, error)
        return None


def record_file(shared: Services, sha256: str, filename: str, headers: Mapping[str, str] | None = None) -> Response:
    """The record itself, to be kept under that name. Raises BlobsAway, BlobMissing, BlobDamaged."""
    return stored_file(shared, sha256, MAX_TRANSCRIPT_BYTES, filename, "application/x-ndjson", headers)


def stored_file(
    shared: Services,
    sha256: str,
    most_bytes: int,
    filename: str,
    media_type: str,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A file of the store, to be kept under that name. What is read before anything is answered is most files as a
    whole, so that damage is told and not an answer that breaks off. Raises BlobsAway, BlobMissing, BlobDamaged.
    """
    pieces = shared.blobs.stream(sha256, most_bytes)
    first = list(islice(pieces, READ_BEFORE))
    kept = {"Content-Disposition": f'attachment; filename="{filename}"', **(headers or {})}
    return StreamingResponse(chain(first, pieces), headers=kept, media_type=media_type)


def replay_body(shared: Services, match: Match) -> Body | None:
    """The document that the viewer draws (`engine.scenes.document`)."""
    return _kept(shared, match, "replay", lambda transcript: document(transcript, match.names))


def verification_body(shared: Services, match: Match) -> Body | None:
    """``verified``, ``exchanges``, and ``problem`` where it does not replay, or (``verified`` null) cannot be."""

    def check(transcript: Transcript) -> dict[str, Any]:
        return verified(transcript, disagreements(transcript, match))

    return _kept(shared, match, "verification", check)


def verified(transcript: Transcript, wrong: Sequence[str]) -> dict[str, Any]:
    """Whether the record replays, and is that of its match: nothing is `wrong` with it. By the rules of today nothing
    can be said of one that was played by others.
    """
    found, problem = verdict(transcript, wrong)
    return {"verified": found, "exchanges": len(transcript.exchanges), "problem": problem}


def _kept(shared: Services, match: Match, what: str, make: Callable[[Transcript], Any]) -> Body | None:
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
