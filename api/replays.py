"""Documents made from a transcript: the scenes of a match, and whether the transcript replays.

A transcript never changes, so each document is made once and kept as bytes under the transcript's name. Both cost CPU
in proportion to a match's length, which is bounded (`engine.transcript.MAX_EXCHANGES`).
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from starlette.responses import Response, StreamingResponse

from deadheat.api.services import Body, Services
from deadheat.engine.language import _, language
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, BadTranscript, Transcript, decode
from deadheat.league.errors import BlobDamaged, BlobMissing, WrongState
from deadheat.league.records.matches import Match
from deadheat.league.service.jobs.exhibitions import ExhibitionInfo
from deadheat.league.verification.agreement import verdict

log = logging.getLogger(__name__)

FOR_EVER = "public, max-age=31536000, immutable"
"""The caching of a transcript, which never changes: its address names one match, and its ETag the content."""

READ_BEFORE = 4
"""The number of pieces of `league.blobs.CHUNK_BYTES` that are read before the answer begins."""

Played = Match | ExhibitionInfo

JSON: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {}}},
    304: {"description": "Not modified"},
    404: {},
    409: {},
}
"""The documented answers of routes that use `made_of`."""

VERSION = 6
"""The version of these documents. It is part of the ETag, so browsers ask again when it changes."""


def marked() -> str:
    """Return the language for an ETag; empty for English."""
    return "" if language() == "en" else f"-{language()}"


def transcript_of(shared: Services, played: Played) -> Transcript | None:
    """Return the match's record. Return None if there is none, or if the store has lost it, which is logged."""
    if played.transcript_sha256 is None:
        return None
    try:
        return decode(shared.blobs.get(played.transcript_sha256, MAX_TRANSCRIPT_BYTES))
    except (BadTranscript, BlobDamaged, BlobMissing) as error:
        kind = "match" if isinstance(played, Match) else "exhibition"
        log.error("%s %d has no readable transcript: %s", kind, played.id, error)
        return None


def record_file(shared: Services, sha256: str, filename: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the record itself as a file with that name. Raises BlobsAway, BlobMissing, BlobDamaged."""
    return stored_file(shared, sha256, MAX_TRANSCRIPT_BYTES, filename, "application/x-ndjson", headers)


JSON_LINES: Mapping[str, Any] = {"content": {"application/x-ndjson": {}}, "description": "JSON Lines, see docs"}
A_FILE: Mapping[str, Any] = {"content": {"application/octet-stream": {}}, "description": "The file"}
"""The answers of routes that return a file, for the API's document."""

SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")
"""The only part of an upload's name that is used in a header, because a stranger has chosen the name."""


def uploaded_file(shared: Services, sha256: str, size_bytes: int, uploaded_as: str, name: str) -> Response:
    """Return an upload, byte for byte, as a file with that name and its original ending."""
    suffix = SUFFIX.search(uploaded_as)
    kept_as = f"{name}{suffix.group() if suffix else ''}"
    length = {"Content-Length": str(size_bytes)}
    return stored_file(shared, sha256, size_bytes, kept_as, "application/octet-stream", length)


def stored_file(
    shared: Services,
    sha256: str,
    most_bytes: int,
    filename: str,
    media_type: str,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a blob as a file with that name. Most blobs are read completely before the answer begins, so that damage
    gives an error rather than a truncated answer. Raises BlobsAway, BlobMissing, BlobDamaged.
    """
    pieces = shared.blobs.stream(sha256, most_bytes)
    first = list(islice(pieces, READ_BEFORE))
    kept = {"Content-Disposition": f'attachment; filename="{filename}"', **(headers or {})}
    return StreamingResponse(chain(first, pieces), headers=kept, media_type=media_type)


def verified(transcript: Transcript, wrong: Sequence[str]) -> dict[str, Any]:
    """Check whether the record replays and belongs to its match; `wrong`: known errors. ``verified`` is null if the
    match had other rules than today's; ``problem`` says why it is not true.
    """
    found, problem = verdict(transcript, wrong)
    return {"verified": found, "exchanges": len(transcript.exchanges), "problem": problem}


def made_of(shared: Services, played: Played, what: str, make: Callable[[Transcript], Any]) -> Body:
    """Return a document made from a match's transcript, as JSON. It is kept as `what`.

    Raises:
        WrongState: the store has lost the transcript.
    """
    key, version = (what, language(), played.id), (played.transcript_sha256, VERSION)
    if (body := shared.bodies.current(key, version)) is not None:
        return body
    transcript = transcript_of(shared, played)
    if transcript is None:
        raise WrongState("lost", _("The transcript cannot be read from the store. It is logged for the operator."))
    content = json.dumps(make(transcript), separators=(",", ":")).encode()
    etag = f'"{what}-{VERSION}{marked()}-{played.transcript_sha256}"'
    return shared.bodies.keep(key, Body(version, etag, content, "application/json"))
