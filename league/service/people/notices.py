"""Notices: each account's inbox of events that concern its owner. Also organisers' announcements to everyone.

Theory of operation
-------------------
A function of this module writes each notice in the transaction of the event itself: if the event is rolled back, so is
the notice. A notice names its event by kind and subject, which is unique for each person, so a repeated step notifies
nobody twice. It keeps the names and figures of that moment (`about`), which fill the sentence of its kind
(`league.words.NoticeKind`).

All members of a team are notified about its bots. Closed accounts are not notified. A notice is kept for `KEPT`, and at
most the newest `MOST_KEPT` per person.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from sqlalchemy import Integer, bindparam, union_all
from sqlalchemy import select as columns
from sqlmodel import Session, col, delete, func, insert, select

from deadheat.engine.core import Fault
from deadheat.engine.language import N_, gettext
from deadheat.league.database import now
from deadheat.league.records import from_row
from deadheat.league.records.bots import Notice as NoticeInfo
from deadheat.league.records.rulings import Announcement as AnnouncementInfo
from deadheat.league.records.seasons import ForecastEvaluation
from deadheat.league.service.ground.audit import record
from deadheat.league.service.ground.counting import taking_part
from deadheat.league.service.ground.lookups import newest_first
from deadheat.league.service.ground.steps import existing, insert_new, set_values, storable
from deadheat.league.service.people.person import Person
from deadheat.league.states import (
    SEASON_STEPS,
    AppealState,
    ContestState,
    DeliveryState,
    Role,
    VersionState,
    dated_steps,
)
from deadheat.league.tables import (
    Announcement,
    Appeal,
    Bot,
    BotVersion,
    Channel,
    Contest,
    ContestPlayer,
    Delivery,
    Entry,
    Match,
    Notice,
    Participant,
    Season,
    Team,
    TeamMember,
    User,
)
from deadheat.league.words import NoticeKind

KEPT = timedelta(days=90)
MOST_KEPT = 500

MOST_FACT = 300
"""The most characters kept of one fact, such as the reason why a version is broken; its page has the whole text."""

NEAR = timedelta(hours=24)
"""How long before a date people are notified."""

RECENT_MATCHES = 20
MANY_FAULTS = 5
"""The number of faults in the last `RECENT_MATCHES` matches of a version at which its owners are notified, in a season
without rests.
"""

KNOWN_WORDS = frozenset({"event", "state", "becomes", "fault", "result", "verdict"})
"""Facts in our own words, which are translated for the reader and may contain other facts; the others are names,
figures and reasons, which contain none.
"""

Facts = Mapping[str, str | int]


SETTLED = select(BotVersion.state, BotVersion.reason, BotVersion.number, BotVersion.bot_id).where(
    col(BotVersion.id) == bindparam("version_id")
)


def version_settled(session: Session, version_id: int) -> None:
    """Tell a bot's owners that a build is over."""
    state, why, number, bot_id = session.exec(SETTLED, params={"version_id": version_id}).one()
    ready = state is VersionState.READY
    kind = NoticeKind.VERSION_READY if ready else NoticeKind.VERSION_BROKEN
    reason = {} if ready else {"reason": why}
    _tell_people_of(session, bot_id, kind, f"version/{version_id}", version=number, **reason)


def gate_decided(session: Session, gate: Contest, candidate: BotVersion) -> None:
    """Tell a bot's owners how its new version fared at its gate, unless that was left undecided."""
    kinds = {ContestState.PASSED: NoticeKind.GATE_PASSED, ContestState.FAILED: NoticeKind.GATE_FAILED}
    if gate.state in kinds:
        facts = _season_facts(session, gate.season_id) | {"reason": gate.reason}
        kind, subject = kinds[gate.state], f"challenge/{gate.public_id}"
        _tell_people_of(session, candidate.bot_id, kind, subject, version=candidate.number, **facts)


def panel_played(session: Session, run: Contest, version: BotVersion, points: float, most: int) -> None:
    """Tell a bot's owners how its version fared against the panel. `most`: the highest possible score."""
    verdict, minimum, reached = "", run.terms["minimum"], run.state is ContestState.PASSED
    if "elo0" in run.terms:
        verdict = N_("; it passed the test, so it may play") if reached else N_("; it did not pass the test")
    if minimum is not None:
        verdict = (
            N_("; it needs {minimum}, so it may play") if reached else N_("; it needs {minimum}, so it does not play")
        )
    facts = _season_facts(session, run.season_id) | {"version": version.number, "verdict": verdict}
    facts |= {"points": f"{points:g}", "most": most, "minimum": "" if minimum is None else f"{minimum:g}"}
    _tell_people_of(session, version.bot_id, NoticeKind.PANEL_PLAYED, f"panel/{run.public_id}", **facts)


def challenge_over(
    session: Session, request: Contest, score: Facts, candidate: BotVersion, opponents: Sequence[BotVersion]
) -> None:
    """Tell a bot's owners that the unrated matches they asked for are over. Several opponents are named by the first
    and the number of the others.
    """
    opponent = session.get_one(Bot, opponents[0].bot_id).name
    opponent += f" (+{len(opponents) - 1})" if opponents[1:] else ""
    facts = {**_season_facts(session, request.season_id), **score, "reason": request.reason}
    facts |= {"challenge_id": request.public_id, "opponent": opponent}
    subject = f"challenge/{request.public_id}"
    _tell_people_of(session, candidate.bot_id, NoticeKind.CHALLENGE_OVER, subject, **facts)


def version_failed(session: Session, season_id: int, version_id: int, match_id: int, fault: Fault) -> None:
    """Tell a bot's owners of a version's first fault in a season, and once more if it fails often."""
    subject = f"season/{season_id}/version/{version_id}"
    if _is_told(session, NoticeKind.MANY_FAULTS, subject):
        return
    which = {"season_id": season_id, "version_id": version_id}
    season, rest_faults, number, bot_id = session.exec(FAILING, params=which).one()
    facts: dict[str, str | int]
    facts = {"season_id": season_id, "season": season, "version": number, "match_id": match_id}
    _tell_people_of(session, bot_id, NoticeKind.FAULT, subject, fault=fault.value, **facts)
    if rest_faults is not None:
        return
    recent = session.exec(RECENT, params=which).all()
    faults = sum(fault is not None for fault in recent)
    if faults >= MANY_FAULTS:
        facts |= {"faults": faults, "matches": len(recent)}
        _tell_people_of(session, bot_id, NoticeKind.MANY_FAULTS, subject, **facts)


FAILING = (
    select(Season.name, Season.rest_faults, BotVersion.number, BotVersion.bot_id)
    .select_from(BotVersion)
    .join(Season, col(Season.id) == bindparam("season_id"))
    .where(col(BotVersion.id) == bindparam("version_id"))
)
RECENT = (
    select(Participant.fault)
    .join(Match, col(Match.id) == Participant.match_id)
    .where(col(Participant.version_id) == bindparam("version_id"), col(Match.season_id) == bindparam("season_id"))
    .where(col(Match.asked).is_(None), col(Participant.finished_at).is_not(None))
    .order_by(col(Participant.match_id).desc())
    .limit(RECENT_MATCHES)
)


def bot_rests(session: Session, entry: Entry) -> None:
    """Tell a bot's owners that it rests, why, and how to bring it back."""
    assert entry.rests_since is not None
    subject = f"season/{entry.season_id}/bot/{entry.bot_id}/{entry.rests_since:%Y%m%dT%H%M%S}"
    facts = _season_facts(session, entry.season_id) | {"reason": entry.rest_reason}
    _tell_people_of(session, entry.bot_id, NoticeKind.RESTED, subject, **facts)


def appeal_opened(session: Session, appeal: Appeal, author: Person) -> None:
    """Tell all other organisers of an appeal; at most once an hour for each author."""
    facts = _season_facts(session, appeal.season_id) | {"match_id": appeal.match_id, "author": author.name}
    facts["bot"] = session.get_one(Bot, appeal.bot_id).name
    others = [user_id for user_id in _all_with(session, Role.ORGANISER) if user_id != author.id]
    _tell(session, others, NoticeKind.APPEAL_OPENED, f"appeals/{author.id}/{now(session):%Y%m%dT%H}", facts)


def appeal_decided(session: Session, appeal: Appeal) -> None:
    """Tell a bot's owners the ruling on their appeal."""
    assert appeal.state in (AppealState.UPHELD, AppealState.REJECTED)
    facts: Facts = {"match_id": appeal.match_id, "state": appeal.state.value, "ruling": appeal.ruling}
    _tell_people_of(session, appeal.bot_id, NoticeKind.APPEAL_DECIDED, f"appeal/{appeal.id}", **facts)


def standings_published(session: Session, season_id: int, rows: Iterable[Mapping[str, Any]]) -> None:
    """Tell everybody with a bot in the season its final place. `rows`: those of the final standings."""
    ranks = {row["bot_id"]: row["rank"] for row in rows if row["rank"] is not None}
    bot_ids = session.exec(select(Entry.bot_id).where(Entry.season_id == season_id)).all()
    placed, unplaced = N_("place {place}"), N_("no place")
    results: dict[int, Facts] = {
        bot_id: {"result": placed, "place": ranks[bot_id]} if bot_id in ranks else {"result": unplaced}
        for bot_id in bot_ids
    }
    season = _season_facts(session, season_id)
    _tell_people_of_many(session, NoticeKind.STANDINGS, f"season/{season_id}", season, results)


def evaluation_done(session: Session, evaluation: Contest) -> None:
    """Tell the owners of every bot in an evaluation its place."""
    took_part = select(ContestPlayer).where(ContestPlayer.contest_id == evaluation.id)
    places = {row.bot_id: {"place": row.place or 0, "seed": row.seed} for row in session.exec(took_part)}
    facts = _season_facts(session, evaluation.season_id)
    facts |= {"evaluation_id": evaluation.id, "number": evaluation.number, "players": len(places)}
    _tell_people_of_many(session, NoticeKind.EVALUATION_DONE, f"evaluation/{evaluation.id}", facts, places)


def deadlines_near(session: Session, season: Season) -> None:
    """Tell everybody with a bot in the season about each near date once, although every tick calls this."""
    at = now(session)
    for state, _, date in dated_steps(season, season.state):
        subject = f"season/{season.id}/{state.value}/{date:%Y%m%dT%H%M%S}"
        step = SEASON_STEPS[state]
        if not step.announced or not at < date <= at + NEAR or _is_told(session, NoticeKind.DEADLINE, subject):
            continue
        people = _people(session, session.exec(select(Entry.bot_id).where(taking_part(season.id))).all())
        facts = {"becomes": step.becomes, "date": f"{date:%Y-%m-%d %H:%M} UTC"}
        everybody = {person for members in people.values() for person in members}
        _tell(session, everybody, NoticeKind.DEADLINE, subject, _season_facts(session, season.id) | facts)


def falls_behind(session: Session, season: Season, late: ForecastEvaluation, successor: datetime) -> None:
    """Tell all organisers that an evaluation will be late; at most once a day for each season."""
    subject = f"season/{season.id}/behind/{now(session):%Y%m%d}"
    if _is_told(session, NoticeKind.BEHIND, subject):
        return
    due, done, following = (f"{at:%H:%M} UTC" for at in (late.due_at, late.done_at, successor))
    facts = {"evaluation": late.name, "due": due, "done": done, "successor": following}
    organisers = _all_with(session, Role.ORGANISER)
    _tell(session, organisers, NoticeKind.BEHIND, subject, _season_facts(session, season.id) | facts)


def machine_unfit(session: Session, machine: str, reason: str) -> None:
    """Tell all administrators that a machine became unfit; at most once an hour for each machine."""
    named = sha256(machine.encode()).hexdigest()[:16]  # a machine's name is longer than a subject may be
    subject = f"machine/{named}/{now(session):%Y%m%dT%H}"
    facts = {"machine": machine, "reason": reason}
    _tell(session, _all_with(session, Role.ADMIN), NoticeKind.UNFIT, subject, facts)


def played_again(session: Session, season_id: int, match_id: int) -> None:
    """Tell the owners of a match's bots that it is played again because of its machine; at most once a day."""
    bots = session.exec(select(Participant.bot_id).where(Participant.match_id == match_id)).all()
    facts, subject = _season_facts(session, season_id), f"season/{season_id}/{now(session):%Y%m%d}"
    _tell_people_of_many(session, NoticeKind.PLAYED_AGAIN, subject, facts, {bot_id: {} for bot_id in bots})


def season_invited(session: Session, season_id: int, user_ids: Collection[int]) -> None:
    """Tell people that they may enter a season."""
    facts = _season_facts(session, season_id)
    _tell(session, user_ids, NoticeKind.SEASON_INVITED, f"season/{season_id}", facts)


def bot_entered(session: Session, season_id: int, bot_id: int) -> None:
    """Tell a bot's owners that an organiser entered it, or brought it back; every time."""
    subject = f"season/{season_id}/bot/{bot_id}/{now(session):%Y%m%dT%H%M%S.%f}"
    _tell_people_of(session, bot_id, NoticeKind.ENTERED, subject, **_season_facts(session, season_id))


def team_invited(session: Session, captain: Person, member: TeamMember) -> None:
    """Tell a person of an invitation to a team; at most once a day, because an invitation can be repeated."""
    team = session.get_one(Team, member.team_id)
    facts: dict[str, str | int] = {"captain": captain.name, "team": team.name, "team_id": team.id}
    subject = f"team/{member.team_id}/{member.invited_at:%Y%m%d}"
    _tell(session, [member.user_id], NoticeKind.TEAM_INVITED, subject, facts)


def account_changed(session: Session, user_id: int, event: str, **facts: str) -> None:
    """Tell a person of a change to what opens their account, or to where they are told of it; every time."""
    subject = f"account/{now(session):%Y%m%dT%H%M%S.%f}/{sha256(repr((event, facts)).encode()).hexdigest()[:16]}"
    _tell(session, [user_id], NoticeKind.SECURITY, subject, {"event": event, **facts})


def inbox(
    session: Session, person: Person, *, unread: bool = False, before: int | None = None, limit: int = 50
) -> list[NoticeInfo]:
    """List a person's notices with an id below `before`, the newest first."""
    mine = select(Notice).where(Notice.user_id == person.id)
    if unread:
        mine = mine.where(col(Notice.read_at).is_(None))
    return [notice_info(row) for row in session.exec(newest_first(mine, Notice.id, before, limit))]


def count_unread(session: Session, person: Person) -> int:
    """Return the number of a person's unread notices."""
    return session.exec(UNREAD, params={"user": person.id}).one()


UNREAD = (
    select(func.count())
    .select_from(Notice)
    .where(col(Notice.user_id) == bindparam("user"), col(Notice.read_at).is_(None))
)


def mark_read(session: Session, person: Person, up_to: int) -> int:
    """Mark a person's notices up to that id as read, and return the number of later, unread ones."""
    mine = (col(Notice.user_id) == person.id, col(Notice.id) <= up_to, col(Notice.read_at).is_(None))
    set_values(session, Notice, *mine, read_at=now(session))
    return count_unread(session, person)


def forget_old(session: Session) -> None:
    """Remove notices that need not be kept any longer."""
    session.exec(delete(Notice).where(col(Notice.at) < now(session) - KEPT))
    full = select(Notice.user_id).group_by(col(Notice.user_id)).having(func.count() > MOST_KEPT)
    for user_id in session.exec(full).all():
        mine = select(Notice.id).where(Notice.user_id == user_id).order_by(col(Notice.id).desc())
        newest_of_rest = session.exec(mine.offset(MOST_KEPT).limit(1)).one()
        session.exec(delete(Notice).where(col(Notice.user_id) == user_id, col(Notice.id) <= newest_of_rest))


def _tell_people_of(session: Session, bot_id: int, kind: NoticeKind, subject: str, **facts: str | int) -> None:
    about = {"bot_id": bot_id, "bot": session.exec(NAME, params={"bot_id": bot_id}).one(), **facts}
    _tell(session, _people(session, [bot_id])[bot_id], kind, subject, about)


NAME = select(Bot.name).where(col(Bot.id) == bindparam("bot_id"))


def _tell_people_of_many(
    session: Session, kind: NoticeKind, subject: str, facts: Facts, facts_by_bot: Mapping[int, Facts]
) -> None:
    people = _people(session, facts_by_bot)
    names = dict(session.exec(select(Bot.id, Bot.name).where(col(Bot.id).in_(facts_by_bot))).all())
    rows = []
    for bot_id, more in facts_by_bot.items():
        about = {"bot_id": bot_id, "bot": names[bot_id], **facts, **more}
        rows += _rows(session, people[bot_id], kind, f"{subject}/bot/{bot_id}", about)
    _write(session, rows)


def _tell(session: Session, user_ids: Iterable[int], kind: NoticeKind, subject: str, facts: Facts) -> None:
    _write(session, _rows(session, user_ids, kind, subject, facts))


def _rows(
    session: Session, user_ids: Iterable[int], kind: NoticeKind, subject: str, facts: Facts
) -> list[dict[str, Any]]:
    about = {name: storable(fact, MOST_FACT) if isinstance(fact, str) else fact for name, fact in facts.items()}
    event = {"kind": kind, "subject": subject, "about": about, "at": now(session)}
    return [{"user_id": user_id, **event} for user_id in user_ids]


def _write(session: Session, rows: Iterable[dict[str, Any]]) -> None:
    """Send notices to everybody who has not received them, by every channel. The order of ids prevents deadlocks."""
    new = insert_new(session, Notice, sorted(rows, key=lambda row: (row["user_id"], row["subject"])))
    at = now(session)
    event = {"state": DeliveryState.WAITING, "at": at, "due_at": at}
    heard = session.exec(HEARD, params={"notices": new}) if new else ()
    deliveries = [{"notice_id": notice_id, "channel_id": channel_id, **event} for notice_id, channel_id in heard]
    if deliveries:
        session.connection().execute(insert(Delivery).inline(), deliveries)  # workers may not read what they insert


IN_USE = (col(Channel.disabled_at).is_(None), col(Channel.confirmed_at).is_not(None))
"""The conditions under which notices are sent to a channel."""

HEARD = (
    select(Notice.id, Channel.id)
    .join(Channel, col(Channel.user_id) == Notice.user_id)
    .where(col(Notice.id).in_(bindparam("notices", expanding=True)), *IN_USE)
)


def _is_told(session: Session, kind: NoticeKind, subject: str) -> bool:
    """Say whether the notice has been sent; it is always sent to all its readers at once."""
    return session.exec(TOLD, params={"kind": kind, "subject": subject}).first() is not None


TOLD = select(Notice.id).where(Notice.kind == bindparam("kind"), Notice.subject == bindparam("subject")).limit(1)


def _people(session: Session, bot_ids: Collection[int]) -> dict[int, list[int]]:
    """Return the people who are notified about each bot: its maker, or its team's members, with an open account."""
    people: dict[int, list[int]] = {bot_id: [] for bot_id in bot_ids}
    for bot_id, user_id in session.connection().execute(PEOPLE, {"bots": list(bot_ids)}):
        people[bot_id].append(user_id)
    return people


_CHOSEN = col(Bot.id).in_(bindparam("bots", expanding=True))
_ALONE: Any = columns(col(Bot.id).label("bot_id"), col(Bot.owner_id).label("user_id"))
_TEAMS = columns(col(Bot.id), col(TeamMember.user_id)).where(_CHOSEN, col(TeamMember.joined_at).is_not(None))
_BEHIND = union_all(
    _ALONE.where(_CHOSEN, col(Bot.team_id).is_(None)),
    _TEAMS.join_from(Bot, TeamMember, col(TeamMember.team_id) == col(Bot.team_id)),
).subquery()
PEOPLE = (
    columns(_BEHIND.c.bot_id, _BEHIND.c.user_id)
    .join_from(_BEHIND, User, col(User.id) == _BEHIND.c.user_id)
    .where(col(User.closed_at).is_(None))
)


def _all_with(session: Session, role: Role) -> Sequence[int]:
    ids = select(User.id).where(col(User.role).in_(Role.allowing(role)), col(User.closed_at).is_(None))
    return session.exec(ids).all()


def _season_facts(session: Session, season_id: int) -> dict[str, str | int]:
    return {"season_id": season_id, "season": session.get_one(Season, season_id).name}


def notice_info(row: Notice) -> NoticeInfo:
    """Return a notice with its sentence. A worker's role can write any facts, so none may fail or grow here."""
    stored: object = row.about
    stored = stored if isinstance(stored, dict) else {}
    known = {name: fact if type(fact) is int else str(fact)[:MOST_FACT] for name, fact in stored.items()}
    words = {name: str(fact) for name, fact in known.items() if name in KNOWN_WORDS}
    reason = {"reason": gettext(str(known.get("reason", "")))}
    about = known | reason | {name: _filled(gettext(fact), known) for name, fact in words.items()}
    sentence, path = _filled(gettext(row.kind.sentence), about), _filled(row.kind.path, known)
    facts = known | {name: _filled(fact, known) for name, fact in words.items()}
    return from_row(NoticeInfo, row, text=sentence, path=path, about=facts)


def _filled(words: str, facts: Facts) -> str:
    """Put facts into their places. Unlike `str.format`, this knows nothing but names, and leaves what is not there."""
    return PLACE.sub(lambda place: str(facts.get(place[1], place[0])), words)


PLACE = re.compile(r"\{(\w+)\}")


MAX_SHOWN = 50


def announce(session: Session, organiser: Person, season_id: int | None, title: str, text: str) -> AnnouncementInfo:
    """Publish an announcement to everyone. Raises NotAllowed, NotFound."""
    organiser.must_organise()
    season = None if season_id is None else existing(session, Season, season_id).name
    row = Announcement(season_id=season_id, title=title, text=text, author=organiser.name, at=now(session))
    session.add(row)
    session.flush()
    record(session, organiser.name, "announced", f"announcement/{row.id}", {"season": season_id, "title": title})
    return from_row(AnnouncementInfo, row, season=season)


def take_down(session: Session, organiser: Person, announcement_id: int) -> None:
    """Remove an announcement; the audit log still shows that it existed. Raises NotAllowed, NotFound."""
    organiser.must_organise()
    row = existing(session, Announcement, announcement_id)
    record(session, organiser.name, "announcement-removed", f"announcement/{row.id}", {"title": row.title})
    session.delete(row)


def announcements(session: Session, season_id: int | None = None, limit: int = MAX_SHOWN) -> list[AnnouncementInfo]:
    """Return the announcements about one season and about the whole league, or all, the newest first."""
    statement = NEWEST if season_id is None else ABOUT
    rows = session.exec(statement, params={"season": season_id, "most": limit})
    return [from_row(AnnouncementInfo, row, season=season) for row, season in rows]


NAMED = select(Announcement, Season.name).join(Season, col(Season.id) == Announcement.season_id, isouter=True)
NEWEST = NAMED.order_by(col(Announcement.id).desc()).limit(bindparam("most", type_=Integer))
ABOUT = NEWEST.where((col(Announcement.season_id) == bindparam("season")) | col(Announcement.season_id).is_(None))
