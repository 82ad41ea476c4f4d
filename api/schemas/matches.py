"""Lists of matches and of how bots ended in them."""

from __future__ import annotations

from pydantic import BaseModel

from deadheat.league.records.matches import EndingView, Match, MatchDetail


class Matches(BaseModel):
    """The newest first; `next` continues the list."""

    items: list[Match]
    next: str | None


class HeldMatches(BaseModel):
    """Matches that wait for an organiser."""

    items: list[MatchDetail]


class Endings(BaseModel):
    """One for each of your bots in the match."""

    items: list[EndingView]
