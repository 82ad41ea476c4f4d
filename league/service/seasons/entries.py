"""Entries: bots in seasons, and which of their versions plays."""

from collections.abc import Callable
from typing import Any, Literal

import sqlalchemy
from sqlalchemy import bindparam
from sqlmodel import Session, and_, col, func, select

from deadheat.engine.language import N_, _, gettext
from deadheat.league.database import now
from deadheat.league.errors import BadSetting, LeagueError, NotAdmitted, NotFound, WrongGame, WrongState
from deadheat.league.pairing.duel import Duel
from deadheat.league.records import from_row
from deadheat.league.records.entries import Entry as EntryInfo
from deadheat.league.service.bots.bots import Upload, is_own, must_be_active, own_bot
from deadheat.league.service.duels.gates import choose_version, gate_as_json
from deadheat.league.service.duels.panels import admits, arrive, choose_in_advance, has_points, without_points
from deadheat.league.service.ground import lookups
from deadheat.league.service.ground.audit import record
from deadheat.league.service.ground.lookups import entry_of
from deadheat.league.service.ground.steps import existing, lock_season, touch_log
from deadheat.league.service.people import notices
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.absence import check_pause, must_take_part
from deadheat.league.service.seasons.admission import check_admission, newest_ready, objection, version_to_enter
from deadheat.league.service.seasons.divisions import lowest_division
from deadheat.league.states import ENTERABLE, GOING_ON, ContestKind, ContestState, Players, SourcesFrom, VersionState
from deadheat.league.tables import AbsentEntry, Bot, BotVersion, Contest, ContestPlayer, Entry, Season, Team, User

BUILT = (VersionState.READY, VersionState.BROKEN)

Gate = Callable[[], Duel] | Literal["keep", "none"]
"""New terms for an entry's promotion gate, no change ("keep"), or no gate ("none"). A function returns the terms or
raises BadSetting; it is called only after everything else, so that a missing bot is reported first.
"""


def enter(
    session: Session, who: Person, season_id: int, bot_id: int, number: int | None = None, gate: Gate = "keep"
) -> EntryInfo:
    """Let a bot take part, or choose another version of a bot that does. An organiser may enter anybody's bot, unless
    sources are published; the rest is its author's choice (organisers may compete). No change, no record. `number`:
    None for the newest ready version, and from then on each newer one as soon as it is ready, or has passed the entry's
    gate. A version chosen by number needs no gate. Raises NotFound, WrongGame, NotReady, WrongState; NotAdmitted,
    TooMany: the season's entry rules, or too few points against its panel; TooSoon: the active version was chosen a
    moment ago; BadSetting: about the gate.
    """
    season = lock_season(session, season_id)
    bot = _bot(session, who, bot_id)
    must_be_active(session, bot)
    _must_be_welcome(session, season, bot)
    entry = entry_of(session, season_id, bot_id)
    if not (own := is_own(session, who, bot_id)):
        _must_leave_choices(entry, bot_id, number, gate)
        if season.sources is SourcesFrom.CLOSED:
            raise NotAdmitted(_("it publishes sources, so only the bot's author may enter it"))
    version = version_to_enter(session, season, bot, number)
    if number is None and (failed := without_points(session, season, bot_id)):
        version = newest_ready(session, bot_id, season, failed) or version
    before = None if entry is None else (entry.gate, entry_info(session, season_id, bot_id))
    if entry is None:
        check_admission(session, who, season, bot)
        entry = Entry(
            season_id=season.id,
            bot_id=version.bot_id,
            version_id=version.id,
            division=lowest_division(session, season.id),
            waits_for_panel=admits(season),
            created_at=now(session),
        )
        session.add(entry)
    if gate != "keep":
        if gate != "none" and bot.is_agent:
            raise BadSetting("gate", _("agents have no promotion gates"))
        entry.gate = None if gate == "none" else gate_as_json(season, gate)
    entry.follows = number is None
    session.flush()
    played = entry.version_id
    _choose_by_author(session, season, entry, version, number=number, is_new=before is None)
    if entry.version_id != played and not entry.waits_for_panel:
        _pause_choosing(session, season, entry)
    after = (entry.gate, entry_info(session, season_id, bot_id))
    if after != before:
        chosen = {"bot": bot_id, "version": version.number, "follows": entry.follows}
        chosen["gate"] = entry.gate is not None  # its terms are private
        record(session, who.name, "entered", f"season/{season_id}", chosen)
        touch_log(session, season_id)
        if not own:
            notices.bot_entered(session, season_id, bot_id)
    return after[1]


def check_wish(session: Session, owner: Person, season_id: int, bot_id: int, upload: Upload | None = None) -> None:
    """Check whether a bot may enter a season once its next version is ready; with that version's `upload`, also whether
    the season accepts it. Raises NotFound, WrongGame, NotAdmitted, TooMany; WrongState: the season accepts no entries
    any more, or the bot is withdrawn or disqualified.
    """
    season, bot = lock_season(session, season_id), own_bot(session, owner, bot_id)
    _must_be_welcome(session, season, bot)
    if entry_of(session, season_id, bot_id) is None:
        check_admission(session, owner, season, bot)
    if upload is not None and (why := objection(season, upload)):
        raise NotAdmitted(_("the program %(why)s", why=why))


def enter_when_ready(session: Session, owner: Person, season_id: int, bot_id: int) -> bool:
    """Let a bot without a version for a season enter it once the newest, which is being built, is ready. Return False
    if there is no such version. Raises as `check_wish` does.
    """
    season, bot = existing(session, Season, season_id), own_bot(session, owner, bot_id)
    of_bot = select(BotVersion).where(BotVersion.bot_id == bot.id)
    newest = session.exec(of_bot.order_by(col(BotVersion.number).desc()).limit(1)).first()
    if newest is None or newest.state in BUILT or newest_ready(session, bot.id, season) is not None:
        return False
    check_wish(session, owner, season_id, bot_id)
    newest.enters_id = season_id
    return True


def _must_be_welcome(session: Session, season: Season, bot: Bot) -> None:
    if season.state not in ENTERABLE:
        clause = _("bots can enter, or change versions, only while it is %(states)s")
        raise WrongState.of_season(season.state, clause, ENTERABLE)
    if bot.game != season.game:
        raise WrongGame(bot.game, season.game)
    if bot.is_agent != (season.players is Players.AGENTS):
        raise NotAdmitted(_("agents play in it") if season.players is Players.AGENTS else _("programs play in it"))
    must_take_part(session, season.id, bot.id)


def enter_as_wished(session: Session, season_id: int) -> None:
    """Enter bots whose new version was to enter once it is ready; a refusal is added to the version's log."""
    wished = select(BotVersion).where(BotVersion.enters_id == season_id, col(BotVersion.state).in_(BUILT))
    for version in session.exec(wished).all():
        version.enters_id = None
        owner = None if version.uploader_id is None else session.get(User, version.uploader_id)
        if owner is None or version.state is not VersionState.READY:
            continue
        try:
            with session.begin_nested():
                enter(session, Person(owner.id, owner.name, owner.role), season_id, version.bot_id)
        except LeagueError as error:
            version.log += f"\n--- It could not enter season {season_id}: {error}"
        session.flush()


def let_in(session: Session, organiser: Person, season_id: int, bot_id: int) -> EntryInfo:
    """Enter anybody's bot that is not in the season, as an organiser. Raises NotAllowed, and as `enter` does."""
    organiser.must_organise()
    lock_season(session, season_id)
    _must_leave_choices(entry_of(session, season_id, bot_id), bot_id)
    return enter(session, organiser, season_id, bot_id)


def entries(session: Session, season_id: int, after_bot: int = 0, limit: int = 1000) -> list[EntryInfo]:
    """List the entries in order of bots, from the one after `after_bot`. Raises NotFound."""
    existing(session, Season, season_id)
    return _views(session, ENTERED.where(col(Entry.bot_id) > after_bot).limit(limit), season_id)


def entries_named(
    session: Session, season_id: int, named: str, *, skip: int = 0, limit: int = 100
) -> tuple[list[EntryInfo], int]:
    """Return the entries with `named` in the name of their bot, author or team, by bot: those after the first `skip`,
    and the total number. Raises NotFound.
    """
    existing(session, Season, season_id)
    fitting = ENTERED.where(lookups.named(named))
    count = fitting.with_only_columns(func.count()).order_by(None)
    in_all = session.connection().execute(count, {"season": season_id}).scalar_one()
    return _views(session, fitting.offset(skip).limit(limit), season_id), in_all


def entry_info(session: Session, season_id: int, bot_id: int) -> EntryInfo:
    views = _views(session, ONE, season_id, bot=bot_id)
    if not views:
        raise NotFound.entry(bot_id)
    return views[0]


def offer_version(session: Session, version_id: int) -> None:
    """Offer a version that has become ready to its bot's entries, which have it play the panel. An entry that follows
    its bot also adopts the version, or sends it to the gate. Nothing happens if a newer version is ready already, or
    where a season does not accept this one.
    """
    version = session.get_one(BotVersion, version_id, populate_existing=True)
    older = (Entry.bot_id == version.bot_id, Entry.version_id < version.id)
    statement = select(Entry).where(*older).execution_options(populate_existing=True)
    game = select(Bot.game).where(Bot.id == version.bot_id).scalar_subquery()
    going_on = select(Season.id).where(Season.game == game, col(Season.state).in_(GOING_ON))
    # Lock each season before reading its entry: it may be freezing or thawing just now, the author may be choosing a
    # version, or the bot may be entering with an older version.
    for season_id in session.exec(going_on.order_by(col(Season.id))).all():
        season = lock_season(session, season_id)
        entry = session.exec(statement.where(Entry.season_id == season_id)).first()
        if entry is None or season.state not in ENTERABLE:
            continue
        newest = newest_ready(session, version.bot_id, season)
        if newest is not None and newest.id == version.id:
            _offer(session, season, entry, version)
            touch_log(session, season.id)


def offer_newest(session: Session, season: Season) -> None:
    """Offer the entries of a season that is open again the versions that became ready while it was frozen. The caller
    has locked the season.
    """
    newer = select(BotVersion.id).where(
        BotVersion.bot_id == Entry.bot_id, BotVersion.id > Entry.version_id, BotVersion.state == VersionState.READY
    )
    offered = select(Entry).where(Entry.season_id == season.id, newer.exists())
    for entry in session.exec(offered.order_by(col(Entry.id)).execution_options(populate_existing=True)).all():
        version = newest_ready(session, entry.bot_id, season)
        if version is not None and version.id > entry.version_id:
            _offer(session, season, entry, version)
    touch_log(session, season.id)


def _offer(session: Session, season: Season, entry: Entry, version: BotVersion) -> None:
    """Let an entry that follows its bot use a newer version; otherwise only test it against the panel."""
    if entry.follows:
        _choose(session, season, entry, version, by_gate=True)
    else:
        arrive(session, season, entry, version)


def _choose(session: Session, season: Season, entry: Entry, version: BotVersion, *, by_gate: bool) -> Contest | None:
    """Make the version active, or return its panel run if it lacks points. An active version needs none."""
    run = arrive(session, season, entry, version)
    plays = version.id == entry.version_id and not entry.waits_for_panel
    if plays or run is None or has_points(run):
        choose_version(session, season, entry, version, by_gate=by_gate)
        return None
    if entry.waits_for_panel:
        entry.version_id = version.id  # no match has been drawn for it yet
        session.flush()
    return run


def _choose_by_author(
    session: Session, season: Season, entry: Entry, version: BotVersion, *, number: int | None, is_new: bool
) -> None:
    """Choose a version by number, or (None) the newest. Raises NotAdmitted if the chosen version lacks points."""
    run = _choose(session, season, entry, version, by_gate=number is None and not is_new)
    chosen = None if number is None else run
    if chosen is not None and chosen.state is ContestState.FAILED:
        if chosen.terms["minimum"] is None:
            raise NotAdmitted(_("version %(number)s did not pass the test against the panel", number=number))
        why = _("version %(number)s has %(points)s points against the panel but needs %(least)s")
        points, least = f"{chosen.result['points']:g}", f"{chosen.terms['minimum']:g}"
        raise NotAdmitted(why % {"number": number, "points": points, "least": least})
    if season.panel:
        choose_in_advance(session, season, entry, chosen)


def _must_leave_choices(entry: Entry | None, bot_id: int, number: int | None = None, gate: Gate = "keep") -> None:
    """Raise WrongState if an organiser tries to choose more than whether the bot takes part."""
    if entry is not None:
        sentence = _("Bot number %(bot_id)s is already in this season; its author chooses the version.", bot_id=bot_id)
        raise WrongState("entered", sentence)
    for setting, is_chosen in ((N_("version"), number is not None), (N_("gate"), gate != "keep")):
        if is_chosen:
            sentence = _("The bot is not yours: only its author may choose its %(setting)s.", setting=gettext(setting))
            raise WrongState("not-yours", sentence)


def _pause_choosing(session: Session, season: Season, entry: Entry) -> None:
    """Note that the author changed the active version. The next change must wait, like a return after a withdrawal,
    because choosing a version for each opponent would amount to choosing opponents. Raises TooSoon.
    """
    if entry.chosen_at is not None:
        sentence = N_("The version was chosen recently and may be changed in %(seconds)s s.")
        check_pause(session, season, entry.chosen_at, "newly chosen", sentence)
    entry.chosen_at = now(session)
    session.flush()


def _bot(session: Session, who: Person, bot_id: int) -> Bot:
    """Lock the bot, because the season's rules depend on its owner, and return it."""
    session.exec(select(Bot.id).where(Bot.id == bot_id).with_for_update(key_share=True)).first()
    return existing(session, Bot, bot_id) if who.organises else own_bot(session, who, bot_id)


def _views(session: Session, statement: Any, season_id: int, **values: int) -> list[EntryInfo]:
    rows = session.exec(statement, params={"season": season_id, **values}).all()
    return [
        from_row(
            EntryInfo,
            entry,
            bot=bot,
            author=author,
            team=team,
            version=number,
            gated=entry.gate is not None,
            challenger=challenger,
            absence=None if absent is None else absent.absence,
            absence_reason="" if absent is None else absent.reason,
            rests=entry.rest_reason,
        )
        for entry, bot, author, team, number, absent, challenger in rows
    ]


_AT_GATE = (
    select(func.max(BotVersion.number))
    .join(ContestPlayer, (col(ContestPlayer.version_id) == BotVersion.id) & (col(ContestPlayer.seed) == 1))
    .join(Contest, col(Contest.id) == ContestPlayer.contest_id)
    .where(Contest.entry_id == Entry.id, Contest.kind == ContestKind.GATE, Contest.state == ContestState.RUNNING)
    .scalar_subquery()
)
"""The number of the version at an entry's promotion gate."""

_NAMED = (col(Bot.name), col(User.name), col(Team.name), col(BotVersion.number))
ENTERED: Any = (
    sqlalchemy.select(Entry, *_NAMED, AbsentEntry, _AT_GATE)
    .join_from(Entry, Bot, col(Bot.id) == Entry.bot_id)
    .join(User, col(User.id) == Bot.owner_id)
    .join(Team, col(Team.id) == Bot.team_id, isouter=True)
    .join(BotVersion, col(BotVersion.id) == Entry.version_id)
    .join(AbsentEntry, and_(AbsentEntry.season_id == Entry.season_id, AbsentEntry.bot_id == Entry.bot_id), isouter=True)
    .where(col(Entry.season_id) == bindparam("season"))
    .order_by(col(Entry.bot_id))
)
"""A season's entries by bot, each with the names of its bot, author and team, its version's number, why it is out of
the season, and the version at its promotion gate.
"""
ONE = ENTERED.where(Entry.bot_id == bindparam("bot"))
