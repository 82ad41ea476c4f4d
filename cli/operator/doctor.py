"""`deadheat doctor`: is this deployment well, and if not, what is to be done?"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from pydantic import ValidationError

from cli.console import fail, out, plain
from cli.operator.checkup import Role, Verdict, look
from league.config import Settings

COLOURS = {Verdict.GOOD: "green", Verdict.REMARK: "magenta", Verdict.WRONG: "red"}


def register(app: typer.Typer) -> None:
    """Add this module's verb to `app`."""
    app.command()(doctor)


def doctor(
    role: Annotated[Role, typer.Option(help="This machine's role; checks only what it needs.")] = Role.ALL,
    as_json: Annotated[bool, typer.Option("--json", help="Print each finding as a line of JSON.")] = False,
) -> None:
    """Check everything that a deployment needs and say how to fix problems; exit code 1 if there are any."""
    try:
        settings = Settings()
    except ValidationError as error:
        fail(
            "; ".join(
                f"DEADHEAT_{str(found['loc'][0]).upper()}: {found['msg']}" if found["loc"] else found["msg"]
                for found in error.errors()
            )
        )
    count = wrong = 0
    for finding in look(settings, role):
        count += 1
        wrong += finding.verdict is Verdict.WRONG
        if as_json:
            print(json.dumps(asdict(finding)), flush=True)
            continue
        colour = COLOURS[finding.verdict]
        out.print(f"[{colour}]{finding.verdict:>6}[/]  {finding.about}: {plain(finding.text)}", soft_wrap=True)
        if finding.cure and finding.verdict is not Verdict.GOOD:
            out.print(f"        fix:  {plain(finding.cure)}", soft_wrap=True)
    if not as_json:
        said = "nothing is wrong" if not wrong else f"[red]{wrong} {'is' if wrong == 1 else 'are'} WRONG[/]"
        out.print(f"{count} things checked, {said}.")
    if wrong:
        raise typer.Exit(1)
