"""The one strict reader of replies, shared by all games with a line protocol (rulings C-06 to C-09).

A game module parses inside ``try``/``except Refused`` and turns it into a fault: a bot's line is never an
exception outside a game.
"""

from __future__ import annotations

import re

from engine.core import Fault

_BLANKS = " \t\r"
_SEPARATOR = re.compile(r"[ \t]+")
_NUMBER = re.compile(r"[0-9]{1,9}")


class Refused(Exception):
    """A reply that the game refuses; `fault` is MALFORMED (grammar) or ILLEGAL (rules), the text says why."""

    def __init__(self, fault: Fault, why: str) -> None:
        super().__init__(why)
        self.fault = fault
        self.why = why


def malformed(why: str) -> Refused:
    """The line is not in the protocol's grammar."""
    return Refused(Fault.MALFORMED, why)


def illegal(why: str) -> Refused:
    """The line is grammatical, the rules forbid it."""
    return Refused(Fault.ILLEGAL, why)


def words(line: str) -> list[str]:
    """The words of a reply: blanks trimmed at both ends, parted by runs of spaces or tabs (C-06).

    Raises:
        Refused: malformed: empty, or with a byte that is not printable ASCII (C-09).
    """
    trimmed = line.strip(_BLANKS)
    if not trimmed:
        raise malformed("an empty line")
    parts = _SEPARATOR.split(trimmed)
    for part in parts:
        if not (part.isascii() and part.isprintable()):
            raise malformed("a character that is not printable ASCII")
    return parts


def number(word: str) -> int:
    """A non-negative integer of 1 to 9 ASCII digits, leading zeros allowed (C-07).

    Raises:
        Refused: malformed.
    """
    if not _NUMBER.fullmatch(word):
        raise malformed(f"{word[:20]!r} is not a number of 1 to 9 digits")
    return int(word)


def expect(line: str, command: str, arguments: int) -> list[str]:
    """The arguments of a reply that must be `command` followed by exactly `arguments` words.

    Raises:
        Refused: malformed.
    """
    parts = words(line)
    if parts[0] != command:
        raise malformed(f"expected {command}, got {parts[0][:20]!r}")
    if len(parts) != arguments + 1:
        raise malformed(f"{command} takes {arguments} words, got {len(parts) - 1}")
    return parts[1:]
