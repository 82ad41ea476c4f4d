"""`deadheat losses`: lost matches of a league, played again at home."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.cli.author.diff import first_difference
from deadheat.cli.local.bots import HIDDEN
from deadheat.cli.server.api_client import Client
from deadheat.engine.games.folder import bots_of
from deadheat.engine.transcript import Transcript, encode
from deadheat.league.records.matches import Match
from tests.cli.command import GAME, assert_one_sentence, invoke, played, read, succeeded
from tests.league.told import NUMBER, labelled, told

GREEDY = (bots_of(GAME) / "greedy" / "main.py").read_text()
BID = "return f\"BID {wanted} {abs(points['A'] - points['B']) // 2}\""
GOOD, RIVAL = GREEDY.replace(BID, 'return "BID A 0"'), GREEDY.replace(BID, 'return "BID B 0"')
"""Two bots that never want the same dice, so that nothing that one does changes what the other can do."""

BAD = GOOD.replace("return max(", "return min(")
FAILING = GOOD.replace('if command == "SCORE":', 'if command == "SCORE":\n            assert len(self.unused) != 8')


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-bot").mkdir()
    return tmp_path / "my-bot"


def serve(monkeypatch: pytest.MonkeyPatch, transcript: Transcript) -> None:
    """Let the league have one match that bot 2 lost, and another that is not public yet."""
    content = encode(labelled(transcript))
    match = replace(told(labelled(transcript)), transcript_sha256=hashlib.sha256(content).hexdigest())

    def matches(_: Client, bot: int, lost: bool, **chosen: object) -> Iterator[Match]:
        assert (bot, lost) == (2, True)
        return iter([match, replace(match, id=NUMBER + 1, seed=None)])

    monkeypatch.setattr(Client, "matches", matches)
    monkeypatch.setattr(Client, "transcript", lambda *_: content)


def again(*options: str, code: int) -> list[dict[str, Any]]:
    done = invoke("losses", "2", "my-bot", "--sandbox", "local", "--json", *options)
    assert done.returncode == code, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def lost(bot: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Transcript:
    """A match that the program `request.param` has lost, as the league has it."""
    (bot / "main.py").write_text(request.param)
    (bot.parent / "rival.py").write_text(RIVAL)
    match = read(played(bot.parent / "then", "rival.py", "my-bot", options=("--seed", "some dice")))
    assert match.result.ranks == (1, 2)
    serve(monkeypatch, match)
    return match


@pytest.mark.parametrize("lost", [BAD], indirect=True)
def test_a_match_that_would_now_be_won_must_stay_won(bot: Path, lost: Transcript) -> None:
    (same,) = again(code=0)
    assert (same["match"], same["now"], same["first_difference"]) == (NUMBER, "lost", None)
    assert same["fits_until"] is None
    (bot / "main.py").write_text(GOOD)
    (row,) = again(code=0)
    assert (row["then"], row["now"], row["won"]) == ("lost", "won", True)
    first = first_difference(lost, read(Path(row["files"][1])))
    assert first is not None and row["first_difference"]["exchange"] == first.exchange and first.seat == 1
    assert row["fits_until"] == first.exchange + 1, "the rival is told of another result"
    shown = succeeded(invoke("losses", "2", "my-bot", "--sandbox", "local", "--offline")).stdout
    assert "1 of 1 match would now be won." in shown and "stopped fitting is a hint" in shown
    assert max(map(len, (line for line in shown.splitlines() if "deadheat diff" not in line))) <= 80
    (bot / "main.py").write_text(BAD)
    (row,) = again("--offline", code=1)
    assert (row["now"], row["lost_again"]) == ("lost", True)


@pytest.mark.parametrize("lost", [FAILING], indirect=True)
def test_a_fault_that_is_gone_must_not_come_back(bot: Path, lost: Transcript) -> None:
    (bot / "main.py").write_text(GOOD)
    (row,) = again(code=0)
    assert (row["now"], row["won"], row["lost_again"]) == ("no fault", False, False)
    assert row["first_difference"]["exchange"] == len(lost.exchanges) - 2
    (bot / "main.py").write_text(FAILING)
    assert again(code=1)[0]["lost_again"] is True


@pytest.mark.parametrize("lost", [BAD], indirect=True)
def test_a_recording_that_fails_says_nothing_and_other_rules_are_left_out(bot: Path, lost: Transcript) -> None:
    (bot / "main.py").write_text(RIVAL)
    (row,) = again(code=0)
    assert (row["now"], row["won"]) == ("unclear", False)
    shown = succeeded(invoke("losses", "2", "my-bot", "--sandbox", "local")).stdout
    assert "1 unclear: a recording failed after it had stopped fitting." in shown
    kept = bot / HIDDEN / "losses" / f"match-{NUMBER}-2.jsonl"
    kept.write_bytes(encode(replace(labelled(lost), rules_version=99)))
    (kept.parent / "match-7-2-my-copy.jsonl").touch()
    done = invoke("losses", "2", "my-bot", "--sandbox", "local", "--offline")
    assert "left out: match 7: it was played under version 99 of the rules" in done.stderr
    assert "No lost match to play again." in done.stdout


def test_a_folder_must_be_named() -> None:
    assert_one_sentence(invoke("losses", "2", "nowhere"), "nowhere is not a folder")
