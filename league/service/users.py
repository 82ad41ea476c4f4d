"""People and their tokens.

A password is kept as an argon2 hash, a token as a plain SHA-256: a token has 256 random bits, so nobody can guess
it back from its hash, and it is checked on every request. What is wrong about a rejected name and password is not
said, and takes the same time whether the name exists or not.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select, update

from league.database import now, settings_of, surroundings
from league.errors import BadToken, NameTaken, NotAllowed, NotFound, TooMany, WrongCredentials
from league.service.audit import SYSTEM, record
from league.states import Role
from league.tables import Token, User

TOKEN_BYTES = 32
TOKEN_PREFIX = "dh_"  # noqa: S105  # what a token begins with, so that secret scanners can know one
MAX_TOKENS = 50
"""Valid tokens of one user."""

_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)
"""OWASP's second choice (19 MiB, 2 passes): about 25 ms here; many at once must not exhaust a small host."""

_hashing = threading.BoundedSemaphore(2)
"""Hashes computed at a time: each takes a core and 19 MiB."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks."""

    id: int
    name: str
    role: Role

    def must_organise(self) -> None:
        """Raise NotAllowed unless an organiser."""
        if self.role is not Role.ORGANISER:
            raise NotAllowed(Role.ORGANISER)


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token; the only time that its secret exists outside its owner's hands."""

    id: int
    secret: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A token as its owner sees it later."""

    id: int
    label: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


def sign_up(session: Session, name: str, password: str) -> Person:
    """A new author. The hash is computed before the transaction's first statement, so nobody waits for it.

    Raises:
        NameTaken: upper and lower case do not count.
    """
    with _hashing:
        password_hash = _hasher.hash(password)
    return _insert(session, name, password_hash, Role.AUTHOR)


def check_password(session: Session, name: str, password: str) -> Person:
    """Who this is; meant for a reading session.

    Raises:
        WrongCredentials: whatever is wrong.
    """
    user = session.exec(select(User).where(User.name_key == name.lower())).first()
    known = user.password_hash if user is not None and user.password_hash else None
    with _hashing:
        try:
            _hasher.verify(known or _decoy(), password)
        except (VerificationError, InvalidHashError) as error:
            raise WrongCredentials from error
    if user is None or known is None:
        raise WrongCredentials
    return Person(user.id, user.name, user.role)


def issue_token(session: Session, user_id: int, label: str) -> IssuedToken:
    """A new token that expires after the configured time.

    Raises:
        TooMany: the user has `MAX_TOKENS` valid ones.
    """
    at = now(session)
    valid = (col(Token.user_id) == user_id, col(Token.revoked_at).is_(None), col(Token.expires_at) > at)
    if len(session.exec(select(Token.id).where(*valid).limit(MAX_TOKENS)).all()) >= MAX_TOKENS:
        raise TooMany("valid tokens", MAX_TOKENS)
    random = base64.urlsafe_b64encode(surroundings(session).entropy(TOKEN_BYTES)).rstrip(b"=")
    secret = TOKEN_PREFIX + random.decode()
    expires_at = at + timedelta(days=settings_of(session).token_days)
    row = Token(user_id=user_id, label=label, sha256=_digest(secret), created_at=at, expires_at=expires_at)
    session.add(row)
    session.flush()
    return IssuedToken(row.id, secret, expires_at)


def authenticate(session: Session, secret: str) -> Person:
    """Whose token this is.

    Raises:
        BadToken: unknown, revoked or expired.
    """
    statement = select(Token, User).join(User, col(User.id) == Token.user_id).where(Token.sha256 == _digest(secret))
    found = session.exec(statement).first()
    if found is None:
        raise BadToken("this one is unknown")
    token, user = found
    if token.revoked_at is not None:
        raise BadToken("this one has been revoked")
    if token.expires_at <= now(session):
        raise BadToken(f"this one expired at {token.expires_at.isoformat(timespec='seconds')}")
    return Person(user.id, user.name, user.role)


def tokens(session: Session, user_id: int) -> list[TokenInfo]:
    """The user's newest tokens, at most 200."""
    rows = session.exec(select(Token).where(Token.user_id == user_id).order_by(col(Token.id).desc()).limit(200))
    return [TokenInfo(row.id, row.label, row.created_at, row.expires_at, row.revoked_at) for row in rows]


def revoke(session: Session, user_id: int, token_id: int) -> None:
    """End a token now; revoking it again changes nothing.

    Raises:
        NotFound: the user has no such token.
    """
    token = session.get(Token, token_id)
    if token is None or token.user_id != user_id:
        raise NotFound("token", token_id)
    mine = (col(Token.id) == token_id, col(Token.revoked_at).is_(None))
    session.exec(update(Token).where(*mine).values(revoked_at=now(session)))


def ensure_organiser(session: Session, name: str) -> str:
    """The secret of a token for the organiser of that name, who is made (or promoted) if need be.

    For the operator's own hand; no request reaches this.

    The label is always the same and earlier tokens of that label are revoked, so that restarts do not pile them up.
    """
    label = "operator"
    user = session.exec(select(User).where(User.name_key == name.lower())).first()
    if user is None:
        user_id = _insert(session, name, None, Role.ORGANISER).id
        record(session, SYSTEM, "organiser-made", f"user/{user_id}", {"name": name})
    else:
        user_id = user.id
        if user.role is not Role.ORGANISER:
            user.role = Role.ORGANISER
            record(session, SYSTEM, "organiser-made", f"user/{user_id}", {"name": user.name})
    earlier = (col(Token.user_id) == user_id, col(Token.label) == label, col(Token.revoked_at).is_(None))
    session.exec(update(Token).where(*earlier).values(revoked_at=now(session)))
    return issue_token(session, user_id, label).secret


def _insert(session: Session, name: str, password_hash: str | None, role: Role) -> Person:
    row = User(name=name, name_key=name.lower(), password_hash=password_hash, role=role, created_at=now(session))
    session.add(row)
    try:
        session.flush()
    except IntegrityError as error:
        raise NameTaken("user", name) from error
    return Person(row.id, row.name, row.role)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@cache
def _decoy() -> str:
    """A hash that no password has, to spend the same time on unknown names."""
    return _hasher.hash("nobody has this password")
