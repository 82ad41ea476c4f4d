"""The view of a match in progress: a sentence on the score, and its scenes as far as spectators may see them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from deadheat.api.replays import marked
from deadheat.api.services import Body, Services
from deadheat.engine.games.variants import rules
from deadheat.engine.language import _, gettext, language, ngettext
from deadheat.engine.scenes import Scene, document_so_far, scenes_so_far
from deadheat.league.errors import WITHHELD
from deadheat.league.service.people.person import Person
from deadheat.league.service.series import live
from deadheat.league.service.series.live import Watched
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import JobState, MatchState

VERSION = 3
"""The version of these views (see `api.replays.VERSION`)."""


@dataclass(frozen=True, slots=True)
class Telling:
    """The text for pages without scripts."""

    told: str
    scenes: list[Scene]


def telling(watched: Watched, by_seat: list[str]) -> Telling:
    found = [] if watched.match is None else scenes_so_far(rules(watched.game, watched.variant), watched.match, by_seat)
    return Telling(told(watched), found)


def told(watched: Watched) -> str:
    """Describe the state of the match for people."""
    if watched.state is not MatchState.SCHEDULED:
        return _("It is over.")
    if watched.series is JobState.QUEUED:
        return _("Not played yet: its series is waiting for a worker.")
    if watched.series is not JobState.RUNNING:
        return _("It is over.")
    if watched.withheld:
        return _("Its series is being played now. %(withheld)s", withheld=gettext(WITHHELD))
    if watched.match is None:
        return _(
            "Its series is being played now. Matches that take longer than a second are shown here; results come when"
            " the whole series is done."
        )
    if watched.match.result is not None:
        return _("Played to its end. It counts when the whole series is done.")
    said = _("Being played now; you see it a second or two later.")
    if not watched.voids:
        return said
    again = ngettext(
        "The service failed once, which costs no bot anything. The match is replayed with other dice.",
        "The service failed %(count)s times, which costs no bot anything. The match is replayed with other dice.",
        watched.voids,
    )
    return f"{said} {again % {'count': watched.voids}}"


def live_key(match_id: int) -> object:
    """Return the key under which `live_body` is kept."""
    return ("live", language(), match_id)


def live_body(shared: Services, match_id: int, viewer: Person | None) -> tuple[Body, bool]:
    """Return the view as JSON, made at most once a second however many watch, and whether it is private and therefore
    not kept. Raises NotFound.
    """
    key = live_key(match_id)
    if (body := shared.bodies.fresh(key)) is not None:
        return body, False
    with shared.db.reading() as session:
        watched = live.watch(session, match_id, viewer)
        if (body := shared.bodies.current(key, watched.version)) is not None:
            return body, False
        by_seat = match_detail(session, match_id, viewer).names
    found: dict[str, Any] = {
        "told": told(watched),
        "ends": watched.state is not MatchState.SCHEDULED,
        "voids": watched.voids,
        "match": None
        if watched.match is None
        else document_so_far(rules(watched.game, watched.variant), watched.match, by_seat),
    }
    content = json.dumps(found, separators=(",", ":")).encode()
    body = Body(watched.version, f'"live-{VERSION}{marked()}-{watched.version}"', content, "application/json")
    return (body, True) if watched.private else (shared.bodies.keep(key, body), False)
