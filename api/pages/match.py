"""A match: who won and why, the replay, how to verify everything, and the picture that other sites show
beside a link to it (Open Graph); and all matches of a season or a bot, page by page.

The picture is drawn once and kept like the scenes. Names are ASCII (`api.schemas`), so Pillow's own
typeface has every letter. The colours are those of the site's style sheet.
"""

import json
import math
import re
import time
from functools import cache
from io import BytesIO
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from markupsafe import Markup
from PIL import Image, ImageDraw, ImageFont
from sqlmodel import Session

from deadheat.api.deps import Id, Number, Shared, Viewer
from deadheat.api.edge.caching import NOWHERE, answer
from deadheat.api.edge.middleware import POLICY
from deadheat.api.pages.render import ROWS, everyones, first_of, game_title, render
from deadheat.api.routes.replays import VERSION, told, transcript_of
from deadheat.api.services import SITE, Body
from deadheat.engine.figures import points
from deadheat.engine.games import variants
from deadheat.engine.language import ENGLISH, N_, _, gettext, language, reading
from deadheat.engine.scenes import has_lead, scenes, scenes_so_far
from deadheat.league.errors import WITHHELD, WrongState
from deadheat.league.records.matches import Match, SeatView
from deadheat.league.records.rulings import AuditRecord
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.service.series import live
from deadheat.league.service.views.matches import match_detail, matches, neighbours
from deadheat.league.service.views.overview import highlights, margin
from deadheat.league.states import Asked, MatchState, TranscriptsFrom

router = APIRouter()

MAX_MOVES = 3000
"""The most rows in the page's own table; the viewer and the transcript have all moves."""

MAX_RULINGS = 100
"""The most decisions about the match that are shown, the newest; the audit log has all."""


@router.get("/matches/{match_id}")
def match(shared: Shared, request: Request, viewer: Viewer, match_id: Id) -> Response:
    with shared.db.reading() as session:
        detail = match_detail(session, match_id, viewer)
        rulings = audit_log(session, subject=f"match/{match_id}", limit=MAX_RULINGS)
        values: dict[str, Any] = {
            "season": season_info(session, detail.season_id),
            "neighbours": neighbours(session, detail),
            "rulings": [_ruling(entry) for entry in rulings],
            "max_rulings": MAX_RULINGS,
            "withheld": gettext(WITHHELD),
            "site": shared.settings.site_url or str(request.base_url).rstrip("/"),
            "embeds": bool(shared.settings.embed_origins),
        }
    watched: dict[str, object] | None = None
    if detail.state is MatchState.SCHEDULED:
        seen = shared.read(live.watch, match_id, viewer)
        shown = []
        if seen.match is not None:  # of others the server may not have the game any more
            shown = scenes_so_far(variants.rules(seen.game, seen.variant), seen.match, detail.names)
        watched = {"told": told(seen), "scenes": shown}
    values |= {"moves": _moves(shared, detail), "watched": watched, "ended": ended(detail)}
    content = render(shared, "match.html", match=detail, **values)
    # Without the site's own address, the page contains the one that this request named.
    once = detail.asked is Asked.PRIVATE or not shared.settings.site_url
    headers = {"Cache-Control": NOWHERE} if once else None
    return Response(content, headers=headers, media_type="text/html")


def _moves(shared: Shared, match: Match) -> Markup:
    """Return the moves in words; empty if there is no transcript that the reader may see, or if it is lost.

    They are kept like a viewer's documents. To read the transcript and make them takes two thirds of the page's time.
    """
    key, version = ("moves", language(), match.id), (match.transcript_sha256, VERSION, match.names)
    body = shared.bodies.current(key, version)
    if body is None:
        transcript = transcript_of(shared, match)
        if transcript is None:
            return Markup()
        moves = scenes(transcript, match.names)
        more = max(0, len(moves) - MAX_MOVES)
        text = render(shared, "moves.html", match=match, moves=moves[:MAX_MOVES], more_moves=more)
        body = shared.bodies.keep(key, Body(version, "", text.encode(), "text/html"))
    return Markup(body.content.decode())  # noqa: S704  a rendered template


@router.get("/matches/{match_id}/embed")
def embedded(shared: Shared, match_id: Id) -> Response:
    """Show only the board of a public match, for a frame on sites that the operator allows."""
    detail = shared.read(match_detail, match_id)
    played = detail.state is MatchState.DONE and not detail.withheld
    content = render(shared, "embed.html", match=detail, played=played, told=ended(detail) if played else "")
    policy = POLICY.format(framed_by=shared.settings.embed_origins or "'none'")
    return Response(content, headers={"Content-Security-Policy": policy}, media_type="text/html")


WORDS = {
    "appeal-opened": N_("Appeal opened"),
    "appeal-withdrawn": N_("Appeal withdrawn"),
    "match-voided": N_("Match voided"),
    "match-restored": N_("Match restored"),
    "match-rejudged": N_("Match rejudged"),
    "match-held": N_("Match held"),
    "match-left": N_("Match left"),
}


def _ruling(entry: AuditRecord) -> dict[str, Any]:
    """Return a record of the audit log about this match, in words. `again`: the match that replaces it;
    `remark`: public facts about the person who decided.
    """
    data: dict[str, Any] = parsed if isinstance(parsed := json.loads(entry.data), dict) else {}
    words = gettext(WORDS.get(entry.action, entry.action.replace("-", " ").capitalize()))
    if entry.action == "appeal-ruled":
        words = _("Appeal upheld") if data.get("upheld") else _("Appeal rejected")
    if entry.action == "match-decided":
        words = _("Decided: seat %(seat)s lost", seat=data.get("lost_by_seat"))
    why, at = data.get("reason") or data.get("ruling") or "", entry.at[:16].replace("T", " ")
    shown = {"words": words, "actor": entry.actor, "at": at, "why": why}
    return shown | {"again": data.get("again"), "remark": data.get("remark", "")}


def ended(match: Match) -> str:
    if all(seat.fault for seat in match.seats):  # not `rated`, which is never set at a promotion gate
        return _("Nobody won.")
    winners = [name for name, seat in zip(match.names, match.seats, strict=True) if seat.rank == 1]
    return _("A draw.") if len(winners) == len(match.seats) else _("%(names)s won.", names=", ".join(winners))


Chosen = Annotated[Literal["", "closest", "comebacks", "faults"], Query()]
"""Which of the newest matches are listed: all in order, the closest or biggest turn-arounds first, or with a fault."""

LOOKED_AT = 200


@router.get("/seasons/{season_id}/matches")
@everyones
def of_season(shared: Shared, season_id: Id, before: Number = None, bot: Number = None, show: Chosen = "") -> str:
    """List the matches of a season, or those before a given one, of all bots or of one."""
    with shared.db.reading() as session:
        season = season_info(session, season_id)
        name = season.name if bot is None else f"{bot_info(session, bot).name}, {season.name}"
    lead, open_to_all = has_lead(season.game), season.published_at or season.transcripts is TranscriptsFrom.PLAYED
    about = {"path": f"/seasons/{season_id}", "of": name, "season": season, "bot_id": bot, "lead": lead}
    about["turns"] = lead and season.seats == 2 and open_to_all
    return _listed(shared, before, show, about, season_id=season_id, bot_id=bot)


@router.get("/bots/{bot_id}/matches")
@everyones
def of_bot(
    shared: Shared,
    bot_id: Id,
    before: Number = None,
    opponent: Number = None,
    lost: Annotated[bool, Query()] = False,
    show: Chosen = "",
) -> str:
    """List the matches of a bot, of all its versions and seasons: against everybody or one `opponent`, and
    all or only those in which the bot was not first.
    """
    with shared.db.reading() as session:
        bot = bot_info(session, bot_id)
        other = None if opponent is None else bot_info(session, opponent)
    lead = has_lead(bot.game)
    about = {"path": f"/bots/{bot_id}", "of": bot.name, "bot_id": bot_id, "lost": lost, "lead": lead, "turns": lead}
    about["opponent"] = None if other is None else (other.id, other.name)
    return _listed(shared, before, show, about, bot_id=bot_id, opponent_id=opponent, lost=lost)


def _listed(shared: Shared, before: int | None, show: str, about: dict[str, Any], **whose: Any) -> str:
    """List the matches. `about`: for the template; "lead", "turns": whether the game and its readers know of any."""
    if not {"closest": about["lead"], "comebacks": about["turns"]}.get(show, True):
        show = ""
    limit = LOOKED_AT if show else ROWS + 1
    finished = shared.read(matches, state=MatchState.DONE, before=before, limit=limit, **whose)
    if show == "faults":
        finished = [match for match in finished if any(seat.fault for seat in match.seats)]
    elif show == "closest":
        finished = sorted((match for match in finished if margin(match) < math.inf), key=margin)
    elif show == "comebacks":
        finished = sorted((match for match in finished if match.comeback), key=lambda match: -(match.comeback or 0))
    shown, older = first_of(finished, ROWS)
    values: dict[str, Any] = {
        "season": None,
        "opponent": None,
        "lost": False,
        "show": show,
        "looked_at": LOOKED_AT,
    } | about
    older = None if show else older
    return render(shared, "matches.html", matches=shown, older=older, newest=before is None, **values)


def worth_watching(shared: Shared, session: Session, season_id: int | None = None) -> dict[str, Match]:
    """Return what `highlights` finds in a season or in all, chosen once a minute, because that takes a while."""
    key, minute = ("highlights", season_id), int(time.monotonic() // 60)
    return shared.boards.newest_part(key, minute, lambda: highlights(session, season_id))


CARD_VERSION = 4
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
    key, version = ("card", match_id), (match.transcript_sha256, CARD_VERSION)
    body = shared.bodies.current(key, version)
    if body is None:
        shared.rates.picture(request)
        with reading(ENGLISH):  # one picture for all, in letters that the typeface has
            drawing = draw(match)
        etag = f'"card-{CARD_VERSION}-{match.transcript_sha256}"'
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
    text = seat.fault.fault.value if seat.fault else points(seat.points) if seat.points is not None else f"{seat.rank}."
    pen.text((WIDTH - MARGIN, middle), text, colour("bad") if seat.fault else ink, font(size), anchor="rm")


@cache
def font(size: float) -> ImageFont.FreeTypeFont:
    face = ImageFont.load_default(size)
    assert isinstance(face, ImageFont.FreeTypeFont), "Pillow was built without FreeType"
    return face


@cache
def colour(name: str) -> str:
    """Return the light variant of a style sheet's colour, which comes first in the sheet."""
    sheet = (SITE / "static" / "site.css").read_text(encoding="utf-8")
    definition = re.search(rf"--{name}: (#[0-9a-f]{{6}})", sheet)
    assert definition is not None, name
    return definition[1]
