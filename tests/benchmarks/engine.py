"""The pace of the pure engine, in CPU time: matches of every game, and Liar's Dice beside textarena's.

    ./scripts/bench engine [--short]

(a) Random legal matches of every game, of those in examples too, with their random bots in memory: rules, referee,
transcript and the bots' own calls; and the same matches with their replies read from a list, without players.
(b) Moves of Liar's Dice, two players with five dice, beside textarena's raw environment, which is driven without its
wrappers and renderers: the rules alone, and the rules with the referee and a transcript, which is not yet encoded. Both
sides take the text of an action. Ours hand out the text of a view, textarena a list of the messages since the player's
last turn; joining them would take it 6 % longer, and its own wrapper more than twice as long. Both play the same moves,
which are drawn before: choosing them would be a tenth of the time, and neither side's. Each move is always spelled the
same, as a bot does, so our rules find it among those that they have read. The garbage collector rests, as in a worker's
match.

textarena comes from the package index into an environment of its own in data/, once. In its short mode this
installs nothing and does without.
"""

import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Protocol

from deadheat.engine.chance import Chance
from deadheat.engine.core import Message, Reply, Step
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.memory import MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript
from deadheat.games.liars_dice.rules import LiarsDice
from tests.benchmarks import textarena_moves
from tests.benchmarks.targets import Targets, arguments
from tests.benchmarks.textarena_moves import Claim, claims
from tests.bots.loading import bot_class

ROOT = Path(__file__).resolve().parent.parent.parent
ENVIRONMENT = ROOT / "data" / "textarena"
TEXTARENA = "textarena==0.7.4"
INSTALL_SECONDS = 600

TARGETS_MS = {"yacht-auction": 1.0, "liars-dice": 2.0}
OTHERS_MS = 1000 / 300
"""The CPU time of a random match of two seats with its players."""


LIARS_DICE = LiarsDice()
RULES, WHOLE, THEIRS = "the rules", "with referee and transcript", "textarena, raw environment"
MOVES_TARGETS = {RULES: 1.5, WHOLE: 1.0}


def main() -> int:
    short = arguments(__doc__, "a few matches, and nothing is installed").parse_args().short
    os.environ.setdefault("DEADHEAT_GAMES", os.pathsep.join(map(str, sorted((ROOT / "examples").glob("*/src")))))
    targets = Targets(short)
    all_games(targets, matches=5 if short else 100, rounds=2 if short else 7)
    liars_dice(targets, matches=5 if short else 300, rounds=2 if short else 11, install=not short)
    return targets.report()


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the garbage collector out of a measurement."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# Matches of every game -------------------------------------------------------------------------------------------


class Bot(Protocol):
    """The class that a house bot's module calls ``Bot``."""

    def answer(self, line: str) -> str | None:
        """Return the reply to a line."""


def all_games(targets: Targets, matches: int, rounds: int) -> None:
    """Print matches a second of every game, with as few seats as possible and with as many."""
    tables = sorted({(name, seats) for name, game in GAMES.items() for seats in (game.seats[0], game.seats[-1])})
    bots = {name: bot_class(bots_of(name) / "random") for name in GAMES}
    spent_ms: dict[tuple[str, int], list[float]] = {table: [] for table in tables}
    alone_ms: dict[tuple[str, int], list[float]] = {table: [] for table in tables}
    for number in range(rounds + 1):
        for name, seats in tables:
            with quiet():
                before_ns = time.process_time_ns()
                played = [play_match(name, seats, bots[name], number * matches + match) for match in range(matches)]
                between_ns = time.process_time_ns()
            told = [lines_of(transcript) for transcript in played]
            with quiet():
                again_ns = time.process_time_ns()
                for transcript, lines in zip(played, told, strict=True):
                    play_again(transcript, lines)
                after_ns = time.process_time_ns()
            if number:  # the first round warms up
                spent_ms[name, seats].append((between_ns - before_ns) / 1e6 / matches)
                alone_ms[name, seats].append((after_ns - again_ns) / 1e6 / matches)
    print(f"Random matches in memory ({rounds} rounds of {matches})")
    print(f"{'':20}{'seats':>6}{'matches a second':>20}{'without players':>18}   CPU ms a match")
    for (name, seats), spent in spent_ms.items():
        whole, alone = statistics.median(spent), statistics.median(alone_ms[name, seats])
        most = TARGETS_MS.get(name, OTHERS_MS) if seats == 2 else inf
        cost = targets.shown(f"{name}, CPU ms a match", whole, most=most)
        print(f"{name:20}{seats:6}{1000 / whole:20.0f}{alone:18.3f}   {cost}")
    print()


def lines_of(transcript: Transcript) -> list[list[str]]:
    lines: list[list[str]] = [[] for _ in range(transcript.seats)]
    for prompt in transcript.prompts():
        lines[prompt.message.seat].append(str(prompt.reply.line))
    return lines


def play_again(transcript: Transcript, lines: list[list[str]]) -> None:
    """Play a match again with players that need no time to think."""
    players = [_told(iter(seat).__next__) for seat in lines]
    run_match(GAMES[transcript.game], transcript.seats, transcript.seed, MemoryTransport(players))


def _told(following: Callable[[], str]) -> Player:
    return lambda message: None if message.limit_ns is None else following()


def play_match(name: str, seats: int, new_bot: Callable[[int], Bot], number: int) -> Transcript:
    """Play a match as a worker does, without processes."""
    players = [seated(new_bot(10 * number + seat)) for seat in range(seats)]
    transcript = run_match(GAMES[name], seats, number.to_bytes(16, "big"), MemoryTransport(players))
    assert not transcript.result.faults, transcript.result
    return transcript


def seated(bot: Bot) -> Player:
    return lambda message: None if message.line == "FINISH" else bot.answer(message.line)


# Moves of Liar's Dice --------------------------------------------------------------------------------------------

CHALLENGE = '{"type":"challenge"}'
LINES: dict[Claim | None, str] = {None: CHALLENGE} | {
    (quantity, face): f'{{"type":"bid","quantity":{quantity},"faceValue":{face}}}'
    for quantity in range(1, 31)
    for face in range(1, 7)
}
REPLIES = {claim: Reply(line, 0) for claim, line in LINES.items()}  # rules get a reply, as textarena gets a text


def play_rules(seed: int) -> int:
    """Play a match by the rules alone; return how many moves it took."""
    following = iter(claims(seed)).__next__
    play = LIARS_DICE.play(2, Chance(seed.to_bytes(16, "big")))
    next(play)
    step: Step = play.send({0: Reply("OK", 0), 1: Reply("OK", 0)})
    moves = 0
    while (message := step.messages[-1]).limit_ns is not None:
        step = play.send({message.seat: REPLIES[following()]})
        moves += 1
    return moves


def play_whole(seed: int) -> int:
    """Play one with the referee and a transcript."""
    following = iter(claims(seed)).__next__
    moves = 0

    def player(message: Message) -> str | None:
        nonlocal moves
        if message.limit_ns is None:
            return None
        if message.line == "READY":
            return "OK"
        moves += 1
        return LINES[following()]

    transcript = run_match(LIARS_DICE, 2, seed.to_bytes(16, "big"), MemoryTransport([player, player]))
    assert not transcript.result.faults, transcript.result
    return moves


def moves_a_second(play: Callable[[int], int], matches: int) -> float:
    with quiet():
        before_ns = time.process_time_ns()
        return sum(play(seed) for seed in range(matches)) / (time.process_time_ns() - before_ns) * 1e9


def liars_dice(targets: Targets, matches: int, rounds: int, install: bool) -> None:
    """Print moves a second of Liar's Dice beside textarena's."""
    baseline = None
    try:
        baseline = start_textarena(install)
    except NotToBeHad as reason:
        print(f"There is no textarena to compare with: {reason}")
    pace: dict[str, list[float]] = {THEIRS: [], RULES: [], WHOLE: []}
    for number in range(rounds + 1):
        found = {} if baseline is None else {THEIRS: ask_textarena(baseline, matches)}
        found |= {RULES: moves_a_second(play_rules, matches), WHOLE: moves_a_second(play_whole, matches)}
        for name, moves in found.items():
            if number:  # the first round warms up
                pace[name].append(moves)
    if baseline is not None:
        baseline.communicate()
    print(f"Moves of Liar's Dice, two players with five dice ({rounds} rounds of {matches} matches)")
    print(f"{'':32}{'moves a second':>16}   over textarena")
    for name, values in pace.items():
        if values:
            over = [value / theirs for value, theirs in zip(values, pace[THEIRS], strict=False)]
            told = "-"
            if over:
                told = targets.shown(name, statistics.median(over), least=MOVES_TARGETS.get(name, -inf), form=".2f")
            print(f"{name:32}{statistics.median(values):16.0f}   {told}")
    if baseline is None and install:
        targets.missed.append("textarena was not measured")


class NotToBeHad(Exception):
    """textarena is missing or does not run."""


def start_textarena(install: bool) -> subprocess.Popen[str]:
    """Start its interpreter, which waits for numbers of matches.

    Raises:
        NotToBeHad: it is not installed, or does not run.
    """
    python = ENVIRONMENT / "bin" / "python"
    marker = ENVIRONMENT / TEXTARENA
    if not marker.exists():
        if not install:
            raise NotToBeHad("it is not installed, and the short mode installs nothing")
        install_textarena(python)
        marker.touch()
    pipe = subprocess.PIPE
    process = subprocess.Popen([python, textarena_moves.__file__], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        _, errors = process.communicate()
        raise NotToBeHad(f"it does not run: {last_line(errors)}")
    return process


def install_textarena(python: Path) -> None:
    """Install it into an environment of its own, under this very interpreter."""
    print(f"Installing {TEXTARENA} into {ENVIRONMENT} ...", file=sys.stderr)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", TEXTARENA]
    for command in ([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], pip):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise NotToBeHad(f"it was not installed within {INSTALL_SECONDS} s") from None
        if done.returncode != 0:
            raise NotToBeHad(f"it cannot be installed: {last_line(done.stderr or done.stdout)}")


def last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it says nothing")


def ask_textarena(process: subprocess.Popen[str], matches: int) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{matches}\n")
    process.stdin.flush()
    moves, taken_ns = process.stdout.readline().split()
    return int(moves) / int(taken_ns) * 1e9


if __name__ == "__main__":
    sys.exit(main())
