"""Simulated bots and small matches for the engine's tests, free of Python's own random module.

They draw from `Chance`, whose values are specified, so that the golden transcripts are the same under any Python.
"""

from collections.abc import Callable
from typing import Any

from deadheat.engine.chance import Chance
from deadheat.engine.core import Fault, Message
from deadheat.engine.memory import Answer, MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript
from deadheat.games.yacht_auction.rules import CATEGORIES, YachtAuction

GAME = YachtAuction()

FAULTY_AT = [0, 1, 2, 3, 4, 12, 23, 24]
"""Prompts of a match (0 to 24) at which faults are injected where trying all of them would take too long."""


def seed(number: int) -> bytes:
    return number.to_bytes(16, "big")


ANSWERS: dict[str, tuple[Answer | None, Fault]] = {
    "C-03-silence": (None, Fault.TIMEOUT),
    "C-02-late-and-invalid": (Answer("no such word", 10_000_000_001), Fault.TIMEOUT),
    "C-05-exit": (Answer(None, 5), Fault.EXITED),
    "C-04-early-output": (Answer(None, 0, Fault.UNEXPECTED), Fault.UNEXPECTED),
    "C-09-overflow": (Answer("x" * 5000, 5), Fault.OVERFLOW),
    "C-09-bytes": (Answer("OK\udcff", 5), Fault.MALFORMED),
    "C-06-empty": (Answer("", 5), Fault.MALFORMED),
    "memory": (Answer(None, 5, Fault.MEMORY), Fault.MEMORY),
    "C-08-case": (Answer("ok", 5), Fault.MALFORMED),
}
"""Answers that are faults at every prompt of every game, with the fault."""


class Legal:
    """Plays random legal moves of Yacht Auction, each in no time or in up to `slow_ns`."""

    def __init__(self, number: int, slow_ns: int = 0) -> None:
        self.chance = Chance(b"a legal player" + seed(number))
        self.slow_ns = slow_ns
        self.dice = ""
        self.bundles = {"A": "", "B": ""}
        self.unused = list(CATEGORIES)

    def __call__(self, message: Message) -> Answer | str | None:
        line = self.answer(message.line)
        return None if line is None else Answer(line, self.slow_ns * self.chance.below(101) // 100)

    def answer(self, line: str) -> str | None:
        command, *arguments = line.split(" ")
        match command:
            case "READY":
                return "OK"
            case "ROLL":
                self.bundles = dict(zip("AB", arguments, strict=True))
                amount = self.chance.pick((0, 0, 1, 500, 100_000, self.chance.below(256)))
                return f"BID {self.chance.pick('AB')} {amount}"
            case "GET":
                self.dice += self.bundles[arguments[0]]
            case "SCORE":
                return self.put()
        return None

    def put(self) -> str:
        """Choose any unused category and any five of the dice, in any order."""
        category = self.unused.pop(self.chance.below(len(self.unused)))
        chosen = ""
        for _ in range(5):
            die = self.chance.pick(self.dice)
            chosen += die
            self.dice = self.dice.replace(die, "", 1)
        return f"PUT {category} {chosen}"


def faulty(player: Player, at_prompt: int, answer: Answer | str | None) -> Player:
    """Play like `player`, but give `answer` to prompt number `at_prompt` (0 is READY)."""
    prompts = 0

    def play(message: Message) -> Answer | str | None:
        nonlocal prompts
        if message.limit_ns is None:
            return player(message)
        prompts += 1
        proper = player(message)
        return answer if prompts - 1 == at_prompt else proper

    return play


def play(number: int, first: Player | None = None, second: Player | None = None) -> Transcript:
    """Play a match of Yacht Auction, with legal players where none are given."""
    players = (first or Legal(2 * number), second or Legal(2 * number + 1))
    return run_match(GAME, 2, seed(number), MemoryTransport(players))


def timed(player: Player, elapsed_ns: dict[int, int]) -> Player:
    """Play like `player`, but take these times at prompts with these numbers (0 is READY), and none at others."""
    prompts = 0

    def answer(message: Message) -> Answer | str | None:
        nonlocal prompts
        reply = player(message)
        if message.limit_ns is None:
            return reply
        assert isinstance(reply, Answer)
        prompts += 1
        return Answer(reply.line, elapsed_ns.get(prompts - 1, 0))

    return answer


def overheard(player: Player, heard: list[str]) -> Player:
    """Play like `player`, and add every line that it is sent to `heard`."""

    def play(message: Message) -> Answer | str | None:
        heard.append(message.line)
        return player(message)

    return play


def commands(transcript: Transcript, seat: int) -> list[str]:
    """List the protocol words sent to a seat, with an exclamation mark after prompts."""
    return [
        message.command + ("!" if message.limit_ns is not None else "")
        for exchange in transcript.exchanges
        for message in exchange.messages
        if message.seat == seat
    ]


def events(transcript: Transcript, kind: str) -> list[dict[str, Any]]:
    return [dict(event) for event in transcript.events() if event["type"] == kind]


def scripted(script: str) -> tuple[Player, Callable[[], None]]:
    """Make a player from a dialogue of lines ``<< to the bot`` and ``>> its reply``, and a check that all was said.

    A reply may end in a time: ``>> BID A 5 @ 500000001 ns``.
    """
    lines = [line.strip() for line in script.strip().splitlines()]
    position = 0

    def play(message: Message) -> Answer | str | None:
        nonlocal position
        assert position < len(lines), f"the dialogue has ended, and then: << {message.line}"
        assert lines[position] == f"<< {message.line}"
        position += 1
        if position == len(lines) or not lines[position].startswith(">>"):
            return None
        reply, _, elapsed_ns = lines[position].removeprefix(">>").removeprefix(" ").partition(" @ ")
        position += 1
        return Answer(reply, int(elapsed_ns.removesuffix(" ns") or 0))

    def all_said() -> None:
        assert lines[position:] == []

    return play, all_said
