"""A tournament's folder for its report: every line of `games.jsonl`, checked and typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from deadheat.cli.tournament.records import CURE, GAMES, BadFolder, Request, load
from deadheat.league.complaints import plainly

MOST_GAMES = 1_000_000


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
    """One game. Everything by seat is in the order of `players`. Games of one `group` shared their dice."""

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


@dataclass(frozen=True, slots=True)
class Played:
    """A tournament so far. `rated` are the lines of the games that count, in the form that `deadheat rate` reads;
    `labels` are the names of all bots.
    """

    about: Request
    games: Sequence[GameRecord]
    rated: Sequence[bytes]
    labels: Sequence[str]

    @property
    def numbers(self) -> dict[str, int]:
        """The place of each bot in `labels`."""
        return {label: number for number, label in enumerate(self.labels)}


_GAME = TypeAdapter(GameRecord)


def read(folder: Path) -> Played:
    """Read a tournament that is over, interrupted or still running.

    Raises:
        BadFolder: a file is missing or is not what a tournament writes.
    """
    about = load(folder)
    lines = _lines(folder / GAMES)
    games = []
    for number, line in enumerate(lines, 1):
        try:
            games.append(_GAME.validate_json(line))
        except ValidationError as error:
            raise BadFolder(f"{folder / GAMES}, line {number}: {_why(error).rstrip('.')}; {CURE}") from None
    labels = dict.fromkeys(about.labels)
    for game in games:
        labels |= dict.fromkeys(game.players)
    rated = [line for line, game in zip(lines, games, strict=True) if game.rated]
    return Played(about, games, rated, list(labels))


def _lines(file: Path) -> list[bytes]:
    """Return the complete lines. If the run was killed, the last line may be cut short."""
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BadFolder(f"cannot read {file}: {error.strerror}") from error
    if len(lines) > MOST_GAMES:
        raise BadFolder(f"{file} has more than {MOST_GAMES} games")
    return [line for line in lines if line.strip()]


def _why(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where + ': ' if where else ''}{plainly(first)}"
