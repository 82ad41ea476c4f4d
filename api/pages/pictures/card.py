"""The picture of a match that other sites show beside a link to it (Open Graph): its players and its result.

It is drawn once for a match and kept as bytes like the match's scenes. Names are ASCII (`api.schemas.base`), so
Pillow's own typeface has every letter. The colours are those of the site's style sheet.
"""

from __future__ import annotations

import re
from functools import cache
from io import BytesIO

from fastapi import APIRouter, Request, Response
from PIL import Image, ImageDraw, ImageFont

from deadheat.api.deps import Id, Shared
from deadheat.api.edge.caching import answer
from deadheat.api.pages.match import ended
from deadheat.api.pages.render import game_title
from deadheat.api.services import SITE, Body
from deadheat.engine.figures import points
from deadheat.engine.language import ENGLISH, _, reading
from deadheat.league.errors import WrongState
from deadheat.league.records.matches import Match, SeatView
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import MatchState

router = APIRouter()

VERSION = 4
"""The version of the drawing (see `api.routes.replays.VERSION`)."""

WIDTH, HEIGHT = 1200, 630
"""The size requested by services that show such pictures."""

MARGIN = 60
KEPT = "public, max-age=3600"
COLOURS = 64
"""The size of the palette. Few colours are used, and the file is a third of one in full colour."""


@router.get("/matches/{match_id}/card.png")
def card(shared: Shared, request: Request, match_id: Id) -> Response:
    """Return the picture of a finished match that everybody may see."""
    match = shared.read(match_detail, match_id)
    if match.state is not MatchState.DONE:
        raise WrongState.of_match(match.state, _("only matches that were played to the end have a picture"))
    if match.withheld:
        raise WrongState.withheld()
    key, version = ("card", match_id), (match.transcript_sha256, VERSION)
    body = shared.bodies.current(key, version)
    if body is None:
        shared.rates.picture(request)
        with reading(ENGLISH):  # one picture for all, in letters that the typeface has
            drawing = draw(match)
        etag = f'"card-{VERSION}-{match.transcript_sha256}"'
        body = shared.bodies.keep(key, Body(version, etag, drawing, "image/png"))
    return answer(request, body, KEPT)


def draw(match: Match) -> bytes:
    image = Image.new("RGB", (WIDTH, HEIGHT), colour("ground"))
    pen = ImageDraw.Draw(image)
    pen.text((MARGIN, 44), game_title(match.game), colour("ink"), font(44))
    pen.text((WIDTH - MARGIN, 50), f"Deadheat, match {match.id}", colour("soft"), font(30), anchor="ra")
    seats = sorted(match.seats, key=lambda seat: (seat.rank or 0, seat.seat))
    room = 360 / max(len(seats), 2)
    for row, seat in enumerate(seats):
        _row(pen, seat, 120 + row * room, room)
    pen.text((MARGIN, 530), ended(match), colour("ink"), font(40))
    file = BytesIO()
    # The usual method and the smallest file would take three times as long, to save an eighth of the bytes.
    image.quantize(COLOURS, method=Image.Quantize.FASTOCTREE).save(file, "PNG")
    return file.getvalue()


def _row(pen: ImageDraw.ImageDraw, seat: SeatView, top: float, room: float) -> None:
    size = min(72.0, room * 0.6)
    middle = top + room / 2
    pen.rectangle((MARGIN, top + 4, MARGIN + 16, top + room - 4), colour(f"seat{seat.seat}"))
    ink = colour("ink" if seat.rank == 1 else "soft")
    pen.text((MARGIN + 40, middle), seat.bot, ink, font(size), anchor="lm")
    told = seat.fault.fault.value if seat.fault else points(seat.points) if seat.points is not None else f"{seat.rank}."
    pen.text((WIDTH - MARGIN, middle), told, colour("bad") if seat.fault else ink, font(size), anchor="rm")


@cache
def font(size: float) -> ImageFont.FreeTypeFont:
    found = ImageFont.load_default(size)
    assert isinstance(found, ImageFont.FreeTypeFont), "Pillow was built without FreeType"
    return found


@cache
def colour(name: str) -> str:
    """Return the light variant of a style sheet's colour, which comes first in the sheet."""
    sheet = (SITE / "static" / "site.css").read_text(encoding="utf-8")
    found = re.search(rf"--{name}: (#[0-9a-f]{{6}})", sheet)
    assert found is not None, name
    return found[1]
