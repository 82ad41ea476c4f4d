"""Dependencies of routes: the shared services, and the person behind a request."""

from typing import Annotated, Any, cast

from fastapi import Depends, Path, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param

from deadheat.api.edge import sessions
from deadheat.api.edge.arrival import Arrival
from deadheat.api.schemas import MAX_ID, PLAIN, RowId
from deadheat.api.services import Services
from deadheat.league.errors import BadToken
from deadheat.league.service.people import access
from deadheat.league.service.people.person import Person
from deadheat.league.states import Scope, TokenKind

SUBMITTING = frozenset(
    {
        ("POST", "/v1/bots"),
        ("POST", "/v1/bots/{bot_id}/versions"),
        ("PUT", "/v1/seasons/{season_id}/entries/{bot_id}"),
    }
)
"""Routes that a token with the scope `submit` may use. Other changes require `author`, and organisers' actions `full`
(`Person.must_organise`)."""

Id = Annotated[int, Path(ge=1, le=MAX_ID)]
Number = Annotated[RowId | None, Query()]
UserName = Annotated[str, Path(max_length=32, pattern=PLAIN)]

REFUSED: dict[int | str, dict[str, Any]] = {401: {}, 403: {}, 404: {}, 409: {}}
"""The documented refusals of most routes that make changes."""


async def services(request: Request) -> Services:
    """Return the application's services. The function is asynchronous so that it wakes no thread."""
    shared = request.app.state.services
    assert isinstance(shared, Services)
    return shared


Shared = Annotated[Services, Depends(services)]


async def received(request: Request) -> Arrival:
    """Read the whole request, and return when it had arrived. Depend on it first: not every server notes that."""
    await request.body()
    return cast("Arrival", getattr(request.state, "arrival", None) or Arrival())


Received = Annotated[Arrival, Depends(received)]

credentials = HTTPBearer(auto_error=False, description="A token of POST /v1/tokens, as `Authorization: Bearer dh_...`.")


def asker(
    request: Request, shared: Shared, sent: Annotated[HTTPAuthorizationCredentials | None, Depends(credentials)]
) -> Person:
    """Return the owner of the request's token, or else of its session.

    Raises:
        BadToken, NarrowToken, OverQuota.
        HTTPException: 403, a session's request that did not come from one of our pages.
    """
    safe = request.method in sessions.SAFE
    if sent is not None:
        person = look_up(shared, sent.credentials, TokenKind.TOKEN).person
    elif (secret := sessions.secret_of(request, shared.settings)) is None:
        raise BadToken("the request has none")
    else:
        person = look_up(shared, secret, TokenKind.SESSION).person
        if not safe:
            sessions.must_be_ours(request, shared.settings)
            sessions.must_match(secret, request.headers.get(sessions.CSRF_HEADER))
    shared.rates.write_by(request, person.id)
    submits = (request.method, request.scope["route"].path) in SUBMITTING
    person.must_have(Scope.READ if safe else Scope.SUBMIT if submits else Scope.AUTHOR)
    return person


def viewer(request: Request, shared: Shared) -> Person | None:
    """Return the signed-in person, or None, for a page that is the same for most people. An expired session is None."""
    # `credentials` would make the API's description demand a token.
    scheme, token = get_authorization_scheme_param(request.headers.get("authorization"))
    secret, kind = sessions.secret_of(request, shared.settings), TokenKind.SESSION
    if scheme.lower() == "bearer" and token:
        secret, kind = token, TokenKind.TOKEN
    if secret is None:
        return None
    try:
        return look_up(shared, secret, kind).person
    except BadToken:
        return None


def look_up(shared: Services, secret: str, kind: TokenKind) -> access.Access:
    """Find a secret's owner, and note its use. Raises BadToken."""
    token = shared.read(access.look_up, secret, kind)
    if token.stale:
        shared.note_use(token.token_id)
    return token


Asker = Annotated[Person, Depends(asker)]
Viewer = Annotated[Person | None, Depends(viewer)]
