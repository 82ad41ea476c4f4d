"""Explanations for people of what is wrong with their input; the library's messages are for programmers."""

import re
from collections.abc import Mapping
from typing import Any

from deadheat.engine.language import N_, _
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.terms import ELO, STAGE

PLAINLY = {
    "int_parsing": N_("Enter a whole number."),
    "extra_forbidden": N_("There is no such field."),
    "missing": N_("This is required."),
    "string_pattern_mismatch": N_(
        "Use A to Z, a to z, digits, and marks such as - and _; start with a letter or a digit."
    ),
    "greater_than_equal": N_("It should be at least %(bound)s"),
    "less_than_equal": N_("It should be at most %(bound)s"),
    "string_too_long": N_("It should have at most %(max_length)s characters"),
}
"""Sentences by kind of error."""

FORMATS = tuple(EvaluationFormat)
NUMBERS = ("rounds", "matches", "keep", "further")
STAGE_WORD = re.compile(r"(rounds|matches|keep|further)=[1-9][0-9]{0,4}|ties=[a-z_+]+|third-place")

WORDS = (
    (r"^(Input|String|Value|List|Dictionary) should", "It should"),
    (r"^Value error, ", ""),
    (" after validation", ""),
    ("greater than or equal to", "at least"),
    ("less than or equal to", "at most"),
    ("valid integer, unable to parse string as an integer", "whole number"),
    ("valid number, unable to parse string as a number", "number"),
    (r"a valid integer\b", "a whole number"),
    (r"a valid (string|list|dictionary|boolean|number)\b", r"a \1"),
)
"""Further replacements: pairs of a pattern and its replacement."""


def plainly(complaint: Mapping[str, Any]) -> str:
    """Return a sentence about one of a ValidationError's `errors`."""
    if complaint.get("ctx", {}).get("pattern") == STAGE and "input" in complaint:
        return _stage(str(complaint["input"]))
    if complaint.get("ctx", {}).get("pattern") == ELO:
        return _("Write two numbers in normalised Elo, such as 0 and 100.")
    text, message = PLAINLY.get(complaint["type"]), complaint["msg"]
    known = {"bound": message.rpartition(" ")[2], **complaint.get("ctx", {})}
    return reworded(message) if text is None else _(text, **known)


def _stage(line: str) -> str:
    """Return what is wrong with a line of `stages`."""
    form, *words = line.split() or [""]
    if form not in FORMATS:
        return _("It must begin with %(most)s or %(last)s.", most=", ".join(FORMATS[:-1]), last=FORMATS[-1])
    wrong = next((word[:40] for word in words if not STAGE_WORD.fullmatch(word)), "")
    name = wrong.partition("=")[0]
    if name in NUMBERS:
        return _("“%(word)s” needs a whole number, such as %(name)s=10.", word=wrong, name=name)
    if not wrong:
        return _("Put single spaces between its words.")
    there = ", ".join(NUMBERS)
    return _("“%(word)s” is not known here; choose from %(all)s, ties and third-place.", word=wrong, all=there)


def reworded(message: str) -> str:
    """Return one of the library's error messages in our own words, where we have any."""
    for pattern, words in WORDS:
        message = re.sub(pattern, words, message)
    return message
