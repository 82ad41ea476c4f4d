"""Identities at the OpenID provider, and the accounts here that they open.

An identity is an issuer and a subject there, and opens one account. It belongs to an account in one of two ways: the
account was created with it, or its owner linked it while signed in. A name or an e-mail address never suffices, because
providers let people choose those.

The owner of an account without a password gets in by its identity, and by tokens. Where others must give a password,
that owner must have signed in within `FRESH`.
"""

import logging
from datetime import timedelta
from urllib.parse import urlsplit

from sqlmodel import Session, col, delete, select

from deadheat.engine.language import N_, _
from deadheat.league.database import now
from deadheat.league.errors import AccountClosed, AlreadyLinked, WrongState
from deadheat.league.service.ground.steps import flush_unless_taken
from deadheat.league.service.people.notices import account_changed
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import check_newcomer, insert_user, must_be_free
from deadheat.league.states import Role
from deadheat.league.tables import Identity, User

log = logging.getLogger(__name__)

FRESH = timedelta(minutes=10)
"""How recently an owner without a password must have signed in, for example to close the account."""


def person_known_as(session: Session, issuer: str, subject: str) -> Person | None:
    """Find the account that this identity opens, if any. Raises AccountClosed."""
    found = select(User).join(Identity, col(Identity.user_id) == User.id)
    user = session.exec(found.where(Identity.issuer == issuer, Identity.subject == subject)).first()
    if user is None:
        return None
    if user.closed_at is not None:
        raise AccountClosed(user.ban_reason)
    return Person.of(user)


def sign_up_as(session: Session, name: str, code: str, issuer: str, subject: str) -> Person:
    """Create an author without a password.

    Raises:
        NotInvited, NameTaken: as for everybody.
        AlreadyLinked: the identity opens an account already.
    """
    must_be_free(name)
    check_newcomer(session, code)
    person = insert_user(session, name, None, Role.AUTHOR)
    _add(session, person, issuer, subject)
    return person


def link_identity(session: Session, person: Person, issuer: str, subject: str) -> None:
    """Let the identity open this account. The caller is signed in to it, and has proved the identity. Raises
    AlreadyLinked: it opens another account, or another identity of that issuer opens this one.
    """
    _add(session, person, issuer, subject)
    account_changed(session, person.id, N_("Your account was linked to {provider}."), provider=urlsplit(issuer).netloc)


def _add(session: Session, person: Person, issuer: str, subject: str) -> None:
    session.add(Identity(user_id=person.id, issuer=issuer, subject=subject, created_at=now(session)))
    flush_unless_taken(session, AlreadyLinked())
    log.info("user %d signs in through %s from now on", person.id, issuer)


def unlink_identity(session: Session, person: Person, issuer: str) -> None:
    """Unlink an identity from the account. Raises WrongState: nothing else would open the account."""
    if not has_password(session, person):
        raise WrongState("unlinked", _("Set a password first: otherwise nobody could sign in to this account."))
    session.exec(delete(Identity).where(col(Identity.user_id) == person.id, col(Identity.issuer) == issuer))
    account_changed(session, person.id, N_("The link to {provider} was removed."), provider=urlsplit(issuer).netloc)
    log.info("user %d no longer signs in through %s", person.id, issuer)


def forget_identities(session: Session, user_id: int) -> None:
    """Remove the identities of an account that its owner closes, so that they can open another one, or whose password
    is replaced. A banned account keeps its identities.
    """
    session.exec(delete(Identity).where(col(Identity.user_id) == user_id))


def is_linked(session: Session, person: Person, issuer: str) -> bool:
    """Say whether an identity of that issuer opens the account."""
    mine = select(Identity.id).where(Identity.user_id == person.id, Identity.issuer == issuer)
    return session.exec(mine).first() is not None


def has_password(session: Session, person: Person) -> bool:
    """Say whether a password opens the account."""
    return session.get_one(User, person.id).password_hash is not None
