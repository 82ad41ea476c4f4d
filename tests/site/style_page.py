"""The page Style: every part of the site's pages in each of its states. Only tests serve it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from fastapi import APIRouter

from deadheat.api.deps import Shared
from deadheat.api.pages.pictures import charts
from deadheat.api.pages.render import everyones
from deadheat.api.pages.season import Cell
from deadheat.engine.figures import bars
from deadheat.engine.games import GAMES
from deadheat.league.service.rankings.history import HistoryPoint
from deadheat.league.states import SeasonState

router = APIRouter()

PAGE = Path(__file__).with_name("style.html")

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""The instant of everything on the page, so that the page never changes."""


@router.get("/style")
@everyones
def style(shared: Shared) -> str:
    """Show every part with invented figures."""
    rows = [
        {"rank": 1 + place, "bot_id": 1, "bot": bot, "elo": elo, "low": elo - room, "high": elo + room}
        for place, (bot, elo, room) in enumerate(
            (("expert", 1702.0, 40.0), ("counter", 1641.0, 55.0), ("greedy", 1387.0, 30.0))
        )
    ]
    cards = [
        {
            "season": {
                "id": 1,
                "game": game,
                "name": f"A season that is {state.value}",
                "state": state,
                "published_at": None,
                "entries": 12 * 10**place,
            },
            "leader": {"bot_id": 1, "bot": "expert", "elo": 1702.0, "others": 0} if place else None,
            "coming": ("opens", AT + timedelta(days=3)) if not place else None,
        }
        for place, (game, state) in enumerate(zip([*sorted(GAMES), "another"], SeasonState, strict=False))
    ]
    points = [
        HistoryPoint(AT + timedelta(hours=hour), 1 + hour // 30, 1500 + 4 * hour, 1400 + 5 * hour, 1620 + 3 * hour, 1)
        for hour in range(0, 50, 10)
    ]
    return shared.pages.env.from_string(PAGE.read_text("utf-8")).render(
        now=AT,
        cards=cards,
        rows=list(zip(rows, bars(rows), strict=True)),
        ways=[charts.trend(elos) for elos in ((1600, 1640, 1702), (1640, 1640, 1641), (1500, 1420, 1387))],
        pairs=[
            (row, [None if at == place else Cell(f"{heat}/10", heat) for at, heat in enumerate(heats)])
            for place, (row, heats) in enumerate(zip(rows, ((5, 8, 10), (2, 5, 7), (0, 3, 5)), strict=True))
        ],
        chart=charts.history(points),
    )
