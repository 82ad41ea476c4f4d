"""`deadheat game`: commands for people who write a game. `engine.games.folder` says what a game's folder contains."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from deadheat.cli.console import USAGE, cannot, command, fail
from deadheat.cli.game.check import check
from deadheat.cli.game.serve import serve
from deadheat.cli.output import Output, says
from deadheat.engine.games.folder import NAME, SETTING

TEMPLATE = Path(__file__).parent / "template"
ALTERNATE = Path(__file__).parent / "alternate" / "template"
"""What replaces files of the template in a game by turns."""


class Turns(StrEnum):
    """Whom a new game asks: both at once, or one after the other, who sees what the first has done."""

    TOGETHER = "together"
    ALTERNATE = "alternate"


@says
def new(
    name: Annotated[str, typer.Argument(help="The game's name, in lower-case letters, digits and hyphens: my-game.")],
    folder: Annotated[Path | None, typer.Option(help="Target folder; default: the game's name, here.")] = None,
    turns: Annotated[
        Turns, typer.Option(help="Whom it asks: both at once, or one after the other, each with a time bank.")
    ] = Turns.TOGETHER,
) -> Output:
    """Write a small game that is playable at once and passes `deadheat game check`, and list the next steps."""
    if not NAME.fullmatch(name):
        fail(f"{name!r} cannot be a game's name: use lower-case letters and digits, separated by single hyphens", USAGE)
    folder = folder or Path(name.replace("-", "_"))
    if not folder.name.isidentifier():
        fail(f"{folder.name!r} cannot be a package's name: use letters, digits and underscores", USAGE)
    if folder.exists():
        fail(f"{folder} already exists; nothing was written", USAGE)
    words = name.split("-")
    own = {"my-game": name, "MyGame": "".join(map(str.capitalize, words)), "My Game": " ".join(words).title()}
    try:
        for template in [TEMPLATE, *([ALTERNATE] if turns is Turns.ALTERNATE else [])]:
            for file in sorted(template.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    text = file.read_text(encoding="utf-8")
                    for word, instead in own.items():
                        text = text.replace(word, instead)
                    copy = folder / file.relative_to(template)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy.write_text(text, encoding="utf-8")
    except OSError as error:
        cannot(f"write {error.filename or folder}", error, USAGE)
    steps = (
        ("check it", command("game", "check", str(folder))),
        ("look at it in the browser while you write", command("game", "serve", str(folder))),
        ("let every command find it", f"export {SETTING}={folder.absolute()}"),
        ("then play it", command("play", name, "house:random", "house:matching")),
    )
    answer = {"folder": str(folder), "next": [{"what": what, "command": line} for what, line in steps]}
    return Output(answer, [f"Wrote {folder}. Next steps:", *(f"\n  # {what}\n  {line}" for what, line in steps)])


group = typer.Typer(no_args_is_help=True, help="Write your own game: start one, check it, look at it.")
for _verb in (new, check, serve):
    group.command()(_verb)
