"""Unrated matches at an author's request: one of their versions against bots in a season, or another of their own.

Theory of operation
-------------------
They must not affect anything that counts: they enter no log of results, no figure of a bot and no pairing; their dice
are not drawn from the season's secret, so they reveal nothing about any rated deal; and they are played after rated
matches, but for a share of the slots (`league.service.series.turns`), one duel of each author at a time.

Against several opponents each duel is judged and ends by itself, because a field has no single strength to test:
beating a weak half says nothing about the strong one. Of the duels left, the one with the fewest games goes on. An
opponent that leaves ends its own duel.

An author, and all members of a team together, may ask for a limited number of games a day (`Terms.unrated_games`; 0
switches them off). A duel is charged with all games that it may play while it runs, and with those that were begun once
it is over. All versions are fixed when it begins. It ends with the season's ladder, or when the bots leave.
"""

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import and_, bindparam, case
from sqlmodel import Session, col, select

from deadheat.engine.figures import counted, plural
from deadheat.engine.games import GAMES
from deadheat.engine.language import N_, _
from deadheat.league.errors import BadSetting, NotFound, WrongGame, WrongState
from deadheat.league.pairing.duel import Duel
from deadheat.league.records.entries import AskedChallenge
from deadheat.league.service.bots.bots import DAY, Quota, check_quota, is_own, must_be_active, own_bot
from deadheat.league.service.contests.life import FIELD, SCORES, Progress, drop_planned, end, numbered, running
from deadheat.league.service.duels import counting
from deadheat.league.service.duels.counting import Ends, begin_duels, close, in_pairs, matchups, test_terms
from deadheat.league.service.duels.counting import decide as decide_duel
from deadheat.league.service.ground.counting import taking_part
from deadheat.league.service.ground.lookups import entry_of, newest_ranking
from deadheat.league.service.ground.steps import lock_season
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import owned_by
from deadheat.league.service.seasons.absence import absent_entries, by_author, must_take_part
from deadheat.league.service.seasons.admission import must_be_admitted, version_to_enter
from deadheat.league.service.views.former import asked_challenge
from deadheat.league.states import ON_LADDER, UNFINISHED, ContestKind, ContestState
from deadheat.league.tables import Bot, BotVersion, Contest, Entry, Meeting, MeetingPlayer, Season, Series
from deadheat.league.words import Outcome

_GOES_ON = and_(col(Contest.state) == ContestState.RUNNING, col(Meeting.score)["outcome"].as_string().is_(None))
CHARGED = case((_GOES_ON, Contest.matches), else_=Meeting.planned)
"""The games that a duel is charged with."""


def ask(
    session: Session,
    author: Person,
    season_id: int,
    terms: Duel,
    *,
    bot_id: int,
    opponent_id: int | None = None,
    version: int | None = None,
    opponent_version: int | None = None,
    private: bool = False,
    opponent_ids: Sequence[int] = (),
    top: int | None = None,
) -> AskedChallenge:
    """Begin a duel with each opponent, which is played once the author's earlier ones in the season are over.
    `version`: None for the bot's newest ready one. `opponent_version`: None for the one that plays in the season, or
    the newest if it is the author's bot and none plays there. Further opponents are `opponent_ids`, and that many from
    the `top` of the newest ranking, without the author's own bots; a version that is named twice plays once. Raises
    NotFound, WrongGame, NotReady, NotAdmitted, OverQuota; WrongState: the season has no unrated matches now, or a bot
    does not take part; BadSetting: about an argument.
    """
    season = lock_season(session, season_id)
    if opponent_version is not None and opponent_id is None:
        raise BadSetting("opponent_version", _("say whose version it is: name that bot as the opponent"))
    candidate = _own_version(session, author, season, bot_id, version)
    named = [] if opponent_id is None else [_opposing(session, author, season, opponent_id, opponent_version)]
    named += (_opposing(session, author, season, other, None) for other in opponent_ids)
    field = {opponent.id: opponent for opponent in (*named, *_best(session, author, season, top or 0))}
    if candidate.id in field:
        raise BadSetting("opponent_version", _("a version cannot play against itself"))
    if not field:
        raise BadSetting("top" if top else "opponent", _("there is no bot to play against"))
    _check_season(session, author, season, session.get_one(Bot, candidate.bot_id), terms.games * len(field))
    stored = in_pairs(season, test_terms(terms))
    if "paired" in stored and terms.games < 2:
        raise BadSetting("games", _("a test that counts pairs needs at least two: each deal is played from both seats"))
    values = {"asker_id": author.id, "private": private, "terms": stored}
    opponents = [*field.values()]
    row = begin_duels(session, season, ContestKind.REQUEST, candidate, opponents, terms.games, **values)
    return asked_challenge(session, author, row.public_id)


def stop(session: Session, author: Person, challenge_id: int) -> AskedChallenge:
    """End a duel at the request of an owner of its bot. Games in progress are played to the end and charged, but they
    are not in its score. Raises NotFound; WrongState: it is over.
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
    if bot.is_agent:
        raise WrongState("agent", _("Agents play no unrated matches here: sit down at a table instead."))
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
        raise WrongState("panel", _("The opponent has no version that passed the panel yet."))
    return session.get_one(BotVersion, entry.version_id)


def _best(session: Session, author: Person, season: Season, most: int) -> list[BotVersion]:
    """Return the versions that play for the best bots of the newest ranking, without the author's own."""
    ranking = newest_ranking(session, season.id) if most else None
    if ranking is None:
        return []
    own = set(session.exec(select(Bot.id).where(owned_by(author))))
    here = (Entry.season_id == season.id, ~col(Entry.waits_for_panel), col(Entry.bot_id).not_in(own))
    playing = dict(session.exec(select(Entry.bot_id, Entry.version_id).where(*here, taking_part(season.id))).all())
    best = [playing[row["bot_id"]] for row in ranking.standings["rows"] if row["bot_id"] in playing][:most]
    return [session.get_one(BotVersion, version_id) for version_id in best]


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
    members = select(BotVersion.id).join(Bot, col(Bot.id) == BotVersion.bot_id).where(Bot.team_id == bot.team_id)
    by_team = (col(Contest.kind) == ContestKind.REQUEST) & col(Contest.candidate_id).in_(members)
    quotas = [
        (of_author, col(Contest.asker_id) == author.id),
        *([(of_team, by_team)] if bot.team_id is not None else []),
    ]
    for whose, theirs in quotas:
        mine = (col(Contest.season_id) == season.id, col(Meeting.contest_id) == Contest.id, theirs)
        what = _(whose, season=season.name)
        check_quota(session, Quota(what, season.unrated_games, DAY, mine, Contest.created_at, CHARGED), games)


# Going on -----------------------------------------------------------------------------------------------------------


def allowed(session: Session, season: Season) -> list[Contest]:
    """Return the season's running requests, the oldest first. Those that may not go on end: all once the organisers
    have switched them off, those of bots that organisers removed, and those against bots that no longer take part. Of
    several opponents, those that are gone end their duels. Games in progress with them are counted first.
    """
    rows = [*running(session, season.id, ContestKind.REQUEST)]
    out = absent_entries(session, season.id)
    for row in rows if out or season.unrated_games == 0 else ():
        own, *others = (version.bot_id for version in session.exec(FIELD, params={"contest_id": row.id}))
        gone = {other for other in others if other in out and other != own}
        if season.unrated_games == 0:
            why = N_("The season's organisers have switched unrated matches off.")
        elif (own in out and not by_author(out[own])) or (gone and len(others) == 1):
            why = N_("One of its bots no longer takes part in the season.")
        else:
            _end_duels(session, row, gone)
            continue
        end(session, row, ContestState.ENDED, why)
    return [row for row in rows if row.state is ContestState.RUNNING]


def _end_duels(session: Session, row: Contest, gone: set[int]) -> None:
    """End a contest's duels with these bots: what waits is dropped, and what is played counts before a duel is over."""
    theirs = select(MeetingPlayer.meeting_id).join(BotVersion, col(BotVersion.id) == MeetingPlayer.version_id)
    theirs = theirs.where(col(BotVersion.bot_id).in_(gone))
    found = matchups(session, Contest.id == row.id, col(Meeting.id).in_(theirs)) if gone else ()
    left = [duel for duel in found if "outcome" not in duel.meeting.score]
    if left:
        drop_planned(session, row, [duel.meeting for duel in left])
        close(session, row, left, Outcome.LEFT)


def settle(session: Session, season: Season, row: Contest, room: int) -> Progress:
    """Settle a request, of which one series is played at a time: the duel with the fewest games continues."""
    progress = counting.settle(session, season, row, room, tests=counting.alone)
    if not progress.tables or session.exec(BUSY, params={"contest_id": row.id}).first() is not None:
        return progress._replace(tables=())
    fewest = min(progress.tables, key=lambda table: session.get_one(Meeting, table.meeting_id).planned)
    return progress._replace(tables=[fewest])


_MEETINGS = select(Meeting.id).where(Meeting.contest_id == bindparam("contest_id"))
BUSY = select(Series.id).where(col(Series.meeting_id).in_(_MEETINGS), col(Series.state).in_(UNFINISHED)).limit(1)

ENDS: Ends = {
    Outcome.STRONGER: (ContestState.PASSED, "It is stronger by {elo1:g} normalised Elo, rather than by {elo0:g}."),
    Outcome.NOT_STRONGER: (
        ContestState.FAILED,
        "It is not stronger by {elo1:g} normalised Elo, but by {elo0:g} or less.",
    ),
    Outcome.SPENT: (ContestState.ENDED, "{played}{undecided}."),
}


def decide(session: Session, _season: Season, row: Contest, progress: Progress) -> None:
    """End a request as its test decides, or when its games are played; several opponents have no joint verdict."""
    scores = session.exec(SCORES, params={"contest_id": row.id}).all()
    if len(scores) == 1:
        decide_duel(session, row, progress, ENDS)
        return
    outcomes = Counter(Outcome(score["outcome"]) for score in scores)
    words = IN_FIELD if row.terms else {**IN_FIELD, Outcome.SPENT: "all games against {} are played"}
    said = ", ".join(words[outcome].format(outcomes[outcome]) for outcome in words if outcomes[outcome])
    end(session, row, ContestState.ENDED, f"{plural(len(scores), 'opponent')}: {said}.")


IN_FIELD = {
    Outcome.STRONGER: "stronger than {}",
    Outcome.NOT_STRONGER: "not stronger than {}",
    Outcome.SPENT: "no verdict against {}",
    Outcome.UNPLAYABLE: "{} could not be played",
    Outcome.LEFT: "{} left the season",
}
