"""Matches to watch, even during play, and to verify. Documents made from a transcript are kept: each costs CPU in
proportion to the length of the match, which is bounded (`engine.transcript.MAX_EXCHANGES`).
"""

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse

from deadheat.api.deps import Id, Shared, Viewer
from deadheat.api.edge.caching import NOWHERE, answer
from deadheat.api.services import Body
from deadheat.engine.games.variants import rules
from deadheat.engine.language import _, gettext, language, ngettext
from deadheat.engine.scenes import document, document_so_far
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, BadTranscript, Transcript, decode
from deadheat.league.errors import WITHHELD, BlobDamaged, BlobMissing, WrongState
from deadheat.league.records.matches import Match
from deadheat.league.service.people.person import Person
from deadheat.league.service.series import live
from deadheat.league.service.tables.viewing import TableInfo
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import Asked, JobState, MatchState
from deadheat.league.verification.agreement import disagreements, verdict

log = logging.getLogger(__name__)

FOR_EVER = "public, max-age=31536000, immutable"
"""The caching of a transcript, which never changes: its address names one match, and its ETag the content."""

READ_BEFORE = 4
"""The number of pieces of `league.blobs.CHUNK_BYTES` that are read before the answer begins."""

Played = Match | TableInfo

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


def transcript_of(shared: Shared, played: Played) -> Transcript | None:
    """Return the match's record. Return None if there is none, or if the store has lost it, which is logged."""
    kind = "match" if isinstance(played, Match) else "exhibition"
    return stored_record(shared, played.transcript_sha256, f"transcript of {kind} {played.id}")


def stored_record(shared: Shared, sha256: str | None, what: str) -> Transcript | None:
    """Return a record by its hash, as `transcript_of` does; `what` is its name in the log."""
    try:
        return None if sha256 is None else decode(shared.blobs.get(sha256, MAX_TRANSCRIPT_BYTES))
    except (BadTranscript, BlobDamaged, BlobMissing) as error:
        log.error("the %s cannot be read: %s", what, error)
        return None


def record_file(shared: Shared, sha256: str, filename: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the record itself as a file with that name. Raises BlobsAway, BlobMissing, BlobDamaged."""
    return _stored_file(shared, sha256, MAX_TRANSCRIPT_BYTES, filename, "application/x-ndjson", headers)


JSON_LINES: Mapping[str, Any] = {"content": {"application/x-ndjson": {}}, "description": "JSON Lines, see docs"}
A_FILE: Mapping[str, Any] = {"content": {"application/octet-stream": {}}, "description": "The file"}
"""The answers of routes that return a file, for the API's document."""

SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")
"""The only part of an upload's name that is used in a header, because a stranger has chosen the name."""


def uploaded_file(shared: Shared, sha256: str, size_bytes: int, uploaded_as: str, name: str) -> Response:
    """Return an upload, byte for byte, as a file with that name and its original ending."""
    suffix = SUFFIX.search(uploaded_as)
    kept_as = f"{name}{suffix.group() if suffix else ''}"
    length = {"Content-Length": str(size_bytes)}
    return _stored_file(shared, sha256, size_bytes, kept_as, "application/octet-stream", length)


def _stored_file(
    shared: Shared,
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
    holds, problem = verdict(transcript, wrong)
    return {"verified": holds, "exchanges": len(transcript.exchanges), "problem": problem}


def made_of(shared: Shared, played: Played, what: str, make: Callable[[Transcript], Any]) -> Body:
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


LIVE_VERSION = 3
"""The version of these views (see `api.routes.replays.VERSION`)."""


def told(watched: live.Watched) -> str:
    """Describe the state of the match for people."""
    if watched.state is not MatchState.SCHEDULED:
        return _("It is over.")
    if watched.series is JobState.QUEUED:
        return _("Not played yet: its series is waiting for a worker.")
    if watched.series is not JobState.RUNNING:
        return _("It is over.")
    if watched.withheld:
        return _("Its series is being played now. %(withheld)s", withheld=gettext(WITHHELD))
    if watched.match is None:
        return _(
            "Its series is being played now. Matches that take longer than a second are shown here; results come when"
            " the whole series is done."
        )
    if watched.match.result is not None:
        return _("Played to its end. It counts when the whole series is done.")
    text = _("Being played now; you see it a second or two later.")
    if not watched.voids:
        return text
    again = ngettext(
        "The service failed once, which costs no bot anything. The match is replayed with other dice.",
        "The service failed %(count)s times, which costs no bot anything. The match is replayed with other dice.",
        watched.voids,
    )
    return f"{text} {again % {'count': watched.voids}}"


router = APIRouter(prefix="/v1/matches", tags=["matches"])


@router.get("/{match_id}/replay", response_class=Response, responses=JSON)
def get_replay(shared: Shared, viewer: Viewer, match_id: Id, request: Request) -> Response:
    """Return a finished match as scenes, each a sentence and the game's whole state, which the viewer draws."""
    match = _done(shared, match_id, viewer)
    body = made_of(shared, match, "replay", lambda record: document(record, match.names))
    return answer(request, body, _kept(match))


@router.get("/{match_id}/verification", response_class=Response, responses=JSON)
def verify(shared: Shared, viewer: Viewer, match_id: Id, request: Request) -> Response:
    """Re-simulate a finished match: do rules, dice and recorded answers lead to the ranked result?
    ``verified`` is null if it was played by rules that this server does not have.
    """
    match = _done(shared, match_id, viewer)

    def check(record: Transcript) -> dict[str, Any]:
        return verified(record, disagreements(record, match))

    return answer(request, made_of(shared, match, "verification", check), _kept(match))


@router.get("/{match_id}/live", response_class=Response, responses={200: JSON[200], 304: JSON[304], 404: {}})
def watch(shared: Shared, viewer: Viewer, match_id: Id, request: Request) -> Response:
    """Return a match in progress, as far as a spectator may see it: ``told`` (a sentence), ``ends`` (nothing more will
    be shown here) and ``match``, a document like that of a replay, or null.
    """
    body, private = _live_body(shared, match_id, viewer)
    shared.bodies.remember(request.scope, _live_key(match_id))  # many viewers then cost one query
    return answer(request, body, NOWHERE if private else "no-cache")


def _live_key(match_id: int) -> object:
    return ("live", language(), match_id)


def _live_body(shared: Shared, match_id: int, viewer: Person | None) -> tuple[Body, bool]:
    """Return the view as JSON, made at most once a second however many watch, and whether it is private and therefore
    not kept. Raises NotFound.
    """
    key = _live_key(match_id)
    if (body := shared.bodies.fresh(key)) is not None:
        return body, False
    with shared.db.reading() as session:
        watched = live.watch(session, match_id, viewer)
        if (body := shared.bodies.current(key, watched.version)) is not None:
            return body, False
        by_seat = match_detail(session, match_id, viewer).names
    shown = None
    if watched.match is not None:  # of others the server may not have the game any more
        shown = document_so_far(rules(watched.game, watched.variant), watched.match, by_seat)
    view: dict[str, Any] = {
        "told": told(watched),
        "ends": watched.state is not MatchState.SCHEDULED,
        "voids": watched.voids,
        "match": shown,
    }
    content = json.dumps(view, separators=(",", ":")).encode()
    body = Body(watched.version, f'"live-{LIVE_VERSION}{marked()}-{watched.version}"', content, "application/json")
    return (body, True) if watched.private else (shared.bodies.keep(key, body), False)


def _kept(match: Match) -> str:
    """Return the caching directive for documents made from a match."""
    return NOWHERE if match.asked is Asked.PRIVATE else "no-cache"


def _done(shared: Shared, match_id: int, viewer: Person | None) -> Match:
    match = shared.read(match_detail, match_id, viewer)
    if match.state is not MatchState.DONE:
        raise WrongState.of_match(match.state, "only matches that were played to the end have a replay")
    if match.withheld:
        raise WrongState.withheld()
    return match
