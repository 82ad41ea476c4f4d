"""`deadheat better`: is the bot in a folder better than the copy that was accepted last?

Each test is of one frozen copy of the folder, in up to two tournaments: ``test``, against the accepted copy
until a sequential test decides; then, or if nothing is accepted yet, ``panel``, by a gate. A copy that passes
is accepted, and the gate written anew: it asks for as much as the copy has shown. All is in ``.deadheat``:

* ``accepted/`` and ``change/``: the accepted copy, and the one that was tested last, if it was not accepted;
* ``gate.toml``: the gate, also for `deadheat submit --gate`; its panel and number of games may be edited;
* ``history.jsonl``: a line whenever a test begins or ends; the last line of a number counts;
* ``runs/NUMBER/``: the tournaments, which continue where they were interrupted.

A copy that was rejected is not tested again: whoever tests until a test accepts has shown nothing.
"""

import json
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from deadheat.cli.console import INTERRUPTED, REFUSED, USAGE, cannot, command, ending_in_order, fail, note, undivided
from deadheat.cli.local.bots import HIDDEN, HOUSE, IGNORED, BadBot
from deadheat.cli.local.builds import prepare_all
from deadheat.cli.local.play import SANDBOX_HELP, USUAL, Backend, Variant, failing, open_backend, work_folder
from deadheat.cli.output import Column, Columns, Output, says, table
from deadheat.cli.rate import bounds
from deadheat.cli.tournament import records
from deadheat.cli.tournament.beginning import begin, go_on, named, read_gate
from deadheat.cli.tournament.command import Run, sentences
from deadheat.engine.figures import counted, signed
from deadheat.engine.games import GAMES, unknown
from deadheat.engine.games.folder import house_bots
from deadheat.league.sprt import Terms, test
from deadheat.sandbox.host.slots import lock

ACCEPTED, CHANGE, GATE, HISTORY, RUNS = "accepted", "change", "gate.toml", "history.jsonl", "runs"

USUAL_BOUNDS = "0,50"
"""Bounds that decide in about a minute: about 300 games for a bot as good, or 50 better, at five a second."""

MOST_GAMES, PANEL_GAMES = 2000, 40

ASKED = range(300, -900, -25)
"""What a gate may ask for, in normalised Elo; a copy that is worse by a hundred fails."""

PLOT_ELO, PLOT_WIDTH = 200, 21
"""The history's plot: the Elo at its ends, where larger differences are drawn, too, and its characters."""


class Outcome(StrEnum):
    """How a test ended, or stands. Nothing was tested if the folder is unchanged."""

    BASE = "base"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNDECIDED = "undecided"
    RUNNING = "running"
    DROPPED = "dropped"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """A test, as a line of the history. `elo`: by how much the copy is better, between the ends of the 95 %
    interval; `why`: the gate's sentences about what is not met.
    """

    number: int
    game: str
    set: list[str]
    sha256: str
    sprt: dict[str, float] | None
    note: str
    outcome: Outcome = Outcome.RUNNING
    llr: float | None = None
    games: int = 0
    panel_games: int = 0
    elo: tuple[float, float, float] | None = None
    why: list[str] = field(default_factory=list)
    at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


_TESTED = TypeAdapter(Tested)


@says
def better(
    folder: Annotated[Path, typer.Argument(help="The bot's folder.")] = Path(),
    game: Annotated[str, typer.Option(help="The game; default: the last test's, or its rules'.")] = "",
    sprt: Annotated[str, typer.Option(metavar="ELO0,ELO1", help="The sequential test's bounds.")] = USUAL_BOUNDS,
    games: Annotated[int | None, typer.Option(min=2, max=1_000_000, help="Most games of that test.")] = None,
    message: Annotated[str, typer.Option("--note", help="What you changed, for the history.")] = "",
    history: Annotated[bool, typer.Option("--history", help="Play nothing; show the tests so far.")] = False,
    set_: Variant = None,
    sandbox: Annotated[Backend, typer.Option(help=SANDBOX_HELP)] = USUAL,
    as_json: bool = False,
) -> Output:
    """Test whether a bot is better than the copy that was accepted last, and accept or reject it.

    The first copy is the base. A later one must beat it in a sequential test, and then pass a gate against a
    panel: no fault, and no worse a result. Exit code 1 if not. Ctrl-C stops; the same command continues.
    """
    if not folder.is_dir():
        fail(f"{folder} is not a folder; name the bot's", USAGE)
    tests = read_history(folder)
    if history:
        return _shown(tests)
    beside = [name for name in GAMES if (folder / f"{name}.md").is_file()]  # where `deadheat new` puts the rules
    game = game or (tests[-1].game if tests else beside[0] if len(beside) == 1 else "")
    if game not in GAMES:
        fail(unknown(game) if game else f"choose the game with --game: {', '.join(GAMES)}", USAGE)
    with work_folder("better") as work, ending_in_order(), sentences():
        loop = _Loop(folder, folder / HIDDEN, sandbox, games, as_json, Path(work))
        with failing(f"use {folder}"):
            sha256 = loop.freeze(game)
            with _alone(loop.hidden):
                tests = read_history(folder)
                numbers = set_ or (tests[-1].set if tests else [])
                wanted = partial(Tested, number=len(tests) + 1, game=game, set=numbers, note=message)
                tested = bounds(sprt) if loop.accepted.is_dir() else None
                return loop.verdict(wanted(sha256=sha256, sprt=tested), tests)


@contextmanager
def _alone(hidden: Path) -> Iterator[None]:
    """Keep other calls out: two would accept each other's copies. Raises BadFolder if there is one."""
    (hidden / RUNS).mkdir(parents=True, exist_ok=True)
    with (hidden / RUNS / "lock").open("ab") as stream:
        if not lock(stream.fileno()):
            raise records.BadFolder(f"another deadheat better is testing in {hidden.parent}")
        yield


def read_history(folder: Path) -> list[Tested]:
    """Read the tests, each as it ended or stands. A last line that was cut short does not count."""
    file = folder / HIDDEN / HISTORY
    try:
        lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
        return list({test.number: test for test in map(_TESTED.validate_json, lines)}.values())
    except OSError as error:
        cannot(f"read {file}", error, USAGE)
    except ValidationError:
        fail(f"{file} has a line that is not of a test", USAGE)


@dataclass
class _Loop:
    """One call of the command."""

    folder: Path
    hidden: Path
    sandbox: Backend
    games: int | None
    as_json: bool
    work: Path

    def __post_init__(self) -> None:
        self.accepted, self.change, self.gate = (self.hidden / name for name in (ACCEPTED, CHANGE, GATE))

    def freeze(self, game: str) -> str:
        """Copy the folder, so that its author can go on working, and return the hash. Raises BadBot."""
        copy = self.work / CHANGE
        shutil.copytree(self.folder, copy, ignore=shutil.ignore_patterns(*IGNORED))
        if len(named(GAMES[game], [str(copy)])) > 1:
            raise BadBot(f"{self.folder} holds several bots; name the folder of one")
        return records.sha256_of(copy)

    def verdict(self, wanted: Tested, tests: Sequence[Tested]) -> Output:
        """Return the verdict on the copy: what is known of it already, or what a test shows."""
        kept = [n for n, test in enumerate(tests) if test.outcome in {Outcome.BASE, Outcome.ACCEPTED}]
        if self.accepted.is_dir() and records.sha256_of(self.accepted) == wanted.sha256:
            return self._told(replace(tests[kept[-1]] if kept else wanted, outcome=Outcome.UNCHANGED))
        since = tests[kept[-1] + 1 :] if kept else tests
        begun = next((test for test in since if test.sha256 == wanted.sha256), wanted)
        if begun.outcome is Outcome.REJECTED:
            note(f"in test {begun.number}. Testing it again until a test accepts would show nothing.", "known:")
            return self._told(begun)
        if tests and tests[-1].outcome is Outcome.RUNNING and tests[-1].number != begun.number:
            self._log(tests[-1], Outcome.DROPPED)
            note(f"test {tests[-1].number}, because {self.folder} changed before its verdict", "dropped:")
        (self.hidden / ".gitignore").write_text(f"{CHANGE}/\n{RUNS}/\n", encoding="ascii")
        shutil.rmtree(self.change, ignore_errors=True)
        shutil.copytree(self.work / CHANGE, self.change)
        return self._told(self._log(*self._tested(self._log(begun, Outcome.RUNNING))))

    def _log(self, test: Tested, outcome: Outcome) -> Tested:
        test = replace(test, outcome=outcome)
        with (self.hidden / HISTORY).open("a+b") as stream:
            stream.seek(0)
            stream.truncate(stream.read().rfind(b"\n") + 1)  # a last line may have been cut short
            stream.write(_TESTED.dump_json(test) + b"\n")
        return test

    def _tested(self, now: Tested) -> tuple[Tested, Outcome]:
        """Play a test, and accept the copy if that is the outcome."""
        if now.sprt is not None:
            what = "Stops at {elo1:g} rather than {elo0:g} normalised Elo; 5 % wrong verdicts of either kind."
            note(f"is this copy of {self.folder} the stronger? {what.format(**now.sprt)}", f"Test {now.number}:")
            run = self._tournament(now, "test", [self.change, self.accepted])
            state, rated = run.standings.test(), {rating.player: rating for rating in run.standings.ratings(now=True)}
            new, old = (rated[label] for label in run.request.labels)
            elo = round(new.low - old.high, 1), round(new.elo - old.elo, 1), round(new.high - old.low, 1)
            now = replace(now, games=len(run.standings.games), llr=round(state.llr, 3), elo=elo)
            if state.verdict.value != "accept":
                return now, Outcome.REJECTED if state.verdict.value == "reject" else Outcome.UNDECIDED
        if not self.gate.exists():
            self._write_gate([*self._panel(now.game)], PANEL_GAMES)
        asks = "no worse a result than the accepted copy had" if now.sprt else "then it is the base"
        note(f"no fault, and {asks}.", "Panel:")
        read_gate(self.gate)  # raises Unplayable if its author has broken it
        given = tomllib.loads(self.gate.read_text(encoding="utf-8"))
        run = self._tournament(now, "panel", [self.change])
        why = [verdict.sentence for verdicts in run.verdicts().values() for verdict in verdicts if not verdict.met]
        now = replace(now, panel_games=len(run.standings.games), why=why)
        if why:
            return now, Outcome.REJECTED
        self._write_gate(given["panel"], given.get("games", PANEL_GAMES), run)
        with undivided():  # renamed, because a copy may find the disk full when the old one is gone
            shutil.rmtree(self.accepted, ignore_errors=True)
            self.change.rename(self.accepted)
        return now, Outcome.ACCEPTED if now.sprt else Outcome.BASE

    def _tournament(self, now: Tested, phase: str, bots: Sequence[Path]) -> Run:
        """Play a tournament of a test, or what is missing of it. End the command if it is interrupted."""
        path, panel = self.hidden / RUNS / f"{now.number:04}" / phase, phase == "panel"
        open_sandbox = partial(open_backend, work=self.work)
        if (path / records.HEADER).exists():
            request, folder = go_on(path, (), None if panel else self.games, open_sandbox)
        else:
            about = partial(records.Request, game=now.game, kind=records.Kind.GAUNTLET, seats=2, seed="")
            asked = about(games=0, keep="lost", sandbox=self.sandbox.value)
            asked = asked if panel else replace(asked, games=self.games or MOST_GAMES, keep="faulty", sprt=now.sprt)
            names, gate = [*map(str, bots)], self.gate if panel else None
            request, folder = begin(asked, names, gate, now.set, path, open_sandbox(self.sandbox.value))
        with folder:
            run = Run(request, folder, as_json=False)
            run.play(None, partial(open_sandbox, warns=False))
        if run.interrupted or run.broke:
            played = counted(len(run.standings.games), "game")
            note(f"after {played}. To continue: {command('better', str(self.folder))}", "stopped")
            raise typer.Exit(INTERRUPTED) if run.interrupted else fail(run.broke)
        if not self.as_json:
            run.show(run.verdicts())
        return run

    def _panel(self, game: str) -> Iterator[str]:
        """Yield the house bots that can be built here. Those that only show a language play alike."""
        names = [HOUSE + bot for bot in house_bots(game) if not bot.startswith("hello-")]
        sandbox = open_backend(self.sandbox, self.work, warns=False)
        for name, program in zip(names, prepare_all(GAMES[game], names, sandbox, self.work / "panel"), strict=True):
            if isinstance(program, BadBot):
                note(str(program), "left out:")
            else:
                yield name

    def _write_gate(self, panel: Sequence[str], games: int, shown: Run | None = None) -> None:
        """Write the gate, which asks for the most that a tournament has shown of its first bot."""
        lines = [
            f"# Written by `deadheat better`; the panel and the games are yours.\npanel = {json.dumps(panel)}",
            f"games = {games}\n\n[[condition]]\nno_fault_in = {games}",
        ]
        counts = shown.standings.halves_of(0) if shown else []
        for terms in (Terms(elo - 100, elo) for elo in ASKED if shown):
            losing = test([games // 2, 0, 0, 0, 0], terms)  # the gate refuses bounds at which nobody fails
            if test(counts, terms).verdict.value == "accept" and losing.verdict.value == "reject":
                against = json.dumps(shown.request.labels[1:]) if shown else ""
                lines.append(f"\n[[condition]]\nsprt = [{terms.elo0}, {terms.elo1}]\nagainst = {against}")
                break
        new = self.gate.with_suffix(".new")
        new.write_text("\n".join(lines) + "\n", encoding="utf-8")
        new.replace(self.gate)

    def _told(self, now: Tested) -> Output:
        again = command("better", str(self.folder))
        kept = f"The accepted copy is {self.accepted}." if self.accepted.is_dir() else "Nothing is accepted yet."
        closing = {
            Outcome.BASE: f"Nothing was accepted before: this copy is the base. Change {self.folder}, then: {again}",
            Outcome.ACCEPTED: f"It is better, and accepted. {kept}",
            Outcome.REJECTED: f"It is not accepted; {self.folder} stays as it is. {kept}",
            Outcome.UNDECIDED: f"No verdict, so no improvement. To play on: {again} --games {2 * now.games}",
            Outcome.UNCHANGED: f"{self.folder} is as it was accepted. Change it, then: {again}",
        }
        lines = [f"Test {now.number}: {now.outcome}."]
        if now.elo is not None:
            low, middle, high = (signed(round(elo)) for elo in now.elo)
            lines[0] += f" Difference {middle} Elo, 95 % from {low} to {high} (at its stop: a little too much)."
        lines += [f"Not met: {sentence}." for sentence in now.why]
        code = REFUSED if now.outcome in {Outcome.REJECTED, Outcome.UNDECIDED} else 0
        return Output({**asdict(now), "folder": str(self.hidden)}, [*lines, closing[now.outcome]], code)


def _shown(tests: Sequence[Tested]) -> Output:
    """Return the history: a line for each test, with its interval as a plot, and the notes."""

    def plot(test: Tested) -> str:
        row, middle = [" "] * PLOT_WIDTH, PLOT_WIDTH // 2
        if test.elo is not None:
            shares = (max(-1, min(1, elo / PLOT_ELO)) for elo in test.elo)
            low, at, high = (middle + round(middle * share) for share in shares)
            row[low : high + 1] = "-" * (high + 1 - low)
            row[at] = "o"
        return "".join([*row[:middle], row[middle].replace(" ", "|").replace("-", "|"), *row[middle + 1 :]])

    columns: Columns[Tested] = (
        Column("test", lambda test: test.number, right=True),
        Column("when", lambda test: datetime.fromisoformat(test.at).astimezone().strftime("%m-%d %H:%M"), whole=True),
        Column("verdict", lambda test: test.outcome, whole=True),
        Column("games", lambda test: test.games, right=True),
        Column("Elo", lambda test: "" if test.elo is None else signed(round(test.elo[1])), right=True),
        Column(f"95 %, up to ±{PLOT_ELO}", plot, whole=True),
    )
    notes = (f"{test.number}: {test.note}" for test in tests if test.note)
    return Output(map(asdict, tests), [table(tests, columns), *notes] if tests else "Nothing has been tested yet.")
