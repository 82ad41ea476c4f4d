"""The confirmation on a season's page at the desk: it says once, beside the form, what was just done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import Response

from deadheat.api.pages.forms import onward
from deadheat.engine.language import N_, _, gettext
from deadheat.league.states import SEASON_STEPS, SeasonState


@dataclass(frozen=True, slots=True)
class Done:
    """A sentence about what was done, and the part of the page that shows it; empty: the top."""

    place: str
    text: str


STATE = "state"
"""The word for a season's new state."""

DONE: Mapping[str, Done] = {
    "created": Done("", N_("The season was created. Nothing is played before it opens.")),
    "changed": Done("", N_("The season is now as its file declares.")),
    "saved": Done("settings", N_("The settings were saved.")),
    "invited": Done("invitations", N_("The author was invited.")),
    "uninvited": Done("invitations", N_("The author is no longer invited.")),
    "entered": Done("entries", N_("The bot was entered.")),
    "moved": Done("entries", N_("The bot is now in another division.")),
    "withdraw": Done("entries", N_("The bot was withdrawn.")),
    "disqualify": Done("entries", N_("The bot was disqualified.")),
    "reinstate": Done("entries", N_("The bot was reinstated.")),
}
"""The confirmations by the word in the page's address."""


def done(word: str, state: SeasonState) -> Done | None:
    """Return the confirmation for a season in that state, or None."""
    if word == STATE and state in SEASON_STEPS:
        return Done("", _("The season was %(becomes)s.", becomes=gettext(SEASON_STEPS[state].becomes)))
    return DONE.get(word)


def to_season(season_id: int, word: str, listing: str = "") -> Response:
    """Redirect to a season's page, which confirms what was done. `listing`: the query of its list of entries."""
    place = DONE[word].place if word in DONE else ""
    query = f"{listing}&done={word}" if listing else f"?done={word}"
    return onward(f"/desk/seasons/{season_id}{query}{place and f'#{place}'}")
