"""Begins or continues a tournament: stores a person's request in a folder, with every bot built."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from deadheat.cli.tournament import conditions, field, records
from deadheat.cli.tournament.conditions import Gate
from deadheat.cli.tournament.records import Folder, Kind, Request, Stage
from deadheat.engine.core import Game
from deadheat.engine.figures import span
from deadheat.engine.games import GAMES, unknown
from deadheat.engine.games.variants import BadVariant, rules, variant_of
from deadheat.sandbox.box import Sandbox

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
    bots, panel = field.named(game, names), 0
    gate = None if gate_file is None else conditions.read(gate_file)
    if gate is not None:
        opponents = list(dict.fromkeys(field.named(game, gate.panel)))
        bots, panel = [*bots, *opponents], len(opponents)
    seats = _seats(game, wanted.seats, len(bots), gate is not None)
    _check(wanted, gate, len(bots), seats)
    if gate is not None:
        _check_gate(gate, field.labels_of(bots)[-panel:])
    path.mkdir(parents=True, exist_ok=True)
    if (path / records.HEADER).exists():
        raise Unplayable(f"there is a tournament in {path}; continue it with --resume {path}, or name another --folder")
    with ExitStack() as until_built:
        folder = until_built.enter_context(Folder(path))
        (path / records.TRANSCRIPTS).mkdir(exist_ok=True)
        built = tuple(field.build_all(game, bots, sandbox, path, (), bots if gate else names))
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
            names = field.named(game, more)
            added = field.build_all(game, names, sandbox(request.sandbox), path, request.bots, more) if names else ()
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
