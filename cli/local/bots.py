"""Turns the BOT that a person names into a program that a box can start."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from deadheat.cli.local.recorded import RECORDED, BadBot, recorded
from deadheat.engine.core import Game
from deadheat.engine.games.folder import bots_of, house_bots
from deadheat.sandbox.archive import BadArchive, extract_program
from deadheat.sandbox.box import Program, Sandbox
from deadheat.sandbox.build import MAX_PROGRAM_BYTES, BuildFailed, build
from deadheat.sandbox.languages import LANGUAGES, LanguageError, Recipe, detect
from deadheat.sandbox.local import LocalSandbox

HOUSE = "house:"
MAX_FILES = 2000
IGNORED = ("__pycache__", ".git", ".venv", "node_modules")
"""Folders inside a bot's folder that do not belong to its sources."""


def prepare(game: Game, name: str, sandbox: Sandbox, folder: Path) -> Program:
    """Build the bot that `name` stands for into the empty directory `folder`.

    `name` is a source file, a directory, an executable, house:NAME or recorded:FILE#SEAT.

    Raises:
        BadBot: with a sentence for the person who named it.
        SandboxError: this machine failed.
    """
    folder.mkdir(parents=True)
    try:
        if name.startswith(RECORDED):
            program = recorded(game, name, folder)
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
            shutil.copy(path, folder / "bot")
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
    language, entry = _copy_sources(path, sources)
    _let_all_read(sources)
    recipe = _as_here(LANGUAGES[language].starting_with(entry), sandbox)
    try:
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
    if recipe.name != "python" or not isinstance(sandbox, LocalSandbox) or Path(recipe.tools[0]).exists():
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


def _copy_sources(path: Path, sources: Path) -> tuple[str, str]:
    """Copy the sources. Return their language and the file to start with."""
    try:
        if path.is_file():
            language, entry = detect(path.name, [path.name], None)
            sources.mkdir()
            shutil.copy(path, sources / entry)
            return language, entry
        files = sorted(file.as_posix() for file in islice(sources_of(path), MAX_FILES + 1))
        if len(files) > MAX_FILES:
            raise BadBot(f"{path} has more than {MAX_FILES} files")
        manifest = path / "deadheat.toml"
        toml = manifest.read_text(encoding="utf-8") if manifest.is_file() else None
        language, entry = detect(path.name, files, toml)
    except (LanguageError, UnicodeDecodeError) as error:
        raise BadBot(f"{path}: {error}") from error
    shutil.copytree(path, sources, ignore=shutil.ignore_patterns(*IGNORED))
    return language, entry
