"""Explains in words for people what is wrong with their input; the library's messages are for programmers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from deadheat.league.states import EvaluationFormat
from deadheat.league.terms import STAGE

PLAINLY = {
    "int_parsing": "Enter a whole number.",
    "extra_forbidden": "There is no such field.",
    "missing": "This is required.",
    "string_pattern_mismatch": "Use letters, digits, and marks such as - and _; start with a letter or a digit.",
}
"""Sentences for kinds of errors."""

FORMATS = tuple(EvaluationFormat)
NUMBERS = ("rounds", "matches", "keep", "further")
STAGE_WORD = re.compile(r"(rounds|matches|keep|further)=[1-9][0-9]{0,4}|ties=[a-z_+]+|third-place")

WORDS = (
    (r"^(Input|String|Value|List|Dictionary) should", "It should"),
    (r"^Value error, ", ""),
    ("greater than or equal to", "at least"),
    ("less than or equal to", "at most"),
    ("valid integer, unable to parse string as an integer", "whole number"),
    ("valid number, unable to parse string as a number", "number"),
    (r"a valid integer\b", "a whole number"),
    (r"a valid (string|list|dictionary|boolean|number)\b", r"a \1"),
)
"""Further replacements: patterns, and the text that replaces them."""


def plainly(complaint: Mapping[str, Any]) -> str:
    """Return what is wrong with a field, from one of a ValidationError's `errors`."""
    if complaint.get("ctx", {}).get("pattern") == STAGE and "input" in complaint:
        return _stage(str(complaint["input"]))
    return reworded(PLAINLY.get(complaint["type"], complaint["msg"]))


def _stage(line: str) -> str:
    """Return what is wrong with a line of `stages`."""
    form, *words = line.split() or [""]
    if form not in FORMATS:
        return f"It must begin with {', '.join(FORMATS[:-1])} or {FORMATS[-1]}."
    wrong = next((word[:40] for word in words if not STAGE_WORD.fullmatch(word)), "")
    name = wrong.partition("=")[0]
    if name in NUMBERS:
        return f"\u201c{wrong}\u201d needs a whole number, such as {name}=10."
    there = f"there are {', '.join(NUMBERS)}, ties and third-place"
    return f"\u201c{wrong}\u201d means nothing here; {there}." if wrong else "Write its words with single spaces."


def reworded(message: str) -> str:
    """Return an error message of the library in our own words, as far as there are any."""
    for pattern, words in WORDS:
        message = re.sub(pattern, words, message)
    return message
