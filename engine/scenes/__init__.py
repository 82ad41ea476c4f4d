"""Matches as viewers show them, told by the ``scenes`` of a game's folder (`engine.games.folder`). A game without them,
or a match under rules of another version, is told event by event.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice, pairwise
from typing import Any

from deadheat.engine.core import Game
from deadheat.engine.games.folder import Parts
from deadheat.engine.games.variants import rules_of
from deadheat.engine.replay import known_rules
from deadheat.engine.scenes.core import MAX_SCENES, Director, Figures, Moment, Row, Scene, moments, outcome
from deadheat.engine.transcript import Transcript
from deadheat.engine.unfinished import Unfinished


def deciding_scene(shown: Sequence[Scene], figures: Sequence[Figures], ranks: Sequence[int]) -> int:
    """Return the number of the scene that decided a match, or of the last one if the figures show none. Viewers open
    with it, and a picture of the match shows it. `figures`: of each scene; `ranks`: by seat.

    With two seats and a fault, it is the fault. Otherwise it follows from the figures at the ends of rounds, because
    within a round, seats that act one after the other seem to lead in turn. The deciding round is the one after which
    the winner stayed ahead of everybody; its scene that contributed most to that lead is the one sought. If the winner
    was ahead from the first round on, or never, it is the scene of the whole match that contributed most; in a draw,
    the scene that changed the lead most.
    """
    faults = [number for number, scene in enumerate(shown) if scene.fault is not None]
    if len(ranks) == 2 and faults:
        return faults[0]
    winners = [seat for seat, rank in enumerate(ranks) if rank == 1]
    drawn = len(winners) != 1
    leads = [_lead(figure, 0 if drawn else winners[0]) for figure in figures]
    steps = [0.0, *(after - before for before, after in pairwise(leads))]
    if drawn:
        steps = [abs(step) for step in steps]
    where = range(len(shown)) if drawn else _deciding_round(shown, leads)
    best = max(where, key=lambda number: steps[number], default=len(shown) - 1)
    return best if steps[best] > 0 else len(shown) - 1


def _lead(figures: Figures, seat: int) -> float:
    """Return how far a seat is ahead of the best other seat; 0 if a figure is unknown."""
    known = [figure for figure in figures if figure is not None]
    if len(known) < len(figures) or len(known) < 2:
        return 0.0
    return known[seat] - max(known[:seat] + known[seat + 1 :])


def _deciding_round(shown: Sequence[Scene], leads: Sequence[float]) -> Sequence[int]:
    """Return the scenes of the round that gave the lead for good, or all scenes if there is no such round."""
    numbers = (number for number, scene in enumerate(shown) if scene.round is not None)
    rounds = [list(members) for _, members in groupby(numbers, key=lambda number: shown[number].round)]
    behind = [place for place, scenes in enumerate(rounds) if leads[scenes[-1]] <= 0]
    if not behind or behind[-1] == len(rounds) - 1:
        return range(len(shown))
    return rounds[behind[-1] + 1]


__all__ = ["Scene", "comeback", "document", "document_so_far", "has_lead", "scenes", "scenes_so_far", "sheet"]

DIRECTORS: Mapping[str, Director] = Parts("scenes", "DIRECTOR")


def scenes(transcript: Transcript, names: Sequence[str]) -> list[Scene]:
    """Return a verified transcript as scenes; `names` by seat. At most `MAX_SCENES`, and one for the end."""
    shown = list(islice(_director_of(transcript).scenes(moments(transcript), names), MAX_SCENES))
    last = shown[-1].state if shown else {}
    shown.append(Scene(outcome(transcript, names), last, None, len(transcript.exchanges) - 1))
    return shown


def sheet(transcript: Transcript) -> list[Row]:
    """Return the sources of the points of a verified transcript, row by row; nothing if its game has no sheet."""
    events = list(transcript.events())
    return list(_director_of(transcript).sheet(events)) if events else []


def has_lead(game: str) -> bool:
    """Return whether the chart of a match between two shows a lead in points."""
    return _director(game).figure == "points"


def comeback(transcript: Transcript) -> float | None:
    """Return the most points by which the winner was behind at the end of a round, as the chart shows it; 0: never.
    None: nobody won, a bot failed, there are more than two seats, or the chart shows no lead.
    """
    result = transcript.result
    if sorted(result.ranks) != [1, 2] or result.faults or not has_lead(transcript.game) or not known_rules(transcript):
        return None
    winner, figures = result.ranks.index(1), _director(transcript.game).figures
    ends = {scene.round: scene.state for scene in scenes(transcript, ("", "")) if scene.round is not None}
    return max([0.0, *(-_lead(figures(state), winner) for state in ends.values())])


def document(transcript: Transcript, names: Sequence[str]) -> dict[str, Any]:
    """Return the JSON document for a viewer: ``game``, ``names``, ``board`` (the constant part), ``figure`` (what the
    chart draws, see `core.Director`), ``scenes``, each with its ``figures`` by seat (`_figures`), and ``opens``, the
    deciding one.

    ``game`` is empty if no picture can draw the scenes, because the match was played by other rules than today's.
    """
    game = rules_of(transcript) if known_rules(transcript) else None
    shown, ranks = scenes(transcript, names), transcript.result.ranks
    made = _document(game, names, shown)
    opens = deciding_scene(shown, [scene["figures"] for scene in made["scenes"]], ranks)
    return made | {"ranks": list(ranks), "opens": opens}


def scenes_so_far(game: Game, match: Unfinished, names: Sequence[str]) -> list[Scene]:
    """Return a match in progress, or just over, as scenes; `seen_by` has removed its hidden events."""
    return list(islice(_director(game.name).scenes(moments(match), names), MAX_SCENES))


def document_so_far(game: Game, match: Unfinished, names: Sequence[str]) -> dict[str, Any]:
    """Return the `document` of an unfinished match, which has no ranks yet and opens with its newest scene."""
    shown = scenes_so_far(game, match, names)
    return _document(game, names, shown) | {"ranks": None, "opens": max(0, len(shown) - 1)}


def _document(game: Game | None, names: Sequence[str], shown: Sequence[Scene]) -> dict[str, Any]:
    name = "" if game is None else game.name
    director = _director(name)
    return {
        "game": name,
        "names": list(names),
        "board": director.board(game),
        "figure": director.figure,
        "scenes": [
            scene.as_json() | {"figures": figures}
            for scene, figures in zip(shown, _figures(director, shown), strict=True)
        ],
    }


def _figures(director: Director, shown: Sequence[Scene]) -> Iterator[Figures]:
    """Yield the figures of each scene. Seats that answer at once change their figures together, with the last scene of
    the exchange that changes any.
    """
    before: Figures = []
    for _number, group in groupby(shown, key=lambda scene: scene.exchange):
        after = [list(director.figures(scene.state)) if scene.state else [] for scene in group]
        end = after[-1]
        settled = next(number for number in range(len(after)) if all(rest == end for rest in after[number:]))
        yield from [before or after[0]] * settled + [end] * (len(after) - settled)
        before = end


def _director_of(transcript: Transcript) -> Director:
    return _director(transcript.game if known_rules(transcript) else "")


def _director(game: str) -> Director:
    return DIRECTORS.get(game, _PLAIN)


def _plainly(happened: Iterator[Moment], _: Sequence[str]) -> Iterator[Scene]:
    """Tell a match of a game without scenes of its own, in the words of its events."""
    number: int | None = None
    for moment in happened:
        rest = {key: value for key, value in moment.event.items() if key not in {"type", "round"}}
        words = ", ".join(f"{key} {value}" for key, value in rest.items())
        place = moment.event.get("round", number)
        number = place if isinstance(place, int) else number
        yield Scene(f"{moment.event.get('type')}: {words}", dict(moment.event), number, moment.exchange, moment.answers)


_PLAIN = Director(_plainly, figure="", figures=lambda _: ())
