"""Begins or continues a tournament: stores a person's request in a folder, with every bot built."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

from deadheat.cli.console import note
from deadheat.cli.local.bots import HOUSE, MAX_FILES, prepare, sources_of
from deadheat.cli.local.recorded import RECORDED, BadBot
from deadheat.cli.tournament import conditions, records
from deadheat.cli.tournament.conditions import Gate
from deadheat.cli.tournament.records import Bot, Folder, Kind, Request, Stage, sha256_of
from deadheat.engine.core import Game
from deadheat.engine.figures import span
from deadheat.engine.games import GAMES, unknown
from deadheat.engine.games.folder import house_bots
from deadheat.engine.games.variants import BadVariant, rules, variant_of
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


GAMES_A_PAIR = 20
MOST_GAMES_A_PAIR = 20_000
"""The limit if a test or an interval decides when to stop and no number was given."""


class Unplayable(Exception):
    """The request cannot be played; the text is a sentence."""


def begin(
    wanted: Request, names: Sequence[str], gate_file: Path | None, variant: Sequence[str], path: Path, sandbox: Sandbox
) -> tuple[Request, Folder]:
    """Begin a tournament in a new or empty folder. `wanted` has no bots yet, and 0 for numbers that nobody chose.

    Raises Unplayable, BadBot, BadFolder, OSError, SandboxError.
    """
    game = _game(wanted.game, variant)
    bots, panel = named(game, names), 0
    gate = None if gate_file is None else conditions.read_gate(gate_file)
    if gate is not None:
        opponents = list(dict.fromkeys(named(game, gate.panel)))
        bots, panel = [*bots, *opponents], len(opponents)
    seats = _seats(game, wanted.seats, len(bots), gate is not None)
    _check(wanted, gate, len(bots), seats)
    if gate is not None:
        _check_gate(gate, labels_of(bots)[-panel:])
    path.mkdir(parents=True, exist_ok=True)
    if (path / records.HEADER).exists():
        raise Unplayable(f"there is a tournament in {path}; continue it with --resume {path}, or name another --folder")
    with ExitStack() as until_built:
        folder = until_built.enter_context(Folder(path))
        (path / records.TRANSCRIPTS).mkdir(exist_ok=True)
        built = tuple(build_all(game, bots, sandbox, path, (), bots if gate else names))
        _check(wanted, gate, len(built), seats)
        open_end = wanted.sprt is not None or wanted.until is not None
        games = gate.games if gate else wanted.games or (MOST_GAMES_A_PAIR if open_end else GAMES_A_PAIR)
        request = replace(
            wanted,
            rules_version=game.rules_version,
            bots=built,
            kind=Kind.GAUNTLET if gate else wanted.kind,
            seats=seats,
            games=games,
            stages=(Stage(len(built), games),),
            seed=wanted.seed or secrets.token_hex(8),
            panel=panel,
            gate={"file": str(gate_file), **gate.model_dump(mode="json")} if gate else None,
            variant=variant_of(game),
        )
        records.save(path, request)
        until_built.pop_all()
    return request, folder


def go_on(
    path: Path, more: Sequence[str], games: int | None, sandbox: Callable[[str], Sandbox]
) -> tuple[Request, Folder]:
    """Open a tournament again, with more bots or games if requested. Raises Unplayable, BadBot, BadFolder, OSError,
    SandboxError.
    """
    request = records.load(path)
    game = request.rules
    if game.rules_version != request.rules_version:
        raise Unplayable(f"the rules of {game.name} have changed since; start a new tournament")
    if (more or games) and request.gate is not None:
        raise Unplayable("a gate continues as it began; for other bots or games, start a new one")
    if request.gate is not None and any(one.not_worse_than for one in gate_of(request).condition):
        raise Unplayable("this gate began with not_worse_than, which is now a test by pairs; start a new one")
    if games and games < request.games:
        raise Unplayable(f"it plays {request.games:,} games per pair already, more than --games {games:,}")
    with ExitStack() as until_built:
        folder = until_built.enter_context(Folder(path))
        for bot in request.bots:
            if records.sha256_of(path / records.BOTS / bot.folder) != bot.sha256:
                raise Unplayable(f"the program of {bot.label} in {path / records.BOTS / bot.folder} has changed")
        if more or games:
            names = named(game, more)
            added = build_all(game, names, sandbox(request.sandbox), path, request.bots, more) if names else ()
            bots, wanted = (*request.bots, *added), max(games or 0, request.games)
            request = replace(request, bots=bots, games=wanted, stages=(*request.stages, Stage(len(bots), wanted)))
            records.save(path, request)
        until_built.pop_all()
    return request, folder


def _game(name: str, variant: Sequence[str]) -> Game:
    if name not in GAMES:
        raise Unplayable(unknown(name))
    try:
        return rules(name, variant)
    except BadVariant as error:
        raise Unplayable(f"--set: {error}") from None


def _check_gate(gate: Gate, panel: Sequence[str]) -> None:
    """Refuse conditions that concern none of the panel's labels or can never be met, before anything is built."""
    games = gate.games + gate.games % 2
    for pattern in conditions.unmatched(gate, panel):
        raise Unplayable(f"no bot of the gate's panel is called {pattern}: {', '.join(panel)}")
    least = max((condition.no_fault_in or 0 for condition in gate.condition), default=0)
    if least > len(panel) * games:
        raise Unplayable(f"the gate asks for {least} games without a fault, but plays only {len(panel) * games}")
    for bounds in (condition.sprt for condition in gate.condition if condition.sprt is not None):
        if not conditions.can_reject(bounds, games // 2):
            raise Unplayable(f"sprt = {[*bounds]} needs more than {games} games to show anything")


def gate_of(request: Request) -> Gate:
    assert request.gate is not None
    return Gate.model_validate({name: value for name, value in request.gate.items() if name != "file"})


def _seats(game: Game, asked: int, bots: int, gate: bool) -> int:
    least, most = game.seats.start, game.seats.stop - 1
    seats = asked or (least if gate else max(least, min(bots, most)))
    if seats not in game.seats:
        raise Unplayable(f"{game.name} needs {span(game.seats)} seats, not {seats}")
    if bots < seats:
        raise Unplayable(f"{seats} seats need {seats} bots, not {bots}")
    return seats


def _check(wanted: Request, gate: Gate | None, bots: int, seats: int) -> None:
    if gate is not None and (wanted.sprt or wanted.until or wanted.games):
        raise Unplayable("the gate's file says how much is played; leave out --games, --sprt and --until")
    if (wanted.sprt or gate is not None) and seats != 2:
        raise Unplayable("--sprt and --gate compare two bots at a time: they need --seats 2")
    if wanted.sprt and wanted.until:
        raise Unplayable("--sprt and --until both say when to stop; choose one")
    if wanted.sprt and bots > 2 and wanted.kind is not Kind.GAUNTLET:
        raise Unplayable("--sprt tests the first bot: with more than two, add --format gauntlet")
