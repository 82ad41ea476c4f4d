"""The codec of transcripts: what is encoded comes back, and altered bytes are refused."""

import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine import transcript
from deadheat.engine.core import Fault, Message, Reply, Result
from deadheat.engine.transcript import BadTranscript, Exchange, Transcript, decode, encode
from tests.engine.players import play
from tests.lanes import examples

pytestmark = pytest.mark.quick

Lines = list[dict[str, Any]]


def objects(data: bytes) -> Lines:
    return [json.loads(line) for line in data.splitlines()]


def chained(items: Lines) -> bytes:
    """Encode lines with a correct chain of hashes, as a forger would."""
    lines: list[bytes] = []
    for item in items:
        if lines and isinstance(item, dict):
            item["prev"] = hashlib.sha256(lines[-1]).hexdigest()
        lines.append(json.dumps(item, separators=(",", ":")).encode())
    return b"\n".join(lines) + b"\n"


MATCH = encode(play(1))
SHORT = encode(
    Transcript(
        "game",
        1,
        2,
        bytes(16),
        (
            Exchange(
                (Message(0, "ASK", 5), Message(1, "NOTE")),
                {0: Reply("yes", 3, None, 2, 1)},
                ({"type": "roll", "dice": [1, 2]},),
            ),
            Exchange((Message(1, "ASK", 5),), {1: Reply(None, 5, Fault.TIMEOUT)}),
        ),
        Result((1, 2), (Fraction(7, 2), -3), {1: Fault.TIMEOUT}),
        {"match": "m"},
    )
)

# Round trips -----------------------------------------------------------------------------------------------------

texts = st.text(max_size=30) | st.binary(max_size=30).map(lambda data: data.decode("utf-8", "surrogateescape"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
times = st.integers(0, 2**63)


@st.composite
def exchanges(draw: st.DrawFn, seats: int) -> Exchange:
    """Draw one reply for each prompt, which is all that the codec asks of an exchange."""
    limits = [draw(st.none() | times) for _ in range(seats)]
    messages = tuple(Message(seat, draw(texts), limit) for seat, limit in enumerate(limits) if draw(st.booleans()))
    replies = {
        message.seat: Reply(
            draw(st.none() | texts),
            draw(times),
            draw(st.none() | st.sampled_from(Fault)),
            draw(st.none() | times),
            draw(times),
        )
        for message in messages
        if message.limit_ns is not None
    }
    return Exchange(messages, replies, tuple(draw(st.lists(json_objects, max_size=2))))


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    """Draw any transcript that the codec must accept, whether or not a match can produce it."""
    seats = draw(st.integers(1, 6))
    points = st.integers(-(10**15), 10**15) | st.fractions(-(10**15), 10**15, max_denominator=10**4)
    return Transcript(
        draw(texts),
        draw(st.integers(1, 99)),
        seats,
        draw(st.binary(max_size=32)),
        tuple(draw(exchanges(seats)) for _ in range(draw(st.integers(1, 4)))),
        Result(
            tuple(draw(st.integers(1, seats)) for _ in range(seats)),
            draw(st.none() | st.tuples(*[points for _ in range(seats)])),
            draw(st.dictionaries(st.integers(0, seats - 1), st.sampled_from(Fault))),
        ),
        draw(json_objects),
    )


@given(transcripts())
def test_what_is_encoded_comes_back_and_is_spelled_as_the_json_module_does_in_ascii(transcript: Transcript) -> None:
    data = encode(transcript)
    assert (decode(data), chained(objects(data))) == (transcript, data)
    assert data.isascii() and data.endswith(b"\n")
    assert [type(item) for item in objects(data)] == [dict] * (len(transcript.exchanges) + 2)


def test_bytes_that_are_no_utf8_survive() -> None:
    line = b"BID \xff\xc3( \xed\xa0\x80 \x00 A".decode("utf-8", "surrogateescape")
    transcript = Transcript(
        "g", 1, 1, b"", (Exchange((Message(0, "ASK", 5),), {0: Reply(line, 1)}),), Result((1,), (Fraction(1, 3),))
    )
    data = encode(transcript)
    assert b"\\udcff" in data
    again = decode(data)
    assert again == transcript
    reply = again.exchanges[0].replies[0].line
    assert reply is not None and reply.encode("utf-8", "surrogateescape") == b"BID \xff\xc3( \xed\xa0\x80 \x00 A"


def test_half_points_are_kept_exactly() -> None:
    assert decode(SHORT).result.points == (Fraction(7, 2), -3)
    assert b'"points":["7/2",-3]' in SHORT


def test_prompts_are_flattened_in_order() -> None:
    assert [(p.exchange, p.message.seat, p.limit_ns, p.reply.line) for p in decode(SHORT).prompts()] == [
        (0, 0, 5, "yes"),
        (1, 1, 5, None),
    ]
    last = decode(SHORT).last_prompt(1)
    assert last is not None and last.reply.fault is Fault.TIMEOUT
    assert decode(SHORT).last_prompt(5) is None


# Altered without mending the chain -------------------------------------------------------------------------------


@given(st.data())
def test_no_byte_before_the_last_line_can_be_changed_unseen(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(SHORT[:-1].rpartition(b"\n")[0]) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != SHORT[at]))
    with pytest.raises(BadTranscript):
        decode(SHORT[:at] + bytes([byte]) + SHORT[at + 1 :])


@pytest.mark.parametrize("number", range(27))
def test_no_line_can_be_dropped_doubled_or_moved_unseen(number: int) -> None:
    lines = MATCH.splitlines(keepends=True)
    forgeries = {
        "dropped": lines[:number] + lines[number + 1 :],
        "doubled": lines[: number + 1] + lines[number:],
        "moved": [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]],
        "inserted": [*lines[:number], b"{}\n", *lines[number:]],
    }
    for forged in forgeries.values():
        with pytest.raises(BadTranscript):
            decode(b"".join(forged))


@given(st.integers(0, len(MATCH) - 1))
def test_a_cut_file_is_not_a_transcript(length: int) -> None:
    with pytest.raises(BadTranscript):
        decode(MATCH[:length])


def test_a_line_after_the_result_is_seen() -> None:
    for more in (b"\n", b"{}\n", MATCH.splitlines(keepends=True)[-1], b" "):
        with pytest.raises(BadTranscript):
            decode(MATCH + more)


# Altered, and the chain mended -----------------------------------------------------------------------------------


def renamed(item: dict[str, Any], old: str, new: str) -> None:
    item[new] = item.pop(old)


FORGERIES: dict[str, Callable[[Lines], object]] = {
    "another format": lambda lines: lines[0].update(deadheat=4),
    "a format that is no number": lambda lines: lines[0].update(deadheat=True),
    "another seed": lambda lines: lines[0].update(seed="00" * 15 + "01"),
    "a seed in capitals": lambda lines: lines[0].update(seed="AB", commitment=hashlib.sha256(b"\xab").hexdigest()),
    "a seed that is no hexadecimal": lambda lines: lines[0].update(seed="xyz"),
    "a game that is no text": lambda lines: lines[0].update(game=5),
    "rules that are no number": lambda lines: lines[0].update(rules="1"),
    "seats with a point": lambda lines: lines[0].update(seats=2.0),
    "more seats than ranks": lambda lines: lines[0].update(seats=3),
    "more seats than any game has": lambda lines: (
        lines[0].update(seats=257),
        lines[-1].update(ranks=[1] * 257, points=None),
    ),
    "millions of seats with as many ranks as are read": lambda lines: (
        lines[0].update(seats=60_000_000),
        lines[-1].update(ranks=[1] * 256, points=None),
    ),
    "a line to a seat that is not there": lambda lines: lines[1]["messages"][1].__setitem__(0, 2),
    "a fault of a seat that is not there": lambda lines: lines[-1].update(faults={"2": "timeout"}),
    "labels that are no object": lambda lines: lines[0].update(about=[]),
    "another header field": lambda lines: lines[0].update(more=1),
    "another field order": lambda lines: renamed(lines[0], "game", "game"),
    "a variant in the first format": lambda lines: (
        lines[0].pop("attempt"),
        lines[0].update(deadheat=1, variant={"a": 1}),
    ),
    "an attempt before the first": lambda lines: lines[0].update(attempt=0),
    "evidence that is a text": lambda lines: lines[1]["replies"][0].extend([0, {"delay_ns": "1"}]),
    "a wrong number of an exchange": lambda lines: lines[1].update(n=1),
    "no number of an exchange": lambda lines: lines[1].pop("n"),
    "a missing reply": lambda lines: lines[1]["replies"].clear(),
    "a reply to a notice": lambda lines: lines[1]["replies"].append([1, "yes", 1, None, None, 0]),
    "a doubled reply": lambda lines: lines[1]["replies"].append(lines[1]["replies"][0]),
    "a reply that is a number": lambda lines: lines[1]["replies"][0].__setitem__(1, 5),
    "a time with a point": lambda lines: lines[1]["replies"][0].__setitem__(2, 3.0),
    "an unknown fault": lambda lines: lines[1]["replies"][0].__setitem__(3, "boredom"),
    "a fault that is no text": lambda lines: lines[1]["replies"][0].__setitem__(3, False),
    "a reply that is too short": lambda lines: lines[1]["replies"][0].pop(),
    "a reply that is too long": lambda lines: lines[1]["replies"][0].append(None),
    "a message that is no text": lambda lines: lines[1]["messages"][0].__setitem__(1, None),
    "a limit that is a text": lambda lines: lines[1]["messages"][0].__setitem__(2, "5"),
    "a seat that is a list": lambda lines: lines[1]["messages"][0].__setitem__(0, []),
    "an event that is no object": lambda lines: lines[1]["events"].append("roll"),
    "events that are an object": lambda lines: lines[1].update(events={}),
    "ranks that are infinite": lambda lines: lines[-1].update(ranks=[float("inf"), 1]),
    "ranks that are no numbers": lambda lines: lines[-1].update(ranks=[float("nan"), 1]),
    "ranks that are texts": lambda lines: lines[-1].update(ranks=["1", "2"]),
    "points that fill the memory": lambda lines: lines[-1].update(points=["1e999999999", 0]),
    "points divided by nothing": lambda lines: lines[-1].update(points=["1/0", 0]),
    "points that are not reduced": lambda lines: lines[-1].update(points=["14/4", -3]),
    "points with a point": lambda lines: lines[-1].update(points=[3.5, -3]),
    "an unknown fault in the result": lambda lines: lines[-1].update(faults={"1": "boredom"}),
    "a seat with leading zeros": lambda lines: lines[-1].update(faults={"01": "timeout"}),
    "no ranks": lambda lines: lines[-1].pop("ranks"),
    "a line that is a list": lambda lines: lines.__setitem__(1, []),  # type: ignore[call-overload]
    "a header that is a number": lambda lines: lines.__setitem__(0, 1),  # type: ignore[call-overload]
}


def test_a_forger_starts_from_a_good_chain() -> None:
    assert chained(objects(SHORT)) == SHORT


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_what_no_match_can_have_written_is_refused(forge: Callable[[Lines], object]) -> None:
    lines = objects(SHORT)
    forge(lines)
    with pytest.raises(BadTranscript):
        decode(chained(lines))


def test_there_is_one_spelling_only() -> None:
    """Another spelling would give the same match a second content address."""
    lines = SHORT.splitlines()
    for last in (lines[-1].replace(b":", b": ", 1), lines[-1] + b"\r", lines[-1].replace(b'"r', b'"\\u0072', 1)):
        assert json.loads(last) == json.loads(lines[-1])
        with pytest.raises(BadTranscript, match="line 4 is not spelled"):
            decode(b"\n".join([*lines[:-1], last, b""]))


# Junk ------------------------------------------------------------------------------------------------------------

JUNK = {
    "nothing": b"",
    "newlines": b"\n\n\n\n",
    "objects": b"{}\n{}\n{}\n",
    "nulls": b"null\nnull\nnull\n",
    "deep lists": b"[" * 200_000 + b"\n{}\n{}\n",
    "deep objects": b'{"a":' * 200_000 + b"\n{}\n{}\n",
    "deep and closed": b"[" * 100_000 + b"]" * 100_000 + b"\n{}\n{}\n",
    "a huge number": b"9" * 100_000 + b"\n{}\n{}\n",
    "a huge format": b'{"deadheat":' + b"9" * 100_000 + b"}\n{}\n{}\n",
    "infinity": b"1e999\n1e999\n1e999\n",
    "no number": b"NaN\nNaN\nNaN\n",
    "bytes": bytes(range(256)) + b"\n{}\n{}\n",
    "utf-16": "{}\n{}\n{}\n".encode("utf-16"),
    "byte-order mark": b"\xef\xbb\xbf" + SHORT,
    "many lines": b"{}\n" * 200_000,
}


@pytest.mark.parametrize("data", JUNK.values(), ids=JUNK)
def test_junk_is_no_transcript(data: bytes) -> None:
    with pytest.raises(BadTranscript):
        decode(data)


def test_a_transcript_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "MAX_TRANSCRIPT_BYTES", len(SHORT) - 1)
    with pytest.raises(BadTranscript, match="larger than"):
        decode(SHORT)


def test_a_deep_or_huge_value_in_a_good_chain_is_refused_too() -> None:
    header, *rest = SHORT.splitlines()
    for junk in (b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 5_000 + b"1" + b"}" * 5_000, b"9" * 5_000):
        lines = [header.replace(b'{"match":"m"}', b'{"match":' + junk + b"}")]
        for line in rest:
            prev = hashlib.sha256(lines[-1]).hexdigest().encode()
            lines.append(line.replace(json.loads(line)["prev"].encode(), prev))
        with pytest.raises(BadTranscript):
            decode(b"\n".join([*lines, b""]))


@given(st.binary(max_size=300) | st.lists(json_values, max_size=5).map(chained))  # type: ignore[arg-type]
def test_random_junk_raises_nothing_else(data: bytes) -> None:
    with pytest.raises(BadTranscript):
        decode(data)


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [*([path] if path else []), *(place for key in keys for place in places(value[key], (*path, key)))]  # type: ignore[index]


@given(st.data())
@examples(300)
def test_any_value_replaced_in_a_good_chain_raises_nothing_else(data: st.DataObject) -> None:
    lines = objects(SHORT)
    path = data.draw(st.sampled_from(places(lines)))
    inner: Any = lines
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = data.draw(json_values)
    try:
        forged = chained(lines)
        transcript = decode(forged)
    except BadTranscript:
        return
    assert encode(transcript) == forged
    assert all(prompt.reply is not None for prompt in transcript.prompts())
