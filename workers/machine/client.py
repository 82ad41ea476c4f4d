"""The link to a league over HTTP (see `workers.link`).

Theory of operation
-------------------
The league is asked over one connection for each process. While it does not answer, `LeagueAway` is raised, and callers
do what they do without a database: a series is played on, a lease that is not renewed runs out, and finished results
are kept and sent for `INSIST_SECONDS`. Sending twice has one effect, because each report names the attempt.

Transcripts stay in this process until their series ends, and go with its results in one request: most matches last
milliseconds, and a request for each would cost more than the match. What does not fit into one is left out, and played
again.

A token that is unknown or revoked, and a release or games that are not the league's, end the process (`Dismissed`).
"""

import base64
import json
import logging
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NoReturn

import zstandard
from urllib3 import BaseHTTPResponse, PoolManager, Timeout
from urllib3.exceptions import HTTPError

from deadheat import __version__
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, encode
from deadheat.engine.unfinished import Replies
from deadheat.league.blobs import LEVEL
from deadheat.league.errors import BlobDamaged
from deadheat.league.jobs import AttemptRecord, Failure, MatchJob, MatchOutcome, ProgramRef, SeriesJob
from deadheat.league.service.machines.access import games_digest
from deadheat.league.states import Fitness
from deadheat.sandbox.arena import Played
from deadheat.sandbox.box import Exit
from deadheat.workers.holding import LeagueAway
from deadheat.workers.link import Wrong

log = logging.getLogger(__name__)

DISMISSED = 4
"""The exit code of a worker whose token ended, or whose release is not the league's: starting it again is useless."""

CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 60.0
"""How long to wait for a connection, and for a piece of an answer: longer than the league keeps a machine waiting."""

RENEW_SECONDS = 5.0
"""How long to wait for an answer about a lease, while bots wait."""

INSIST_SECONDS, PAUSES_SECONDS = 600.0, (1.0, 2.0, 5.0, 10.0)
"""How long finished results are kept while the league is away, and the pauses between tries; the last one repeats."""

MOST_SENT_BYTES = 40 * 1024 * 1024
"""The most bytes of compressed transcripts in one request; in base64 they fit into what the league takes."""

MOST_DETAIL = 500
MOST_KEPT_BYTES = 64 * 1024 * 1024
"""Programs that a process keeps, so that a series that follows with the same bots fetches nothing."""


class Dismissed(SystemExit):
    """The league has no more work for this machine, and says why. No `except Exception` keeps the process alive."""

    def __init__(self, why: str) -> None:
        super().__init__(DISMISSED)
        self.why = why


class OverHttp:
    """The link of a process that holds nothing but a token."""

    def __init__(self, server: str, token: str, boot: str, number: int = 0) -> None:
        """`number`: of this process, for the league's record."""
        self._server, self._number = server.rstrip("/"), number
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json", "Deadheat-Boot": boot}
        self._headers |= {"Deadheat-Release": __version__, "Deadheat-Games": games_digest()}
        self._pool = PoolManager(maxsize=1, retries=False)
        self._canary: int | None = None
        self._packed: dict[int, tuple[int, bytes]] = {}  # transcripts by match: their size, and compressed
        self._programs: dict[str, bytes] = {}
        self._program_bytes = MOST_KEPT_BYTES

    def claim(self, series_id: int) -> SeriesJob | None:
        self._packed.clear()
        orders = self._ask("POST", "claim", {"number": self._number})
        self._canary, work = orders["canary"], orders["work"]
        if work is None:
            return None
        programs = {
            item["version_id"]: ProgramRef(
                item["version_id"], f"version {item['version_id']}", item["sha256"], item["language"], item["entry"]
            )
            for item in work["programs"]
        }
        matches = tuple(
            MatchJob(item["match_id"], bytes.fromhex(item["seed"]), tuple(item["seats"]), item["attempt"])
            for item in work["matches"]
        )
        of_series = work["series_id"], work["attempt"], work["game"]
        return SeriesJob(*of_series, programs, matches, variant=work["variant"])

    def turn_away(self, series_id: int) -> bool:
        return False

    def wait(self) -> bool:
        """Wait until a claim may succeed, for at most half a minute; a canary match counts as one."""
        return self._canary is not None or bool(self._ask("GET", "work")["yes"])

    def renew(self, job: SeriesJob) -> bool:
        answer = self._ask("POST", f"series/{job.series_id}/renew?attempt={job.attempt}", seconds=RENEW_SECONDS)
        return bool(answer["yes"])

    def must_take(self) -> None:
        """Do nothing: transcripts stay here until the series ends."""

    def program(self, job: SeriesJob, ref: ProgramRef) -> bytes:
        if ref.program_sha256 not in self._programs:
            path = f"series/{job.series_id}/programs/{ref.program_sha256}?attempt={job.attempt}"
            tar = b"".join(self._pieces("GET", path, None, ANSWER_SECONDS, self._program_bytes))
            if sha256(tar).hexdigest() != ref.program_sha256:
                raise BlobDamaged(ref.program_sha256, "its content has another SHA-256")
            while self._programs and sum(map(len, self._programs.values())) + len(tar) > MOST_KEPT_BYTES:
                del self._programs[next(iter(self._programs))]
            self._programs[ref.program_sha256] = tar
        return self._programs[ref.program_sha256]

    def show(self, job: SeriesJob, match_id: int, replies: Replies) -> bool:
        return False

    def store(self, match_id: int, played: Played, attempt: AttemptRecord) -> MatchOutcome:
        data = encode(played.transcript)
        self._packed[match_id] = len(data), zstandard.ZstdCompressor(level=LEVEL).compress(data)
        return MatchOutcome(match_id, played.transcript.result, "", exits=played.exits, attempts=(attempt,))

    def finish(self, job: SeriesJob, outcomes: Sequence[MatchOutcome], failure: Failure | None) -> bool:
        results = self._results(job, outcomes, failure)
        give_up_at, pauses = time.monotonic() + INSIST_SECONDS, iter(PAUSES_SECONDS)
        while True:
            try:
                path = f"series/{job.series_id}/results?attempt={job.attempt}"
                return bool(self._ask("POST", path, results)["yes"])
            except NotTaken as error:
                log.error("series %d: the league refuses the results: %s", job.series_id, error)
                return False
            except LeagueAway as error:
                if time.monotonic() > give_up_at:
                    raise
                log.warning("series %d: finished, and kept until the league answers: %s", job.series_id, error)
                time.sleep(next(pauses, PAUSES_SECONDS[-1]))

    def _results(self, job: SeriesJob, outcomes: Sequence[MatchOutcome], failure: Failure | None) -> dict[str, Any]:
        known = {outcome.match_id: outcome for outcome in outcomes}
        played, left, sent = [], MAX_TRANSCRIPT_BYTES, MOST_SENT_BYTES
        for match in job.matches:
            outcome = known.get(match.match_id)
            if outcome is None or outcome.result is None:
                break
            size, packed = self._packed[match.match_id]
            left, sent = left - size, sent - len(packed)
            if min(left, sent) < 0:
                break
            played.append(_played(outcome, packed))
        voids = [outcome for outcome in outcomes if outcome.result is None]
        void = None
        if voids and len(played) == len(outcomes) - 1:  # otherwise it was not the next one
            (attempt,) = voids[0].attempts
            void = {"match_id": voids[0].match_id, **_told(attempt.cause, attempt.detail)}
        return {"played": played, "void": void, "failure": failure and _told(failure.cause, failure.detail)}

    def take_canary(self) -> int | None:
        since, self._canary = self._canary, None
        return since

    def record_canary(self, voids: int, wrong: Wrong | None, series_before: int) -> None:
        told = None if wrong is None else [str(verdict["told"])[:MOST_DETAIL] for verdict in wrong][:5]
        self._ask("POST", "canary", {"voids": voids, "wrong": told, "series_before": series_before})

    def begin(self, image: str) -> bool:
        """Announce this machine's worker as it starts; whatever the machine held is given back."""
        return self._register(image, starts=True)

    def arrive(self, image: str) -> bool:
        return self._register(image, starts=False)

    def _register(self, image: str, *, starts: bool) -> bool:
        answer = self._ask("POST", "register", {"image": image, "starts": starts})
        self._program_bytes = answer["program_bytes"]
        return bool(answer["known"])

    def seen(self, steal_share: float, late_seconds: float, busy_share: float, held_by: str | None) -> bool:
        shares = {"steal_share": min(1.0, steal_share), "busy_share": min(1.0, busy_share)}
        return bool(self._ask("POST", "beat", {**shares, "late_seconds": late_seconds, "held_by": held_by})["yes"])

    def due_check(self) -> Fitness | None:
        fitness = self._ask("GET", "check")["fitness"]
        return None if fitness is None else Fitness(fitness)

    def record_check(
        self, report: Mapping[str, object], reasons: Sequence[str], again_seconds: float, doubts: int
    ) -> None:
        findings: Any = report.get("findings", ())
        told = [{name: str(item[name])[:MOST_DETAIL] for name in ("level", "text", "mend")} for item in findings][:30]
        facts = {"slots": report["slots"], "findings": told, "reasons": [why[:MOST_DETAIL] for why in reasons][:20]}
        self._ask("POST", "check", {**facts, "again_seconds": again_seconds, "doubts": min(doubts, 100)})

    def seasons(self, known: Collection[int]) -> Mapping[int, str]:
        return {}

    def _ask(self, method: str, path: str, body: object = None, seconds: float = ANSWER_SECONDS) -> Any:
        """Return what the league answers. Raises LeagueAway, NotTaken, Dismissed."""
        answer = b"".join(self._pieces(method, path, body, seconds, MAX_TRANSCRIPT_BYTES))
        return json.loads(answer) if answer else None

    def _pieces(self, method: str, path: str, body: object, seconds: float, most_bytes: int) -> Iterator[bytes]:
        url, headers, data = f"{self._server}/v1/machine/{path}", self._headers, None
        if body is not None:
            headers, data = {**headers, "Content-Type": "application/json"}, json.dumps(body).encode()
        try:
            answer = self._pool.urlopen(
                method,
                url,
                body=data,
                headers=headers,
                timeout=Timeout(connect=CONNECT_SECONDS, read=seconds),
                redirect=False,
                preload_content=False,
            )
            try:
                if answer.status >= 300:
                    _refused(answer)
                for piece in answer.stream(2**16):
                    most_bytes -= len(piece)
                    if most_bytes < 0:
                        raise LeagueAway("its answer has no end")
                    yield piece
                answer.release_conn()
            finally:
                answer.close()
        except HTTPError as error:
            raise LeagueAway(f"{self._server}: {type(error).__name__}") from error


class NotTaken(Exception):
    """The league answers that this request is wrong."""


def _refused(answer: BaseHTTPResponse) -> NoReturn:
    try:
        problem = json.loads(answer.read(2**16) or b"{}")
        code, why = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        code, why = "", f"HTTP {answer.status}; is this the league's address?"
    if answer.status == 401 or code == "other-release":
        raise Dismissed(why)
    if answer.status >= 500 or answer.status in (408, 429) or not code:
        raise LeagueAway(why)
    raise NotTaken(why)


def _played(outcome: MatchOutcome, packed: bytes) -> dict[str, Any]:
    (attempt,) = outcome.attempts
    return {
        "match_id": outcome.match_id,
        "transcript": base64.b64encode(packed).decode(),
        "started_at_ns": attempt.started_at_ns,
        "finished_at_ns": attempt.finished_at_ns,
        "ends": [_end(seat, end) for seat, end in outcome.exits.items()],
    }


def _end(seat: int, end: Exit) -> dict[str, Any]:
    same = {name: getattr(end, name) for name in ("exit_code", "signal", "lingered", "cpu_ns", "peak_memory_bytes")}
    return {"seat": seat, "stderr": base64.b64encode(end.stderr).decode(), **same}


def _told(cause: str, detail: str) -> dict[str, str]:
    plain = "".join(letter if letter.isprintable() else " " for letter in detail)
    return {"cause": cause, "detail": plain[:MOST_DETAIL]}
