"""The audit log, for everyone to read and to check."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from deadheat.api.deps import Shared
from deadheat.api.schemas import base
from deadheat.league.records.rulings import AuditRecord
from deadheat.league.service.ground.audit import audit_log

router = APIRouter(prefix="/v1/audit", tags=["audit"])


class AuditPage(base.Page):
    """The filter of the audit log. `oldest_first`: from the first record on, in the order in which they are chained."""

    subject: str = Field(default="", max_length=128, pattern=base.PLAIN, examples=["match/5"])
    oldest_first: bool = False
    limit: base.Limit = 100


@router.get("")
def read_audit_log(shared: Shared, page: Annotated[AuditPage, Query()]) -> base.Paged[AuditRecord]:
    """List decisions with authors and reasons. Each record's hash covers the previous one, which reveals changes."""
    found = shared.read(
        audit_log, before=page.before, subject=page.subject, oldest_first=page.oldest_first, limit=page.size
    )
    return base.Paged[AuditRecord](items=found, next=page.next(found, lambda one: one.id))
