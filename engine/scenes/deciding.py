"""Where a match was decided: the scene that viewers open with, and what a picture of the match shows.

With two seats and a fault, it is the fault. Else it is looked for in the figures by seat (`core.Director`), at the ends
of rounds, because inside a round seats that act one after the other seem to lead in turn: in the round from whose end
on the winner was ahead of everybody to the last, the scene that did most for that lead. Whoever was ahead from the
first round on, or won without being ahead, won by the scene that did most for it in the whole match; a draw was decided
by the scene that changed the lead most.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from deadheat.engine.scenes.core import Figures, Scene


def deciding_scene(told: Sequence[Scene], figures: Sequence[Figures], ranks: Sequence[int]) -> int:
    """Return its number, the last one's where nothing tells. `figures`: of each scene; `ranks`: by seat."""
    faults = [number for number, scene in enumerate(told) if scene.fault is not None]
    if len(ranks) == 2 and faults:
        return faults[0]
    winners = [seat for seat, rank in enumerate(ranks) if rank == 1]
    drawn = len(winners) != 1
    leads = [_lead(figure, 0 if drawn else winners[0]) for figure in figures]
    steps = [0.0, *(after - before for before, after in pairwise(leads))]
    if drawn:
        steps = [abs(step) for step in steps]
    where = range(len(told)) if drawn else _deciding_round(told, leads)
    best = max(where, key=lambda number: steps[number], default=len(told) - 1)
    return best if steps[best] > 0 else len(told) - 1


def _lead(figures: Figures, seat: int) -> float:
    """Return how far a seat is ahead of the best other seat; 0 if a figure is unknown."""
    known = [figure for figure in figures if figure is not None]
    if len(known) < len(figures) or len(known) < 2:
        return 0.0
    return known[seat] - max(known[:seat] + known[seat + 1 :])


def _deciding_round(told: Sequence[Scene], leads: Sequence[float]) -> Sequence[int]:
    """Return the scenes of the round that gave the lead for good, or all scenes if there is no such round."""
    rounds: list[list[int]] = []
    for number, scene in enumerate(told):
        if scene.round is None:
            continue
        if not rounds or told[rounds[-1][0]].round != scene.round:
            rounds.append([])
        rounds[-1].append(number)
    behind = [place for place, scenes in enumerate(rounds) if leads[scenes[-1]] <= 0]
    if not behind or behind[-1] == len(rounds) - 1:
        return range(len(told))
    return rounds[behind[-1] + 1]
