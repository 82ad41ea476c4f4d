"""Lists of matches and of how bots ended in them."""

from __future__ import annotations

from deadheat.api.schemas.base import Items, Paged
from deadheat.league.records.matches import EndingView, Match, MatchDetail


class Matches(Paged[Match]):
    """The newest first; `next` continues the list."""


class HeldMatches(Items[MatchDetail]):
    """Matches that wait for an organiser."""


class Endings(Items[EndingView]):
    """One for each of your bots in the match."""
