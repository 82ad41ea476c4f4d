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
for verbs in (client, local, login, submit, follow, matches, leaderboard, author, season, organise, operate, workers):
    verbs.register(app)
backup.register(app)
doctor.register(app)
users.register(app)
app.command()(rate)
app.command()(sprt)

if __name__ == "__main__":
    app(prog_name="deadheat")
