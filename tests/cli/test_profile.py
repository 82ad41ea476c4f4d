"""`play --profile` shows where a Python bot's time goes, without a deadline, and `explain` shows it again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from deadheat.cli.local.profiled_bot import MARK
from deadheat.cli.local.profiling import PATIENCE_NS, Unhurried
from deadheat.engine.core import Message, Reply, Seat
from tests.cli.command import GAME, RANDOM, assert_one_sentence, invoke, played, succeeded

BUSY = """
import sys
sys.stderr.write("begins\\n")

def waste():
    total = 0
    for number in range(200000):
        total += number

import helper
for line in sys.stdin:
    if line.startswith("READY"):
        waste()
        helper.little()
        print("OK", flush=True)
    elif line.startswith("ROLL"):
        waste()
        1 / 0
"""


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    folder = tmp_path / "busy"
    folder.mkdir()
    (folder / "main.py").write_text(BUSY)
    (folder / "helper.py").write_text("def little():\n    return 1\n")
    return folder


def test_the_function_that_takes_the_time_comes_first_also_when_the_bot_crashes(busy: Path, tmp_path: Path) -> None:
    file = played(tmp_path / "kept", str(busy), RANDOM, options=["--profile", "1"])
    said = json.loads(succeeded(invoke("explain", str(file), "--seat", "1", "--json")).stdout)
    assert said["fault"] == "exited"
    places = [row["place"] for row in said["profile"]]
    assert places[0] == "main.py:5 waste"
    assert said["profile"][0]["calls"] == 2
    assert said["command"] == "ROLL", "it got past READY, so it imports the files beside it"
    assert not any("/" in place for place in places)
    assert "ZeroDivisionError" in said["stderr"]
    stderr = file.with_name(f"{file.stem}.seat1.stderr").read_text()
    assert stderr.startswith("begins\n")
    assert MARK not in stderr
    shown = succeeded(invoke("explain", str(file), "--seat", "1")).stdout
    assert "main.py:5 waste" in shown
    assert "not judged" in shown


def test_the_summary_of_several_matches_has_their_sum_and_an_unprofiled_bot_has_none(tmp_path: Path) -> None:
    words = (GAME, RANDOM, RANDOM, "--sandbox", "local", "--matches", "2", "--transcripts", str(tmp_path))
    done = succeeded(invoke("play", *words, "--profile", "2", "--json"))
    first, second = json.loads(done.stdout.splitlines()[-1])["summary"]["bots"]
    assert "profile" not in first
    assert next(row["calls"] for row in second["profile"] if row["place"].endswith(" main")) == 2
    assert not list(tmp_path.glob("*.seat2.stderr")), "the bot wrote nothing there itself"
    assert "profiler" not in succeeded(invoke("play", *words)).stdout


def test_only_python_in_a_seat_that_exists_is_profiled(tmp_path: Path) -> None:
    (tmp_path / "bot").write_text("#!/bin/sh\nread line\n")
    (tmp_path / "bot").chmod(0o755)
    words = ("play", GAME, RANDOM, str(tmp_path / "bot"), "--sandbox", "local", "--profile")
    assert_one_sentence(invoke(*words, "2"), "--profile knows only Python")
    assert_one_sentence(invoke(*words, "3"), "--profile takes a seat from 1 to 2")


def test_a_profiled_seat_has_an_hour_for_each_answer_and_the_others_their_limit() -> None:
    asked: list[Message] = []

    class Asks:
        def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
            asked.extend(messages)
            return {}

    Unhurried(Asks(), frozenset([1])).exchange(
        [Message(0, "A", 5), Message(1, "A", 5), Message(1, "B"), Message(1, "C", 0)]
    )
    assert [message.limit_ns for message in asked] == [5, PATIENCE_NS, None, PATIENCE_NS]
