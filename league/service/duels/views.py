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
from deadheat.league.records.challenges import AskedChallenge
from deadheat.league.records.entries import Challenge as ChallengeInfo
from deadheat.league.records.panels import PanelOpponent, PanelResult
from deadheat.league.service.bots.bots import own_bot
from deadheat.league.service.duels.counting import Kind, duel_of, running
from deadheat.league.service.duels.panels import RUNNING, played_first
from deadheat.league.service.ground.lookups import existing_entry, newest_first
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import owned_by
from deadheat.league.service.series.privacy import may_see_games_of
from deadheat.league.service.series.turns import ASKED_SHARE
from deadheat.league.service.views.stoppage import stopped
from deadheat.league.states import UNFINISHED, ChallengeState, JobState, Precedence
from deadheat.league.tables import (
    Bot,
    BotVersion,
    Challenge,
    Entry,
    Match,
    PanelRun,
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


def sides(session: Session, duels: Iterable[Challenge]) -> dict[int, Side]:
    """Return the versions of duels, by their ids."""
    ids = sorted({version_id for row in duels for version_id in (row.candidate_id, row.incumbent_id)})
    return {row[0]: Side(*row) for row in session.connection().execute(SIDES, {"versions": ids})}


SIDES = (
    columns(col(BotVersion.id), col(BotVersion.number), col(Bot.id), col(Bot.name), col(User.name))
    .join_from(BotVersion, Bot, col(Bot.id) == BotVersion.bot_id)
    .join(User, col(User.id) == Bot.owner_id)
    .where(col(BotVersion.id).in_(bindparam("versions", expanding=True)))
)


def _bounds(row: Challenge) -> dict[str, float | None]:
    """Return the values of the log-likelihood ratio at which a duel's test ends."""
    test = duel_of(row).test
    return dict(zip(("lower", "upper"), (None, None) if test is None else test.bounds, strict=True))


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
    here = select(Challenge).join(Entry, col(Entry.id) == Challenge.entry_id)
    here = here.where(Entry.season_id == season_id, Entry.bot_id == bot_id)
    if not running:
        here = here.where(Challenge.state != ChallengeState.RUNNING)
    found = session.exec(here.order_by(col(Challenge.id).desc()).limit(limit)).all()
    of = sides(session, found)
    return [
        from_row(
            ChallengeInfo,
            row,
            candidate=of[row.candidate_id].version,
            incumbent=of[row.incumbent_id].version,
            **_bounds(row),
        )
        for row in found
    ]


# Requests -----------------------------------------------------------------------------------------------------------


def asked(
    session: Session,
    asker: Person,
    *,
    season_id: int | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[AskedChallenge]:
    """List the requests of the caller's own bots, the newest first."""
    statement = (
        select(Challenge)
        .join(BotVersion, col(BotVersion.id) == Challenge.candidate_id)
        .join(Bot, col(Bot.id) == BotVersion.bot_id)
        .where(Kind.REQUEST.condition, owned_by(asker))
    )
    if season_id is not None:
        statement = statement.where(Challenge.season_id == season_id)
    return _requests(session, session.exec(newest_first(statement, Challenge.id, before, limit)).all())


def asked_challenge(session: Session, viewer: Person | None, challenge_id: int) -> AskedChallenge:
    """Return a request, if the caller may see its matches. Raises NotFound."""
    row = session.get(Challenge, challenge_id, populate_existing=True)
    if row is None or row.asker_id is None or (row.private and not may_see_games_of(session, viewer, row.id)):
        raise NotFound("challenge", challenge_id)
    return _requests(session, [row])[0]


def _requests(session: Session, rows: Sequence[Challenge]) -> list[AskedChallenge]:
    of = sides(session, rows)
    found = []
    for row in rows:
        season, own, other = session.get_one(Season, row.season_id), of[row.candidate_id], of[row.incumbent_id]
        found.append(
            from_row(
                AskedChallenge,
                row,
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
                waits=_waits(session, row),
                llr=None if row.elo0 is None else row.llr,
                **_bounds(row),
            )
        )
    return found


def _waits(session: Session, row: Challenge) -> str:
    """Say what the request's next match waits for."""
    if row.state is not ChallengeState.RUNNING:
        return ""
    theirs = session.exec(OPEN_OF, params={"challenge": row.id}).first()
    if theirs is not None and theirs.state is JobState.RUNNING:
        return ""
    if stop := stopped(session):
        return stop
    if theirs is None:
        earlier = [one for one in running(session, row.season_id, Kind.REQUEST) if one.asker_id == row.asker_id]
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


def faults_in(session: Session, duel_ids: Sequence[int]) -> Mapping[tuple[int, int], int]:
    """Return the number of matches that each version of each duel lost by a fault, by the ids of duel and version."""
    return Counter({(duel, version): faults for duel, version, faults in session.exec(FAULTS, params=_of(duel_ids))})


# Panels -------------------------------------------------------------------------------------------------------------


def panel_results(session: Session, owner: Person, bot_id: int, version: int | None = None) -> list[PanelResult]:
    """List the panel results of the caller's bot, or of one version; the newest `SHOWN` first. Raises NotFound."""
    own_bot(session, owner, bot_id)
    statement = (
        select(PanelRun, BotVersion.number, Season.name, Entry)
        .join(BotVersion, col(BotVersion.id) == PanelRun.version_id)
        .join(Season, col(Season.id) == PanelRun.season_id)
        .join(Entry, col(Entry.id) == PanelRun.entry_id)
        .where(BotVersion.bot_id == bot_id)
    )
    if version is not None:
        statement = statement.where(BotVersion.number == version)
    rows = session.exec(statement.order_by(col(PanelRun.id).desc()).limit(SHOWN)).all()
    opponents = _opponents(session, [run.id for run, *_ in rows])
    entered = col(PanelRun.entry_id).in_([run.entry_id for run, *_ in rows])
    running = session.exec(select(PanelRun).where(entered, PanelRun.state == ChallengeState.RUNNING))
    first = {run.id for run in played_first(running).values()}
    return [
        from_row(
            PanelResult,
            run,
            season=season,
            bot_id=bot_id,
            version=number,
            waits=run.id not in first and run.state is ChallengeState.RUNNING,
            plays=entry.version_id == run.version_id and not entry.waits_for_panel,
            points=sum(opponent.points for opponent in opponents[run.id]),
            most=run.games * len(opponents[run.id]),
            low=None if run.elo is None or run.se is None else run.elo - NORMAL_95 * run.se,
            high=None if run.elo is None or run.se is None else run.elo + NORMAL_95 * run.se,
            opponents=opponents[run.id],
        )
        for run, number, season, entry in rows
    ]


def _opponents(session: Session, run_ids: Sequence[int]) -> dict[int, list[PanelOpponent]]:
    of_runs = select(Challenge).where(col(Challenge.panel_id).in_(run_ids)).order_by(col(Challenge.id))
    duels = session.exec(of_runs).all()
    of, ids = sides(session, duels), [row.id for row in duels]
    faults, matches = faults_in(session, ids), defaultdict[int, list[int]](list)
    for duel_id, match_id in session.exec(MATCHES, params=_of(ids)):
        matches[duel_id].append(match_id)
    found: dict[int, list[PanelOpponent]] = defaultdict(list)
    for row in duels:
        assert row.panel_id is not None, "it was looked for"
        other = of[row.incumbent_id]
        opponent = PanelOpponent(
            bot_id=other.bot_id,
            bot=other.bot,
            author=other.author,
            version=other.version,
            points=row.wins + row.draws / 2,
            wins=row.wins,
            draws=row.draws,
            losses=row.losses,
            faults=faults[row.id, row.candidate_id],
            match_ids=matches[row.id],
        )
        found[row.panel_id].append(opponent)
    return found


def is_at_panel(session: Session, season_id: int, bot_id: int, version: int | None) -> bool:
    """Say whether a version of the bot, or the one with that number, has not finished a season's panel yet."""
    at_panel = AT_PANEL if version is None else AT_PANEL.where(BotVersion.number == version)
    return session.exec(at_panel, params={"season_id": season_id, "bot": bot_id}).first() is not None


AT_PANEL = (
    RUNNING.join(BotVersion, col(BotVersion.id) == PanelRun.version_id)
    .where(BotVersion.bot_id == bindparam("bot"))
    .limit(1)
)


# The matches of duels -----------------------------------------------------------------------------------------------

_DUELS: Any = bindparam("duels", expanding=True)
MATCHES: Any = (
    select(Series.challenge_id, Match.id)
    .join(Match, col(Match.series_id) == Series.id)
    .where(col(Series.challenge_id).in_(_DUELS))
    .order_by(col(Match.id))
)
FAULTS: Any = (
    select(Series.challenge_id, Participant.version_id, func.count())
    .join(Match, col(Match.series_id) == Series.id)
    .join(Participant, col(Participant.match_id) == Match.id)
    .where(col(Series.challenge_id).in_(_DUELS), col(Participant.fault).is_not(None))
    .group_by(col(Series.challenge_id), col(Participant.version_id))
)


def _of(duel_ids: Sequence[int]) -> dict[str, Sequence[int]]:
    return {"duels": duel_ids}
