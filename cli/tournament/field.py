"""The bots of a tournament, built and stored in the tournament's folder under unique labels."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Container, Iterator, Sequence
from itertools import count, islice
from pathlib import Path

from deadheat.cli.console import note
from deadheat.cli.local.bots import HOUSE, MAX_FILES, prepare, sources_of
from deadheat.cli.local.recorded import RECORDED, BadBot
from deadheat.cli.tournament import records
from deadheat.cli.tournament.records import Bot, sha256_of
from deadheat.engine.core import Game
from deadheat.engine.games.folder import house_bots
from deadheat.engine.visible import visible
from deadheat.sandbox.box import Sandbox
from deadheat.sandbox.languages import LANGUAGES, MANIFEST, LanguageError, detect

EVERY = "*"
MOST_BOTS = 200
LABEL_CHARACTERS = 40
"""The most characters of a label, so that a table of six bots fits on a line and in a log."""


def named(game: Game, given: Sequence[str]) -> list[str]:
    """Return the names of single bots: a folder of bots stands for all its bots, ``house:*`` for all house bots.

    Raises:
        BadBot: nothing is in there, or it is a recording.
    """
    found: list[str] = []
    for name in given:
        if name.startswith(RECORDED):
            raise BadBot(f"{name} fits the dice of its own match only; play against it with deadheat play")
        if name == HOUSE + EVERY:
            found += [HOUSE + bot for bot in house_bots(game.name)]
        elif _is_folder_of_bots(Path(name)):
            inside = [str(path) for path in sorted(Path(name).glob("[!._]*")) if _may_be_a_bot(path)]
            if not inside:
                raise BadBot(f"{name} is neither a bot nor a folder of bots")
            found += inside
        else:
            found.append(name)
    if len(found) > MOST_BOTS:
        raise BadBot(f"{len(found)} bots are more than the {MOST_BOTS} that a tournament may have")
    return found


def _is_folder_of_bots(path: Path) -> bool:
    """Return whether a folder holds several bots. Files side by side are separate bots unless one has the usual name of
    a language's first file.
    """
    if not path.is_dir() or (path / MANIFEST).exists():
        return False
    files = sorted(file.as_posix() for file in islice(sources_of(path), MAX_FILES))
    try:
        _, entry = detect(path.name, files, None)
    except LanguageError as error:
        return error.reason != "ambiguous" or not any(_is_usual(file) for file in files)
    return not _is_usual(entry)


def _is_usual(entry: str) -> bool:
    return any(entry == recipe.entries[0] for recipe in LANGUAGES.values())


def _may_be_a_bot(path: Path) -> bool:
    if path.is_dir():
        return True
    is_source = any(path.name.lower().endswith(recipe.suffixes) for recipe in LANGUAGES.values() if recipe.suffixes)
    return is_source or (path.is_file() and os.access(path, os.X_OK) and path.suffix != ".zip")


def label_of(name: str) -> str:
    """Return a short name for a bot: its file's, or its folder's if the file is called main."""
    if name.startswith(HOUSE):
        return visible(name)[-LABEL_CHARACTERS:]
    path = Path(os.path.normpath(name)).absolute()
    label = path.stem if path.is_file() and path.suffix else path.name
    if label.lower() == "main":
        label = path.parent.name or label
    return visible(label)[-LABEL_CHARACTERS:]


def labels_of(names: Sequence[str]) -> list[str]:
    labels: list[str] = []
    for name in names:
        labels.append(_unlike(labels, label_of(name)))
    return labels


def build_all(
    game: Game, names: Sequence[str], sandbox: Sandbox, folder: Path, known: Sequence[Bot], given: Sequence[str]
) -> Iterator[Bot]:
    """Build the bots and store their programs. Yield each as soon as it is stored. Labels differ from those of `known`.
    A bot that only `house:*` among the `given` words names, and that cannot be built here, for example for lack of a
    compiler, is left out with a note.

    Raises:
        BadBot: with a sentence for the person who named it. SandboxError: this machine failed.
    """
    labels = {bot.label for bot in known}
    for number, name in enumerate(names, len(known)):
        label = _unlike(labels, label_of(name))
        try:
            bot = _build(game, name, label, f"{number:02}", sandbox, folder / records.BOTS)
        except BadBot as error:
            if name in given or not name.startswith(HOUSE):
                raise
            note(str(error), "left out:")
            continue
        labels.add(label)
        note(bot.label, "built")
        yield bot


def _build(game: Game, name: str, label: str, place: str, sandbox: Sandbox, bots: Path) -> Bot:
    bots.mkdir(parents=True, exist_ok=True)
    stored = bots / place
    with tempfile.TemporaryDirectory(prefix=f"{place}-", dir=bots) as work:
        program = prepare(game, name, sandbox, Path(work) / "bot")
        if stored.exists():  # left by an earlier start that was interrupted before it was recorded
            stored.rename(Path(work) / "old")
        program.directory.rename(stored)
    return Bot(label, name, sha256_of(stored), place, program.command)


def shared_name(label: str) -> str:
    """Return a label without the number that distinguishes it from others of the same name."""
    name, mark, number = label.rpartition("#")
    return name if mark and number.isdecimal() else label


def _unlike(labels: Container[str], label: str) -> str:
    if label not in labels:
        return label
    return next(new for n in count(2) if (new := f"{label[: LABEL_CHARACTERS - 5]}#{n}") not in labels)
