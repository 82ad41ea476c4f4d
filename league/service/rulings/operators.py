"""The operator's own actions on the machine itself: roles, passwords, bans. No request reaches them."""

from enum import Enum, auto

from sqlmodel import Session, col, select, update

from deadheat.league.database import now
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.people.access import change_password, digest, issue_token
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import HOUSE, existing_user, insert_user, user_named
from deadheat.league.states import Role, Scope, TokenKind
from deadheat.league.tables import Token, User


class Standing(Enum):
    """The state of the organiser's token that an operator keeps."""

    GOOD = auto()
    LOST = auto()
    """Unknown, as after a restore, or expired: nobody revoked it, so a new one may be issued."""
    REVOKED = auto()
    DEMOTED = auto()
    """The account is no longer an organiser's, whatever happened to the token."""


def token_standing(session: Session, name: str, secret: str) -> Standing:
    """Check a secret (empty if there is none) that should be the token of the organiser with that name."""
    with_user = select(Token, User).join(User, col(User.id) == Token.user_id)
    found = session.exec(with_user.where(Token.sha256 == digest(secret), Token.kind == TokenKind.TOKEN)).first()
    if found is not None:
        token, user = found
        if not user.role.allows(Role.ORGANISER):
            return Standing.DEMOTED
        if token.revoked_at is not None:
            return Standing.REVOKED
        if token.expires_at > now(session) and token.scope.allows(Scope.FULL):
            return Standing.GOOD
    named = user_named(session, name)
    return Standing.DEMOTED if named is not None and not named.role.allows(Role.ORGANISER) else Standing.LOST


def ensure_organiser(session: Session, name: str) -> str:
    """Return the secret of a token for the organiser of that name, who is created or promoted if necessary.

    The label is always the same and earlier tokens with that label are revoked, so that restarts do not accumulate
    them.
    """
    label = "operator"
    user = user_named(session, name)
    if user is None:
        user_id = insert_user(session, name, None, Role.ORGANISER).id
        record(session, SYSTEM, Role.ORGANISER.action, f"user/{user_id}", {"name": name})
    else:
        user_id = user.id
        if not user.role.allows(Role.ORGANISER):
            set_role(session, name, Role.ORGANISER)
    earlier = (col(Token.user_id) == user_id, col(Token.label) == label, col(Token.revoked_at).is_(None))
    session.exec(update(Token).where(*earlier).values(revoked_at=now(session)))
    return issue_token(session, user_id, label, tell=False).secret


def house(session: Session) -> Person:
    """Return the author of the bots that come with Deadheat, creating it if necessary; nobody can sign in as it."""
    user = user_named(session, HOUSE)
    if user is not None:
        return Person.of(user)
    person = insert_user(session, HOUSE, None, Role.AUTHOR)
    record(session, SYSTEM, person.role.action, f"user/{person.id}", {"name": HOUSE})
    return person


def set_role(session: Session, name: str, role: Role) -> Person:
    """Give a person a role, with immediate effect, for tokens too. Raises NotFound."""
    user = existing_user(session, name)
    if user.role is not role:
        user.role = role
        session.flush()
        record(session, SYSTEM, role.action, f"user/{user.id}", {"name": user.name})
    return Person.of(user)


OPERATOR = Person(0, SYSTEM, Role.ADMIN)
"""The actor: an administrator without an account, who appears in the audit log as the machine itself."""


def reset_password(session: Session, name: str, password: str) -> Person:
    """Set another password for a person, and keep nothing else that opened the account. Raises NotFound."""
    person = Person.of(existing_user(session, name))
    change_password(session, person, password)
    return person
