"""Unrated matches at an author's request: one of their versions against any bot in a season, or another of their own.

Theory of operation
-------------------
They must not affect anything that counts: they enter no log of results, no figure of a bot and no pairing; their dice
are not drawn from the season's secret, so they reveal nothing about any rated deal; and they are played after rated
matches, but for a share of the slots (`league.service.series.turns`), one duel of each author at a time.

An author, and all members of a team together, may ask for a limited number of games a day (`Terms.unrated_games`; 0
switches them off). A duel is charged with all games that it may play while it runs, and with those that were begun once
it is over. Both versions are fixed when it begins. It ends with the season's ladder, or when one of the bots leaves.
"""

from sqlalchemy import ColumnElement, and_, case, literal
from sqlmodel import Session, col, select

from deadheat.engine.figures import counted
from deadheat.engine.games import GAMES
from deadheat.engine.language import N_, _
from deadheat.league.errors import BadSetting, NotFound, WrongGame, WrongState
from deadheat.league.pairing.duel import Duel, Outcome
from deadheat.league.records.entries import AskedChallenge
from deadheat.league.service.bots.bots import DAY, Quota, check_quota, is_own, must_be_active, own_bot
from deadheat.league.service.contests.life import FIELD, Progress, end, numbered, running
from deadheat.league.service.duels.counting import Ends, begin_duels, test_terms
from deadheat.league.service.duels.counting import decide as decide_duel
from deadheat.league.service.ground.lookups import entry_of
from deadheat.league.service.ground.steps import lock_season
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.absence import absent_entries, by_author, must_take_part
from deadheat.league.service.seasons.admission import must_be_admitted, version_to_enter
from deadheat.league.service.views.former import asked_challenge
from deadheat.league.states import ON_LADDER, ContestKind, ContestState
from deadheat.league.tables import Bot, BotVersion, Contest, Meeting, Season

CHARGED = case((col(Contest.state) == ContestState.RUNNING, Contest.matches), else_=Meeting.planned)
"""The games that a duel is charged with."""


def ask(
    session: Session,
    author: Person,
    season_id: int,
    terms: Duel,
    *,
    bot_id: int,
    opponent_id: int,
    version: int | None = None,
    opponent_version: int | None = None,
    private: bool = False,
) -> AskedChallenge:
    """Begin a duel, which is played once the author's earlier ones in the season are over.

    `version`: None for the bot's newest ready one. `opponent_version`: None for the one that plays in the season, or
    the newest if it is the author's bot and none plays there.

    Raises:
        NotFound: no such season, bot or version, or it is another author's.
        WrongGame, NotReady, NotAdmitted.
        WrongState: the season's ladder is not played, it has no unrated matches, or a bot does not take part.
        BadSetting: about `games`, `opponent` or `opponent_version`.
        OverQuota.
    """
    season = lock_season(session, season_id)
    candidate = _own_version(session, author, season, bot_id, version)
    incumbent = _opposing(session, author, season, opponent_id, opponent_version)
    if candidate.id == incumbent.id:
        raise BadSetting("opponent_version", _("a version cannot play against itself"))
    _check_season(session, author, season, session.get_one(Bot, candidate.bot_id), terms.games)
    values = {"asker_id": author.id, "private": private, "terms": test_terms(terms)}
    row = begin_duels(session, season, ContestKind.REQUEST, candidate, [incumbent], terms.games, **values)
    return asked_challenge(session, author, row.public_id)


def stop(session: Session, author: Person, challenge_id: int) -> AskedChallenge:
    """End a duel at the request of an owner of its bot. Games in progress are played to the end and count.

    Raises:
        NotFound. WrongState: it is over.
    """
    seen = asked_challenge(session, author, challenge_id)
    if not is_own(session, author, seen.bot_id):
        raise NotFound("challenge", challenge_id)
    lock_season(session, seen.season_id)  # otherwise a tick that has just seen it running would still add a series
    of_it = select(Contest).where(numbered(ContestKind.REQUEST, challenge_id))
    row = session.exec(of_it.execution_options(populate_existing=True)).one()
    if not end(session, row, ContestState.ENDED, N_("Its author stopped it."), notify=False):
        raise WrongState(row.state, _("The challenge is over."))
    return asked_challenge(session, author, challenge_id)


def _own_version(session: Session, author: Person, season: Season, bot_id: int, number: int | None) -> BotVersion:
    """Return the author's own version. Its bot need not be in the season, but no organiser may have removed it."""
    bot = own_bot(session, author, bot_id)
    must_be_active(session, bot)
    if bot.game != season.game:
        raise WrongGame(bot.game, season.game)
    absent = absent_entries(session, season.id).get(bot_id)
    if absent is not None and not by_author(absent):
        must_take_part(session, season.id, bot_id)
    if entry_of(session, season.id, bot_id) is None:
        must_be_admitted(session, author, season, bot)
    return version_to_enter(session, season, bot, number)


def _opposing(session: Session, author: Person, season: Season, bot_id: int, number: int | None) -> BotVersion:
    """Return the version to play against, if the author may challenge it."""
    entry = entry_of(session, season.id, bot_id)
    if is_own(session, author, bot_id) and (number is not None or entry is None or entry.waits_for_panel):
        return _own_version(session, author, season, bot_id, number)
    if entry is None:
        raise NotFound.entry(bot_id)
    if number is not None:
        raise BadSetting("opponent_version", _("you can choose the version of your own bots only"))
    if bot_id in absent_entries(session, season.id):
        raise WrongState("absent", _("The opponent no longer takes part in the season."))
    if entry.waits_for_panel:
        raise WrongState("panel", _("The opponent has no version with enough points against the panel yet."))
    return session.get_one(BotVersion, entry.version_id)


def _check_season(session: Session, author: Person, season: Season, bot: Bot, games: int) -> None:
    """Check that the season has unrated games, and that the author and the bot's team have that many left today."""
    if season.state not in ON_LADDER:
        raise WrongState.of_season(season.state, _("unrated matches are played while it is %(states)s"), ON_LADDER)
    if season.unrated_games == 0:
        raise WrongState("off", _("This season has no unrated matches; its organisers can switch them on."))
    if GAMES[season.game].seats.start > 2:
        raise BadSetting("opponent", _("%(game)s cannot be played by two bots", game=season.game))
    if games > season.unrated_games:
        most = counted(season.unrated_games, "unrated game")
        raise BadSetting("games", _("this season allows an author %(games)s a day", games=most))
    of_author, of_team = N_("unrated games of one author in %(season)s"), N_("unrated games of one team in %(season)s")
    for whose, theirs in ((of_author, col(Contest.asker_id) == author.id), (of_team, _by_team(bot))):
        mine = (col(Contest.season_id) == season.id, col(Meeting.contest_id) == Contest.id, theirs)
        what = _(whose, season=season.name)
        check_quota(session, Quota(what, season.unrated_games, DAY, mine, Contest.created_at, CHARGED), games)


def _by_team(bot: Bot) -> ColumnElement[bool]:
    """Return the condition that a request is for a bot of the bot's team; false if the bot has no team."""
    of_team = select(BotVersion.id).join(Bot, col(Bot.id) == BotVersion.bot_id).where(Bot.team_id == bot.team_id)
    is_request = col(Contest.kind) == ContestKind.REQUEST
    return and_(literal(bot.team_id is not None), is_request, col(Contest.candidate_id).in_(of_team))


# Going on -----------------------------------------------------------------------------------------------------------


def allowed(session: Session, season: Season) -> list[Contest]:
    """Return the season's running requests, the oldest first. Those that may not go on end: all once the organisers
    have switched them off, those of bots that organisers removed, and those against bots that no longer take part.
    """
    rows = [*running(session, season.id, ContestKind.REQUEST)]
    out = absent_entries(session, season.id)
    for row in rows if out or season.unrated_games == 0 else ():
        own, other = (version.bot_id for version in session.exec(FIELD, params={"contest_id": row.id}))
        if season.unrated_games == 0:
            why = N_("The season's organisers have switched unrated matches off.")
        elif (own in out and not by_author(out[own])) or (other in out and other != own):
            why = N_("One of its bots no longer takes part in the season.")
        else:
            continue
        end(session, row, ContestState.ENDED, why)
    return [row for row in rows if row.state is ContestState.RUNNING]


ENDS: Ends = {
    Outcome.STRONGER: (ContestState.PASSED, "It is stronger by {elo1:g} normalised Elo, rather than by {elo0:g}."),
    Outcome.NOT_STRONGER: (
        ContestState.FAILED,
        "It is not stronger by {elo1:g} normalised Elo, but by {elo0:g} or less.",
    ),
    Outcome.SPENT: (ContestState.ENDED, "{played}{undecided}."),
}


def decide(session: Session, _season: Season, row: Contest, progress: Progress) -> None:
    """End a request as its test decides, or when its games are played."""
    decide_duel(session, row, progress, ENDS)
