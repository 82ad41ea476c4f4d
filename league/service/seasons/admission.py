"""Entry rules: who may enter a season, with which version, and the list of invited authors.

An organiser may enter any bot with a version to play, unless the season publishes sources; the rules bind authors.
"""

from collections.abc import Collection

from sqlmodel import Session, col, delete, select

from deadheat.engine.language import _, gettext
from deadheat.league.errors import NotAdmitted, NotFound, NotReady
from deadheat.league.service.bots.bots import Upload
from deadheat.league.service.ground.audit import record
from deadheat.league.service.ground.steps import existing
from deadheat.league.service.people import notices
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import entries_behind, people_behind, too_many_entries
from deadheat.league.service.people.users import existing_user
from deadheat.league.states import Admission, Players, VersionState
from deadheat.league.tables import Bot, BotVersion, Season, SeasonInvitation, User

KIB = 1024


def must_be_admitted(session: Session, who: Person, season: Season, bot: Bot) -> None:
    """Check that the season admits this author and this bot. Raises NotAdmitted."""
    if who.organises:
        return
    if season.admission is Admission.NOBODY:
        raise NotAdmitted(_("its organisers choose who takes part"))
    if season.admission is Admission.INVITED and session.get(SeasonInvitation, (season.id, who.id)) is None:
        raise NotAdmitted(_("%(name)s is not on its list", name=who.name))
    if season.teams_only and bot.team_id is None:
        raise NotAdmitted(_("it admits only bots of teams"))


def check_admission(session: Session, who: Person, season: Season, bot: Bot) -> None:
    """Check that the season accepts one more entry of this bot's owners. The caller has locked the season and the bot.
    Raises NotAdmitted, TooMany.
    """
    must_be_admitted(session, who, season, bot)
    if who.organises or season.entries_per_author is None:
        return
    for person in people_behind(session, bot):
        if entries_behind(session, person, season.id) >= season.entries_per_author:
            raise too_many_entries(person, season)


def objection(season: Season, version: BotVersion | Upload) -> str:
    """Return a clause on why the season does not accept a version; empty if it does."""
    if season.languages is not None and version.language not in season.languages:
        most = ", ".join(season.languages)
        return _("is in %(its)s, but the season accepts only %(accepted)s", its=version.language, accepted=most)
    if season.upload_kib is not None and version.size_bytes > season.upload_kib * KIB:
        size = f"{-(-version.size_bytes // KIB):,} KiB"
        most = f"{season.upload_kib:,} KiB"
        return _("was an upload of %(size)s, but the season accepts at most %(accepted)s", size=size, accepted=most)
    return ""


def newest_ready(
    session: Session, bot_id: int, season: Season | None, besides: Collection[int] = ()
) -> BotVersion | None:
    """Find the newest ready version that the season accepts (None: any with a program), except those in `besides`."""
    ready = select(BotVersion).where(BotVersion.bot_id == bot_id, BotVersion.state == VersionState.READY)
    if season is None or season.players is Players.PROGRAMS:
        ready = ready.where(col(BotVersion.program_sha256).is_not(None))
    if besides:
        ready = ready.where(col(BotVersion.id).not_in(besides))
    if season is not None and season.languages is not None:
        ready = ready.where(col(BotVersion.language).in_(season.languages))
    if season is not None and season.upload_kib is not None:
        ready = ready.where(BotVersion.size_bytes <= season.upload_kib * KIB)
    return session.exec(ready.order_by(col(BotVersion.number).desc()).limit(1)).first()


def version_to_enter(session: Session, season: Season, bot: Bot, number: int | None) -> BotVersion:
    """Return that version, or (None) the newest that may enter. Raises NotFound, NotReady, NotAdmitted."""
    of_bot = select(BotVersion).where(BotVersion.bot_id == bot.id)
    if number is not None:
        version = session.exec(of_bot.where(BotVersion.number == number)).first()
        if version is None:
            raise NotFound("version", number)
        if version.state is not VersionState.READY:
            raise NotReady(bot.name, _("version %(number)s is %(told)s", number=number, told=_condition(version)))
        if why := objection(season, version):
            raise NotAdmitted(_("version %(number)s %(why)s", number=number, why=why))
        return version
    ready = newest_ready(session, bot.id, season)
    if ready is not None:
        return ready
    refused = newest_ready(session, bot.id, None)
    if refused is not None:
        why = objection(season, refused)
        raise NotAdmitted(_("version %(n)s, the newest ready one, %(why)s", n=refused.number, why=why))
    newest = session.exec(of_bot.order_by(col(BotVersion.number).desc()).limit(1)).first()
    none = _("there are no uploads")
    raise NotReady(bot.name, none if newest is None else _("the newest is %(told)s", told=_condition(newest)))


def _condition(version: BotVersion) -> str:
    """Return the version's state, and the first line of the reason if it is broken."""
    why = version.reason.strip().partition("\n")[0]
    state = gettext(version.state)
    return f"{state}: {why}" if why else state


def invite_to_season(session: Session, organiser: Person, season_id: int, name: str) -> list[str]:
    """Invite an author to a season, and return the list. Raises NotAllowed, NotFound."""
    user_id = _user_id(session, organiser, season_id, name)
    if session.get(SeasonInvitation, (season_id, user_id)) is None:
        session.add(SeasonInvitation(season_id=season_id, user_id=user_id))
        session.flush()
        record(session, organiser.name, "season-invited", f"season/{season_id}")  # only organisers see the name
        notices.season_invited(session, season_id, [user_id])
    return invited_to_season(session, organiser, season_id)


def uninvite_from_season(session: Session, organiser: Person, season_id: int, name: str) -> list[str]:
    """Take an author off the list, and return the list. Entries are not affected. Raises NotAllowed, NotFound."""
    row = session.get(SeasonInvitation, (season_id, _user_id(session, organiser, season_id, name)))
    if row is not None:
        session.delete(row)
        session.flush()
        record(session, organiser.name, "season-uninvited", f"season/{season_id}")
    return invited_to_season(session, organiser, season_id)


def set_list(session: Session, organiser: Person, season_id: int, user_ids: Collection[int]) -> None:
    """Invite exactly these authors. Entries are not affected. Raises NotAllowed."""
    organiser.must_organise()
    listed = select(SeasonInvitation.user_id).where(SeasonInvitation.season_id == season_id)
    before, after = set(session.exec(listed)), set(user_ids)
    if before == after:
        return
    gone = col(SeasonInvitation.user_id).in_(before - after)
    session.exec(delete(SeasonInvitation).where(col(SeasonInvitation.season_id) == season_id, gone))
    session.add_all(SeasonInvitation(season_id=season_id, user_id=user_id) for user_id in sorted(after - before))
    session.flush()
    numbers = {"added": len(after - before), "removed": len(before - after)}  # only organisers see the names
    record(session, organiser.name, "season-list-changed", f"season/{season_id}", numbers)
    notices.season_invited(session, season_id, after - before)


def take_over_list(session: Session, previous_id: int, season_id: int) -> None:
    """Invite to a season everybody who was invited to the previous one."""
    before = select(SeasonInvitation.user_id).where(SeasonInvitation.season_id == previous_id)
    invited = session.exec(before).all()
    session.add_all(SeasonInvitation(season_id=season_id, user_id=user_id) for user_id in invited)
    session.flush()
    notices.season_invited(session, season_id, invited)


def invited_to_season(session: Session, organiser: Person, season_id: int) -> list[str]:
    """List the invited authors by name. Raises NotAllowed, NotFound."""
    organiser.must_organise()
    existing(session, Season, season_id)
    invited = select(User.name).join(SeasonInvitation, col(SeasonInvitation.user_id) == User.id)
    return list(session.exec(invited.where(SeasonInvitation.season_id == season_id).order_by(User.name_key)))


def _user_id(session: Session, organiser: Person, season_id: int, name: str) -> int:
    organiser.must_organise()
    existing(session, Season, season_id)
    return existing_user(session, name).id
