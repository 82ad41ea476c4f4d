"""What people and programs that learn see of a match."""

from __future__ import annotations

import io
import json
import random
import re

import numpy as np
import pytest
from rich.console import Console

import deadheat
from deadheat.cli.game.check import translations
from deadheat.cli.replays.pages import pages
from deadheat.engine.core import Message
from deadheat.engine.games.folder import folders
from deadheat.engine.games.forms import Unfilled
from deadheat.engine.language import reading
from deadheat.engine.replay import replay
from deadheat.engine.scenes import document
from deadheat.league.locale import catalogue
from deadheat_mushroom import GAME
from deadheat_mushroom.board import Board
from deadheat_mushroom.forms import FORMS
from deadheat_mushroom.rules import Mushroom, read_move
from deadheat_mushroom.scenes import DIRECTOR
from deadheat_mushroom.terminal import VIEW
from playing import ROWS, Script, bot, match, seated


@pytest.fixture
def announced(monkeypatch):
    """Have the game found in this process, as it is once the package is installed."""
    monkeypatch.setitem(folders(), "mushroom", GAME)


def test_a_scene_says_why_a_rectangle_was_taken_and_whose_cells_it_took(announced):
    rows = ["1559" + "9" * 13, *["9" * 17] * 9]
    told = document(match(Script("0 1 0 2"), Script("0 0 0 3"), rows), ["Ann", "Bob"])
    assert json.loads(json.dumps(told)) == told
    first, second = told["scenes"][1:3]
    assert first["words"] == "Ann takes (0, 1) to (0, 2): 5 + 5 = 10, and gains 2 cells."
    assert second["words"] == "Bob takes (0, 0) to (0, 3): 1 + 9 = 10, and gains 4 cells, 2 of them from Ann."
    assert second["state"]["last"]["mushrooms"] == [[0, 0, 1], [0, 3, 9]]
    assert second["state"]["rows"][0] == "....9999999999999"
    assert second["state"]["owners"][0] == "1111............."
    assert second["figures"] == [0, 4]
    assert told["scenes"][-1]["words"] == "Bob wins."


def test_the_scenes_of_a_match_follow_its_events_to_the_result(announced):
    for seed in range(5):
        transcript = match(seated(bot("random")(1)), seated(bot("greedy")(2)), seed=seed)
        last = document(transcript, ["a", "b"])["scenes"][-1]["state"]
        assert tuple(last["cells"]) == transcript.result.points
        owned = "".join(last["owners"])
        assert (owned.count("0"), owned.count("1")) == transcript.result.points
    assert DIRECTOR.board(Mushroom())["sum"] == 10


def test_a_fault_is_told(announced):
    told = document(match(Script("0 0 0 0"), Script(), ROWS), ["Ann", "Bob"])
    assert "Ann fails by illegal at TIME: the mushrooms add up to 5" in told["scenes"][-2]["words"]
    assert told["scenes"][-2]["fault"] == 0


def test_a_terminal_shows_the_board_after_every_turn(announced):
    console = Console(width=100, record=True, file=io.StringIO())
    for page in pages(match(Script("0 11 0 14"), Script("1 13 5 13"), ROWS), VIEW):
        console.print(page.content)
    shown = console.export_text()
    assert " 0 5 2 4 6 6 4 4 3 8 3 5 4 2 2 2 2 3" in shown
    assert " 0 5 2 4 6 6 4 4 3 8 3 5 a a a a 2 3" in shown
    assert "rectangles" in shown


def test_a_person_is_offered_what_may_be_taken():
    state = {"rows": ROWS}
    turn = FORMS["TIME"]("TIME 10000 10000", state, 0)
    board = Board(ROWS)
    assert turn.offer["rectangles"]["0 11 0 14"] == "(0, 11) to (0, 14): 4 + 2 + 2 + 2"
    assert read_move(turn.line({"rectangle": "0 11 0 14"}), board) == (0, 11, 0, 14)
    assert read_move(turn.line({"pass": ""}), board) is None
    with pytest.raises(Unfilled):
        turn.line({"rectangle": "0 11 0 15"})


@pytest.fixture
def korean(announced):
    """Speak to a Korean reader, of the games that are announced."""
    with reading(catalogue.__wrapped__("ko")):
        yield


def test_a_korean_is_told_of_a_match_in_korean(korean):
    rows = ["1559" + "9" * 13, *["9" * 17] * 9]
    told = document(match(Script("0 1 0 2"), Script("0 0 0 3"), rows), ["Ann", "Bob"])
    assert [scene["words"] for scene in told["scenes"]][:4] == [
        "버섯 170개가 자랐습니다. Ann부터 둡니다.",
        "Ann: (0, 1)에서 (0, 2)까지, 5 + 5 = 10. 2칸을 얻습니다.",
        "Bob: (0, 0)에서 (0, 3)까지, 1 + 9 = 10. 4칸을 얻고, 그중 2칸은 Ann의 칸입니다.",
        "Ann: 패스.",
    ]


def test_a_korean_moves_in_korean(korean):
    turn = FORMS["TIME"]("TIME 10000 10000", {"rows": ROWS}, 0)
    assert turn.offer["rectangles"]["0 11 0 14"] == "(0, 11)에서 (0, 14)까지: 4 + 2 + 2 + 2"
    with pytest.raises(Unfilled, match=re.escape("직사각형이나 패스 선택이 필요합니다")):
        turn.line({})


def test_every_text_is_korean_as_well(announced):
    transcript = match(seated(bot("random")(1)), seated(bot("greedy")(2)))
    assert list(translations(GAME, transcript)) == []


def test_what_is_learnt_is_what_is_told_and_the_mask_is_what_the_rules_accept(announced):
    env = deadheat.env("mushroom")
    chance = random.Random(5)
    for seed in range(3):
        env.reset(seed=seed)
        for agent in env.agent_iter():
            observed, _, over, _, _ = env.last()
            if over:
                env.step(None)
                continue
            assert (observed["observation"] >= env.layout.low).all()
            assert (observed["observation"] <= env.layout.high).all()
            legal = np.flatnonzero(observed["action_mask"]).tolist()
            named = env.layout.named(observed["observation"])
            board = Board(
                ["".join(str(int(digit)) for digit in row) for row in np.reshape(named["mushrooms"], (10, 17))]
            )
            assert len(legal) == 1 + len(list(board.rectangles()))
            assert named["first"] == [agent == "seat_0"]
            env.step(chance.choice(legal[1:] or legal))
        transcript = env.transcript()
        assert not transcript.result.faults
        assert replay(Mushroom(), transcript) == transcript


def test_a_smaller_board_is_learnt_on_the_full_one(announced):
    env = deadheat.env("mushroom", variant={"rows": 4, "columns": 6})
    env.reset(seed=1)
    for agent in env.agent_iter():
        observed, _, over, _, _ = env.last()
        env.step(None if over else np.flatnonzero(observed["action_mask"])[-1])
        assert agent in ("seat_0", "seat_1")
    transcript = env.transcript()
    assert transcript.variant == {"columns": 6, "rows": 4}
    assert len(transcript.exchanges) > 6 and not transcript.result.faults


def test_a_prompt_is_a_message_of_its_first_word():
    assert Message(0, "READY FIRST").command == "READY"
