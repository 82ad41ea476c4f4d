"""Verification: play a transcript again, with the recorded replies, and demand equality at every exchange.

Nothing of the original run is needed: the rules, the seed and the replies determine every line that was sent, every
event, and the result. Exchanges are compared as written, because Python treats 1, 1.0 and True as equal, and also
objects whose keys are in another order. Measured times are part of the replies, so a game with a time bank replays too.
They must agree with the verdict: a counted answer came within its limit of own time, a timeout did not, and the time
recorded as taken by the host follows from the evidence (`engine.own_time`), by the rule under which the match was
played. Evidence that no machine can have measured is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from deadheat.engine.core import FOUND_BY_RULES, MAX_LINE_BYTES, Fault, Game, Message, Reply, Result, Seat
from deadheat.engine.figures import plural, points, seat_number
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import SETTING
from deadheat.engine.games.variants import BadVariant, rules_of, variant_of
from deadheat.engine.own_time import CLOCK, WATCH_NS, most_cpu_ns
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Exchange, Transcript, encode_exchange


class Diverged(Exception):
    """The rules lead to something other than the transcript says.

    `at_exchange` (0-based) is the first exchange with other lines or impossible replies; if there is none, the first
    with other events; the number of exchanges if only the result differs.
    """

    def __init__(self, at_exchange: int, detail: str) -> None:
        super().__init__(f"diverged at exchange {at_exchange}: {detail}")
        self.at_exchange = at_exchange
        self.detail = detail


class RecordedTransport:
    """Answers with the recorded replies while the game asks for exactly the recorded lines."""

    def __init__(self, transcript: Transcript) -> None:
        self._exchanges = transcript.exchanges
        self._clock = transcript.clock
        self._position = 0

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        """Raises Diverged: the game asks for something other than what was recorded."""
        number = self._position
        if number == len(self._exchanges):
            raise Diverged(number, "the transcript ends here, but the game does not")
        recorded = self._exchanges[number]
        if tuple(messages) != recorded.messages:
            raise Diverged(number, _difference(messages, recorded.messages))
        limits = {message.seat: message.limit_ns for message in messages if message.limit_ns is not None}
        if limits.keys() != recorded.replies.keys():
            raise Diverged(number, f"{_seats(limits)} asked, but replies of {_seats(recorded.replies)} recorded")
        for seat, reply in recorded.replies.items():
            doubt = _doubt(reply, limits[seat], self._clock)
            if doubt is not None:
                raise Diverged(number, f"the reply of seat {seat_number(seat)} {doubt}")
        self._position += 1
        return recorded.replies


class _Instant:
    """Answers as recorded, but in no time, whatever lines the game sends."""

    def __init__(self, transcript: Transcript) -> None:
        self._exchanges = iter(transcript.exchanges)

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        replies = next(self._exchanges).replies
        instant = {seat: reply._replace(elapsed_ns=0, stolen_ns=0) for seat, reply in replies.items()}
        return {message.seat: instant[message.seat] for message in messages if message.limit_ns is not None}


def without_clocks(transcript: Transcript) -> Sequence[Exchange]:
    """Return a match's exchanges as if every answer had taken no time, because some games tell how much is left.
    A match under rules that are not installed here, or that it does not follow, stays as it is.
    """
    if not known_rules(transcript):
        return transcript.exchanges
    game, instant = rules_of(transcript), _Instant(transcript)
    try:
        return run_match(game, transcript.seats, transcript.seed, instant, attempt=transcript.attempt).exchanges
    except (StopIteration, RuntimeError, KeyError):
        return transcript.exchanges


def known_rules(transcript: Transcript) -> bool:
    """Say whether the match was played by the rules installed here."""
    try:
        return rules_of(transcript).rules_version == transcript.rules_version
    except (KeyError, BadVariant):
        return False


def why_unknown(transcript: Transcript) -> str:
    """Return a clause that says why a match under other rules cannot be judged."""
    rules = f"version {transcript.rules_version} of the rules of {transcript.game}"
    numbers = f" with {_numbers(transcript.variant)}" if transcript.variant else ""
    missing = "" if transcript.game in GAMES else f" ({SETTING} names folders of games)"
    return f"it was played under {rules}{numbers}, which this server does not have{missing}"


def replay(game: Game, transcript: Transcript) -> Transcript:
    """Re-simulate `transcript` under `game`'s rules; returns the new transcript, equal to the old one.

    Raises:
        Diverged: with the number of the first exchange that differs.
        ValueError: the transcript is of another game, other rules or an impossible number of seats.
    """
    if transcript.game != game.name:
        raise ValueError(f"a transcript of {transcript.game}, not of {game.name}")
    if transcript.rules_version != game.rules_version:
        theirs, ours = transcript.rules_version, game.rules_version
        raise ValueError(f"played under version {theirs} of the rules; this is version {ours}")
    if transcript.variant != variant_of(game):
        raise ValueError(f"played with {_numbers(transcript.variant)}, not with {_numbers(variant_of(game))}")
    recorded = RecordedTransport(transcript)
    again = run_match(game, transcript.seats, transcript.seed, recorded, transcript.about, transcript.attempt)
    for number, (new, old) in enumerate(zip(again.exchanges, transcript.exchanges, strict=False)):
        if encode_exchange(number, new) != encode_exchange(number, old):
            raise Diverged(number, "the events differ")
    if len(again.exchanges) < len(transcript.exchanges):
        raise Diverged(len(again.exchanges), "the game ends here, but the transcript continues")
    again = replace(again, clock=transcript.clock)
    if again.result != transcript.result:
        ends = f"the rules end with {_words(again.result)}, the record with {_words(transcript.result)}"
        raise Diverged(len(again.exchanges), ends)
    return again


def _numbers(variant: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in variant.items()) or "the usual numbers"


def _doubt(reply: Reply, limit_ns: int, clock: int) -> str | None:
    """Say why no honest referee can have recorded this reply (rulings C-02, C-03, C-09); None if one can."""
    if (reply.line is None) != (reply.fault is not None):
        return "is neither a line nor a fault"
    if reply.fault in FOUND_BY_RULES:
        return f"was called {reply.fault} before the rules saw it"
    if reply.elapsed_ns < 0:
        return "came before its prompt"
    shown = reply.evidence
    if reply.stolen_ns not in (shown.stolen_by(clock) if shown else (0,)):
        return "had more or less time taken from it than its evidence shows"
    if shown is not None and (wrong := shown.contradiction(clock)) is not None:
        return f"has evidence that cannot be: {wrong}"
    lasted_ns, processors = (shown.wall_ns + shown.read_ns, shown.processors) if shown else (reply.elapsed_ns, 0)
    if clock == CLOCK and (reply.cpu_ns or 0) > most_cpu_ns(lasted_ns, processors):
        return "used more CPU time than there was"
    if reply.line is not None and reply.own_ns > limit_ns:
        return "came after its limit and was counted"
    if reply.line is not None and reply.elapsed_ns > limit_ns + WATCH_NS:
        return "came after the referee's watch had ended and was counted"
    if reply.fault is Fault.TIMEOUT and reply.own_ns < limit_ns:
        return "was called a timeout before its limit"
    if reply.line is not None:
        try:
            written = reply.line.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return "is not a text that can have been read from bytes"
        if len(written) > MAX_LINE_BYTES or b"\n" in written:
            return "is longer than a line may be"
    return None


def _difference(simulated: Sequence[Message], recorded: Sequence[Message]) -> str:
    for new, old in zip(simulated, recorded, strict=False):
        if new != old:
            return f"the rules send {_line(new)}, but the record has {_line(old)}"
    return f"the rules send {plural(len(simulated), 'line')}, but the record has {len(recorded)}"


def _seats(seats: Iterable[Seat]) -> str:
    """Name some seats, counted from 1."""
    numbers = " and ".join(str(seat_number(seat)) for seat in sorted(seats))
    return f"seats {numbers}" if numbers else "no seat"


def _line(message: Message) -> str:
    within = "" if message.limit_ns is None else f" with a limit of {message.limit_ns} ns"
    return f'"{message.line}" to seat {seat_number(message.seat)}{within}'


def _words(result: Result) -> str:
    faults = [f", seat {seat_number(seat)} {fault}" for seat, fault in sorted(result.faults.items())]
    scored = "no points" if result.points is None else f"points {' : '.join(map(points, result.points))}"
    return f"places {' : '.join(map(str, result.ranks))}, {scored}{''.join(faults)}"
