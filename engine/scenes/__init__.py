"""Matches as viewers show them: one module a game, one line a game here. A game without one,
or a match under rules of another version, is told event by event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from engine.games import GAMES
from engine.scenes import betris_large, liars_dice, yacht_auction
from engine.scenes.core import MAX_SCENES, Moment, Scene, moments, outcome
from engine.transcript import Transcript

__all__ = ["Scene", "document", "scenes"]

Director = Callable[[Iterator[Moment], Sequence[str]], Iterator[Scene]]
"""From a verified transcript's events and the names by seat to a scene for each event that a viewer should see."""

DIRECTORS: Mapping[str, Director] = {
    "betris-large": betris_large.scenes,
    "liars-dice": liars_dice.scenes,
    "yacht-auction": yacht_auction.scenes,
}


def scenes(transcript: Transcript, names: Sequence[str]) -> list[Scene]:
    """A verified transcript as scenes; `names` by seat. At most `MAX_SCENES`, and one for the end."""
    game = GAMES.get(transcript.game)
    known = game is not None and game.rules_version == transcript.rules_version
    director = DIRECTORS.get(transcript.game, _plainly) if known else _plainly
    found: list[Scene] = []
    for scene in director(moments(transcript), names):
        if len(found) == MAX_SCENES:
            break
        found.append(scene)
    last = found[-1].state if found else {}
    found.append(Scene(outcome(transcript, names), last, None, len(transcript.exchanges) - 1))
    return found


def document(transcript: Transcript, names: Sequence[str]) -> dict[str, Any]:
    """Everything a viewer needs, as JSON: ``game``, ``names``, ``board`` (what does not change), ``scenes``."""
    return {
        "game": transcript.game,
        "names": list(names),
        "board": betris_large.shapes() if transcript.game == "betris-large" else {},
        "ranks": list(transcript.result.ranks),
        "scenes": [scene.as_json() for scene in scenes(transcript, names)],
    }


def _plainly(happened: Iterator[Moment], _: Sequence[str]) -> Iterator[Scene]:
    """Any game: each event's own words."""
    number: int | None = None
    for moment in happened:
        rest = {key: value for key, value in moment.event.items() if key not in {"type", "round"}}
        said = ", ".join(f"{key} {value}" for key, value in rest.items())
        place = moment.event.get("round", number)
        number = place if isinstance(place, int) else number
        yield Scene(f"{moment.event.get('type')}: {said}", dict(moment.event), number, moment.exchange, moment.answers)
