"""Pages in one file that need no network: they contain the site's style, its viewer, and matches.

A page's policy allows its own style sheet and its own script by their hashes, and nothing else. So text by strangers
(names, replies) is shown as text, and would not run even if it escaped from its place.

The site's scripts are modules, and a browser loads no modules for a page that was opened from a disk. So they become
one script: each is the body of a function that is called once and returns the module's exports. `_function_body` knows
the few forms that these modules have and refuses all others.

A match is the viewer's JSON document (`engine.scenes`) and its lines, compressed: 4 to 6 kB in the page.
"""

import base64
import contextlib
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TypeVar

from deadheat.cli.console import ROOT, short
from deadheat.cli.output import Columns
from deadheat.engine.figures import visible
from deadheat.engine.games.folder import folders
from deadheat.engine.scenes import document
from deadheat.engine.transcript import Transcript

SITE = ROOT / "dashboards" / "site"
STYLES = ("site.css", "replay.css", "report.css")
VIEWER = ("say.js", "text.js", "replay-draw.js", "replay-chart.js", "replay.js")
"""The viewer's modules, each after those that it imports. A game's board is a module with the game's name."""

NAME_WIDTH = 40
"""The most characters of a bot's name in the viewer, whose columns are narrow."""

POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src blob:; base-uri 'none'"
)
"""The content policy. Blobs are made by the page itself: the lines of the shown match."""

Row = TypeVar("Row")
_RIGHT = {False: "", True: ' class="number"'}

_MESSAGE = re.compile(r'\{\{ _\("([^"]*)"\) \}\}|\{% trans %\}(.*?)\{% endtrans %\}')
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(?:\./|/static/)([\w-]+\.js)";', re.MULTILINE)
_LATE_IMPORT = re.compile(r"\bawait import\(([^()]*)\)")
_EXPORT = re.compile(r"^export ((?:(?:async )?function|class) (\w+))", re.MULTILINE)
_OTHERWISE = re.compile(r"^\s*(?:import|export)\b|\bimport\s*\(|</script", re.MULTILINE | re.IGNORECASE)


def shown(value: object) -> str:
    """Return HTML for text that may come from a stranger, with all marks visible."""
    return escape(visible(str(value)))


def data(name: str, value: object) -> str:
    """Return an element that contains JSON for the page's script, under this id."""
    text = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def page(title: str, body: Iterable[str], scripts: Sequence[str] = ()) -> Iterator[str]:
    """Yield a page piece by piece. `body` is HTML, `title` is text; `scripts` names more of the site's scripts."""
    boards = {game: _board(game, "board.js") for game in _drawn()}
    style = "".join([*map(_static, STYLES), *(_board(game, "board.css") for game in boards)])
    viewing, ours = ({name: _static(name) for name in names} for names in (VIEWER, ("kept.js", *scripts)))
    bodies = {name: _function_body(module) for name, module in (viewing | boards | ours).items()}
    modules = "".join(f'modules["{name}"] = (() => {{\n{body}}})();\n' for name, body in bodies.items())
    script = f'"use strict";\n(() => {{\nconst modules = {{}};\n{modules}}})();\n'
    policy = POLICY.format(script=_hash(script), style=_hash(style))
    yield f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{shown(title)}</title>
<style>{style}</style>
</head>
<body>
<header class="top"><span class="brand">Deadheat</span></header>
<main>
"""
    yield from body
    yield f"</main>\n<script>{script}</script>\n</body>\n</html>\n"


def table(label: str, rows: Iterable[Row], columns: Columns[Row], head: int = 0) -> Iterator[str]:
    """Yield a table, one line per row. Cells are HTML; the column `head` names the rows."""
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{shown(label)}">\n<table>\n<thead><tr>'
    for column in columns:
        yield f"<th{_RIGHT[column.right]}>{column.heading}</th>"
    yield "</tr></thead>\n<tbody>\n"
    for row in rows:
        yield "<tr>"
        for place, column in enumerate(columns):
            tag, scope = ("th", ' scope="row"') if place == head else ("td", "")
            yield f"<{tag}{scope}{_RIGHT[column.right]}>{column.cell(row)}</{tag}>"
        yield "</tr>\n"
    yield "</tbody>\n</table>\n</div>\n"


def viewer(first: int | None = None) -> str:
    """Return the element that shows a match: the game with that number at once, or none until one is chosen."""
    opened = "" if first is None else f' data-first="{first}"'
    lines = '<details data-part="lines"><summary>Lines as sent</summary><pre tabindex="0"></pre></details>'
    return f"""<div id="watched" class="watched"{opened}></div>
<template id="viewer"><section class="viewer" aria-label="Replay" data-boards="{" ".join(_drawn())}" hidden>
{part("viewer-parts.html")}  {lines}
</section></template>
<noscript><p class="note">The replay needs JavaScript.</p></noscript>
"""


def part(name: str) -> str:
    """Read a part of a page: a template of the site without variables, except messages, which stay English."""
    return _MESSAGE.sub(r"\1\2", (SITE / "templates" / name).read_text(encoding="utf-8"))


def packed(number: int, transcript: Transcript, names: Sequence[str]) -> str:
    """Return the element that contains a verified match for the viewer, with these names by seat."""
    match = document(transcript, [short(name, NAME_WIDTH) for name in names])
    for scene in match["scenes"]:
        scene["words"] = visible(scene["words"])
    exchanges = [
        {
            "n": number,
            "messages": [[message.seat, message.line] for message in exchange.messages],
            "replies": [  # times in whole microseconds, as a transcript's lines have them
                [seat, reply.line, round(reply.elapsed_ns, -3), reply.fault, None, None, round(reply.stolen_ns, -3)]
                for seat, reply in exchange.replies.items()
            ],
        }
        for number, exchange in enumerate(transcript.exchanges)
    ]
    kept = {"match": match, "exchanges": exchanges}
    small = zlib.compress(json.dumps(kept, separators=(",", ":")).encode(), zlib.Z_BEST_COMPRESSION)
    return f'<script type="text/plain" id="kept-{number}">{base64.b64encode(small).decode()}</script>\n'


def save(file: Path, pieces: Iterable[str]) -> None:
    """Write a file as a whole or not at all. Raises OSError with the name of this file."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(pieces)
        unfinished.replace(file)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error
    finally:
        with contextlib.suppress(OSError):  # it does not exist: it was renamed, or could not be created
            unfinished.unlink()


def _static(name: str) -> str:
    return (SITE / "static" / name).read_text(encoding="utf-8")


def _drawn() -> list[str]:
    """Return the games that have a board for browsers."""
    return [name for name in folders() if _board(name, "board.js")]


def _board(game: str, file: str) -> str:
    path = folders()[game].path / "web" / file
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _function_body(module: str) -> str:
    exports = ", ".join(name for _, name in _EXPORT.findall(module))
    body = _IMPORT.sub(r'const \1 = modules["\2"];', module)
    body = _LATE_IMPORT.sub(r"modules[\1]", body)
    body = _EXPORT.sub(r"\1", body)
    left = _OTHERWISE.search(body)
    if left is not None:
        wrong = body[left.start() :].strip().partition("\n")[0][:80]
        forms = '`export function NAME` and `import { NAME } from "/static/FILE.js";`'
        raise ValueError(f"{wrong!r} cannot be packed into one page: write {forms}")
    return f"{body}return {{ {exports} }};\n"


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
