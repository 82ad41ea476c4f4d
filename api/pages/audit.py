"""The audit page: how honest the league has been, and who decided what; for everyone."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query

from deadheat.api.cursors import read_cursor, write_cursor
from deadheat.api.deps import Shared
from deadheat.api.pages.render import everyones, render
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.rankings.honesty import honesty

router = APIRouter(include_in_schema=False)

RECORDS = 50
"""Of one page."""


@router.get("/audit")
@everyones
def audit(shared: Shared, cursor: Annotated[str | None, Query(max_length=32)] = None) -> str:
    """Each season's faults and failures, and the audit log."""
    before = read_cursor(cursor)
    with shared.db.reading() as session:
        records = audit_log(session, before=before, limit=RECORDS)
        seasons = [] if before else honesty(session)
    return render(
        shared,
        "audit.html",
        records=[(record, _said(record.data)) for record in records],
        older=write_cursor(records[-1].id) if len(records) == RECORDS else None,
        seasons=seasons,
    )


def _said(data: str) -> list[tuple[str, Any]]:
    return [(key, value) for key, value in json.loads(data).items() if value not in ("", None)]
