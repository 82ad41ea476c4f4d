"""Contests: lists, results and ends of all kinds; what `/v1` had before as evaluations and challenges stays."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from sqlmodel import Session, col

from deadheat.api.deps import REFUSED, Asker, Id, Shared, Viewer
from deadheat.api.edge.caching import NOWHERE
from deadheat.api.routes.matches import Matches
from deadheat.api.schemas import base
from deadheat.api.schemas import contests as schemas
from deadheat.engine.language import _
from deadheat.league.errors import WrongState
from deadheat.league.records.contests import Contest, ContestDetail, Evaluation, EvaluationDetail
from deadheat.league.records.entries import AskedChallenge
from deadheat.league.service.duels import requests
from deadheat.league.service.evaluations.beginning import begin_now, cancel_evaluation, resume_evaluation
from deadheat.league.service.people.person import Person
from deadheat.league.service.views import contests as views
from deadheat.league.service.views import former
from deadheat.league.service.views.matches import matches
from deadheat.league.states import EVALUATIONS, ContestKind
from deadheat.league.tables import Contest as ContestRow

router = APIRouter(prefix="/v1", tags=["contests"])

RoundNumber = Annotated[int, Path(ge=1, le=base.MAX_ID)]
OfKind = Annotated[
    ContestKind | None, Query(description="The number is the one in the addresses of this kind: `known_as`.")
]
APage = Annotated[base.Page, Query()]
ContestPage = Annotated[schemas.ContestPage, Query()]


@router.get("/seasons/{season_id}/contests", responses={404: {}})
def list_contests(shared: Shared, season_id: Id, page: ContestPage) -> base.Paged[Contest]:
    """List the season's contests that everybody may see, the newest first."""
    with shared.db.reading() as session:
        items = views.of_season(session, season_id, page.kinds, before=page.before, limit=page.size)
    return base.Paged[Contest](items=items, next=page.next(items, lambda contest: contest.id))


@router.get("/contests", responses={401: {}})
def list_own_contests(shared: Shared, asker: Asker, page: ContestPage) -> base.Paged[Contest]:
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
    """Return a contest with its results so far. Gates, panels and private challenges are seen by their bots' owners and
    by organisers without a bot in the season.
    """
    response.headers["Cache-Control"] = NOWHERE
    with shared.db.reading() as session:
        return views.contest(session, views.must_see(session, viewer, contest_id, kind).id)


@router.get("/contests/{contest_id}/rounds/{number}", responses={404: {}})
def get_contest_round(
    shared: Shared, viewer: Viewer, contest_id: Id, number: RoundNumber, response: Response
) -> schemas.EvaluationRound:
    """List the pairings of a round with their matches; there are none before it is drawn."""
    response.headers["Cache-Control"] = NOWHERE
    with shared.db.reading() as session:
        row = views.must_see(session, viewer, contest_id)
        return schemas.EvaluationRound(items=views.pairings(session, row.id, number)[0])


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
    """End a challenge of one of your bots, or, as an organiser, an evaluation. Matches in progress are played to the
    end.
    """
    with shared.db.transaction() as session:
        end_contest(session, asker, contest_id)
        return views.contest(session, contest_id)


def end_contest(session: Session, person: Person, contest_id: int) -> None:
    """End a contest at a person's request. Raises NotFound, NotAllowed, WrongState."""
    row = views.must_see(session, person, contest_id)
    if row.kind in EVALUATIONS:
        cancel_evaluation(session, person, contest_id)
    elif row.kind is ContestKind.REQUEST:
        requests.stop(session, person, row.public_id)
    else:
        raise WrongState(row.state, _("A gate or a panel ends by itself."))


@router.post("/contests/{contest_id}/resume", responses=REFUSED)
def resume_contest(shared: Shared, asker: Asker, contest_id: Id) -> ContestDetail:
    """Continue a cancelled evaluation; what was dropped with it is played, too. Organisers only."""
    with shared.db.transaction() as session:
        resume_evaluation(session, asker, contest_id)
        return views.contest(session, contest_id)


# Challenges ---------------------------------------------------------------------------------------------------------


@router.post("/challenges", status_code=201, responses={**REFUSED, 429: {}})
def ask(shared: Shared, asker: Asker, body: schemas.ChallengeRequest, response: Response) -> AskedChallenge:
    """Ask for unrated matches. Rated matches go first, an author's challenges one after another."""
    with shared.db.transaction() as session:
        made = requests.ask(session, asker, body.season_id, **body.question())
    response.headers["Location"] = f"/v1/challenges/{made.id}"
    return made


@router.get("/challenges", responses={401: {}})
def list_challenges(
    shared: Shared, asker: Asker, page: Annotated[schemas.ChallengePage, Query()]
) -> base.Paged[AskedChallenge]:
    """List the challenges of your bots, the newest first."""
    with shared.db.reading() as session:
        items = former.asked(session, asker, season_id=page.season, before=page.before, limit=page.size)
    return base.Paged[AskedChallenge](items=items, next=page.next(items, lambda challenge: challenge.id))


@router.get("/challenges/{challenge_id}", responses={404: {}})
def get_challenge(shared: Shared, viewer: Viewer, challenge_id: Id, response: Response) -> AskedChallenge:
    """Return a challenge with its counts. Only its bot's owners and organisers see a private one."""
    response.headers["Cache-Control"] = NOWHERE
    with shared.db.reading() as session:
        return former.asked_challenge(session, viewer, challenge_id)


@router.get("/challenges/{challenge_id}/matches", responses={404: {}})
def list_matches(shared: Shared, viewer: Viewer, challenge_id: Id, page: APage, response: Response) -> Matches:
    """List a challenge's matches, the last planned first."""
    with shared.db.reading() as session:
        number = views.must_see(session, viewer, challenge_id, ContestKind.REQUEST).id
    return list_contest_matches(shared, viewer, number, page, response)


@router.post("/challenges/{challenge_id}/stop", responses={401: {}, 404: {}, 409: {}})
def stop(shared: Shared, asker: Asker, challenge_id: Id) -> AskedChallenge:
    """End a challenge of one of your bots. Matches in progress are played to the end."""
    with shared.db.transaction() as session:
        return requests.stop(session, asker, challenge_id)


# Evaluations --------------------------------------------------------------------------------------------------------


@router.get("/seasons/{season_id}/evaluations", responses={404: {}})
def list_evaluations(shared: Shared, season_id: Id, page: APage) -> base.Paged[Evaluation]:
    """List the season's evaluations, the newest first."""
    with shared.db.reading() as session:
        items = former.evaluations(session, season_id, before=page.before, limit=page.size)
    return base.Paged[Evaluation](items=items, next=page.next(items, lambda evaluation: evaluation.number))


@router.post("/seasons/{season_id}/evaluations", status_code=201, responses={**REFUSED, 422: {}})
def begin(
    shared: Shared, asker: Asker, season_id: Id, body: schemas.EvaluationRequest, response: Response
) -> EvaluationDetail:
    """Begin an evaluation now, whatever the timetable says. Organisers only."""
    with shared.db.transaction() as session:
        row = begin_now(session, asker, season_id, body.declared)
        made = former.evaluation(session, row.id)
    response.headers["Location"] = f"/v1/evaluations/{made.id}"
    return made


@router.get("/evaluations/{evaluation_id}", responses={404: {}})
def get_evaluation(shared: Shared, evaluation_id: Id) -> EvaluationDetail:
    """Return an evaluation with its standings: final ones, or those so far."""
    with shared.db.reading() as session:
        return former.evaluation(session, evaluation_id)


@router.get("/evaluations/{evaluation_id}/rounds/{number}", responses={404: {}})
def get_round(shared: Shared, evaluation_id: Id, number: RoundNumber) -> schemas.EvaluationRound:
    """List the pairings of a round with their matches; there are none before it is drawn."""
    with shared.db.reading() as session:
        return schemas.EvaluationRound(items=former.round_of(session, evaluation_id, number))


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
