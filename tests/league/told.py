"""Label a transcript, and make the league's record of its match so that the two agree."""

from dataclasses import replace

from deadheat.engine.chance import commitment
from deadheat.engine.transcript import Transcript
from deadheat.engine.verdicts import own_times
from deadheat.league.records import from_row
from deadheat.league.records.matches import AttemptView, FaultView, LatencyView, Match, MatchDetail, SeatView
from deadheat.league.states import MatchState
from deadheat.league.verification.agreement import player
from tests.league.clock import START

NUMBER = 7


def labelled(transcript: Transcript) -> Transcript:
    """Label a transcript as a worker does."""
    players = [player("ada", f"bot{seat}", 1) for seat in range(transcript.seats)]
    return replace(transcript, about={"match": NUMBER, "players": players})


def told(transcript: Transcript, sha256: str = "") -> Match:
    """Return the league's record of the match in a `labelled` transcript."""
    return Match(
        id=NUMBER,
        season_id=1,
        series_id=1,
        game=transcript.game,
        state=MatchState.DONE,
        rated=True,
        commitment=commitment(transcript.seed),
        seed=transcript.seed.hex(),
        deal=None,
        asked=None,
        attempt=transcript.attempt,
        transcript_sha256=sha256,
        created_at=START,
        finished_at=START,
        seats=tuple(_seat(transcript, seat) for seat in range(transcript.seats)),
        uncounted=None,
        repeats_id=None,
        comeback=None,
        variant=[f"{name}={value}" for name, value in transcript.variant.items()] or None,
    )


def detailed(transcript: Transcript, match: Match) -> MatchDetail:
    """Return the league's record with the attempts and response times that belong to a transcript."""
    void = AttemptView(match.id, 1, None, "host-memory", "", None, {}, START, START)
    attempts = [replace(void, seed_number=number) for number in range(1, transcript.attempt)]
    attempts.append(replace(void, seed_number=transcript.attempt, cause="played"))
    latencies = [
        LatencyView(*key, max(limits_ns), len(own_ns), sum(own_ns) // len(own_ns), max(own_ns))
        for key, (own_ns, limits_ns) in own_times(transcript).items()
    ]
    return from_row(MatchDetail, match, not_played="", attempts=tuple(attempts), latencies=tuple(latencies))


def _seat(transcript: Transcript, seat: int) -> SeatView:
    result, fault = transcript.result, None
    if seat in result.faults:
        last = transcript.last_prompt(seat)
        assert last is not None
        fault = FaultView(result.faults[seat], last.message.command, last.reply.own_ns / 1e6, "")
    points = None if result.points is None else str(result.points[seat])
    return SeatView(seat, 1 + seat, f"bot{seat}", "ada", 1, None, result.ranks[seat], points, fault)
