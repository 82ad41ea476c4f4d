"""One game of a tournament: a line of ``games.jsonl``, written from its transcript and read as a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from deadheat.cli.local.timing import rounded
from deadheat.cli.local.transcripts import faults_of
from deadheat.engine.core import NS_PER_MS, Fault
from deadheat.engine.transcript import Transcript, encode_result


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """A fault of a seat, with its prompt and own time."""

    seat: int
    fault: str
    command: str | None = None
    elapsed_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """A seat's answers to one command in a game: own times in milliseconds, rounded to two digits, with counts."""

    limit_ms: float
    own_ms: list[tuple[float, int]]


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One game, which is a line of ``games.jsonl``. Everything by seat is in the order of `players`. Games of one
    `group` shared their dice.
    """

    number: int
    players: list[str]
    ranks: list[int]
    points: list[int | str] | None
    group: str | None
    faults: list[FaultRecord]
    void_attempts: int
    seconds: float
    times: list[dict[str, Answers]]
    host_ms: list[float]
    transcript: str | None
    rated: bool = True
    """Whether the game is evidence about strength: not if every bot failed."""

    def __post_init__(self) -> None:
        seats = len(self.players)
        if any(len(part) != seats for part in (self.ranks, self.times, self.host_ms)):
            raise ValueError("lists of different lengths")
        if any(not 0 <= fault.seat < seats for fault in self.faults):
            raise ValueError("a fault of a seat that does not exist")

    def failed(self, seat: int) -> bool:
        """Say whether the bot in that seat committed a fault."""
        return any(fault.seat == seat for fault in self.faults)


_GAME = TypeAdapter(GameRecord)


def game_of(line: str | bytes) -> GameRecord:
    """Read a game's line. Raises ValidationError."""
    return _GAME.validate_json(line)


def game_line(
    number: int, players: Iterable[str], group: str, transcript: Transcript, seconds: float, path: str | None
) -> dict[str, Any]:
    """Return a finished game as a line of the log. `path`: the path of its transcript, relative to the folder."""
    result = encode_result(transcript.result)
    times, host_ns = times_of(transcript)
    return {
        "number": number,
        "players": list(players),
        "ranks": result["ranks"],
        "points": result["points"],
        "rated": transcript.result.rated,
        "group": group,
        "seed": transcript.seed.hex(),
        "attempt": transcript.attempt,
        "faults": faults_of(transcript),
        "void_attempts": transcript.attempt - 1,
        "seconds": round(seconds, 4),
        "times": times,
        "host_ms": [taken_ns / NS_PER_MS for taken_ns in host_ns],
        "transcript": path,
    }


def times_of(transcript: Transcript) -> tuple[list[dict[str, Any]], list[int]]:
    """Return each seat's own times by command, rounded to two digits and counted, and what the host took, in ns."""
    answers: list[dict[str, list[tuple[int, int]]]] = [{} for _ in range(transcript.seats)]  # limits and own times
    host_ns = [0] * transcript.seats
    for messages, replies, _ in transcript.exchanges:
        for message in messages:
            seat, _, limit_ns = message
            if limit_ns is None:
                continue
            line, elapsed_ns, fault, _, _, stolen_ns, _ = replies[seat]
            host_ns[seat] += stolen_ns
            if line is None and fault is not Fault.TIMEOUT:
                continue  # the program was gone or answered too early: nothing was timed
            answers[seat].setdefault(message.command, []).append((limit_ns, elapsed_ns - stolen_ns))
    return [{command: _times(found) for command, found in by_command.items()} for by_command in answers], host_ns


def _times(found: Iterable[tuple[int, int]]) -> dict[str, Any]:
    limits_ns, own_ns = zip(*found, strict=True)
    counted = sorted(Counter(rounded(value_ns, 2) for value_ns in own_ns).items())
    own_ms = [[rounded_ns / NS_PER_MS, n] for rounded_ns, n in counted]
    return {"limit_ms": max(limits_ns) / NS_PER_MS, "own_ms": own_ms}
