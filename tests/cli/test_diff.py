"""`deadheat diff`, and recorded opponents in games that tell their players the time."""

import json
from pathlib import Path

import pytest

from deadheat.cli.author.diff import first_difference
from deadheat.cli.local.bots import parting
from deadheat.engine.core import Fault
from deadheat.engine.replay import without_clocks
from tests.cli.command import GAME, RANDOM, invoke, played, read, succeeded

BETRIS = "betris-large"
ANSWER = "        reply = bot.answer(line)\n"
DICE = ("--seed", "the same")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A match that others are compared with."""
    return played(tmp_path_factory.mktemp("first"), "house:greedy", "house:expert", options=DICE)


def test_the_first_different_answer_is_shown_with_lines_and_times(first: Path, tmp_path: Path) -> None:
    second = played(tmp_path, "house:counter", "house:expert", options=DICE)
    done = invoke("diff", str(first), str(second))
    assert done.returncode == 1 and max(map(len, done.stdout.splitlines())) <= 80 + len(str(tmp_path))
    facts = json.loads(invoke("diff", str(first), str(second), "--json").stdout)
    assert (facts["same"], facts["seat"]) == (False, 0)
    assert f"until exchange {facts['exchange']} in round " in done.stdout
    assert "where seat 1 answers differently." in done.stdout
    assert (facts["a"]["bot"], facts["b"]["bot"]) == ("house:greedy", "house:counter")
    assert facts["a"]["sent"] == facts["b"]["sent"] and facts["a"]["replied"] != facts["b"]["replied"]
    for side in (facts["a"], facts["b"]):
        assert side["own_ns"] > 0 and f">> {side['replied']}   " in done.stdout
    before = [transcript.exchanges[: facts["exchange"]] for transcript in map(read, (first, second))]
    lines = [[{seat: r.line for seat, r in x.replies.items()} for x in exchanges] for exchanges in before]
    assert lines[0] == lines[1], "nothing before it differs"


def test_a_missing_answer_is_a_difference(first: Path, tmp_path: Path) -> None:
    silent = tmp_path / "silent.py"
    ends = "        if not line.startswith('READY'): sys.exit()\n"
    silent.write_text(Path(RANDOM).read_text().replace(ANSWER, ends + ANSWER))
    second = played(tmp_path, str(silent), "house:expert", options=DICE)
    facts = json.loads(invoke("diff", str(first), str(second), "--json").stdout)
    assert (facts["b"]["replied"], facts["b"]["fault"]) == (None, Fault.EXITED)


def test_the_same_answers_are_no_difference(first: Path, tmp_path: Path) -> None:
    again = played(tmp_path, "house:greedy", "house:expert", options=DICE)
    shown = succeeded(invoke("diff", str(first), str(again))).stdout
    assert shown.startswith("All answers in ") and shown.endswith(" are the same; only times may differ.\n")


@pytest.mark.parametrize(("game", "seed", "what"), [(GAME, "another", "dice"), (BETRIS, "the same", "game")])
def test_other_matches_are_not_compared(game: str, seed: str, what: str, first: Path, tmp_path: Path) -> None:
    other = played(tmp_path, "house:greedy", "house:expert", game=game, options=("--seed", seed))
    done = invoke("diff", str(first), str(other))
    assert done.returncode == 2 and f"are different matches: not the same {what}" in done.stderr


def test_a_recording_fits_although_the_time_that_is_left_differs(tmp_path: Path) -> None:
    first = played(tmp_path / "a", "house:greedy", "house:expert", game=BETRIS, options=DICE)
    again = played(tmp_path / "b", "house:greedy", f"recorded:{first}#2", game=BETRIS, options=DICE)
    one, other = read(first), read(again)
    assert first_difference(one, other) is None and parting(one, 1, other, 1) is None
    assert [x.messages for x in without_clocks(one)] == [x.messages for x in without_clocks(other)]
    assert [x.replies.keys() for x in without_clocks(one)] == [x.replies.keys() for x in one.exchanges]
