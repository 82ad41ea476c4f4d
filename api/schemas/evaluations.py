"""The shapes of evaluations."""

from __future__ import annotations

from pydantic import Field

from deadheat.api.schemas.base import Input, Items
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.records.evaluations import EvaluationPairing
from deadheat.league.terms import SeasonName
from deadheat.league.timetable import MOST_MATCHES, MOST_ROUNDS, DeclaredEvaluation


class EvaluationRequest(Input):
    """An evaluation that begins at once."""

    name: SeasonName = "By hand"
    format: EvaluationFormat
    rounds: int | None = Field(
        default=None, ge=1, le=MOST_ROUNDS, description="The number of rounds; required for a Swiss."
    )
    matches: int = Field(default=2, ge=1, le=MOST_MATCHES, description="Matches per meeting.")
    counts: bool = Field(default=False, description="Whether its matches count in the season's ranking, too.")

    @property
    def declared(self) -> DeclaredEvaluation:
        """The evaluation as a timetable declares it, without times."""
        return DeclaredEvaluation(**self.model_dump())


class EvaluationRound(Items[EvaluationPairing]):
    """The pairings of a round, board by board."""
