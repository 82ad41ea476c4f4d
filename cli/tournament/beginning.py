"""Begins or continues a tournament: stores a person's request in a folder, with every bot built."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from deadheat.cli.console import note
from deadheat.cli.local.bots import HOUSE
from deadheat.cli.tournament import conditions, field, records
from deadheat.cli.tournament.conditions import Gate
from deadheat.cli.tournament.records import Bot, Folder, Request
from deadheat.cli.tournament.schedule import Kind, Stage
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


@dataclass(frozen=True, slots=True)
class Asked:
    """A person's request, as typed; None for an option that was not given."""

    game: str
    bots: tuple[str, ...]
    kind: Kind
    games: int | None
    sprt: tuple[float, float] | None
    until: float | None
    seed: str
    seats: int | None
    keep: str
    sandbox: str
    gate: Path | None
    variant: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Built:
    """A tournament that can be played."""

    request: Request
    folder: Folder


def begin(asked: Asked, path: Path, sandbox: Sandbox, version: str) -> Built:
    """Begin a tournament in a new or empty folder. Raises Unplayable, BadBot, BadFolder, OSError, SandboxError."""
    game = _game(asked.game, asked.variant)
    gate, names, panel = _field(game, asked)
    seats = _seats(game, asked.seats, len(names), gate is not None)
    _check(asked, len(names), seats)
    if gate is not None:
        _check_gate(gate, field.labels_of(names)[-panel:])
    path.mkdir(parents=True, exist_ok=True)
    if (path / records.HEADER).exists():
        raise Unplayable(f"there is a tournament in {path}; continue it with --resume {path}, or name another --folder")
    with ExitStack() as until_built:
        folder = until_built.enter_context(Folder(path))
        (path / records.TRANSCRIPTS).mkdir(exist_ok=True)
        bots = _built(game, names, sandbox, path, (), names if gate else asked.bots)
        _check(asked, len(bots), seats)
        games = asked.games or (MOST_GAMES_A_PAIR if asked.sprt or asked.until else GAMES_A_PAIR)
        games = gate.games if gate else games
        request = Request(
            deadheat=version,
            game=game.name,
            rules_version=game.rules_version,
            bots=tuple(bots),
            kind=Kind.GAUNTLET if gate else asked.kind,
            seats=seats,
            games=games,
            stages=(Stage(len(bots), games),),
            sprt={"elo0": asked.sprt[0], "elo1": asked.sprt[1]} if asked.sprt else None,
            until=asked.until,
            seed=asked.seed or secrets.token_hex(8),
            keep=asked.keep,
            sandbox=asked.sandbox,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            block=1,
            panel=panel,
            gate={"file": str(asked.gate), **gate.model_dump(mode="json")} if gate else None,
            variant=variant_of(game),
        )
        records.save(path, request)
        until_built.pop_all()
    return Built(request, folder)


def go_on(path: Path, more: Sequence[str], games: int | None, sandbox: Callable[[str], Sandbox]) -> Built:
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
            added = _built(game, names, sandbox(request.sandbox), path, request.bots, more) if names else []
            bots, wanted = (*request.bots, *added), max(games or 0, request.games)
            request = replace(request, bots=bots, games=wanted, stages=(*request.stages, Stage(len(bots), wanted)))
            records.save(path, request)
        until_built.pop_all()
    return Built(request, folder)


def _game(name: str, variant: Sequence[str]) -> Game:
    if name not in GAMES:
        raise Unplayable(unknown(name))
    try:
        return rules(name, variant)
    except BadVariant as error:
        raise Unplayable(f"--set: {error}") from None


def _field(game: Game, asked: Asked) -> tuple[Gate | None, list[str], int]:
    """Return the gate, all bots by name, and the number of bots at the end of the list that are a gate's panel."""
    names = field.named(game, asked.bots)
    if asked.gate is None:
        return None, names, 0
    gate = conditions.read(asked.gate)
    panel = list(dict.fromkeys(field.named(game, gate.panel)))
    return gate, [*names, *panel], len(panel)


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


def candidates(request: Request) -> list[int]:
    """Return the bots that a gate judges: all but its panel."""
    return list(range(len(request.bots) - request.panel))


def gate_of(request: Request) -> Gate:
    """Return the gate of a request that has one."""
    assert request.gate is not None
    return Gate.model_validate({name: value for name, value in request.gate.items() if name != "file"})


def _seats(game: Game, asked: int | None, bots: int, gate: bool) -> int:
    least, most = game.seats.start, game.seats.stop - 1
    seats = asked or (least if gate else max(least, min(bots, most)))
    if seats not in game.seats:
        raise Unplayable(f"{game.name} needs {span(game.seats)} seats, not {seats}")
    if bots < seats:
        raise Unplayable(f"{seats} seats need {seats} bots, not {bots}")
    return seats


def _check(asked: Asked, bots: int, seats: int) -> None:
    if asked.gate is not None and (asked.sprt or asked.until or asked.games):
        raise Unplayable("the gate's file says how much is played; leave out --games, --sprt and --until")
    if (asked.sprt or asked.gate) and seats != 2:
        raise Unplayable("--sprt and --gate compare two bots at a time: they need --seats 2")
    if asked.sprt and asked.until:
        raise Unplayable("--sprt and --until both say when to stop; choose one")
    if asked.sprt and bots > 2 and asked.kind is not Kind.GAUNTLET:
        raise Unplayable("--sprt tests the first bot: with more than two, add --format gauntlet")


def _built(
    game: Game, names: Sequence[str], sandbox: Sandbox, path: Path, known: Sequence[Bot], given: Sequence[str]
) -> list[Bot]:
    """Build the bots. A bot that fails to build is left out if only `house:*` among the `given` words names it."""
    optional = {name for name in names if name.startswith(HOUSE)}.difference(given)
    bots: list[Bot] = []
    for bot in field.build_all(game, names, sandbox, path, known, optional):
        note(bot.label, "built")
        bots.append(bot)
    return bots
