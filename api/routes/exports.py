"""A season's tables as files, streamed."""

import csv
import io
import json
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from starlette.responses import StreamingResponse

from deadheat.api.deps import Id, Shared
from deadheat.api.routes.replays import A_FILE, uploaded_file
from deadheat.api.schemas import MAX_ID
from deadheat.league.service.exports import Row, Scope, export_page, public_source
from deadheat.league.words import Exported

router = APIRouter(prefix="/v1/seasons", tags=["seasons"])


class Format(StrEnum):
    """JSON Lines, or CSV with a header line."""

    JSONL = "jsonl"
    CSV = "csv"


MEDIA = {Format.JSONL: "application/x-ndjson", Format.CSV: "text/csv; charset=utf-8"}

FORMULA = tuple("=+-@＝＋－＠\t\r\n")  # noqa: RUF001  spreadsheets may take the full-width forms for the others
"""The beginnings, perhaps after blanks, of text that is a formula to a spreadsheet unless an apostrophe precedes it."""

NUMBER = re.compile(r"-?\d+(/\d+)?")
"""The pattern of points: a whole number or a fraction, which is not a formula."""


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
        int | None, Query(ge=1, le=MAX_ID, description="Only this bot's matches, with everybody who played in them.")
    ] = None,
) -> Response:
    """Export everything public about a season, one table at a time (docs/reference/data-export.md)."""
    scope = Scope(season_id, bot)
    first, after = shared.read(export_page, scope, table)
    pages = _pages(shared, scope, table, first, after)
    whose = "" if bot is None else f"-bot-{bot}"
    name = f"season-{season_id}{whose}-{table.value}.{form.value}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    lines = _csv(pages) if form is Format.CSV else ("".join(json.dumps(row) + "\n" for row in rows) for rows in pages)
    return StreamingResponse(lines, headers=headers, media_type=MEDIA[form])


@router.get("/{season_id}/sources/{version_id}", response_class=StreamingResponse, responses={200: {**A_FILE}, 404: {}})
def get_source(shared: Shared, season_id: Id, version_id: Id) -> Response:
    """Return an upload whose source the season has published, byte for byte; the table `sources` lists them."""
    version = shared.read(public_source, season_id, version_id)
    name = f"version-{version.id}"
    return uploaded_file(shared, version.source_sha256, version.size_bytes, version.filename, name)


def _pages(shared: Shared, scope: Scope, table: Exported, rows: list[Row], after: int | None) -> Iterator[list[Row]]:
    yield rows
    while after is not None:
        rows, after = shared.read(export_page, scope, table, after)
        yield rows


def _csv(pages: Iterator[list[Row]]) -> Iterator[str]:
    headed = False
    for rows in pages:
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)  # whatever separator a reader assumes
        if rows and not headed:
            csv.writer(text).writerow(rows[0])
            headed = True
        writer.writerows([_cell(value) for value in row.values()] for row in rows)
        yield text.getvalue()


def _cell(value: Any) -> Any:
    if not isinstance(value, str) or NUMBER.fullmatch(value):
        return value
    return f"'{value}" if value.lstrip(" ").startswith(FORMULA) else value
