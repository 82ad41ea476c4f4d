"""The inbox: notices of events that concern its owner; and the visitor's bots with their places and unread notices,
which a script shows on the home page.
"""

from __future__ import annotations

from fastapi import APIRouter, Response

from deadheat.api.deps import Number, Shared
from deadheat.api.pages.forms import Submitted, Visiting, checked, onward, private
from deadheat.api.pages.people import courses
from deadheat.api.pages.pictures.charts import trend
from deadheat.api.pages.render import ROWS, first_of
from deadheat.api.routes.people import ReadRequest
from deadheat.league.service.bots.bots import bots_of
from deadheat.league.service.people import notices
from deadheat.league.service.rankings.history import trends

router = APIRouter()

BOTS = 12
NOTICES = 3


@router.get("/inbox")
def inbox(shared: Shared, visit: Visiting, before: Number = None) -> Response:
    found = shared.read(notices.inbox, visit.person, before=before, limit=ROWS + 1)
    shown, older = first_of(found, ROWS)
    return private(shared, "inbox.html", visit, None, notices=shown, older=older)


@router.post("/inbox/read")
def mark_read(shared: Shared, posted: Submitted) -> Response:
    up_to = checked(ReadRequest, posted.fields).up_to
    shared.change(notices.mark_read, posted.visit.person, up_to)
    return onward("/inbox")


@router.get("/mine")
def mine(shared: Shared, visit: Visiting) -> Response:
    """List the visitor's bots, each in its newest season, and the newest unread notices."""
    with shared.db.reading() as session:
        bots = [bot for bot in bots_of(session, visit.person) if bot.retired_at is None][:BOTS]
        unread = notices.inbox(session, visit.person, unread=True, limit=NOTICES)
        parts = courses(shared, session, bots)
        lines = []
        for bot in bots:
            part, row, ranked = next(iter(parts[bot.id]), (None, None, 0))
            way = None if part is None else trend(trends(session, part.season_id, [bot.id]).get(bot.id, []))
            lines.append((bot, part, row, ranked, way))
    return private(shared, "mine.html", visit, None, lines=lines, notices=unread)
