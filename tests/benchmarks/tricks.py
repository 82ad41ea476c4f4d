"""Whole matches on a busy host: of innocent bots, of bots that are late, and of bots that would like theirs void.

See `clock`, which runs this as its parts (e) and (f). All bots are tricks.c with different habits. The innocent ones
compute and sleep for up to 450 of their 500 ms; the late ones for 520. A trick is played from the eleventh round on by
a bot whose play is so bad that it is behind then: it answers 0.6 times what the host took from it past its deadline, or
after 498.5 ms, or has 450,000 waiters on its input. The same dice are played without the trick as well, and the trick
must not have won a point. If a trick aims but none of its answers counted past the deadline, it did not aim correctly:
a miss, too.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from deadheat.engine.chance import SEED_BYTES
from deadheat.engine.core import Fault, TransportError
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.verdicts import past_deadline
from deadheat.sandbox.arena import Arena
from deadheat.sandbox.box import Limits, Program, Sandbox
from tests.benchmarks.programs import HERE, built

GAME = "yacht-auction"
CROWD = HERE.parent / "hostile" / "crowd.h"
HABITS = ("PLAIN", "MIXED", "WORKS_LATE", "SLEEPS_LATE", "AIMS", "EDGE", "EPOLLS")
DECIDED_TARGET = 0.99

Spinners = Callable[[int], AbstractContextManager[None]]
"""Keeps so many busy processes a CPU while it is open."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a match: ``played``, the fault of the first seat, ``opponent`` for a fault of the other, or the
    cause of a void. For the first seat: its points (2 for a win, 1 for a tie) and its answers that counted past the
    deadline.
    """

    word: str
    points: int = 0
    past: int = 0


class Field:
    """The bots, each built once."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self._sandbox = sandbox
        text = (HERE / "tricks.c").read_text()
        self._programs = {"opponent": built(bots_of(GAME) / "hello-c" / "main.c", "c", sandbox, folder / "opponent")}
        for habit in HABITS:
            source = folder / f"{habit}.c"
            source.write_text(text.replace("HABIT = PLAIN }", f"HABIT = {habit} }}"))
            self._programs[habit] = built(source, "c", sandbox, folder / habit, CROWD)

    def play(self, habit: str, opponent: str, matches: int) -> list[Outcome]:
        players: list[Program] = [self._programs[habit], self._programs[opponent]]
        found = []
        with Arena(self._sandbox, players, Limits(cpus="0")) as arena:  # as in a slot: the bots share a processor
            for number in range(matches):
                seed = number.to_bytes(SEED_BYTES, "big")
                try:
                    transcript = arena.play(GAMES[GAME], (0, 1), seed, {"match": number}).transcript
                except TransportError as error:
                    found.append(Outcome(error.cause))
                    continue
                result = transcript.result
                word = "opponent" if 1 in result.faults else str(result.faults.get(0, "played"))
                ours, theirs = result.ranks
                past = sum(prompt.message.seat == 0 and past_deadline(prompt) for prompt in transcript.prompts())
                found.append(Outcome(word, 1 + (ours < theirs) - (ours > theirs), past))
        return found


def innocent_and_late(field: Field, spinners: Spinners, innocent: int, late: int) -> int:
    missed = 0
    for a_cpu in (2, 4):
        with spinners(a_cpu):
            fair = Counter(found.word for found in field.play("MIXED", "MIXED", innocent))
            guilty = Counter(
                found.word for habit in ("WORKS_LATE", "SLEEPS_LATE") for found in field.play(habit, "PLAIN", late)
            )
        convicted = fair[Fault.TIMEOUT] + fair["opponent"] + guilty["opponent"]
        acquitted = guilty["played"]
        print(
            f"(e) {a_cpu} spinners a CPU: of {innocent} matches of innocent bots {fair['played']} were decided at the"
        )
        print(
            f"    first attempt ({told(fair)}); of {2 * late} with a late bot {guilty[Fault.TIMEOUT]} ({told(guilty)})"
        )
        print(f"    Innocent convicted: {convicted}; guilty acquitted: {acquitted}")
        missed += fair["played"] < DECIDED_TARGET * innocent or convicted + acquitted > 0
    return missed


def tricks(field: Field, spinners: Spinners, matches: int) -> int:
    missed = 0
    fair = sum(found.points for found in field.play("PLAIN", "opponent", matches))
    for a_cpu in (0, 2):
        for habit in ("AIMS", "EDGE", "EPOLLS"):
            with spinners(a_cpu) if a_cpu else nullcontext():
                found = field.play(habit, "opponent", matches)
            outcomes, points = Counter(one.word for one in found), sum(one.points for one in found)
            past = sum(one.past for one in found)
            voids = matches - outcomes["played"] - outcomes[Fault.TIMEOUT] - outcomes["opponent"]
            print(f"(f) {habit}, {a_cpu} spinners a CPU: {matches} matches ({told(outcomes)}), {voids} void;")
            print(f"    {past} of its answers counted past the deadline;")
            print(f"    points {points / 2}, without the trick {fair / 2}; opponent convicted: {outcomes['opponent']}")
            missed += voids > 0 or points > fair or outcomes["opponent"] > 0
            missed += a_cpu > 0 and habit == "AIMS" and past == 0  # then it did not aim correctly
    return missed


def told(outcomes: Counter[str]) -> str:
    return ", ".join(f"{outcome} {count}" for outcome, count in sorted(outcomes.items()))
