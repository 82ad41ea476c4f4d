"""Sign-up, and the token's owner."""

from __future__ import annotations

from fastapi import APIRouter, Request

from deadheat.api.deps import Asker, Shared
from deadheat.api.schemas import people as schemas
from deadheat.league.records.bots import User
from deadheat.league.service.people import users
from deadheat.league.service.people.person import Person

router = APIRouter(prefix="/v1/users", tags=["users"])


@router.post("", status_code=201, responses={403: {}, 409: {}, 422: {}, 429: {}})
def sign_up(shared: Shared, request: Request, body: schemas.SignUp) -> User:
    """Sign up as an author; then ask for a token."""
    shared.rates.sign_up(request, body.code)
    with shared.db.transaction() as session:
        person = users.sign_up(session, body.name, body.password, body.code)
    shared.rates.invited(request)
    return _told(person)


@router.get("/me", responses={401: {}})
def me(asker: Asker) -> User:
    """Return the owner of the token."""
    return _told(asker)


def _told(person: Person) -> User:
    return User(person.id, person.name, person.role)
