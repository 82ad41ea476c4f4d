"""`deadheat game`: commands for people who write a game. `engine.games.folder` says what a game's folder contains."""

from __future__ import annotations

import typer

from deadheat.cli.game.check import check
from deadheat.cli.game.new import new
from deadheat.cli.game.serve import serve

group = typer.Typer(no_args_is_help=True, help="Write your own game: start one, check it, look at it.")
for _verb in (new, check, serve):
    group.command()(_verb)
