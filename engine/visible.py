"""Makes untrusted text safe to show: no invisible characters, and none that terminals interpret."""

from __future__ import annotations


def visible(text: str, kept: str = "\t") -> str:
    """Spell out unprintable characters (controls, directions, marks without a width), except those in `kept`."""
    if text.isprintable():  # as nearly every text is; this saves time on a page of hundreds of names
        return text
    return "".join(
        mark if mark.isprintable() or mark in kept else mark.encode("unicode_escape").decode() for mark in text
    )
