"""Notes that a bot writes about its own moves: lines ``# note TEXT`` or ``# note N: TEXT`` on its stderr.

Stderr is drained by the box beside the timed path and kept as one text, without times: nothing says after which answer
a line was written, and reading it at each exchange would cost every bot time for the sake of some. So a note's number
says which answer it is about: N is 1 for the first answer after READY. Notes without a number are matched by order, but
only if there is exactly one for each answer and nothing of stderr was left out; otherwise they belong to no move.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deadheat.engine.core import Seat
from deadheat.engine.scenes.core import Scene
from deadheat.engine.transcript import Transcript

_NOTE = re.compile(r"^# note(?: (\d{1,6}):)? +(\S.*)$", re.MULTILINE)
_LEFT_OUT = re.compile(r"^\[\.\.\. \d+ bytes left out \.\.\.\]$", re.MULTILINE)
"""The line that the sandbox writes in place of bytes it dropped (sandbox/local.py, sandbox/images/init.c)."""


@dataclass(frozen=True, slots=True)
class Note:
    """`scene`: the number of the scene that the answer led to; None if the note names no existing answer."""

    scene: int | None
    text: str


def notes(stderr: str, transcript: Transcript, scenes: Sequence[Scene], seat: Seat) -> list[Note]:
    """Return a seat's notes in the order of its stderr. `scenes`: the transcript's scenes."""
    numbered = [(int(number) if number else None, text.rstrip()) for number, text in _NOTE.findall(stderr)]
    shown = list(_scenes_of_answers(transcript, scenes, seat))
    if all(number is None for number, _ in numbered) and len(numbered) == len(shown) and not _LEFT_OUT.search(stderr):
        numbered = [(place, text) for place, (_, text) in enumerate(numbered, 1)]
    return [Note(shown[n - 1] if n and n <= len(shown) else None, text) for n, text in numbered]


def _scenes_of_answers(transcript: Transcript, scenes: Sequence[Scene], seat: Seat) -> Iterator[int]:
    """For each prompt of the seat after READY, yield the scene that contains its answer, or else the next scene."""
    scene = 0
    for number, exchange in enumerate(transcript.exchanges):
        if not any(m.seat == seat and m.limit_ns is not None and m.command != "READY" for m in exchange.messages):
            continue
        while scene < len(scenes) - 1 and scenes[scene].exchange <= number:
            scene += 1
        after = range(scene, len(scenes))
        same = (place for place in after if scenes[place].exchange == scenes[scene].exchange)
        yield next((place for place in same if any(a.seat == seat for a in scenes[place].answers)), scene)
