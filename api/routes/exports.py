"""A season's tables as files, streamed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from starlette.responses import StreamingResponse

from api.deps import MAX_ID, Id, Shared
from api.services import Services
from league import service
from league.service.exports import Row, Scope
from league.words import Exported

router = APIRouter(prefix="/v1/seasons", tags=["seasons"])


class Format(StrEnum):
    """JSON Lines, or CSV with a head line."""

    JSONL = "jsonl"
    CSV = "csv"


MEDIA = {Format.JSONL: "application/x-ndjson", Format.CSV: "text/csv; charset=utf-8"}

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes text that begins so for a formula; a quote before it keeps it text."""


@router.get(
    "/{season_id}/export/{table}.{form}",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {}, "text/csv": {}}}, 404: {}},
)
def export(
    shared: Shared,
    season_id: Id,
    table: Exported,
    form: Format,
    bot: Annotated[
        int | None, Query(ge=1, le=MAX_ID, description="Its matches alone, with all who played in them.")
    ] = None,
) -> Response:
    """Everything public about a season: its matches, participants, response times, attempts or entries."""
    scope = Scope(season_id, bot)
    with shared.db.reading() as session:
        first, after = service.export_page(session, scope, table)
    pages = _pages(shared, scope, table, first, after)
    whose = "" if bot is None else f"-bot-{bot}"
    name = f"season-{season_id}{whose}-{table.value}.{form.value}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    lines = _csv(pages) if form is Format.CSV else _json_lines(pages)
    return StreamingResponse(lines, headers=headers, media_type=MEDIA[form])


def _pages(shared: Services, scope: Scope, table: Exported, rows: list[Row], after: int | None) -> Iterator[list[Row]]:
    yield rows
    while after is not None:
        with shared.db.reading() as session:
            rows, after = service.export_page(session, scope, table, after)
        yield rows


def _json_lines(pages: Iterator[list[Row]]) -> Iterator[str]:
    for rows in pages:
        yield "".join(json.dumps(row) + "\n" for row in rows)


def _csv(pages: Iterator[list[Row]]) -> Iterator[str]:
    headed = False
    for rows in pages:
        text = io.StringIO()
        writer = csv.writer(text)
        if rows and not headed:
            writer.writerow(rows[0])
            headed = True
        writer.writerows([_cell(value) for value in row.values()] for row in rows)
        yield text.getvalue()


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
