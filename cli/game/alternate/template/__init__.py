"""My Game: prizes, and cards to take them with, in turn."""

from deadheat.engine.games.folder import GameFolder

from .rules import MyGame

GAME = GameFolder(MyGame(), __name__, seats_differ="Seat 1 leads first.")
