"""A match for the owners of its bots: why a seat lost, the remedy, and the bot's stderr.

The page of a match is the same for everyone, so it may be cached and sent to anyone. Private details are on this page
instead, which is made for each request and never cached. For people who own no bot in the match, organisers included,
the page does not exist (`service.views.matches.own_seats`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from deadheat.api.deps import Id, Shared
from deadheat.api.pages.forms import Complaint, Submitted, Visiting, checked, onward, posting, private, shows
from deadheat.api.pages.render import grouped_points
from deadheat.api.routes import rulings
from deadheat.api.routes.replays import transcript_of
from deadheat.engine.core import Fault
from deadheat.engine.figures import duration, limit, seat_number
from deadheat.engine.language import N_, _
from deadheat.engine.scenes import Scene, scenes, sheet
from deadheat.engine.transcript import Exchange, Prompt, Transcript, untimed
from deadheat.engine.verdicts import (
    VERDICTS,
    Note,
    Taken,
    Verdict,
    evidence_words,
    hint,
    last_exchanges,
    notes,
    place,
    slowest,
    took,
    verdict,
)
from deadheat.league.errors import WITHHELD, NotFound
from deadheat.league.records.matches import EndingView, LatencyView, Match, MatchDetail, SeatView
from deadheat.league.service.rulings.appeals import appeals
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.views import matches

router = APIRouter()

EXCHANGES_BEFORE = 3
MAX_NOTES = 1000
"""The most notes per seat. Its stderr has all that were kept."""

_Seat = Annotated[int, Path(ge=0, le=255)]
_Where = tuple[int, int | None]
"""A move of the replay, with its round."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line between referee and bot. `sent`: to the bot; `time`: how long its answer took, in words."""

    sent: bool
    text: str | None
    time: str = ""
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a seat lost its place. `clock`: an explanation of its last answer's times; `evidence`: the judge's counters
    for a missed deadline; `at`: the place in the replay.
    """

    verdict: Verdict
    clock: str | None
    evidence: tuple[str, ...]
    at: _Where | None


@dataclass(frozen=True, slots=True)
class _OwnSeat:
    seat: SeatView
    ended: str
    failure: Failure | None
    ending: EndingView | None
    latencies: tuple[LatencyView, ...]
    slowest: tuple[Prompt, ...]
    taken: Taken
    lines: tuple[Line, ...]
    notes: tuple[Note, ...]

    @property
    def late(self) -> bool:
        """Whether its times are worth reading: it missed a deadline, or would have if the host's time counted."""
        fault = self.seat.fault
        return self.taken.past_deadline > 0 or (fault is not None and fault.fault is Fault.TIMEOUT)


@router.get("/matches/{match_id}/mine")
def own_match(shared: Shared, visit: Visiting, match_id: Id) -> Response:
    with shared.db.reading() as session:
        seated = matches.own_seats(session, visit.person, match_id)
        endings = {ending.seat: ending for ending in matches.endings(session, visit.person, match_id)}
        detail = matches.match_detail(session, match_id, visit.person)
        season = season_info(session, detail.season_id)
    transcript = transcript_of(shared, detail)
    moves = scenes(transcript, detail.names) if transcript else []
    own = [
        _own(detail, seat, endings.get(seat.seat), transcript, moves) for seat in detail.seats if seat.seat in seated
    ]
    about: dict[str, Any] = {
        "sheet": sheet(transcript) if transcript else (),
        "last_move": len(moves) - 1 if moves else None,
    }
    about |= {"withheld": WITHHELD, "own": own, "season": season}
    return private(shared, "own-match.html", visit, None, match=detail, **about)


@router.get("/matches/{match_id}/mine/{seat}/stderr")
def own_stderr(shared: Shared, visit: Visiting, match_id: Id, seat: _Seat) -> Response:
    endings = shared.read(matches.endings, visit.person, match_id)
    text = next((ending.stderr for ending in endings if ending.seat == seat), None)
    if text is None:
        raise NotFound(N_("stderr of seat"), seat_number(seat))
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": f'attachment; filename="match-{match_id}.seat{seat_number(seat)}.stderr"',
    }
    return Response(text.encode(), headers=headers, media_type="text/plain; charset=utf-8")


def _own(
    detail: MatchDetail,
    seat: SeatView,
    ending: EndingView | None,
    transcript: Transcript | None,
    moves: Sequence[Scene],
) -> _OwnSeat:
    number = seat.seat
    at = next(((place, scene.round) for place, scene in enumerate(moves) if scene.fault == number), None)
    measured = transcript is None or number not in untimed(transcript.about)
    failure = None
    if seat.fault is not None:
        played = (attempt.evidence.get("timeouts") for attempt in detail.attempts if attempt.cause == "played")
        rows = [row for timeouts in played if isinstance(timeouts, list) for row in timeouts]
        prompt = transcript.last_prompt(number) if transcript else None
        failure = Failure(
            verdict=verdict(transcript, number, seat.fault.fault) if transcript else VERDICTS[seat.fault.fault],
            clock=hint(seat.fault.fault, prompt, measured) if prompt else None,
            evidence=tuple(evidence_words(row) for row in rows if isinstance(row, dict) and row.get("seat") == number),
            at=at,
        )
    last = (
        [transcript.exchanges[each] for each in last_exchanges(transcript, number, EXCHANGES_BEFORE)]
        if transcript
        else ()
    )
    return _OwnSeat(
        seat=seat,
        ended=_ended(detail, number),
        failure=failure,
        ending=ending,
        latencies=tuple(row for row in detail.latencies if row.seat == number),
        slowest=tuple(slowest(transcript, number)) if transcript and failure is None else (),
        taken=Taken.of(p for p in transcript.prompts() if p.message.seat == number) if transcript else Taken(),
        lines=tuple(line for each in last for line in _spoken(each, number, measured)),
        notes=tuple(notes(ending.stderr, transcript, moves, number)[:MAX_NOTES]) if transcript and ending else (),
    )


def _ended(match: Match, seat: int) -> str:
    """Return the result of a finished match as a sentence; empty before the end."""
    ranks = [other.rank for other in match.seats if other.rank is not None]
    if len(ranks) < len(match.seats):
        return ""
    if all(other.fault for other in match.seats):
        return _("Nobody won: everybody committed a fault.")
    ended = place(ranks, seat)
    points = [grouped_points(other.points) for other in match.seats if other.points is not None]
    result = f"{ended[:1].upper()}{ended[1:]}."
    if len(points) < len(match.seats):
        return result
    return _("%(result)s Points by seat: %(points)s.", result=result, points=" : ".join(points))


def _spoken(exchange: Exchange, seat: int, measured: bool) -> Iterator[Line]:
    limit_ns = 0
    for message in exchange.messages:
        if message.seat == seat:
            yield Line(sent=True, text=message.line)
            limit_ns = message.limit_ns or limit_ns
    reply = exchange.replies.get(seat)
    if reply is not None:
        time = _("%(time)s of %(limit)s", time=took(reply), limit=limit(limit_ns)) if measured else ""
        if reply.cpu_ns is not None:
            time += _(", %(time)s of CPU time", time=duration(reply.cpu_ns))
        yield Line(False, reply.line, time, reply.fault)


MOST_APPEALS = 100


@shows(router, "/matches/{match_id}/appeal")
def _appeal(shared: Shared, visit: Visiting, match_id: Id, complaint: Complaint | None = None, **_: Any) -> Response:
    """Show the visitor's appeals about the match (for organisers: all appeals), and the form for another."""
    with shared.db.reading() as session:
        match = matches.match_detail(session, match_id, visit.person)
        season = season_info(session, match.season_id)
        filed = appeals(session, visit.person, match_id=match_id, limit=MOST_APPEALS)
        own = {item.id for item in appeals(session, visit.person, match_id=match_id, own=True, limit=MOST_APPEALS)}
    return private(shared, "appeal.html", visit, complaint, match=match, season=season, appeals=filed, own=own)


@router.post("/matches/{match_id}/appeal")
@posting("appeal", _appeal)
def appeal(shared: Shared, posted: Submitted, match_id: Id) -> Response:
    rulings.open_appeal(shared, posted.visit.person, match_id, checked(rulings.AppealRequest, posted.fields))
    return onward(f"/matches/{match_id}/appeal")


@router.post("/matches/{match_id}/appeals/{appeal_id}/withdraw")
@posting("appeal", _appeal)
def withdraw(shared: Shared, posted: Submitted, match_id: Id, appeal_id: Id) -> Response:
    rulings.withdraw_appeal(shared, posted.visit.person, appeal_id)
    return onward(f"/matches/{match_id}/appeal")
