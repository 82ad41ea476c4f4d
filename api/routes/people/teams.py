"""Teams: authors who share bots. Only the captain manages the team itself."""

from __future__ import annotations

from fastapi import APIRouter, Response

from deadheat.api.deps import REFUSED, Asker, Id, Shared, UserName
from deadheat.api.schemas import people as schemas
from deadheat.api.schemas.base import Items
from deadheat.league.records.bots import Team
from deadheat.league.service.people import teams

router = APIRouter(prefix="/v1/teams", tags=["teams"])


@router.post("", status_code=201, responses={401: {}, 409: {}})
def create_team(shared: Shared, asker: Asker, body: schemas.TeamRequest, response: Response) -> Team:
    """Create a team with yourself as captain and only member."""
    with shared.db.transaction() as session:
        team = teams.create_team(session, asker, body.name)
    response.headers["Location"] = f"/v1/teams/{team.id}"
    return team


@router.get("", responses={401: {}})
def list_own_teams(shared: Shared, asker: Asker) -> Items[Team]:
    """List the teams that you are in or invited to."""
    with shared.db.reading() as session:
        return Items[Team](items=teams.teams_of(session, asker))


@router.get("/{team_id}", responses={401: {}, 404: {}})
def get_team(shared: Shared, asker: Asker, team_id: Id) -> Team:
    """Return a team."""
    with shared.db.reading() as session:
        return teams.team_info(session, team_id, asker)


@router.patch("/{team_id}", responses=REFUSED)
def hand_over(shared: Shared, asker: Asker, team_id: Id, body: schemas.TeamChange) -> Team:
    """Make another member the captain. Captains only."""
    with shared.db.transaction() as session:
        return teams.hand_over_team(session, asker, team_id, body.captain)


@router.post("/{team_id}/invitations", responses=REFUSED)
def invite(shared: Shared, asker: Asker, team_id: Id, body: schemas.TeamRequest) -> Team:
    """Invite somebody to join. Captains only."""
    with shared.db.transaction() as session:
        return teams.invite_to_team(session, asker, team_id, body.name)


@router.post("/{team_id}/join", responses={401: {}, 404: {}, 409: {}})
def join(shared: Shared, asker: Asker, team_id: Id) -> Team:
    """Accept an invitation."""
    with shared.db.transaction() as session:
        return teams.join_team(session, asker, team_id)


@router.delete("/{team_id}/members/{name}", responses=REFUSED)
def leave(shared: Shared, asker: Asker, team_id: Id, name: UserName) -> Team:
    """Leave a team, or decline an invitation. The captain may remove anybody else. The team keeps its bots."""
    with shared.db.transaction() as session:
        return teams.leave_team(session, asker, team_id, name)
