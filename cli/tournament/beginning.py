"""Begins or continues a tournament: its bots are built and stored under unique labels; a gate says whom they meet.

A gate is a TOML file with a panel of opponents, games and conditions (`deadheat tournament --help` has an example).
`sprt` fails if the test (`league.sprt`, of all pairs of games with the same dice against these) rejects: in at most 5 %
of cases, if the bot is better by the second bound. So a gate with few games lets pass, but it needs as many as reject a
bot that loses all of them. Older files ask `not_worse_than` another bot. That bot joins the panel, and the test of
`OLD_BOUNDS` compares the two; as before, no fault is allowed.
"""

import os
import secrets
import tempfile
import tomllib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from deadheat.cli.console import err, last_lines, note, quoted
from deadheat.cli.local.bots import HOUSE, MAX_FILES, RECORDED, BadBot, sources_of
from deadheat.cli.local.builds import prepare_all
from deadheat.cli.tournament import records
from deadheat.cli.tournament.records import Bot, Folder, Kind, Request, Stage, sha256_of
from deadheat.cli.tournament.standings import Standings
from deadheat.engine.core import Game
from deadheat.engine.figures import counted, span, visible
from deadheat.engine.games import GAMES, unknown
from deadheat.engine.games.folder import house_bots
from deadheat.engine.games.variants import BadVariant, rules, variant_of
from deadheat.league.complaints import plainly
from deadheat.league.sprt import Terms, test
from deadheat.sandbox.box import ABOUT_TIME, Sandbox
from deadheat.sandbox.languages import LANGUAGES, MANIFEST, LanguageError, detect

OLD_BOUNDS = (-100.0, 0.0)
"""The bounds that take the place of `not_worse_than`, in normalised Elo."""

RULE_OF_THREE = 0.95

Patterns = Annotated[list[str], Field(min_length=1)]
Bounds = tuple[float, float]
_STRICT = ConfigDict(extra="forbid", frozen=True)


class Unplayable(Exception):
    """The request cannot be played, or the file is not a valid gate; the text is a sentence."""


class Condition(BaseModel):
    """One condition; exactly one of its kinds is given. `not_worse_than` is in older files only (`read_gate`)."""

    model_config = _STRICT
    no_loss: str | Patterns | None = None
    not_worse_than: str | None = None
    sprt: Bounds | None = None
    against: str | Patterns = "*"
    no_fault_in: Annotated[int, Field(ge=1)] | None = None

    @property
    def patterns(self) -> list[str]:
        """The patterns of the bots that it concerns."""
        given = self.no_loss or self.against
        return [given] if isinstance(given, str) else given

    @model_validator(mode="after")
    def _one_kind(self) -> "Condition":
        if sum(kind is not None for kind in (self.no_loss, self.not_worse_than, self.sprt, self.no_fault_in)) != 1:
            raise ValueError("a condition is one of no_loss, sprt and no_fault_in")
        if self.not_worse_than is None and self.sprt is None and self.against != "*":
            raise ValueError("against belongs to sprt")
        if self.sprt is not None:
            Terms(*self.sprt)
        return self


class Gate(BaseModel):
    """The content of a gate's file."""

    model_config = _STRICT
    panel: Patterns
    games: Annotated[int, Field(ge=2, le=100_000)] = 40
    condition: Annotated[list[Condition], Field(min_length=1)]


def read_gate(file: Path) -> Gate:
    """Read a gate, whose bots' paths, relative to the file, then lead there from this folder. Raises Unplayable."""
    try:
        gate = TypeAdapter(Gate).validate_python(tomllib.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise Unplayable(f"cannot read {file}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise Unplayable(f"{file}: {_where(first['loc'])}{plainly(first)}") from error
    except ValueError as error:
        raise Unplayable(f"{file} is not TOML: {error}") from error
    panel = [name for given in gate.panel for name in _seen_from_here(file, given)]
    conditions = []
    for condition in gate.condition:
        if condition.not_worse_than is None:
            conditions.append(condition)
            continue
        others = _seen_from_here(file, condition.not_worse_than)
        panel += others
        labels = [label_of(name) for name in others]
        conditions += [Condition(sprt=OLD_BOUNDS, against=labels), Condition(no_fault_in=1)]
        note(f"not_worse_than now tests the bot against the other: sprt = [-100, 0], against = {labels}", "translated")
    return gate.model_copy(update={"panel": list(dict.fromkeys(panel)), "condition": conditions})


def _where(location: Sequence[int | str]) -> str:
    """Name a field of a gate's file, counting conditions from 1. Deeper parts only name the possible types."""
    words: list[str] = []
    for part in location[:3]:
        words[-1:] = [f"{words[-1]} {part + 1}"] if isinstance(part, int) else [*words[-1:], part]
    return f"{', '.join(words)}: " if words else ""


def _seen_from_here(file: Path, given: str) -> list[str]:
    if given.startswith((HOUSE, RECORDED)):
        return [given]
    if not any(mark in given for mark in "*?["):
        return [os.path.normpath(file.parent / given)]
    paths = sorted(os.path.normpath(path) for path in file.parent.glob(given))
    if not paths:
        raise Unplayable(f"{file}: nothing is called {given}")
    return paths


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a bot meets a condition, and a sentence with the numbers."""

    met: bool
    sentence: str


def judge(gate: Gate, standings: Standings, candidate: int, panel: Sequence[int]) -> list[Verdict]:
    verdicts = []
    for condition in gate.condition:
        labels = standings.labels
        against = [bot for bot in panel if any(_fits(labels[bot], pattern) for pattern in condition.patterns)]
        if condition.no_loss is not None:
            verdicts.append(_no_loss(standings, candidate, against))
        elif condition.no_fault_in is not None:
            verdicts.append(_no_fault(standings, candidate, condition.no_fault_in))
        else:
            assert condition.sprt is not None
            verdicts.append(_sprt(standings, candidate, condition.sprt, against))
    return verdicts


def _fits(label: str, pattern: str) -> bool:
    name, mark, number = label.rpartition("#")  # a number distinguishes it from others of the same name
    return fnmatchcase(label, pattern) or bool(mark and number.isdecimal() and fnmatchcase(name, pattern))


def _no_loss(standings: Standings, candidate: int, against: Sequence[int]) -> Verdict:
    names = ", ".join(standings.labels[bot] for bot in against)
    won, drawn, lost = standings.total(candidate, against)
    games = won + drawn + lost
    if not games:
        return Verdict(False, f"no loss to {names}: no game was played")
    if not lost:
        rate = 100 * (1 - (1 - RULE_OF_THREE) ** (1 / games))
        bound = f"at 95 %, it loses fewer than {rate:.1f} % of them"
        return Verdict(True, f"no loss to {names} in {counted(games, 'game')} ({bound})")
    losses = {standings.labels[bot]: standings.total(candidate, [bot])[2] for bot in against}
    to = ", ".join(f"{label} {count}" for label, count in losses.items() if count)
    return Verdict(False, f"no loss to {names}: it lost {lost} of {counted(games, 'game')} ({to})")


def _no_fault(standings: Standings, candidate: int, least: int) -> Verdict:
    seen, condition = standings.seen[candidate], f"no fault in {counted(least, 'game')}"
    count = sum(seen.faults.values())
    if count:
        kinds = ", ".join(f"{n} x {what}" for what, n in sorted(seen.faults.items()))
        return Verdict(False, f"{condition}: {counted(count, 'fault')} in {seen.games} ({kinds})")
    if seen.games < least:
        return Verdict(False, f"{condition}: none in {seen.games}, which are too few")
    return Verdict(True, f"no fault in {counted(seen.games, 'game')}")


def _sprt(standings: Standings, candidate: int, bounds: Bounds, against: Sequence[int]) -> Verdict:
    counts = standings.halves_of(candidate, against)
    state = test(counts, Terms(*bounds))
    names, pairs = ", ".join(standings.labels[bot] for bot in against), counted(sum(counts), "pair")
    condition = f"the test {bounds[0]:g},{bounds[1]:g} against {names} does not reject: it"
    result = {"accept": "accepts", "reject": "rejects", "continue": "is undecided"}[state.verdict.value]
    met = sum(counts) > 0 and state.verdict.value != "reject"
    return Verdict(met, f"{condition} {result} after {pairs} of games (LLR {state.llr:.2f})")


EVERY = "*"
LOG_LINES = 8
"""The lines shown of the output of each of several builds that failed."""

MOST_BOTS = 200
LABEL_CHARACTERS = 40
"""The most characters of a label, so that a table of six bots fits on a line and in a log."""


def named(game: Game, given: Sequence[str]) -> list[str]:
    """Return the names of single bots: a folder of bots stands for all its bots, ``house:*`` for all house bots.
    Raises BadBot.
    """
    names: list[str] = []
    for name in given:
        if name.startswith(RECORDED):
            raise BadBot(f"{name} fits the dice of its own match only; play against it with deadheat play")
        if name == HOUSE + EVERY:
            names += [HOUSE + bot for bot in house_bots(game.name)]
        elif _is_folder_of_bots(Path(name)):
            inside = [str(path) for path in sorted(Path(name).glob("[!._]*")) if _may_be_a_bot(path)]
            if not inside:
                raise BadBot(f"{name} is neither a bot nor a folder of bots")
            names += inside
        else:
            names.append(name)
    if len(names) > MOST_BOTS:
        raise BadBot(f"{len(names)} bots are more than the {MOST_BOTS} that a tournament may have")
    return names


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


LeaveOut = Callable[[], bool] | None
"""Decides whether to play without the bots that cannot be built, which were just named; None: nobody asked for it."""


def _never() -> bool:
    """Leave out no bot where each is needed."""
    return False


def _build_all(
    game: Game,
    names: Sequence[str],
    sandbox: Sandbox,
    folder: Path,
    known: Sequence[Bot],
    given: Sequence[str],
    leave_out: LeaveOut,
) -> Iterator[Bot]:
    """Build the bots and store their programs. Yield each as soon as it is stored. Labels differ from those of `known`.
    A bot that only `house:*` among the `given` words names, and that cannot be built here, for example for lack of a
    compiler, is left out with a note. All others are tried before the first failure ends this, unless they are left
    out. Raises BadBot, and SandboxError if this machine failed.
    """
    labels, failures = {bot.label for bot in known}, dict[str, BadBot]()
    bots = folder / records.BOTS
    bots.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="new-", dir=bots)))
        programs = stack.enter_context(closing(prepare_all(game, names, sandbox, work)))
        for number, (name, program) in enumerate(zip(names, programs, strict=True), len(known)):
            if isinstance(program, BadBot):
                if name in given or not name.startswith(HOUSE):
                    failures[name] = program
                else:
                    note(str(program), "left out:")
                continue
            stored = bots / f"{number:02}"
            if stored.exists():  # left by an earlier start that was interrupted before it was recorded
                stored.rename(work / f"old-{number}")
            program.directory.rename(stored)
            label = _unlike(labels, label_of(name))
            labels.add(label)
            note(label, "built")
            yield Bot(label, name, sha256_of(stored), stored.name, program.command)
    if failures:
        _name_broken(failures, len(names), leave_out)


def _name_broken(failures: Mapping[str, BadBot], of: int, leave_out: LeaveOut) -> None:
    """Name all bots that cannot be built. Raises BadBot, unless the others play without them."""
    rest = of - len(failures)
    cure = f"; --leave-out plays the other {rest}" if rest > 1 and leave_out is None else ""
    if leave_out in (None, _never) and len(failures) == 1:
        (alone,) = failures.values()
        raise BadBot(f"{alone}{cure}", alone.log) from alone
    for error in failures.values():
        if error.log:
            err.print(quoted(last_lines(error.log.encode(), LOG_LINES)), soft_wrap=True)
        note(str(error), "not built:", "red")
    if leave_out is None or not leave_out():
        raise BadBot(f"{len(failures)} of {counted(of, 'bot')} cannot be built, so nothing was played{cure}")


def _unlike(labels: Container[str], label: str) -> str:
    if label not in labels:
        return label
    return next(new for n in count(2) if (new := f"{label[: LABEL_CHARACTERS - 5]}#{n}") not in labels)


GAMES_A_PAIR = 20
MOST_GAMES_A_PAIR = 20_000
"""The limit if a test or an interval decides when to stop and no number was given."""


def begin(
    wanted: Request,
    names: Sequence[str],
    gate_file: Path | None,
    variant: Sequence[str],
    path: Path,
    sandbox: Sandbox,
    leave_out: LeaveOut = None,
) -> tuple[Request, Folder]:
    """Begin a tournament in a new or empty folder. `wanted` has no bots yet, and 0 for numbers that nobody chose. Only
    where all bots are equal does it `leave_out` any.

    Raises Unplayable, BadBot, BadFolder, OSError, SandboxError.
    """
    game = _game(wanted.game, variant)
    bots, panel = named(game, names), 0
    gate = None if gate_file is None else read_gate(gate_file)
    if gate is not None:
        opponents = list(dict.fromkeys(named(game, gate.panel)))
        bots, panel = [*bots, *opponents], len(opponents)
    seats = _seats(game, wanted.seats, len(bots), gate is not None)
    _check(wanted, gate, len(bots), seats)
    if gate is not None:
        _check_gate(gate, bots, panel)
    path.mkdir(parents=True, exist_ok=True)
    if (path / records.HEADER).exists():
        raise Unplayable(f"there is a tournament in {path}; continue it with --resume {path}, or name another --folder")
    with ExitStack() as until_built:
        folder = until_built.enter_context(Folder(path))
        (path / records.TRANSCRIPTS).mkdir(exist_ok=True)
        equal = gate is None and wanted.kind is Kind.ROUND_ROBIN and not wanted.open_end
        given = bots if gate else names
        built = tuple(_build_all(game, bots, sandbox, path, (), given, leave_out if equal else _never))
        _check(wanted, gate, len(built), seats)
        games = gate.games if gate else wanted.games or (MOST_GAMES_A_PAIR if wanted.open_end else GAMES_A_PAIR)
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
            time=ABOUT_TIME.get("time", ""),
        )
        records.save(path, request)
        until_built.pop_all()
    return request, folder


def go_on(
    path: Path,
    more: Sequence[str],
    games: int | None,
    sandbox: Callable[[str], Sandbox],
    leave_out: LeaveOut = None,
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
    if request.gate is not None and any(condition.not_worse_than for condition in gate_of(request).condition):
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
            build = partial(_build_all, game, names, folder=path, known=request.bots, given=more, leave_out=leave_out)
            added = build(sandbox=sandbox(request.sandbox)) if names else ()
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


def _check_gate(gate: Gate, bots: Sequence[str], size: int) -> None:
    """Refuse conditions that concern none of the panel, the last `size` bots, or can never be met, before anything is
    built. A condition about nobody would always be met.
    """
    labels: list[str] = []
    for name in bots:
        labels.append(_unlike(labels, label_of(name)))
    panel, games = labels[-size:], gate.games + gate.games % 2
    for pattern in (pattern for condition in gate.condition for pattern in condition.patterns):
        if not any(_fits(label, pattern) for label in panel):
            raise Unplayable(f"no bot of the gate's panel is called {pattern}: {', '.join(panel)}")
    least = max((condition.no_fault_in or 0 for condition in gate.condition), default=0)
    if least > size * games:
        raise Unplayable(f"the gate asks for {least} games without a fault, but plays only {size * games}")
    for bounds in (condition.sprt for condition in gate.condition if condition.sprt is not None):
        if test([games // 2, 0, 0, 0, 0], Terms(*bounds)).verdict.value != "reject":
            raise Unplayable(f"sprt = {[*bounds]} needs more than {games} games to show anything")


def gate_of(request: Request) -> Gate:
    assert request.gate is not None
    return Gate.model_validate({name: value for name, value in request.gate.items() if name != "file"})


def _seats(game: Game, wanted: int, bots: int, gate: bool) -> int:
    least, most = game.seats.start, game.seats.stop - 1
    seats = wanted or (least if gate else max(least, min(bots, most)))
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
