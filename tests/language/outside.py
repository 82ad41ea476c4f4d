"""Find texts that people read and no catalogue has: in templates, modules that make pages, scripts, and on pages."""

import ast
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path

from babel.messages.jslexer import tokenize
from jinja2 import nodes

from deadheat.api.pages.render import templates

TOLD = frozenset({"title", "alt", "aria-label", "placeholder"})
"""Attributes that people read or hear."""

CODE = frozenset({"code", "pre", "kbd", "script", "style", "textarea"})
NAMES = re.compile(
    r"\b(Deadheat|API|UTC|Elo|ms|JSON|HTML|CSV|TOML|ZIP|Python|Docker|Linux|CPU|Atom|Content-Length)\b|&\w+;"
)
WORD = re.compile(r"[^\W\d_]{2,}")
SENTENCE = re.compile(r"\b[A-Za-z]+,?(?: [a-z]+[,.:;]?){2,}(?![\w-])")
"""Three words, of which only the first may be a name."""

PROSE = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}|^[A-Z][a-z]+[.:]?$")
NOT_TOLD = ("Enter", "select, textarea, pre", "button, summary", "(prefers-reduced-motion: reduce)")
TOLD_BY_SCRIPT = re.compile(r"^[A-Z][a-z]+\b(?! \w+$)|[a-z]{2,}[,.:] |\b(of|at|the|is|in|no) ")
LOOKS_UP = frozenset({"_", "N_", "gettext", "ngettext", "counted"})

BROWSERS = ["Android", "Chrom", "Edg", "Edge", "Firefox", "Linux", "Mac", "Opera", "Safari", "Windows"]
UNTOLD = frozenset(
    [
        *(*BROWSERS, "Chrome or Chromium", "Mac OS", "Deadheat", "Location", "starter kit", "match/5"),
        *("stderr of seat", "public, max-age=3600", ": nothing new", "## Verdicts and their cures", "Rules of"),
        *("Deadheat, match", "only matches that were played to the end have a picture"),
    ]
)
"""Names, texts for programs, and words that are English for everybody."""

UNKNOWN = "\N{WHITE SQUARE}"
"""The sign for the value of a template's expression."""


def of_template(source: str) -> list[str]:
    """Return the texts and attributes of a template that are not looked up."""
    reader = _Reader()
    reader.feed("".join(_pieces(templates().env.parse(source))))
    reader.close()
    return reader.found


def of_page(page: str, known: Mapping[str, str]) -> set[str]:
    """Return the texts of a page that are English: those with three words of a sentence, and messages whose translation
    is `known`.
    """
    reader = _Reader()
    reader.feed(page)
    reader.close()
    texts = {" ".join(text.split()) for text in reader.found}
    return {text for text in texts if SENTENCE.search(text) or known.get(text, text) != text}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code += tag in CODE
        self.found += [value for name, value in attrs if name in TOLD and value and _is_text(value)]

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in CODE

    def handle_data(self, data: str) -> None:
        if not self._code and _is_text(data):
            self.found.append(data.strip())


def _is_text(value: str) -> bool:
    if '="' in value:
        return False  # attributes from a macro
    return value.strip() not in UNTOLD and WORD.search(NAMES.sub("", value)) is not None


def _pieces(node: nodes.Node) -> Iterator[str]:
    """Yield the text of a template with each of its branches taken."""
    if isinstance(node, nodes.Output):
        for part in node.nodes:
            yield part.data if isinstance(part, nodes.TemplateData) else "".join([UNKNOWN, *_texts(part)])
    elif isinstance(node, nodes.Assign):
        yield from (text for text in _texts(node.node) if " " in text)
    elif isinstance(node, nodes.Block) and node.name == "here":
        return  # a key of the menu
    else:
        for child in node.iter_child_nodes():
            yield from _pieces(child)


def _texts(node: nodes.Node) -> Iterator[str]:
    match node:
        case nodes.Const(value=str() as text):
            yield text
        case nodes.CondExpr():
            yield from _texts(node.expr1)
            if node.expr2 is not None:
                yield from _texts(node.expr2)
        case nodes.Getitem(node=nodes.Dict() as words):
            yield from (text for pair in words.items for text in _texts(pair.value))
        case nodes.Concat() | nodes.Or() | nodes.And() | nodes.Add():
            for part in node.iter_child_nodes():
                yield from _texts(part)
        case nodes.Filter(node=nodes.Node() as of) if node.name != "word":
            yield from _texts(of)
        case nodes.Call(node=nodes.Name(name=name)) if name not in LOOKS_UP:
            given = (*node.args, *(one.value for one in node.kwargs))
            yield from (text for part in given for text in _texts(part) if " " in text)


def of_module(path: Path) -> list[str]:
    """Return the sentences of a module that are not looked up, each with its line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    apart = {id(part) for part in ast.walk(tree) if _is_apart(part) for part in ast.walk(part)}
    return [
        f"{part.lineno}: {part.value}"
        for part in ast.walk(tree)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
        if id(part) not in apart and _is_prose(part.value.strip())
    ]


def of_script(source: str) -> list[str]:
    """Return the texts that a script does not pass to `say`, each with its line."""
    found, before = [], ["", ""]
    for token in tokenize(source):
        if token.type in ("string", "template_string"):
            text = re.sub(r"\$\{[^}]*\}+", UNKNOWN, token.value[1:-1])
            if before != ["say", "("] and TOLD_BY_SCRIPT.search(text) and text not in NOT_TOLD:
                found.append(f"{token.lineno}: {text}")
        if token.type not in ("whitespace", "linecomment", "multilinecomment"):
            before = [before[1], token.value]
    return found


def _is_prose(text: str) -> bool:
    return not (text in UNTOLD or text.startswith("<")) and PROSE.search(text) is not None


def _is_apart(part: ast.AST) -> bool:
    """Return whether a text is a key to look up, or is shown to nobody."""
    match part:
        case ast.Expr(value=ast.Constant()):
            return True  # a docstring
        case ast.Call(func=ast.Name(id=name)):
            return name in LOOKS_UP or name == "TypeVar"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="log"))):
            return True
        case ast.Assert() | ast.AnnAssign(value=None) | ast.arguments():
            return True
        case _:
            return False


def half_translated(path: Path) -> list[str]:
    """Return a module's English sentences that contain a word in the reader's language, each with its line."""
    found = []
    for part in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(part, ast.JoinedStr):
            english = any(WORD.search(str(text.value)) for text in part.values if isinstance(text, ast.Constant))
            calls = (each.func for each in ast.walk(part) if isinstance(each, ast.Call))
            if english and any(isinstance(name, ast.Name) and name.id in COUNTS for name in calls):
                found.append(f"{part.lineno}: {ast.unparse(part)}")
    return found


COUNTS = frozenset({"counted", "away", "wait"})
"""Functions that spell a figure in the reader's language."""
