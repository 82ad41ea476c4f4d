"""The routes of machines that play over HTTP. Each needs a machine's own token, which opens nothing else.

A machine learns about nothing but what it plays; `league.service.machines` says what that may be, and what of its
results counts. Their bodies are read only after the token was checked, and parsed in threads that uploads share.
"""

from base64 import b64decode
from collections import Counter
from typing import Annotated, Any

import anyio
import zstandard
from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field, StringConstraints, ValidationError
from starlette.exceptions import HTTPException

from deadheat.api import schemas as base
from deadheat.api.deps import Id, Shared
from deadheat.api.edge.uploading import BUSY, LATER, takes_upload
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES
from deadheat.league.checking.arrival import Refused, Stated
from deadheat.league.config import HEARTBEAT_SECONDS
from deadheat.league.errors import BadToken, MachineRefused, NotFound, UploadTooLarge
from deadheat.league.jobs import Failure, SeriesJob
from deadheat.league.service.machines import access, work
from deadheat.league.service.series import hosts
from deadheat.league.states import Fitness
from deadheat.sandbox.box import Exit

WAIT_SECONDS, LOOK_SECONDS = 25.0, 1.0
"""How long a machine is kept waiting for work, below what proxies allow, and the pause between two looks for it."""

MAX_RESULTS_BYTES = 64 * 1024 * 1024
"""A series' results as sent: base64 of compressed transcripts, of which the largest must fit alone."""

MOST_ARRIVING = 8
"""How many bodies of one machine a process reads at a time: they are kept in memory."""

_arriving: Counter[str] = Counter()

Said = Annotated[str, StringConstraints(max_length=500)]
Hash = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="SHA-256 of the built program.")]
Attempt = Annotated[int, Query(ge=1, le=base.MAX_ID, description="The attempt by which it is held.")]
Number = Annotated[int, Field(ge=0, le=2**63 - 1)]


class Registration(base.Input):
    """A machine's greeting."""

    image: str = Field(max_length=256, description="The image of its boxes.")
    starts: bool = Field(description="Whether its worker begins: what the machine held is then given back.")


class Registered(BaseModel):
    """The league's answer to a machine's greeting."""

    known: bool = Field(description="False: another boot with this token was there a moment ago; try again.")
    name: str = Field(description="The name that the operator gave this machine.")
    program_bytes: int = Field(description="The size of the largest program.")
    heartbeat_seconds: int = Field(description="How often to renew a lease, and to beat.")


class Beat(base.Input):
    """A machine's sign of life."""

    steal_share: float = Field(ge=0, le=1, description="Share of its CPU time that the hypervisor took.")
    late_seconds: float = Field(ge=0, le=10**6, description="How late it woke up at worst.")
    busy_share: float = Field(ge=0, le=1, description="Share of its CPU time that was used.")
    held_by: str | None = Field(max_length=400, description="Who else holds its processors; null: as before.")


class MachineAnswer(BaseModel):
    """Yes or no."""

    yes: bool = Field(description="The answer to what the route asks.")


class Due(BaseModel):
    """A check that is due, if one is."""

    fitness: Fitness | None = Field(description="The machine's fitness; null: no check is due.")


class Finding(base.Input):
    """A finding of a check."""

    level: str = Field(max_length=16, description="How bad it is.")
    text: Said = Field(description="What was found.")
    mend: Said = Field(description="What to do about it; empty: nothing.")


class Check(base.Input):
    """A machine's own check of itself."""

    slots: int = Field(ge=1, le=1024, description="Matches that it plays at a time.")
    findings: list[Finding] = Field(max_length=30, description="What was found.")
    reasons: list[Said] = Field(max_length=20, description="Why it should not judge; none: it is fit.")
    again_seconds: float = Field(ge=0, le=3600, description="When to check it again.")
    doubts: int = Field(ge=0, le=100, description="Checks in succession that were mostly void.")


class CanaryEnd(base.Input):
    """The end of a canary match."""

    voids: int = Field(ge=0, le=100, description="Void attempts.")
    wrong: list[Said] | None = Field(max_length=5, description="Wrong verdicts; null: every attempt was void.")
    series_before: int = Field(ge=0, le=base.MAX_ID, description="As ordered.")


class Order(base.Input):
    """A claim by one of a machine's processes."""

    number: int = Field(ge=0, le=2**31, description="The process, by a number of its own.")


class Program(BaseModel):
    """A program to play, by the number of its version."""

    version_id: int
    sha256: str = Field(description="SHA-256 of the tar of the built program.")
    language: str
    entry: str = Field(description="The file with which it starts; empty: the language's usual one.")


class Deal(BaseModel):
    """A match to play. Its transcript names the versions in its seats `version N`."""

    match_id: int
    seed: str = Field(description="In hexadecimal; the dice are those of its attempt of that number.")
    attempt: int = Field(description="The number of its seed's attempt.")
    seats: list[int] = Field(description="The version in each seat.")


class Work(BaseModel):
    """A series to play, in this order and on one set of boxes."""

    series_id: int
    attempt: int = Field(description="Everything about the series names it.")
    game: str
    variant: list[str] | None = Field(description="What differs from the game's rules; null: nothing.")
    programs: list[Program] = Field(description="Its programs.")
    matches: list[Deal] = Field(description="Its matches.")


class Orders(BaseModel):
    """The next task of a machine."""

    canary: int | None = Field(
        description="Play a canary match first: the series since the last one. null: none is due."
    )
    work: Work | None = Field(description="The series that it holds now; null: none waits for it.")


class End(base.Input):
    """The end of one program's run, as its box saw it."""

    seat: int = Field(ge=0, lt=256, description="From 0.")
    exit_code: int | None = Field(ge=0, le=255, description="Its exit code, unless a signal ended it.")
    signal: int | None = Field(ge=0, le=255, description="The signal that ended it.")
    lingered: bool = Field(description="Whether it had to be killed.")
    stderr: str = Field(max_length=10**6, description="The end of its stderr, in base64.")
    cpu_ns: Number | None = Field(description="Its CPU time; null: not measured.")
    peak_memory_bytes: Number | None = Field(description="Its memory; null: not measured.")


class PlayedMatch(base.Input):
    """A match that was played to its end."""

    match_id: base.RowId = Field(description="Its number.")
    transcript: str = Field(description="Its transcript: Zstandard, then base64.")
    started_at_ns: Number = Field(description="By the machine's clock, Unix epoch.")
    finished_at_ns: Number = Field(description="By the machine's clock, Unix epoch.")
    ends: list[End] = Field(max_length=256, description="How its programs ended.")


class VoidMatch(base.Input):
    """The void attempt at a match that ended the machine's part of the series."""

    match_id: base.RowId = Field(description="Its number.")
    cause: str = Field(max_length=64, description="Why, as a stable word.")
    detail: Said = Field(description="What happened, in words.")


class Failed(base.Input):
    """Why the rest of the series was not played."""

    cause: str = Field(max_length=64, description="Why, as a stable word.")
    detail: Said = Field(description="What happened, in words.")


class Results(base.Input):
    """The results of a series: its first matches, then perhaps a void one. Those left out are played again."""

    played: list[PlayedMatch] = Field(max_length=10_000, description="In the order of the series.")
    void: VoidMatch | None = Field(description="null: none was void.")
    failure: Failed | None = Field(description="null: none.")


credentials = HTTPBearer(
    auto_error=False, scheme_name="Machine", description="A machine's token, as `Authorization: Bearer dhm_...`."
)


def _caller(
    request: Request,
    shared: Shared,
    sent: Annotated[HTTPAuthorizationCredentials | None, Depends(credentials)],
    release: Annotated[str, Header(alias="Deadheat-Release", max_length=32, description="The machine's release.")] = "",
    games: Annotated[str, Header(alias="Deadheat-Games", max_length=64, description="A hash over its games.")] = "",
    boot: Annotated[str, Header(alias="Deadheat-Boot", max_length=64, description="A name of this boot of it.")] = "",
) -> access.Caller:
    """Return the machine behind a request. Raises BadToken, OtherRelease; OverQuota after many bad tokens."""
    try:
        if sent is None:
            raise BadToken("the request has none")
        caller = shared.read(access.look_up_machine, sent.credentials, boot)
    except BadToken:
        shared.rates.write(request)  # guesses count against their address; a machine's requests do not
        raise
    access.must_match(release, games)
    return caller


Machine = Annotated[access.Caller, Depends(_caller)]
REFUSED: dict[int | str, dict[str, Any]] = {
    401: {},
    409: {"description": "Another release, or other games"},
    413: {"description": "The body is larger than 64 KiB"},
}
HOLDING: dict[int | str, dict[str, Any]] = {**REFUSED, 404: {"description": "This machine does not hold the series"}}

router = APIRouter(prefix="/v1/machine", tags=["machines"])


@router.post("/register", responses=REFUSED)
def register(shared: Shared, caller: Machine, body: Registration) -> Registered:
    """Announce this machine. It is checked before it gets work."""
    known = shared.change(work.register, caller, body.image, starts=body.starts)
    return Registered(
        known=known,
        name=caller.host.name,
        program_bytes=shared.settings.unpacked_limit_bytes,
        heartbeat_seconds=HEARTBEAT_SECONDS,
    )


@router.post("/beat", responses=REFUSED)
def beat(shared: Shared, caller: Machine, body: Beat) -> MachineAnswer:
    """Report that this machine is alive. The answer says whether the league knows it, or it must register again."""
    figures = (body.steal_share, body.late_seconds, body.busy_share, body.held_by)
    return MachineAnswer(yes=shared.change(hosts.host_seen, caller.host, *figures))


@router.get("/check", responses=REFUSED)
def due_check(shared: Shared, caller: Machine) -> Due:
    """Say whether this machine is to check itself."""
    return Due(fitness=shared.read(hosts.due_check, caller.host))


@router.post("/check", status_code=204, responses=REFUSED)
def record_check(shared: Shared, caller: Machine, body: Check) -> None:
    """Report what a check found."""
    report = body.model_dump(include={"slots", "findings"})
    shared.change(hosts.record_check, caller.host, report, body.reasons, body.again_seconds, body.doubts)


@router.post("/canary", status_code=204, responses=REFUSED)
def record_canary(shared: Shared, caller: Machine, body: CanaryEnd) -> None:
    """Report the end of a canary match."""
    wrong = None if body.wrong is None else [{"told": told} for told in body.wrong]
    shared.change(hosts.record_canary, caller.host, body.voids, wrong, body.series_before)


@router.post("/claim", responses=REFUSED)
def claim(shared: Shared, caller: Machine, body: Order) -> Orders:
    """Claim the next series. The machine holds it for a lease's time, and longer while it renews."""
    if (since := shared.change(hosts.take_canary, caller.host)) is not None:
        return Orders(canary=since, work=None)
    job = shared.change(work.claim, caller, body.number)
    return Orders(canary=None, work=None if job is None else _work(job))


def _work(job: SeriesJob) -> Work:
    programs = [
        Program(version_id=ref.version_id, sha256=ref.program_sha256, language=ref.language, entry=ref.entry)
        for ref in job.programs.values()
    ]
    matches = [
        Deal(match_id=match.match_id, seed=match.seed.hex(), attempt=match.attempt, seats=list(match.seats))
        for match in job.matches
    ]
    variant = None if job.variant is None else list(job.variant)
    of_job = {"series_id": job.series_id, "attempt": job.attempt, "game": job.game, "variant": variant}
    return Work(programs=programs, matches=matches, **of_job)


@router.get("/work", responses=REFUSED)
async def wait_for_work(shared: Shared, caller: Machine) -> MachineAnswer:
    """Wait until a series may be claimed, at most 25 seconds. The answer says whether one may."""
    until = anyio.current_time() + WAIT_SECONDS
    while not (waits := await run_sync(shared.read, work.waits, caller)):
        if anyio.current_time() > until:
            break
        await anyio.sleep(LOOK_SECONDS)
    return MachineAnswer(yes=waits)


@router.post("/series/{series_id}/renew", responses=REFUSED)
def renew(shared: Shared, caller: Machine, series_id: Id, attempt: Attempt) -> MachineAnswer:
    """Prolong the lease of a series. The answer says whether the machine still holds it."""
    return MachineAnswer(yes=shared.change(work.renew, caller, series_id, attempt))


@router.get(
    "/series/{series_id}/programs/{sha256}",
    response_class=Response,
    responses={200: {"content": {"application/x-tar": {}}, "description": "The built program"}, **HOLDING},
)
def get_program(shared: Shared, caller: Machine, series_id: Id, sha256: Hash, attempt: Attempt) -> Response:
    """Return a program of a series that this machine holds."""
    shared.read(work.must_play, caller, series_id, attempt, sha256)
    return Response(shared.blobs.get(sha256, shared.settings.unpacked_limit_bytes), media_type="application/x-tar")


def _inlined(node: Any, defs: Any) -> Any:
    """Return a schema with its definitions in their places."""
    if isinstance(node, list):
        return [_inlined(item, defs) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = {**defs[node["$ref"].rpartition("/")[2]], **{key: value for key, value in node.items() if key != "$ref"}}
    return {key: _inlined(value, defs) for key, value in node.items() if key != "$defs"}


_SCHEMA = Results.model_json_schema()
_BODY = {"content": {"application/json": {"schema": _inlined(_SCHEMA, _SCHEMA["$defs"])}}, "required": True}


@router.post(
    "/series/{series_id}/results",
    responses={**HOLDING, 400: {}, 422: {"description": "Not as described, or nothing of it counts"}},
    openapi_extra={"requestBody": _BODY},
)
@takes_upload
async def hand_in(shared: Shared, caller: Machine, series_id: Id, attempt: Attempt, request: Request) -> MachineAnswer:
    """Hand in a series. Everything is played again before it counts. Sent twice it has one effect. The answer
    says whether the results count; otherwise they came too late.
    """
    if _arriving[caller.host.name] >= MOST_ARRIVING:
        raise HTTPException(503, BUSY, LATER)
    _arriving[caller.host.name] += 1
    try:
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_RESULTS_BYTES:
                raise UploadTooLarge(MAX_RESULTS_BYTES)
        taken = await run_sync(_hand_in, shared, caller, series_id, attempt, bytes(body), limiter=shared.taking_in)
    finally:
        _arriving[caller.host.name] -= 1
    return MachineAnswer(yes=taken)


def _hand_in(shared: Shared, caller: access.Caller, series_id: int, attempt: int, body: bytes) -> bool:
    try:
        results = _stated(Results.model_validate_json(body))
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":
            raise HTTPException(400, "The body is not JSON.") from error
        raise RequestValidationError(error.errors()) from error
    try:
        arrived = shared.read(work.begin_results, caller, series_id, attempt, results)
    except NotFound:
        return shared.read(work.given_in, caller, series_id, attempt)
    if arrived is None:
        return False
    try:
        outcomes = work.checked(arrived, shared.blobs)
    except Refused as refused:
        raise shared.change(work.refuse, caller, arrived, refused) from refused
    return shared.change(work.finish, caller, arrived, outcomes)


def _stated(sent: Results) -> work.Results:
    """Return results with their transcripts unpacked. Raises MachineRefused: they are too large, or unreadable."""
    left, played = MAX_TRANSCRIPT_BYTES, []
    for match in sent.played:
        try:
            with zstandard.ZstdDecompressor().stream_reader(b64decode(match.transcript, validate=True)) as reader:
                transcript = reader.read(left + 1)
            ends = {end.seat: _end(end) for end in match.ends}
        except (ValueError, zstandard.ZstdError) as error:
            raise MachineRefused(
                "unreadable", f"The transcript of match {match.match_id} cannot be unpacked"
            ) from error
        left -= len(transcript)
        if left < 0:
            raise MachineRefused("too-large", f"The transcripts have more than {MAX_TRANSCRIPT_BYTES} bytes")
        played.append(Stated(match.match_id, transcript, ends, match.started_at_ns, match.finished_at_ns))
    void = None if sent.void is None else work.Void(**sent.void.model_dump())
    failure = None if sent.failure is None else Failure(**sent.failure.model_dump())
    return work.Results(played, void, failure)


def _end(end: End) -> Exit:
    measured = end.model_dump(exclude={"seat", "stderr"})
    return Exit(stderr=b64decode(end.stderr, validate=True), **measured)
