"""Betris (Large): two players, twelve rounds of betting chips on blocks and placing them on boards of 7 x 7.

The sources are the platform's page "Betris (Large)" and our rulings on it, cited as C-* and B-*;
games/betris_large/protocol.md explains both to bot authors. Comments name the page's headings where they are
implemented. The blocks are in `polyominoes`, and the parts shared with other duels with time banks in `banked`.

A match is 26 exchanges, 25 of them prompts to both seats at once: READY, twelve times PHASE1, twelve times PHASE2. The
OPPs of a round are sent before the next PHASE1 or FINISH.

Time is a bank: each seat has 10 seconds for all its PHASE1 and PHASE2 together.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Annotated

from deadheat.engine.chance import Chance
from deadheat.engine.core import NS_PER_MS, Event, Message, Points, Reply, Result, Seat, Step
from deadheat.engine.games.banked import Banked
from deadheat.engine.games.parsing import expect, illegal, malformed, number, words
from deadheat.engine.games.variants import Parameter
from deadheat.games.betris_large.polyominoes import NAMES, PLACEMENTS, SIDE, SIZES, Cell, bit, largest_square

ROUNDS = 12  # "2. Game Progression"
CHIPS = 24  # "1. Board and Components"
MAX_BET = 5  # "Phase 1: Betting Phase"
BANK_MS = 10_000  # "Limit": my_time of the first PHASE1


@dataclass(slots=True)
class Player:
    """A seat's chips and board during a match."""

    chips: int = CHIPS
    board: int = 0  # the filled cells, as bits

    @property
    def cells(self) -> int:
        """The number of filled cells."""
        return self.board.bit_count()

    @property
    def square(self) -> int:
        """The side of the largest square of filled cells (B-13)."""
        return largest_square(self.board)

    @property
    def half_points(self) -> int:
        """The score by section "3. Scoring", doubled, so that half points are whole numbers (B-12)."""
        return 2 * (self.cells + self.square**2) + self.chips

    @property
    def total(self) -> str:
        """The points for people, with one decimal (B-12)."""
        return f"{self.half_points // 2}.{5 * (self.half_points % 2)}"


# Phase 1: Betting Phase -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bet:
    """A reply to PHASE1: the wanted block and the chips bet on it."""

    block: str
    chips: int


def offer(chance: Chance) -> tuple[str, str]:
    """Draw block A from all blocks, then block B from the others."""
    a = chance.pick(NAMES)
    b = chance.pick([name for name in NAMES if name != a])
    return a, b


def acquire(bets: tuple[Bet, Bet], offered: tuple[str, str], coin: Seat) -> tuple[str, str]:
    """Return the block that each seat acquires; `coin` is the seat that a tie favours, even at 0 against 0 (B-04)."""
    first, second = bets
    if first.block != second.block:
        return first.block, second.block  # both succeed (B-02)
    won, left = first.block, offered[1] if first.block == offered[0] else offered[0]
    first_succeeds = coin == 0 if first.chips == second.chips else first.chips > second.chips
    return (won, left) if first_succeeds else (left, won)


def payment(bet: Bet, acquired: str) -> int:
    """Return the chips that a bet costs. A player who gets the named block pays the bet, contested or not (B-02);
    others pay nothing (B-03).
    """
    return bet.chips if acquired == bet.block else 0


# Phase 2: Placement Phase ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """A reply to PHASE2: the cells in the player's own order, which OPP repeats (B-06); no cells to PASS (B-05)."""

    cells: tuple[Cell, ...]

    @property
    def mask(self) -> int:
        """The cells as a set of bits."""
        return sum(map(bit, self.cells))

    def __str__(self) -> str:
        """Return the arguments of PLACE and OPP."""
        return " ".join(map(str, [len(self.cells), *chain.from_iterable(self.cells)]))


# Replies (Input) ------------------------------------------------------------------------------------------------


def read_bet(line: str, offered: tuple[str, str], player: Player) -> Bet:
    """Read the block and the bet of a line ``BET C x``."""
    block, amount = expect(line, "BET", 2)
    if block not in SIZES:
        raise malformed(f"no block is called {block[:20]!r}")  # B-14
    bet = Bet(block, number(amount))
    if block not in offered:
        raise illegal(f"block {block} is not on offer, {offered[0]} and {offered[1]} are")
    if bet.chips > MAX_BET:
        raise illegal(f"a bet of {bet.chips}, over {MAX_BET}")
    if bet.chips > player.chips:
        raise illegal(f"a bet of {bet.chips} with {player.chips} chips")  # B-10
    return bet


def read_place(line: str, block: str, player: Player) -> Place:
    """Read ``PLACE k x1 y1 ... xk yk``, or ``PLACE 0`` to PASS (B-05)."""
    command, *arguments = words(line)
    if command != "PLACE":
        raise malformed(f"expected PLACE, got {command[:20]!r}")
    if not arguments:
        raise malformed("PLACE without a number of cells")
    count, *coordinates = map(number, arguments)
    if len(coordinates) != 2 * count:
        raise malformed(f"PLACE {count} takes {2 * count} coordinates, got {len(coordinates)}")  # B-09
    if count not in (0, SIZES[block]):
        raise illegal(f"{count} cells for {block}, which has {SIZES[block]}")  # B-09
    place = Place(tuple(zip(coordinates[::2], coordinates[1::2], strict=True)))
    for x, y in place.cells:
        if not (1 <= x <= SIDE and 1 <= y <= SIDE):
            raise illegal(f"cell ({x}, {y}) is not on the board")
    if len(set(place.cells)) != count:
        raise illegal("a cell is named twice")  # B-06
    if count and place.mask not in PLACEMENTS[block]:
        raise illegal(f"the cells are not block {block}, however turned and flipped")  # B-06
    if place.mask & player.board:
        raise illegal("a cell is filled already")
    return place


# The match ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Betris:
    """The rules, as `engine.core.Game`."""

    name = "betris-large"
    title = "Betris (Large)"
    rules_version = 1
    seats = range(2, 3)
    commands = ("READY", "PHASE1", "PHASE2")

    bank_ms: Annotated[int, Parameter(1000, BANK_MS, "Milliseconds in a time bank")] = BANK_MS

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """See `engine.core.Game`."""
        assert seats in self.seats
        return _Match(chance, self.bank_ms).play()


class _Match(Banked):
    """One match: chance, the players, and the state of `Banked`."""

    def __init__(self, chance: Chance, bank_ms: int) -> None:
        super().__init__(bank_ms * NS_PER_MS)
        self.chance = chance
        self.players = (Player(), Player())

    def rounds(self) -> Generator[Step, Mapping[Seat, Reply], None]:
        """Play the rounds of section "2. Game Progression"."""
        for round_number in range(1, ROUNDS + 1):
            acquired = yield from self.betting(round_number)
            yield from self.placement(round_number, acquired)

    def betting(self, round_number: int) -> Generator[Step, Mapping[Seat, Reply], tuple[str, str]]:
        """Run phase 1, betting. The coin is always drawn, so that no bet changes the blocks of a seed (B-04)."""
        a, b = offered = offer(self.chance)
        coin: Seat = self.chance.below(2)
        self.events.append({"type": "offer", "round": round_number, "a": a, "b": b})
        prompts = f"PHASE1 {a} {b} {self.times(0)}", f"PHASE1 {a} {b} {self.times(1)}"
        bets = yield from self.ask_both(prompts, lambda seat, line: read_bet(line, offered, self.players[seat]))
        acquired = acquire(bets, offered, coin)
        paid = [payment(bet, block) for bet, block in zip(bets, acquired, strict=True)]
        for player, chips in zip(self.players, paid, strict=True):
            player.chips -= chips
        self.events.append(
            {
                "type": "bets",
                "round": round_number,
                "choices": [bet.block for bet in bets],
                "bets": [bet.chips for bet in bets],
                "acquired": list(acquired),
                "paid": paid,
                "coin": bets[0] == bets[1],
                "chips": [player.chips for player in self.players],
                "bank_ns": list(self.banks_ns),
            }
        )
        return acquired

    def placement(self, round_number: int, acquired: tuple[str, str]) -> Generator[Step, Mapping[Seat, Reply], None]:
        """Run phase 2, placement."""
        first, second = self.players
        prompts = (
            f"PHASE2 {acquired[0]} {first.chips} {second.chips} {self.times(0)}",
            f"PHASE2 {acquired[1]} {second.chips} {first.chips} {self.times(1)}",
        )
        places = yield from self.ask_both(
            prompts, lambda seat, line: read_place(line, acquired[seat], self.players[seat])
        )
        for seat, (player, place) in enumerate(zip(self.players, places, strict=True)):
            player.board |= place.mask
            self.notices.append(Message(1 - seat, f"OPP {place}"))
            self.events.append(
                {
                    "type": "place",
                    "round": round_number,
                    "seat": seat,
                    "block": acquired[seat],
                    "cells": [list(cell) for cell in place.cells],
                    "filled": player.cells,
                    "square": player.square,
                    "total": player.total,
                    "bank_ns": self.banks_ns[seat],
                }
            )

    def points(self) -> tuple[Points, Points]:
        """Return the points by section "3. Scoring". They are exact, so equal points are a draw (B-12)."""
        first, second = self.players
        return Fraction(first.half_points, 2), Fraction(second.half_points, 2)

    def final(self) -> Event:
        """Return the sheets of both players."""
        named = ("cells", "square", "chips", "total")
        sheet = {name: [getattr(player, name) for player in self.players] for name in named}
        return {"type": "final", **sheet, "bank_ns": list(self.banks_ns)}
