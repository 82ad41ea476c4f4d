"""Explains in words for people what is wrong with their input; the library's messages are for programmers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PLAINLY = {
    "int_parsing": "Enter a whole number.",
    "extra_forbidden": "There is no such field.",
    "missing": "This is required.",
    "string_pattern_mismatch": "Use letters, digits, and marks such as - and _; start with a letter or a digit.",
}
"""Sentences for kinds of errors."""

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
    return reworded(PLAINLY.get(complaint["type"], complaint["msg"]))


def reworded(message: str) -> str:
    """Return an error message of the library in our own words, as far as there are any."""
    for pattern, words in WORDS:
        message = re.sub(pattern, words, message)
    return message
