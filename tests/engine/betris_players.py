"""Simulated players of Betris, and its rules written a second time with sets of cells and brute force.

They draw from `Chance`, whose values are specified, so that the golden transcripts are the same under any Python.
"""

from collections.abc import Iterable, Sequence

from deadheat.engine.chance import Chance
from deadheat.engine.core import Message
from deadheat.engine.memory import Answer, MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript
from deadheat.games.betris_large.rules import Betris
from tests.engine.players import seed

GAME = Betris()

PROMPTS = 25
BANK_NS = 10_000_000_000

Cells = frozenset[tuple[int, int]]

DRAWN = """
I1  I2  I3   L3  I4    L4   S4   T4   O4  I5     L5    F5   N5    P5  T5   U5   V5   W5   X5   Y5    Z5
#   ##  ###  #   ####  #     ##  ###  ##  #####  #      ##  ##    ##  ###  # #  #    #     #    #    ##
             ##        ###  ##    #   ##         ####  ##    ###  ##   #   ###  #    ##   ###  ####   #
                                                        #         #    #        ###   ##   #          ##
"""
"""The blocks once more, drawn by hand and not by the module."""


def drawn() -> dict[str, Cells]:
    """Read the cells of each block from the drawing."""
    header, *rows = DRAWN.strip("\n").splitlines()
    names = header.split()
    starts = [header.index(name) for name in names]
    found = {}
    for name, start, end in zip(names, starts, [*starts[1:], len(header) + 9], strict=True):
        found[name] = frozenset(
            (x, y) for x, row in enumerate(rows) for y, mark in enumerate(row[start:end]) if mark == "#"
        )
    return found


def moved_to_origin(cells: Iterable[tuple[int, int]]) -> Cells:
    """Move a shape so that its bounding box is at (0, 0)."""
    listed = list(cells)
    top, left = min(x for x, _ in listed), min(y for _, y in listed)
    return frozenset((x - top, y - left) for x, y in listed)


def symmetries(cells: Cells) -> list[Cells]:
    swaps = [cells, frozenset((y, x) for x, y in cells)]
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    return [moved_to_origin((a * x, b * y) for x, y in one) for one in swaps for a, b in signs]


FORMS = {name: frozenset(symmetries(cells)) for name, cells in drawn().items()}


def legal_places(block: str, filled: Cells) -> list[list[tuple[int, int]]]:
    """List every way to place a block, in a fixed order."""
    free = frozenset((x, y) for x in range(1, 8) for y in range(1, 8)) - filled
    found = []
    for form in sorted(map(sorted, FORMS[block])):
        for row in range(1, 8):
            for column in range(1, 8):
                cells = [(x + row, y + column) for x, y in form]
                if free.issuperset(cells):
                    found.append(cells)
    return found


def side_of_largest_square(filled: Cells) -> int:
    """Find it by looking at every square."""
    return max(
        side
        for side in range(8)
        for row in range(1, 9 - side)
        for column in range(1, 9 - side)
        if all((x, y) in filled for x in range(row, row + side) for y in range(column, column + side))
    )


def place_line(cells: Sequence[tuple[int, int]]) -> str:
    return " ".join(map(str, ["PLACE", len(cells), *(coordinate for cell in cells for coordinate in cell)]))


class Legal:
    """Plays random legal moves in no time, or in up to `slow_ns` a prompt (at most 416 ms, to stay within the bank)."""

    def __init__(self, number: int, slow_ns: int = 0) -> None:
        self.chance = Chance(b"a legal player of betris" + seed(number))
        self.slow_ns = slow_ns
        self.chips = 24
        self.filled: Cells = frozenset()

    def __call__(self, message: Message) -> Answer | str | None:
        line = self.answer(message.line)
        return None if line is None else Answer(line, self.slow_ns * self.chance.below(101) // 100)

    def answer(self, line: str) -> str | None:
        command, *arguments = line.split(" ")
        match command:
            case "READY":
                return "OK"
            case "PHASE1":
                return f"BET {self.chance.pick(arguments[:2])} {self.chance.below(min(5, self.chips) + 1)}"
            case "PHASE2":
                self.chips = int(arguments[1])
                return self.place(arguments[0])
        return None

    def place(self, block: str) -> str:
        """Choose any legal place, its cells in any order, or pass one time in eight."""
        places = legal_places(block, self.filled)
        if not places or self.chance.below(8) == 0:
            return "PLACE 0"
        left, cells = self.chance.pick(places), []
        self.filled |= frozenset(left)
        while left:
            cells.append(left.pop(self.chance.below(len(left))))
        return place_line(cells)


def play(number: int, first: Player | None = None, second: Player | None = None) -> Transcript:
    """Play a match of Betris, with legal players where none are given."""
    players = (first or Legal(2 * number), second or Legal(2 * number + 1))
    return run_match(GAME, 2, seed(number), MemoryTransport(players))
