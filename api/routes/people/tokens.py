"""Access tokens: issued for name and password, used as bearer tokens, revocable."""

from __future__ import annotations

from fastapi import APIRouter, Request

from deadheat.api.deps import Asker, Id, Shared
from deadheat.api.schemas import people as schemas
from deadheat.api.schemas.base import Items
from deadheat.api.services import Services
from deadheat.league.records.bots import NewToken, Token
from deadheat.league.service.people import access
from deadheat.league.service.people.access import revoke, tokens
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import check_password, must_still_open

router = APIRouter(prefix="/v1/tokens", tags=["tokens"])


@router.post("", status_code=201, responses={401: {}, 403: {}, 409: {}, 422: {}, 429: {}})
def issue_token(shared: Shared, request: Request, body: schemas.TokenRequest) -> NewToken:
    """Create a token. Its secret is not shown again."""
    person = checked_person(shared, request, body.name, body.password)
    with shared.db.transaction() as session:
        must_still_open(session, person, body.password)
        issued = access.issue_token(session, person.id, body.label, body.scope, body.days)
    return NewToken(id=issued.id, token=issued.secret, scope=body.scope, expires_at=issued.expires_at)


@router.get("", responses={401: {}})
def list_tokens(shared: Shared, asker: Asker) -> Items[Token]:
    """List your tokens, the newest first, without their secrets."""
    with shared.db.reading() as session:
        return Items[Token](items=tokens(session, asker.id))


@router.delete("/{token_id}", status_code=204, responses={401: {}, 403: {}, 404: {}})
def revoke_token(shared: Shared, asker: Asker, token_id: Id) -> None:
    """Revoke one of your tokens at once."""
    with shared.db.transaction() as session:
        revoke(session, asker.id, token_id)


def checked_person(shared: Services, request: Request, name: str, password: str) -> Person:
    """Return the person with this name and password.

    Raises:
        WrongCredentials, AccountClosed.
        OverQuota: too many tries from this address or for this name.
    """
    shared.rates.sign_in(request, name)
    with shared.db.reading() as session:
        person = check_password(session, name, password)
    shared.rates.signed_in(request, name)
    return person
