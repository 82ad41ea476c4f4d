r"""The record of a match, and its codec: versioned JSON Lines, each line chained to the one before.

Format (version 3), one JSON object a line, UTF-8, no blank lines:

* the header ``{"deadheat": 3, "game": ..., "rules": ..., "seats": n, "seed": hex, "commitment": hex, "attempt": n,
  "clock": n, "about": {...}}``; the dice are those of the seed's n-th attempt (`engine.chance.attempt_seed`), and
  ``clock`` is the number of the rule of own time (`engine.own_time.CLOCK`). A match of a variant has ``"variant":
  {name: number, ...}`` before ``about``: what differs from the rules, in alphabetical order
* one line per exchange
  ``{"n": k, "messages": [[seat, line, limit_ns|null], ...], "replies": [[seat, line|null, elapsed_ns, fault|null,
  cpu_ns|null, late_ns], ...], "events": [...]}``; a reply from which the host took time, or which a clock called a
  timeout, has two more items: ``stolen_ns`` and its evidence, an object (`engine.own_time.Evidence`; its
  ``wall_ns`` is the reply's ``elapsed_ns`` and left out)
* the result ``{"ranks": [...], "points": [...]|null, "faults": {seat: fault}}``; points are integers or "p/q".

Every line but the first carries ``prev``: the SHA-256 of the line before (its bytes without the newline), so no
line can be changed, dropped or inserted unnoticed. Bytes of a bot's output that are not UTF-8 are kept as lone
surrogates (Python's ``surrogateescape``), written as ``\udcXX``.

A transcript has exactly one spelling: `decode` refuses what `encode` would have written differently (another order,
blanks, a number with a point, an unknown or repeated key), so equal matches have equal content addresses. The last line
has no successor to carry its hash: `engine.replay` finds an altered result, and an altered line with a repaired chain.

Older versions are still read. Version 2 has no ``clock`` (it is 1) and fewer figures in its evidence; version 1 also
has no ``attempt`` (its dice are those of the first) and no replies with eight items.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, NamedTuple

from deadheat.engine.chance import commitment
from deadheat.engine.core import Event, Fault, Message, Points, Reply, Result, Seat, made
from deadheat.engine.language import N_
from deadheat.engine.own_time import CLOCK, Evidence

FORMAT_VERSION = 3
OLDEST_VERSION = 1
CLOCK_SINCE = 3
"""The first version that keeps the number of the clock's rule."""

ONCE_ABSENT = ("earlier_ns", "read_ns", "processors", "write_cpu_ns")
"""Figures that evidence did not always have; they are left out where they are 0."""

MAX_TRANSCRIPT_BYTES = 64 * 1024 * 1024
"""Far above the size of any legal match; a larger file is not read."""

MAX_EXCHANGES = 100_000
"""A bound on every match: the longest built-in game ends below 30,000 exchanges."""

MAX_SEATS = 256
"""The most seats. None of our games has more than six, but a file may claim anything."""

_spelled = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
# json.dumps would create an encoder for every line; a value that contains itself is a RecursionError, not a ValueError.

_FRACTION = re.compile(r"-?[0-9]{1,20}/[0-9]{1,20}")
# Stricter than Fraction(), which accepts "1e999999999": a short text whose value fills the memory.


class BadTranscript(Exception):
    """The bytes are not a transcript, or their chain is broken."""


class Exchange(NamedTuple):
    """One barrier: the lines sent, the replies, and the events for viewers."""

    messages: tuple[Message, ...]
    replies: Mapping[Seat, Reply]
    events: tuple[Event, ...] = ()


class Prompt(NamedTuple):
    """One prompt with its reply, flattened out of a transcript for metrics and summaries."""

    exchange: int
    message: Message
    limit_ns: int
    reply: Reply


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole match. `about` holds labels (match id, players) that no rule looks at; `attempt` is the number, from 1,
    of the attempt that became its result; `variant` which numbers differ from the game's rules
    (`engine.games.variants`); `clock` the rule of own time by which it was judged.
    """

    game: str
    rules_version: int
    seats: int
    seed: bytes
    exchanges: tuple[Exchange, ...]
    result: Result
    about: Mapping[str, object] = field(default_factory=dict)
    attempt: int = 1
    variant: Mapping[str, int] = field(default_factory=dict)
    clock: int = CLOCK

    def prompts(self) -> Iterator[Prompt]:
        """Yield every prompt in the order of exchanges; all metrics are made from this fold."""
        for number, (messages, replies, _) in enumerate(self.exchanges):
            for message in messages:
                seat, _, limit_ns = message
                if limit_ns is not None:
                    yield made(Prompt, (number, message, limit_ns, replies[seat]))

    def measured(self) -> Iterator[Prompt]:
        """Yield the prompts of programs, whose own time was measured."""
        remote = untimed(self.about)
        return (prompt for prompt in self.prompts() if prompt.message.seat not in remote)

    def events(self) -> Iterator[Event]:
        """Yield the events for viewers, in order."""
        for exchange in self.exchanges:
            yield from exchange.events

    def last_prompt(self, seat: Seat) -> Prompt | None:
        """Return the last prompt of a seat: where its fault, if it has one, was committed."""
        theirs = [prompt for prompt in self.prompts() if prompt.message.seat == seat]
        return theirs[-1] if theirs else None


def wall_clock(about: Mapping[str, object]) -> bool:
    """Say whether the times were the wall clock's, because nothing told which time was a bot's own."""
    return about.get("time") == "wall clock"


def untimed(about: Mapping[str, object]) -> frozenset[Seat]:
    """Return the seats whose own time was not measured: agents', by the label `turns`, and a person's."""
    turns, person = about.get("turns"), about.get("person")
    agents = {int(seat) for seat in turns if seat.isdecimal()} if isinstance(turns, dict) else set[Seat]()
    return frozenset(agents | ({person} if isinstance(person, int) else set()))


DEPARTURES = {
    N_("resignation"): "the player resigned",
    N_("absence"): "the player did not fetch the question in time",
}
"""How an agent or a person may have left a match, with a sentence in place of the rules' on a program that exited."""


def departure(about: Mapping[str, object], seat: object) -> str | None:
    """Return how an agent or a person whose fault is `exited` left, as a word of `DEPARTURES`; None: it is a program,
    or the record does not say.
    """
    resigned = about.get("resigned")
    if not isinstance(resigned, list) or seat not in untimed(about):
        return None
    return "resignation" if seat in resigned else "absence"


def encode(transcript: Transcript) -> bytes:
    """Return the transcript as chained JSON Lines. Equal transcripts give equal bytes."""
    return _encode(transcript, FORMAT_VERSION)


def _encode(transcript: Transcript, version: int) -> bytes:
    header: dict[str, object] = {
        "deadheat": version,
        "game": transcript.game,
        "rules": transcript.rules_version,
        "seats": transcript.seats,
        "seed": transcript.seed.hex(),
        "commitment": commitment(transcript.seed),
    }
    if version > OLDEST_VERSION:
        header["attempt"] = transcript.attempt
    if version >= CLOCK_SINCE:
        header["clock"] = transcript.clock
    if transcript.variant:
        header["variant"] = dict(sorted(transcript.variant.items()))
    header["about"] = dict(transcript.about)
    lines = [_spelled(header).encode("ascii")]
    for number, exchange in enumerate(transcript.exchanges):
        lines.append(_chained(encode_exchange(number, exchange), lines[-1]))
    lines.append(_chained(_spelled(encode_result(transcript.result)), lines[-1]))
    return b"\n".join(lines) + b"\n"


def _chained(text: str, before: bytes) -> bytes:
    """Return an object's text with the hash of the previous line as its last key."""
    return f'{text[:-1]},"prev":"{hashlib.sha256(before).hexdigest()}"}}'.encode("ascii")


def decode(data: bytes) -> Transcript:
    """Parse and check the chain.

    Raises:
        BadTranscript: not a transcript of a known version, or some line was altered.
    """
    if len(data) > MAX_TRANSCRIPT_BYTES:
        raise BadTranscript(f"larger than {MAX_TRANSCRIPT_BYTES} bytes")
    if data.count(b"\n") > MAX_EXCHANGES + 2:
        raise BadTranscript(f"more than {MAX_EXCHANGES} exchanges")
    lines = data.split(b"\n")
    if lines[-1] != b"" or len(lines) < 3:
        raise BadTranscript("cut short: a transcript ends with a result line and a newline")
    try:
        objects = [json.loads(line) for line in lines[:-1]]
        for number in range(1, len(objects)):
            if objects[number].get("prev") != hashlib.sha256(lines[number - 1]).hexdigest():
                raise BadTranscript(f"line {number + 1} is not chained to line {number}: one of them was altered")
        header = objects[0]
        version = header["deadheat"]
        if type(version) is not int or not OLDEST_VERSION <= version <= FORMAT_VERSION:
            raise BadTranscript(f"format version {version!r}; this program reads {OLDEST_VERSION} to {FORMAT_VERSION}")
        seed = bytes.fromhex(header["seed"])
        if commitment(seed) != header["commitment"]:
            raise BadTranscript("the seed does not match its commitment")
        transcript = Transcript(
            game=_text(header["game"]),
            rules_version=_whole(header["rules"]),
            seats=_whole(header["seats"]),
            seed=seed,
            exchanges=tuple(_decode_exchange(item) for item in objects[1:-1]),
            result=_decode_result(objects[-1]),
            about=_object(header["about"]),
            attempt=_attempt(header["attempt"]) if version > OLDEST_VERSION else 1,
            variant={name: _whole(value) for name, value in _object(header.get("variant", {})).items()},
            clock=_clock(header["clock"]) if version >= CLOCK_SINCE else 1,
        )
        _check_version(transcript, version)
        _check_seats(transcript)
        respelled = _encode(transcript, version)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, ZeroDivisionError) as error:
        raise BadTranscript(f"not a transcript: {type(error).__name__}: {error}") from error
    if respelled != data:
        wrong = next(
            n for n, (ours, line) in enumerate(zip(respelled.split(b"\n"), lines, strict=True), 1) if ours != line
        )
        raise BadTranscript(f"line {wrong} is not spelled as this format spells it")
    return transcript


def relabelled(data: bytes, about: Mapping[str, object], new: Mapping[str, object]) -> bytes:
    """Return a transcript's bytes with `new` labels and a new chain, at a tenth of the cost of decoding it. Raises
    BadTranscript: it has other labels than `about`, or its chain is broken; nothing else is checked.
    """
    header, *lines = data.split(b"\n")[:-1]
    labels = _labels(about)
    if not header.endswith(labels):
        raise BadTranscript("it is labelled as another one")
    made, before = [header.removesuffix(labels) + _labels(new)], header
    for line in lines:
        text, _, chain = line.rpartition(b',"prev":"')
        if chain != hashlib.sha256(before).hexdigest().encode() + b'"}' or not text.isascii():
            raise BadTranscript("a line is not chained to the one before: one of them was altered")
        made.append(_chained(f"{text.decode('ascii')}}}", made[-1]))
        before = line
    return b"\n".join(made) + b"\n"


def _labels(about: Mapping[str, object]) -> bytes:
    """Return the end of a header with these labels."""
    return f'"about":{_spelled(dict(about))}}}'.encode("ascii")


def encode_result(result: Result) -> dict[str, Any]:
    """Return the result as a JSON object (the transcript's last line, without its chain)."""
    points = None if result.points is None else [_encode_points(value) for value in result.points]
    faults = {str(seat): fault.value for seat, fault in sorted(result.faults.items())}
    return {"ranks": list(result.ranks), "points": points, "faults": faults}


def _decode_result(item: Mapping[str, Any]) -> Result:
    """Decode what `encode_result` wrote; raises KeyError, TypeError, ValueError or AttributeError on anything else."""
    points = None if item["points"] is None else tuple(_decode_points(value) for value in item["points"])
    faults = {int(seat): Fault(fault) for seat, fault in item["faults"].items()}
    return Result(tuple(_whole(rank) for rank in item["ranks"]), points, faults)


def _encode_points(value: Points) -> int | str:
    if isinstance(value, Fraction):
        text = f"{value.numerator}/{value.denominator}"
        assert _FRACTION.fullmatch(text), "no game's points need more than 20 digits"
        return int(value) if value.denominator == 1 else text
    return value


def _decode_points(value: int | str) -> Points:
    if isinstance(value, str):
        if not _FRACTION.fullmatch(value):
            raise ValueError(f"{value[:50]!r} are not points")
        return Fraction(value)
    return _whole(value)


def encode_exchange(number: int, exchange: Exchange) -> str:
    """Return one line of a transcript, without its chain.

    Spelled out here: building an object for the general encoder takes twice as long, and this is a tenth of what a
    request costs the referee.
    """
    messages = ",".join(
        [f"[{seat},{_quoted(line)},{'null' if limit is None else limit}]" for seat, line, limit in exchange.messages]
    )
    replies = ",".join([encode_reply(seat, reply) for seat, reply in sorted(exchange.replies.items())])
    events = _spelled([*map(dict, exchange.events)]) if exchange.events else "[]"
    return f'{{"n":{number},"messages":[{messages}],"replies":[{replies}],"events":{events}}}'


def encode_reply(seat: Seat, reply: Reply) -> str:
    """Return one seat's reply as a JSON array."""
    line = "null" if reply.line is None else _quoted(reply.line)
    fault = "null" if reply.fault is None else _quoted(reply.fault.value)
    cpu_ns = "null" if reply.cpu_ns is None else reply.cpu_ns
    taken = "" if reply.evidence is None else f",{reply.stolen_ns},{_encode_evidence(reply.evidence)}"
    return f"[{seat},{line},{reply.elapsed_ns},{fault},{cpu_ns},{reply.late_ns}{taken}]"


def _encode_evidence(evidence: Evidence) -> str:
    shown = evidence._asdict()
    del shown["wall_ns"]
    return _spelled({name: value for name, value in shown.items() if value or name not in ONCE_ABSENT})


def _decode_exchange(item: Mapping[str, Any]) -> Exchange:
    messages = tuple(
        Message(_whole(seat), _text(line), None if limit_ns is None else _whole(limit_ns))
        for seat, line, limit_ns in item["messages"]
    )
    replies = dict(map(decode_reply, item["replies"]))
    prompted = sorted(message.seat for message in messages if message.limit_ns is not None)
    if prompted != sorted(replies):
        raise ValueError(f"exchange {item['n']} has replies of other seats than those it prompts")
    return Exchange(messages, replies, tuple(_object(event) for event in item["events"]))


def decode_reply(item: Sequence[Any]) -> tuple[Seat, Reply]:
    """Decode what `encode_reply` wrote; raises TypeError or ValueError on anything else."""
    seat, line, elapsed_ns, fault, cpu_ns, late_ns, *taken = item
    stolen_ns, shown = taken or (0, None)
    return _whole(seat), Reply(
        None if line is None else _text(line),
        _whole(elapsed_ns),
        None if fault is None else Fault(fault),
        None if cpu_ns is None else _whole(cpu_ns),
        _whole(late_ns),
        _whole(stolen_ns),
        None if shown is None else _decode_evidence(elapsed_ns, shown),
    )


def _decode_evidence(wall_ns: int, item: Mapping[str, Any]) -> Evidence:
    for name, value in item.items():
        if not (type(value) is bool if name == "frozen" else value is None or type(value) is int):
            raise TypeError(f"{name} of evidence is {value!r}")
    return Evidence(wall_ns, **item)


def _attempt(value: object) -> int:
    number = _whole(value)
    if number < 1:
        raise ValueError(f"there is no attempt {number}")
    return number


def _clock(value: object) -> int:
    number = _whole(value)
    if not 1 <= number <= CLOCK:
        raise ValueError(f"clock {number}; this program knows 1 to {CLOCK}")
    return number


def _check_version(transcript: Transcript, version: int) -> None:
    """Refuse what this version does not keep."""
    shown = [prompt.reply.evidence for prompt in transcript.prompts() if prompt.reply.evidence]
    if version == OLDEST_VERSION and (transcript.variant or shown):
        raise BadTranscript("version 1 keeps no variant, and no evidence beside its replies")
    if version < CLOCK_SINCE and any(
        evidence.read_ns or evidence.processors or evidence.write_cpu_ns for evidence in shown
    ):
        raise BadTranscript(f"version {version} does not keep when its counters were read, nor how many processors")


def _check_seats(transcript: Transcript) -> None:
    """Refuse lines and results for other seats than the header's."""
    named = {message.seat for exchange in transcript.exchanges for message in exchange.messages}
    named |= transcript.result.faults.keys()
    if not len(transcript.result.ranks) == transcript.seats <= MAX_SEATS or not named <= set(range(transcript.seats)):
        raise BadTranscript(f"it has {transcript.seats} seats, but lines or results for other seats")


def _whole(value: object) -> int:
    if type(value) is not int:  # True and 2.0 equal integers but are not accepted as such
        raise TypeError(f"{type(value).__name__} instead of a whole number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} instead of a text")
    return value


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"{type(value).__name__} instead of an object")
    return value
