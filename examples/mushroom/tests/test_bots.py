"""The package's bots: always legal, in any language, and each stronger than the one before."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys

import pytest

from deadheat.engine.advice import Session, advice, seed_of
from deadheat.engine.core import Message
from deadheat.engine.games.folder import folders
from deadheat.engine.games.variants import rules_of, varied
from deadheat.engine.memory import MemoryTransport
from deadheat.engine.referee import run_match
from deadheat.engine.replay import replay
from deadheat.engine.scenes import document
from deadheat_mushroom import GAME
from deadheat_mushroom.advice import ADVICE
from deadheat_mushroom.rules import Mushroom
from playing import BOTS, bot, match, seated

PYTHON = ("random", "greedy")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
COMPILED = {
    "starter in C": ("starter", "main.c", "cc", ()),
    "starter in C++": ("starter", "main.c", "c++", ("-x", "c++")),
    "thinker": ("thinker", "main.cpp", "c++", ("-std=gnu++20",)),
}


class Program:
    """A bot over pipes, without a clock."""

    def __init__(self, *command):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def __call__(self, message):
        self.process.stdin.write(message.line + "\n")
        self.process.stdin.flush()
        return None if message.limit_ns is None else self.process.stdout.readline().removesuffix("\n")

    def end(self):
        """Wait for its end: exit code, unasked output, standard error."""
        output, errors = self.process.communicate(timeout=10)
        return self.process.returncode, output, errors


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compile a bot, once."""
    programs = {}

    def program(name):
        if name not in programs:
            folder, source, compiler, options = COMPILED[name]
            if shutil.which(compiler) is None:
                pytest.skip(f"no {compiler} for {name}")
            programs[name] = tmp_path_factory.mktemp("bots") / folder
            command = [compiler, "-O2", *options, *WARNINGS, "-o", programs[name], BOTS / folder / source]
            subprocess.run(command, check=True)
        return programs[name]

    return program


def score(better, worse, boards):
    """Play each board twice, from both sides. Return the share that the better one took, and its standard error."""
    shares = []
    for seed in range(boards):
        share = 0.0
        for place in (0, 1):
            players = [better(4 * seed + 2 * place), worse(4 * seed + 2 * place + 1)]
            seats = players if place == 0 else players[::-1]
            transcript = run_match(Mushroom(), 2, b"strength" + seed.to_bytes(8, "big"), MemoryTransport(seats))
            assert not transcript.result.faults, list(transcript.events())[-2]
            ranks = transcript.result.ranks
            share += 0.25 if ranks == (1, 1) else 0.5 * (ranks[place] == 1)
            for program in players:
                assert not isinstance(program, Program) or program.end() == (0, "", "")
        shares.append(share)
    mean = sum(shares) / boards
    return mean, math.sqrt(sum((share - mean) ** 2 for share in shares) / (boards - 1) / boards)


def of_python(name):
    new = bot(name)
    return lambda seed: seated(new(seed))


def test_greedy_is_stronger_than_random_beyond_the_interval():
    mean, error = score(of_python("greedy"), of_python("random"), 40)
    assert mean - 3 * error > 0.75, (mean, error)


@pytest.mark.all
def test_the_thinker_is_stronger_than_greedy_beyond_the_interval(compiled):
    mean, error = score(lambda _: Program(compiled("thinker")), of_python("greedy"), 6)
    assert mean - 3 * error > 0.6, (mean, error)


def test_the_thinker_lives_within_its_bank(compiled):
    """A bank of nearly nothing is told to it from the start: it still moves, at once."""
    program = Program(compiled("thinker"))
    rows = " ".join(["52466443835422223"] * 10)
    program.process.stdin.write(f"READY SECOND\nINIT {rows}\nTIME 1 10000\nFINISH\n")
    program.process.stdin.flush()
    output = program.process.communicate(timeout=10)[0].splitlines()
    assert output[0] == "OK"
    assert len(output[1].split()) == 4


def advised(played, seat, adviser):
    """Ask the adviser about a seat's moves; return the session and its advice on each of them."""
    session = run_match(Session(played, seat), 1, seed_of(played, seat), MemoryTransport([adviser]))
    assert adviser.end() == (0, "", "")
    return session, advice(played, seat, session, ADVICE)


def test_the_thinker_would_play_as_it_played_when_it_had_the_same_time(compiled, monkeypatch):
    monkeypatch.setitem(folders(), "mushroom", GAME)
    thinker = Program(compiled("thinker"))
    thinker(Message(0, "ADVISE 1"))
    played = match(thinker, seated(bot("greedy")(1)), seed=5)
    assert thinker.end() == (0, "", "")
    _, found = advised(played, 0, Program(compiled("thinker")))
    assert len(found) > 5
    assert [each for each in found if not each.agrees] == []


def test_the_thinker_advises_a_seat_that_plays_otherwise_the_same_each_time(compiled, monkeypatch):
    monkeypatch.setitem(folders(), "mushroom", GAME)
    played = match(seated(bot("greedy")(1)), seated(bot("random")(2)), seed=6)
    (first, found), (again, _) = (advised(played, 1, Program(compiled("thinker"))) for _ in range(2))
    assert [prompt.reply.line for prompt in first.prompts()] == [prompt.reply.line for prompt in again.prompts()]
    assert all(each.advised is not None for each in found)
    assert not all(each.agrees for each in found)


@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_bot_plays_legally_to_the_end(compiled, name):
    programs = [Program(compiled(name)), Program(compiled(name))]
    assert match(programs[0], seated(bot("random")(1)), seed=1).result.faults == {}
    assert match(seated(bot("random")(2)), programs[1], seed=2).result.faults == {}
    assert [program.end() for program in programs] == [(0, "", "")] * 2


@pytest.mark.parametrize("name", PYTHON)
def test_a_python_bot_is_a_program_that_ends_when_told_or_when_its_input_ends(name):
    programs = [Program(sys.executable, "-I", BOTS / name / "main.py") for _ in range(3)]
    assert match(*programs[:2], seed=3).result.faults == {}
    assert [program.end() for program in programs] == [(0, "", "")] * 3


@pytest.mark.parametrize("name", PYTHON)
def test_bots_of_equal_numbers_play_alike(name):
    def played():
        return match(seated(bot(name)(7)), seated(bot(name)(8)), seed=4)

    assert played() == played()


def test_all_of_them_play_on_a_smaller_board(compiled, monkeypatch):
    monkeypatch.setitem(folders(), "mushroom", GAME)  # as it is found once the package is installed
    game = varied(Mushroom(), {"rows": 3, "columns": 8, "bank_ms": 2000})
    programs = [Program(compiled(name)) for name in COMPILED] + [seated(bot(name)(1)) for name in PYTHON]
    for number, program in enumerate(programs):
        players = [program, seated(bot("random")(number))]
        played = run_match(game, 2, bytes([number]), MemoryTransport(players))
        assert played.result.faults == {}
        assert replay(rules_of(played), played) == played
        assert played.variant == {"bank_ms": 2000, "columns": 8, "rows": 3}
        (grown,) = (event["rows"] for event in played.events() if event["type"] == "board")
        assert [len(row) for row in grown] == [8] * 3
        told = document(played, ["a", "b"])
        assert (told["board"]["rows"], told["board"]["bank_ms"]) == (3, 2000)
        if isinstance(program, Program):
            assert program.end() == (0, "", "")
