"""`deadheat`: play and verify on this machine, talk to a server, run one.

A command's module is imported when the command is called or asked for its help: importing all of them takes most of a
second, and each key of a completion would wait for that. Lists show what stands in the table here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from deadheat.cli.console import USAGE, fail, say
from deadheat.cli.server import profiles

PANELS = {
    "On this machine": {
        "new": (
            "author.new:new",
            "Write a starter bot that plays legally, and list the next steps. Existing files are never overwritten.",
        ),
        "play": ("local.play:play", "Play bots against each other; the first takes seat 1."),
        "tournament": (
            "tournament.command:tournament",
            "Play many games between bots on this machine, several at a time, and rate them.",
        ),
        "replay": (
            "local.watch:replay",
            "Show a match round by round: who did what, how long it took, and how it ended.",
        ),
        "view": (
            "local.view:view",
            "Show a match or a tournament in the browser, as one file that needs no server, and print the file's name.",
        ),
        "explain": (
            "author.explain:explain",
            "Explain why a seat lost or won: verdict, cure, last lines with times, stderr, and how to play it again.",
        ),
        "verify": (
            "local.watch:verify",
            "Re-simulate a transcript by the rules; with a match's number, compare it with the league's record too.",
        ),
        "rate": (
            "statistics.rate:rate",
            'Rate a log of games, one per line: {"players": [...], "ranks": [...]}, and "group" if matches share dice.',
        ),
        "sprt": ("statistics.sprt:sprt", "Say whether results so far accept H1, reject it, or call for more games."),
        "game": ("game:group", "Write a game of your own: begin one, check it, look at it."),
        "run": ("local.reserve:run", "Wait for free processors, then run a command on these alone."),
    },
    "Your bots at a server": {
        "login": (
            "server.login:login",
            "Get an access token by name and password and remember it (with --token: remember that one).",
        ),
        "logout": (
            "server.login:logout",
            "Forget the login and revoke its token; exit code 3 if the server cannot be reached.",
        ),
        "whoami": ("server.login:whoami", "Show your user name at the server."),
        "submit": (
            "author.submit:submit",
            "Upload a bot and wait until it is built and has played its trial match.",
        ),
        "bot": ("author.bots:group", "Manage your bots: list, fetch, rename, describe, retire."),
        "trial": (
            "author.bots:trial",
            "Fetch the transcript of a version's trial match; `deadheat replay` shows it.",
        ),
        "logs": (
            "author.matches:logs",
            "Show the log of a build and its trial match, or with --match the stderr of your bots in a match.",
        ),
        "enter": (
            "author.entering:enter",
            "Enter a bot into a season, or choose which of its versions plays there.",
        ),
        "gate": ("author.entering:gate", "Show how new versions of a bot do, and did, at its promotion gate."),
        "challenge": (
            "author.challenges:challenge",
            "Ask the league for unrated matches of your bot against another. They are played after everything rated.",
        ),
        "challenges": (
            "author.challenges:challenges",
            "List the unrated matches that you asked for, newest first, or show the state of some.",
        ),
        "withdraw": (
            "author.entering:withdraw",
            "Withdraw your bot from a season. It gets no new matches; those played or waiting count.",
        ),
        "rejoin": (
            "author.entering:rejoin",
            "Reverse your withdrawal; in an open season after an hour, unless the server sets another pause.",
        ),
        "appeal": (
            "author.entering:appeal",
            "Appeal against a finished match of your bot: it is re-simulated at once, and an organiser rules.",
        ),
        "inbox": ("author.inbox:inbox", "Show your notices, newest first."),
        "people": ("author.bots:people", "Allow or forbid people to play against your bot on the site."),
        "team": ("author.teams:group", "Share bots with other authors."),
    },
    "Results": {
        "watch": (
            "server.follow:watch",
            "Show matches as they end, preceded by the build of your newest version and its panel.",
        ),
        "matches": (
            "author.matches:matches",
            "List matches, newest first, or show one with its attempts and response times.",
        ),
        "leaderboard": ("author.leaderboard:leaderboard", "Show a season's ranking."),
        "evaluations": (
            "author.evaluations:evaluations",
            "List a season's evaluations, newest first, or show the standings of one, or the pairings of a round.",
        ),
        "download": (
            "author.matches:download",
            "Save transcripts, and what your own bots wrote to stderr in those matches.",
        ),
        "export": (
            "author.records:export",
            "Export everything public about a season, table by table, as JSON Lines or CSV (docs/export.md).",
        ),
        "audit": (
            "author.records:audit",
            "Show the public log of decisions and their reasons, or check that nothing was changed.",
        ),
    },
    "For organisers": {
        "season": ("organiser.season:group", "Create and run seasons (for organisers)."),
        "organise": ("organiser.rulings:group", "Rule on results, entries and appeals; announce (for organisers)."),
        "workers": (
            "operator.workers:workers",
            "Show the machines that play, whether each is fit to judge, and why not; and the league's games.",
        ),
    },
    "Running a server": {
        "serve": (
            "operator.deployment:serve",
            "Run everything here: API, scheduler, workers. Settings come from DEADHEAT_* (see deploy/env.example).",
        ),
        "api": ("operator.deployment:api", "Run the API alone."),
        "worker": (
            "operator.deployment:worker",
            "Run a worker, which takes jobs from the queue until it is told to stop.",
        ),
        "scheduler": (
            "operator.deployment:scheduler",
            "Run the scheduler, which plans series, recovers lost work and requests rankings. One of several leads.",
        ),
        "migrate": (
            "operator.deployment:migrate",
            "Bring the database to this version's schema; `deadheat upgrade` backs it up first.",
        ),
        "upgrade": (
            "operator.backup:upgrade",
            "Upgrade a league to this version: back it up, then migrate its database.",
        ),
        "backup": (
            "operator.backup:backup",
            "Back the whole league up while it runs. A second back-up into the same folder copies only what is new.",
        ),
        "restore": (
            "operator.backup:restore",
            "Replace this deployment's data with a back-up. Stop everything first.",
        ),
        "doctor": (
            "operator.doctor:doctor",
            "Check everything that a deployment needs and say how to fix problems; exit code 1 if there are any.",
        ),
        "check-host": (
            "operator.doctor:check_host",
            "Say whether this machine is fit to judge; exit code 1 if it is not. Waits for a free slot if it plays.",
        ),
        "user": ("operator.users:group", "Manage accounts on the server: roles, passwords, bans, house bots."),
    },
}
"""Every command and group of commands, in the panels of the help, grouped by user: where it is (module:name), and the
first paragraph of its help.
"""

GAMES_HELP = (
    "Begin with `deadheat new GAME --language python --folder my-bot` (`deadheat new --help` lists the games), "
    "then play it against a bot that comes with Deadheat: `deadheat play GAME my-bot house:random`."
)
"""Without the games' names: to import them would cost a completion a tenth of a second."""

PARTS = {"jobs": "operator.deployment:jobs", "keeper": "operator.deployment:keeper"}
"""Commands that `serve` and `worker` start, and nobody types."""

PLACES = PARTS | {name: place for verbs in PANELS.values() for name, (place, _) in verbs.items()}


def load(name: str) -> Any:
    """Import a command or a group of commands, as Typer runs it."""
    module, _, attribute = PLACES[name].partition(":")
    found = getattr(import_module(f"deadheat.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        return get_group(found)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(found)
    return get_command(alone)


class Lazily(TyperGroup):
    """Replaces a command of the lists by the command itself when somebody names it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that the arguments name; the one of the lists completes what cannot be imported here."""
        name, listed, rest = super().resolve_command(ctx, args)
        try:
            return name, load(name) if name else listed, rest
        except ModuleNotFoundError:
            if ctx.resilient_parsing:
                return name, listed, rest
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an author's install lacks what only servers need, and says so."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            from deadheat.league.complaints import reworded

            error.message = reworded(error.message)
            raise
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] == "deadheat":
                raise
            fail(f"this needs the server's packages: pip install 'deadheat[server]' ({error.name} is missing)", USAGE)


def _show_version(wanted: bool) -> None:
    if wanted:
        from deadheat import __version__
        from deadheat.cli.server.wire import API

        say(f"deadheat {__version__} (version {API} of the API)")
        raise typer.Exit


def choose(
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
    raise AssertionError("it is only listed: `Lazily` runs the command itself")


app = typer.Typer(
    cls=Lazily,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Deadheat: a league for bots under hard deadlines.",
    epilog=GAMES_HELP,
    callback=choose,
)
for _panel, _verbs in PANELS.items():
    for _name, (_, _help) in _verbs.items():
        app.command(_name, help=_help, rich_help_panel=_panel)(_listed)
for _name in PARTS:
    app.command(_name, hidden=True)(_listed)

if __name__ == "__main__":
    app(prog_name="deadheat")
