"""A Betris bot: change its two answers. betris_large.py keeps the state; the rules are in protocol.md."""

from betris_large import Bot, touching


class MyBot(Bot):
    def on_phase1(self, a, b):
        """Bet a chip on the block with more ways to be placed."""
        wanted = max(a, b, key=lambda block: len(self.me.fitting(block)))
        return wanted, min(1, self.me.chips)

    def on_phase2(self, block):
        """Leave few holes."""
        return max(self.me.fitting(block), key=lambda cells: touching(cells, self.me.filled), default=())


if __name__ == "__main__":
    MyBot().run()
