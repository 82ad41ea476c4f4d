"""My Game: two players hold cards 1 to 9 and take prizes 1 to 9 with them. Both play a card at once; the higher card
takes the prize, and with equal cards nobody does. The larger sum of prizes wins.

Replace this by your own game; docs/how-to/add-a-game.md explains every line.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping

from deadheat.engine.chance import Chance
from deadheat.engine.core import NS_PER_MS, Event, Message, Reply, Result, Seat, Step
from deadheat.engine.games.duel import SEATS, Duel
from deadheat.engine.games.parsing import expect, illegal, number

HIGHEST = 9
LIMIT_NS = 500 * NS_PER_MS


class MyGame:
    """The rules, as `engine.core.Game`."""

    name = "my-game"
    title = "My Game"
    rules_version = 1
    seats = range(2, 3)
    commands = ("READY", "PLAY")

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """See `engine.core.Game`."""
        assert seats in self.seats
        return _Match(chance).play()


class _Match(Duel):
    """One match. It holds all state, because one game object plays many matches at the same time."""

    def __init__(self, chance: Chance) -> None:
        super().__init__()
        self.chance = chance
        self.hands = [set(range(1, HIGHEST + 1)) for _ in SEATS]
        self.sums = [0, 0]

    def rounds(self) -> Generator[Step, Mapping[Seat, Reply], None]:
        """Play the rounds. Notices and events wait for the next step and are sent before its prompts."""
        prizes = list(range(1, HIGHEST + 1))
        for round_number in range(1, HIGHEST + 1):
            prize = prizes.pop(self.chance.below(len(prizes)))
            self.events.append({"type": "prize", "round": round_number, "prize": prize})
            replies = yield self.tell([Message(seat, f"PLAY {prize}", LIMIT_NS) for seat in SEATS])
            cards = self.answers("PLAY", replies, self.read_card)
            for seat, card in enumerate(cards):
                other = cards[1 - seat]
                self.hands[seat].remove(card)
                self.sums[seat] += prize if card > other else 0
                self.notices.append(Message(seat, f"SAW {other}"))
            sums = list(self.sums)
            self.events.append({"type": "cards", "round": round_number, "prize": prize, "cards": cards, "sums": sums})

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
        return {"type": "final", "sums": list(self.sums)}
