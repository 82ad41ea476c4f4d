"""The sequential test on counted results: whether one bot is stronger than another."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from deadheat.cli.console import USAGE, fail
from deadheat.cli.output import Output, says
from deadheat.engine.figures import counted

if TYPE_CHECKING:
    from deadheat.league.sprt import State


@says
def sprt(
    elo0: Annotated[float, typer.Option(help="Difference under H0.")],
    elo1: Annotated[float, typer.Option(help="Difference under H1.")],
    counts: Annotated[str, typer.Option(help="L,D,W of games, or LL,LD,DD,WD,WW of pairs (WL counts as DD).")],
    model: Annotated[
        Literal["normalized", "logistic"], typer.Option(help="What elo0 and elo1 measure.")
    ] = "normalized",
    alpha: Annotated[float, typer.Option(help="Share of wrong verdicts under H0.")] = 0.05,
    beta: Annotated[float, typer.Option(help="Share of wrong verdicts under H1.")] = 0.05,
) -> Output:
    """Say whether results so far accept H1, reject it, or call for more games."""
    from deadheat.league.sprt import Model, Terms, test  # numpy takes longer to import than a command takes to parse

    try:
        state = test(_numbers(counts), Terms(elo0, elo1, Model(model), alpha, beta))
    except ValueError as error:
        fail(str(error), USAGE)
    return Output(asdict(state), _lines(state, elo0, elo1))


def bounds(text: str) -> dict[str, float] | None:
    """Return ELO0,ELO1 of an option --sprt by name; None for no text. End the command if they bound no test."""
    if not text:
        return None
    from deadheat.league.sprt import Terms

    try:
        elo0, elo1 = map(float, text.split(","))
        Terms(elo0, elo1)
    except ValueError as error:
        fail(f"--sprt takes two differences in Elo, such as 0,20: {error}", USAGE)
    return {"elo0": elo0, "elo1": elo1}


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        raise ValueError("counts are whole numbers with commas between them, such as 10,20,30")
    return [int(part) for part in parts]


def _lines(state: State, elo0: float, elo1: float) -> list[str]:
    score = "" if state.score is None else f", score {100 * state.score:.2f} %"
    played = counted(state.games, "game")
    said = {
        "accept": f"H1 is accepted: the difference is {elo1:g} rather than {elo0:g} Elo.",
        "reject": f"H1 is rejected: the difference is {elo0:g} rather than {elo1:g} Elo.",
        "continue": "Undecided: more games are needed.",
    }
    head = f"LLR {state.llr:.2f} in [{state.lower:.2f}, {state.upper:.2f}] after {played}{score}"
    return [head, said[state.verdict.value]]
