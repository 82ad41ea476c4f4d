"""Sign-up, and who am I."""

from __future__ import annotations

from fastapi import APIRouter, Request

from api import schemas
from api.deps import Asker, Shared
from league.service.people import users
from league.service.people.person import Person

router = APIRouter(prefix="/v1/users", tags=["users"])


@router.post("", status_code=201, response_model=schemas.User, responses={403: {}, 409: {}, 422: {}, 429: {}})
def sign_up(shared: Shared, request: Request, body: schemas.SignUp) -> Person:
    """Become an author; then ask for a token."""
    shared.rates.sign_up(request)
    with shared.db.transaction() as session:
        return users.sign_up(session, body.name, body.password, body.code)


@router.get("/me", response_model=schemas.User, responses={401: {}})
def me(asker: Asker) -> Person:
    """Whose token this is."""
    return asker
