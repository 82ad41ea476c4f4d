"""People are told the same about a reply's own time everywhere (ruling C-03)."""

from __future__ import annotations

import json

import pytest

from deadheat.engine.core import NS_PER_MS, Fault, Reply
from deadheat.engine.own_time import Evidence
from deadheat.engine.scenes import document, scenes
from deadheat.engine.transcript import Prompt
from deadheat.engine.verdicts import Taken, evidence_words, hint, past_deadline, slowest, took, used
from tests.engine.busy import COUNTED, INSIDE, LATE_NS, TAKEN_NS, on_a_busy_host, taken, with_reply
from tests.engine.golden import NAMES, read

pytestmark = pytest.mark.quick

CALM, BUSY = read("yacht-auction"), read("yacht-auction-busy")


def test_the_golden_transcript_of_a_busy_host_is_that_of_a_calm_one_with_its_times() -> None:
    assert on_a_busy_host(CALM) == BUSY


def prompt_of(number: int) -> Prompt:
    return next(p for p in BUSY.prompts() if (p.exchange, p.message.seat) == (number, 0))


def test_a_reply_past_the_deadline_is_told_apart_from_one_inside_it() -> None:
    assert [p.exchange for p in BUSY.prompts() if past_deadline(p)] == [COUNTED]
    assert used(prompt_of(COUNTED)) == (500 * NS_PER_MS + LATE_NS - TAKEN_NS) / (500 * NS_PER_MS) == 0.96
    assert took(prompt_of(COUNTED).reply) == "480 ms (the host took 150 ms more)"
    assert not any(map(past_deadline, CALM.prompts()))
    assert took(Reply("OK", 7 * NS_PER_MS)) == "7.0 ms"


def test_a_timeout_did_not_count() -> None:
    late = prompt_of(COUNTED)
    assert not past_deadline(late._replace(reply=late.reply._replace(line=None, fault=Fault.TIMEOUT)))


def test_what_the_host_took_is_added_up() -> None:
    found = Taken.of(BUSY.prompts())
    assert found == Taken(TAKEN_NS + LATE_NS, 2, 1)
    assert found.sentence == "The host took 280 ms from 2 replies; 1 counted past the deadline."
    assert (Taken.of(CALM.prompts()), Taken().sentence) == (Taken(), "")
    assert found + found == Taken(2 * (TAKEN_NS + LATE_NS), 4, 2)


def test_the_slowest_answers_are_so_by_own_time() -> None:
    """The answer from which the host took more than a whole limit is the faster one of two."""
    limit_ns = prompt_of(INSIDE).limit_ns
    reply = taken(prompt_of(INSIDE).reply, 3 * limit_ns, full_ns=3 * limit_ns - 450 * NS_PER_MS)
    assert [prompt.exchange for prompt in slowest(with_reply(BUSY, INSIDE, 0, reply), 0, 2)] == [COUNTED, INSIDE]


def test_the_hint_weighs_processor_time_against_own_time() -> None:
    late = prompt_of(COUNTED)
    missed = late._replace(reply=late.reply._replace(line=None, fault=Fault.TIMEOUT))
    assert hint(Fault.TIMEOUT, missed) == (
        "90.0 ms of CPU time within 480 ms, not counting 150 ms that the host took: "
        "it was waiting for something, or had answered without a newline or a flush."
    )


def test_evidence_says_who_took_what() -> None:
    took_ms = {"cpu_ns": 400, "full_ns": 200, "steal_ns": 20, "frozen_ns": 30, "referee_ns": 40, "unseen_ns": 50}
    evidence = Evidence(900 * NS_PER_MS, **{name: ms * NS_PER_MS for name, ms in took_ms.items()})  # type: ignore[arg-type]
    assert evidence_words({"limit_ns": 500 * NS_PER_MS, **evidence.as_dict()}) == (
        "limit 500 ms, 900 ms passed, 630 ms of it your program's own, 270 ms taken from it by the host (it waited "
        "200 ms for a processor, the hypervisor took 20.0 ms, its container was stopped for 30.0 ms, the referee "
        "waited 40.0 ms to write the prompt, the answer may have waited unread for 50.0 ms), 400 ms of CPU time used"
    )
    nothing = Evidence(510 * NS_PER_MS, cpu_ns=3 * NS_PER_MS, full_ns=NS_PER_MS // 10)
    assert evidence_words(nothing.as_dict()).endswith("3.0 ms of CPU time used")


def test_evidence_of_older_ledgers_is_still_told() -> None:
    """It does not say who took what."""
    old = {"seat": 0, "limit_ns": 5_000_000, "wall_ns": 9_000_000, "stolen_ns": 2_000_000, "signal": "pressure"}
    assert evidence_words(old) == "limit 5 ms, 9.0 ms passed, 2.0 ms taken from it by the host"


def test_viewers_get_own_time_and_what_was_taken() -> None:
    (answer,) = {a for scene in scenes(BUSY, NAMES[:2]) for a in scene.answers if a.stolen_ms == TAKEN_NS / NS_PER_MS}
    assert (answer.seat, answer.elapsed_ms, answer.limit_ms) == (0, 630, 500)
    assert '"stolen_ms": 150.0' in json.dumps(document(BUSY, NAMES[:2]))
