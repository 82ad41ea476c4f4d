"""The file with which an organiser begins a new season: complete, commented and valid."""

from __future__ import annotations

from datetime import datetime, timedelta

from deadheat.api.services import SITE

FILE = SITE / "season.toml"

DAY = timedelta(days=1)


def new_season(game: str, now: datetime) -> str:
    """Return the file with a timetable that begins next week."""
    noon = now.replace(hour=12, minute=0, second=0, microsecond=0, tzinfo=None)
    days = {"opens": 7, "first": 8, "last": 20, "freezes": 21, "finals": 22}
    dates = {name: (noon + count * DAY).isoformat() for name, count in days.items()}
    return FILE.read_text("utf-8").format(game=game, **dates)
