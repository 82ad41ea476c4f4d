"""Decides whether a transcript belongs to the match in a league's record.

Theory of operation
-------------------
Re-simulating a transcript (`engine.replay`) proves that lines, events and result follow from the rules, its seed and
the replies in it. It does not prove that the transcript is this match's: a host could serve the honest record of
another one. So this module compares everything that both the league's record and the transcript contain; the host uses
it, as does anyone who verifies a match from outside.

The rest must be trusted: that the bots gave these replies, with these times and CPU times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from deadheat.engine.chance import commitment
from deadheat.engine.core import Seat
from deadheat.engine.figures import seat_number
from deadheat.engine.games.variants import BadVariant, rules, rules_of, variant_of
from deadheat.engine.replay import Diverged, known_rules, replay, why_unknown
from deadheat.engine.transcript import Transcript
from deadheat.league.records.matches import Match, SeatView


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
    yield from _differ("attempt", transcript.attempt, match.attempt)
    yield from _differ("number of seats", transcript.seats, len(match.seats))
    if transcript.seats == len(match.seats) == len(transcript.result.ranks):
        for seat, told in enumerate(match.seats):
            yield from _at_seat(transcript, seat, told)


def _of(match: Match) -> str:
    """Return the variant that the league records."""
    try:
        return _spelled(variant_of(rules(match.game, match.variant)))
    except (KeyError, BadVariant):  # the game or its bounds are unknown here
        return ", ".join(sorted(match.variant or ())) or "none"


def _spelled(variant: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in variant.items()) or "none"


def _at_seat(transcript: Transcript, seat: Seat, told: SeatView) -> Iterator[str]:
    result, number = transcript.result, seat_number(seat)
    names = transcript.about.get("players")
    name = names[seat] if isinstance(names, list) and seat < len(names) else None
    yield from _differ(f"player at seat {number}", name, told.player or player(told.author, told.bot, told.version))
    yield from _differ(f"place of seat {number}", result.ranks[seat], told.rank)
    points = None if result.points is None or seat >= len(result.points) else str(result.points[seat])
    yield from _differ(f"points of seat {number}", points, told.points)
    fault = None
    if seat in result.faults:
        last = transcript.last_prompt(seat)
        fault = f"{result.faults[seat]} at {last.message.command if last else ''}"
    failed = told.fault and f"{told.fault.fault} at {told.fault.command}"
    yield from _differ(f"fault of seat {number}", fault, failed)


def _differ(what: str, recorded: object, told: object) -> Iterator[str]:
    if recorded != told or type(recorded) is bool:
        yield f"the {what} is {_word(recorded)} in the transcript but {_word(told)} in the league's record"


def _word(value: object) -> str:
    return "none" if value is None else str(value)[:100]
