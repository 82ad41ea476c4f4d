"""Decides whether a transcript belongs to the match in a league's record.

Theory of operation
-------------------
Re-simulating a transcript (`engine.replay`) proves that lines, events and result follow from the rules, its seed and
the replies in it. It does not prove that the transcript is this match's: a host could serve the honest record of
another one. So this module compares everything that both the league's record and the transcript contain; the host uses
it, as does anyone who verifies a match from outside.

What `HOSTS_WORD` says must be trusted.
"""

from collections.abc import Iterator, Mapping, Sequence

from deadheat.engine.chance import commitment
from deadheat.engine.core import Fault, Seat
from deadheat.engine.figures import seat_number
from deadheat.engine.games.variants import BadVariant, rules, rules_of, variant_of
from deadheat.engine.replay import Diverged, known_rules, replay, why_unknown
from deadheat.engine.transcript import Transcript, untimed
from deadheat.engine.verdicts import Taken, own_ms, own_times, why
from deadheat.league.causes import Cause
from deadheat.league.records.matches import MOST_ATTEMPTS, AttemptView, Match, MatchDetail, SeatView

HOSTS_WORD = (
    "Recomputed: the dice, every line, event and result, by the rules; own time, from the evidence beside each reply. "
    "What remains the host's word: that these programs wrote these replies; what its clocks and counters showed, times "
    "and evidence alike; that a void attempt failed for the reason given, not because of who was winning; when it was "
    "played, on which machine, and so by which rule of own time."
)
"""What a verification proves, and what it cannot (docs/why/security-model.md says more)."""

REASON_LENGTH = 4000
"""How many characters of a fault's reason the league stores (`league.service.ground.steps`)."""


def player(author: str, bot: str, version: int) -> str:
    """Return the name of a version in transcripts."""
    return f"{author}/{bot} v{version}"


def disagreements(transcript: Transcript, match: Match) -> list[str]:
    """Return the differences between transcript and league as clauses; empty if they agree on all that both state."""
    return list(_disagreements(transcript, match))


def verdict(transcript: Transcript, wrong: Sequence[str]) -> tuple[bool | None, str | None]:
    """Say whether a transcript is right, and if not, why, as a clause. `wrong`: the errors already known.

    The verdict is None if the match was played under rules that are unknown here.
    """
    if wrong:
        return False, wrong[0]
    if not known_rules(transcript):
        return None, why_unknown(transcript)
    try:
        replay(rules_of(transcript), transcript)
    except (Diverged, ValueError) as error:
        return False, str(error)
    return True, None


def _disagreements(transcript: Transcript, match: Match) -> Iterator[str]:
    if commitment(transcript.seed) != match.commitment:
        yield "the transcript's seed does not match the commitment"
    if transcript.seed.hex() != match.seed:
        yield "the transcript's seed is not the match's"
    yield from _differ("number", transcript.about.get("match"), match.id)
    yield from _differ("game", transcript.game, match.game)
    yield from _differ("variant", _spelled(transcript.variant), _of(match))
    yield from _differ("series", transcript.about.get("series", match.series_id), match.series_id)
    yield from _differ("attempt", transcript.attempt, match.attempt)
    yield from _differ("number of seats", transcript.seats, len(match.seats))
    if transcript.seats == len(match.seats) == len(transcript.result.ranks):
        for seat, record in enumerate(match.seats):
            yield from _at_seat(transcript, seat, record)
    if isinstance(match, MatchDetail):
        yield from _of_times(transcript, match)
        yield from _of_attempts(transcript, match)


def _of(match: Match) -> str:
    """Return the variant that the league records."""
    try:
        return _spelled(variant_of(rules(match.game, match.variant)))
    except (KeyError, BadVariant):  # the game or its bounds are unknown here
        return ", ".join(sorted(match.variant or ())) or "none"


def _spelled(variant: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in variant.items()) or "none"


def _at_seat(transcript: Transcript, seat: Seat, record: SeatView) -> Iterator[str]:
    result, number = transcript.result, seat_number(seat)
    names = transcript.about.get("players")
    name = names[seat] if isinstance(names, list) and seat < len(names) else None
    yield from _differ(
        f"player at seat {number}", name, record.player or player(record.author, record.bot, record.version)
    )
    yield from _differ(f"place of seat {number}", result.ranks[seat], record.rank)
    points = None if result.points is None or seat >= len(result.points) else str(result.points[seat])
    yield from _differ(f"points of seat {number}", points, record.points)
    fault = None
    if seat in result.faults:
        last = transcript.last_prompt(seat)
        fault = f"{result.faults[seat]} at {last.message.command if last else ''}"
    failed = record.fault and f"{record.fault.fault} at {record.fault.command}"
    yield from _differ(f"fault of seat {number}", fault, failed)
    if record.fault is not None and fault == failed:
        own = own_ms(transcript, transcript.last_prompt(seat))
        yield from _differ(f"own time of seat {number}'s fault in ms", own, record.fault.elapsed_ms)
        if record.fault.why:  # empty while it is secret
            reason = (why(transcript, seat) or "").encode("utf-8", "replace").decode().replace("\0", "\ufffd")
            yield from _differ(f"reason for seat {number}'s fault", reason[:REASON_LENGTH], record.fault.why)


def _of_times(transcript: Transcript, match: MatchDetail) -> Iterator[str]:
    recorded = {
        key: (max(limits_ns), len(own_ns), sum(own_ns) // len(own_ns), max(own_ns))
        for key, (own_ns, limits_ns) in own_times(transcript).items()
    }
    shown = {(row.seat, row.command): (row.limit_ns, row.prompts, row.mean_ns, row.worst_ns) for row in match.latencies}
    for seat, command in sorted(recorded.keys() | shown.keys()):
        what = f"record of seat {seat_number(seat)}'s own times at {command[:20]} (limit, number, mean, longest)"
        yield from _differ(what, recorded.get((seat, command)), shown.get((seat, command)))


def _of_attempts(transcript: Transcript, match: MatchDetail) -> Iterator[str]:
    """Compare the ledger of attempts. Every void one, also one at the whole series, uses up a seed of the match."""
    results = [attempt for attempt in match.attempts if attempt.match_id is not None and attempt.cause == Cause.PLAYED]
    if len(match.attempts) >= MOST_ATTEMPTS:
        return  # the record does not have all of them
    if len(results) != 1:
        yield f"the number of attempts in the ledger that became its result is {len(results)}"
        return
    (result,) = results
    yield from _of_result(transcript, result)
    if result.seed_number is None:  # it is older than lists of seeds
        return
    yield from _differ("seed's number", transcript.attempt, result.seed_number)
    seeds = [attempt.seed_number or 0 for attempt in match.attempts if attempt.match_id is not None]
    if untimed(transcript.about):  # agents have seen its dice, so another attempt has the same
        seeds = sorted({*seeds})
    else:
        yield from _differ("number of void attempts before it", transcript.attempt - 1, len(voids_before(match)))
    if sorted(set(seeds)) != seeds or seeds[-1] != result.seed_number or seeds[0] < 1:
        yield "the ledger has attempts at it whose seeds do not follow each other"


def voids_before(match: MatchDetail) -> tuple[AttemptView, ...]:
    """Return the void attempts that a match or its series needed before the one that became its result."""
    ends = [number for number, attempt in enumerate(match.attempts) if attempt.cause == Cause.PLAYED]
    return match.attempts[: ends[0]] if ends else match.attempts


def _of_result(transcript: Transcript, result: AttemptView) -> Iterator[str]:
    """Compare the evidence of the attempt that became the result; older releases recorded less."""
    taken = Taken.of(transcript.prompts())
    for name in ("stolen_ns", "past_deadline"):
        if name in result.evidence:
            yield from _differ(f"{name} of the attempt", getattr(taken, name), result.evidence[name])
    timeouts = [prompt for prompt in transcript.prompts() if prompt.reply.fault is Fault.TIMEOUT]
    if any(prompt.reply.evidence is None for prompt in timeouts):
        return  # it is older than evidence beside replies
    recorded = []
    for prompt in sorted(timeouts, key=lambda prompt: str(prompt.message.seat)):
        reply = prompt.reply
        assert reply.evidence is not None
        verdict = {"stolen_ns": reply.stolen_ns, "own_ns": reply.own_ns}
        recorded.append(
            {"seat": prompt.message.seat, "limit_ns": prompt.limit_ns, **reply.evidence._asdict(), **verdict}
        )
    reported = sorted(result.evidence.get("timeouts", []), key=lambda timeout: str(timeout.get("seat")))
    pairs = zip(recorded, reported, strict=False)
    if len(reported) != len(recorded) or any(
        its.get(name, value) != value for all_, its in pairs for name, value in all_.items()
    ):
        yield "the ledger's evidence of its timeouts is not the transcript's"


def _differ(what: str, recorded: object, stated: object) -> Iterator[str]:
    if recorded != stated or type(recorded) is bool:
        yield f"the {what} is {_word(recorded)} in the transcript but {_word(stated)} in the league's record"


def _word(value: object) -> str:
    return "none" if value is None else str(value)[:100]
