"""Contests: lists, results and ends of all kinds; what `/v1` had before as evaluations and challenges stays."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field
from sqlmodel import col

from deadheat.api import schemas as base
from deadheat.api.deps import REFUSED, Asker, Id, Shared, Viewer
from deadheat.api.edge.caching import NOWHERE
from deadheat.api.routes.matches import Matches
from deadheat.engine.language import _
from deadheat.league.errors import BadSetting, WrongState
from deadheat.league.pairing.duel import Duel
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.records.contests import Contest, ContestDetail, Evaluation, EvaluationDetail, EvaluationPairing
from deadheat.league.records.entries import AskedChallenge
from deadheat.league.service.duels import requests
from deadheat.league.service.evaluations.beginning import begin_now, cancel_evaluation, resume_evaluation
from deadheat.league.service.views import contests as views
from deadheat.league.service.views import former
from deadheat.league.service.views.matches import matches
from deadheat.league.sprt import Terms
from deadheat.league.states import EVALUATIONS, ContestKind
from deadheat.league.tables import Contest as ContestRow
from deadheat.league.terms import SeasonName
from deadheat.league.timetable import MOST_MATCHES, MOST_ROUNDS, DeclaredEvaluation

MOST_OPPONENTS = 50
"""The most opponents that are named, or taken from the ranking."""


class SequentialTest(base.Input):
    """A sequential test in normalised Elo, as `deadheat tournament --sprt` has it: it stops the games as soon
    as it decides.
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


class ChallengeRequest(base.Input):
    """A request for unrated matches of your version against another bot, or several."""

    season_id: base.RowId
    bot_id: base.RowId
    opponent_id: base.RowId | None = Field(default=None, description="A bot that plays in the season, or one of yours.")
    opponent_ids: list[base.RowId] = Field(default=[], max_length=MOST_OPPONENTS, description="Further opponents.")
    top: int | None = Field(
        default=None,
        ge=1,
        le=MOST_OPPONENTS,
        description="Further opponents: this many of the best in the newest ranking, without your own.",
    )
    games: int = Field(ge=1, le=100_000, description="Matches against each; with `test`, at most this many.")
    version: base.RowId | None = Field(default=None, description="null: the newest ready one.")
    opponent_version: base.RowId | None = Field(
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


class EvaluationRequest(base.Input):
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


class EvaluationRound(base.Items[EvaluationPairing]):
    """The pairings of a round, board by board."""


class _ChallengePage(base.Page):
    """The filter of a list of challenges."""

    season: base.RowId | None = None


class _ContestPage(_ChallengePage):
    """The filter of a list of contests."""

    kind: ContestKind | None = Field(default=None, description="Only of this kind.")

    @property
    def kinds(self) -> list[ContestKind]:
        """The kinds to list."""
        return [*ContestKind] if self.kind is None else [self.kind]


router = APIRouter(prefix="/v1", tags=["contests"])

RoundNumber = Annotated[int, Path(ge=1, le=base.MAX_ID)]
OfKind = Annotated[
    ContestKind | None, Query(description="The number is the one in the addresses of this kind: `known_as`.")
]
APage = Annotated[base.Page, Query()]
ShownKinds = Annotated[_ContestPage, Query()]


@router.get("/seasons/{season_id}/contests", responses={404: {}})
def list_contests(shared: Shared, season_id: Id, page: ShownKinds) -> base.Paged[Contest]:
    """List the season's contests that everybody may see, the newest first."""
    items = shared.read(views.of_season, season_id, page.kinds, before=page.before, limit=page.size)
    return base.Paged[Contest](items=items, next=page.next(items, lambda contest: contest.id))


@router.get("/contests", responses={401: {}})
def list_own_contests(shared: Shared, asker: Asker, page: ShownKinds) -> base.Paged[Contest]:
    """List the duels of your bots, the newest first: challenges, gates and panels."""
    with shared.db.reading() as session:
        mine = [views.played_for(asker), col(ContestRow.kind).in_(page.kinds)]
        if page.season is not None:
            mine.append(col(ContestRow.season_id) == page.season)
        items = views.contests(session, *mine, before=page.before, limit=page.size)
    return base.Paged[Contest](items=items, next=page.next(items, lambda contest: contest.id))


@router.get("/contests/{contest_id}", responses={404: {}})
def get_contest(
    shared: Shared, viewer: Viewer, contest_id: Id, response: Response, kind: OfKind = None
) -> ContestDetail:
    """Return a contest with its results so far. Gates, panels and private challenges are seen by their bots'
    owners and by organisers without a bot in the season.
    """
    response.headers["Cache-Control"] = NOWHERE
    with shared.db.reading() as session:
        return views.contest(session, views.must_see(session, viewer, contest_id, kind).id)


@router.get("/contests/{contest_id}/rounds/{number}", responses={404: {}})
def get_contest_round(
    shared: Shared, viewer: Viewer, contest_id: Id, number: RoundNumber, response: Response
) -> EvaluationRound:
    """List the pairings of a round with their matches; there are none before it is drawn."""
    response.headers["Cache-Control"] = NOWHERE
    with shared.db.reading() as session:
        row = views.must_see(session, viewer, contest_id)
        return EvaluationRound(items=views.pairings(session, row.id, number)[0])


@router.get("/contests/{contest_id}/matches", responses={404: {}})
def list_contest_matches(shared: Shared, viewer: Viewer, contest_id: Id, page: APage, response: Response) -> Matches:
    """List a contest's matches, the last planned first."""
    response.headers["Cache-Control"] = NOWHERE
    with shared.db.reading() as session:
        row = views.must_see(session, viewer, contest_id)
        items = matches(session, contest_id=row.id, before=page.before, limit=page.size)
    return Matches(items=items, next=page.next(items, lambda match: match.id))


@router.post("/contests/{contest_id}/cancel", responses=REFUSED)
def cancel_contest(shared: Shared, asker: Asker, contest_id: Id) -> ContestDetail:
    """End a challenge of one of your bots, or, as an organiser, an evaluation. Matches in progress are played
    to the end.
    """
    with shared.db.transaction() as session:
        row = views.must_see(session, asker, contest_id)
        if row.kind in EVALUATIONS:
            cancel_evaluation(session, asker, contest_id)
        elif row.kind is ContestKind.REQUEST:
            requests.stop(session, asker, row.public_id)
        else:
            raise WrongState(row.state, _("A gate or a panel ends by itself."))
        return views.contest(session, contest_id)


@router.post("/contests/{contest_id}/resume", responses=REFUSED)
def resume_contest(shared: Shared, asker: Asker, contest_id: Id) -> ContestDetail:
    """Continue a cancelled evaluation; what was dropped with it is played, too. Organisers only."""
    with shared.db.transaction() as session:
        resume_evaluation(session, asker, contest_id)
        return views.contest(session, contest_id)


# Challenges ---------------------------------------------------------------------------------------------------------


@router.post("/challenges", status_code=201, responses={**REFUSED, 429: {}})
def ask(shared: Shared, asker: Asker, body: ChallengeRequest, response: Response) -> AskedChallenge:
    """Ask for unrated matches. Rated matches go first, an author's challenges one after another."""
    made = shared.change(requests.ask, asker, body.season_id, **body.question())
    response.headers["Location"] = f"/v1/challenges/{made.id}"
    return made


@router.get("/challenges", responses={401: {}})
def list_challenges(
    shared: Shared, asker: Asker, page: Annotated[_ChallengePage, Query()]
) -> base.Paged[AskedChallenge]:
    """List the challenges of your bots, the newest first."""
    items = shared.read(former.asked, asker, season_id=page.season, before=page.before, limit=page.size)
    return base.Paged[AskedChallenge](items=items, next=page.next(items, lambda challenge: challenge.id))


@router.get("/challenges/{challenge_id}", responses={404: {}})
def get_challenge(shared: Shared, viewer: Viewer, challenge_id: Id, response: Response) -> AskedChallenge:
    """Return a challenge with its counts. Only its bot's owners and organisers see a private one."""
    response.headers["Cache-Control"] = NOWHERE
    return shared.read(former.asked_challenge, viewer, challenge_id)


@router.get("/challenges/{challenge_id}/matches", responses={404: {}})
def list_matches(shared: Shared, viewer: Viewer, challenge_id: Id, page: APage, response: Response) -> Matches:
    """List a challenge's matches, the last planned first."""
    with shared.db.reading() as session:
        number = views.must_see(session, viewer, challenge_id, ContestKind.REQUEST).id
    return list_contest_matches(shared, viewer, number, page, response)


@router.post("/challenges/{challenge_id}/stop", responses={401: {}, 404: {}, 409: {}})
def stop(shared: Shared, asker: Asker, challenge_id: Id) -> AskedChallenge:
    """End a challenge of one of your bots. Matches in progress are played to the end."""
    return shared.change(requests.stop, asker, challenge_id)


# Evaluations --------------------------------------------------------------------------------------------------------


@router.get("/seasons/{season_id}/evaluations", responses={404: {}})
def list_evaluations(shared: Shared, season_id: Id, page: APage) -> base.Paged[Evaluation]:
    """List the season's evaluations, the newest first."""
    items = shared.read(former.evaluations, season_id, before=page.before, limit=page.size)
    return base.Paged[Evaluation](items=items, next=page.next(items, lambda evaluation: evaluation.number))


@router.post("/seasons/{season_id}/evaluations", status_code=201, responses={**REFUSED, 422: {}})
def begin(shared: Shared, asker: Asker, season_id: Id, body: EvaluationRequest, response: Response) -> EvaluationDetail:
    """Begin an evaluation now, whatever the timetable says. Organisers only."""
    with shared.db.transaction() as session:
        row = begin_now(session, asker, season_id, body.declared)
        made = former.evaluation(session, row.id)
    response.headers["Location"] = f"/v1/evaluations/{made.id}"
    return made


@router.get("/evaluations/{evaluation_id}", responses={404: {}})
def get_evaluation(shared: Shared, evaluation_id: Id) -> EvaluationDetail:
    """Return an evaluation with its standings: final ones, or those so far."""
    return shared.read(former.evaluation, evaluation_id)


@router.get("/evaluations/{evaluation_id}/rounds/{number}", responses={404: {}})
def get_round(shared: Shared, evaluation_id: Id, number: RoundNumber) -> EvaluationRound:
    """List the pairings of a round with their matches; there are none before it is drawn."""
    with shared.db.reading() as session:
        return EvaluationRound(items=former.round_of(session, evaluation_id, number))


@router.post("/evaluations/{evaluation_id}/cancel", responses=REFUSED)
def cancel(shared: Shared, asker: Asker, evaluation_id: Id) -> EvaluationDetail:
    """End an evaluation that is being played, without final standings. Organisers only."""
    with shared.db.transaction() as session:
        cancel_evaluation(session, asker, evaluation_id)
        return former.evaluation(session, evaluation_id)


@router.post("/evaluations/{evaluation_id}/resume", responses=REFUSED)
def resume(shared: Shared, asker: Asker, evaluation_id: Id) -> EvaluationDetail:
    """Continue a cancelled evaluation; what was dropped with it is played, too. Organisers only."""
    with shared.db.transaction() as session:
        resume_evaluation(session, asker, evaluation_id)
        return former.evaluation(session, evaluation_id)
