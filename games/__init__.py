"""The built-in games, one folder each, and the search for others.

Theory of operation
-------------------
Nothing is registered. Games are found in this package, in installed distributions that announce them by an entry point
of the group ``deadheat.games``, and in folders named in ``DEADHEAT_GAMES``; `engine.games.folder` says what a game's
folder contains. The variable is read here and not by `league.config`, because authors need it without a server.

An unusable folder is left out; one sentence in `Found.problems` and in the log says why. Other games are not affected.
Of games with the same name, the built-in one wins, then the installed one, then the variable's first.

A game's rules run in our processes, with all their rights, so only the people who run a deployment can add one to it.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from deadheat.engine.games.folder import NAME, SETTING, GameFolder

log = logging.getLogger(__name__)

GROUP = "deadheat.games"
MOST_NAME = 64
NOT_HASHED = frozenset({"__pycache__"})


@dataclass(frozen=True, slots=True)
class Found:
    """The available games by name, in the order in which they are shown, and the problems of others."""

    games: dict[str, GameFolder]
    problems: tuple[str, ...]


class _Unusable(Exception):
    """The folder holds no playable game; the text says why."""


def find() -> Found:
    """Find all games, and log what is wrong with those that cannot be used."""
    games: dict[str, GameFolder] = {}
    problems: list[str] = []
    for where, load in _places():
        try:
            game = _checked(load())
            other = games.setdefault(game.rules.name, game)
            if other.package != game.package:
                raise _Unusable(f"the name {game.rules.name} is taken by the game in {other.path}")
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever its code raises, the other games are not affected
            why = str(error) if isinstance(error, _Unusable) else f"{type(error).__name__}: {error}"
            problems.append(f"{where} is left out: {why}")
            log.error("%s", problems[-1])
    ordered = sorted(games.values(), key=lambda each: (each.place, each.rules.name))
    return Found({each.rules.name: each for each in ordered}, tuple(problems))


def digest(folder: Path) -> str:
    """Return the SHA-256 over the names and contents of all files of a folder except caches and hidden files. It is the
    same on every machine.
    """
    hashed = sha256()
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    for path in sorted(paths, key=lambda path: path.parts):
        if any(part.startswith(".") or part in NOT_HASHED for part in path.parts) or path.suffix == ".pyc":
            continue
        content = (folder / path).read_bytes()
        hashed.update(f"{path.as_posix()}\0{len(content)}\0".encode())
        hashed.update(content)
    return hashed.hexdigest()


def _places() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield every place of a game in words, with a function that loads its `GameFolder`."""
    for module in iter_modules(__path__):
        if module.ispkg:
            yield f"The game in games/{module.name}", partial(_of_package, f"{__name__}.{module.name}")
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        yield f"The installed game {point.name} ({point.value})", partial(_announced, point)
    for name in filter(None, os.environ.get(SETTING, "").split(os.pathsep)):
        path = Path(name).absolute()
        inside = [each.parent for each in sorted(path.glob("*/__init__.py"))]
        for folder in [path] if (path / "__init__.py").is_file() or not inside else inside:
            yield f"The game in {folder} ({SETTING})", partial(_of_folder, folder)


def _of_package(name: str) -> Any:
    return _game_of(import_module(name))


def _announced(point: EntryPoint) -> Any:
    loaded = point.load()
    return _game_of(loaded) if isinstance(loaded, ModuleType) else loaded


def _of_folder(folder: Path) -> Any:
    """Import a folder as the package with its name, without making its neighbours importable."""
    init = folder / "__init__.py"
    if not init.is_file():
        raise _Unusable("there is no folder with an __init__.py")
    if not folder.name.isidentifier():
        raise _Unusable(f"{folder.name!r} cannot be a package's name: use letters, digits and underscores")
    there = find_spec(folder.name)
    if there is not None and Path(there.origin or "").resolve() == init.resolve():
        return _of_package(folder.name)
    if there is not None:
        raise _Unusable(f"a Python module {folder.name} is there already; rename the folder")
    spec = spec_from_file_location(folder.name, init, submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None, "a file that ends in .py has a loader"
    module = sys.modules[folder.name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[folder.name]
        raise
    return _game_of(module)


def _game_of(module: ModuleType) -> Any:
    if not hasattr(module, "GAME"):
        raise _Unusable("its __init__.py has no GAME")
    return module.GAME


def _checked(game: Any) -> GameFolder:
    """Return the game if it can be used. Raises _Unusable."""
    if not isinstance(game, GameFolder):
        raise _Unusable("its GAME is not a GameFolder")
    rules: Any = game.rules  # untyped, because others wrote it and nobody has checked its types
    version = rules.rules_version
    if not isinstance(rules.name, str) or not NAME.fullmatch(rules.name) or len(rules.name) > MOST_NAME:
        form = "lower-case letters and digits, separated by single hyphens"
        raise _Unusable(f"its name {rules.name!r} must consist of {form}")
    if type(version) is not int or version < 1:
        raise _Unusable(f"its rules_version is {version!r} and must be a whole number from 1")
    if not isinstance(rules.seats, range) or not rules.seats or min(rules.seats) < 2:
        raise _Unusable(f"its seats are {rules.seats!r} and must be a range from 2")
    if game.package not in sys.modules:
        raise _Unusable(f"its package is {game.package!r}: give GameFolder the folder's own __name__")
    return game
