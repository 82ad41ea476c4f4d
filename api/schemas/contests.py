"""The shapes of contests: those that people begin, and the pages of their lists."""

from typing import Any

from pydantic import Field

from deadheat.api.schemas.base import Input, Items, Page, RowId
from deadheat.league.errors import BadSetting
from deadheat.league.pairing.duel import Duel
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.records.contests import EvaluationPairing
from deadheat.league.sprt import Terms
from deadheat.league.states import ContestKind
from deadheat.league.terms import SeasonName
from deadheat.league.timetable import MOST_MATCHES, MOST_ROUNDS, DeclaredEvaluation

MOST_OPPONENTS = 50
"""The most opponents that are named, or taken from the ranking."""


class SequentialTest(Input):
    """A sequential test in normalised Elo, as `deadheat tournament --sprt` has it: it stops the games as soon as it
    decides.
    """

    elo0: float = Field(ge=-1000, le=1000, description="The difference at which it fails.")
    elo1: float = Field(ge=-1000, le=1000, description="The difference at which it passes; above `elo0`.")
    alpha: float = Field(default=0.05, ge=0.001, lt=0.5, description="Share of wrong passes.")
    beta: float = Field(default=0.05, ge=0.001, lt=0.5, description="Share of wrong failures.")

    def terms(self, setting: str) -> Terms:
        """Return the terms of the test. Raises BadSetting, about `setting`: the bounds do not make a test."""
        try:
            return Terms(self.elo0, self.elo1, alpha=self.alpha, beta=self.beta)
        except ValueError as error:
            raise BadSetting(setting, str(error)) from error


class ChallengeRequest(Input):
    """A request for unrated matches of your version against another bot, or several."""

    season_id: RowId
    bot_id: RowId
    opponent_id: RowId | None = Field(default=None, description="A bot that plays in the season, or one of yours.")
    opponent_ids: list[RowId] = Field(default=[], max_length=MOST_OPPONENTS, description="Further opponents.")
    top: int | None = Field(
        default=None,
        ge=1,
        le=MOST_OPPONENTS,
        description="Further opponents: this many of the best in the newest ranking, without your own.",
    )
    games: int = Field(ge=1, le=100_000, description="Matches against each; with `test`, at most this many.")
    version: RowId | None = Field(default=None, description="null: the newest ready one.")
    opponent_version: RowId | None = Field(
        default=None, description="Of `opponent_id`, if it is yours; null: the version that plays in the season."
    )
    test: SequentialTest | None = Field(
        default=None, description="Judges each opponent separately; null: all games are played."
    )
    private: bool = Field(default=False, description="Only your bot's owners and organisers see the matches.")

    def question(self) -> dict[str, Any]:
        """Return the request as arguments of `requests.ask`. Raises BadSetting: the bounds do not make a test."""
        terms = Duel(self.games, None if self.test is None else self.test.terms("test"))
        return {"terms": terms, **self.model_dump(exclude={"season_id", "games", "test"})}


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


class ChallengePage(Page):
    """The filter of a list of challenges."""

    season: RowId | None = None


class ContestPage(ChallengePage):
    """The filter of a list of contests."""

    kind: ContestKind | None = Field(default=None, description="Only of this kind.")

    @property
    def kinds(self) -> list[ContestKind]:
        """The kinds to list."""
        return [*ContestKind] if self.kind is None else [self.kind]
