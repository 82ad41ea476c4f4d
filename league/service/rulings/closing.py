"""Accounts that end: closed by their owners, or banned by an administrator.

Either way the person is out at once: every token and session is revoked, and no password opens the account. Results
stay and count, under the same name, which nobody else can take. A team continues without the member and keeps its bots;
a bot without a team stays the account's own.

A ban takes these bots out of all current seasons, as an organiser's ruling does. An account that its owner closes only
withdraws them where authors may withdraw: otherwise an author could close a second account to decide who gets the
points of matches that its bots have yet to play.

Rows are locked in the order season, bot, team, user (`league.service.people.teams`).
"""

import logging

from sqlmodel import Session, col, delete, select

from deadheat.engine.language import _
from deadheat.league.database import now
from deadheat.league.errors import WrongState
from deadheat.league.service.ground.audit import record
from deadheat.league.service.ground.steps import lock_enterable
from deadheat.league.service.jobs.exhibitions import open_of, resign
from deadheat.league.service.people.access import end_everything
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import hand_over_team, leave_team, owned_by
from deadheat.league.service.people.users import existing_user, forget_identities
from deadheat.league.service.seasons.absence import take_out_everywhere, withdraw_everywhere
from deadheat.league.tables import Bot, Channel, Team, TeamMember, User

log = logging.getLogger(__name__)

ENDED = 200
"""The most ended accounts that an administrator is shown at a time."""

BANNED = "Its author was banned."


def close_account(session: Session, person: Person) -> None:
    """Close an account at its owner's wish; the caller has checked that it is the owner. Only the service's log records
    this, like everything that people do with their own accounts.
    """
    lock_enterable(session)
    withdraw_everywhere(session, person, _bots_of_nobody_else(session, person))
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
    lock_enterable(session)
    take_out_everywhere(session, administrator, _bots_of_nobody_else(session, person), BANNED)
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
    if (exhibition_id := open_of(session, person)) is not None:
        resign(session, person, exhibition_id)
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


def _bots_of_nobody_else(session: Session, person: Person) -> list[int]:
    others = select(TeamMember.team_id).where(
        TeamMember.user_id != person.id, col(TeamMember.joined_at).is_not(None), TeamMember.team_id == Bot.team_id
    )
    return list(session.exec(select(Bot.id).where(owned_by(person), ~others.exists()).order_by(col(Bot.id))))
