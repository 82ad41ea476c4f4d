"""`deadheat tune`: finds good values of a bot's parameters by playing, and tests them with fresh games.

A sample is one point: the bot with some values plays a pair of games against each bot of the panel. Points are drawn in
batches; each batch depends on the games before it (`tuning.surface`). In the folder:

* ``tune.json``: the request, and every point that was drawn, written before the point is played;
* ``search/``: the games of all samples, as a tournament's folder. Games are numbered by points, so an interrupted
  search plays what is missing of the last batch, with the same dice, and goes on;
* ``check/``: a tournament of the bot with the values found against the bot as it is, until a sequential test decides.

Values that win a search are flattered: of many they had luck. So the search reports no strength; the check does, with
other dice.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import numpy as np
import typer

from deadheat.cli.console import INTERRUPTED, REFUSED, USAGE, command, ending_in_order, fail, note
from deadheat.cli.local.bots import HOUSE, sources_of
from deadheat.cli.local.play import GAME_HELP, SANDBOX_HELP, USUAL, Backend, Variant, failing, open_backend
from deadheat.cli.local.reserve import locks_folder, own_processors
from deadheat.cli.output import Output, says
from deadheat.cli.rate import bounds
from deadheat.cli.tournament import records, report
from deadheat.cli.tournament.beginning import begin, go_on
from deadheat.cli.tournament.command import Run, sentences
from deadheat.cli.tournament.records import Folder, GameRecord, Kind, Request, Stage
from deadheat.cli.tournament.runner import Interrupted, Runner
from deadheat.cli.tournament.schedule import Deal, Seated
from deadheat.cli.tournament.worker import Job
from deadheat.cli.tuning import picture
from deadheat.cli.tuning.state import Parameter, Step, Tuning
from deadheat.cli.tuning.surface import Surface, fit
from deadheat.engine.chance import SEED_BYTES
from deadheat.engine.figures import counted
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import house_bots
from deadheat.sandbox.box import Sandbox

SEARCH, CHECK, PICTURE, TUNED = "search", "check", "tune.html", "tuned"
MOST_PARAMETERS = 8
"""The quadratic has 45 coefficients then; a thousand games fit some fifteen, of four parameters."""

BATCH = 16
"""Points drawn at a time. Smaller batches find no better values, larger ones keep more processors busy at their end."""

LINES = 10
"""About how many lines a search prints."""

USUAL_GAMES, MOST_CHECKED = 1000, 20_000
STRONGEST = "expert"


@says
def tune(
    bot: Annotated[str, typer.Argument(help="The bot's folder or file; may be left out with --resume.")] = "",
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LOW..HIGH[/STEP]", help="A parameter with its range; once for each, at most 8."),
    ] = None,
    game: Annotated[str, typer.Option(help=f"{GAME_HELP}; default: that of the rules beside the bot.")] = "",
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="BOT", help="An opponent, or a folder of them; default: the bot itself and house:expert."),
    ] = None,
    by_argument: Annotated[
        bool,
        typer.Option("--arguments", help="Start the bot with --NAME=VALUE, not with variables of its environment."),
    ] = False,
    games: Annotated[int, typer.Option(min=100, max=1_000_000, help="Games of the search.")] = USUAL_GAMES,
    sprt: Annotated[str, typer.Option(metavar="ELO0,ELO1", help="Bounds of the test with fresh games.")] = "0,20",
    seed: Annotated[str, typer.Option(help="The same text gives the same dice; default: random.")] = "",
    set_: Variant = None,
    concurrency: Annotated[int | None, typer.Option(min=1, max=256, help="Games at a time; default: auto.")] = None,
    sandbox: Annotated[Backend, typer.Option(help=SANDBOX_HELP)] = USUAL,
    folder: Annotated[Path | None, typer.Option(help="Folder for results; default: a new one here.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Continue this search, or its test.")] = None,
    as_json: bool = False,
) -> Output:
    """Find good values of a bot's parameters by playing, then test them with fresh games against the bot as it is.

    Ctrl-C stops; --resume continues. Exit code 1 unless the test accepts the values.
    """
    place = resume or folder or Path(f"tune-{datetime.now():%Y%m%d-%H%M%S}")  # noqa: DTZ005  a name for people
    with ending_in_order(), tempfile.TemporaryDirectory(prefix="deadheat-tune-") as work:
        open_sandbox = partial(open_backend, work=Path(work))
        with sentences(), failing("use the folder"):
            if resume is not None:
                if bot or param or against:
                    fail("--resume continues as the search began: name nothing else", USAGE)
                tuning = Tuning.load(place)
                request, opened = go_on(place / SEARCH, [], None, open_sandbox)
            else:
                if sandbox is Backend.DOCKER and not by_argument:
                    fail("in containers, variables reach no bot: add --arguments, or --sandbox local or bwrap", USAGE)
                bounds(sprt)  # ends the command if they are none
                tuning = Tuning(_parameters(bot, param or []), by_argument, games, sprt)
                game = game or _game_beside(Path(bot))
                panel = against or [bot, *(HOUSE + name for name in house_bots(game) if name == STRONGEST)]
                wanted = Request(
                    game=game, kind=Kind.GAUNTLET, seats=2, games=games, seed=seed, keep="faulty", sandbox=sandbox.value
                )
                request, opened = begin(wanted, [bot, *panel], None, set_ or (), place / SEARCH, open_sandbox(sandbox))
                tuning.save(place)
            search = Search(tuning, request, opened, place, concurrency, partial(open_sandbox, warns=False))
            with opened:
                surface = search.play()
            return search.check(surface, as_json)


def _parameters(bot: str, given: Sequence[str]) -> list[Parameter]:
    try:
        parameters = [Parameter.read(text) for text in given]
    except ValueError as error:
        fail(f"--param: {error}", USAGE)
    names = [parameter.name for parameter in parameters]
    if not 1 <= len(set(names)) == len(names) <= MOST_PARAMETERS:
        fail(f"name 1 to {MOST_PARAMETERS} different parameters with --param NAME=LOW..HIGH", USAGE)
    path = Path(bot)
    if not path.exists():
        fail(f"{bot or 'no bot'} is not a file or folder; name the bot's", USAGE)
    files = [path / file for file in sources_of(path)] if path.is_dir() else [path] if path.is_file() else []
    for name in names:
        if files and not any(name.encode() in path.read_bytes() for path in files):
            fail(f"no file of {bot} contains {name}, so the bot cannot read it", USAGE)
    return parameters


def _game_beside(bot: Path) -> str:
    """Return the game whose rules are beside the bot, where `deadheat new` put them."""
    beside = bot if bot.is_dir() else bot.parent
    games = [game for game in GAMES if (beside / f"{game}.md").is_file()]
    return games[0] if len(games) == 1 else fail(f"choose the game with --game: {', '.join(GAMES)}", USAGE)


@dataclass
class Search:
    """One call of the command."""

    tuning: Tuning
    request: Request
    opened: Folder
    place: Path
    workers: int | None
    open_sandbox: Callable[[str], Sandbox]
    halves: dict[int, int] = field(default_factory=dict)
    """Half points of the bot by the game's number."""
    faults: int = 0
    course: list[Step] = field(default_factory=list)

    @property
    def each(self) -> int:
        """The number of games of a sample: a pair against each bot of the panel."""
        return 2 * (len(self.request.bots) - 1)

    def play(self) -> Surface:
        """Play the search to its end, and return the surface. Raises CannotPlay; ends the command by Ctrl-C."""
        for game in self.opened.games:
            self._count(game)
        points, surface = max(BATCH, self.tuning.games // self.each), None
        for first in range(0, points, BATCH):
            last = min(first + BATCH, points)
            if last > len(self.tuning.points):
                self.tuning.more(surface, last - first, self.request.seed)
                self.tuning.save(self.place)
            self._play(self._missing(first, last), self.tuning.points[first:last])
            if self.faults == len(self.halves):
                first_game = self.opened.path / records.TRANSCRIPTS / "000000.jsonl"
                why = command("explain", str(first_game), "--seat", "1")
                fail(f"with these values, the bot failed in each of {counted(self.faults, 'game')}; why: {why}")
            surface = self._fitted(last)
            step = self.tuning.step(last * self.each, surface)
            self.course.append(step)
            if last * LINES // points > first * LINES // points:
                told = zip(self.tuning.parameters, step.values, step.widths, strict=True)
                values = ", ".join(f"{p.name} {value:.4g} ± {width:.2g}" for p, value, width in told)
                note(f"{step.games:,} of {counted(points * self.each, 'game')}: {values}")
        assert surface is not None
        return surface

    def _missing(self, first: int, last: int) -> list[Deal]:
        """Return the deals of these points without the games that were played; programs count from the first point."""
        deals = []
        for number in range(first * self.each, last * self.each, 2):
            point, other = divmod(number, self.each)
            table = (point - first, last - first + other // 2)
            games = (Seated(number, table), Seated(number + 1, table[::-1]))
            dice = hashlib.sha256(f"tune {self.request.seed} {number}".encode()).digest()[:SEED_BYTES]
            left = tuple(game for game in games if game.number not in self.halves)
            deals += [Deal(f"{point}/{other // 2}", dice, left)] if left else []
        return deals

    def _play(self, deals: list[Deal], points: Sequence[Sequence[float]]) -> None:
        if not deals:
            return
        bot, *panel = map(self.opened.program, self.request.bots)
        tuned = [replace(bot, command=self.tuning.with_values(bot.command, values)) for values in points]
        job = Job(
            game=self.request.rules,
            programs=(*tuned, *panel),
            open_sandbox=partial(self.open_sandbox, self.request.sandbox),
            backend=self.request.sandbox,
            keep=self.request.keep,
            folder=self.opened.path,
            locks=locks_folder(),
            cpus=own_processors(),
        )

        def ended(game: GameRecord) -> bool:
            self.opened.append(game.line)
            self._count(game)
            return False

        try:
            Runner(job, self.workers or len(job.cpus), ended).play(deals, 1)
        except Interrupted:
            self.stopped()

    def _count(self, game: GameRecord) -> None:
        """Count a game; one in which both bots failed says nothing about the values."""
        mine = game.players.index(self.request.labels[0])
        self.faults += game.failed(mine)
        ranks = game.ranks[mine], game.ranks[1 - mine]
        self.halves[game.number] = (ranks[0] <= ranks[1]) + (ranks[0] < ranks[1]) if game.rated else 1

    def _fitted(self, points: int) -> Surface:
        halves = np.array([self.halves.get(number, np.nan) for number in range(points * self.each)], float)
        by_point = halves.reshape(points, self.each)
        games = np.sum(~np.isnan(by_point), axis=1)
        scores = np.nansum(by_point, axis=1) / 2 / np.maximum(games, 1)
        return fit(self.tuning.shares(points), scores, games.astype(float))

    def check(self, surface: Surface, as_json: bool) -> Output:
        """Play the values found against the bot as it is with fresh dice until the test decides, and report."""
        step, parameters = self.course[-1], self.tuning.parameters
        shown = picture.write(self.place / PICTURE, self.request.labels[0], parameters, self.course, surface)
        for name in self.tuning.at_edges(step):
            note(f"{name} is best at an edge of its range; search again with a wider one")
        request, opened = self._checked(step.values)
        with opened:
            run = Run(request, opened, as_json=False)
            run.play(self.workers, self.open_sandbox)
        if run.interrupted or run.broke:
            self.stopped(run.broke)
        note(f"The course of the search: {shown}. The fresh games: {report.write(opened.path)}")
        if not as_json:
            run.show({})
        state, faults = run.standings.test(), sum(run.standings.seen[0].faults.values())
        accepted = state.verdict.value == "accept"
        values = {p.name: value for p, value in zip(parameters, step.values, strict=True)}
        check = {"verdict": state.verdict.value, "llr": round(state.llr, 4), "games": state.games, "score": state.score}
        answer = {"values": values, "games": step.games, "check": check, "faults": faults, "folder": str(self.place)}
        written = ", ".join(f"{name} = {value:.10g}" for name, value in values.items())
        won, _, lost = run.standings.pairs(0)
        even = "" if won or lost else "No difference: every pair of games was even. "
        kept = even + "Keep the values that the bot has."
        verdict = f"Write into the bot: {written}" if accepted else kept
        return Output(answer, [picture.table_of(parameters, step, surface), verdict], 0 if accepted else REFUSED)

    def _checked(self, values: Sequence[float]) -> tuple[Request, Folder]:
        """Begin or continue the test's tournament."""
        path = self.place / CHECK
        if (path / records.HEADER).exists():
            return go_on(path, [], None, self.open_sandbox)
        bot = self.request.bots[0]
        tuned = replace(bot, label=TUNED, command=self.tuning.with_values(bot.command, values), folder="tuned")
        for each in (tuned, bot):
            copy = path / records.BOTS / each.folder
            shutil.rmtree(copy, ignore_errors=True)  # left by a start that was interrupted
            shutil.copytree(self.opened.path / records.BOTS / bot.folder, copy)
        (path / records.TRANSCRIPTS).mkdir(exist_ok=True)
        request = replace(
            self.request,
            bots=(tuned, bot),
            kind=Kind.ROUND_ROBIN,
            games=MOST_CHECKED,
            stages=(Stage(2, MOST_CHECKED),),
            sprt=bounds(self.tuning.sprt),
            seed=f"{self.request.seed} check",
            keep="lost",
        )
        records.save(path, request)
        return request, Folder(path)

    def stopped(self, why: str = "") -> NoReturn:
        """End the command, and say how to continue."""
        again = command("tune", "--resume", str(self.place))
        note(f"after {counted(len(self.halves), 'game')} of the search. To continue: {again}", "stopped")
        if why:
            fail(why)
        raise typer.Exit(INTERRUPTED)
