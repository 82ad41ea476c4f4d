"""`deadheat`: play and verify on this machine, talk to a server, run one."""

from __future__ import annotations

import typer

from cli import author, client, local, operate, organise, season, workers
from cli.rate import rate
from cli.sprt import sprt

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Deadheat: a league for bots under hard deadlines.",
)
local.register(app)
client.register(app)
author.register(app)
season.register(app)
organise.register(app)
operate.register(app)
workers.register(app)
app.command()(rate)
app.command()(sprt)

if __name__ == "__main__":
    app()
