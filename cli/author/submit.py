"""`deadheat submit`: upload a bot and follow it until it plays."""

import io
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from deadheat.cli.console import REFUSED, USAGE, cannot, command, err, fail, note, quoted, say
from deadheat.cli.local.bots import sources_of
from deadheat.cli.local.play import SANDBOX_HELP, USUAL, Backend
from deadheat.cli.output import as_object, print_json
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import asks
from deadheat.cli.server.follow import (
    DEFAULT_TIMEOUT_S,
    LONGEST_AGO,
    LogReader,
    News,
    Patience,
    Place,
    Timeout,
    ending_line,
    looks,
    own_seats,
    panel_changes,
    panel_line,
    seasons_of,
    state_line,
)
from deadheat.cli.server.wire import Refused
from deadheat.engine.figures import counted
from deadheat.league.records.bots import Version
from deadheat.league.records.entries import PanelResult
from deadheat.league.records.matches import Match
from deadheat.league.states import ENTERABLE

MAX_READ_BYTES = 256 * 1024 * 1024
"""The most bytes read from a bot's folder: more than any server accepts, but less than this machine's memory."""


@asks
def submit(
    client: Client,
    bot: Annotated[Path, typer.Argument(help="A source file, a zip, or a folder (which is zipped).")],
    game: Annotated[str, typer.Option(help="The game it plays.")],
    name: Annotated[
        str, typer.Option(help="The bot's name, at most 32 letters, digits, - and _; a new name creates a new bot.")
    ],
    season: Annotated[int, typer.Option(min=0, help="Enter this season once the bot is ready; 0: none.")] = 0,
    wait: Annotated[
        bool | None,
        typer.Option(
            "--wait/--no-wait",
            help="--wait: show the build log, the season's panel and the first matches there (without --season: in the "
            "season that the bot is in); --no-wait: end after the upload.",
            show_default="until it is built and has played its trial match",
        ),
    ] = None,
    matches: Annotated[int, typer.Option(min=1, max=1000, help="How many matches --wait waits for.")] = 3,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    gate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml", help="Play this gate on this machine first, and upload the bot only if it passes."
        ),
    ] = None,
    sandbox: Annotated[Backend, typer.Option(help=f"For --gate. {SANDBOX_HELP}")] = USUAL,
    as_json: bool = False,
) -> tuple[()]:
    """Upload a bot and wait until it is built and has played its trial match.

    Exit code 1 if it is broken, or (with --wait) if it has too few points against the season's panel, or if one of its
    first matches ended by its fault. A loss is not a fault.
    """
    if not client.has_token:
        login = command("login", "--sign-up", "--server", client.server)
        fail(f"you are not logged in at {client.server}: `{login}`, or without --sign-up if you have an account")
    watched = season or (_season_of(client, game, name) if wait else 0)
    filename, content = read_bot(bot)
    if season:  # it must be able to take the bot, or this would be built in vain
        entered = client.season(season)
        if entered.game != game:
            fail(f"season {season} is of {entered.game}, not of {game}", USAGE)
        if entered.state not in ENTERABLE:
            fail(f"season {season} is {entered.state}: bots enter it only while it is {' or '.join(ENTERABLE)}")
    if gate is not None:
        client.me()
        _must_pass(gate, game, bot, sandbox)
    visit = _Submission(client, game, name, quiet=as_json)
    visit.upload(filename, content, season)
    if wait is not False:
        visit.follow_build(Patience(timeout, f"version {visit.version.number} is not built"), log=bool(wait))
    if season and (visit.version.state == "ready" or wait is False):
        visit.enter(season)
    if wait and visit.version.state == "ready":
        visit.follow_panel(watched, Patience(timeout, "it has not finished the panel"))
        visit.tell_company(watched)
        visit.follow_matches(watched, matches, Patience(timeout, "its first matches have not ended"))
    visit.end(wait is not False)
    return ()


def _season_of(client: Client, game: str, name: str) -> int:
    """Return the bot's one open season, or else its scheduled one. End the command unless there is exactly one."""
    bot = next((bot.id for bot in client.bots() if bot.game == game and bot.name.lower() == name.lower()), None)
    states = {} if bot is None else seasons_of(client, bot)
    seasons = [number for number, state in states.items() if state == "open"] or list(states)
    if len(seasons) != 1:
        there = f"{name} is in seasons {', '.join(map(str, seasons))}" if seasons else f"{name} is in none"
        fail(f"--wait waits for matches in a season, and {there}; choose one with --season", USAGE)
    return seasons[0]


def _must_pass(gate: Path, game: str, bot: Path, sandbox: Backend) -> None:
    """Play a gate as `deadheat tournament` does, reporting on stderr. End the command unless every condition is met."""
    words = ["tournament", game, str(bot), "--gate", str(gate), "--sandbox", sandbox.value]
    played = subprocess.run([sys.executable, "-m", "deadheat.cli.main", *words], stdout=sys.stderr, check=False)
    if played.returncode == REFUSED:
        fail(f"{bot} was not uploaded: it does not pass {gate}", REFUSED)
    if played.returncode:
        raise typer.Exit(played.returncode)


@dataclass
class _Submission:
    """One upload and its progress. Sentences go to stdout, logs and progress to stderr."""

    client: Client
    game: str
    name: str
    quiet: bool
    version: Version = field(init=False)
    log: str = ""
    panel: PanelResult | None = None
    matches: list[Match] = field(default_factory=list)

    def upload(self, filename: str, content: bytes, season: int) -> None:
        """Send the bot's file; create the bot if it is new. It enters the season, unless 0, once it is ready."""
        bot = self.client.own_bot(self.game, self.name)
        self.version = self.client.upload(bot.id, filename, content, season)
        self.say(f"{self.name} version {self.version.number} is uploaded ({len(content)} bytes).")

    def follow_build(self, patience: Patience, log: bool) -> None:
        """Wait until the version is ready or broken. With `log`, show the build's output as it appears."""
        reader = LogReader(self.client, self.version.bot_id, self.version.number)
        line = ""
        for version in looks(self.client, self.version, patience):
            self.version = version
            if self.quiet:
                continue
            if not version.ended and state_line(version) != line:
                line = state_line(version)
                note(line)
            if log and (added := reader.look(last=version.ended)):
                err.print(quoted("\n".join(added)), soft_wrap=True)
        if not log or self.quiet:
            lines = reader.look(last=True)
            if self.version.state == "broken" and not self.quiet:
                err.print(quoted("\n".join(lines)), soft_wrap=True)
        self.log = reader.text
        if self.version.state == "ready":
            self.say(f"{self.name} version {self.version.number} is ready ({self.version.language}).")

    def enter(self, season: int) -> None:
        """Enter a season with the newest ready version; newer ones follow."""
        try:
            self.client.enter(season, self.version.bot_id)
        except Refused as error:
            if error.code != "not-ready":
                raise
            self.say(f"It enters season {season} when it is ready.")
            return
        self.say(f"Entered into season {season}: {self.client.server}/seasons/{season}")

    def tell_company(self, season: int) -> None:
        """Report if the ladder lacks opponents, because the wait may then be long."""
        terms = self.client.season(season)
        if not terms.ladder:
            return
        there = [entry for entry in self.client.entries(season) if entry.absence is None]
        mine = next((entry.division for entry in there if entry.bot_id == self.version.bot_id), 1)
        rivals = sum(entry.division == mine and entry.bot_id != self.version.bot_id for entry in there)
        if rivals >= terms.seats - 1:
            return
        few = f"Only {counted(rivals, 'other bot')} {'is' if rivals == 1 else 'are'}" if rivals else "Nobody else is"
        self.say(
            f"{few} there to play against yet, and a match takes {terms.seats}. Matches begin by themselves once "
            "others have entered; this command waits for them. Ctrl-C ends the wait; the bot stays in the season."
        )

    def follow_panel(self, season: int, patience: Patience) -> None:
        """Show the version's results against the season's panel, if there is one, until they are complete. End the
        command if the version has too few points.
        """
        lines: dict[int, str] = {}
        while True:
            for panel in panel_changes(self.client, self.version.bot_id, self.version.number, lines):
                if panel.season_id == season:
                    self.panel = panel
                    patience.standing = f"{panel_line(panel)}."
                    if not self.quiet:
                        say(panel_line(panel))
            if self.panel is None or self.panel.state != "running":
                break
            patience.pause()
        if self.panel is not None and self.panel.state == "failed":
            self.end(built=True)

    def follow_matches(self, season: int, count: int, patience: Patience) -> None:
        news = News(self.client, self.version.bot_id, season, self.version.built_at or LONGEST_AGO)
        self.say(f"Its first {count} matches:" if count > 1 else "Its first match:")
        place = Place(self.client, season, self.version.bot_id, self.version.number, hidden=self.quiet)
        while True:
            now = place.look()
            for match in news.look():
                if own_seats(match, self.version.bot_id, self.version.number) and len(self.matches) < count:
                    self.matches.append(match)
                    if not self.quiet:
                        say(ending_line(match, self.version.bot_id, self.version.number))
            if len(self.matches) >= count:
                return
            if now.over:
                fail(f"{len(self.matches)} of its first {counted(count, 'match', 'matches')} ended. {now.sentence}")
            patience.standing = now.sentence
            patience.pause(news.pages)

    def say(self, sentence: str) -> None:
        if not self.quiet:
            say(sentence)

    def end(self, built: bool) -> None:
        version, label = self.version, f"{self.name} version {self.version.number}"
        if self.quiet:
            panel = None if self.panel is None else as_object(self.panel)
            matches = list(map(as_object, self.matches))
            print_json({**as_object(version), "log": self.log, "panel": panel, "matches": matches})
        if not built:
            self.say(f"It will be built next; see `{command('watch', self.name)}`.")
        elif version.state == "broken":
            fail(f"{label} is broken: {version.reason}")
        if self.panel is not None and self.panel.state == "failed":
            fail(f"{label} does not play in season {self.panel.season_id}: it has {self.panel.score} against its panel")
        seats = [seat for match in self.matches for seat in own_seats(match, version.bot_id, version.number)]
        faults = [seat.fault for seat in seats if seat.fault]
        if faults:
            own = "faults of its own" if len(faults) > 1 else "a fault of its own"
            fail(f"{label} ended {len(faults)} of {len(self.matches)} matches by {own}: {faults[0].why}")


def read_bot(path: Path) -> tuple[str, bytes]:
    """Return a bot's file for upload. A folder becomes a zip of its content. End the command if there is none."""
    try:
        if path.is_file():
            _bounded(path.stat().st_size, path)
            return path.name, path.read_bytes()
        if not path.is_dir():
            fail(f"{path} does not exist", USAGE)
        files = sorted(sources_of(path))
        _bounded(sum((path / file).stat().st_size for file in files), path)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
            for file in files:
                archive.write(path / file, file)
    except OSError as error:
        cannot(f"read {error.filename or path}", error, USAGE)
    return "bot.zip", buffer.getvalue()


def _bounded(size: int, path: Path) -> None:
    if size > MAX_READ_BYTES:
        fail(f"{path} has {size} bytes; no server accepts that much", USAGE)
