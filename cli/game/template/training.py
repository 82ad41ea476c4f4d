"""My Game for programs that learn. Actions: the cards, from the lowest."""

from __future__ import annotations

import numpy as np

from deadheat.training.view import Layout, Mask, View

from .rules import HIGHEST

LAYOUT = Layout(
    prize=(1, 0, HIGHEST),  # 0: nothing is asked now
    mine=(HIGHEST, 0, 1),  # 1: this card is in my hand
    theirs=(HIGHEST, 0, 1),
)
"""What an observation holds."""

FIELDS = LAYOUT.fields


def _start() -> np.ndarray:
    numbers = LAYOUT.zeros()
    numbers[FIELDS["mine"]] = numbers[FIELDS["theirs"]] = 1
    return numbers


class MyView(View):
    """The knowledge of one seat."""

    layout = LAYOUT
    start = _start()
    actions = HIGHEST

    def hear(self, line: str) -> None:
        """See `View.hear`."""
        command, *words = line.split(" ")
        self.numbers[FIELDS["prize"]] = int(words[0]) if command == "PLAY" else 0
        if command == "SAW":
            self._spend("theirs", words[0])

    def reply(self, line: str) -> None:
        """See `View.reply`."""
        if self.numbers[FIELDS["prize"]] and line.startswith("CARD "):
            self._spend("mine", line.split(" ")[1])

    def line(self, action: int) -> str:
        """See `View.line`."""
        return f"CARD {action + 1}"

    def mask(self) -> Mask:
        """See `View.mask`."""
        return self.numbers[FIELDS["mine"]].astype(np.int8)

    def _spend(self, field: str, card: str) -> None:
        if card.isdecimal() and 1 <= int(card) <= HIGHEST:
            self.numbers[FIELDS[field].start + int(card) - 1] = 0


VIEW = MyView
