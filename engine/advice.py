"""Advice after a match: the choice of a strong bot at each move of a seat.

A bot keeps its own state, so its answers are meaningful only if it learns what its seat really did. An adviser
understands two lines besides its game's protocol, and replies to neither: ``ADVISE n``, before READY, seeds its random
draws; ``PLAYED line``, after one of its replies, means that its seat played that line instead.

Asking it is a game of one seat (`Session`), which is played in a box like any other, and its transcript is the record.
The same bot and the same match always give the same answers. Answers that the rules would have refused are left out.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

from deadheat.engine.chance import SEED_BYTES, Chance, attempt_seed
from deadheat.engine.core import NS_PER_S, Message, Reply, Result, Seat, Step
from deadheat.engine.games.folder import Parts
from deadheat.engine.games.variants import rules_of
from deadheat.engine.scenes import Scene, scenes
from deadheat.engine.transcript import Transcript, encode
from deadheat.engine.unfinished import Playing

LIMIT_NS = 5 * NS_PER_S
"""The limit of each answer. A match's limits do not matter here, but no bot may think forever."""

MAX_PROMPTS = 400
"""The most questions about one match. Matches of six players have a tenth of these; the rules allow many more."""

MAX_REPLAYED = 20_000
"""The most exchanges that a page replays, at some 7 us each, to see which answers the rules accept. A seat among six
house bots needs at most 11,300 (measured in 12 matches); the longest match would take 6 s."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move for people. Two moves agree if `what` is equal and `amount` nearly so (`Adviser.slack`). `rows`: a board
    with the move on it, ``#`` filled, ``+`` by this move, ``.`` empty.
    """

    words: str
    what: Hashable
    amount: int = 0
    rows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Adviser:
    """``ADVICE`` of a game's module ``advice``: the house bot that is asked, and how its lines become moves.

    `move` makes one from a prompt, a legal line, the state of the scene in which the line is sent, and the seat.
    `slack`: by how much amounts may differ and still agree.
    """

    bot: str
    move: Callable[[str, str, Mapping[str, Any], Seat], Move]
    slack: int = 0


ADVISERS: Mapping[str, Adviser] = Parts("advice", "ADVICE")
"""The advisers, by game."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One move of the seat, and what the adviser would have played, or None if the rules refuse that. `scene`: the
    number of the first scene that shows the move's consequence.
    """

    scene: int
    round: int | None
    played: Move
    advised: Move | None
    agrees: bool


def seed_of(match: Transcript, seat: Seat) -> bytes:
    """Return the seed of a session. It follows from the match, so nobody can choose it."""
    return hashlib.sha256(b"deadheat advice %d" % seat + encode(match)).digest()[:SEED_BYTES]


class Session:
    """The questions that a seat was asked in a match, as a game of one seat."""

    name = "advice"
    title = "Advice"
    rules_version = 1
    seats = range(1, 2)
    commands = ()

    def __init__(self, match: Transcript, seat: Seat) -> None:
        self._match = match
        self._seat = seat

    def play(self, _seats: int, _chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """Ask every question that the seat answered; stop where the seat or the adviser fails."""
        waiting = [Message(0, f"ADVISE {int.from_bytes(seed_of(self._match, self._seat)[:4])}")]
        for _, lines, line in islice(_answered(self._match, self._seat), MAX_PROMPTS):
            *notices, prompt = lines
            reply = (yield Step((*waiting, *(Message(0, each) for each in notices), Message(0, prompt, LIMIT_NS))))[0]
            if reply.fault is not None:
                return Result((1,), None, {0: reply.fault})
            waiting = [] if _is_ready(prompt) else [Message(0, f"PLAYED {line}")]
        yield Step((*waiting, Message(0, "FINISH")))
        return Result((1,), None)


def _answered(match: Transcript, seat: Seat) -> Iterator[tuple[int, list[str], str]]:
    """Yield each exchange whose answer by the seat counted: its number, the lines that the seat had read since its last
    answer (the prompt is the last of them), and the answer.
    """
    last = match.last_prompt(seat) if seat in match.result.faults else None
    lines: list[str] = []
    for number, exchange in enumerate(match.exchanges):
        lines += [message.line for message in exchange.messages if message.seat == seat]
        reply = exchange.replies.get(seat)
        if reply is None:
            continue
        if reply.line is None or (last is not None and number == last.exchange):
            return
        yield number, lines, reply.line
        lines = []


def _is_ready(prompt: str) -> bool:
    return prompt.split(" ", 1)[0] == "READY"  # a game may add to it, as in READY FIRST


def advice(match: Transcript, seat: Seat, session: Transcript, adviser: Adviser) -> list[Advice]:
    """Return a session's advice on each move of a seat, as far as the session and `MAX_REPLAYED` reach."""
    answers = [prompt.reply.line for prompt in session.prompts()]
    game, seed = rules_of(match), attempt_seed(match.seed, match.attempt)
    replies = [exchange.replies for exchange in match.exchanges]
    shown = scenes(match, [str(number) for number in range(match.seats)])
    exchanges = [scene.exchange for scene in shown]
    moves: list[Advice] = []
    left = MAX_REPLAYED
    for (number, lines, line), answer in zip(_answered(match, seat), answers, strict=False):
        before = bisect_right(exchanges, number)
        if _is_ready(lines[-1]) or answer is None or not before:
            continue
        if answer != line:  # the rules have accepted the line that was played
            left -= number
            if left < 0:
                break
        scene = shown[before - 1]
        played = adviser.move(lines[-1], line, scene.state, seat)
        taken = answer == line or Playing(game, match.seats, seed, replies[:number]).objection(seat, answer) is None
        advised = adviser.move(lines[-1], answer, scene.state, seat) if taken else None
        agrees = advised is not None and _agree(played, advised, adviser.slack)
        moves.append(Advice(_shows(shown, before, seat), scene.round, played, advised, agrees))
    return moves


def _shows(shown: Sequence[Scene], first: int, seat: Seat) -> int:
    """Return the number of the first scene, from `first` on, that shows the consequence of the seat's answer."""
    first = min(first, len(shown) - 1)
    together = takewhile(lambda scene: scene.exchange == shown[first].exchange, shown[first:])
    theirs = (any(answer.seat == seat for answer in scene.answers) for scene in together)
    return first + next((place for place, is_theirs in enumerate(theirs) if is_theirs), 0)


def _agree(move: Move, other: Move, slack: int) -> bool:
    return move.what == other.what and abs(move.amount - other.amount) <= slack
