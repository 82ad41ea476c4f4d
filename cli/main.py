"""`deadheat`: play and verify on this machine, talk to a server, run one."""

from __future__ import annotations

import typer

from cli import (
    author,
    backup,
    client,
    doctor,
    follow,
    leaderboard,
    local,
    login,
    matches,
    operate,
    organise,
    season,
    submit,
    submitted,
    users,
    workers,
)
from cli.rate import rate
from cli.sprt import sprt

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Deadheat: a league for bots under hard deadlines.",
)
for verbs in (
    client,
    local,
    login,
    submit,
    follow,
    matches,
    leaderboard,
    author,
    submitted,
    season,
    organise,
    workers,
    operate,
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
