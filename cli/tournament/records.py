"""A tournament's folder: the request, the games, and the programs that played.

* ``tournament.json``: the request, written once, and again when a bot or more games are added;
* ``games.jsonl``: one line a game, in the order in which they ended. Each is appended with one write, so a killed
  tournament leaves at most one torn line, the last, which is cut off when the folder is opened again. `deadheat rate`
  reads this file as it is;
* ``games/``: the kept transcripts, and each bot's stderr beside them;
* ``bots/``: the built programs, so that a tournament continues with exactly the bots that began it.

The folder belongs to one process at a time, by a lock on ``games.jsonl``.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from deadheat import __version__
from deadheat.cli.local.report import rounded
from deadheat.cli.local.transcripts import faults_of
from deadheat.engine import games
from deadheat.engine.core import NS_PER_MS, Fault
from deadheat.engine.core import Game as Rules
from deadheat.engine.games.variants import BadVariant, varied
from deadheat.engine.transcript import Transcript, encode_result
from deadheat.league.complaints import plainly
from deadheat.sandbox.box import Program
from deadheat.sandbox.host.slots import lock

FORMAT = 1
MOST_GAMES = 1_000_000
HEADER, GAMES, TRANSCRIPTS, BOTS = "tournament.json", "games.jsonl", "games", "bots"

CURE = "delete the line, and --resume plays its game again"
"""The remedy for a damaged line of ``games.jsonl``."""


class BadFolder(Exception):
    """The folder holds no tournament that can be continued; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot in a tournament: its unique label, the name that the person gave, the hash of its program's files, and the
    command that starts it in its folder below ``bots``.
    """

    label: str
    given: str
    sha256: str
    folder: str
    command: tuple[str, ...]


class Kind(StrEnum):
    """The format: which bots meet which others."""

    ROUND_ROBIN = "round-robin"
    GAUNTLET = "gauntlet"  # the first bot meets all others


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: so many bots play, and each pair that meets plays at least so many games, rounded up to whole deals."""

    bots: int
    games: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The request as stored in ``tournament.json``, from which the plan of games follows (`schedule.plan`). `seed` is
    any text; `block` is how many deals of one table are played in a row (more than one in older folders only); `panel`
    is the number of a gate's opponents, which are the last bots. `time` is "wall clock" where no own time is measured.
    """

    deadheat: str = __version__
    game: str
    rules_version: int = 0
    bots: tuple[Bot, ...] = ()
    kind: Kind
    seats: int
    games: int
    stages: tuple[Stage, ...] = ()
    sprt: Mapping[str, float] | None = None
    until: float | None = None
    seed: str
    keep: str
    sandbox: str
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    block: int = 1
    panel: int = 0
    gate: Mapping[str, Any] | None = None
    variant: Mapping[str, int] = field(default_factory=dict)
    time: str = ""

    @property
    def rules(self) -> Rules:
        """The rules by which the tournament is played. Raises BadFolder if they are not installed here."""
        try:
            return varied(games.GAMES[self.game], self.variant)
        except (KeyError, BadVariant) as error:
            raise BadFolder(f"its game {self.game} cannot be played here: {error}") from None

    @property
    def bank_ms(self) -> int | None:
        """A seat's time bank for all its replies except READY; None if the game has none or is not installed here."""
        try:
            return getattr(self.rules, "bank_ms", None)
        except BadFolder:
            return None

    @property
    def open_end(self) -> bool:
        """Whether the results decide when to stop."""
        return self.sprt is not None or self.until is not None

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(bot.label for bot in self.bots)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class GameRecord:
    """One game, which is a line of ``games.jsonl``. Everything by seat is in the order of `players`. Games of one
    `group` shared their dice. `rated`: it is evidence about strength, because not every bot failed. `transcript`: the
    path in the folder, if it was kept.
    """

    number: int
    players: list[str]
    ranks: list[int]
    points: list[int | str] | None
    rated: bool = True
    group: str | None
    seed: str | None = None
    attempt: int | None = None
    faults: list[FaultRecord]
    void_attempts: int
    seconds: float
    times: list[dict[str, Answers]]
    host_ms: list[float]
    transcript: str | None

    def __post_init__(self) -> None:
        seats = len(self.players)
        if any(len(part) != seats for part in (self.ranks, self.times, self.host_ms)):
            raise ValueError("lists of different lengths")
        if any(not 0 <= fault.seat < seats for fault in self.faults):
            raise ValueError("a fault of a seat that does not exist")

    def failed(self, seat: int) -> bool:
        return any(fault.seat == seat for fault in self.faults)

    @property
    def line(self) -> str:
        """The game's line of the log, ASCII only."""
        return _spelled(_GAME.dump_python(self))


_GAME = TypeAdapter(GameRecord)
_spelled = json.JSONEncoder(check_circular=False).encode
"""Like `json.dumps`, but without a new encoder for each line. A line of results does not contain itself."""


def record_of(
    number: int, players: list[str], group: str, transcript: Transcript, seconds: float, path: str | None
) -> GameRecord:
    own: list[dict[str, Counter[int]]] = [{} for _ in range(transcript.seats)]
    limits_ns: Counter[tuple[int, str]] = Counter()
    host_ns = [0] * transcript.seats
    for prompt in transcript.prompts():
        reply, seat, command = prompt.reply, prompt.message.seat, prompt.message.command
        host_ns[seat] += reply.stolen_ns
        if reply.line is not None or reply.fault is Fault.TIMEOUT:  # else nothing was timed
            limits_ns[seat, command] = max(limits_ns[seat, command], prompt.limit_ns)
            own[seat].setdefault(command, Counter())[rounded(reply.own_ns, 2)] += 1
    times = [
        {
            command: Answers(
                limits_ns[seat, command] / NS_PER_MS, [(ns / NS_PER_MS, n) for ns, n in sorted(counts.items())]
            )
            for command, counts in by_command.items()
        }
        for seat, by_command in enumerate(own)
    ]
    result = encode_result(transcript.result)
    return GameRecord(
        number=number,
        players=players,
        ranks=result["ranks"],
        points=result["points"],
        rated=transcript.result.rated,
        group=group,
        seed=transcript.seed.hex(),
        attempt=transcript.attempt,
        faults=[FaultRecord(**fault) for fault in faults_of(transcript)],
        void_attempts=transcript.attempt - 1,
        seconds=round(seconds, 4),
        times=times,
        host_ms=[taken_ns / NS_PER_MS for taken_ns in host_ns],
        transcript=path,
    )


def _games(file: Path, lines: Iterable[bytes]) -> list[GameRecord]:
    records = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(_GAME.validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            why = f"{where + ': ' if where else ''}{plainly(first)}".rstrip(".")
            raise BadFolder(f"{file}, line {number}: {why}; {CURE}") from None
    if len(records) > MOST_GAMES:
        raise BadFolder(f"{file} has more than {MOST_GAMES} games")
    return records


def read(folder: Path) -> tuple[Request, list[GameRecord]]:
    """Read a tournament that is over, interrupted or still running. Raises BadFolder."""
    about, file = load(folder), folder / GAMES
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise BadFolder(f"cannot read {file}: {error.strerror}") from error
    return about, _games(file, data[: data.rfind(b"\n") + 1].splitlines())  # the last line may be cut short


class Folder:
    """An open tournament's folder. Close it, or use it as a context manager."""

    def __init__(self, path: Path) -> None:
        """Open or create the log, and repair its end. Raises OSError, and BadFolder if another process has it."""
        self.path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        self._fd = os.open(path / GAMES, flags, 0o644)
        if not lock(self._fd):
            os.close(self._fd)
            raise BadFolder(f"another tournament is being played in {path}")
        data = (path / GAMES).read_bytes()
        whole = data[: data.rfind(b"\n") + 1]  # the last line may be cut short
        self.games = _games(path / GAMES, whole.splitlines())
        if len(whole) < len(data):
            os.ftruncate(self._fd, len(whole))

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the folder; idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def append(self, line: str) -> None:
        """Append a game's line with one write."""
        data = line.encode("ascii") + b"\n"
        if os.write(self._fd, data) != len(data):
            raise OSError(28, "no space left for results", str(self.path / GAMES))

    def program(self, bot: Bot) -> Program:
        """Return the stored program of a bot."""
        return Program((self.path / BOTS / bot.folder).absolute(), bot.command, bot.label)


def save(folder: Path, request: Request) -> None:
    """Write the request. A reader sees the old or the new one, never a part."""
    new = folder / f"{HEADER}.new"
    new.write_text(json.dumps({"format": FORMAT, **asdict(request)}, indent=1) + "\n", encoding="utf-8")
    new.replace(folder / HEADER)


def load(folder: Path) -> Request:
    """Read the request in a folder. Raises BadFolder."""
    path = folder / HEADER
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored.pop("format") != FORMAT:
            raise BadFolder(f"{path} was written by another version of deadheat")
        bots = tuple(Bot(**{**bot, "command": tuple(bot["command"])}) for bot in stored.pop("bots"))
        stages = tuple(Stage(**stage) for stage in stored.pop("stages"))
        return Request(**{**stored, "bots": bots, "stages": stages, "kind": Kind(stored["kind"])})
    except OSError as error:
        raise BadFolder(f"there is no tournament in {folder}: cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadFolder(f"{path} does not belong to a tournament") from error


def sha256_of(program: Path) -> str:
    """Hash a built program: the names and contents of its files."""
    digest = hashlib.sha256()
    for file in sorted(path for path in program.rglob("*") if path.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(program).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
