"""`deadheat`: play and verify on this machine, talk to a server, run one.

A command's module is imported when the command or its help is called: importing all of them takes most of a second, and
each completion would wait for that. Lists show a command's own help, read from its source.
"""

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from deadheat.cli.console import USAGE, fail, missing, renamed, say
from deadheat.cli.server import profiles

PANELS = {
    "On this machine": {
        "new": "author.new:new",
        "play": "local.play:play",
        "better": "tournament.better:better",
        "tournament": "tournament.command:tournament",
        "tune": "tuning.command:tune",
        "replay": "local.watch:replay",
        "view": "local.watch:view",
        "explain": "author.explain:explain",
        "diff": "author.diff:diff",
        "verify": "local.watch:verify",
        "rate": "rate:rate",
        "sprt": "rate:sprt",
        "game": "game:group",
        "run": "local.reserve:run",
    },
    "Your bots on a server": {
        "login": "server.login:login",
        "logout": "server.login:logout",
        "whoami": "server.login:whoami",
        "submit": "author.submit:submit",
        "agent": "server.agent:agent",
        "bot": "author.bots:group",
        "losses": "author.losses:losses",
        "trial": "author.bots:trial",
        "logs": "author.matches:logs",
        "enter": "author.bots:enter",
        "contest": "author.contests:group",
        "withdraw": "author.bots:withdraw",
        "rejoin": "author.bots:rejoin",
        "appeal": "author.bots:appeal",
        "inbox": "author.bots:inbox",
        "people": "author.bots:people",
        "team": "author.bots:team_group",
    },
    "Results": {
        "watch": "server.follow:watch",
        "matches": "author.matches:matches",
        "leaderboard": "author.results:leaderboard",
        "timeouts": "author.results:timeouts",
        "download": "author.matches:download",
        "export": "author.results:export",
        "audit": "author.results:audit",
    },
    "For organisers": {
        "season": "organiser.season:group",
        "organise": "organiser.rulings:group",
        "workers": "organiser.rulings:workers",
    },
    "Running a server": {
        "serve": "operator.deployment:serve",
        "api": "operator.deployment:api",
        "worker": "operator.deployment:worker",
        "scheduler": "operator.deployment:scheduler",
        "migrate": "operator.deployment:migrate",
        "upgrade": "operator.backup:upgrade",
        "backup": "operator.backup:backup",
        "restore": "operator.backup:restore",
        "doctor": "operator.doctor:doctor",
        "check-host": "operator.doctor:check_host",
        "user": "operator.users:group",
        "machine": "operator.machines:group",
    },
}
"""Every command and group of commands with its place (module:name), in the panels of the help, grouped by user."""

FIRST = ("new", "play", "tournament", "view", "explain", "login", "submit", "enter", "watch", "leaderboard")
"""The commands that a newcomer needs, which `deadheat` lists alone."""

GAMES_HELP = (
    "Begin with `deadheat new GAME --folder my-bot` (`deadheat new --help` lists the games), then play against a bot "
    "that comes with Deadheat: `deadheat play GAME my-bot house:random`."
)
"""The help omits the games' names: importing them would cost a completion a tenth of a second."""

PARTS = {
    "jobs": "operator.deployment:jobs",
    "keeper": "operator.deployment:keeper",
    "machine-part": "operator.machines:part",
}
"""Commands that `serve` and `worker` start, and that nobody types."""

RENAMED = {
    "challenge": ("author.contests:challenge", "contest start"),
    "challenges": ("author.contests:challenges", "contest list --kind request` or `contest show"),
    "evaluations": ("author.contests:evaluations", "contest list --season N` or `contest show"),
    "gate": ("author.bots:gate", "contest list --kind gate"),
}
"""Former commands that stay for one release: the place of each, and its present form."""

PLACES = (
    PARTS
    | {name: place for name, (place, _) in RENAMED.items()}
    | {name: place for verbs in PANELS.values() for name, place in verbs.items()}
)


def said_of(name: str) -> str:
    """Return the first paragraph of the help of a command or group, read from its source."""
    module, _, attribute = PLACES[name].partition(":")
    file = Path(__file__).parent.joinpath(*module.split("."))
    source = (file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).read_text("utf-8")
    of_command = rf'^def {attribute}\(.*?"""(.+?)(?:\n\n|""")'
    of_group = rf'^{attribute} = typer.Typer\([^\n]*help="(.+?)"'
    match = re.search(f"{of_command}|{of_group}", source, re.DOTALL | re.MULTILINE)
    assert match is not None, f"{name} is not where the table says"
    return " ".join((match[1] or match[2]).split())


def load(name: str) -> Any:
    """Import a command or a group of commands in the form that Typer runs."""
    module, _, attribute = PLACES[name].partition(":")
    command = getattr(import_module(f"deadheat.cli.{module}"), attribute)
    if isinstance(command, typer.Typer):
        return get_group(command)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(command)
    return get_command(alone)


class _Lazily(TyperGroup):
    """Replaces the placeholder of a listed command by the command itself when somebody names it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read `help all` as `--help`, `help COMMAND` as `COMMAND --help`, and nothing as a shorter `--help`."""
        if args[:1] == ["help"]:
            named = [word for word in args[1:] if word != "all"]
            args = [*named, "--help"] if args[1:] else []
        short = ctx.meta["deadheat.short"] = not (args or ctx.resilient_parsing)
        self.epilog = f"{GAMES_HELP} `deadheat help all` lists every command." if short else GAMES_HELP
        return super().parse_args(ctx, ["--help"] if short else args)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands to list: without a server's where it is not installed, or only the first ones."""
        absent = () if find_spec("fastapi") else PANELS["Running a server"]
        listed = FIRST if ctx.meta.get("deadheat.short") else super().list_commands(ctx)
        return [name for name in listed if name not in absent]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a listed command, with its help."""
        command = super().get_command(ctx, cmd_name)
        if command is not None and not command.help:
            command.help = said_of(cmd_name)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that the arguments name. A placeholder completes what cannot be imported here."""
        name, listed, rest = super().resolve_command(ctx, args)
        if name in RENAMED and not ctx.resilient_parsing:
            renamed(RENAMED[name][1])
        try:
            return name, load(name) if name else listed, rest
        except ModuleNotFoundError:
            if ctx.resilient_parsing:
                return name, listed, rest
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run a command. If an author's install lacks what only servers need, say so."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            from deadheat.league.complaints import reworded

            error.message = reworded(error.message)
            raise
        except ModuleNotFoundError as error:
            lacking = missing(error)
            if lacking in sys.stdlib_module_names:
                fail(f"this needs Linux ({lacking} is missing)", USAGE)
            fail(f"this needs the server's packages: pip install 'deadheat[server]' ({lacking} is missing)", USAGE)


def _show_version(wanted: bool) -> None:
    if wanted:
        from deadheat import __version__
        from deadheat.cli.server.wire import API

        say(f"deadheat {__version__} (version {API} of the API)")
        raise typer.Exit


def _choose(
    profile: Annotated[
        str, typer.Option("--profile", envvar="DEADHEAT_PROFILE", help="Which saved login to use.")
    ] = profiles.DEFAULT_PROFILE,
    version: Annotated[  # noqa: ARG001  it is shown before anything else is looked at
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Deadheat: a league for bots under hard deadlines."""
    profiles.chosen.set(profile)


def _listed() -> None:
    raise AssertionError("it is only listed: `_Lazily` runs the command itself")


app = typer.Typer(
    cls=_Lazily,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Deadheat: a league for bots under hard deadlines.",
    callback=_choose,
)
for _panel, _verbs in PANELS.items():
    for _name in _verbs:
        app.command(_name, rich_help_panel=_panel)(_listed)
for _name in (*PARTS, *RENAMED):
    app.command(_name, hidden=True)(_listed)

if __name__ == "__main__":
    app(prog_name="deadheat")
