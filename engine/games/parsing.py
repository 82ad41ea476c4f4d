"""The strict reader of replies, shared by all games: lines of words, and lines of JSON (rulings C-06 to C-09).

A game module parses inside ``try``/``except Refused`` and turns the exception into a fault: a bot's line never raises
outside a game.

Whether a line of JSON is malformed must not depend on the machine. The interpreter's own limits (on recursion, on the
digits of a number) vary with its version, its settings and the depth of the call, so ours are narrower.
"""

import json
import re
from collections.abc import Mapping
from decimal import Decimal

from deadheat.engine.core import Fault, Reply

_BLANKS = " \t\r"
_DIGITS = 9  # the most digits of a number, in whatever notation

MAX_NESTING = 64
"""The deepest nesting of arrays and objects in a line of JSON; a reply needs one level."""

MAX_NUMBER_CHARACTERS = 1000
"""The longest number in a line of JSON. Only integral values are used, and ``5.000`` is one, however long."""

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.?)*(?:"|$)|[\[{]|[\]}]')  # unclosed strings match: linear time
_FAR_EXPONENT = re.compile(r"[eE][+-]?0*[1-9][0-9]{4}")  # beyond the range of Decimal on some machines


class Refused(Exception):
    """The game refuses a reply; `fault` is MALFORMED (grammar) or ILLEGAL (rules), and the text says why."""

    def __init__(self, fault: Fault, why: str) -> None:
        super().__init__(why)
        self.fault = fault
        self.why = why


def malformed(why: str) -> Refused:
    """Make the refusal of a line outside the protocol's grammar."""
    return Refused(Fault.MALFORMED, why)


def illegal(why: str) -> Refused:
    """Make the refusal of a grammatical line that the rules forbid."""
    return Refused(Fault.ILLEGAL, why)


def words(line: str) -> list[str]:
    """Split a reply into words: blanks are trimmed at both ends, and runs of spaces or tabs separate (C-06).

    Raises:
        Refused: malformed: the line is empty, or has a byte that is not printable ASCII (C-09).
    """
    trimmed = line.strip(_BLANKS)
    if not trimmed:
        raise malformed("an empty line")
    spaced = trimmed.replace("\t", " ")
    if not (spaced.isascii() and spaced.isprintable()):
        raise malformed("a character that is not printable ASCII")
    return spaced.split()  # the space is the only printable ASCII character that separates words


def number(word: str) -> int:
    """Read a non-negative integer of 1 to 9 ASCII digits, leading zeros allowed (C-07).

    Raises:
        Refused: malformed.
    """
    if not (word.isdigit() and word.isascii() and len(word) <= _DIGITS):
        raise malformed(f"{word[:20]!r} is not a number of 1 to 9 digits")
    return int(word)


def expect(line: str, command: str, arguments: int) -> list[str]:
    """Return the arguments of a reply that must be `command` followed by exactly `arguments` words.

    Raises:
        Refused: malformed.
    """
    parts = words(line)
    if parts[0] != command:
        raise malformed(f"expected {command}, got {parts[0][:20]!r}")
    if len(parts) != arguments + 1:
        raise malformed(f"{command} takes {arguments} words, got {len(parts) - 1}")
    return parts[1:]


NO_LINE = {
    Fault.TIMEOUT: "no line in time",
    Fault.EXITED: "the program ended before its reply",
    Fault.OVERFLOW: "a line that is too long",
    Fault.UNEXPECTED: "output that nobody had asked for",
    Fault.MEMORY: "the memory limit was exceeded",
}
"""The reason for each fault that a transport finds before the rules see a line."""


def line_of(reply: Reply) -> str:
    """Return the line of a reply.

    Raises:
        Refused: there is no line; with the transport's fault.
    """
    if reply.line is None:
        assert reply.fault is not None
        raise Refused(reply.fault, NO_LINE[reply.fault])
    return reply.line


# JSON ------------------------------------------------------------------------------------------------------------


class _Spelled(str):
    """A JSON number, kept as written until its value is needed."""

    __slots__ = ()


def _short_or_spelled(digits: str) -> int | _Spelled:
    return int(digits) if len(digits) <= _DIGITS else _spelled(digits)


def _spelled(number: str) -> _Spelled:
    if len(number) > MAX_NUMBER_CHARACTERS:
        raise malformed(f"a number of {len(number)} characters")
    return _Spelled(number)


def _no_number(word: str) -> object:
    raise malformed(f"{word} is not JSON")


_DECODER = json.JSONDecoder(parse_int=_short_or_spelled, parse_float=_spelled, parse_constant=_no_number)


def json_object(line: str) -> dict[str, object]:
    """Return the fields of a reply that is one JSON object, in ASCII (C-09); other characters can be escaped.

    The last of duplicate keys counts (L-12). `integer` reads its numbers.

    Raises:
        Refused: malformed: not JSON, not an object, a lone surrogate, too deep, or a number that is too long (L-10,
        L-13).
    """
    if not line.isascii():
        raise malformed("a character that is not ASCII")
    if len(line) > MAX_NESTING:
        _refuse_depth(line)
    try:
        value = _DECODER.decode(line)
        if "\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()  # raises for a lone surrogate
    except UnicodeEncodeError:
        raise malformed("a lone surrogate") from None
    except ValueError:  # do not repeat the text: it varies with Python's version, and transcripts must not
        raise malformed("not JSON") from None
    if not isinstance(value, dict):
        raise malformed("not a JSON object")
    return value


def integer(fields: Mapping[str, object], name: str) -> int:
    """Read the field of that name: an integral number of at most nine digits, such as 5, 5.0 or 50e-1 (L-10).

    Raises:
        Refused: malformed: another number, not a number, or no such field.
    """
    value = fields.get(name)
    if type(value) is int:  # bool is a subclass of int
        return value
    if not isinstance(value, _Spelled):
        raise malformed(f"{name} is not a number" if name in fields else f"there is no {name}")
    if _FAR_EXPONENT.search(value):
        raise malformed(f"{name} {value[:20]} has an exponent of more than four digits")
    exact = Decimal(value)
    if exact and exact.adjusted() >= _DIGITS:
        raise malformed(f"{name} {value[:20]} has more than {_DIGITS} digits")
    if exact != exact.to_integral_value():
        raise malformed(f"{name} {value[:20]} is not a whole number")
    return int(exact)


def _refuse_depth(line: str) -> None:
    if line.count("{") + line.count("[") <= MAX_NESTING:
        return
    depth = 0
    for part in _STRING_OR_BRACKET.findall(line):
        depth += (part in "[{") - (part in "]}")
        if depth > MAX_NESTING:
            raise malformed(f"nested more than {MAX_NESTING} deep")
