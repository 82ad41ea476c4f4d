"""`deadheat audit`, `export`: a league's public records, which everybody may read and check."""

import json
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from deadheat.cli.console import fail, harmless, note
from deadheat.cli.output import Output, ToFile, listed
from deadheat.cli.server.api_client import Client, doubting
from deadheat.cli.server.client import Server, visit, visits
from deadheat.league.records.rulings import AuditRecord
from deadheat.league.verification.fairness import GENESIS, record_sha256
from deadheat.league.words import Exported

AUDIT_LINES = 100


@visits
def audit(
    client: Client,
    subject: Annotated[str, typer.Argument(help="Only records about this subject, e.g. match/5.")] = "",
    check: Annotated[bool, typer.Option("--check", help="Read the whole log and recompute its chain.")] = False,
    head: Annotated[str, typer.Option(help="With --check: the SHA-256 of a record that must be in the log.")] = "",
) -> Output:
    """Show the public log of decisions and their reasons, or check that nothing was changed."""
    if check:
        return _checked(client.audit(oldest_first=True), head)

    def line(record: AuditRecord) -> str:
        with doubting():
            data = ", ".join(f"{key}: {value}" for key, value in json.loads(record.data).items() if value != "")
        return f"{record.at[:19]} {record.actor}: {record.action} {record.subject}  {data}"

    return listed(client.audit(subject, limit=AUDIT_LINES), line, "No record.")


def _checked(records: Iterator[AuditRecord], head: str) -> Output:
    previous, count, seen = GENESIS, 0, not head
    for record in records:
        if record.prev_sha256 != previous or record.sha256 != record_sha256(record):
            fail(f"record {record.id} does not follow from the previous one: the log was changed")
        previous = record.sha256
        seen = seen or previous == head
        count += 1
    if not seen:
        fail(f"no record has the SHA-256 {head}: the log was replaced")
    sentence = f"{count} records; each follows from the previous one. SHA-256 of the last: {previous}"
    return Output({"records": count, "sha256": previous}, sentence)


def export(
    season: Annotated[int, typer.Argument(help="The season's number.", min=1)],
    table: Annotated[Exported, typer.Argument(help="The table.")],
    output: ToFile = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of JSON Lines.")] = False,
    server: Server = "",
) -> None:
    """Export everything public about a season, table by table, as JSON Lines or CSV (docs/reference/data-export.md)."""
    with visit(server) as client:
        pieces = client.export(season, table.value, "csv" if as_csv else "jsonl")
        content = chain((next(pieces, b""),), pieces)  # a refusal arrives before the file is created
        try:
            if output is None and sys.stdout.isatty():  # a terminal would obey control characters
                decoder = getincrementaldecoder("utf-8")("replace")
                text = (decoder.decode(piece).replace("\r\n", "\n") for piece in content)
                sys.stdout.writelines(harmless(piece).plain for piece in text)
            elif output is None:
                sys.stdout.buffer.writelines(content)
                sys.stdout.buffer.flush()
            else:
                _save(content, output.resolve())
        except OSError as error:
            if output is None and isinstance(error, BrokenPipeError):
                raise  # the reader of our output closed it: end the command silently
            fail(f"{output or 'stdout'}: {error.strerror}")
    if output is not None:
        note(f"Written to {output}.")


def _save(pieces: Iterable[bytes], path: Path) -> None:
    """Write the whole file or nothing, so that a partial file never looks complete."""
    if path.exists() and not path.is_file():  # a device or a pipe, which must not be replaced by a file
        with path.open("wb") as target:
            target.writelines(pieces)
        return
    partial = path.with_name(f"{path.name}.part")
    try:
        with partial.open("wb") as target:
            target.writelines(pieces)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
