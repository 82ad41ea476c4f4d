"""Nobody judges a match of their own bot, unless there is nobody else."""

from sqlmodel import Session, col, select

from deadheat.league.errors import OwnMatch
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import owned_by
from deadheat.league.states import Role
from deadheat.league.tables import Bot, Participant, TeamMember, User

ALONE = "their own bot plays in it, and every other organiser has one there, too"
"""The audit log's remark if an organiser had to judge a match of their own bot."""


def judging(session: Session, organiser: Person, match_id: int) -> dict[str, object]:
    """Say whether the organiser has a bot in the match, for the audit log. Raises OwnMatch: the organiser has, and
    somebody else could decide.
    """
    bots = select(Bot.id).join(Participant, col(Participant.bot_id) == Bot.id)
    own = session.exec(bots.where(Participant.match_id == match_id, owned_by(organiser))).first()
    if own is None:
        return {"own_bot": False}
    if _others(session, organiser, match_id):
        raise OwnMatch(match_id)
    return {"own_bot": True, "remark": ALONE}


def _others(session: Session, organiser: Person, match_id: int) -> bool:
    """Say whether there is another organiser who has no bot in the match."""
    of_match = select(Bot).join(Participant, col(Participant.bot_id) == Bot.id)
    seated = of_match.where(Participant.match_id == match_id).subquery()
    alone = select(seated.c.owner_id).where(seated.c.team_id.is_(None))
    teams = select(TeamMember.user_id).where(
        col(TeamMember.team_id).in_(select(seated.c.team_id)), col(TeamMember.joined_at).is_not(None)
    )
    organises = (col(User.role).in_(Role.allowing(Role.ORGANISER)), col(User.closed_at).is_(None))
    others = select(User.id).where(User.id != organiser.id, *organises)
    others = others.where(col(User.id).not_in(alone), col(User.id).not_in(teams))
    return session.exec(others.limit(1)).first() is not None
