"""Accounts that end: closed by their owners, or banned by an administrator; and what operators do on the machine.

Either way the person is out at once: every token and session is revoked, and no password opens the account. Results
stay and count, under the same name, which nobody else can take. A team continues without the member and keeps its bots;
a bot without a team stays the account's own.

A ban takes these bots out of all current seasons, as an organiser's ruling does. An account that its owner closes only
withdraws them where authors may withdraw: otherwise an author could close a second account to decide who gets the
points of matches that its bots have yet to play.

Rows are locked in the order season, bot, team, user (`league.service.people.teams`), after the places of tables and
before the tables (`lock_places`).
"""

import logging
from enum import Enum, auto

from sqlmodel import Session, col, delete, select, update

from deadheat.engine.language import _
from deadheat.league.database import now
from deadheat.league.errors import WrongState
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.steps import lock_enterable
from deadheat.league.service.people.access import change_password, digest, end_everything, issue_token
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import hand_over_team, leave_team, owned_by
from deadheat.league.service.people.users import HOUSE, existing_user, forget_identities, insert_user, user_named
from deadheat.league.service.seasons.absence import leave_everywhere
from deadheat.league.service.tables.places import lock_places
from deadheat.league.service.tables.sitting import seats_of
from deadheat.league.service.tables.turns import resign
from deadheat.league.states import Role, Scope, TokenKind
from deadheat.league.tables import Bot, Channel, Team, TeamMember, Token, User

log = logging.getLogger(__name__)

ENDED = 200
"""The most ended accounts that an administrator is shown at a time."""

BANNED = "Its author was banned."


def close_account(session: Session, person: Person) -> None:
    """Close an account at its owner's wish; the caller has checked that it is the owner. Only the service's log records
    this, like everything that people do with their own accounts.
    """
    lock_places(session)
    lock_enterable(session)
    leave_everywhere(session, person, _bots_of_nobody_else(session, person))
    _end(session, person)
    forget_identities(session, person.id)
    log.info("user %d has closed the account", person.id)


def ban(session: Session, administrator: Person, name: str, reason: str) -> Person:
    """Ban an account for the given reason, even one that its owner has closed. Raises NotAllowed, NotFound; WrongState:
    it is the caller's own.
    """
    administrator.must_administer()
    user = existing_user(session, name)
    if user.id == administrator.id:
        raise WrongState("own", _("This is your own account; close it on its page."))
    person = Person.of(user)
    lock_places(session)
    lock_enterable(session)
    leave_everywhere(session, administrator, _bots_of_nobody_else(session, person), BANNED)
    _end(session, person)
    user.ban_reason = reason
    session.flush()
    record(session, administrator.name, "user-banned", f"user/{user.id}", {"name": user.name, "reason": reason})
    return person


def reopen(session: Session, administrator: Person, name: str) -> Person:
    """Let a person sign in again. After a ban their bots stay out of seasons until an organiser reinstates them, after
    a closure until their author lets them rejoin. Raises NotAllowed, NotFound.
    """
    administrator.must_administer()
    user = existing_user(session, name)
    if user.closed_at is not None:
        user.closed_at, user.ban_reason = None, None
        session.flush()
        record(session, administrator.name, "user-reopened", f"user/{user.id}", {"name": user.name})
    return Person.of(user)


def ended_accounts(session: Session, administrator: Person) -> list[User]:
    """List closed and banned accounts, the newest first, at most `ENDED`. Raises NotAllowed."""
    administrator.must_administer()
    ended = select(User).where(col(User.closed_at).is_not(None)).order_by(col(User.closed_at).desc()).limit(ENDED)
    return list(session.exec(ended))


def _end(session: Session, person: Person) -> None:
    # Each team that the person leads goes to its longest-standing other member; one without others stays as it is.
    mine = select(Team).join(TeamMember, col(TeamMember.team_id) == Team.id).where(TeamMember.user_id == person.id)
    for team in session.exec(mine.order_by(col(Team.id))).all():
        if team.captain_id == person.id:
            others = select(User.name).join(TeamMember, col(TeamMember.user_id) == User.id)
            others = others.where(TeamMember.team_id == team.id, col(TeamMember.joined_at).is_not(None))
            others = others.where(TeamMember.user_id != person.id)
            heir = session.exec(others.order_by(col(TeamMember.joined_at), col(User.id)).limit(1)).first()
            if heir is None:
                continue
            hand_over_team(session, person, team.id, heir)
        leave_team(session, person, team.id, person.name)
    row = session.get_one(User, person.id)
    row.closed_at = row.closed_at or now(session)
    session.flush()
    end_everything(session, person.id)
    session.exec(delete(Channel).where(col(Channel.user_id) == person.id))
    for table_id, kind in sorted(seats_of(session, person)):
        resign(session, person, table_id, kind)


def _bots_of_nobody_else(session: Session, person: Person) -> list[int]:
    others = select(TeamMember.team_id).where(
        TeamMember.user_id != person.id, col(TeamMember.joined_at).is_not(None), TeamMember.team_id == Bot.team_id
    )
    return list(session.exec(select(Bot.id).where(owned_by(person), ~others.exists()).order_by(col(Bot.id))))


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
    row = session.exec(with_user.where(Token.sha256 == digest(secret), Token.kind == TokenKind.TOKEN)).first()
    if row is not None:
        token, user = row
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
