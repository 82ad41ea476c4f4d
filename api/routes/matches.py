"""Matches: lists, evidence, transcripts, and an author's own logs."""

from typing import Annotated, Self

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, model_validator
from starlette.responses import StreamingResponse

from deadheat.api import schemas as base
from deadheat.api.deps import Asker, Id, Shared, Viewer
from deadheat.api.edge.caching import NOWHERE
from deadheat.api.edge.caching import matches as etag_matches
from deadheat.api.routes.replays import FOR_EVER, JSON_LINES, record_file
from deadheat.league.records.matches import EndingView, Match, MatchDetail, Whose
from deadheat.league.service.series.privacy import is_private
from deadheat.league.service.views.matches import endings, match_detail, matches, transcript_of
from deadheat.league.states import MatchState
from deadheat.league.terms import Date


class Matches(base.Paged[Match]):
    """The newest first; `next` continues the list."""


class HeldMatches(base.Items[MatchDetail]):
    """Matches that wait for an organiser."""


class Endings(base.Items[EndingView]):
    """One for each of your bots in the match."""


router = APIRouter(prefix="/v1/matches", tags=["matches"])


class _MatchPage(base.Page):
    """The filter of a list of matches."""

    season: base.RowId | None = None
    bot: base.RowId | None = None
    lost: bool = False
    state: MatchState | None = None
    finished_since: Date | None = None
    late: Whose | None = None
    game: str | None = Field(default=None, max_length=64, pattern=base.PLAIN)
    command: str | None = Field(default=None, max_length=64, pattern=base.PLAIN)
    machine: base.RowId | None = None

    @model_validator(mode="after")
    def _lost_by_whom(self) -> Self:
        if self.lost and self.bot is None:
            raise ValueError("lost is about one bot; name it with bot")
        if self.late is None and (self.game or self.command or self.machine):
            raise ValueError("game, command and machine are about late answers; say whose fault with late")
        return self


@router.get("")
def list_matches(shared: Shared, page: Annotated[_MatchPage, Query()]) -> Matches:
    """List matches by season, bot and state, the last planned first; finished ones by when they ended.

    With `bot` and `lost`: those that it lost. With `late`: those with late answers that were the bot's or the host's
    fault, or have no verdict; perhaps only of a `game`, to a `command`, or on a `machine`. With `finished_since`: those
    that ended at that instant or later, the newest first. To follow matches, use this list: the matches of a series end
    together, and series end in any order. A match may appear seconds after its end.
    """
    others = page.model_dump(exclude={"cursor", "limit", "season", "bot"})
    items = shared.read(matches, season_id=page.season, bot_id=page.bot, before=page.before, limit=page.size, **others)
    return Matches(items=items, next=page.next(items))


@router.get("/{match_id}", responses={404: {}})
def get_match(shared: Shared, viewer: Viewer, match_id: Id) -> MatchDetail:
    """Return a match with all its attempts and response times."""
    return shared.read(match_detail, match_id, viewer)


@router.get(
    "/{match_id}/transcript",
    response_class=StreamingResponse,
    responses={
        200: {**JSON_LINES},
        304: {"description": "Not modified"},
        404: {},
        409: {
            "description": "Not public yet: it contains the seed, and this match or another with the same dice is not "
            "over, or the season publishes it with its final standings"
        },
    },
)
def get_transcript(shared: Shared, viewer: Viewer, match_id: Id, request: Request) -> Response:
    """Return the transcript of a finished match; `deadheat verify` re-simulates it."""
    with shared.db.reading() as session:
        sha256 = transcript_of(session, match_id, viewer)
        private = is_private(session, match_id)
    headers = {"ETag": f'"{sha256}"', "Cache-Control": NOWHERE if private else FOR_EVER}
    if etag_matches(request.headers.get("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return record_file(shared, sha256, f"match-{match_id}.jsonl", headers)


@router.get("/{match_id}/logs", responses={401: {}, 404: {}})
def get_logs(shared: Shared, asker: Asker, match_id: Id) -> Endings:
    """Say how your bots' processes ended in this match, with their stderr."""
    return Endings(items=shared.read(endings, asker, match_id))
