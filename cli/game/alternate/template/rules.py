"""My Game: two players hold cards 1 to 9 and take prizes 1 to 9 with them. One leads a card, the other sees it and
plays one, too; the higher card takes the prize, and with equal cards nobody does. They take turns to lead. The larger
sum of prizes wins. All answers of a player share a time bank.

Replace this by your own game; docs/how-to/add-a-game.md explains every line.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Annotated

from deadheat.engine.chance import Chance
from deadheat.engine.core import NS_PER_MS, Event, Message, Reply, Result, Seat, Step
from deadheat.engine.games.banked import Banked
from deadheat.engine.games.duel import SEATS
from deadheat.engine.games.parsing import expect, illegal, number
from deadheat.engine.games.variants import Parameter

HIGHEST = 9
BANK_MS = 10_000


@dataclass(frozen=True)
class MyGame:
    """The rules, as `engine.core.Game`."""

    name = "my-game"
    title = "My Game"
    rules_version = 1
    seats = range(2, 3)
    commands = ("READY", "PLAY")

    bank_ms: Annotated[int, Parameter(1000, BANK_MS, "Milliseconds in a time bank")] = BANK_MS

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """See `engine.core.Game`."""
        assert seats in self.seats
        return _Match(chance, self).play()


class _Match(Banked):
    """One match. It holds all state, because one game object plays many matches at the same time."""

    def __init__(self, chance: Chance, rules: MyGame) -> None:
        super().__init__(rules.bank_ms * NS_PER_MS)
        self.chance = chance
        self.hands = [set(range(1, HIGHEST + 1)) for _ in SEATS]
        self.sums = [0, 0]

    def rounds(self) -> Generator[Step, Mapping[Seat, Reply], None]:
        """Play the rounds. Notices and events wait for the next step and are sent before its prompts."""
        prizes = list(range(1, HIGHEST + 1))
        for round_number in range(1, HIGHEST + 1):
            prize = prizes.pop(self.chance.below(len(prizes)))
            self.events.append({"type": "prize", "round": round_number, "prize": prize})
            cards = [0, 0]
            for seat in SEATS if round_number % 2 else reversed(SEATS):
                card, _ = yield from self.ask_one(seat, f"PLAY {prize} {self.times(seat)}", self.read_card)
                cards[seat] = card
                self.hands[seat].remove(card)
                self.notices.append(Message(1 - seat, f"SAW {card}"))
                self.events.append({"type": "card", "round": round_number, "seat": seat, "card": card})
            for seat in SEATS:
                self.sums[seat] += prize if cards[seat] > cards[1 - seat] else 0
            sums = list(self.sums)
            self.events.append({"type": "taken", "round": round_number, "prize": prize, "cards": cards, "sums": sums})

    def read_card(self, seat: Seat, line: str) -> int:
        """Read ``CARD n``. A line that is not in the grammar is malformed, one that the rules forbid illegal."""
        card = number(expect(line, "CARD", 1)[0])
        if card not in self.hands[seat]:
            raise illegal(f"there is no {card} in the hand")
        return card

    def points(self) -> tuple[int, int]:
        """Return the sums of prizes."""
        return self.sums[0], self.sums[1]

    def final(self) -> Event:
        """Return what viewers are shown last."""
        return {"type": "final", "sums": list(self.sums), "bank_ns": list(self.banks_ns)}
