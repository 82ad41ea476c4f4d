"""The games that can be played."""

from __future__ import annotations

from fastapi import APIRouter

from deadheat.api.schemas import environment as schemas
from deadheat.api.schemas.base import Items
from deadheat.engine.games import GAMES
from deadheat.engine.games.variants import parameters

router = APIRouter(prefix="/v1/games", tags=["games"])


@router.get("")
def list_games() -> Items[schemas.Game]:
    """List the games of this server."""
    return Items[schemas.Game](
        items=[
            schemas.Game(
                name=game.name,
                rules_version=game.rules_version,
                seats_min=min(game.seats),
                seats_max=max(game.seats),
                parameters=[
                    schemas.Parameter(
                        name=each.name,
                        meaning=each.parameter.meaning,
                        usual=each.usual,
                        least=each.parameter.least,
                        most=each.parameter.most,
                    )
                    for each in parameters(game)
                ],
            )
            for game in GAMES.values()
        ]
    )
