"""A season's file at the desk: chosen or typed, previewed, then applied.

A page without `season` is about a new one. Exactly the previewed text is applied: the preview contains it, while the
text area below it is for another preview.
"""

from typing import Any

from fastapi import APIRouter, Response

from deadheat.api.deps import Number, Shared
from deadheat.api.pages.forms import Complaint, Posted, Submitted, Visiting, checked, posting, private, shows
from deadheat.api.pages.organiser.presets import Answers, preset_file, weekend
from deadheat.api.pages.organiser.season_form import steps, to_season
from deadheat.api.routes.seasons import SeasonFileRequest, declare
from deadheat.engine.games import GAMES
from deadheat.engine.language import _
from deadheat.league.database import now
from deadheat.league.records.seasons import Declared
from deadheat.league.season_file import MAX_CHARACTERS
from deadheat.league.service.seasons.declared import season_as_file
from deadheat.league.service.seasons.seasons import season_info

router = APIRouter(prefix="/desk/season-file")


@shows(router, "")
def file_page(
    shared: Shared,
    visit: Visiting,
    season: Number = None,
    complaint: Complaint | None = None,
    text: str | None = None,
    declared: Declared | None = None,
) -> Response:
    """Show a season's file, or one to begin with: as it is, or `text` with its mistakes or with what it declares."""
    visit.person.must_organise()
    values: dict[str, Any] = {"season": None, "text": text or "", "told": declared, "steps": ()}
    with shared.db.reading() as session:
        if season is not None:
            values["season"] = season_info(session, season)
            values["text"] = season_as_file(session, visit.person, season) if text is None else text
        elif text is None:
            example = {"name": _("My contest"), "game": min(GAMES), **weekend(now(session))}
            values["text"] = preset_file(Answers.model_validate(example))
        if declared is not None:
            values["steps"] = steps(declared.timetable, declared.timezone, now(session))
    return private(shared, "desk-file.html", visit, complaint, most=MAX_CHARACTERS, **values)


@router.post("")
@posting("file", lambda posted, **given: file_page(text=_sent(posted), **given))
def declare_season(shared: Shared, posted: Submitted, season: Number = None) -> Response:
    text, apply = _sent(posted), "apply" in posted.fields
    body = {"document": text, "preview": not apply, "bots": posted.fields.get("bots", "")}
    declared = declare(shared, posted.visit.person, checked(SeasonFileRequest, body), season)
    if apply:
        assert declared.season_id is not None, "it exists now"
        return to_season(declared.season_id, "created" if season is None else "changed")
    return file_page(shared, posted.visit, season, None, text, declared)


def _sent(posted: Posted) -> str:
    """Return the chosen file's text, or else the typed text."""
    return posted.fields.get("file") or posted.fields.get("document", "")
