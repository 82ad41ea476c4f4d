"""Teams: authors who share bots.

All members share a team's bots: each may upload versions, choose which one plays, and read logs and stderr. Former
members may not, even if the bot was once theirs. A bot changes owners only between seasons, so that nobody can evade a
season's rules through a team. A season counts the entries of people, not of teams: a team's entries count for each
member, which is checked when a bot enters and when somebody joins.

Rows are locked in the order season, bot, team, user, so that two concurrent counts wait for each other.
"""

from sqlalchemy import ColumnElement, and_, or_
from sqlmodel import Session, col, func, select

from deadheat.engine.language import N_, _
from deadheat.league.database import now
from deadheat.league.errors import NameTaken, NotCaptain, NotFound, TooMany, WrongState
from deadheat.league.records import from_row
from deadheat.league.records.bots import Team as TeamInfo
from deadheat.league.service.ground.audit import record
from deadheat.league.service.ground.steps import existing, flush_unless_taken
from deadheat.league.service.people import notices
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import existing_user, lock_names, must_be_free
from deadheat.league.states import ENTERABLE, GOING_ON
from deadheat.league.tables import Bot, Entry, Season, Team, TeamMember, User

MAX_MEMBERS = 12
"""The most members of one team, including people who are invited."""

MAX_TEAMS = 10
"""The most teams that one author may lead."""


def owned_by(person: Person | User) -> ColumnElement[bool]:
    """Return the condition on `Bot` that it is this person's: created by them for no team, or one of their teams'."""
    theirs = select(TeamMember.team_id).where(TeamMember.user_id == person.id, col(TeamMember.joined_at).is_not(None))
    alone = and_(col(Bot.team_id).is_(None), col(Bot.owner_id) == person.id)
    return or_(alone, col(Bot.team_id).in_(theirs))


def people_behind(session: Session, bot: Bot) -> list[Person]:
    """Return a bot's owners: its maker, or its team's members. Until the transaction ends, nobody joins that team, and
    nobody else enters a bot for any of them.
    """
    user_ids = [bot.owner_id]
    if bot.team_id is not None:
        _lock_team(session, bot.team_id)
        joined = (TeamMember.team_id == bot.team_id, col(TeamMember.joined_at).is_not(None))
        user_ids = list(session.exec(select(TeamMember.user_id).where(*joined)))
    rows = select(User).where(col(User.id).in_(user_ids)).order_by(col(User.id)).with_for_update(key_share=True)
    return [Person.of(row) for row in session.exec(rows)]


def entries_behind(session: Session, person: Person, season_id: int) -> int:
    """Count a person's entries in a season, alone and in teams; bots that have left count, too."""
    count = select(func.count()).select_from(Entry).join(Bot, col(Bot.id) == Entry.bot_id)
    return session.exec(count.where(Entry.season_id == season_id, owned_by(person))).one()


def create_team(session: Session, captain: Person, name: str) -> TeamInfo:
    """Create a team with one member. Raises TooMany; NameTaken: by another team, or by a person, who would seem to own
    the team's bots; also a reserved name.
    """
    must_be_free(name)
    lock_names(session)
    if session.exec(select(User.id).where(User.name_key == name.lower())).first() is not None:
        raise NameTaken("user", name)
    led = session.exec(select(func.count()).select_from(Team).where(Team.captain_id == captain.id)).one()
    if led >= MAX_TEAMS:
        raise TooMany("teams of one captain", MAX_TEAMS)
    at = now(session)
    row = Team(name=name, name_key=name.lower(), captain_id=captain.id, created_at=at)
    session.add(row)
    flush_unless_taken(session, NameTaken("team", name))
    session.add(TeamMember(team_id=row.id, user_id=captain.id, invited_at=at, joined_at=at))
    session.flush()
    record(session, captain.name, "team-created", f"team/{row.id}", {"name": name})
    return team_info(session, row.id, captain)


def team_info(session: Session, team_id: int, asker: Person | None = None) -> TeamInfo:
    """Return a team as the caller may see it. Raises NotFound."""
    row = existing(session, Team, team_id)
    statement = (
        select(User.id, User.name, TeamMember.joined_at)
        .join(TeamMember, col(TeamMember.user_id) == User.id)
        .where(TeamMember.team_id == team_id)
        .order_by(User.name_key)
    )
    people = session.exec(statement).all()
    inside = asker is not None and asker.id in {user_id for user_id, _, _ in people}
    return from_row(
        TeamInfo,
        row,
        captain=next(name for user_id, name, _ in people if user_id == row.captain_id),
        members=tuple(name for _, name, joined_at in people if joined_at is not None),
        invited=tuple(name for _, name, joined_at in people if joined_at is None and inside),
    )


def teams_of(session: Session, asker: Person) -> list[TeamInfo]:
    """Return the teams that the caller is in or invited to."""
    of_asker = select(TeamMember.team_id).where(TeamMember.user_id == asker.id).order_by(col(TeamMember.team_id))
    return [team_info(session, team_id, asker) for team_id in session.exec(of_asker).all()]


def invite_to_team(session: Session, captain: Person, team_id: int, name: str) -> TeamInfo:
    """Invite a person to a team; inviting a member, or inviting twice, changes nothing. Raises NotFound, NotCaptain,
    TooMany.
    """
    _lock_team(session, team_id)
    _led(session, captain, team_id)
    user_id = existing_user(session, name).id
    if session.get(TeamMember, (team_id, user_id)) is None:
        count = select(func.count()).select_from(TeamMember).where(TeamMember.team_id == team_id)
        if session.exec(count).one() >= MAX_MEMBERS:
            raise TooMany("members of one team", MAX_MEMBERS)
        invited = TeamMember(team_id=team_id, user_id=user_id, invited_at=now(session))
        session.add(invited)
        session.flush()
        notices.team_invited(session, captain, invited)
        record(session, captain.name, "team-invited", f"team/{team_id}")  # only members see who was invited
    return team_info(session, team_id, captain)


def join_team(session: Session, asker: Person, team_id: int) -> TeamInfo:
    """Accept an invitation. Raises NotFound; TooMany: with the team's entries the caller would have more than a season
    allows.
    """
    _lock_team(session, team_id)
    row = session.get(TeamMember, (team_id, asker.id))
    if row is None:
        raise NotFound("invitation", team_id, _("Nobody has invited you to team %(id)s.", id=team_id))
    if row.joined_at is None:
        # The team's entries count for the caller from now on.
        session.exec(select(User.id).where(User.id == asker.id).with_for_update(key_share=True)).one()
        entered = select(Season, func.count()).join(Entry, col(Entry.season_id) == Season.id)
        entered = entered.join(Bot, col(Bot.id) == Entry.bot_id).where(Bot.team_id == team_id)
        entered = entered.where(col(Season.state).in_(ENTERABLE), col(Season.entries_per_author).is_not(None))
        for season, of_team in session.exec(entered.group_by(col(Season.id)).order_by(col(Season.id))).all():
            own = entries_behind(session, asker, season.id)
            if own and own + of_team > (season.entries_per_author or 0):
                raise too_many_entries(asker, season)
        row.joined_at = now(session)
        session.flush()
        record(session, asker.name, "team-joined", f"team/{team_id}")
    return team_info(session, team_id, asker)


def leave_team(session: Session, asker: Person, team_id: int, name: str) -> TeamInfo:
    """Leave, decline an invitation, or (as captain) remove a member. The team's bots stay with the team. Raises
    NotFound, NotCaptain; WrongState: the captain would leave without having handed the team over.
    """
    _lock_team(session, team_id)
    team = existing(session, Team, team_id)
    user = existing_user(session, name)
    if asker.id not in {user.id, team.captain_id}:
        raise NotCaptain(team.name)
    row = session.get(TeamMember, (team_id, user.id))
    if row is None:
        raise NotFound("member", name, _("%(name)s is not a member of the team.", name=name))
    if user.id == team.captain_id:
        raise WrongState("led", _("%(name)s is the captain; make another member captain first.", name=user.name))
    session.delete(row)
    session.flush()
    if row.joined_at is not None:
        record(session, asker.name, "team-left", f"team/{team_id}", {"name": user.name})
    return team_info(session, team_id, asker)


def hand_over_team(session: Session, captain: Person, team_id: int, name: str) -> TeamInfo:
    """Make another member captain. Raises NotFound, NotCaptain."""
    _lock_team(session, team_id)
    team = _led(session, captain, team_id)
    successor = existing_user(session, name)
    row = session.get(TeamMember, (team_id, successor.id))
    if row is None or row.joined_at is None:
        raise NotFound("member", name, _("%(name)s is not a member of the team.", name=name))
    if team.captain_id != successor.id:
        team.captain_id = successor.id
        session.flush()
        sentence = N_("You made {captain} captain of your team {team}.")
        notices.account_changed(session, captain.id, sentence, captain=successor.name, team=team.name)
        record(session, captain.name, "team-handed-over", f"team/{team_id}", {"captain": successor.name})
    return team_info(session, team_id, captain)


def must_be_member(session: Session, asker: Person, team_id: int) -> Team:
    """Return the team if the caller is a member. Raises NotFound."""
    row = session.get(TeamMember, (team_id, asker.id))
    if row is None or row.joined_at is None:
        raise NotFound("team", team_id, _("You are not in team %(team_id)s.", team_id=team_id))
    return session.get_one(Team, team_id)


def give_bot(session: Session, asker: Person, bot: Bot, team_id: int | None) -> None:
    """Give the caller's bot to a team, or (None) return it from a team to its creator, as the team's captain may do.
    Raises NotFound: the caller is not in that team; NotCaptain; NameTaken: the team has a bot of that name; WrongState:
    the bot takes part in a season that is not over.
    """
    if bot.team_id == team_id:
        return
    if team_id is not None:
        must_be_member(session, asker, team_id)
    if bot.team_id is not None:
        _led(session, asker, bot.team_id)
    session.exec(select(Bot.id).where(Bot.id == bot.id).with_for_update()).one()  # so that it enters no season now
    going_on = select(Season.name).join(Entry, col(Entry.season_id) == Season.id)
    going_on = going_on.where(Entry.bot_id == bot.id, col(Season.state).in_(GOING_ON)).limit(1)
    season = session.exec(going_on).first()
    if season is not None:
        sentence = _("The bot is in season %(season)r, and can change owners only after that closes.", season=season)
        raise WrongState("entered", sentence)
    bot.team_id = team_id
    flush_unless_taken(session, NameTaken("bot of that team", bot.name))
    owner = session.get_one(User, bot.owner_id).name if team_id is None else session.get_one(Team, team_id).name
    sentence = N_("The bot {bot}, which you created, was given to {owner}.")
    notices.account_changed(session, bot.owner_id, sentence, bot=bot.name, owner=owner)
    record(session, asker.name, "bot-given", f"bot/{bot.id}", {"team": team_id})


def too_many_entries(person: Person, season: Season) -> TooMany:
    """Make the error for more entries per person than the season allows."""
    assert season.entries_per_author is not None
    what = _("entries in %(season)s for %(name)s, alone and in teams", season=season.name, name=person.name)
    return TooMany(what, season.entries_per_author)


def _lock_team(session: Session, team_id: int) -> None:
    """Lock a team until the transaction ends, so that nobody joins it, leaves it or becomes its captain. An unknown
    team locks nothing.
    """
    locked = select(Team).where(Team.id == team_id).with_for_update(key_share=True)
    session.exec(locked.execution_options(populate_existing=True)).first()


def _led(session: Session, asker: Person, team_id: int) -> Team:
    team = existing(session, Team, team_id)
    if team.captain_id != asker.id:
        raise NotCaptain(team.name)
    return team
