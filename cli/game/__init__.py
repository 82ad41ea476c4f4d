"""`deadheat game`: for people who write a game; what its folder holds says `engine.games.folder`."""

from __future__ import annotations

import typer

from deadheat.cli.game.check import check
from deadheat.cli.game.new import new
from deadheat.cli.game.serve import serve

group = typer.Typer(no_args_is_help=True, help="Write a game of your own: begin one, check it, look at it.")
for _verb in (new, check, serve):
    group.command()(_verb)
