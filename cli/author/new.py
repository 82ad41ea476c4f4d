"""`deadheat new`: a starter bot that plays legally at once."""

import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from deadheat.cli.console import USAGE, cannot, command, fail, nearby, typed
from deadheat.cli.local.play import USUAL, Backend
from deadheat.cli.output import Output, says
from deadheat.cli.server.client import LOCAL_SERVER, by_default, league
from deadheat.engine.games import GAMES, unknown
from deadheat.engine.games.folder import bots_of, protocol_of
from deadheat.sandbox.languages import LANGUAGES, MANIFEST, LanguageError, detect

STARTERS = {"python": ("_sdk/python", "random"), "c": ("_sdk/c", "starter"), "cpp": ("_sdk/c", "starter")}
"""The folders of the best starters in a game's `bots`: one with a file that keeps the state, or else a house bot. Other
languages may have `hello-LANGUAGE`. The C ones are valid C++."""

PAGER = "more" if sys.platform == "win32" else "less"

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
"""The form of a bot's name in a league."""

_LINK = re.compile(r"\[([^]]*)\]\((?!https?:|#)[^)]*\)")
"""A link to another page, which is not copied with it; group 1 is its text."""

_PAGE = re.compile(r"[\w/]*\bprotocol\.md")
"""A starter's reference to the page about its game, which is copied beside it under the game's name."""


@says
def new(
    game: Annotated[str, typer.Argument(help=f"The game: {', '.join(GAMES)}.")],
    language: Annotated[
        str, typer.Option(help="Programming language. Without this option, the command lists the languages and asks.")
    ] = "",
    folder: Annotated[Path | None, typer.Option(help="Target folder; default: GAME-bot.")] = None,
) -> Output:
    """Write a starter bot that plays legally, and list the next steps. Existing files are never overwritten."""
    if game not in GAMES:
        fail(unknown(game), USAGE)
    offered = starters(game)
    choice = ", ".join(offered)
    if not language and sys.stdin.isatty():
        language = typer.prompt(f"Language ({choice})", err=True)
    if not language:
        fail(f"choose a language with --language: {choice} (without a terminal, the command cannot ask)", USAGE)
    if language not in offered:
        fail(f"there is no {language} starter for {game} here; choose --language from {choice}", USAGE)
    folder = folder or Path(f"{game}-bot")
    if folder.exists() and not folder.is_dir():
        fail(f"{folder} is not a folder", USAGE)
    entry = LANGUAGES[language].entries[0]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _check(folder, offered[language])
        for name, starter in offered[language].items():
            with (folder / name).open("x", encoding="utf-8") as stream:
                stream.write(_PAGE.sub(f"{game}.md", starter.read_text(encoding="utf-8")))
        page, rules = protocol_of(game), folder / f"{game}.md"  # the bot's text cites the page about the game
        if page is not None and not rules.exists():
            rules.write_text(_LINK.sub(r"\1", page.read_text(encoding="utf-8")), encoding="utf-8")
    except FileExistsError as error:
        fail(f"{error.filename or folder} already exists; nothing was written", USAGE)
    except OSError as error:
        cannot(f"write {error.filename or folder}", error, USAGE)
    steps = _steps(game, folder, None if page is None else rules)
    answer = {"file": str(folder / entry), "next": [{"what": what, "command": line} for what, line in steps]}
    lines = (f"\n  # {what}\n  {line}" for what, line in steps)
    return Output(answer, [f"Wrote {folder / entry}. Next steps:", *lines])


def starters(game: str) -> dict[str, dict[str, Path]]:
    """Return the files of a game's starters by language and name, in the languages that this command's league has."""
    bots = bots_of(game)
    folders = [(name, bots / folder) for name, choice in STARTERS.items() for folder in choice]
    folders += [(folder.name.removeprefix("hello-"), folder) for folder in sorted(bots.glob("hello-*"))]
    offered: dict[str, dict[str, Path]] = {}
    for name, folder in folders:
        if name in LANGUAGES and (files := sorted(folder.glob("*.*"))):
            entry = LANGUAGES[name].entries[0]  # the C starter's under the name that C++ wants
            offered.setdefault(name, {entry if file.stem == Path(entry).stem else file.name: file for file in files})
    had = league().get("languages")
    return {name: files for name, files in offered.items() if had is None or name in had}


def _check(folder: Path, new: Collection[str]) -> None:
    """Refuse a folder that has a file of these, or in which it would be unclear which file is the bot."""
    names = [path.name for path in folder.iterdir() if path.is_file()]
    if taken := [name for name in new if name in names]:
        fail(f"{folder / taken[0]} already exists; nothing was written", USAGE)
    if MANIFEST in {*names, *new}:
        return  # it settles which file is the bot
    try:
        detect(folder.name, [*names, *new], None)
    except LanguageError:
        fail(f"{folder} already holds a bot in another language; nothing was written; choose another --folder", USAGE)


def _steps(game: str, folder: Path, rules: Path | None) -> tuple[tuple[str, str], ...]:
    bot = str(folder)
    name = folder.resolve().name
    name = name if NAME.fullmatch(name) else "my-bot"
    play = ("play", game, bot, *["house:random"] * max(1, GAMES[game].seats.start - 1))
    server, has_token = by_default()
    league = "your league's server" + (" (here: this machine)" if server == LOCAL_SERVER else "")
    sign_up = (f"create an account with {league}", command("login", "--sign-up", "--server", server))
    return (
        ("play a few matches with the real referee", command(*play)),
        *([] if USUAL == Backend.LOCAL else [("the same without Docker", command(*play, "--sandbox", "local"))]),
        *([("read the rules and the protocol", typed(PAGER, nearby(rules)))] if rules else []),
        *([("after each change, test whether it is better", command("better", bot))] if 2 in GAMES[game].seats else []),
        *([] if has_token else [sign_up]),
        ("upload it", command("submit", bot, "--game", game, "--name", name)),
        ("list the seasons", command("season", "list")),
        ("enter one, for example number 1", command("enter", name, "--season", "1")),
    )
