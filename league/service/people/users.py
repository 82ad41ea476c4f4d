"""People, how they sign up and what proves who they are. Tokens and sessions are in `league.service.people.access`.

A password is kept as an argon2 hash. A rejection does not say whether the name or the password is wrong, and takes the
same time either way.
"""

import hmac
import logging
import threading
from dataclasses import replace
from datetime import timedelta
from functools import cache
from urllib.parse import urlsplit

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import text
from sqlmodel import Session, col, delete, select

from deadheat.engine.language import N_, _
from deadheat.league.database import now
from deadheat.league.errors import (
    AccountClosed,
    AlreadyLinked,
    BadSetting,
    NameTaken,
    NotFound,
    NotInvited,
    WrongCredentials,
    WrongState,
)
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.steps import flush_unless_taken, storable
from deadheat.league.service.people.notices import account_changed
from deadheat.league.service.people.person import Person
from deadheat.league.states import NewcomerRule, Role
from deadheat.league.tables import Identity, Newcomers, Team, User

# Who may sign up: everybody, those with the organisers' code, or nobody.
# The code is not a password: everybody has the same one, organisers can read it at their desk, and a new one replaces
# it at once. Guessing it is limited as guessing a password is (`api.edge.rates`).

ONLY = 1
"""The id of the table's only row."""


def lock_user(session: Session, user: Person) -> None:
    """Lock a user, so that one transaction at a time counts what belongs to the user."""
    session.exec(select(User.id).where(User.id == user.id).with_for_update(key_share=True)).one()


def newcomer_rule(session: Session) -> NewcomerRule:
    """Say whether, and how, newcomers may sign up."""
    return _row(session).rule


def welcome(session: Session, organiser: Person) -> Newcomers:
    """Return the rule with its code. Raises NotAllowed."""
    organiser.must_organise()
    return _row(session)


def set_newcomer_rule(session: Session, organiser: Person, rule: NewcomerRule, code: str = "") -> None:
    """Set another rule from now on; the audit log records it without the code. Raises NotAllowed; BadSetting: the rule
    needs a code.
    """
    organiser.must_organise()
    if rule is NewcomerRule.CODE and not code:
        raise BadSetting("code", _("enter an invitation code"))
    session.merge(Newcomers(id=ONLY, rule=rule, code=code if rule is NewcomerRule.CODE else ""))
    session.flush()
    record(session, organiser.name, "sign-up-ruled", "site", {"rule": rule.value})


def check_newcomer(session: Session, code: str) -> None:
    """Raise NotInvited unless people with that code ("" for none) may sign up."""
    row = _row(session)
    if row.rule is NewcomerRule.OPEN:
        return
    if row.rule is NewcomerRule.CLOSED or not hmac.compare_digest(row.code.encode(), code.encode()):
        raise NotInvited(by_code=row.rule is NewcomerRule.CODE)


def _row(session: Session) -> Newcomers:
    return session.get(Newcomers, ONLY) or Newcomers(id=ONLY, rule=NewcomerRule.OPEN)


_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)
"""OWASP's second choice (19 MiB, 2 passes), about 25 ms here. Many at once must not exhaust a small host."""

_hashing = threading.BoundedSemaphore(2)
"""The number of hashes computed at the same time; each occupies a core and 19 MiB."""


NAMES_LOCK = 7_341_554
"""PostgreSQL advisory lock under which people and teams take their names."""

HOUSE = "house"
"""The name of the author of the bots that come with Deadheat; it is reserved, so nobody else has it."""

RESERVED = frozenset(
    {SYSTEM, *Role, "administrator", "anonymous", "deadheat", HOUSE, "moderator", "operator", "organizer", "support"}
)
"""Reserved names in lower case: readers would take them for the service or its staff. Accounts that an operator makes
(`league.service.rulings.closing`) may have them.
"""


def sign_up(session: Session, name: str, password: str, code: str = "") -> Person:
    """Create an author. The hash is computed before the transaction's first statement, so nobody waits for it. Raises
    NotInvited; NameTaken: upper and lower case do not count; also a reserved name.
    """
    must_be_free(name)
    password_hash = hashed(password)
    check_newcomer(session, code)
    return insert_user(session, name, password_hash, Role.AUTHOR)


def must_be_free(name: str) -> None:
    """Raise NameTaken if the name is reserved."""
    if name.lower() in RESERVED:
        raise NameTaken.reserved(name)


def lock_names(session: Session) -> None:
    """Prevent others from taking a name until the transaction ends. People and teams have their names in two tables, so
    no constraint keeps a person and a team from having the same one. SQLite's writers queue anyway.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.connection().execute(text(f"SELECT pg_advisory_xact_lock({NAMES_LOCK})"))


def check_password(session: Session, name: str, password: str) -> Person:
    """Find the user with this name and password. Use a reading session. Raises WrongCredentials; AccountClosed: the
    password is correct, but the account is closed.
    """
    user = user_named(session, name)
    known = user.password_hash if user is not None and user.password_hash else None
    with _hashing:
        try:
            _hasher.verify(known or _decoy(), password)
        except (VerificationError, InvalidHashError) as error:
            raise WrongCredentials from error
    if user is None or known is None:
        raise WrongCredentials
    if user.closed_at is not None:
        raise AccountClosed(user.ban_reason)
    return replace(Person.of(user), opened_by=known)


def must_still_open(session: Session, person: Person, password: str) -> None:
    """Check that a password that was just checked has not been changed since, and lock it until the transaction ends: a
    change ends every session and token, and none may begin behind it. Also replace its hash if that is cheaper than
    new hashes are. Raises as `check_password`.
    """
    row = session.get_one(User, person.id, populate_existing=True, with_for_update={"key_share": True})
    if (row.password_hash or "") != person.opened_by:
        check_password(session, person.name, password)
    if row.password_hash is not None and _hasher.check_needs_rehash(row.password_hash):
        row.password_hash = hashed(password)
        session.flush()


def user_named(session: Session, name: str) -> User | None:
    """Return the user's row, whatever the case of the name."""
    return session.exec(select(User).where(User.name_key == name.lower())).first()


def users_beginning(session: Session, named: str, limit: int) -> list[str]:
    """Return the names of people and programs with an account that begin with this text, in order."""
    key = col(User.name_key)
    begins = key.startswith(storable(named).strip().lower(), autoescape=True)
    return list(session.exec(select(User.name).where(begins).order_by(key).limit(limit)))


def existing_user(session: Session, name: str) -> User:
    """Return the user's row. Raises NotFound."""
    user = user_named(session, name)
    if user is None:
        raise NotFound("user", name)
    return user


def insert_user(session: Session, name: str, password_hash: str | None, role: Role) -> Person:
    """Insert a user. Raises NameTaken: by another person, or by a team, whose bots would look like this person's."""
    lock_names(session)
    if session.exec(select(Team.id).where(Team.name_key == name.lower())).first() is not None:
        raise NameTaken("team", name)
    row = User(name=name, name_key=name.lower(), password_hash=password_hash, role=role, created_at=now(session))
    session.add(row)
    flush_unless_taken(session, NameTaken("user", name))
    return Person.of(row)


def hashed(password: str) -> str:
    """Return the hash that is stored in place of a password; it takes about 25 ms."""
    with _hashing:
        return _hasher.hash(password)


@cache
def _decoy() -> str:
    """Return a hash that no password matches: it makes unknown names take the same time."""
    return _hasher.hash("nobody has this password")


# Identities at the OpenID provider, and the accounts here that they open.
# An identity is an issuer and a subject there, and opens one account. It belongs to an account in one of two ways: the
# account was created with it, or its owner linked it while signed in. A name or an e-mail address never suffices,
# because providers let people choose those.
# The owner of an account without a password gets in by its identity, and by tokens. Where others must give a password,
# that owner must have signed in within `FRESH`.

log = logging.getLogger(__name__)

FRESH = timedelta(minutes=10)
"""How recently an owner without a password must have signed in, for example to close the account."""


def person_known_as(session: Session, issuer: str, subject: str) -> Person | None:
    """Find the account that this identity opens, if any. Raises AccountClosed."""
    users = select(User).join(Identity, col(Identity.user_id) == User.id)
    user = session.exec(users.where(Identity.issuer == issuer, Identity.subject == subject)).first()
    if user is None:
        return None
    if user.closed_at is not None:
        raise AccountClosed(user.ban_reason)
    return Person.of(user)


def sign_up_as(session: Session, name: str, code: str, issuer: str, subject: str) -> Person:
    """Create an author without a password. Raises NotInvited, NameTaken; AlreadyLinked: the identity opens an account
    already.
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
