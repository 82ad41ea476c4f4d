"""`deadheat evaluations`: a season's evaluations, their standings and rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer
from rich.console import RenderableType

from deadheat.cli.console import USAGE, fail
from deadheat.cli.output import Column, Columns, Output, table, tabled
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import Most, visits
from deadheat.league.pairing.figures import CHOICE, NEWEST, Figure
from deadheat.league.pairing.formats import USUAL
from deadheat.league.records.evaluations import (
    BracketTie,
    Evaluation,
    EvaluationDetail,
    EvaluationPairing,
    EvaluationSeat,
    EvaluationStanding,
)


@visits
def evaluations(
    client: Client,
    season: Annotated[int, typer.Option(min=0, help="List those of this season.")] = 0,
    evaluation: Annotated[
        int | None, typer.Argument(min=1, show_default=False, help="Show this one's standings.")
    ] = None,
    rnd: Annotated[int, typer.Option("--round", min=0, help="Show this round's pairings instead.")] = 0,
    limit: Most = 20,
) -> Output:
    """List a season's evaluations, newest first, or show the standings of one, or the pairings of a round."""
    if evaluation is None:
        if not season:
            fail("give --season to list a season's evaluations, or the number of one", USAGE)
        return tabled(client.evaluations(season, limit=limit), LIST, "There are none yet.")
    if rnd:
        return tabled(client.evaluation_round(evaluation, rnd), PAIRINGS, "This round has not been drawn yet.")
    found = client.evaluation(evaluation)
    return Output(found, _shown(found))


def _shown(found: EvaluationDetail) -> Iterator[RenderableType]:
    said = f"{found.name}, number {found.number}: {found.state}, round {_rounds(found, ' of ')}."
    yield f"{said} {found.reason}".strip()
    yield table(found.standings, (*PLACES, *_ties(found), SEED))
    if found.bracket:
        yield table(found.bracket, BRACKET)


def _ties(found: EvaluationDetail) -> Iterable[Column[EvaluationStanding]]:
    """Return the columns of the tie-breaks, or none if the server follows rules unknown to this command."""
    if found.tie_breaks is not None:
        return [_column(CHOICE[name]) for name in found.tie_breaks if name in CHOICE]
    return map(_column, USUAL.get(found.format, ()) if found.rules <= NEWEST else ())


def _column(figure: Figure) -> Column[EvaluationStanding]:
    return Column(figure.short, lambda one: f"{getattr(one, figure.name):g}", right=True)


def _seat(one: EvaluationSeat) -> str:
    return f"{one.bot} v{one.version}"


def _tie(one: BracketTie) -> str:
    other = _seat(one.second) if one.second else "bye" if one.is_bye else "?"
    return " - ".join([_seat(one.first) if one.first else "?", other, *map(_seat, one.seats[2:])])


def _advancing(one: BracketTie) -> str:
    return ", ".join(_seat(seat) for seat in one.seats if seat.version_id in one.advancing)


def _rounds(one: Evaluation, of: str) -> str:
    """Return the round out of all rounds, and the number of further ones between two bots at the cut."""
    more = one.round - one.rounds
    return f"{min(one.round, one.rounds)}{of}{one.rounds}" + (f" + {more}" if more > 0 else "")


LIST: Columns[Evaluation] = (
    Column("evaluation", lambda one: one.id, right=True),
    Column("name", lambda one: f"{one.name} {one.number}"),
    Column("format", lambda one: one.format, whole=True),
    Column("bots", lambda one: one.players, right=True),
    Column("rounds", lambda one: _rounds(one, "/"), right=True),
    Column("state", lambda one: one.state, whole=True),
    Column("due", lambda one: f"{one.due_at:%Y-%m-%d %H:%M}", whole=True),
)

PLACES: Columns[EvaluationStanding] = (
    Column("#", lambda one: one.place, right=True),
    Column("bot", lambda one: f"{one.bot} v{one.version}"),
    Column("author", lambda one: one.author),
    Column("points", lambda one: f"{one.points:g}", right=True),
)

SEED: Column[EvaluationStanding] = Column("seed", lambda one: one.seed, right=True)

PAIRINGS: Columns[EvaluationPairing] = (
    Column("board", lambda one: one.board, right=True),
    Column("bots", lambda one: " - ".join([*map(_seat, one.seats), *(["bye"] if one.second is None else [])])),
    Column("points", lambda one: " : ".join(f"{taken:g}" for taken in one.points), right=True),
    Column("", lambda one: "" if one.settled else "in progress"),
    Column("matches", lambda one: ", ".join(map(str, one.match_ids))),
)

BRACKET: Columns[BracketTie] = (
    Column("round", lambda one: one.round, right=True),
    Column("slot", lambda one: one.slot, right=True),
    Column("bots", _tie),
    Column("points", lambda one: " : ".join(f"{taken:g}" for taken in one.points), right=True),
    Column("advances", _advancing),
)
