"""Gathers the messages in sources, so that catalogues can be complete.

Messages are `_("...")`, `N_("...")`, `gettext("...")`, `ngettext("...", "...", n)` and the nouns of `counted` in
modules and templates, the words of errors for what is not found, taken or too many, `{% trans %}` in templates, and
`say("...")` in scripts.
"""

import ast
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from jinja2 import Environment, nodes
from jinja2.ext import babel_extract

from deadheat.engine.games.folder import GameFolder
from deadheat.engine.games.variants import parameters
from deadheat.engine.scenes import DIRECTORS

PLACEHOLDER = re.compile(r"%\(\w+\)[sdgr]|\{\w*\}")
_SAID = re.compile(r'\bsay\("([^"]*)"')
_TEMPLATES = Environment(extensions=["jinja2.ext.i18n"])  # noqa: S701  nothing is rendered

Message = str | tuple[str, str]
"""A message, or its singular and plural forms."""


def of_game(game: GameFolder) -> Iterator[Message]:
    """Yield the messages of a game's folder."""
    for path in sorted(game.path.rglob("*")):
        if path.relative_to(game.path).parts[0] != "bots":
            match path.suffix:
                case ".py":
                    yield from of_python(path)
                case ".html":
                    yield from of_template(path.read_text("utf-8"))
                case ".js":
                    yield from of_script(path)
    yield from declared(game)


def declared(game: GameFolder) -> Iterator[str]:
    """Yield the texts of a game that are looked up when shown: how seats differ, parameters, and the figure."""
    director = DIRECTORS.get(game.rules.name)
    yield from filter(None, (game.seats_differ, director and director.figure))
    yield from (each.parameter.meaning for each in parameters(game.rules))


def of_template(source: str) -> Iterator[Message]:
    """Yield the messages of one template."""
    options = {"newstyle_gettext": "true", "trimmed": "true", "trim_blocks": "true", "silent": "false"}
    for _, _, message, _ in babel_extract(BytesIO(source.encode()), ["_", "gettext", "ngettext"], (), options):
        yield _plain(message)
    for node in _TEMPLATES.parse(source).find_all(nodes.Filter):
        if node.name == "counted":
            yield counted([noun.value for noun in node.args if isinstance(noun, nodes.Const)])


def of_python(path: Path) -> Iterator[Message]:
    """Yield the messages of one module."""
    for call in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        match call.func.id, [each.value for each in call.args if isinstance(each, ast.Constant)]:
            case "_" | "N_" | "gettext" | "NotFound" | "NameTaken" | "TooMany", [str(message), *_]:
                yield message
            case "ngettext", [str(singular), str(more), *_]:
                yield singular, more
            case "counted", [*_, str(singular), str(more)]:
                yield counted([singular, more])
            case "counted", [*_, str(singular)]:
                yield counted([singular])


def of_script(path: Path) -> list[str]:
    """Return the messages of one script."""
    return _SAID.findall(path.read_text("utf-8"))


def counted(nouns: list[str]) -> tuple[str, str]:
    """Return the message that `engine.figures.counted` looks up."""
    singular, more = nouns[0], nouns[1] if len(nouns) > 1 else f"{nouns[0]}s"
    return f"%(count)s {singular}", f"%(count)s {more}"


def _plain(message: object) -> Message:
    """Return a message in the form that catalogues have."""
    if isinstance(message, str):
        return message
    assert isinstance(message, tuple | list)
    singular, more = (*message, None)[:2]
    return str(singular) if more is None else (str(singular), str(more))
