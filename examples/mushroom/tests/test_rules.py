"""The rules and rulings of Mushroom, each in a test that names it."""

from __future__ import annotations

import random

import pytest

from deadheat.engine.chance import Chance
from deadheat.engine.check import check_game
from deadheat.engine.core import Fault
from deadheat.engine.games.parsing import Refused
from deadheat.engine.memory import Answer
from deadheat.engine.replay import replay
from deadheat.engine.transcript import decode, encode
from deadheat_mushroom.board import Board
from deadheat_mushroom.rules import BANK_MS, Mushroom, read_move
from playing import ROWS, Script, bot, match, seated
from reference import Judge

MS = 1_000_000
BANK_NS = BANK_MS * MS


def test_the_game_conforms():
    check_game(Mushroom(), bot("random"))


def test_the_match_of_the_text():
    first, second = Script("0 11 0 14"), Script("1 13 5 13")
    transcript = match(first, second, ROWS)
    assert first.heard == [
        "READY FIRST",
        "INIT " + " ".join(ROWS),
        *("TIME 10000 10000", "OPP 1 13 5 13 0", "TIME 10000 10000", "OPP -1 -1 -1 -1 0", "FINISH"),
    ]
    assert second.heard == [
        "READY SECOND",
        "INIT " + " ".join(ROWS),
        *("OPP 0 11 0 14 0", "TIME 10000 10000", "OPP -1 -1 -1 -1 0", "TIME 10000 10000", "FINISH"),
    ]
    assert (transcript.result.ranks, transcript.result.points, transcript.result.faults) == ((2, 1), (4, 5), {})
    moves = [event for event in transcript.events() if event["type"] == "move"]
    assert [event["mushrooms"] for event in moves] == [[4, 2, 2, 2], [5, 1, 2, 1, 1], [], []]


def test_digits_are_independent_and_uniform_and_follow_from_the_seed():
    seen = [0] * 10
    for seed in range(60):
        rows = Script()
        match(rows, Script(), seed=seed)
        board = rows.heard[1].split()[1:]
        chance = Chance(seed.to_bytes(16, "big"))
        assert [len(row) for row in board] == [17] * 10
        assert "".join(board) == "".join(str(chance.below(9) + 1) for _ in range(170))
        for digit in "".join(board):
            seen[int(digit)] += 1
    assert seen[0] == 0
    expected = 60 * 170 / 9
    assert (
        sum((count - expected) ** 2 / expected for count in seen[1:]) < 26
    )  # chi square, 8 degrees: one in a thousand


def test_all_cells_are_the_movers_even_bare_ones_and_the_opponents():
    rows = ["55" + "9" * 15, "5" + "9" * 16, "5" + "9" * 16, *["9" * 17] * 7]
    transcript = match(Script("0 0 0 1"), Script("1 0 2 0"), rows)
    assert transcript.result.points == (2, 2)
    assert transcript.result.ranks == (1, 1)  # equal is a draw
    rows = ["1551" + "9" * 13, "8" + "9" * 16, *["9" * 17] * 8]
    transcript = match(Script("0 1 0 2"), Script("0 0 1 3"), rows)
    assert transcript.result.faults == {1: Fault.ILLEGAL}  # 1 + 8 + 1, and 9 + 9 + 9 in the second row
    rows = ["1558" + "9" * 13, "1" + "9" * 16, *["9" * 17] * 8]
    transcript = match(Script("0 1 0 2"), Script("-1 -1 -1 -1"), rows)
    assert transcript.result.points == (2, 0)
    rows = ["1559" + "9" * 13, *["9" * 17] * 9]
    transcript = match(Script("0 1 0 2"), Script("0 0 0 3"), rows)
    assert transcript.result.points == (0, 4)


@pytest.mark.parametrize("move", ["0 0 0 3", "0 0 1 3", "1 0 2 2", "0 1 0 2", "0 0 0 0"])
def test_every_edge_needs_a_mushroom_that_is_left(move):
    rows = ["4642" + "9" * 13, "1999" + "9" * 13, *["9" * 17] * 8]
    board = Board(rows)
    board.take((0, 0, 0, 1), 0)  # 4 + 6: bare cells at the left of row 0
    with pytest.raises(Refused) as refused:
        read_move(move, board)
    assert refused.value.fault is Fault.ILLEGAL


def test_a_rectangle_may_hold_bare_cells_but_no_bare_edge():
    board = Board(["19" + "9" * 15, "46" + "9" * 15, "9" * 17, *["9" * 17] * 7])
    board.take((1, 0, 1, 1), 0)
    assert board.fault((0, 0, 0, 1)) is None
    assert board.fault((0, 0, 1, 1)) == "there is no mushroom in the last row"
    board = Board(["1" + "9" * 16, "46" + "9" * 15, "9" * 17, *["9" * 17] * 7])
    board.take((1, 0, 1, 1), 1)
    assert board.fault((0, 0, 2, 0)) is None
    assert board.take((0, 0, 2, 0), 0) == [1, 9]
    assert board.cells == [3, 1]


def test_a_pass_is_allowed_although_there_are_moves_and_only_two_in_a_row_end():
    first, second = Script("0 11 0 14", "1 13 5 13", "-1 -1 -1 -1"), Script("-1 -1 -1 -1", "-1 -1 -1 -1")
    assert match(first, second, ROWS).result.points == (9, 0)
    assert [line for line in second.heard if line.startswith("OPP")] == [
        *("OPP 0 11 0 14 0", "OPP 1 13 5 13 0", "OPP -1 -1 -1 -1 0")
    ]
    assert [line for line in first.heard if line.startswith("OPP")] == ["OPP -1 -1 -1 -1 0", "OPP -1 -1 -1 -1 0"]
    nobody = match(Script(), Script(), ROWS).result
    assert (nobody.ranks, nobody.points) == ((1, 1), (0, 0))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("000 0011 00 14", None),  # C-07
        (" \t0  11\t0 14 \r", None),  # C-06
        ("0 000000011 0 14", None),
        ("0 0000000011 0 14", Fault.MALFORMED),  # ten digits
        ("", Fault.MALFORMED),
        ("0 11 0", Fault.MALFORMED),
        ("0 11 0 14 0", Fault.MALFORMED),
        ("PASS", Fault.MALFORMED),
        ("TAKE 0 11 0 14", Fault.MALFORMED),
        ("+0 11 0 14", Fault.MALFORMED),
        ("0 11 0 1_4", Fault.MALFORMED),
        ("0 11 0 14.0", Fault.MALFORMED),
        ("0 11 0 1e1", Fault.MALFORMED),
        ("0\u00a011 0 14", Fault.MALFORMED),
        ("0 11 0 \u0661", Fault.MALFORMED),
        ("0 11 0 14\x00", Fault.MALFORMED),  # C-09
        ("0 11 0 14\udcff", Fault.MALFORMED),
        ("-1 -1 -1", Fault.MALFORMED),
        ("-1 -1 -1 -1 -1", Fault.MALFORMED),
        ("-1 -1 -1 0", Fault.MALFORMED),
        ("-1 -1 -1 -2", Fault.MALFORMED),
        ("-01 -1 -1 -1", Fault.MALFORMED),
        ("-0 11 0 14", Fault.MALFORMED),
        ("\u22121 -1 -1 -1", Fault.MALFORMED),
        ("0 11 0 17", Fault.ILLEGAL),
        ("0 11 10 14", Fault.ILLEGAL),
        ("999999999 0 999999999 0", Fault.ILLEGAL),
        ("0 14 0 11", Fault.ILLEGAL),
        ("5 13 1 13", Fault.ILLEGAL),
        ("0 11 0 13", Fault.ILLEGAL),  # 8
        ("0 0 9 16", Fault.ILLEGAL),
    ],
)
def test_a_line_is_a_move_or_a_fault_that_loses_at_once(line, fault):
    first, second = Script(line), Script()
    transcript = match(first, second, ROWS)
    assert transcript.result.faults == ({} if fault is None else {0: fault})
    if fault is not None:
        assert transcript.result.ranks == (2, 1)
        assert transcript.result.points is None
        assert second.heard[2:] == ["FINISH"]  # C-14: nothing shows that there was a fault, and of what kind
        assert first.heard[-1].startswith("TIME")


def test_a_pass_may_be_spaced_like_any_line():
    assert match(Script(" -1\t-1  -1 -1\r"), Script(), ROWS).result.faults == {}


def test_ready_is_three_seconds_outside_the_bank():
    first, second = Script(ready=Answer("OK", 3_000 * MS)), Script()
    assert match(first, second, ROWS).result.faults == {}
    assert first.limits == [3_000 * MS, BANK_NS]
    assert first.heard[2] == "TIME 10000 10000"
    late = match(Script(ready=Answer("OK", 3_000 * MS + 1)), Script(), ROWS).result
    assert late.faults == {0: Fault.TIMEOUT}  # C-03, C-11
    both = match(Script(ready="ok"), Script(ready=Answer(None)), ROWS).result
    assert both.faults == {0: Fault.MALFORMED, 1: Fault.EXITED}
    assert (both.ranks, both.points, both.rated) == ((1, 1), None, False)  # C-01


def test_a_bank_runs_for_its_owner_alone_and_is_shown_rounded_down():
    first = Script(Answer("0 11 0 14", 1_500 * MS + 1), Answer("-1 -1 -1 -1", 8_499 * MS + 999_999))
    second = Script(Answer("1 13 5 13", 999_999))
    transcript = match(first, second, ROWS)
    assert [line for line in first.heard if line.startswith("TIME")] == ["TIME 10000 10000", "TIME 8499 9999"]
    assert first.limits == [3_000 * MS, BANK_NS, 8_499 * MS + 999_999]
    assert [line for line in second.heard if "TIME" in line or "OPP" in line] == [
        *("OPP 0 11 0 14 1500", "TIME 10000 8499", "OPP -1 -1 -1 -1 8499", "TIME 9999 0")
    ]
    assert first.heard[4:5] == ["TIME 8499 9999"]
    assert first.heard[3] == "OPP 1 13 5 13 0"
    assert transcript.result.faults == {}  # own == bank is in time (C-03)
    assert list(transcript.events())[-1] == {"type": "final", "cells": [4, 5], "bank_ns": [0, BANK_NS - 999_999]}


def test_what_exceeds_the_bank_is_a_timeout_whatever_it_says():
    first, second = Script(Answer("0 11 0 14", 6_000 * MS), Answer("nonsense", 4_000 * MS + 1)), Script()
    transcript = match(first, second, ROWS)
    assert transcript.result.faults == {0: Fault.TIMEOUT}  # C-02
    assert transcript.result.ranks == (2, 1)  # C-13: although it is ahead


@pytest.mark.parametrize("fault", [Fault.EXITED, Fault.MEMORY, Fault.OVERFLOW, Fault.UNEXPECTED])
def test_a_fault_of_the_pipe_loses(fault):
    result = match(Script("0 11 0 14"), Script(Answer(None, 5, fault)), ROWS).result
    assert (result.ranks, result.faults) == ((1, 2), {1: fault})


@pytest.mark.parametrize("seed", range(12))
def test_both_implementations_agree_on_every_line_of_hostile_play(seed):
    """At every turn of a random match, some lines are tried that are nearly moves, or not at all."""
    chance = random.Random(seed)
    digits = [str(chance.randint(1, 9)) for _ in range(170)]
    rows = ["".join(digits[17 * row : 17 * row + 17]) for row in range(10)]
    judge, board, seat = Judge(rows), Board(rows), 0
    taken = 0
    while judge.passes < 2:
        legal = judge.moves()
        assert sorted(board.rectangles()) == legal
        for _ in range(6):
            line = spoilt(chance, chance.choice(legal) if legal else (0, 0, 0, 0))
            twin = Judge(rows)
            twin.left, twin.owner = dict(judge.left), dict(judge.owner)
            assert said_of(line, board) == twin.verdict(line).replace("pass", "fine").replace("take", "fine"), line
        line = " ".join(map(str, chance.choice(legal))) if legal and chance.random() < 0.9 else "-1 -1 -1 -1"
        move = read_move(line, board)
        judge.verdict(line)
        if move is not None:
            board.take(move, seat)
            taken += 1
        seat = 1 - seat
        assert board.cells == [judge.cells(0), judge.cells(1)]
    assert taken > 10


def spoilt(chance, move):
    """Return a line that is a move with up to two random changes."""
    words = [str(number) for number in move]
    for _ in range(chance.randint(0, 2)):
        place = chance.randrange(len(words))
        words[place] = chance.choice(["-1", "0", "16", "17", "9", "10", "007", "x", "", "+1", words[place] + "0"])
        if chance.random() < 0.1:
            words.insert(place, str(chance.randint(0, 9)))
    return chance.choice([" ", " ", "  ", "\t"]).join(words)


def said_of(line, board):
    try:
        read_move(line, board)
    except Refused as refused:
        return refused.fault.value
    return "fine"


@pytest.mark.parametrize("seed", range(10))
def test_whole_matches_are_judged_alike_and_verify(seed):
    """The second implementation listens to one seat of a match of random bots, and finds the same result."""
    first, second = (seated(bot("random")(2 * seed + seat)) for seat in (0, 1))
    transcript = match(first, second, seed=seed)
    assert replay(Mushroom(), decode(encode(transcript))) == transcript
    lines = [m.line for exchange in transcript.exchanges for m in exchange.messages if m.seat == 0]
    judge = Judge(next(line.split()[1:] for line in lines if line.startswith("INIT")))
    for prompt in transcript.prompts():
        if prompt.message.command == "TIME":
            assert prompt.message.seat == judge.turn
            assert judge.passes < 2
            assert prompt.reply.line is not None
            assert judge.verdict(prompt.reply.line) in ("take", "pass")
    assert judge.passes == 2
    assert transcript.result.points == (judge.cells(0), judge.cells(1))
