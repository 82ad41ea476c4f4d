"""Betris (Large) for programs that learn.

Actions, in this order: bets on the first block on offer, from 0 chips up; bets on the second; passing; then every
placement on an empty board, block by block in the order of the rules (`games.betris_large.polyominoes.PLACEMENTS`).

Observations have ``mine`` and ``theirs``; boards are rows of cells, 1 for a filled one. Both time banks are left out,
because they stay full.
"""

from functools import lru_cache

import numpy as np

from deadheat.engine.games.parsing import Refused
from deadheat.games.betris_large.polyominoes import NAMES, PLACEMENTS, SIDE, Cell, bit, cells_in
from deadheat.games.betris_large.rules import CHIPS, MAX_BET, ROUNDS, Place, Player, read_bet, read_place
from deadheat.training.view import Layout, Mask, View

CELLS: list[Cell] = [(row, column) for row in range(1, SIDE + 1) for column in range(1, SIDE + 1)]
PLACED = [(block, mask) for block in NAMES for mask in sorted(PLACEMENTS[block])]
MASKS = np.array([mask for _, mask in PLACED], np.uint64)
BETS = 2 * (MAX_BET + 1)
PASS = BETS
FIRST_PLACEMENT = PASS + 1
RANGES = {
    block: slice(first, first + len(PLACEMENTS[block]))
    for block, first in zip(NAMES, np.cumsum([0, *(len(PLACEMENTS[block]) for block in NAMES)]).tolist(), strict=False)
}
"""The placements of each block, as a range of all placements."""

CELL_BITS = np.array([bit(cell) for cell in CELLS], np.uint64)
KINDS = len(NAMES)

LAYOUT = Layout(
    round=(1, 0, ROUNDS, "from 1 to 12"),
    betting=(1, 0, 1, "1: a bet is expected"),
    placing=(1, 0, 1, "1: a placement is expected"),
    first=(KINDS, 0, 1, "1 for the first block on offer"),
    second=(KINDS, 0, 1, "1 for the second"),
    block_mine=(KINDS, 0, 1, "1 for the block acquired in this round"),
    block_theirs=(KINDS, 0, 1),
    chips_mine=(1, 0, CHIPS, "chips left"),
    chips_theirs=(1, 0, CHIPS),
    points_mine=(1, 0, 2 * SIDE**2 + CHIPS / 2, "the result if the match ended now"),
    points_theirs=(1, 0, 2 * SIDE**2 + CHIPS / 2),
    board_mine=(SIDE**2, 0, 1, "1 for each filled cell, row by row"),
    board_theirs=(SIDE**2, 0, 1),
)
"""The fields of an observation."""

FIELDS = LAYOUT.fields


LINES = ["PLACE 0", *(f"PLACE {Place(cells_in(mask))}" for _, mask in PLACED)]


@lru_cache(maxsize=CHIPS + 1)
def _bets(chips: int) -> Mask:
    """Return which bets the rules accept from a player with that many chips."""
    offered = NAMES[0], NAMES[1]
    allowed = np.ones(BETS, np.int8)
    for action in range(BETS):
        try:
            read_bet(_bet(action, offered), offered, Player(chips))
        except Refused:
            allowed[action] = 0
    return allowed


def _bet(action: int, offered: tuple[str, str]) -> str:
    which, chips = divmod(action, MAX_BET + 1)
    return f"BET {offered[which]} {chips}"


class _BetrisView(View):
    """The knowledge of one seat of Betris (Large); see the top of this file."""

    layout = LAYOUT
    start = LAYOUT.zeros()
    actions = BETS + len(LINES)

    def __init__(self, seat: int, seats: int) -> None:
        super().__init__(seat, seats)
        self.offered = NAMES[0], NAMES[1]
        self.blocks = self.offered  # mine, theirs
        self.players = (Player(), Player())
        self._count()

    def hear(self, line: str) -> None:
        command, *words = line.split(" ")
        numbers = self.numbers
        if command == "PHASE1":
            self.offered = words[0], words[1]
            numbers[FIELDS["round"]] += 1
            for field in ("first", "second", "block_mine", "block_theirs"):
                numbers[FIELDS[field]] = 0
            self._mark("first", words[0])
            self._mark("second", words[1])
        elif command == "PHASE2":
            first, second = self.offered
            self.blocks = words[0], second if words[0] == first else first
            self._mark("block_mine", self.blocks[0])
            self._mark("block_theirs", self.blocks[1])
            for player, chips in zip(self.players, words[1:3], strict=True):
                player.chips = int(chips)
            self._count()
        elif command == "OPP":
            self._place(1, f"PLACE {' '.join(words)}")
        numbers[FIELDS["betting"]] = command == "PHASE1"
        numbers[FIELDS["placing"]] = command == "PHASE2"

    def reply(self, line: str) -> None:
        if self.numbers[FIELDS["placing"]]:
            self._place(0, line)

    def line(self, action: int) -> str:
        """See `View.line`. A bet names a block that was on offer last, so it may come too late."""
        return _bet(action, self.offered) if action < BETS else LINES[action - BETS]

    def mask(self) -> Mask:
        mask = np.zeros(self.actions, np.int8)
        if self.numbers[FIELDS["betting"]]:
            mask[:BETS] = _bets(self.players[0].chips)
            return mask
        mask[PASS] = 1
        mine = RANGES[self.blocks[0]]
        mask[FIRST_PLACEMENT:][mine] = MASKS[mine] & np.uint64(self.players[0].board) == 0
        return mask

    def _place(self, who: int, line: str) -> None:
        player = self.players[who]
        try:
            player.board |= read_place(line, self.blocks[who], player).mask
        except Refused:
            return  # the seat's own fault, which has cost it the match
        self._count()

    def _count(self) -> None:
        for who, player in zip(("mine", "theirs"), self.players, strict=True):
            self.numbers[FIELDS[f"chips_{who}"]] = player.chips
            self.numbers[FIELDS[f"points_{who}"]] = player.half_points / 2
            self.numbers[FIELDS[f"board_{who}"]] = np.uint64(player.board) & CELL_BITS != 0

    def _mark(self, field: str, block: str) -> None:
        self.numbers[FIELDS[field].start + NAMES.index(block)] = 1


VIEW = _BetrisView
