"""Mushroom once more, as naively as its text reads: a second implementation that shares no code with the first."""

from __future__ import annotations

import re

Cell = tuple[int, int]
NUMBER = re.compile(r"[0-9]{1,9}")


class Judge:
    """One match from the board on: who owns what, and what a line is."""

    def __init__(self, rows: list[str]) -> None:
        self.left: dict[Cell, int] = {(r, c): int(mark) for r, row in enumerate(rows) for c, mark in enumerate(row)}
        self.every = set(self.left)
        self.owner: dict[Cell, int] = {}
        self.turn = 0
        self.passes = 0

    def verdict(self, line: str) -> str:
        """Apply a line of the player whose turn it is: "pass", "take", "malformed" or "illegal"."""
        if not re.fullmatch(r"[ -~\t\r]*", line) or "\r" in line.strip(" \t\r"):
            return "malformed"
        words = [word for word in re.split(r"[ \t]+", line.strip(" \t\r")) if word]
        if words == ["-1"] * 4:
            self.passes += 1
            self.turn = 1 - self.turn
            return "pass"
        if len(words) != 4 or not all(NUMBER.fullmatch(word) for word in words):
            return "malformed"
        r1, c1, r2, c2 = (int(word) for word in words)
        if not {(r1, c1), (r2, c2)} <= self.every or r1 > r2 or c1 > c2:
            return "illegal"
        cells = {(r, c) for r, c in self.every if r1 <= r <= r2 and c1 <= c <= c2}
        standing = cells & set(self.left)
        rows, columns = {r for r, _ in standing}, {c for _, c in standing}
        if sum(self.left[cell] for cell in standing) != 10 or not ({r1, r2} <= rows and {c1, c2} <= columns):
            return "illegal"
        for cell in standing:
            del self.left[cell]
        self.owner |= dict.fromkeys(cells, self.turn)
        self.passes = 0
        self.turn = 1 - self.turn
        return "take"

    def moves(self) -> list[tuple[int, int, int, int]]:
        """Every rectangle that may be taken: grown from each mushroom's row and column until it holds too much."""
        found = []
        for r1 in range(10):
            for c1 in range(17):
                for r2 in range(r1, 10):
                    total = 0
                    for c2 in range(c1, 17):
                        total += sum(self.left.get((r, c2), 0) for r in range(r1, r2 + 1))
                        if total > 10:
                            break
                        if total == 10 and self.has_four_edges(r1, c1, r2, c2):
                            found.append((r1, c1, r2, c2))
        return sorted(found)

    def has_four_edges(self, r1: int, c1: int, r2: int, c2: int) -> bool:
        """Whether mushrooms stand on all four edges: on the bounding box of those inside."""
        standing = [(r, c) for r, c in self.left if r1 <= r <= r2 and c1 <= c <= c2]
        rows, columns = [r for r, _ in standing], [c for _, c in standing]
        return (min(rows), min(columns), max(rows), max(columns)) == (r1, c1, r2, c2)

    def cells(self, seat: int) -> int:
        """How many cells a seat owns."""
        return sum(owner == seat for owner in self.owner.values())
