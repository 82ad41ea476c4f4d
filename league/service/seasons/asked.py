"""Unrated matches at an author's request: one of their versions against any bot in a season, or another of their own.

Theory of operation
-------------------
They are challenges without a gate (`league.service.seasons.challenges`), which the league's machines play to answer a
question that the author's own machine cannot. They must not affect anything that counts:

* their dice are drawn one by one and not from the season's secret, so they reveal nothing about any rated deal;
* they are played after rated matches, but for a share of the slots (`league.service.series.turns`), at most
  `OPEN_ASKED` series of a season at a time, and one challenge of each author at a time, the oldest first;
* they enter no log of results, no figure of a bot and no pairing;
* an author, and all members of a team together, may ask for a limited number of games a day (`Terms.unrated_games`; 0
  switches them off). A challenge is charged with all games that it may play while it runs, and with those that were
  begun once it is over.

Both versions are fixed when a challenge begins. It ends when the season's ladder ends, or one of the two bots leaves
the season.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, bindparam, case, literal
from sqlmodel import Session, col, func, select

from deadheat.engine.figures import counted, plural
from deadheat.engine.games import GAMES
from deadheat.engine.language import N_, _
from deadheat.league import sprt
from deadheat.league.database import now
from deadheat.league.errors import BadSetting, NotFound, WrongGame, WrongState
from deadheat.league.records import from_row
from deadheat.league.records.challenges import AskedChallenge
from deadheat.league.service.bots.bots import is_own, must_be_active, own_bot
from deadheat.league.service.bots.quotas import DAY, Quota, check_quota
from deadheat.league.service.ground.lookups import entry_of, newest_first
from deadheat.league.service.ground.steps import lock_season
from deadheat.league.service.people import notices
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import owned_by
from deadheat.league.service.seasons.absence import absent_entries, by_author, must_take_part
from deadheat.league.service.seasons.admission import must_be_admitted, version_to_enter
from deadheat.league.service.seasons.challenges import (
    ASKED,
    TESTED,
    Count,
    busy,
    count_games,
    end_challenge,
    judge,
    plan_series,
    running,
    terms_of,
    unplayable,
)
from deadheat.league.service.series.privacy import may_see_games_of
from deadheat.league.service.series.turns import ASKED_SHARE
from deadheat.league.service.views.stoppage import stopped
from deadheat.league.states import ON_LADDER, UNFINISHED, ChallengeState, JobState, Precedence
from deadheat.league.tables import Bot, BotVersion, Challenge, Match, Participant, Season, Series, User, UtcDateTime

OPEN_ASKED = 4
"""The series of one season that wait or run at a time at authors' requests: enough for idle machines."""

CHARGED = case((col(Challenge.state) == ChallengeState.RUNNING, Challenge.games_limit), else_=Challenge.games_planned)
"""The games that a challenge is charged with."""


@dataclass(frozen=True, slots=True)
class Question:
    """An author's request. `version`: None for the bot's newest ready one. `opponent_version`: None for the one that
    plays in the season, or the newest if it is the author's bot and none plays there. `test`: stop as soon as it
    decides; None to play all `games`.
    """

    bot_id: int
    opponent_id: int
    games: int
    version: int | None = None
    opponent_version: int | None = None
    test: sprt.Terms | None = None
    private: bool = False


def ask(session: Session, author: Person, season_id: int, question: Question) -> AskedChallenge:
    """Begin a challenge, which is played once the author's earlier ones in the season are over.

    Raises:
        NotFound: no such season, bot or version, or it is another author's.
        WrongGame, NotReady, NotAdmitted.
        WrongState: the season's ladder is not played, it has no unrated matches, or a bot does not take part.
        BadSetting: about `games`, `opponent` or `opponent_version`.
        OverQuota.
    """
    season = lock_season(session, season_id)
    candidate = _own_version(session, author, season, question.bot_id, question.version)
    incumbent = _opposing(session, author, season, question)
    if candidate.id == incumbent.id:
        raise BadSetting("opponent_version", _("a version cannot play against itself"))
    _check_season(session, author, season, session.get_one(Bot, candidate.bot_id), question.games)
    test = {} if question.test is None else {name: getattr(question.test, name) for name in TESTED}
    row = Challenge(
        season_id=season_id,
        asker_id=author.id,
        private=question.private,
        candidate_id=candidate.id,
        incumbent_id=incumbent.id,
        games_limit=question.games,
        created_at=now(session),
        **test,
    )
    session.add(row)
    session.flush()
    return _view(session, row)


def stop(session: Session, author: Person, challenge_id: int) -> AskedChallenge:
    """End a challenge at the request of an owner of its bot. Games in progress are played to the end and count.

    Raises:
        NotFound. WrongState: it is over.
    """
    row = _visible(session, author, challenge_id)
    if not is_own(session, author, session.get_one(BotVersion, row.candidate_id).bot_id):
        raise NotFound("challenge", challenge_id)
    lock_season(session, row.season_id)  # otherwise a tick that has just seen it running would still add a series
    if not end_challenge(session, row, ChallengeState.ENDED, N_("Its author stopped it.")):
        raise WrongState(row.state, _("The challenge is over."))
    return _view(session, row)


def end_asked(session: Session, season_id: int, reason: str) -> None:
    """End all running challenges of the season."""
    for row in running(session, season_id, ASKED):
        _end(session, row, ChallengeState.ENDED, reason)


def plan_asked(session: Session, season: Season) -> list[int]:
    """Decide challenges that can be decided; plan and return the next series of each author's oldest one."""
    if season.unrated_games == 0:
        end_asked(session, season.id, N_("The season's organisers have switched unrated matches off."))
        return []
    if not running(session, season.id, ASKED):
        return []
    _end_of_absent(session, season.id)
    playing = busy(session, season.id, ASKED)
    served: set[int | None] = set()
    waiting: list[tuple[int, int, Challenge, Count]] = []
    for challenge in running(session, season.id, ASKED):  # the oldest running one of each author
        if challenge.asker_id in served:
            continue
        if challenge.id not in playing:
            count = count_games(session, challenge, [challenge])
            if _decide(session, challenge, count):
                continue
            waiting.append((challenge.games_planned, challenge.id, challenge, count))
        served.add(challenge.asker_id)
    made: list[int] = []
    for *_order, challenge, count in sorted(waiting)[: max(0, OPEN_ASKED - len(playing))]:
        made += plan_series(session, season, challenge, count)
    return made


def asked(
    session: Session,
    asker: Person,
    *,
    season_id: int | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[AskedChallenge]:
    """List the challenges of the caller's own bots, the newest first."""
    statement = (
        select(Challenge)
        .join(BotVersion, col(BotVersion.id) == Challenge.candidate_id)
        .join(Bot, col(Bot.id) == BotVersion.bot_id)
        .where(ASKED, owned_by(asker))
    )
    if season_id is not None:
        statement = statement.where(Challenge.season_id == season_id)
    found = session.exec(newest_first(statement, Challenge.id, before, limit)).all()
    return [_view(session, row) for row in found]


def asked_challenge(session: Session, viewer: Person | None, challenge_id: int) -> AskedChallenge:
    """Return a challenge, if the caller may see its matches. Raises NotFound."""
    return _view(session, _visible(session, viewer, challenge_id))


def faults_in(session: Session, challenge_id: int) -> dict[int, int]:
    """Return the number of a challenge's matches that each version lost by a fault, by the version's id."""
    statement = (
        select(Participant.version_id, func.count())
        .join(Match, col(Match.id) == Participant.match_id)
        .join(Series, col(Series.id) == Match.series_id)
        .where(Series.challenge_id == challenge_id, col(Participant.fault).is_not(None))
        .group_by(col(Participant.version_id))
    )
    return dict(session.exec(statement).all())


def _end(session: Session, challenge: Challenge, state: ChallengeState, reason: str) -> bool:
    """End a challenge without its author's request, and notify the author. Return False if it was over."""
    if not end_challenge(session, challenge, state, reason):
        return False
    notices.challenge_over(session, challenge)
    return True


def _visible(session: Session, viewer: Person | None, challenge_id: int) -> Challenge:
    row = session.get(Challenge, challenge_id, populate_existing=True)
    if row is None or row.asker_id is None or (row.private and not may_see_games_of(session, viewer, row.id)):
        raise NotFound("challenge", challenge_id)
    return row


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


def _opposing(session: Session, author: Person, season: Season, question: Question) -> BotVersion:
    """Return the version to play against, if the author may challenge it."""
    bot_id, number = question.opponent_id, question.opponent_version
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
    for whose, theirs in ((of_author, col(Challenge.asker_id) == author.id), (of_team, _by_team(bot))):
        mine = (col(Challenge.season_id) == season.id, theirs)
        what = _(whose, season=season.name)
        check_quota(session, Quota(what, season.unrated_games, DAY, mine, Challenge.created_at, CHARGED), games)


def _by_team(bot: Bot) -> ColumnElement[bool]:
    """Return the condition that a challenge's candidate belongs to the bot's team; false if the bot has no team."""
    team = select(BotVersion.id).join(Bot, col(Bot.id) == BotVersion.bot_id).where(Bot.team_id == bot.team_id)
    return and_(literal(bot.team_id is not None), col(Challenge.candidate_id).in_(team), ASKED)


def _end_of_absent(session: Session, season_id: int) -> None:
    """End the challenges of bots that organisers removed, and those against bots that no longer take part."""
    out = absent_entries(session, season_id)
    if not out:
        return
    for row in running(session, season_id, ASKED):
        own, other = (session.get_one(BotVersion, one).bot_id for one in (row.candidate_id, row.incumbent_id))
        if (own in out and not by_author(out[own])) or (other in out and other != own):
            _end(session, row, ChallengeState.ENDED, N_("One of its bots no longer takes part in the season."))


def _decide(session: Session, challenge: Challenge, count: Count) -> bool:
    """End the challenge if its games decide it; return whether it is over."""
    verdict, limit = judge(session, challenge, count), challenge.games_limit
    tested = challenge.elo0 is not None
    if verdict is sprt.Verdict.ACCEPT:
        shown = f"It is stronger by {challenge.elo1:g} normalised Elo, rather than by {challenge.elo0:g}."
        return _end(session, challenge, ChallengeState.PASSED, shown)
    if verdict is sprt.Verdict.REJECT:
        shown = f"It is not stronger by {challenge.elo1:g} normalised Elo, but by {challenge.elo0:g} or less."
        return _end(session, challenge, ChallengeState.FAILED, shown)
    if count.played >= limit:
        played = f"All {plural(limit, 'game')} have been played" if limit > 1 else "The game has been played"
        undecided = " without a verdict" if tested else ""
        return _end(session, challenge, ChallengeState.ENDED, f"{played}{undecided}.")
    if count.abandoned >= limit:
        return _end(session, challenge, ChallengeState.ENDED, unplayable(count))
    return False


def _waits(session: Session, row: Challenge) -> str:
    """Say what the challenge's next match waits for."""
    if row.state is not ChallengeState.RUNNING:
        return ""
    theirs = session.exec(OPEN_OF, params={"challenge": row.id}).first()
    if theirs is not None and theirs.state is JobState.RUNNING:
        return ""
    if stop := stopped(session):
        return stop
    if theirs is None:
        earlier = [one for one in running(session, row.season_id, ASKED) if one.asker_id == row.asker_id]
        if earlier and earlier[0].id < row.id:
            return _("It waits until challenge %(number)s is over, which was asked for earlier.", number=earlier[0].id)
        return _("Its next matches are planned in a moment.")
    place, before = _("It is next in line for a slot."), session.exec(BEFORE, params={"at": theirs.queued_at}).one()
    if before:
        place = _("It waits for a slot, behind %(before)s.", before=counted(before, "unrated series", "unrated series"))
    return f"{place} " + _(
        "Rated matches go first, but one slot in %(share)s is kept for unrated ones once they have waited a minute.",
        share=ASKED_SHARE,
    )


OPEN_OF = (
    select(Series)
    .where(col(Series.challenge_id) == bindparam("challenge"), col(Series.state).in_(UNFINISHED))
    .order_by(col(Series.state).desc())
)
_ASKED_FOR = (col(Series.state) == JobState.QUEUED, col(Series.precedence) == Precedence.ASKED)
BEFORE = select(func.count()).where(*_ASKED_FOR, col(Series.queued_at) < bindparam("at", type_=UtcDateTime))


def _view(session: Session, row: Challenge) -> AskedChallenge:
    season = session.get_one(Season, row.season_id)
    own, other = (session.get_one(BotVersion, version_id) for version_id in (row.candidate_id, row.incumbent_id))
    bot, opponent = (session.get_one(Bot, version.bot_id) for version in (own, other))
    terms = terms_of(row)
    lower, upper = (None, None) if terms is None else terms.bounds
    return from_row(
        AskedChallenge,
        row,
        season=season.name,
        game=season.game,
        asker=session.get_one(User, row.asker_id).name,
        bot_id=bot.id,
        bot=bot.name,
        version=own.number,
        version_id=own.id,
        opponent_id=opponent.id,
        opponent=opponent.name,
        opponent_author=session.get_one(User, opponent.owner_id).name,
        opponent_version=other.number,
        opponent_version_id=other.id,
        waits=_waits(session, row),
        llr=None if terms is None else row.llr,
        lower=lower,
        upper=upper,
    )
