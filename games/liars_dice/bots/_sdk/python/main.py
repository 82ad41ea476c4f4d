"""A Liar's Dice bot: change its answer. liars_dice.py keeps what was seen; the rules are in protocol.md."""

from liars_dice import CHALLENGE, Bot


class MyBot(Bot):
    def on_turn(self):
        """Make the bid that is the most likely to be true, and challenge one that is not."""
        if self.current and self.current.quantity > self.likely(self.current.face):
            return CHALLENGE
        return max(self.higher, key=lambda bid: self.likely(bid.face) - bid.quantity, default=CHALLENGE)


if __name__ == "__main__":
    MyBot().run()
