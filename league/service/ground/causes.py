"""What everybody is told of a failure of ours.

The ledger keeps the whole truth, for whoever runs the league: what a library said, with addresses, paths and machines'
names in it. Whatever leaves is looked at here. Only of causes in `OUR_WORDS` is it known that their details were
written by us, about what was measured or decided; for any other, one that nobody has thought of yet included, a fixed
sentence stands in. Measurements (`evidence`) are public as they are; a machine's reasons not to judge, which may stand
among them, are looked at as well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlmodel import Session, col, select

from league.tables import Machine

HOST_UNFIT = "host-unfit"
"""The cause of a series whose machine was found unfit while it was played, and its key in the evidence of a match that
was judged all the same (`DEADHEAT_JUDGE_UNFIT`)."""

OUR_WORDS = frozenset(
    {
        "played",
        # measured by the referee
        "host-starved",  # until 2026-11
        "host-unknown",
        "referee-late",  # until 2026-11
        "host-memory",
        "watch-ended",
        HOST_UNFIT,
        # seen by it
        "container-died",
        "dirty-box",
        "house-bot",
        "reference-bot",
        # decided
        "worker-stopped",
        "entry-absent",
        "challenge-over",
        "finals-began",
        "season-closed",
    }
)
"""Causes whose details may be told as they stand in the ledger."""

NOT_CHECKED = "It could not be checked"
"""How a machine's reason not to judge begins where its check itself failed; what follows are an engine's words."""

SENTENCES: Mapping[str, str] = {
    "blobs-away": "Nothing could be stored or fetched.",
    "BlobDamaged": "What the store has of a program is damaged.",
    "BlobMissing": "The store does not have a program.",
    "container-stuck": "A container took no more orders.",
    "database-away": "The database was away.",
    "engine": "The container engine of a machine failed.",
    HOST_UNFIT: "A machine was found unfit to judge: it could not be checked.",
    "lease-expired": "The worker was not heard of in time.",
    "no-engine": "A machine's container engine did not answer.",
    "no-image": "A machine had no image to open boxes with.",
    "no-runtime": "A machine's container engine had no fit runtime.",
    "no-start": "A program could not be started.",
}
"""What is said instead of a detail that may not be told."""

UNKNOWN = "Something of ours failed; what it was is in the service's log."


def told(cause: str, detail: str) -> str:
    """The public detail of an attempt with that cause and detail in the ledger."""
    if cause in OUR_WORDS and NOT_CHECKED not in detail:
        return detail
    return SENTENCES.get(cause, UNKNOWN)


def told_reasons(reasons: Collection[str]) -> tuple[str, ...]:
    """Public reasons why a machine should not judge."""
    return tuple(f"{NOT_CHECKED}." if reason.startswith(NOT_CHECKED) else reason for reason in reasons)


def told_evidence(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The public evidence of an attempt with that evidence in the ledger."""
    if HOST_UNFIT not in evidence:
        return dict(evidence)
    return {**evidence, HOST_UNFIT: list(told_reasons(evidence[HOST_UNFIT]))}


def told_findings(findings: Mapping[str, Any]) -> dict[str, Any]:
    """What an appeal's author may read of its findings (see `league.verification.review`), which copied the ledger
    until 2026-11.
    """
    if "attempts" not in findings:
        return dict(findings)
    attempts = [
        {**row, "detail": told(row["cause"], row["detail"]), "evidence": told_evidence(row["evidence"])}
        for row in findings["attempts"]
    ]
    return {**findings, "attempts": attempts}


def machine_numbers(session: Session, workers: Collection[str | None]) -> dict[str | None, int]:
    """The public number of the machine of each worker's process, by how it signs its work (`NAME:PID`); of those that
    have none nothing.
    """
    names = {worker: worker.rpartition(":")[0] for worker in workers if worker}
    known = select(Machine.name, Machine.id).where(col(Machine.name).in_(set(names.values())))
    numbers = dict(session.exec(known).all())
    return {worker: numbers[name] for worker, name in names.items() if name in numbers}
