"""Contests as earlier releases knew them: evaluations, challenges and panel results, which `/v1` still has."""

from typing import Any

from sqlmodel import Session, col, func, select

from deadheat.league.records import contests as records
from deadheat.league.records import from_row
from deadheat.league.records.contests import Evaluation, EvaluationDetail, EvaluationPairing
from deadheat.league.records.entries import AskedChallenge, Challenge, PanelResult
from deadheat.league.service.bots.bots import own_bot
from deadheat.league.service.evaluations.beginning import existing_evaluation
from deadheat.league.service.ground.lookups import existing_entry
from deadheat.league.service.ground.steps import existing
from deadheat.league.service.people.person import Person
from deadheat.league.service.views.contests import (
    at_gate,
    at_panels,
    contest,
    contests,
    must_see,
    opponents_of,
    pairings,
    played_for,
)
from deadheat.league.states import EVALUATIONS, ChallengeState, ContestKind, EvaluationState
from deadheat.league.tables import Contest, Entry, Season


def evaluations(session: Session, season_id: int, *, before: int | None = None, limit: int = 50) -> list[Evaluation]:
    """Return the season's evaluations and stages, the newest first; `before`: only with a lower number among them.
    Raises NotFound.
    """
    existing(session, Season, season_id)
    here = [col(Contest.season_id) == season_id, col(Contest.kind).in_(EVALUATIONS)]
    rows = contests(session, *here, *([] if before is None else [col(Contest.number) < before]), limit=limit)
    return [from_row(Evaluation, row, state=EvaluationState(row.state)) for row in rows]


def evaluation(session: Session, evaluation_id: int) -> EvaluationDetail:
    """Return an evaluation with its standings (see `contest`). Raises NotFound."""
    row = contest(session, existing_evaluation(session, evaluation_id).id)
    return from_row(EvaluationDetail, row, state=EvaluationState(row.state))


def round_of(session: Session, evaluation_id: int, number: int) -> list[EvaluationPairing]:
    """Return the pairings of a round of an evaluation. Raises NotFound."""
    return pairings(session, existing_evaluation(session, evaluation_id).id, number)[0]


def challenges(session: Session, asker: Person, season_id: int, bot_id: int) -> list[Challenge]:
    """Return a bot's duels at its gate in a season, the newest first, for its author and organisers. Raises
    NotFound.
    """
    if not asker.organises:
        own_bot(session, asker, bot_id)
    existing_entry(session, season_id, bot_id)
    return [
        from_row(Challenge, row, id=row.known_as, candidate=own.version, incumbent=other.version, **_duel_of(row))
        for row in at_gate(session, season_id, bot_id, 50, running=True)
        for own, other in (row.versions,)
    ]


def _duel_of(row: records.Contest) -> dict[str, Any]:
    return {"state": ChallengeState(row.state), "games_limit": row.matches}


def asked(
    session: Session, asker: Person, *, season_id: int | None = None, before: int | None = None, limit: int = 50
) -> list[AskedChallenge]:
    """List the requests of the caller's own bots, the newest first."""
    conditions = [played_for(asker), col(Contest.kind) == ContestKind.REQUEST]
    if season_id is not None:
        conditions.append(col(Contest.season_id) == season_id)
    if before is not None:
        conditions.append(func.coalesce(col(Contest.former_id), col(Contest.id)) < before)
    return [_asked(row) for row in contests(session, *conditions, limit=limit)]


def asked_challenge(session: Session, viewer: Person | None, challenge_id: int) -> AskedChallenge:
    """Return a request, if the caller may see its matches. Raises NotFound."""
    row = must_see(session, viewer, challenge_id, ContestKind.REQUEST)
    return _asked(contests(session, col(Contest.id) == row.id)[0])


def _asked(row: records.Contest) -> AskedChallenge:
    own, other = row.versions[:2]
    assert row.asker is not None, "somebody asked for it"
    return from_row(
        AskedChallenge,
        row,
        **_duel_of(row),
        id=row.known_as,
        **{name: getattr(own, name) for name in ("bot_id", "bot", "version", "version_id")},
        opponent_id=other.bot_id,
        **{f"opponent_{name}": getattr(other, name) for name in ("author", "version", "version_id")},
        opponent=other.bot,
        games_planned=row.planned,
        opponents=len(row.versions) - 1,
    )


def panel_results(session: Session, owner: Person, bot_id: int, version: int | None = None) -> list[PanelResult]:
    """List the panel results of the caller's bot, or of one version; the newest hundred first. Raises NotFound."""
    own_bot(session, owner, bot_id)
    rows = at_panels(session, bot_id, version)
    versions = (version for row in rows for version in row.versions)
    opponents = opponents_of(session, [row.id for row in rows], versions)
    entered = select(Entry.season_id, Entry.version_id).where(Entry.bot_id == bot_id, ~col(Entry.waits_for_panel))
    plays = {(season, version_id) for season, version_id in session.exec(entered)}
    return [
        from_row(
            PanelResult,
            row,
            id=row.known_as,
            state=ChallengeState(row.state),
            bot_id=bot_id,
            version=row.versions[0].version,
            waits=bool(row.waits),
            plays=(row.season_id, row.versions[0].version_id) in plays,
            points=row.wins + row.draws / 2,
            most=row.matches * len(opponents[row.id]) if row.elo0 is None else row.wins + row.draws + row.losses,
            opponents=opponents[row.id],
        )
        for row in rows
    ]
