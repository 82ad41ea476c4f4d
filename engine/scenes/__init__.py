"""Matches as viewers show them: one module a game, one line a game here. A game without one,
or a match under rules of another version, is told event by event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from deadheat.engine.core import Game
from deadheat.engine.replay import known_rules
from deadheat.engine.scenes import betris_large, liars_dice, yacht_auction
from deadheat.engine.scenes.core import MAX_SCENES, Moment, Scene, moments, outcome
from deadheat.engine.transcript import Transcript
from deadheat.engine.unfinished import Unfinished

__all__ = ["Scene", "document", "document_so_far", "scenes", "scenes_so_far"]

Director = Callable[[Iterator[Moment], Sequence[str]], Iterator[Scene]]
"""From a verified transcript's events and the names by seat to a scene for each event that a viewer should see."""

DIRECTORS: Mapping[str, Director] = {
    "betris-large": betris_large.scenes,
    "liars-dice": liars_dice.scenes,
    "yacht-auction": yacht_auction.scenes,
}


def scenes(transcript: Transcript, names: Sequence[str]) -> list[Scene]:
    """A verified transcript as scenes; `names` by seat. At most `MAX_SCENES`, and one for the end."""
    director = DIRECTORS.get(transcript.game, _plainly) if known_rules(transcript) else _plainly
    found: list[Scene] = []
    for scene in director(moments(transcript), names):
        if len(found) == MAX_SCENES:
            break
        found.append(scene)
    last = found[-1].state if found else {}
    found.append(Scene(outcome(transcript, names), last, None, len(transcript.exchanges) - 1))
    return found


def document(transcript: Transcript, names: Sequence[str]) -> dict[str, Any]:
    """The JSON document for a viewer: ``game``, ``names``, ``board`` (the constant part), ``scenes``.

    ``game`` is empty where no picture could draw the scenes: the match was played by other rules than today's.
    """
    game = transcript.game if known_rules(transcript) else ""
    return {
        "game": game,
        "names": list(names),
        "board": _board(game),
        "ranks": list(transcript.result.ranks),
        "scenes": [scene.as_json() for scene in scenes(transcript, names)],
    }


def scenes_so_far(game: Game, match: Unfinished, names: Sequence[str]) -> list[Scene]:
    """A match that is still being played, or just over, as scenes; what is hidden was left out before (`seen_by`)."""
    told = DIRECTORS.get(game.name, _plainly)(moments(match), names)
    return list(islice(told, MAX_SCENES))


def document_so_far(game: Game, match: Unfinished, names: Sequence[str]) -> dict[str, Any]:
    """The document of an unfinished match, which has no ranks yet; see `document`."""
    found = scenes_so_far(game, match, names)
    return {
        "game": game.name,
        "names": list(names),
        "board": _board(game.name),
        "ranks": None,
        "scenes": [scene.as_json() for scene in found],
    }


def _board(game: str) -> dict[str, Any]:
    return betris_large.shapes() if game == "betris-large" else {}


def _plainly(happened: Iterator[Moment], _: Sequence[str]) -> Iterator[Scene]:
    """Any game: each event's own words."""
    number: int | None = None
    for moment in happened:
        rest = {key: value for key, value in moment.event.items() if key not in {"type", "round"}}
        said = ", ".join(f"{key} {value}" for key, value in rest.items())
        place = moment.event.get("round", number)
        number = place if isinstance(place, int) else number
        yield Scene(f"{moment.event.get('type')}: {said}", dict(moment.event), number, moment.exchange, moment.answers)
