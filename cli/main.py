"""`deadheat`: play and verify on this machine, talk to a server, run one."""

from __future__ import annotations

import typer

from cli.author import bots, entering, leaderboard, matches, submit
from cli.local import kit
from cli.operator import backup, deployment, doctor, users, workers
from cli.organiser import rulings, season
from cli.server import client, follow, login
from cli.statistics.rate import rate
from cli.statistics.sprt import sprt

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Deadheat: a league for bots under hard deadlines.",
)
for verbs in (
    client,
    kit,
    login,
    submit,
    follow,
    matches,
    leaderboard,
    entering,
    bots,
    season,
    rulings,
    workers,
    deployment,
):
    verbs.register(app)
backup.register(app)
doctor.register(app)
users.register(app)
app.command()(rate)
app.command()(sprt)

PANELS = {
    "On this machine": "new play replay explain verify rate sprt",
    "Your bots at a server": "login logout whoami submit bot trial logs enter gate withdraw rejoin appeal people team",
    "Looking on": "watch matches leaderboard download export audit",
    "For organisers": "season organise workers",
    "Running a server": "serve api worker scheduler migrate upgrade backup restore doctor check-host user",
}
"""The help's panels, by who types what."""

_panel = {verb: name for name, verbs_ in PANELS.items() for verb in verbs_.split()}
for _command in app.registered_commands:
    if not _command.hidden and _command.callback is not None:
        _command.rich_help_panel = _panel[_command.name or _command.callback.__name__]
for _group in app.registered_groups:
    _group.rich_help_panel = _panel[str(_group.name)]

if __name__ == "__main__":
    app(prog_name="deadheat")
