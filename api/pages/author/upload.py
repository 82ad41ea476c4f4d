"""The author's front door: one form that takes a program, as text or as a file, and enters it into a season.
On its own page it makes a bot; in a bot's workshop (`upload`) it adds a version.

Refusals come before the build, beside what they concern. A refused form's page has everything that was typed; only a
file must be chosen again, and not even that with the script. That is why the text and the file arrive in two files.
"""

import hashlib
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from io import BytesIO
from itertools import chain, count
from typing import Annotated, Any, BinaryIO, cast

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from sqlmodel import Session
from starlette.exceptions import HTTPException

from deadheat.api.deps import Id, Shared
from deadheat.api.edge import sessions
from deadheat.api.edge.uploading import MAX_TEXT_BYTES, TEXT, Received, receive_file, takes_upload
from deadheat.api.pages import forms
from deadheat.api.pages.game import SMALLEST_PREFIX, STARTERS, kits
from deadheat.api.pages.lists import courses
from deadheat.api.pages.render import game_title
from deadheat.api.routes.bots import BotRequest, Description, Wish
from deadheat.api.routes.entries import EntryRequest
from deadheat.engine.figures import visible
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.language import _
from deadheat.league.errors import BadUpload, NameTaken
from deadheat.league.records.bots import TRIAL, Version
from deadheat.league.service.bots import bots
from deadheat.league.service.ground.steps import lock_season
from deadheat.league.service.jobs.builds import BUILDS
from deadheat.league.service.people import teams
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.absence import rejoin, withdraw
from deadheat.league.service.seasons.entries import check_wish, enter, enter_when_ready
from deadheat.league.service.seasons.participation import Participation, change_bot, participation, prospects
from deadheat.league.service.seasons.seasons import seasons
from deadheat.league.service.views.contests import at_panels
from deadheat.league.service.views.forecasts import waiting
from deadheat.league.service.views.matches import first_match
from deadheat.league.states import ENTERABLE, ContestState, VersionState
from deadheat.sandbox.languages import LANGUAGES

router = APIRouter()
workshops = APIRouter(prefix="/bots/{bot_id}")

Take = Callable[[], tuple[bots.Upload, Callable[[], object]]]
"""Inspects a program; returns it, and a function that stores its content."""


class _Fits(Exception):
    """Ends a transaction that was only a trial."""


FIELDS = (sessions.CSRF_FIELD, "game", "name", "team_id", "language", "season", TEXT)
UNTYPED = re.compile(r"[\0-\x08\x0e-\x1f]")
"""What no program's text contains, but a pasted picture or archive does."""


def _program_values(shared: Shared, session: Session, around: Sequence[Participation]) -> dict[str, Any]:
    """Return what the form's template needs. `around`: the bot's seasons; if it is in one, none is chosen."""
    installed = bots.installed_languages(session)
    here = [each for each in LANGUAGES.values() if each.suffixes and (installed is None or each.name in installed)]
    entered = any(each.version is not None or each.enters is not None for each in around)
    free = [each for each in around if each.open and each.version is None and each.absence is None]
    chosen = [(each.season_id, each.season) for each in free if not each.refused]
    return {
        "languages": [(recipe.name, recipe.title) for recipe in here],
        "suffixes": [suffix for recipe in here for suffix in recipe.suffixes],
        "choices": [("", _("none")), *chosen] if entered else [*chosen, ("", _("none"))],
        "barred": [f"{each.season}: {each.refused}" for each in free if each.refused],
        "limit_bytes": shared.settings.upload_limit_bytes,
        "text_bytes": MAX_TEXT_BYTES,
    }


@cache
def starters(game: str) -> Mapping[str, str]:
    """Return a program to begin with by language: of the starters and smallest bots, those that are one file."""
    found: dict[str, str] = {}
    for kit in sorted(kits(game), key=lambda kit: (kit.name not in STARTERS, kit.name)):
        files = [path for path in (bots_of(game) / kit.name).rglob("*.*") if path.suffix in kit.language.suffixes]
        if (kit.name in STARTERS or kit.name.startswith(SMALLEST_PREFIX)) and len(files) == 1:
            found.setdefault(kit.language.name, files[0].read_text("utf-8"))
    return found


@forms.shows(router, "/submit")
def _door(
    shared: Shared,
    visit: forms.Visiting,
    complaint: forms.Complaint | None = None,
    game: Annotated[str, Query()] = "",
    language: Annotated[str, Query()] = "",
) -> Response:
    if complaint is not None:
        game, language = (complaint.given.get(name, "") for name in ("game", "language"))
    with shared.db.reading() as session:
        newest = (each.game for each in seasons(session) if each.state in ENTERABLE)
        game = next(name for name in chain((game,), newest, GAMES) if name in GAMES)
        values = _program_values(shared, session, prospects(session, visit.person, game))
        own = {bot.name.lower() for bot in bots.bots_of(session, visit.person) if bot.game == game}
        joined = [team for team in teams.teams_of(session, visit.person) if visit.person.name in team.members]
    names = chain((visit.person.name,), (f"{visit.person.name[:28]}-{number}" for number in count(2)))
    known = [name for name, _title in values["languages"]]
    language = next((name for name in (language, "python", *known) if name in known), "")
    values |= {
        "bot": None,
        "game": game,
        "games": [(name, game_title(name)) for name in GAMES],
        "spoken": language,
        "suggested": next(name for name in names if name.lower() not in own),
        "text": starters(game).get(language, ""),
        "whose": [("", _("mine")), *((team.id, _("team %(name)s", name=team.name)) for team in joined)],
    }
    return forms.private(shared, "submit.html", visit, complaint, **values)


@router.post("/submit")
@takes_upload
async def submit(shared: Shared, request: Request, visit: forms.Visiting) -> Response:
    """Make a bot of a program. Sent twice, it is made once: the same name and program lead to the same version."""
    person = visit.person

    def act(sent: forms.Fields, take: Take) -> Version:
        body, (upload, store) = forms.picked(BotRequest, sent), take()
        given = body.model_dump()
        try:
            return _add(shared, person, sent, upload, store, lambda s: bots.create_bot(s, person, **given).id)
        except NameTaken:
            own = shared.read(bots.bots_of, person)
            named = [bot.id for bot in own if (bot.game, bot.name.lower()) == (body.game, body.name.lower())]
            for version in (each for bot_id in named for each in shared.read(bots.versions_of, person, bot_id)):
                if version.sha256 == upload.sha256:
                    shared.change(_wish, person, version.bot_id, forms.picked(Wish, sent).season)
                    return version
            raise

    check, again = partial(shared.read, bots.check_quotas, person, 0), partial(_door, shared, visit)
    return await _receive(shared, request, visit, check, act, again)


def _add(
    shared: Shared,
    person: Person,
    sent: forms.Fields,
    upload: bots.Upload,
    store: Callable[[], object],
    bot_of: Callable[[Session], int],
) -> Version:
    """Add a version to the bot that `bot_of` returns, commit, and only then tell a worker. Before the content
    is stored all is tried and undone, because what is stored stays, and a refused form counts for no quota.
    """
    season_id = forms.picked(Wish, sent).season

    def put(session: Session) -> Version:
        if season_id is not None:
            lock_season(session, season_id)  # seasons precede people in the order of locks
        bot_id = bot_of(session)
        if season_id is not None:
            check_wish(session, person, season_id, bot_id, upload)
        return bots.add_version(session, person, bot_id, upload, season_id)

    with suppress(_Fits), shared.db.transaction() as trial:
        put(trial)
        raise _Fits
    store()
    version = shared.change(put)
    shared.nudge(BUILDS, version.id)
    return version


async def _receive(
    shared: Shared,
    request: Request,
    visit: forms.Visit,
    check: Callable[[], None],
    act: Callable[[forms.Fields, Take], Version],
    again: Callable[[forms.Complaint], Response],
) -> Response:
    """Receive a program's form, and go on to the version's page, or `again` to the form's. The token precedes the
    program, which is ignored if the token is wrong. `check` comes before a long body, so that it is not read in vain;
    typed text is read, because a refused form repeats it. `act` gets the fields, and a function to take the program.
    """
    sessions.must_be_ours(request, shared.settings)
    declared = request.headers.get("content-length", "")
    if not declared.isdigit() or int(declared) > MAX_TEXT_BYTES:
        await to_thread.run_sync(check)
    async with shared.room.take(visit.person.id, request):
        with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as text:
            received = await receive_file(request, file, shared.settings.upload_limit_bytes, FIELDS, text)
            sessions.must_match(visit.secret, received.fields.get(sessions.CSRF_FIELD))
            text.seek(0)

            def take_in() -> Response:
                program = text.read().decode("utf-8", "replace").replace("\r\n", "\n")  # forms send CR LF
                typed = visible(program, "\n\t\r\f") if UNTYPED.search(program) else program
                given = {**received.fields, TEXT: typed}

                def acting() -> Response:
                    check()
                    version = act(given, partial(_take, shared, received, cast("BinaryIO", file), program))
                    return forms.onward(f"/bots/{version.bot_id}/versions/{version.number}")

                return forms.attempt("upload", given, acting, again)

            return await to_thread.run_sync(take_in, limiter=shared.taking_in)


def _take(shared: Shared, received: Received, file: BinaryIO, program: str) -> tuple[bots.Upload, Callable[[], object]]:
    """Inspect the file, or else the text (`Take`). Raises BadUpload."""
    name, sha256 = received.filename, received.sha256
    if not name:
        recipe = LANGUAGES.get(received.fields.get("language", ""))
        if recipe is None or not program.strip():
            raise BadUpload("empty", _("Paste a program, or choose a file."))
        if UNTYPED.search(program):
            raise BadUpload("not-text", _("This is not a program's text. Choose a zip or another file below."))
        content = program.encode()
        name, sha256, file = recipe.entries[0], hashlib.sha256(content).hexdigest(), cast("BinaryIO", BytesIO(content))
    upload = bots.inspect(file, name, sha256, shared.settings, shared.read(bots.installed_languages))
    return upload, partial(shared.blobs.put_file, file, sha256)


class _BotForm(forms.NameForm):
    description: Description = ""


class _RetireForm(BaseModel):
    retired: bool


@forms.shows(workshops, "/upload")
def _workshop(
    shared: Shared, visit: forms.Visiting, bot_id: Id, complaint: forms.Complaint | None = None, **_: Any
) -> Response:
    with shared.db.reading() as session:
        versions = bots.versions_of(session, visit.person, bot_id)
        panels = at_panels(session, bot_id)
        seasons = participation(session, visit.person, bot_id)
        values = _program_values(shared, session, seasons) | {
            "bot": bots.bot_info(session, bot_id),
            "versions": versions,
            "ready": [version.number for version in versions if version.state is VersionState.READY],
            "seasons": seasons,
            "panels": panels,
            "playing": any(panel.state is ContestState.RUNNING for panel in panels),
            "spoken": versions[0].language if versions else "",
            "text": "",
        }
    return forms.private(shared, "upload.html", visit, complaint, **values)


@workshops.post("/versions")
@takes_upload
async def upload(shared: Shared, request: Request, visit: forms.Visiting, bot_id: Id) -> Response:
    def act(sent: forms.Fields, take: Take) -> Version:
        return _add(shared, visit.person, sent, *take(), lambda _session: bot_id)

    check = partial(shared.read, bots.may_upload, visit.person, bot_id)
    return await _receive(shared, request, visit, check, act, partial(_workshop, shared, visit, bot_id))


@workshops.get("/versions/{number}")
def version(shared: Shared, visit: forms.Visiting, bot_id: Id, number: Id) -> Response:
    with shared.db.reading() as session:
        bot = bots.bot_info(session, bot_id)
        info = bots.version_info(session, visit.person, bot_id, number)
        log = bots.build_log(session, visit.person, bot_id, number)
        panels = at_panels(session, bot_id, number)
        entered = participation(session, visit.person, bot_id)
        part = next((each for each in entered if number in (each.version, each.enters)), None)
        season_id = None if part is None else part.season_id
        first = None if season_id is None else first_match(session, info.id, season_id)
        course = courses(shared, session, [bot]).get(bot_id, [])
        row, ranked = next(((row, of) for each, row, of in course if each.season_id == season_id), (None, 0))
        playing_next = part is not None and part.state.goes_on and part.version == number and first is None
        waits = waiting(session, part.season_id, bot_id).sentence if part is not None and playing_next else ""
    step = info.state.value
    if info.state is VersionState.BUILDING and TRIAL in log.log:
        step = "trial"
    elif info.state is VersionState.READY and part is not None:
        step = "entry" if part.version != number else "match" if first is None else "place" if row is None else ""
        failed = (panel.season_id == season_id and panel.state is ContestState.FAILED for panel in panels)
        step = "panel" if part.waits_for_panel and any(failed) else step
    followed = part is not None and part.state.goes_on and step not in ("", "panel")
    playing = followed or any(panel.state is ContestState.RUNNING for panel in panels)
    values = {"log": log.log, "tries": log.tries, "underway": not info.ended, "panels": panels, "playing": playing}
    values |= {"step": step, "part": part, "first": first, "row": row, "ranked": ranked, "trial": TRIAL, "waits": waits}
    return forms.private(shared, "version.html", visit, None, bot=bot, version=info, **values)


def _wish(session: Session, person: Person, bot_id: int, season_id: int | None) -> None:
    """Enter the bot in the season of the form, if it is not in it already and is not to enter it."""
    around = participation(session, person, bot_id)
    if season_id is not None and not any(
        each.season_id == season_id and (each.version is not None or each.enters is not None) for each in around
    ):
        _enter(session, person, season_id, bot_id, None)


def _enter(session: Session, person: Person, season_id: int, bot_id: int, number: int | None) -> None:
    """Enter a version, or the newest one as soon as it is ready."""
    if number is not None or not enter_when_ready(session, person, season_id, bot_id):
        enter(session, person, season_id, bot_id, number)


@workshops.post("/seasons/{season_id}/{verb}")
@forms.posting("season-{season_id}", _workshop)
def take_part(shared: Shared, posted: forms.Submitted, bot_id: Id, season_id: Id, verb: str) -> Response:
    person = posted.visit.person
    with shared.db.transaction() as session:
        if verb == "enter":
            _enter(session, person, season_id, bot_id, forms.checked(EntryRequest, posted.fields).version)
        elif verb == "withdraw":
            withdraw(session, person, season_id, bot_id)
        elif verb == "rejoin":
            rejoin(session, person, season_id, bot_id)
        else:
            raise HTTPException(404)
    return forms.onward(f"/bots/{bot_id}/upload#season-{season_id}")


@workshops.post("/change")
@forms.posting("bot", _workshop)
def change(shared: Shared, posted: forms.Submitted, bot_id: Id) -> Response:
    body = forms.checked(_BotForm, posted.fields)
    shared.change(change_bot, posted.visit.person, bot_id, name=body.name, description=body.description)
    return forms.onward(f"/bots/{bot_id}/upload#bot")


@workshops.post("/retire")
@forms.posting("bot", _workshop)
def retire(shared: Shared, posted: forms.Submitted, bot_id: Id) -> Response:
    retired = forms.checked(_RetireForm, posted.fields).retired
    shared.change(change_bot, posted.visit.person, bot_id, retired=retired)
    return forms.onward(f"/bots/{bot_id}/upload#bot")


@workshops.post("/people")
def people(shared: Shared, posted: forms.Submitted, bot_id: Id) -> Response:
    with shared.db.transaction() as session:
        plays_people = posted.fields.get("plays_people") == "yes"
        change_bot(session, posted.visit.person, bot_id, plays_people=plays_people)
    return forms.onward(f"/bots/{bot_id}/upload#people")
