"""What people are told of duels: versions at gates, requests and what they wait for, and results against panels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, func, select

from deadheat.engine.figures import counted
from deadheat.engine.language import _
from deadheat.league.errors import NotFound
from deadheat.league.ratings.table import NORMAL_95
from deadheat.league.records import from_row
from deadheat.league.records.entries import AskedChallenge, PanelOpponent, PanelResult
from deadheat.league.records.entries import Challenge as ChallengeInfo
from deadheat.league.service.bots.bots import own_bot
from deadheat.league.service.contests.life import matches_of, numbered, running
from deadheat.league.service.duels.counting import MATCHUPS, Matchup, duel_of, matchups
from deadheat.league.service.duels.panels import RUNNING, RUNS, Run, played_first, runs
from deadheat.league.service.ground.lookups import existing_entry, newest_first
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import owned_by
from deadheat.league.service.series.privacy import may_see_games_of
from deadheat.league.service.series.turns import ASKED_SHARE
from deadheat.league.service.views.uncounted import stopped
from deadheat.league.states import UNFINISHED, ChallengeState, ContestKind, ContestState, JobState, Precedence
from deadheat.league.tables import (
    Bot,
    BotVersion,
    Contest,
    ContestPlayer,
    Entry,
    Match,
    Participant,
    Season,
    Series,
    User,
    UtcDateTime,
)

SHOWN = 100
"""The number of panel runs that are listed at a time."""


@dataclass(frozen=True, slots=True)
class Side:
    """A version in a duel, with its bot and that bot's author."""

    version_id: int
    version: int
    bot_id: int
    bot: str
    author: str


def sides(session: Session, duels: Iterable[Matchup]) -> dict[int, Side]:
    """Return the versions of duels, by their ids."""
    ids = sorted({version_id for one in duels for version_id in (one.candidate_id, one.opponent_id)})
    return {row[0]: Side(*row) for row in session.connection().execute(SIDES, {"versions": ids})}


SIDES = (
    columns(col(BotVersion.id), col(BotVersion.number), col(Bot.id), col(Bot.name), col(User.name))
    .join_from(BotVersion, Bot, col(Bot.id) == BotVersion.bot_id)
    .join(User, col(User.id) == Bot.owner_id)
    .where(col(BotVersion.id).in_(bindparam("versions", expanding=True)))
)


def _progress(one: Matchup) -> dict[str, Any]:
    """Return the fields of a single duel's record that are stored with its meeting or as its terms."""
    test = duel_of(one.contest).test
    lower, upper = (None, None) if test is None else test.bounds
    return {
        "id": one.contest.public_id,
        "state": ChallengeState(one.contest.state),
        "games_limit": one.contest.matches,
        **one.meeting.score,
        **{name: one.contest.terms.get(name) for name in ("elo0", "elo1")},
        "lower": lower,
        "upper": upper,
    }


# Gates --------------------------------------------------------------------------------------------------------------


def challenges(session: Session, asker: Person, season_id: int, bot_id: int, limit: int = 50) -> list[ChallengeInfo]:
    """Return a bot's duels at its gate in a season, the newest first, for its author and organisers. Raises
    NotFound.
    """
    if not asker.organises:
        own_bot(session, asker, bot_id)
    existing_entry(session, season_id, bot_id)
    return at_gate(session, season_id, bot_id, limit, running=True)


def at_gate(session: Session, season_id: int, bot_id: int, limit: int, *, running: bool) -> list[ChallengeInfo]:
    """Return a bot's duels at its gate in a season, the newest first; those that are over, or also the `running`."""
    here = MATCHUPS.join(Entry, col(Entry.id) == Contest.entry_id).where(Contest.kind == ContestKind.GATE)
    here = here.where(Entry.season_id == season_id, Entry.bot_id == bot_id)
    if not running:
        here = here.where(Contest.state != ContestState.RUNNING)
    newest = here.order_by(None).order_by(col(Contest.id).desc()).limit(limit)
    found = [Matchup(*row) for row in session.exec(newest)]
    of = sides(session, found)
    return [
        from_row(
            ChallengeInfo,
            one.contest,
            candidate=of[one.candidate_id].version,
            incumbent=of[one.opponent_id].version,
            **_progress(one),
        )
        for one in found
    ]


# Requests -----------------------------------------------------------------------------------------------------------


def asked(
    session: Session, asker: Person, *, season_id: int | None = None, before: int | None = None, limit: int = 50
) -> list[AskedChallenge]:
    """List the requests of the caller's own bots, the newest first."""
    mine = select(ContestPlayer.contest_id).join(Bot, col(Bot.id) == ContestPlayer.bot_id)
    mine = mine.where(ContestPlayer.seed == 1, owned_by(asker))
    statement = MATCHUPS.where(Contest.kind == ContestKind.REQUEST, col(Contest.id).in_(mine))
    if season_id is not None:
        statement = statement.where(Contest.season_id == season_id)
    if before is not None:
        statement = statement.where(func.coalesce(Contest.former_id, Contest.id) < before)
    page = newest_first(statement.order_by(None), Contest.id, None, limit)  # the order of the public numbers
    return _requests(session, [Matchup(*row) for row in session.exec(page)])


def asked_challenge(session: Session, viewer: Person | None, challenge_id: int) -> AskedChallenge:
    """Return a request, if the caller may see its matches. Raises NotFound."""
    found = matchups(session, numbered(ContestKind.REQUEST, challenge_id))
    if not found or (found[0].contest.private and not may_see_games_of(session, viewer, found[0].contest.id)):
        raise NotFound("challenge", challenge_id)
    return _requests(session, found)[0]


def _requests(session: Session, duels: Sequence[Matchup]) -> list[AskedChallenge]:
    of = sides(session, duels)
    found = []
    for one in duels:
        row, own, other = one.contest, of[one.candidate_id], of[one.opponent_id]
        season, progress = session.get_one(Season, row.season_id), _progress(one)
        found.append(
            from_row(
                AskedChallenge,
                row,
                **progress | {"llr": progress["llr"] if row.terms else None},
                season=season.name,
                game=season.game,
                asker=session.get_one(User, row.asker_id).name,
                bot_id=own.bot_id,
                bot=own.bot,
                version=own.version,
                version_id=own.version_id,
                opponent_id=other.bot_id,
                opponent=other.bot,
                opponent_author=other.author,
                opponent_version=other.version,
                opponent_version_id=other.version_id,
                games_planned=one.meeting.planned,
                waits=_waits(session, one),
            )
        )
    return found


def _waits(session: Session, one: Matchup) -> str:
    """Say what the request's next match waits for."""
    row = one.contest
    if row.state is not ContestState.RUNNING:
        return ""
    theirs = session.exec(OPEN_OF, params={"meeting": one.meeting.id}).first()
    if theirs is not None and theirs.state is JobState.RUNNING:
        return ""
    if stop := stopped(session):
        return stop
    if theirs is None:
        of_season = running(session, row.season_id, ContestKind.REQUEST)
        first = next(each for each in of_season if each.asker_id == row.asker_id)
        if first is not row:
            number = first.public_id
            return _("It waits until challenge %(number)s is over, which was asked for earlier.", number=number)
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
    .where(col(Series.meeting_id) == bindparam("meeting"), col(Series.state).in_(UNFINISHED))
    .order_by(col(Series.state).desc())
)
_ASKED_FOR = (col(Series.state) == JobState.QUEUED, col(Series.precedence) == Precedence.ASKED)
BEFORE = select(func.count()).where(*_ASKED_FOR, col(Series.queued_at) < bindparam("at", type_=UtcDateTime))


def faults_of(session: Session, challenge_id: int) -> Mapping[int, int]:
    """Return the number of matches that each version lost by a fault in a request, by its id."""
    (one,) = matchups(session, numbered(ContestKind.REQUEST, challenge_id))
    faults = session.exec(FAULTS, params={"duels": [one.meeting.id]})
    return Counter({version: count for _, version, count in faults})


# Panels -------------------------------------------------------------------------------------------------------------


def panel_results(session: Session, owner: Person, bot_id: int, version: int | None = None) -> list[PanelResult]:
    """List the panel results of the caller's bot, or of one version; the newest `SHOWN` first. Raises NotFound."""
    own_bot(session, owner, bot_id)
    statement = (
        RUNS.add_columns(BotVersion.number, Season.name, Entry)
        .join(BotVersion, col(BotVersion.id) == ContestPlayer.version_id)
        .join(Season, col(Season.id) == Contest.season_id)
        .join(Entry, col(Entry.id) == Contest.entry_id)
        .where(ContestPlayer.bot_id == bot_id)
    )
    if version is not None:
        statement = statement.where(BotVersion.number == version)
    newest = statement.order_by(None).order_by(col(Contest.id).desc()).limit(SHOWN)
    rows = [(Run(*row[:2]), *row[2:]) for row in session.exec(newest)]
    opponents = _opponents(session, [run.contest.id for run, *_ in rows])
    entered = col(Contest.entry_id).in_([run.contest.entry_id for run, *_ in rows])
    first = {run.contest.id for run in played_first(runs(session, entered, Contest.state == ContestState.RUNNING))}
    found = []
    for run, number, season, entry in rows:
        row, met, elo, se = run.contest, opponents[run.contest.id], run.contest.result["elo"], run.contest.result["se"]
        found.append(
            from_row(
                PanelResult,
                row,
                id=row.public_id,
                state=ChallengeState(row.state),
                season=season,
                bot_id=bot_id,
                version=number,
                waits=row.id not in first and row.state is ContestState.RUNNING,
                plays=entry.version_id == run.version_id and not entry.waits_for_panel,
                points=sum(opponent.points for opponent in met),
                most=row.matches * len(met),
                minimum=run.minimum,
                elo=elo,
                low=None if elo is None else elo - NORMAL_95 * se,
                high=None if elo is None else elo + NORMAL_95 * se,
                opponents=met,
            )
        )
    return found


def _opponents(session: Session, contest_ids: Sequence[int]) -> dict[int, list[PanelOpponent]]:
    duels = matchups(session, col(Contest.id).in_(contest_ids))
    of, ids = sides(session, duels), {"duels": [one.meeting.id for one in duels]}
    faults = {(duel, version): count for duel, version, count in session.exec(FAULTS, params=ids)}
    matches = matches_of(session, ids["duels"])
    found: dict[int, list[PanelOpponent]] = defaultdict(list)
    for one in duels:
        score = {name: one.meeting.score[name] for name in ("wins", "draws", "losses")}
        opponent = from_row(
            PanelOpponent,
            of[one.opponent_id],
            points=score["wins"] + score["draws"] / 2,
            faults=faults.get((one.meeting.id, one.candidate_id), 0),
            match_ids=matches.get(one.meeting.id, []),
            **score,
        )
        found[one.contest.id].append(opponent)
    return found


def is_at_panel(session: Session, season_id: int, bot_id: int, version: int | None) -> bool:
    """Say whether a version of the bot, or the one with that number, has not finished a season's panel yet."""
    at_panel = AT_PANEL if version is None else AT_PANEL.where(BotVersion.number == version)
    return session.exec(at_panel, params={"season_id": season_id, "bot": bot_id}).first() is not None


AT_PANEL = (
    RUNNING.join(BotVersion, col(BotVersion.id) == ContestPlayer.version_id)
    .where(BotVersion.bot_id == bindparam("bot"))
    .limit(1)
)


# The matches of duels -----------------------------------------------------------------------------------------------

_DUELS: Any = bindparam("duels", expanding=True)
FAULTS: Any = (
    select(Series.meeting_id, Participant.version_id, func.count())
    .join(Match, col(Match.series_id) == Series.id)
    .join(Participant, col(Participant.match_id) == Match.id)
    .where(col(Series.meeting_id).in_(_DUELS), col(Participant.fault).is_not(None))
    .group_by(col(Series.meeting_id), col(Participant.version_id))
)
