"""`deadheat tournament`: everybody against everybody, or one against a panel, until the results suffice."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from deadheat.cli.console import (
    INTERRUPTED,
    REFUSED,
    USAGE,
    command,
    ending_in_order,
    err,
    fail,
    harmless,
    milestone,
    note,
    number_in,
    out,
)
from deadheat.cli.local.play import (
    BOT_HELP,
    GAME_HELP,
    SANDBOX_HELP,
    USUAL,
    Backend,
    Variant,
    failing,
    open_backend,
    work_folder,
)
from deadheat.cli.local.reserve import locks_folder, own_processors
from deadheat.cli.output import print_json, says
from deadheat.cli.rate import bounds
from deadheat.cli.tournament import beginning
from deadheat.cli.tournament.beginning import Unplayable, Verdict, begin, gate_of, go_on
from deadheat.cli.tournament.records import BadFolder, Folder, GameRecord, Kind, Request
from deadheat.cli.tournament.runner import CannotPlay, Interrupted, Runner
from deadheat.cli.tournament.schedule import missing, plan
from deadheat.cli.tournament.standings import (
    Screen,
    Standings,
    closing_lines,
    sprt_line,
    standings_of,
    standings_table,
    summary,
)
from deadheat.cli.tournament.worker import Job, Voided
from deadheat.engine.figures import counted, visible
from deadheat.engine.games import GAMES
from deadheat.sandbox.box import Sandbox

if TYPE_CHECKING:
    from deadheat.league.ratings import Rating

AUTO = "auto"
MOST_AT_ONCE = 256


class _Keep(StrEnum):
    """The transcripts to keep: `lost` are games that the first bot did not win, and faulty ones."""

    ALL = "all"
    LOST = "lost"
    FAULTY = "faulty"
    NONE = "none"


Test = Annotated[str, typer.Option(metavar="ELO0,ELO1", help="Stop when a sequential test of the first bot decides.")]
Until = Annotated[
    float | None, typer.Option(min=0.1, metavar="ELO", help="Stop when the first bot's rating is known to ± ELO.")
]
Seats = Annotated[
    int | None, typer.Option(min=2, help="Bots at a table; default: as many as the game and the field allow.")
]
Concurrency = Annotated[
    str, typer.Option(metavar="N|auto", help="Games at a time; auto: as many as there are processors for, one per bot.")
]
Resumed = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Continue this tournament, optionally with more BOTs or --games.")
]
GateFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE.toml", help="Play against a panel; exit 1 unless all its conditions (see above) hold."),
]
Broken = Annotated[
    bool,
    typer.Option("--leave-out", help="Leave out bots that cannot be built; default: ask at a terminal, else end."),
]


@says
def tournament(
    game: Annotated[str, typer.Argument(help=f"{GAME_HELP}; may be left out with --resume.")] = "",
    bots: Annotated[
        list[str] | None,
        typer.Argument(metavar="BOT...", help=f"{BOT_HELP} Also a folder of bots, and house:* for all house bots."),
    ] = None,
    format_: Annotated[
        Kind, typer.Option("--format", help="Who meets whom; in a gauntlet the first meets all others.")
    ] = Kind.ROUND_ROBIN,
    games: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="Games per pair; default: 20, or until it is decided.")
    ] = None,
    sprt: Test = "",
    until: Until = None,
    seed: Annotated[str, typer.Option(help="The same text gives the same dice; default: random.")] = "",
    seats: Seats = None,
    set_: Variant = None,
    concurrency: Concurrency = AUTO,
    sandbox: Annotated[Backend, typer.Option(help=SANDBOX_HELP)] = USUAL,
    keep: Annotated[_Keep, typer.Option(help="Transcripts to keep; lost: those that the first bot lost.")] = _Keep.LOST,
    folder: Annotated[Path | None, typer.Option(help="Folder for results; default: a new one here.")] = None,
    resume: Resumed = None,
    gate: GateFile = None,
    leave_out: Broken = False,
    as_json: bool = False,
) -> tuple[()]:
    """Play many games between bots on this machine, several at a time, and rate them.

    \b
    A gate's file names a panel and one or more conditions, such as these three:
      panel = ["rivals/*", "house:*"]   # bots; paths are relative to this file
      games = 40                        # against each of them
      condition = [
        {no_loss = "rush-*"},           # by a bot's name, with * and ?
        {sprt = [-100, 0], against = "old-bot"},  # the sequential test must not reject
        {no_fault_in = 200},            # games
      ]
    """  # noqa: D301  Click leaves the lines after this mark as they are
    workers = number_in(concurrency)
    if concurrency != AUTO and (workers is None or not 1 <= workers <= MOST_AT_ONCE):
        fail(f"--concurrency is a number from 1 to {MOST_AT_ONCE}, or {AUTO}", USAGE)
    with ending_in_order(), work_folder("tournament") as work:
        open_sandbox, left_out = partial(open_backend, work=Path(work)), _left_out(leave_out, as_json)
        with sentences(), failing("use the folder"):
            if resume is not None:
                more = bots or [] if game in GAMES else [word for word in (game, *(bots or ())) if word]
                request, open_folder = go_on(resume, more, games, open_sandbox, left_out)
            else:
                path = folder or Path(f"tournament-{datetime.now():%Y%m%d-%H%M%S}")  # noqa: DTZ005  a name for people
                about = partial(Request, game=game, kind=format_, sprt=bounds(sprt), until=until, seed=seed)
                wanted = about(seats=seats or 0, games=games or 0, keep=keep.value, sandbox=sandbox.value)
                opened = open_sandbox(sandbox.value)
                request, open_folder = begin(wanted, bots or [], gate, set_ or (), path, opened, left_out)
            with open_folder:
                run = Run(request, open_folder, as_json)
                run.play(workers, partial(open_sandbox, warns=False))
        run.end()
    return ()


def _left_out(wanted: bool, as_json: bool) -> beginning.LeaveOut:
    """Return how to decide about bots that cannot be built: as the option says, or by asking at a terminal."""
    if wanted:
        return lambda: True
    asks = sys.stdin.isatty() and err.is_terminal and not as_json
    return (lambda: typer.confirm("Play without them?", err=True)) if asks else None


@dataclass
class Run:
    """One call of the command, including the games that were played before."""

    request: Request
    folder: Folder
    as_json: bool
    standings: Standings = field(init=False)
    planned: int = 0
    interrupted: bool = False
    """Whether Ctrl-C or SIGTERM ended the run."""
    broke: str = ""
    """The reason why this machine could not continue, as a sentence."""

    def __post_init__(self) -> None:
        self.standings = standings_of(self.request, self.folder.games)

    def play(self, workers: int | None, open_sandbox: Callable[[str], Sandbox]) -> None:
        request, folder = self.request, self.folder
        played = self.standings.games.keys()
        deals = plan(request)
        self.planned = sum(len(deal.games) for deal in deals)
        left = missing(request, deals, played)
        if not left or self._decided():
            return
        cpus = own_processors()
        job = Job(
            game=request.rules,
            programs=tuple(map(folder.program, request.bots)),
            open_sandbox=partial(open_sandbox, request.sandbox),
            backend=request.sandbox,
            keep=request.keep,
            folder=folder.path,
            locks=locks_folder(),
            cpus=cpus,
        )
        with Screen(self.standings, self.planned, not self.as_json and err.is_terminal) as screen:
            runner = Runner(job, workers or max(1, len(cpus)), self._ended, self._void)

            noted: set[tuple[str, ...]] = set()

            def look() -> None:
                if runner.waits and not screen.wanted and runner.waits not in noted:
                    note(f"for processors. Taken: {'; '.join(runner.waits)}", "waiting")
                    noted.add(runner.waits)  # only once, because tournaments take turns every few seconds
                screen.waits = runner.waits
                screen.draw()

            runner.look = look
            try:
                runner.play(left, request.block)
            except Interrupted:
                self.interrupted = True
            except CannotPlay as error:
                if not self.standings.games:
                    raise
                self.broke = str(error)

    def _ended(self, game: GameRecord) -> bool:
        """Append a game's line, and return whether the results suffice."""
        self.folder.append(line := game.line)
        self.standings.add(game)
        if self.as_json:
            print(line, flush=True)
        elif milestone(count := len(self.standings.games)) and not err.is_terminal:
            note(f"{count} of at most {counted(self.planned, 'game')}")
        return self._decided()

    def _decided(self) -> bool:
        request = self.request
        if request.sprt is not None:
            return bool(self.standings.test().verdict != "continue")
        if request.until is not None and self.standings.games:
            width = self.standings.width(request.labels[0])
            return width is not None and width <= request.until
        return False

    def _void(self, void: Voided) -> None:
        follows = "abandoned" if void.given_up else "trying again with the next dice"
        note(f"game {void.number}: {void.cause}: {void.detail}; {follows}", "void:")

    def verdicts(self) -> dict[str, list[Verdict]]:
        """Return the gate's verdicts on each candidate; empty without a gate."""
        request = self.request
        if request.gate is None:
            return {}
        first = len(request.bots) - request.panel
        gate, panel = gate_of(request), range(first, len(request.bots))
        return {request.labels[bot]: beginning.judge(gate, self.standings, bot, panel) for bot in range(first)}

    def end(self) -> None:
        verdicts = {} if self.interrupted or self.broke else self.verdicts()
        if self.as_json:
            totals = summary(self.standings, self._choice(verdicts))
            if self.request.sprt is not None:
                state = self.standings.test()
                totals["sprt"] = {"verdict": state.verdict.value, "llr": round(state.llr, 4), "games": state.games}
            if verdicts:
                totals["gate"] = {label: list(map(asdict, judged)) for label, judged in verdicts.items()}
            stopped = self.interrupted or bool(self.broke)
            print_json({"summary": totals | {"folder": str(self.folder.path), "interrupted": stopped}})
        elif self.standings.games:
            self.show(verdicts)
        path = self.folder.path
        note(f"Results in {path}")
        if self.standings.games:
            from deadheat.cli.tournament import report  # brings the ratings' numpy

            note(f"Report: {report.write(path)}")
        if self.interrupted or self.broke:
            again = command("tournament", "--resume", str(path))
            note(f"after {counted(len(self.standings.games), 'game')}. To continue: {again}", "stopped")
            if self.broke:
                fail(self.broke)
            raise typer.Exit(INTERRUPTED)
        if any(not verdict.met for group in verdicts.values() for verdict in group):
            raise typer.Exit(REFUSED)

    def _choice(self, verdicts: Collection[str]) -> list[Rating]:
        """Return the ratings of the bots from which to choose the best; none if the first bot is tested."""
        request, ratings = self.request, self.standings.ratings(now=True)
        if request.gate is not None:
            return [rating for rating in ratings if rating.player in verdicts]
        return ratings if request.kind is Kind.ROUND_ROBIN and len(ratings) > 2 and request.sprt is None else []

    def show(self, verdicts: dict[str, list[Verdict]]) -> None:
        """Print the standings, the sequential test, and the gate's verdicts."""
        request = self.request
        out.print(standings_table(self.standings, self.standings.ratings(now=True)))
        if request.sprt is not None:
            out.print(sprt_line(request, self.standings.test()), soft_wrap=True)
        for line in closing_lines(self.standings, self._choice(verdicts)):
            out.print(line, soft_wrap=True)
        for label, judged in verdicts.items():
            passed = all(verdict.met for verdict in judged)
            outcome = (" passes", "green") if passed else (" does not pass", "red")
            out.print()
            out.print(Text.assemble((visible(label), "bold"), outcome))
            for verdict in judged:
                met = ("met     ", "green") if verdict.met else ("failed  ", "red")
                out.print(Text.assemble("  ", met, harmless(verdict.sentence)), soft_wrap=True)


@contextmanager
def sentences() -> Iterator[None]:
    """End the command with a sentence if the tournament cannot be played, or Ctrl-C comes before it."""
    try:
        yield
    except (Unplayable, BadFolder) as error:
        fail(str(error), USAGE)
    except CannotPlay as error:
        fail(str(error))
    except KeyboardInterrupt:
        note("before the first game", "stopped")
        raise typer.Exit(INTERRUPTED) from None
