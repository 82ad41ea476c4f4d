"""How the command speaks: data on stdout, everything else on stderr, a failure as one sentence."""

from __future__ import annotations

import re
from typing import NoReturn

import typer
from rich.console import Console

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def fail(message: str, code: int = 1) -> NoReturn:
    """End the command with one sentence and a non-zero exit code."""
    err.print(f"[red]error:[/] {plain(message)}", soft_wrap=True)
    raise typer.Exit(code)


def plain(text: str) -> str:
    """Somebody else's text, harmless in a terminal: control and direction characters shown as escapes, no markup."""
    shown = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return shown.replace("[", r"\[")
