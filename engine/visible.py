"""Text of strangers without characters that nobody sees or that terminals obey."""

from __future__ import annotations


def visible(text: str, kept: str = "\t") -> str:
    """Spell out unprintable characters (controls, directions, marks without a width), except those in `kept`."""
    if text.isprintable():  # as nearly everything is: a page of hundreds of names is made in less time
        return text
    return "".join(
        mark if mark.isprintable() or mark in kept else mark.encode("unicode_escape").decode() for mark in text
    )
