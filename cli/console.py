"""How the command speaks: data on stdout, everything else on stderr, a failure as one sentence.

Colours are red, green and magenta only, and always beside words that say the same: yellow and white vanish on a light
background, blue and dim text on a dark one.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

for _stream in (sys.stdout, sys.stderr):
    if hasattr(_stream, "reconfigure"):
        _stream.reconfigure(errors="replace")  # a terminal that lacks a character shows a mark, not a traceback

out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)

ROOT = Path(__file__).resolve().parent.parent


def fail(message: str, code: int = 1) -> NoReturn:
    """End the command with one sentence and a non-zero exit code."""
    err.print(f"[red]error:[/] {plain(message)}", soft_wrap=True)
    raise typer.Exit(code)


def visible(text: str) -> str:
    """One line of somebody else's text; what is not printed (controls, directions, no width) is spelled out by the
    site's rule, and as the site spells it.
    """
    return "".join(
        mark if mark.isprintable() or mark == "\t" else mark.encode("unicode_escape").decode() for mark in text
    )


def plain(text: str) -> str:
    """Somebody else's text, harmless in a terminal and inside markup."""
    return escape("\n".join(visible(line) for line in text.split("\n")))


def short(text: str, width: int) -> str:
    """At most `width` characters of a name; of a path the end tells more than the beginning."""
    shown = visible(text.expandtabs(1))
    return shown if len(shown) <= width else "…" + shown[1 - width :]


def quoted(text: str) -> Text:
    """Lines that a program wrote, marked as such."""
    lines = [f"  | {visible(line)}" for line in text.splitlines()]
    return Text("\n".join(lines))


def last_lines(stderr: bytes, count: int) -> str:
    """The end of what a program wrote to stderr, without empty lines and the head of Python's tracebacks."""
    lines = stderr.decode("utf-8", "replace").splitlines()
    told = [line for line in lines if line.strip() and not line.startswith("Traceback (most recent call last)")]
    return "\n".join(told[-count:])


def command(*words: str) -> str:
    """A command to copy: `deadheat` with these arguments, as it can be started from here."""
    script = ROOT / "deadheat"
    path = nearby(script if script.is_file() else Path(sys.argv[0]))
    start = "deadheat" if shutil.which("deadheat") else shlex.quote(path)
    return " ".join([start, *map(shlex.quote, words)])


def nearby(path: Path) -> str:
    """A path as it is written shortest from here, so that a shell would start it."""
    near = os.path.relpath(path)
    return min(near if near.startswith(os.pardir) else os.path.join(os.curdir, near), str(path), key=len)  # noqa: PTH118
