"""Repeats the lines of a seat in a recorded match. It is copied beside ``script.json`` and started like any bot.

It answers the kinds of line that were prompts in that match, with one recorded line each, and ends when none is left.
It ignores everything else: against another opponent, its lines may come at the wrong time, or be illegal.
"""

import json
import sys
from pathlib import Path


def kind(line: str) -> str:
    """Return a key for lines with the same question: the first word, or the field names of a JSON object."""
    if line.startswith("{"):
        try:
            return " ".join(sorted(json.loads(line)))
        except (ValueError, RecursionError):
            return ""
    return line.split(" ", 1)[0].strip()


def main() -> None:
    """Answer until FINISH, or until the lines run out."""
    script = json.loads(Path(__file__).with_name("script.json").read_text("ascii"))
    lines = script["lines"][::-1]
    for raw in sys.stdin.buffer:
        question = kind(raw.decode("utf-8", "replace"))
        if question == "FINISH":
            return
        if not lines and question not in script["notices"]:
            sys.stderr.write("The recorded lines end here.\n")
            return
        if question in script["prompts"]:
            sys.stdout.buffer.write(lines.pop().encode("utf-8", "surrogateescape") + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
