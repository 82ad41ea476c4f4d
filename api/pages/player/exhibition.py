"""Playing against a bot: the choice of one, the moves, and the finished match.

Theory of operation
-------------------
A move is a form that is posted and answered with 303, so it works without a script. With one, a stream of server-sent
events reports that the table has changed; the page then fetches itself and swaps its form. A stream is as cheap as a
season's (`api.pages.live`): no thread, no session. It queries the table every half second, because there are only as
many tables as the deployment has places, and the streams are limited. Until a match is over, only its person sees it.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from sqlmodel import Session
from starlette.responses import StreamingResponse

from deadheat.api.deps import Id, Number, Received, Shared
from deadheat.api.edge.arrival import Arrival
from deadheat.api.edge.rates import Streams
from deadheat.api.pages import forms
from deadheat.api.pages.texts.markdown import rules_address, rules_for_people
from deadheat.api.routes.exhibitions import MAX_MOVES, advice_of, told_of, told_table, untimed, untimed_document
from deadheat.api.routes.replays import transcript_of
from deadheat.api.services import Services
from deadheat.engine.advice import ADVISERS
from deadheat.engine.core import Seat
from deadheat.engine.figures import counted
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import Parts, folders
from deadheat.engine.games.forms import Fields, Form, State, Turn, Unfilled
from deadheat.engine.games.variants import rules
from deadheat.engine.language import _, gettext, language
from deadheat.engine.scenes import Scene, document_so_far, scenes, scenes_so_far
from deadheat.league.database import now
from deadheat.league.errors import IllegalMove, NotFound
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.tables import sitting, turns, viewing
from deadheat.league.service.tables.programs import TABLES
from deadheat.league.service.tables.viewing import Table, TableInfo
from deadheat.league.service.views.overview import ReadyBot, ready_bots
from deadheat.league.states import NOT_OVER, SeatKind

FORMS: Mapping[str, Mapping[str, Form]] = Parts("forms", "FORMS")


def seats_differ(game: str) -> str | None:
    """See `GameFolder`; in the reader's language. If the game is not installed here, people may choose a seat."""
    known = folders().get(game)
    return known.seats_differ and gettext(known.seats_differ) if known else ""


def turn_of(game: str, prompt: str, state: State, seat: Seat) -> Turn:
    """Return the form for the prompt. Its `line` raises IllegalMove."""
    command = "TURN" if prompt.startswith("{") else prompt.split(" ", 1)[0]
    form = FORMS.get(game, {}).get(command)
    if form is None or not (folders()[game].path / "turns.html").is_file():
        return Turn("line", lambda fields: fields.get("line", ""))
    turn = form(prompt, state, seat)

    def line(fields: Fields) -> str:
        try:
            return turn.line(fields)
        except Unfilled as unfilled:
            raise IllegalMove(str(unfilled)) from None

    return replace(turn, line=line)


router = APIRouter()

LISTED = 12
ANY, LAST = "any", "last"
"""The choices of no particular seat, so that one is drawn, and of the one after all copies."""

RECENT = 3
"""The number of recent moves listed beside the form, in addition to one of each seat."""

MOST_STREAMS, MOST_AGENTS = 64, 256
"""How many pages of tables, and agents, may wait for news at a time."""

LOOK_SECONDS = 0.5
STREAM_SECONDS = 300.0
WAIT_SECONDS = 1.0
"""How long the answer to a move waits, so that the next page may contain the bot's move."""


@router.get("/play")
def choose(shared: Shared, request: Request, visit: forms.Present, bot: Number = None) -> Response:
    """Show everyone the bots against which one can play, and signed-in visitors the form to take a seat."""
    if visit is None and bot is not None:
        raise forms.sign_in_first(request, shared)
    return _choose(shared, visit, bot)


@router.post("/play")
@forms.posting("sit", lambda posted, **given: _choose(bot_id=_bot(posted), **given))
def sit(shared: Shared, posted: forms.Submitted) -> Response:
    opponents, place = _count(posted.fields.get("copies", "")), posted.fields.get("seat", "")
    seat = None if place == ANY else opponents if place == LAST else _count(place) - 1
    exhibition_id = shared.change(sitting.take_seat, posted.visit.person, _bot(posted), opponents, seat)
    shared.nudge(TABLES, exhibition_id)
    return forms.onward(f"/play/{exhibition_id}")


@router.get("/play/{exhibition_id}")
def exhibition(shared: Shared, request: Request, visit: forms.Present, exhibition_id: Id) -> Response:
    info = shared.read(viewing.table_info, exhibition_id)
    if info.match_id is not None:
        return forms.onward(f"/matches/{info.match_id}")
    if visit is None and info.state in NOT_OVER:  # this may be its player, who has signed out since
        raise forms.sign_in_first(request, shared)
    return _page(shared, visit, exhibition_id)


@router.post("/play/{exhibition_id}")
async def move(arrival: Received, shared: Shared, posted: forms.Submitted, exhibition_id: Id) -> Response:
    made: list[str] = []
    act = partial(_move, shared, posted, exhibition_id, made, arrival)

    def again(complaint: forms.Complaint) -> Response:  # a move that the rules refuse is not an error of the page
        return _page(shared, posted.visit, exhibition_id, replace(complaint, status=200))

    answer = await run_in_threadpool(forms.attempt, "move", posted.fields, act, again)
    for version in made:
        await _wait_for_the_bot(shared, posted.visit, exhibition_id, version)
    return answer


def _move(shared: Services, posted: forms.Posted, exhibition_id: int, made: list[str], arrival: Arrival) -> Response:
    """Make a move. If it changes the table, add the table's new version to `made`."""
    number, person = posted.fields.get("turn", ""), posted.visit.person
    with shared.db.transaction() as session:
        table = viewing.view(session, person, exhibition_id)
        match = table.match
        prompt = None if match is None else match.prompt(table.info.seat)
        if match is not None and prompt is not None and str(table.turn) == number:
            state = scenes_so_far(rules(table.info.game, table.info.variant), match, table.info.names)[-1].state
            line = turn_of(table.info.game, prompt, state, table.info.seat).line(posted.fields)
            turns.answer(session, person, exhibition_id, table.turn, line, waited=arrival.ago, ours=arrival.ours)
            made += {viewing.table_version(session, person, exhibition_id)} - {table.version}
    return forms.onward(f"/play/{exhibition_id}")  # if the form was out of date, the page shows the current question


@router.post("/play/{exhibition_id}/resign")
def resign(shared: Shared, posted: forms.Submitted, exhibition_id: Id) -> Response:
    shared.change(turns.resign, posted.visit.person, exhibition_id)
    return forms.onward(f"/play/{exhibition_id}")


@router.get("/play/{exhibition_id}/document")
def document(shared: Shared, visit: forms.Visiting, exhibition_id: Id) -> Response:
    table = shared.read(viewing.view, visit.person, exhibition_id)
    game = rules(table.info.game, table.info.variant)
    match = None
    if table.match is not None:
        match = untimed_document(document_so_far(game, table.match, table.info.names), table.info)
    content = json.dumps({"match": match}, separators=(",", ":"))
    return Response(content, 200, {"Cache-Control": "no-store"}, "application/json")


@router.get("/play/{exhibition_id}/events")
async def events(shared: Shared, request: Request, visit: forms.Visiting, exhibition_id: Id) -> StreamingResponse:
    """Open a stream that reports changes of the visitor's own table."""
    tables: Tables = request.app.state.tables
    await run_in_threadpool(_version, shared, visit, exhibition_id)
    tables.streams.check(request)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        tables.stream(shared, request, visit, exhibition_id), headers=headers, media_type="text/event-stream"
    )


class Tables:
    """The number of viewers of tables, and of agents that wait for their turns."""

    def __init__(self) -> None:
        self.streams = Streams(MOST_STREAMS, retry_seconds=5)
        self.agents = Streams(MOST_AGENTS, retry_seconds=5)

    async def stream(
        self, shared: Services, request: Request, visit: forms.Visit, exhibition_id: int
    ) -> AsyncIterator[str]:
        """Yield the table's version whenever it changes."""
        with self.streams.taken(request):
            yield "retry: 2000\n\n"
            ends, known = time.monotonic() + STREAM_SECONDS, ""
            while time.monotonic() < ends:
                version = await run_in_threadpool(_version, shared, visit, exhibition_id)
                if version != known:
                    yield f"event: table\ndata: {version}\n\n"
                    known = version
                await asyncio.sleep(LOOK_SECONDS)


async def _wait_for_the_bot(shared: Services, visit: forms.Visit, exhibition_id: int, before: str) -> None:
    """Wait a moment for the bot, which usually answers in time for the next page. No thread waits."""
    ends = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < ends:
        if await run_in_threadpool(_version, shared, visit, exhibition_id) != before:
            return
        await asyncio.sleep(WAIT_SECONDS / 20)


def _version(shared: Services, visit: forms.Visit, exhibition_id: int) -> str:
    return shared.read(viewing.table_version, visit.person, exhibition_id)


def tables(game: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return what a person may choose, each as a value with its label: the number of the bot's copies, and their own
    seat. A person without a choice of seats sits last.
    """
    seats = GAMES[game].seats
    copies = [(str(each - 1), counted(each - 1, "copy", "copies")) for each in seats]
    if seats_differ(game) is None:
        return copies, [(LAST, _("last seat"))]
    numbered = [(str(seat), _("seat %(number)s", number=seat)) for seat in range(1, max(seats) + 1)]
    return copies, [(ANY, _("any seat")), *numbered]


def _bot(posted: forms.Posted) -> int:
    bot = posted.fields.get("bot", "")
    return int(bot) if bot.isdecimal() and len(bot) < 10 else 0


def _count(word: str) -> int:
    """Parse a small number from a form, or return 0, which no field accepts."""
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 3 else 0


def _levels(session: Session, game: str) -> list[ReadyBot]:
    """Return the bots against which one can play, the easiest first and unrated ones last."""
    return sorted(ready_bots(session, game, LISTED), key=lambda bot: (bot.elo is None, bot.elo or 0.0))


def _harder(session: Session, info: TableInfo) -> ReadyBot | None:
    """Return the bot of the level above that of the match's bot."""
    levels = [bot for bot in _levels(session, info.game) if bot.elo is not None]
    numbers = [bot.bot_id for bot in levels]
    return next(iter(levels[numbers.index(info.bot_id) + 1 :]), None) if info.bot_id in numbers else None


def _choose(
    shared: Services, visit: forms.Visit | None, bot_id: int | None, complaint: forms.Complaint | None = None
) -> Response:
    with shared.db.reading() as session:
        bot = bot_info(session, bot_id) if bot_id else None
        values = {
            "rules": None if bot is None else rules_address(bot.game),
            "choices": None if bot is None else tables(bot.game),
            "seats_differ": None if bot is None else seats_differ(bot.game),
            "games": [(game, _levels(session, game)) for game in sorted(GAMES)],
            "mine": [] if visit is None else viewing.tables_of(session, visit.person, LISTED),
            "waiting": [info for info in viewing.open_tables(session, LISTED) if info.game in GAMES],
            "open_id": None if visit is None else sitting.open_of(session, visit.person),
            "move_seconds": shared.settings.exhibition_move_seconds,
        }
    return forms.private(shared, "play.html", visit, complaint, bot=bot, **values)


def _page(
    shared: Services, visit: forms.Visit | None, exhibition_id: int, complaint: forms.Complaint | None = None
) -> Response:
    with shared.db.reading() as session:
        info = viewing.table_info(session, exhibition_id)
        if info.state in NOT_OVER:
            own = next(player for player in info.players if player.seat == info.seat)
            if visit is None or visit.person.id != info.user_id or own.kind is not SeatKind.PERSON:
                raise NotFound("table", exhibition_id)
            # Read the table at the same instant: it would never learn that a match ended in between.
            table = viewing.view(session, visit.person, exhibition_id)
            return _table(shared, visit, table, now(session), complaint)
        is_own = visit is not None and visit.person.id == info.user_id
        harder = _harder(session, info) if is_own and info.bot else None
    transcript = transcript_of(shared, info)
    values = {
        "rules": rules_address(info.game),
        "told": told_of(info, is_own),
        "is_own": is_own,
        "harder": harder,
        "moves": untimed(scenes(transcript, info.names)[:MAX_MOVES], info) if transcript else [],
        "advice": advice_of(shared, info),
        "adviser": ADVISERS.get(info.game),
    }
    return forms.private(shared, "exhibition.html", visit, None, info=info, table=None, turn=None, **values)


def _table(
    shared: Services, visit: forms.Visit, table: Table, at: datetime, complaint: forms.Complaint | None
) -> Response:
    info = table.info
    moves: list[Scene] = []
    if table.match is not None:
        moves = untimed(scenes_so_far(rules(info.game, info.variant), table.match, info.names), info)
    turn = turn_of(info.game, table.prompt, moves[-1].state, info.seat) if table.prompt and moves else None
    values = {
        "seconds_left": table.deadline_at and round((table.deadline_at - at).total_seconds()),
        "rules": rules_address(info.game),
        "played_by": rules_for_people(info.game, language()),
        "told": told_table(table),
        "moves": moves,
        "recent": moves[-RECENT - info.seats :],
    }
    return forms.private(shared, "exhibition.html", visit, complaint, info=info, table=table, turn=turn, **values)
