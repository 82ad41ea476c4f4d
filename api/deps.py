"""What routes ask for by type: the shared services, and who asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from api.services import Services
from league import service
from league.errors import BadToken
from league.service.users import Person

MAX_ID = 2**31 - 1
"""The database's integers; anything larger names nothing."""

Id = Annotated[int, Path(ge=1, le=MAX_ID)]


def services(request: Request) -> Services:
    """The application's services."""
    found = request.app.state.services
    assert isinstance(found, Services)
    return found


Shared = Annotated[Services, Depends(services)]

_bearer = HTTPBearer(auto_error=False, description="A token of POST /v1/tokens, as `Authorization: Bearer dh_...`.")


def asker(shared: Shared, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Person:
    """Whoever the request's token belongs to. Raises BadToken."""
    if credentials is None:
        raise BadToken("the request has none")
    with shared.db.reading() as session:
        return service.authenticate(session, credentials.credentials)


Asker = Annotated[Person, Depends(asker)]
