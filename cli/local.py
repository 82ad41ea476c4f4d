"""Play and verify on this machine, with the judge's own referee and clock."""

from __future__ import annotations

import hashlib
import json
import secrets
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cli.bots import BadBot, prepare
from cli.console import err, fail, out, plain
from engine.chance import SEED_BYTES
from engine.core import NS_PER_MS, Game, TransportError
from engine.games import GAMES
from engine.replay import Diverged, replay
from engine.transcript import MAX_TRANSCRIPT_BYTES, BadTranscript, Transcript, decode, encode, encode_result
from league.config import Settings
from sandbox.arena import Arena
from sandbox.box import Limits, Program, Sandbox
from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox

MATCH_ATTEMPTS = 3
HOPELESS = ("no-engine", "no-image", "no-start")  # failures of ours that another attempt would only repeat


class Backend(StrEnum):
    """Where bots run."""

    DOCKER = "docker"
    LOCAL = "local"


def register(app: typer.Typer) -> None:
    """Add the local verbs."""
    app.command()(play)
    app.command()(verify)


def play(
    game: Annotated[str, typer.Argument(help="The game, e.g. yacht-auction.")],
    bots: Annotated[
        list[str], typer.Argument(metavar="BOT...", help="A source file, directory, executable or house:NAME.")
    ],
    matches: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many.")] = 10,
    seed: Annotated[
        str, typer.Option(help="Dice: the same text gives the same dice. A match's own seed replays it.")
    ] = "",
    sandbox: Annotated[
        Backend, typer.Option(help="`local` runs the bots as plain programs, NOT isolated.")
    ] = Backend.DOCKER,
    transcripts: Annotated[
        Path | None, typer.Option(help="Folder for transcripts; default: a new temporary one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a match, then a summary.")] = False,
) -> None:
    """Play bots against each other: the first sits on seat 0, and so on."""
    rules = GAMES.get(game) or fail(f"there is no game {game!r}; there is {', '.join(GAMES)}", 2)
    if len(bots) not in rules.seats:
        fail(f"{game} is played by {_seats(rules)} bots, not by {len(bots)}", 2)
    folder = transcripts or Path(tempfile.mkdtemp(prefix="deadheat-transcripts-"))
    folder.mkdir(parents=True, exist_ok=True)
    score = Score(len(bots))
    with tempfile.TemporaryDirectory(prefix="deadheat-play-") as work:
        try:
            backend = _backend(sandbox, Path(work))
            programs = _prepare(rules, bots, backend, Path(work))
            with Arena(backend, programs, [Limits()] * len(bots)) as arena:
                arena.open()
                _play_all(arena, rules, programs, seeds(seed, matches), folder, score, as_json)
        except TransportError as error:
            hint = " (or use --sandbox local)" if error.cause in ("no-engine", "no-image") else ""
            fail(f"{error.detail}{hint}")
    if as_json:
        print(json.dumps({"summary": score.summary(bots)}))
    else:
        _print_summary(score, bots, folder)


def verify(
    file: Annotated[Path, typer.Argument(help="A transcript (.jsonl or .jsonl.zst).")],
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as one JSON object.")] = False,
) -> None:
    """Re-simulate a transcript; exit code 1 and the exchange's number if the rules lead anywhere else."""
    try:
        transcript = decode(_read_transcript(file))
        game = GAMES.get(transcript.game) or fail(f"{file} is of {transcript.game!r}, a game not known here", 2)
        replay(game, transcript)
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}", 2)
    except Diverged as error:
        if as_json:
            print(json.dumps({"verified": False, "exchange": error.at_exchange, "detail": error.detail}))
        fail(f"{file} is not what the rules say: {error}")
    except (BadTranscript, ValueError) as error:
        fail(f"{file}: {error}")
    if as_json:
        print(json.dumps({"verified": True, "exchanges": len(transcript.exchanges)} | encode_result(transcript.result)))
    else:
        out.print(f"{plain(str(file))}: verified, {len(transcript.exchanges)} exchanges of {transcript.game}.")
        out.print(_result_line(transcript))


@dataclass
class Score:
    """The running count over matches."""

    seats: int
    played: int = 0
    abandoned: int = 0
    void_attempts: int = 0
    firsts: list[int] = field(default_factory=list)
    draws: int = 0
    faults: Counter[tuple[int, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.firsts = [0] * self.seats

    def add(self, transcript: Transcript | None, void_attempts: int) -> None:
        """Count one match."""
        self.void_attempts += void_attempts
        if transcript is None:
            self.abandoned += 1
            return
        self.played += 1
        winners = [seat for seat, rank in enumerate(transcript.result.ranks) if rank == 1]
        if len(winners) == 1:
            self.firsts[winners[0]] += 1
        else:
            self.draws += 1
        self.faults.update((seat, fault.value) for seat, fault in transcript.result.faults.items())

    def summary(self, bots: Sequence[str]) -> dict[str, Any]:
        """The count as a JSON object."""
        return {
            "matches": self.played,
            "abandoned": self.abandoned,
            "void_attempts": self.void_attempts,
            "draws": self.draws,
            "bots": [
                {
                    "bot": name,
                    "wins": self.firsts[seat],
                    "faults": {fault: n for (s, fault), n in sorted(self.faults.items()) if s == seat},
                }
                for seat, name in enumerate(bots)
            ],
        }


def seeds(text: str, count: int) -> Iterator[bytes]:
    """One seed a match. A text of 32 hexadecimal digits is the first match's own seed."""
    text = text or secrets.token_hex(SEED_BYTES)
    try:
        first = bytes.fromhex(text)
    except ValueError:
        first = b""
    for number in range(count):
        if number == 0 and len(first) == SEED_BYTES:
            yield first
        else:
            yield hashlib.sha256(f"{text}:{number}".encode()).digest()[:SEED_BYTES]


def _play_all(
    arena: Arena,
    game: Game,
    programs: Sequence[Program],
    all_seeds: Iterator[bytes],
    folder: Path,
    score: Score,
    as_json: bool,
) -> None:
    seed_list = list(all_seeds)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=as_json or not err.is_terminal) as progress:
        task = progress.add_task(game.name, total=len(seed_list))
        for number, seed in enumerate(seed_list):
            transcript, voids = _play_one(arena, game, programs, seed, number)
            score.add(transcript, voids)
            path = None
            if transcript is not None:
                path = folder / f"{game.name}-{seed.hex()}.jsonl"
                path.write_bytes(encode(transcript))
            if as_json:
                print(json.dumps(_match_object(number, seed, transcript, voids, path)), flush=True)
            progress.update(task, advance=1, description=" : ".join(str(n) for n in score.firsts))


def _play_one(
    arena: Arena, game: Game, programs: Sequence[Program], seed: bytes, number: int
) -> tuple[Transcript | None, int]:
    about = {"match": number, "players": [program.label for program in programs]}
    for attempt in range(MATCH_ATTEMPTS):
        try:
            return arena.play(game, range(len(programs)), seed, about).transcript, attempt
        except TransportError as error:
            if error.cause in HOPELESS:
                raise
            err.print(f"[yellow]void:[/] match {number}: {error.cause}: {error.detail}; again with the same seed")
    return None, MATCH_ATTEMPTS


def _match_object(
    number: int, seed: bytes, transcript: Transcript | None, voids: int, path: Path | None
) -> dict[str, Any]:
    result = None if transcript is None else encode_result(transcript.result)
    faults = []
    for seat, fault in sorted(transcript.result.faults.items()) if transcript else ():
        prompt = transcript.last_prompt(seat) if transcript else None
        faults.append(
            {
                "seat": seat,
                "fault": fault.value,
                "command": prompt.message.command if prompt else None,
                "elapsed_ms": round(prompt.reply.elapsed_ns / NS_PER_MS, 3) if prompt else None,
            }
        )
    return {
        "match": number,
        "seed": seed.hex(),
        "ranks": result["ranks"] if result else None,
        "points": result["points"] if result else None,
        "faults": faults,
        "voided": transcript is None,
        "void_attempts": voids,
        "transcript": str(path) if path else None,
    }


def _backend(backend: Backend, work: Path) -> Sandbox:
    if backend is Backend.LOCAL:
        err.print("[yellow]The bots run as plain programs, NOT isolated from this machine.[/]")
        return LocalSandbox()
    return DockerSandbox(Settings().image, work / "run")


def _prepare(game: Game, bots: Sequence[str], sandbox: Sandbox, work: Path) -> list[Program]:
    try:
        return [prepare(game, name, sandbox, work / str(seat)) for seat, name in enumerate(bots)]
    except BadBot as error:
        if error.log:
            err.print(plain(error.log), soft_wrap=True)
        fail(str(error), 2)


def _print_summary(score: Score, bots: Sequence[str], folder: Path) -> None:
    out.print(f"{score.played} matches, {score.draws} drawn, {score.void_attempts} void attempts")
    for seat, name in enumerate(bots):
        faults = ", ".join(f"{n} x {fault}" for (s, fault), n in sorted(score.faults.items()) if s == seat)
        out.print(
            f"  seat {seat}  {score.firsts[seat]:6d} won  {plain(name)}" + (f"   faults: {faults}" if faults else "")
        )
    if score.abandoned:
        out.print(f"[red]{score.abandoned} matches were abandoned: this machine was too late to judge them.[/]")
    err.print(f"Transcripts in {folder}; check one with: deadheat verify FILE", soft_wrap=True)


def _read_transcript(file: Path) -> bytes:
    with file.open("rb") as stream:
        data = stream.read(MAX_TRANSCRIPT_BYTES + 1)
    if data[:4] == b"\x28\xb5\x2f\xfd":  # zstandard's magic number
        import zstandard

        try:
            reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
            return reader.read(MAX_TRANSCRIPT_BYTES + 1)
        except zstandard.ZstdError as error:
            raise BadTranscript(f"damaged compression: {error}") from error
    return data


def _result_line(transcript: Transcript) -> str:
    result = encode_result(transcript.result)
    points = "no points (forfeit)" if result["points"] is None else f"points {result['points']}"
    faults = f", faults {result['faults']}" if result["faults"] else ""
    return f"ranks {result['ranks']}, {points}{faults}"


def _seats(game: Game) -> str:
    low, high = game.seats.start, game.seats.stop - 1
    return str(low) if low == high else f"{low} to {high}"
