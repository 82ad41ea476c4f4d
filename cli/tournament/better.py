"""`deadheat better`: is the bot in a folder better than the copy that was accepted last?

Each test is of one frozen copy of the folder, and has a number. It is one or two tournaments, in this order:

1. ``test``: the copy against the accepted one, until a sequential test has decided;
2. ``panel``, if that accepts, or if nothing has been accepted yet: the copy must pass the gate. The gate asks for no
   fault, and for a result that is no worse than the accepted copy's was.

A copy that passes both is accepted, and the gate is written anew from its own result. All that is kept is in the hidden
folder ``.deadheat`` of the bot's folder:

* ``accepted/`` and ``change/``: the accepted copy, and the one that is or was tested last;
* ``gate.toml``: the gate, also for `deadheat submit --gate`; its panel and number of games may be edited;
* ``history.jsonl``: a line whenever a test begins or ends; the last line of a number counts;
* ``runs/NUMBER/``: the tournaments, which continue where they were interrupted.

A copy that was rejected is not tested again: whoever tests until a test accepts has shown nothing.
"""

import json
import shutil
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from math import floor
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError
from rich.text import Text

from deadheat.cli.console import (
    INTERRUPTED,
    REFUSED,
    USAGE,
    cannot,
    command,
    ending_in_order,
    fail,
    harmless,
    note,
)
from deadheat.cli.local.bots import HOUSE, IGNORED, BadBot, prepare
from deadheat.cli.local.play import SANDBOX_HELP, USUAL, Backend, Variant, failing, open_backend
from deadheat.cli.output import Column, Columns, Output, says, table
from deadheat.cli.rate import bounds
from deadheat.cli.tournament import records
from deadheat.cli.tournament.beginning import begin, go_on, named
from deadheat.cli.tournament.command import Run, sentences
from deadheat.cli.tournament.records import Kind, Request
from deadheat.engine.figures import counted, signed
from deadheat.engine.games import GAMES, unknown
from deadheat.engine.games.folder import house_bots
from deadheat.league.sprt import MOST_ELO, Terms, interval
from deadheat.league.sprt import test as tested

HIDDEN, ACCEPTED, CHANGE, GATE, HISTORY, RUNS = ".deadheat", "accepted", "change", "gate.toml", "history.jsonl", "runs"
TEST, PANEL = "test", "panel"
NOT_PANEL = "hello-"  # the house bots that show a language play alike

USUAL_BOUNDS = "0,50"
"""The bounds that decide in about a minute: an equal bot or one stronger by 50 takes about 300 games, five a second."""

MOST_GAMES, PANEL_GAMES = 2000, 40

SLACK = 100
"""How much worse against the panel than the accepted copy, in normalised Elo, a copy must not be."""

TELLING = 300
"""The highest bound of the gate: a panel that always loses cannot show more."""

PLOT_WIDTH, PLOT_ELO = 21, 200
"""The characters of the history's plot, and the normalised Elo at its ends; larger differences are drawn there."""


class Outcome(StrEnum):
    """How a test ended, or stands; `UNCHANGED`: there was none, because the folder is as it was accepted."""

    BASE = "base"  # the first accepted copy
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNDECIDED = "undecided"
    RUNNING = "running"
    DROPPED = "dropped"  # the folder changed before the verdict
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """A test, as a line of the history. `elo` is the difference from the accepted copy in normalised Elo, between the
    ends of its 95 % interval; `sha256` that of the sources; `why` the gate's sentences that were not met.
    """

    number: int
    game: str
    set: list[str]
    sha256: str
    outcome: Outcome = Outcome.RUNNING
    sprt: dict[str, float] | None = None
    llr: float | None = None
    games: int = 0
    panel_games: int = 0
    elo: tuple[float, float, float] | None = None
    why: list[str] = field(default_factory=list)
    note: str = ""
    at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


_TESTED = TypeAdapter(Tested)
_KEPT = (Outcome.BASE, Outcome.ACCEPTED)


@says
def better(
    folder: Annotated[Path, typer.Argument(help="The bot's folder.")] = Path(),
    game: Annotated[
        str, typer.Option(help="The game; default: that of the last test, or of the rules beside it.")
    ] = "",
    sprt: Annotated[
        str, typer.Option(metavar="ELO0,ELO1", help="Bounds of the test against the accepted copy.")
    ] = USUAL_BOUNDS,
    games: Annotated[
        int | None, typer.Option(min=2, max=1_000_000, help=f"Most games of that test; default: {MOST_GAMES}.")
    ] = None,
    message: Annotated[str, typer.Option("--note", help="What you changed, for the history.")] = "",
    history: Annotated[bool, typer.Option("--history", help="Play nothing; show the tests so far.")] = False,
    set_: Variant = None,
    sandbox: Annotated[Backend, typer.Option(help=SANDBOX_HELP)] = USUAL,
    concurrency: Annotated[int | None, typer.Option(min=1, max=256, help="Games at a time; default: auto.")] = None,
    as_json: bool = False,
) -> Output:
    """Test whether a bot is better than the copy that was accepted last, and accept or reject it.

    The first copy is the base. A later one must beat it in a sequential test, and then pass a gate: no fault against
    the panel, and no worse a result. Exit code 1 if it is rejected or undecided. Ctrl-C stops; the same command
    continues.
    """
    if not folder.is_dir():
        fail(f"{folder} is not a folder; name the bot's", USAGE)
    hidden = folder / HIDDEN
    tests = _history(hidden / HISTORY)
    if history:
        return _shown(tests)
    game = game or (tests[-1].game if tests else _game_beside(folder))
    if game not in GAMES:
        fail(unknown(game), USAGE)
    with tempfile.TemporaryDirectory(prefix="deadheat-better-") as work, ending_in_order(), sentences():
        loop = _Loop(folder, sandbox, games, concurrency, as_json, Path(work))
        with failing(f"use {folder}"):
            wanted = Tested(
                number=len(tests) + 1,
                game=game,
                set=set_ or (tests[-1].set if tests else []),
                sha256=loop.freeze(game),
                sprt=bounds(sprt) if loop.accepted.is_dir() else None,
                note=message,
            )
            return loop.verdict(wanted, tests)


def _game_beside(folder: Path) -> str:
    """Return the game whose rules are in the folder, where `deadheat new` put them."""
    games = [game for game in GAMES if (folder / f"{game}.md").is_file()]
    return games[0] if len(games) == 1 else fail(f"choose the game with --game: {', '.join(GAMES)}", USAGE)


def _history(file: Path) -> list[Tested]:
    """Read the tests, each as it ended or stands. A last line that was cut short does not count."""
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
        return list({test.number: test for test in map(_TESTED.validate_json, lines)}.values())
    except FileNotFoundError:
        return []
    except OSError as error:
        cannot(f"read {file}", error, USAGE)
    except ValidationError:
        fail(f"{file} has a line that is not of a test", USAGE)


@dataclass
class _Loop:
    """One call of the command."""

    folder: Path
    sandbox: Backend
    games: int | None
    workers: int | None
    as_json: bool
    work: Path

    @property
    def hidden(self) -> Path:
        return self.folder / HIDDEN

    @property
    def accepted(self) -> Path:
        return self.hidden / ACCEPTED

    @property
    def gate(self) -> Path:
        return self.hidden / GATE

    def freeze(self, game: str) -> str:
        """Copy the folder, so that its author can go on working in it, and return the copy's hash. Raises BadBot."""
        copy = self.work / CHANGE
        shutil.copytree(self.folder, copy, ignore=shutil.ignore_patterns(*IGNORED))
        if len(named(GAMES[game], [str(copy)])) > 1:
            raise BadBot(f"{self.folder} holds several bots; name the folder of one")
        return records.sha256_of(copy)

    def verdict(self, wanted: Tested, tests: Sequence[Tested]) -> Output:
        """Return the verdict on the copy: what is known of it already, or what a test shows."""
        last = max((n for n, test in enumerate(tests) if test.outcome in _KEPT), default=-1)
        if self.accepted.is_dir() and records.sha256_of(self.accepted) == wanted.sha256:
            return self._told(replace(tests[last] if last >= 0 else wanted, outcome=Outcome.UNCHANGED))
        test = next((test for test in tests[last + 1 :] if test.sha256 == wanted.sha256), wanted)
        if test.outcome is Outcome.REJECTED:
            note(f"in test {test.number}. Testing it again until a test accepts would show nothing.", "known:")
            return self._told(test)
        if tests and tests[-1].outcome is Outcome.RUNNING and tests[-1].number != test.number:
            self._log(replace(tests[-1], outcome=Outcome.DROPPED))
            note(f"test {tests[-1].number}, because {self.folder} changed before its verdict", "dropped:")
        self.hidden.mkdir(exist_ok=True)
        (self.hidden / ".gitignore").write_text(f"{CHANGE}/\n{RUNS}/\n", encoding="ascii")
        shutil.rmtree(self.hidden / CHANGE, ignore_errors=True)
        shutil.copytree(self.work / CHANGE, self.hidden / CHANGE)
        self._log(replace(test, outcome=Outcome.RUNNING))
        return self._told(self._tested(test))

    def _log(self, test: Tested) -> None:
        with (self.hidden / HISTORY).open("ab") as stream:
            stream.write(_TESTED.dump_json(test) + b"\n")

    def _tested(self, test: Tested) -> Tested:
        """Play a test, log its outcome, and accept the copy if that is the outcome."""
        if test.sprt is not None:
            what = "Stops at {elo1:g} rather than {elo0:g} normalised Elo, 5 % wrong verdicts of either kind."
            note(
                f"is this copy of {self.folder} stronger than the accepted one? {what.format(**test.sprt)}", _head(test)
            )
            run = self._tournament(test, TEST, [self.hidden / CHANGE, self.accepted])
            state = run.standings.test()
            test = replace(test, games=state.games, llr=round(state.llr, 3), elo=_interval(run, None))
            if state.verdict.value != "accept":
                undecided = state.verdict.value == "continue"
                return self._ended(test, Outcome.UNDECIDED if undecided else Outcome.REJECTED)
        if not self.gate.exists():
            self._write_gate([HOUSE + bot for bot in self._panel(test)], PANEL_GAMES, "")
        base = "nothing is accepted yet, so this copy is the base if it has no fault against these."
        worse = "no fault and no worse a result than the accepted copy had, by the test in its gate."
        note(base if test.sprt is None else worse, "Panel:")
        run = self._tournament(test, PANEL, [self.hidden / CHANGE])
        (verdicts,) = run.verdicts().values()
        why = [verdict.sentence for verdict in verdicts if not verdict.met]
        test = replace(test, panel_games=len(run.standings.games), why=why)
        if why:
            return self._ended(test, Outcome.REJECTED)
        self._accept(run)
        return self._ended(test, Outcome.BASE if test.sprt is None else Outcome.ACCEPTED)

    def _ended(self, test: Tested, outcome: Outcome) -> Tested:
        ended = replace(test, outcome=outcome)
        self._log(ended)
        return ended

    def _tournament(self, test: Tested, phase: str, bots: Sequence[Path]) -> Run:
        """Play a tournament of a test, or what is missing of it. End the command if it is interrupted."""
        path = self.hidden / RUNS / f"{test.number:04}" / phase
        open_sandbox = partial(open_backend, work=self.work)
        duel = phase == TEST
        if (path / records.HEADER).exists():
            request, folder = go_on(path, (), self.games if duel else None, open_sandbox)
        else:
            about = partial(Request, game=test.game, kind=Kind.GAUNTLET, seats=2, seed="", sandbox=self.sandbox.value)
            games, keep = (self.games or MOST_GAMES, "faulty") if duel else (0, "lost")
            wanted = about(games=games, sprt=test.sprt if duel else None, keep=keep)
            gate, names = None if duel else self.gate, list(map(str, bots))
            request, folder = begin(wanted, names, gate, test.set, path, open_sandbox(self.sandbox.value))
        with folder:
            run = Run(request, folder, as_json=False)
            run.play(self.workers, partial(open_sandbox, warns=False))
        if run.interrupted or run.broke:
            played = counted(len(run.standings.games), "game")
            note(f"after {played}. To continue: {command('better', str(self.folder))}", "stopped")
            raise typer.Exit(INTERRUPTED) if run.interrupted else fail(run.broke)
        if not self.as_json:
            run.show(run.verdicts())
        return run

    def _panel(self, test: Tested) -> Iterator[str]:
        """Yield the house bots that can be built here and that differ from each other."""
        sandbox = open_backend(self.sandbox, self.work, warns=False)
        for bot in house_bots(test.game):
            if bot.startswith(NOT_PANEL):
                continue
            try:
                prepare(GAMES[test.game], HOUSE + bot, sandbox, self.work / PANEL / bot)
            except BadBot as error:
                note(str(error), "left out of the panel:")
                continue
            yield bot

    def _accept(self, run: Run) -> None:
        """Let the copy that was tested be the accepted one, and the gate ask for what it has shown."""
        labels = list(run.request.labels[1:])
        highest = min(TELLING, floor(_interval(run, range(1, len(labels) + 1))[0]))
        terms = Terms(max(-MOST_ELO, highest - SLACK), max(1 - MOST_ELO, highest))
        given = tomllib.loads(self.gate.read_text(encoding="utf-8"))
        games = given.get("games", PANEL_GAMES)
        condition = ""
        if tested([games // 2, 0, 0, 0, 0], terms).verdict.value == "reject":
            condition = f"\n[[condition]]\nsprt = [{terms.elo0:g}, {terms.elo1:g}]\nagainst = {json.dumps(labels)}\n"
        else:
            note(f"{games} games could not show that a later copy does worse; the gate asks for no fault.", "Panel:")
        self._write_gate(given["panel"], games, condition)
        shutil.rmtree(self.accepted, ignore_errors=True)
        shutil.copytree(self.hidden / CHANGE, self.accepted)

    def _write_gate(self, panel: Sequence[str], games: int, condition: str) -> None:
        head = (
            "# Written by `deadheat better` for the accepted copy. Edit the panel and the number of games as you like."
        )
        fault = f"\n[[condition]]\nno_fault_in = {games}\n"
        text = f"{head}\npanel = {json.dumps(panel)}\ngames = {games}\n{condition}{fault}"
        self.gate.write_text(text, encoding="utf-8")

    def _told(self, test: Tested) -> Output:
        again = command("better", str(self.folder))
        kept = f"The accepted copy: {self.accepted}" if self.accepted.is_dir() else "Nothing is accepted yet."
        sentences = {
            Outcome.BASE: f"Nothing was accepted before: this copy is the base. Change {self.folder}, then: {again}",
            Outcome.ACCEPTED: f"It is better, and now the accepted copy: {self.accepted}",
            Outcome.REJECTED: f"{self.folder} stays as it is. {kept}",
            Outcome.UNDECIDED: f"No verdict, so no improvement. For more games: {again} --games {2 * test.games}",
            Outcome.UNCHANGED: f"{self.folder} is as it was accepted. Change it, then: {again}",
        }
        lines = [Text.assemble((_head(test), "bold"), f" {test.outcome}.")]
        if test.elo is not None:
            low, middle, high = test.elo
            read = "read when the test stopped, so a little too far from 0"
            lines.append(
                Text(f"Difference {middle:+.0f} normalised Elo, 95 % from {low:+.0f} to {high:+.0f} ({read}).")
            )
        lines += [harmless(f"Not met: {sentence}.") for sentence in test.why]
        facts = {"accepted": str(self.accepted), "gate": str(self.gate), "history": str(self.hidden / HISTORY)}
        code = REFUSED if test.outcome in {Outcome.REJECTED, Outcome.UNDECIDED} else 0
        return Output({**asdict(test), **facts}, [*lines, harmless(sentences[test.outcome])], code)


def _whole(elo: float) -> str:
    return signed(round(elo))


def _head(test: Tested) -> str:
    return f"Test {test.number}:"


def _interval(run: Run, against: Iterable[int] | None) -> tuple[float, float, float]:
    low, middle, high = interval(run.standings.halves_of(0, against))
    return round(low, 1), round(middle, 1), round(high, 1)


def _shown(tests: Sequence[Tested]) -> Output:
    """Return the history: a line for each test, with the interval of its difference as a plot."""

    def place(elo: float) -> int:
        return round((PLOT_WIDTH - 1) * (max(-1, min(1, elo / PLOT_ELO)) + 1) / 2)

    def plot(test: Tested) -> str:
        row = [" "] * PLOT_WIDTH
        row[PLOT_WIDTH // 2] = "|"
        if test.elo is not None:
            low, middle, high = map(place, test.elo)
            row[low : high + 1] = ["|" if n == PLOT_WIDTH // 2 else "-" for n in range(low, high + 1)]
            row[middle] = "o"
        return "".join(row)

    columns: Columns[Tested] = (
        Column("test", lambda test: test.number, right=True),
        Column("when", lambda test: datetime.fromisoformat(test.at).astimezone().strftime("%m-%d %H:%M"), whole=True),
        Column("verdict", lambda test: test.outcome, whole=True),
        Column("games", lambda test: test.games, right=True),
        Column("norm. Elo", lambda test: "" if test.elo is None else _whole(test.elo[1]), right=True),
        Column(f"95 %, up to ±{PLOT_ELO}", plot, whole=True),
    )
    shown = table(tests, columns) if tests else "Nothing has been tested yet."
    notes = (f"{test.number}: {test.note}" for test in tests if test.note)
    return Output(map(asdict, tests), [shown, *notes])
