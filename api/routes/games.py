"""The games that can be played."""

from __future__ import annotations

from fastapi import APIRouter

from deadheat.api.schemas import environment as schemas
from deadheat.engine.games import GAMES

router = APIRouter(prefix="/v1/games", tags=["games"])


@router.get("")
def list_games() -> schemas.Games:
    """Every game of this server."""
    return schemas.Games(
        items=[
            schemas.Game(
                name=game.name,
                rules_version=game.rules_version,
                seats_min=min(game.seats),
                seats_max=max(game.seats),
            )
            for game in GAMES.values()
        ]
    )
