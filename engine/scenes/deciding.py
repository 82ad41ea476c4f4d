"""Finds the scene that decided a match. Viewers open with it, and a picture of the match shows it.

With two seats and a fault, it is the fault. Otherwise it follows from the figures by seat (`core.Director`) at the ends
of rounds, because within a round, seats that act one after the other seem to lead in turn. The deciding round is the
one after which the winner stayed ahead of everybody; its scene that contributed most to that lead is the one sought. If
the winner was ahead from the first round on, or never, it is the scene of the whole match that contributed most; in a
draw, the scene that changed the lead most.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from deadheat.engine.scenes.core import Figures, Scene


def deciding_scene(told: Sequence[Scene], figures: Sequence[Figures], ranks: Sequence[int]) -> int:
    """Return the number of the deciding scene, or of the last one if the figures show none. `figures`: of each scene;
    `ranks`: by seat.
    """
    faults = [number for number, scene in enumerate(told) if scene.fault is not None]
    if len(ranks) == 2 and faults:
        return faults[0]
    winners = [seat for seat, rank in enumerate(ranks) if rank == 1]
    drawn = len(winners) != 1
    leads = [lead(figure, 0 if drawn else winners[0]) for figure in figures]
    steps = [0.0, *(after - before for before, after in pairwise(leads))]
    if drawn:
        steps = [abs(step) for step in steps]
    where = range(len(told)) if drawn else _deciding_round(told, leads)
    best = max(where, key=lambda number: steps[number], default=len(told) - 1)
    return best if steps[best] > 0 else len(told) - 1


def lead(figures: Figures, seat: int) -> float:
    """Return how far a seat is ahead of the best other seat; 0 if a figure is unknown."""
    known = [figure for figure in figures if figure is not None]
    if len(known) < len(figures) or len(known) < 2:
        return 0.0
    return known[seat] - max(known[:seat] + known[seat + 1 :])


def _deciding_round(told: Sequence[Scene], leads: Sequence[float]) -> Sequence[int]:
    """Return the scenes of the round that gave the lead for good, or all scenes if there is no such round."""
    numbers = (number for number, scene in enumerate(told) if scene.round is not None)
    rounds = [list(found) for _, found in groupby(numbers, key=lambda number: told[number].round)]
    behind = [place for place, scenes in enumerate(rounds) if leads[scenes[-1]] <= 0]
    if not behind or behind[-1] == len(rounds) - 1:
        return range(len(told))
    return rounds[behind[-1] + 1]
