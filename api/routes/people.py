"""Accounts, their secrets, teams and notices."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field, StringConstraints

from deadheat.api import schemas as base
from deadheat.api.deps import REFUSED, Asker, Id, Shared, UserName
from deadheat.league.records import from_row
from deadheat.league.records.bots import NewToken, Notice, Team, Token, User
from deadheat.league.service.people import access, notices, teams, users
from deadheat.league.service.people.person import Person
from deadheat.league.states import Scope

Password = Annotated[str, StringConstraints(min_length=10, max_length=256)]

TokenDays = Annotated[int, Field(ge=1, le=3650)]


class NewAuthor(base.Input):
    """A name for an author without a password."""

    name: base.Name
    code: str = Field(default="", max_length=64, description="The invitation code, if sign-up requires one.")


class SignUp(NewAuthor):
    """A new author."""

    password: Password = Field(examples=["correct horse battery staple"])


class TokenRequest(base.Input):
    """A request for a token, by name and password."""

    name: base.Name
    password: Annotated[str, StringConstraints(max_length=256)]
    label: base.Label = Field(default="token", description="To tell tokens apart later.", examples=["laptop"])
    scope: Scope = Field(
        default=Scope.FULL,
        description="`read`, `submit` (create bots, upload, enter seasons: for your CI), `author` (manage everything "
        "that is yours), `full` (also organise, if you are an organiser).",
    )
    days: TokenDays | None = Field(
        default=None,
        description="Days until it expires; null, or more than the deployment allows: the deployment's maximum.",
    )


class TeamRequest(base.Input):
    """A new team, or somebody's name."""

    name: base.Name = Field(examples=["lovelace"])


class TeamChange(base.Input):
    """The new captain."""

    captain: base.Name = Field(examples=["ada"])


class Inbox(base.Paged[Notice]):
    """A page of your notices. `unread` counts all of them, not only those of this page."""

    unread: int


class ReadRequest(base.Input):
    """The newest notice that was read."""

    up_to: base.RowId = Field(description="The id of a notice; it and all earlier ones are marked as read.")


class Unread(BaseModel):
    """How many notices are unread."""

    unread: int


users_router = APIRouter(prefix="/v1/users", tags=["users"])


@users_router.post("", status_code=201, responses={403: {}, 409: {}, 422: {}, 429: {}})
def sign_up(shared: Shared, request: Request, body: SignUp) -> User:
    """Sign up as an author; then ask for a token."""
    shared.rates.sign_up(request, body.code)
    person = shared.change(users.sign_up, body.name, body.password, body.code)
    shared.rates.invited(request)
    return User(person.id, person.name, person.role)


@users_router.get("/me", responses={401: {}})
def me(asker: Asker) -> User:
    """Return the owner of the token."""
    return User(asker.id, asker.name, asker.role)


tokens_router = APIRouter(prefix="/v1/tokens", tags=["tokens"])


@tokens_router.post("", status_code=201, responses={401: {}, 403: {}, 409: {}, 422: {}, 429: {}})
def issue_token(shared: Shared, request: Request, body: TokenRequest) -> NewToken:
    """Create a token. Its secret is not shown again."""
    person = checked_person(shared, request, body.name, body.password)
    with shared.db.transaction() as session:
        users.must_still_open(session, person, body.password)
        issued = access.issue_token(session, person.id, body.label, body.scope, body.days)
    return NewToken(id=issued.id, token=issued.secret, scope=body.scope, expires_at=issued.expires_at)


@tokens_router.get("", responses={401: {}})
def list_tokens(shared: Shared, asker: Asker) -> base.Items[Token]:
    """List your tokens, the newest first, without their secrets."""
    return base.Items[Token](items=[from_row(Token, row) for row in shared.read(access.tokens, asker.id)])


@tokens_router.delete("/{token_id}", status_code=204, responses={401: {}, 403: {}, 404: {}})
def revoke_token(shared: Shared, asker: Asker, token_id: Id) -> None:
    """Revoke one of your tokens at once."""
    shared.change(access.revoke, asker.id, token_id)


def checked_person(shared: Shared, request: Request, name: str, password: str) -> Person:
    """Return the person with this name and password.

    Raises:
        WrongCredentials, AccountClosed.
        OverQuota: too many tries from this address or for this name.
    """
    shared.rates.sign_in(request, name)
    person = shared.read(users.check_password, name, password)
    shared.rates.signed_in(request, name)
    return person


teams_router = APIRouter(prefix="/v1/teams", tags=["teams"])


@teams_router.post("", status_code=201, responses={401: {}, 409: {}})
def create_team(shared: Shared, asker: Asker, body: TeamRequest, response: Response) -> Team:
    """Create a team with yourself as captain and only member."""
    team = shared.change(teams.create_team, asker, body.name)
    response.headers["Location"] = f"/v1/teams/{team.id}"
    return team


@teams_router.get("", responses={401: {}})
def list_own_teams(shared: Shared, asker: Asker) -> base.Items[Team]:
    """List the teams that you are in or invited to."""
    return base.Items[Team](items=shared.read(teams.teams_of, asker))


@teams_router.get("/{team_id}", responses={401: {}, 404: {}})
def get_team(shared: Shared, asker: Asker, team_id: Id) -> Team:
    """Return a team."""
    return shared.read(teams.team_info, team_id, asker)


@teams_router.patch("/{team_id}", responses=REFUSED)
def hand_over(shared: Shared, asker: Asker, team_id: Id, body: TeamChange) -> Team:
    """Make another member the captain. Captains only."""
    return shared.change(teams.hand_over_team, asker, team_id, body.captain)


@teams_router.post("/{team_id}/invitations", responses=REFUSED)
def invite(shared: Shared, asker: Asker, team_id: Id, body: TeamRequest) -> Team:
    """Invite somebody to join. Captains only."""
    return shared.change(teams.invite_to_team, asker, team_id, body.name)


@teams_router.post("/{team_id}/join", responses={401: {}, 404: {}, 409: {}})
def join(shared: Shared, asker: Asker, team_id: Id) -> Team:
    """Accept an invitation."""
    return shared.change(teams.join_team, asker, team_id)


@teams_router.delete("/{team_id}/members/{name}", responses=REFUSED)
def leave(shared: Shared, asker: Asker, team_id: Id, name: UserName) -> Team:
    """Leave a team, or decline an invitation. The captain may remove anybody else. The team keeps its bots."""
    return shared.change(teams.leave_team, asker, team_id, name)


inbox_router = APIRouter(prefix="/v1/inbox", tags=["inbox"])


class _InboxPage(base.Page):
    """The filter of a list of notices."""

    unread: bool = False


@inbox_router.get("", responses={401: {}})
def list_notices(shared: Shared, asker: Asker, page: Annotated[_InboxPage, Query()]) -> Inbox:
    """List your notices, the newest first, and how many you have not read. They are kept for 90 days."""
    with shared.db.reading() as session:
        items = notices.inbox(session, asker, unread=page.unread, before=page.before, limit=page.size)
        unread = notices.count_unread(session, asker)
    return Inbox(items=items, unread=unread, next=page.next(items))


@inbox_router.post("/read", responses={401: {}, 403: {}})
def mark_read(shared: Shared, asker: Asker, body: ReadRequest) -> Unread:
    """Mark all notices up to a given one as read; later ones stay unread."""
    return Unread(unread=shared.change(notices.mark_read, asker, body.up_to))
