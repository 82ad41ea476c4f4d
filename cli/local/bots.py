"""Turns the BOT that a person names into a program that a box can start: also `recorded:FILE#SEAT`, which repeats the
lines of a seat, counted from 1, in a recorded match.
"""

import json
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from deadheat.cli.local.recorded_bot import kind
from deadheat.cli.local.transcripts import read
from deadheat.engine.core import Game, Seat
from deadheat.engine.games.folder import bots_of, house_bots
from deadheat.engine.games.variants import variant_of
from deadheat.engine.replay import without_clocks
from deadheat.engine.transcript import BadTranscript, Exchange, Transcript
from deadheat.sandbox.archive import BadArchive, extract_program
from deadheat.sandbox.box import Plain, Program, Sandbox
from deadheat.sandbox.build import MAX_PROGRAM_BYTES, BuildFailed, build
from deadheat.sandbox.elsewhere import PROGRAM_SUFFIXES, Elsewhere
from deadheat.sandbox.languages import LANGUAGES, LanguageError, Recipe, detect

RECORDED = "recorded:"
PLAYER = Path(__file__).with_name("recorded_bot.py")


class BadBot(Exception):
    """The BOT cannot be made into a program; the text is one sentence, `log` the compiler's output."""

    def __init__(self, reason: str, log: str = "") -> None:
        super().__init__(reason)
        self.log = log


def _recorded(game: Game, name: str, sandbox: Sandbox, folder: Path) -> Program:
    """Write the program for `name` into `folder`. Raises BadBot."""
    transcript, seat = recording(game, name)
    shutil.copy(PLAYER, folder / PLAYER.name)
    (folder / "script.json").write_text(json.dumps(script(transcript, seat)), "ascii")
    python = _as_here(LANGUAGES["python"].starting_with(PLAYER.name), sandbox)
    return Program(folder, python.run, name)


def recording(game: Game, name: str) -> tuple[Transcript, Seat]:
    """Read the match that `name` stands for, and its seat. Raises BadBot."""
    file, separator, number = name.removeprefix(RECORDED).rpartition("#")
    if not separator or not re.fullmatch("[0-9]{1,3}", number):
        raise BadBot(f"{name} does not end with # and a seat, as in {RECORDED}match.jsonl#1")
    try:
        transcript = read(Path(file))
    except OSError as error:
        raise BadBot(f"cannot read {file}: {error.strerror}") from error
    except BadTranscript as error:
        raise BadBot(f"{file} is not a usable transcript: {error}") from error
    if transcript.game != game.name:
        raise BadBot(f"{file} is a match of {transcript.game}, not of {game.name}")
    if transcript.variant != variant_of(game):
        raise BadBot(f"{file} was played with other parameters of {game.name}; give them with --set")
    if not 1 <= int(number) <= transcript.seats:
        raise BadBot(f"{file} has seats 1 to {transcript.seats}, but no seat {number}")
    return transcript, int(number) - 1


def parting(recording: Transcript, seat: Seat, played: Transcript, now: Seat) -> int | None:
    """Return the first exchange of a match in which a recorded bot, now in seat `now`, received other lines than in its
    recording, or None. Lines that differ only in the time that is left are the same.
    """
    before = [_sent(exchange, seat) for exchange in without_clocks(recording)]
    for number, exchange in enumerate(without_clocks(played)):
        if number >= len(before) or _sent(exchange, now) != before[number]:
            return number
    return None


def _sent(exchange: Exchange, seat: Seat) -> list[str]:
    return [message.line for message in exchange.messages if message.seat == seat]


def script(transcript: Transcript, seat: Seat) -> dict[str, list[str]]:
    """Return the input of `recorded_bot`: its lines, and the kinds of line that it answers with them."""
    lines: list[str] = []
    prompts: set[str] = set()
    notices: set[str] = set()
    for exchange in transcript.exchanges:
        for message in exchange.messages:
            if message.seat == seat:
                (notices if message.limit_ns is None else prompts).add(kind(message.line))
        reply = exchange.replies.get(seat)
        if reply is not None and reply.line is not None:
            lines.append(reply.line)
    return {"lines": lines, "prompts": sorted(prompts), "notices": sorted(notices - prompts)}


HOUSE = "house:"
MAX_FILES = 2000
HIDDEN = ".deadheat"
"""The folder inside a bot's folder in which commands keep their own files."""

IGNORED = ("__pycache__", HIDDEN, ".git", ".venv", "node_modules")
"""Folders inside a bot's folder that do not belong to its sources."""


def prepare(game: Game, name: str, sandbox: Sandbox, folder: Path) -> Program:
    """Build the bot that `name` stands for (a source file, a directory, an executable, house:NAME or
    recorded:FILE#SEAT) into the empty directory `folder`. Raises BadBot, and SandboxError if this machine failed.
    """
    folder.mkdir(parents=True)
    try:
        if name.startswith(RECORDED):
            program = _recorded(game, name, sandbox, folder)
            _let_all_read(folder)
            return program
        path = locate(game, name)
        if path.is_file() and not any(path.name.lower().endswith(recipe.suffixes) for recipe in LANGUAGES.values()):
            if zipfile.is_zipfile(path) and path.suffix == ".zip":
                raise BadBot(f"{name} is a zip; unpack it and name the folder")
            if not os.access(path, os.X_OK):
                known = " ".join(suffix for recipe in LANGUAGES.values() for suffix in recipe.suffixes)
                raise BadBot(f"{name} is neither executable nor a source file of a known language ({known})")
            if path.stat().st_size == 0:
                raise BadBot(f"{name} is empty")
            shutil.copy(path, folder / f"bot{suffix if (suffix := path.suffix.lower()) in PROGRAM_SUFFIXES else ''}")
            _let_all_read(folder)
            return Program(folder, ("./bot",), name)
        return _built(path, name, sandbox, folder)
    except OSError as error:  # no permission, a long name, a socket in the folder, a full disk
        why = error.strerror or str(error)
        if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
            why = "{0}: {2}".format(*error.args[0][0])  # the first of possibly many
        raise BadBot(f"{name} cannot be copied: {why}") from error


def _built(path: Path, name: str, sandbox: Sandbox, folder: Path) -> Program:
    sources = folder / "sources"
    try:
        if path.is_file():
            language, entry = detect(path.name, [path.name], None)
            sources.mkdir()
            shutil.copy(path, sources / entry)
        else:
            files = sorted(file.as_posix() for file in islice(sources_of(path), MAX_FILES + 1))
            if len(files) > MAX_FILES:
                raise BadBot(f"{path} has more than {MAX_FILES} files")
            manifest = path / "deadheat.toml"
            toml = manifest.read_text(encoding="utf-8") if manifest.is_file() else None
            language, entry = detect(path.name, files, toml)
            shutil.copytree(path, sources, ignore=shutil.ignore_patterns(*IGNORED))
    except (LanguageError, UnicodeDecodeError) as error:
        raise BadBot(f"{path}: {error}") from error
    _let_all_read(sources)
    recipe = _as_here(LANGUAGES[language].starting_with(entry), sandbox)
    try:
        if isinstance(sandbox, Elsewhere):
            return Program(sources, sandbox.build(sources, recipe), name)
        built = build(sandbox, sources, recipe)
        program = folder / "program"
        program.mkdir()
        extract_program(built.tar, program, MAX_PROGRAM_BYTES)
    except BuildFailed as failure:
        raise BadBot(f"{name} does not build: {failure.reason}", failure.log) from failure
    except BadArchive as failure:
        raise BadBot(f"{name} does not build to a usable program: {failure}") from failure
    return Program(program, recipe.run, name)


def _as_here(recipe: Recipe, sandbox: Sandbox) -> Recipe:
    """Use the author's own Python for a plain program if the system has none, as with the Python of uv or pyenv."""
    if recipe.name != "python":
        return recipe
    if isinstance(sandbox, Elsewhere):  # whose /usr/bin/python3 and python3 may only offer to install it
        return recipe.started_by(sys.executable)
    if not isinstance(sandbox, Plain) or Path(recipe.tools[0]).exists():
        return recipe
    return recipe.started_by(shutil.which("python3") or sys.executable)


def locate(game: Game, name: str) -> Path:
    """Return the file or folder for a name. Raises BadBot if there is none."""
    if not name.startswith(HOUSE):
        path = Path(name)
        if not name or not path.exists():
            raise BadBot(f"{name or repr(name)} does not exist")
        if not (path.is_file() or path.is_dir()):
            raise BadBot(f"{name} is neither a file nor a folder")
        return path
    bot, known = name.removeprefix(HOUSE), house_bots(game.name)
    if bot not in known:
        raise BadBot(f"there is no house bot {bot!r} for {game.name}; choose from {', '.join(known)}")
    return bots_of(game.name) / bot


def _let_all_read(folder: Path) -> None:
    """Make the files readable, because in a container the bot does not run as their owner."""
    for path in (folder, *folder.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))


def sources_of(folder: Path) -> Iterator[Path]:
    """Yield the files in a bot's folder, relative to it, without those that do not belong to its sources."""
    inside = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    return (file for file in inside if not set(file.parts) & set(IGNORED))
