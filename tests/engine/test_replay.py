"""Verification: an honest transcript replays to equality, and a forgery is found at the exchange that was forged.

Every forgery here is encoded with a correct chain of hashes, so only the rules can detect it.
"""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine.core import FOUND_BY_RULES, Fault, Message, Reply, Result
from deadheat.engine.games import GAMES
from deadheat.engine.memory import Answer
from deadheat.engine.own_time import WATCH_NS
from deadheat.engine.replay import Diverged, RecordedTransport, replay
from deadheat.engine.transcript import Exchange, Transcript, decode, encode
from deadheat.games.yacht_auction.rules import YachtAuction
from tests.engine import busy
from tests.engine.busy import taken
from tests.engine.golden import TRANSCRIPTS
from tests.engine.players import GAME, Legal, faulty, play
from tests.lanes import examples

pytestmark = pytest.mark.quick

MATCH = play(1, Legal(2, 400_000_000), Legal(3, 400_000_000))
LAST = len(MATCH.exchanges) - 1  # the exchange with FINISH
ROLL, SCORE = 12, 13  # two exchanges in the middle, named after what they ask


def with_exchange(number: int, exchange: Exchange) -> Transcript:
    return replace(MATCH, exchanges=(*MATCH.exchanges[:number], exchange, *MATCH.exchanges[number + 1 :]))


with_reply = partial(busy.with_reply, MATCH)


def with_message(number: int, place: int, **changes: object) -> Transcript:
    messages = list(MATCH.exchanges[number].messages)
    messages[place] = messages[place]._replace(**changes)  # type: ignore[arg-type]
    return with_exchange(number, MATCH.exchanges[number]._replace(messages=tuple(messages)))


def with_event(number: int, place: int, **changes: object) -> Transcript:
    events = list(MATCH.exchanges[number].events)
    events[place] = {**events[place], **changes}
    return with_exchange(number, MATCH.exchanges[number]._replace(events=tuple(events)))


def verify(transcript: Transcript) -> Transcript:
    """Verify a transcript from its bytes, as anyone would."""
    return replay(GAME, decode(encode(transcript)))


def reply_of(number: int, seat: int = 0) -> Reply:
    return MATCH.exchanges[number].replies[seat]


# Honest transcripts ----------------------------------------------------------------------------------------------


@given(st.integers(0, 2**63))
@examples(50)
def test_an_honest_transcript_replays_to_equality(number: int) -> None:
    transcript = play(number, Legal(number, 400_000_000))
    assert verify(transcript) == transcript


@given(
    st.integers(0, 24),
    st.integers(0, 24),
    st.sampled_from(
        [None, "", "OK", "BID A 100001", "PUT \udcff 1", Answer(None, 7, Fault.UNEXPECTED), Answer(None, 7)]
    ),
)
def test_a_match_with_faults_replays_to_equality(first: int, second: int, answer: Answer | str | None) -> None:
    transcript = play(3, faulty(Legal(1), first, answer), faulty(Legal(2), second, answer))
    again = verify(transcript)
    assert (again, encode(again)) == (transcript, encode(transcript))


def test_measured_times_are_part_of_the_record_and_labels_are_not_looked_at() -> None:
    slow = with_reply(ROLL, 0, reply_of(ROLL)._replace(elapsed_ns=500_000_000, cpu_ns=12, late_ns=7))
    assert verify(slow) == slow
    labelled = replace(MATCH, about={"match": "another", "bots": ["a", "b"]})
    assert verify(labelled) == labelled


@pytest.mark.parametrize("fault", Fault)
def test_only_what_the_rules_find_cannot_come_without_a_line(fault: Fault) -> None:
    with pytest.raises(Diverged) as found:
        verify(with_reply(ROLL, 0, Reply(None, 500_000_000, fault)))
    assert ("before the rules saw it" in str(found.value)) is (fault in FOUND_BY_RULES)


# Forged transcripts ----------------------------------------------------------------------------------------------

FORGERIES: dict[str, tuple[Transcript, int]] = {
    # What was sent.
    "a roll": (with_message(ROLL, -1, line="ROLL 11111 66666"), ROLL),
    "a GET": (with_message(SCORE, 0, line="GET A B 100000"), SCORE),
    "a SET": (with_message(ROLL, 1, line="SET YACHT 66666"), ROLL),
    "a limit": (with_message(ROLL, -1, limit_ns=500_000_001), ROLL),
    "the limit of READY": (with_message(0, 0, limit_ns=5), 0),
    "a seat": (with_message(LAST, -1, seat=0), LAST),
    "a notice less": (
        with_exchange(ROLL, MATCH.exchanges[ROLL]._replace(messages=MATCH.exchanges[ROLL].messages[1:])),
        ROLL,
    ),
    "a notice more": (
        with_exchange(
            SCORE, MATCH.exchanges[SCORE]._replace(messages=(*MATCH.exchanges[SCORE].messages, Message(0, "HI")))
        ),
        SCORE,
    ),
    "the order of lines": (
        with_exchange(ROLL, MATCH.exchanges[ROLL]._replace(messages=MATCH.exchanges[ROLL].messages[::-1])),
        ROLL,
    ),
    # What came back: a reply that the rules accept is detected in the next exchange, where it first has an effect.
    "another bid": (with_reply(ROLL, 0, reply_of(ROLL)._replace(line="BID A 4321")), ROLL + 1),
    "another scoring": (with_reply(SCORE, 0, reply_of(SCORE)._replace(line=str(reply_of(3).line))), SCORE + 1),
    "an illegal bid": (with_reply(ROLL, 1, reply_of(ROLL)._replace(line="BID A 100001")), ROLL + 1),
    "no OK": (with_reply(0, 0, reply_of(0)._replace(line="KO")), 1),
    "the last scoring": (with_reply(24, 0, reply_of(24)._replace(line="PUT YACHT 77777")), 25),
    "an invented timeout": (with_reply(ROLL, 0, Reply(None, 500_000_000, Fault.TIMEOUT)), ROLL + 1),
    "an invented exit": (with_reply(24, 1, Reply(None, 5, Fault.EXITED)), 25),
    # What no referee can have recorded.
    "a late reply that was counted": (with_reply(ROLL, 0, reply_of(ROLL)._replace(elapsed_ns=500_000_001)), ROLL),
    "a late READY that was counted": (with_reply(0, 1, reply_of(0)._replace(elapsed_ns=3_000_000_001)), 0),
    "a timeout before its time": (with_reply(ROLL, 0, Reply(None, 499_999_999, Fault.TIMEOUT)), ROLL),
    "a reply before its prompt": (with_reply(ROLL, 0, reply_of(ROLL)._replace(elapsed_ns=-1)), ROLL),
    "a reply of two lines": (with_reply(ROLL, 0, reply_of(ROLL)._replace(line="BID A 1\nBID A 1")), ROLL),
    "a reply of 5000 bytes": (with_reply(ROLL, 0, reply_of(ROLL)._replace(line="BID A 1" + 5000 * " ")), ROLL),
    "a reply that no bytes are": (with_reply(ROLL, 0, reply_of(ROLL)._replace(line="BID \ud800 1")), ROLL),
    "a line with a fault": (with_reply(SCORE, 0, reply_of(SCORE)._replace(fault=Fault.TIMEOUT)), SCORE),
    "neither line nor fault": (with_reply(SCORE, 0, Reply(None, 5)), SCORE),
    "a verdict of the rules": (with_reply(SCORE, 0, Reply(None, 5, Fault.ILLEGAL)), SCORE),
    # What a viewer was shown.
    "the dice of a roll": (with_event(ROLL, -1, a="66666"), ROLL),
    "a coin": (with_event(SCORE, 0, coin="yes"), SCORE),
    "points": (with_event(ROLL, 0, points=1), ROLL),
    "the final total": (with_event(LAST, -1, total=[1, 2]), LAST),
    "an event less": (with_exchange(ROLL, MATCH.exchanges[ROLL]._replace(events=())), ROLL),
    "an event more": (with_exchange(0, MATCH.exchanges[0]._replace(events=({"type": "roll"},))), 0),
    # Whole exchanges.
    "the first exchange is missing": (replace(MATCH, exchanges=MATCH.exchanges[1:]), 0),
    "an exchange is missing": (replace(MATCH, exchanges=MATCH.exchanges[:ROLL] + MATCH.exchanges[SCORE:]), ROLL),
    "the farewell is missing": (replace(MATCH, exchanges=MATCH.exchanges[:-1]), LAST),
    "the second half is missing": (replace(MATCH, exchanges=MATCH.exchanges[:ROLL]), ROLL),
    "no exchanges at all": (replace(MATCH, exchanges=()), 0),
    "an exchange twice": (replace(MATCH, exchanges=MATCH.exchanges[: ROLL + 1] + MATCH.exchanges[ROLL:]), ROLL + 1),
    "two exchanges swapped": (
        replace(
            MATCH,
            exchanges=(*MATCH.exchanges[:ROLL], *MATCH.exchanges[ROLL : ROLL + 2][::-1], *MATCH.exchanges[ROLL + 2 :]),
        ),
        ROLL,
    ),
    "an exchange after the end": (replace(MATCH, exchanges=(*MATCH.exchanges, Exchange((), {}))), LAST + 1),
    # The header and the result.
    "the seed": (replace(MATCH, seed=bytes(16)), 1),
    "ranks": (replace(MATCH, result=replace(MATCH.result, ranks=MATCH.result.ranks[::-1])), LAST + 1),
    "one rank more": (replace(MATCH, result=replace(MATCH.result, ranks=(1, 1))), LAST + 1),
    "no points": (replace(MATCH, result=replace(MATCH.result, points=None)), LAST + 1),
    "half a point": (replace(MATCH, result=replace(MATCH.result, points=(Fraction(1, 2), 0))), LAST + 1),
    "a fault in the result": (replace(MATCH, result=replace(MATCH.result, faults={0: Fault.EXITED})), LAST + 1),
}


@pytest.mark.parametrize(("forged", "at_exchange"), FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_found_where_it_was_made(forged: Transcript, at_exchange: int) -> None:
    assert forged != MATCH
    with pytest.raises(Diverged) as diverged:
        replay(GAME, forged)
    assert diverged.value.at_exchange == at_exchange
    assert f"exchange {at_exchange}" in str(diverged.value)
    with pytest.raises(Diverged):
        verify(forged)


FIRST_ROLL = MATCH.exchanges[1].events[0]


@pytest.mark.parametrize(
    "event",
    [{**FIRST_ROLL, "round": 1.0}, {**FIRST_ROLL, "round": True}, dict(reversed(list(FIRST_ROLL.items())))],
    ids=["a whole number as a float", "a number as a truth", "keys in another order"],
)
def test_what_python_takes_for_equal_is_a_forgery_all_the_same(event: dict[str, object]) -> None:
    assert event == FIRST_ROLL
    with pytest.raises(Diverged, match="exchange 1: the events differ"):
        verify(with_exchange(1, MATCH.exchanges[1]._replace(events=(event,))))


@given(st.integers(0, 2**32), st.data())
@examples(200)
def test_any_line_or_event_forged_anywhere_is_found_there(number: int, data: st.DataObject) -> None:
    honest = play(number)
    at = data.draw(st.integers(0, len(honest.exchanges) - 1))
    exchange = honest.exchanges[at]
    an_event = data.draw(st.booleans()) and exchange.events != ()
    if an_event:
        place = data.draw(st.integers(0, len(exchange.events) - 1))
        key = data.draw(st.sampled_from(sorted(exchange.events[place])))
        event = {**exchange.events[place], key: data.draw(st.integers() | st.text()).__repr__()}
        forged = exchange._replace(events=(*exchange.events[:place], event, *exchange.events[place + 1 :]))
    else:
        place = data.draw(st.integers(0, len(exchange.messages) - 1))
        message = exchange.messages[place]
        line = data.draw(st.text(alphabet="ABGETSROL 0123456", max_size=20).filter(lambda line: line != message.line))
        messages = (*exchange.messages[:place], message._replace(line=line), *exchange.messages[place + 1 :])
        forged = exchange._replace(messages=messages)
    transcript = replace(honest, exchanges=(*honest.exchanges[:at], forged, *honest.exchanges[at + 1 :]))
    with pytest.raises(Diverged) as diverged:
        verify(transcript)
    assert diverged.value.at_exchange == at


@given(
    st.integers(0, 24),
    st.sampled_from([0, 1]),
    st.text(max_size=20) | st.sampled_from(["OK", "BID B 0", "PUT ONE 12345"]),
)
@examples(200)
def test_any_reply_forged_anywhere_is_found_in_the_next_exchange(at: int, seat: int, line: str) -> None:
    """Another blank changes nothing, and no reply can contain a line break."""
    forged = with_reply(at, seat, reply_of(at, seat)._replace(line=line))
    if line.split() == str(reply_of(at, seat).line).split():
        return
    with pytest.raises(Diverged) as diverged:
        replay(GAME, forged)
    assert diverged.value.at_exchange == (at if "\n" in line else at + 1)


# Transcripts that cannot be checked ------------------------------------------------------------------------------


class NextYear(YachtAuction):
    """The game after a change of its rules."""

    rules_version = 2


def test_a_transcript_of_something_else_is_not_judged() -> None:
    with pytest.raises(ValueError, match="not of yacht-auction"):
        replay(GAME, replace(MATCH, game="chess"))
    with pytest.raises(ValueError, match="version 1 of the rules; this is version 2"):
        replay(NextYear(), MATCH)
    with pytest.raises(ValueError, match="2 seats, not 3"):
        replay(GAME, replace(MATCH, seats=3))


def test_a_recorded_transport_gives_replies_only_for_the_recorded_lines() -> None:
    message = Message(0, "ASK", 5)
    exchanges = Exchange((message,), {0: Reply("yes", 1)}), Exchange((message,), {})
    transport = RecordedTransport(Transcript("g", 1, 1, b"", exchanges, Result((1,), None)))
    assert transport.exchange([message]) == {0: Reply("yes", 1)}
    with pytest.raises(Diverged, match="replies of"):
        transport.exchange([message])


# Own time (ruling C-03) ------------------------------------------------------------------------------------------

HALF_S = 500_000_000


def test_a_reply_past_the_wall_deadline_counts_if_its_own_time_is_inside_the_limit() -> None:
    reply = taken(reply_of(ROLL), HALF_S + 30_000_000, full_ns=30_000_000)
    assert reply.own_ns == HALF_S
    late = with_reply(ROLL, 0, reply)
    assert verify(late) == late


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(taken(reply_of(ROLL), HALF_S + 30_000_001, full_ns=30_000_000), id="a nanosecond of its own"),
        pytest.param(
            taken(reply_of(ROLL), HALF_S + 30_000_000, full_ns=1_000_000)._replace(stolen_ns=30_000_000), id="invented"
        ),
        pytest.param(reply_of(ROLL)._replace(elapsed_ns=HALF_S + 9, stolen_ns=9), id="without evidence"),
        pytest.param(taken(reply_of(ROLL), HALF_S + 400_000, full_ns=400_000), id="less than the noise"),
        pytest.param(
            taken(reply_of(ROLL), HALF_S + 30_000_000, full_ns=60_000_000)._replace(line=None, fault=Fault.TIMEOUT),
            id="an innocent convicted",
        ),
    ],
)
def test_own_time_is_not_a_matter_of_belief(reply: Reply) -> None:
    with pytest.raises(Diverged) as found:
        verify(with_reply(ROLL, 0, reply))
    assert found.value.at_exchange == ROLL


def test_what_was_played_stays_as_it_was_judged() -> None:
    """By the rules until 2026-11-23, until 2026-11-28, and since: the bot ran for longer than its waits leave room."""
    counters = {"cpu_ns": 450_000_000, "full_ns": 35_000_000, "leader_cpu_ns": 0, "delay_ns": 549_000_000}
    now = taken(reply_of(ROLL), HALF_S - 1, processors=1, **counters)
    once_ns, then_ns = 54_999_999, 52_812_499
    assert now.stolen_ns == 49_999_999
    by_now = with_reply(ROLL, 0, now)
    assert verify(by_now) == by_now
    for clock, stolen_ns in ((1, once_ns), (1, then_ns), (2, once_ns), (2, then_ns), (1, now.stolen_ns)):
        judged = replace(with_reply(ROLL, 0, now._replace(stolen_ns=stolen_ns)), clock=clock)
        if clock == 1 and stolen_ns != now.stolen_ns:
            assert verify(judged) == judged
        else:
            with pytest.raises(Diverged, match="than its evidence shows"):
                verify(judged)


MS = 1_000_000


@pytest.mark.parametrize(
    ("wrong", "counters"),
    [
        ("negative", {"full_ns": -1}),
        ("more CPU time", {"cpu_ns": 1_000 * HALF_S}),
        ("many processors", {"cpu_ns": 1, "processors": 0}),  # it would bound nothing
        ("many processors", {"cpu_ns": 1_000 * HALF_S, "processors": 10**9}),
        ("for longer than that existed", {"cpu_ns": 300 * MS, "full_ns": 230 * MS}),
        ("more time than passed", {"cpu_ns": 0, "full_ns": 540 * MS}),
        ("more time than passed", {"cpu_ns": 0, "frozen_ns": 9_000 * MS}),
        ("more time than passed", {"cpu_ns": 0, "earlier_ns": 9_000 * MS, "unseen_ns": 1}),
        ("was away for longer", {"cpu_ns": 0, "referee_ns": 9_000 * MS, "wall_ns": 9_100 * MS}),
        ("was away for longer", {"cpu_ns": 400 * MS, "read_ns": 9_000 * MS}),
        ("was away for longer", {"cpu_ns": 0, "unseen_ns": 501 * MS}),
    ],
)
def test_evidence_that_cannot_be_is_refused(wrong: str, counters: dict[str, int]) -> None:
    shown = {"wall_ns": HALF_S, "full_ns": 0, "processors": 1} | counters
    with pytest.raises(Diverged, match=wrong):
        verify(with_reply(ROLL, 0, taken(reply_of(ROLL), shown.pop("wall_ns"), **shown)))


def test_a_reply_does_not_use_more_processor_time_than_there_was() -> None:
    """Its processor time is said without any evidence too."""
    quick = reply_of(ROLL)._replace(elapsed_ns=1, evidence=None, cpu_ns=1_000 * HALF_S)
    with pytest.raises(Diverged, match="more CPU time than there was"):
        verify(with_reply(ROLL, 0, quick))


def test_a_reply_that_came_after_the_watch_was_not_counted_by_any_referee() -> None:
    wall_ns = HALF_S + WATCH_NS + 1
    with pytest.raises(Diverged, match="after the referee's watch"):
        verify(with_reply(ROLL, 0, taken(reply_of(ROLL), wall_ns, cpu_ns=0, full_ns=wall_ns, processors=1)))


@pytest.mark.parametrize("version", [1, 2])
def test_transcripts_of_earlier_formats_still_verify(version: int) -> None:
    files = sorted((TRANSCRIPTS / f"version-{version}").iterdir())
    assert len(files) == 3
    for path in files:
        data = path.read_bytes()
        old = decode(data)
        assert data.startswith(b'{"deadheat":%d,' % version) and (old.attempt, old.clock) == (1, 1)
        assert replay(GAMES[old.game], old) == old
        assert decode(encode(old)) == old  # nothing is lost in today's format


def test_a_further_attempt_is_played_with_the_next_seed_of_the_list() -> None:
    first, third = (replace(MATCH, attempt=number) for number in (1, 3))
    assert verify(first) == MATCH
    with pytest.raises(Diverged):
        verify(third)
