"""`deadheat doctor`, `check-host`: the state of a deployment, a machine's fitness to judge, and remedies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError
from rich.text import Text

from deadheat.cli.console import fail, note
from deadheat.cli.operator import read_settings
from deadheat.cli.operator.checkup import MachineRole, Verdict, look
from deadheat.cli.output import Output, says

if TYPE_CHECKING:
    from deadheat.sandbox.host.fitness import Report
    from deadheat.workers.context import Context

COLOURS = {"good": "green", "remark": "magenta", "unfit": "red", "wrong": "red"}


def finding_lines(verdict: str, text: str, cure: str) -> Iterator[Text]:
    yield Text.assemble((f"{verdict:>6}", COLOURS[verdict]), f"  {text}")
    if cure and verdict != Verdict.GOOD:
        yield Text(f"        fix:  {cure}")


@says
def doctor(
    role: Annotated[
        MachineRole, typer.Option(help="This machine's role; checks only what it needs.")
    ] = MachineRole.ALL,
) -> Iterator[Output]:
    """Check everything that a deployment needs and say how to fix problems; exit code 1 if there are any."""
    try:
        settings = read_settings()
    except ValidationError as error:
        names = (f"DEADHEAT_{str(found['loc'][0]).upper()}: " if found["loc"] else "" for found in error.errors())
        fail("; ".join(name + found["msg"] for name, found in zip(names, error.errors(), strict=True)))
    count = wrong = 0
    for finding in look(settings, role):
        count += 1
        wrong += finding.verdict is Verdict.WRONG
        yield Output(asdict(finding), finding_lines(finding.verdict, f"{finding.about}: {finding.text}", finding.cure))
    said = Text(f"{wrong} {'is' if wrong == 1 else 'are'} WRONG", "red") if wrong else "nothing is wrong"
    yield Output((), Text.assemble(f"{count} things checked, ", said, "."), code=1 if wrong else 0)


@says
def check_host(
    quick: Annotated[
        bool, typer.Option("--quick", help="Take two seconds instead of ten, as workers do when they start.")
    ] = False,
) -> Iterator[Output]:
    """Say whether this machine is fit to judge; exit code 1 if it is not.

    On a machine that plays, the check waits for a free slot. If it finds a league's machine unfit, the league is
    notified and gives it nothing to play.
    """
    from deadheat.engine.core import TransportError
    from deadheat.sandbox.host import check
    from deadheat.workers.context import Context

    context = Context(read_settings())
    try:
        sandbox = context.sandbox
        with context.slots.take() as cpus:
            rounds = check.QUICK_ROUNDS if quick else check.FULL_ROUNDS
            report = check.check_host(sandbox, cpus, rounds, bots=context.slots.bots)
    except TransportError as error:
        fail(error.detail)
    lines = chain.from_iterable(finding_lines(found.level, found.text, found.mend) for found in report.findings)
    said = "This machine is fit to judge." if report.fit else Text("This machine is NOT fit to judge.", "red")
    yield Output(report.as_dict(), chain(lines, [said]))
    if not report.fit:
        _end_fitness(context, report)
        raise typer.Exit(1)


def _end_fitness(context: Context, report: Report) -> None:
    """Tell the league that this machine may not judge until its keeper's next check finds it fit."""
    from sqlalchemy.exc import SQLAlchemyError

    from deadheat.league.service.series.hosts import RECHECK_SECONDS, record_check

    found = report.as_dict() | {"slots": len(context.slots.slots)}
    try:
        with context.database.transaction() as session:
            record_check(session, context.host, found, report.reasons, RECHECK_SECONDS)
    except SQLAlchemyError:
        note("No league was notified: its database does not answer, or there is none.")
