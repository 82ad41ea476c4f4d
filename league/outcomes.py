"""What is stored of a match that is over, as its transcript shows it: faults, response times, and a comeback."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress

from deadheat.engine.core import Fault, Seat
from deadheat.engine.scenes import comeback
from deadheat.engine.transcript import Prompt, Transcript
from deadheat.engine.verdicts import Taken, own_ms, past_deadline, why
from deadheat.league.jobs import AttemptRecord, FaultRecord, Latency, MatchOutcome
from deadheat.league.time_buckets import bucket
from deadheat.sandbox.box import Exit


def outcome(
    transcript: Transcript, match_id: int, sha256: str, attempt: AttemptRecord, exits: Mapping[Seat, Exit]
) -> MatchOutcome:
    """Return the outcome of a match whose transcript is stored under that name."""
    behind = None
    with suppress(Exception):  # a mistake in a game's scenes, which are for viewers, voids nothing
        behind = comeback(transcript)
    return MatchOutcome(
        match_id=match_id,
        result=transcript.result,
        transcript_sha256=sha256,
        faults=fault_records(transcript),
        latencies=latencies(transcript),
        exits=exits,
        attempts=(attempt,),
        rules_version=transcript.rules_version,
        comeback=behind,
    )


def evidence(transcript: Transcript) -> dict[str, object]:
    """Return the ledger's evidence of a match: for every time-out, and for time that the host took from its bots."""
    taken = Taken.of(transcript.prompts())
    timeouts = [
        {"seat": message.seat, "limit_ns": limit_ns, **reply.evidence.as_dict()}
        for _, message, limit_ns, reply in transcript.measured()
        if reply.fault is Fault.TIMEOUT and reply.evidence is not None
    ]
    facts = {"timeouts": timeouts, "stolen_ns": taken.stolen_ns, "past_deadline": taken.past_deadline}
    return {name: value for name, value in facts.items() if value}


def fault_records(transcript: Transcript) -> tuple[FaultRecord, ...]:
    """Return where each fault was committed, after how much own time, and the game's words for it."""
    records = []
    for seat, fault in sorted(transcript.result.faults.items()):
        prompt = transcript.last_prompt(seat)
        command = prompt.message.command if prompt else ""
        elapsed_ms = own_ms(transcript, prompt)
        records.append(FaultRecord(seat, fault, command, elapsed_ms, why(transcript, seat) or ""))
    return tuple(records)


def latencies(transcript: Transcript) -> tuple[Latency, ...]:
    """Return programs' response times by seat and command, in own time, to which limits apply."""
    groups: defaultdict[tuple[Seat, str], list[Prompt]] = defaultdict(list)
    for prompt in transcript.measured():
        groups[prompt.message.seat, prompt.message.command].append(prompt)
    return tuple(_latency(*key, prompts) for key, prompts in sorted(groups.items()))


def _latency(seat: Seat, command: str, prompts: Sequence[Prompt]) -> Latency:
    own_ns, limits_ns = [prompt.reply.own_ns for prompt in prompts], [prompt.limit_ns for prompt in prompts]
    return Latency(
        seat,
        command,
        max(limits_ns),
        len(prompts),
        sum(own_ns),
        max(own_ns),
        Counter(map(bucket, own_ns, limits_ns)),
        sum(prompt.reply.fault is Fault.TIMEOUT for prompt in prompts),
        sum(map(past_deadline, prompts)),
    )
