"""Planning new series: one call, `go_on`, for each season, at any time.

Few series are open at a time (`league.service.series.capacity.ladder_bound` of each season), so the queue stays
short whatever the field's size, a new version waits for minutes rather than days, and nothing has to be withdrawn when
a season closes. The bound follows the slots that judge, so none of them idles. Series that are over quickly would still
empty the queue between two ticks: where one ends and few are left, more are made at once (`runs_low`).

`league.pairing.ladder` decides the pairings; this module provides the facts. A version's expected rating comes from the
newest ranking (or from the bot's previous version), its past opponents from the rows of its own pairs, read only when
it is its turn: the cost of a tick does not grow with the number of pairs.
"""

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from datetime import timedelta
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, case, union_all
from sqlalchemy import select as columns
from sqlmodel import Session, col, exists, func, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from deadheat.engine.chance import SEED_BYTES
from deadheat.league.config import SETTLED_SECONDS
from deadheat.league.database import now, settings_of, surroundings
from deadheat.league.pairing.ladder import PLACED_GAMES, PLACED_SE_ELO, Entrant, Met, Proposal, Reason, Terms, propose
from deadheat.league.pairing.pairs import parts
from deadheat.league.service.course.finals import plan_finals
from deadheat.league.service.course.planning import plan
from deadheat.league.service.course.states import past_its_ladder, turn_season
from deadheat.league.service.evaluations.beginning import running_evaluation
from deadheat.league.service.evaluations.playing import has_unplanned
from deadheat.league.service.ground.counting import SEASONS_AT_A_TIME, may_be_drawn, taking_part
from deadheat.league.service.ground.lookups import newest_ranking
from deadheat.league.service.ground.steps import lock_season
from deadheat.league.service.people import notices
from deadheat.league.service.seasons.absence import rest_failing
from deadheat.league.service.seasons.entries import enter_as_wished
from deadheat.league.service.series.capacity import bound_with, ladder_bound
from deadheat.league.service.series.hosts import NO_HOST, slots_judging, told_of
from deadheat.league.service.series.planning import Table, add_series, in_turns, series_at_once, whole_groups
from deadheat.league.service.views.forecasts import falls_behind
from deadheat.league.states import (
    ENTERABLE,
    EVALUATIONS,
    GOING_ON,
    HOLDING,
    IN_PLAY,
    OF_CHALLENGES,
    OF_EVALUATIONS,
    ON_LADDER,
    UNFINISHED,
    UNRATED,
    ContestKind,
    ContestState,
    JobState,
    Players,
    Precedence,
    SeasonState,
)
from deadheat.league.tables import BotVersion, Contest, Entry, Match, Pair, Participant, RatingSnapshot, Season, Series

LOW_SHARE = 0.75
"""A share of the bound. Planning costs up to half a second of CPU in a large field, so it must make more than one
series, and end before the queue is empty, which holds half of the bound when all slots play.
"""


def runs_low(session: Session, number: int, *, ended: bool = False) -> int | None:
    """Return the season with that number, or that of a series that has `ended`, if it is in play and has room for
    enough series to make planning worthwhile before the next tick.
    """
    session.flush()
    facts = _facts(settings_of(session).judge_unfit, ended)
    season = session.connection().execute(facts, {"number": number, **told_of(session, NO_HOST)}).first()
    if season is None:
        return None
    low = LOW_SHARE * bound_with(season.slots)
    if season.evaluation is not None:
        if season.played == 0 or (season.played <= low and has_unplanned(session, season.evaluation)):
            return int(season.id)
        if not season.ladder_during_evaluations:
            return None
    if season.state in ON_LADDER and not season.ladder:
        return None
    bound = ladder_bound(session, season.id)
    return season.id if _open_of_season(session, season.id, bound) <= LOW_SHARE * bound else None


def _open_of_season(session: Session, season_id: int, bound: int) -> int:
    """Return the number of series that wait or run, up to the bound; gates and evaluations have their own."""
    session.flush()
    return len(session.connection().execute(UNDER_WAY, {"season_id": season_id, "bound": bound}).all())


UNDER_WAY = (
    columns(col(Series.id))
    .where(col(Series.season_id) == bindparam("season_id"), col(Series.state).in_(UNFINISHED))
    .where(col(Series.purpose).not_in((*OF_CHALLENGES, *OF_EVALUATIONS)))
    .limit(bindparam("bound"))
)


@cache
def _facts(judge_unfit: bool, ended: bool) -> Select[Any]:
    """Return the statement for the facts that decide it; building it takes longer than executing it. `played`: a
    running evaluation's unfinished series, or None.
    """
    number: Any = bindparam("number")
    of_series = select(Series.season_id).where(Series.id == number, col(Series.state).not_in(UNFINISHED))
    evaluation = (
        select(Contest.id)
        .where(Contest.season_id == Season.id, Contest.state == ContestState.RUNNING, col(Contest.number).is_not(None))
        .scalar_subquery()
    )
    unfinished = (
        select(func.count())
        .where(Series.season_id == Season.id, col(Series.state).in_(UNFINISHED))
        .where(col(Series.purpose).in_(OF_EVALUATIONS))
        .correlate(Season)
        .scalar_subquery()
    )
    return columns(
        *(col(Season.id), col(Season.state), col(Season.ladder), col(Season.ladder_during_evaluations)),
        evaluation.label("evaluation"),
        case((evaluation.is_not(None), unfinished)).label("played"),
        slots_judging(judge_unfit).scalar_subquery().label("slots"),
    ).where(col(Season.state).in_(IN_PLAY), col(Season.id) == (of_series.scalar_subquery() if ended else number))


_HERE: Any = bindparam("season_id")
_WAITS = exists().where(col(Entry.season_id) == _HERE, col(Entry.waits_for_panel).is_(True))
_WISHED = exists().where(col(BotVersion.enters_id) == _HERE)
_PLAYED = exists().where(col(Contest.season_id) == _HERE, col(Contest.state) == ContestState.RUNNING)
BESIDE: Any = columns(
    (_PLAYED.where(col(Contest.kind) == ContestKind.PANEL) | _WAITS).label("panel"),
    _PLAYED.where(col(Contest.kind).in_(EVALUATIONS)).label("evaluation"),
    _PLAYED.where(col(Contest.kind) == ContestKind.REQUEST).label("asked"),
    _PLAYED.where(col(Contest.kind) == ContestKind.GATE).label("gates"),
    _WISHED.label("wished"),
)
"""Whether a run against the panel (or an entry that waits for it), an evaluation, a request or a gate is under way, or
a bot is to enter when its version is ready.
"""


log = logging.getLogger(__name__)

CENTRE_ELO = 1500.0
"""The expected rating of an unknown version."""

MARGIN = timedelta(minutes=2)
"""A series that finished so shortly before a ranking may be missing from it: its log is older, and clocks differ."""


def seasons_going_on(session: Session) -> dict[int, str]:
    """Return all seasons that are not closed, with their games, the oldest first."""
    return dict(session.exec(ALL_GOING_ON).all())


ALL_GOING_ON = select(Season.id, Season.game).where(col(Season.state).in_(GOING_ON)).order_by(col(Season.id))


def go_on(session: Session, season_id: int) -> list[int]:
    """Move a season on if its date has come, and plan its series; return the new ones, to be enqueued."""
    # Two schedulers at once would both find room, so lock the season's row first (in SQLite this excludes every
    # writer).
    season = lock_season(session, season_id)
    turn_season(session, season)
    notices.deadlines_near(session, season)
    session.flush()
    others = session.connection().execute(BESIDE, {"season_id": season_id}).one()
    if others.wished:
        enter_as_wished(session, season_id)
    if season.state not in IN_PLAY or season.state in HOLDING or season.players is Players.AGENTS:
        return []  # agents begin their matches themselves
    planned: list[int] = []
    if season.state in ENTERABLE:
        rest_failing(session, season)
    if season.state in ON_LADDER and past_its_ladder(season, now(session)):
        if others.evaluation:  # the season may be waiting for its end
            planned += plan(session, season, ContestKind.EVALUATION)
    elif season.state in ON_LADDER:
        if season.panel or others.panel:
            planned += plan(session, season, ContestKind.PANEL)
        if season.evaluations or others.evaluation:
            planned += plan(session, season, ContestKind.EVALUATION)
            if (late := falls_behind(session, season)) is not None:
                notices.falls_behind(session, season, *late)
        if _ladder_goes_on(session, season):
            planned += _plan(session, season)
        if others.asked:
            planned += plan(session, season, ContestKind.REQUEST)
    if season.state in ENTERABLE and (season.panel or others.gates):  # a version that passes a panel may come to a gate
        planned += plan(session, season, ContestKind.GATE)
    if season.state is SeasonState.FINALS:
        planned += plan_finals(session, season)
    return planned


def _plan(session: Session, season: Season) -> list[int]:
    """Plan series for a locked season until it has no more room for open ones."""
    bound = ladder_bound(session, season.id)
    room = bound - _open_of_season(session, season.id, bound)
    if _settled(session, season) or room <= 0:
        return []
    if season.settled_until is not None:  # its rest ends now and then
        season.settled_until, room = now(session) + timedelta(seconds=SETTLED_SECONDS), 1
    if season.pairing_seed is None:
        season.pairing_seed = surroundings(session).entropy(SEED_BYTES)
    terms = Terms(
        seats=season.seats,
        series_length=whole_groups(season, season.series_length),
        games_per_pair=season.games_per_pair and whole_groups(season, season.games_per_pair),
    )
    players = _players(session, season)
    through = _through(session, season.id, players, terms.games_per_pair)
    if len(through) == len(players):
        return []
    entrants = _entrants(session, season, players, through)
    versions = {entry.bot_id: version for version, entry in players.items()}

    def met(version: int) -> dict[int, Met]:
        return _met(session, season.id, versions, players[version])

    wanted = -(-room // series_at_once(season))
    chosen = propose(entrants, met, wanted, terms, season.series_planned, season.pairing_seed)
    placing = {entrant.version for entrant in entrants if entrant.placing}
    tables = [Table(choice.versions, choice.matches, _precedence(choice, placing)) for choice in chosen]
    ids = in_turns(add_series(session, season, tables))
    for number, proposal in enumerate(chosen, season.series_planned + 1):
        for version in proposal.versions:
            players[version].waiting_since = number
    season.series_planned += len(chosen)
    if ids:
        why = Counter(proposal.reason.value for proposal in chosen)
        log.info("season %d: %d series planned: %s", season.id, len(ids), dict(why))
    return ids


def has_unplayed(session: Session, season: Season) -> bool:
    """Say whether a season's ladder has matches that nobody has planned yet."""
    if season.state not in ON_LADDER or past_its_ladder(season, now(session)) or not _ladder_goes_on(session, season):
        return False
    if _settled(session, season) or season.players is Players.AGENTS:
        return False
    players = _ready(session, season)
    if season.games_per_pair is None:
        return any(size >= season.seats for size in Counter(entry.division for entry in players.values()).values())
    games = whole_groups(season, season.games_per_pair)
    return len(_through(session, season.id, players, games)) < len(players)


def _settled(session: Session, season: Season) -> bool:
    """Say whether the ladder plans nothing now because its order is settled."""
    return season.settled_until is not None and now(session) < season.settled_until


def _ladder_goes_on(session: Session, season: Season) -> bool:
    """Say whether the ladder is played, and does not wait for an evaluation."""
    waits = not season.ladder_during_evaluations and running_evaluation(session, season.id) is not None
    return season.ladder and not waits


def _precedence(proposal: Proposal, placing: Set[int]) -> Precedence:
    """Return the precedence of a planned series. `placing`: the versions that are being placed."""
    if placing.isdisjoint(proposal.versions):
        return Precedence.ORDINARY
    return Precedence.NEW_VERSION if proposal.reason is Reason.TURN else Precedence.PLACEMENT


# What pairing is told ---------------------------------------------------------------------------------------------


def _ready(session: Session, season: Season) -> dict[int, Entry]:
    """Return the entries that may be drawn and do not rest, by version."""
    return {entry.version_id: entry for entry in session.exec(_ready_in(season.id))}


@lru_cache(SEASONS_AT_A_TIME)
def _ready_in(season_id: int) -> SelectOfScalar[Entry]:
    return select(Entry).where(may_be_drawn(season_id), col(Entry.rests_since).is_(None))


def _players(session: Session, season: Season) -> dict[int, Entry]:
    """Return the entries that may play, by version; newcomers get their place in the order of waiting."""
    players = _ready(session, season)
    for entry in players.values():
        if entry.waiting_since is None:  # a newcomer goes behind all others
            entry.waiting_since = season.series_planned
    return players


def _through(session: Session, season_id: int, players: Mapping[int, Entry], games_per_pair: int | None) -> set[int]:
    """Return the versions that have played all their games against everybody now in their division."""
    if games_per_pair is None:
        return set()
    through: set[int] = set()
    for division, size in Counter(entry.division for entry in players.values()).items():
        done: Counter[int] = Counter()  # the present opponents against which each version has played all games
        for statement in _done_in(season_id):
            done.update(dict(session.exec(statement, params={"division": division, "games": games_per_pair}).all()))
        members = (version for version, entry in players.items() if entry.division == division)
        through.update(version for version in members if done[version] >= size - 1)
    return through


@lru_cache(SEASONS_AT_A_TIME)
def _done_in(season_id: int) -> tuple[Any, ...]:
    """Return the statements for the two sides of the pairs. Each reads each pair of the division once. With a join on
    entries, SQLite read all entries for every pair: 56 s of CPU a tick with 2,000 bots and 50,000 pairs, against 0.4 s
    now. Without the `+ 0` it would look up every possible pair.
    """
    there = select(Entry.version_id).where(col(Entry.division) == bindparam("division"), taking_part(season_id))
    return tuple(
        select(side, func.count())
        .where(Pair.season_id == season_id, col(Pair.games) >= bindparam("games"))
        .where(col(Pair.low_id).in_(there), (col(Pair.high_id) + 0).in_(there))
        .group_by(col(side))
        for side in (Pair.low_id, Pair.high_id)
    )


def _entrants(
    session: Session, season: Season, players: Mapping[int, Entry], through: Collection[int]
) -> list[Entrant]:
    snapshot = newest_ranking(session, season.id)
    rows: Sequence[Mapping[str, Any]] = snapshot.standings["rows"] if snapshot is not None else []
    ranked = {row["version_id"]: row for row in rows}
    newest_of = {row["bot_id"]: row for row in sorted(rows, key=lambda row: int(row["version"]))}
    links, open_series = _links(session, season.id, players, snapshot)
    entrants = []
    for version, entry in players.items():
        assert entry.waiting_since is not None
        row = ranked.get(version)
        expected = row if row is not None else newest_of.get(entry.bot_id)  # its parent's, if it is not ranked yet
        entrants.append(
            Entrant(
                version=version,
                elo=CENTRE_ELO if expected is None else expected["elo"],
                placing=row is None or (row["se"] > PLACED_SE_ELO and row["games"] < PLACED_GAMES),
                waiting_since=entry.waiting_since,
                part=links[version],
                division=entry.division,
                open_series=open_series[version],
                through=version in through,
            )
        )
    return entrants


def _links(
    session: Session, season_id: int, versions: Mapping[int, Entry], snapshot: RatingSnapshot | None
) -> tuple[dict[int, int], Counter[int]]:
    """Return the part of the field that each version belongs to, and the number of its open series.

    The newest ranking contains the parts according to its log; series that are open or ended later link versions too.
    """
    rows = [] if snapshot is None else snapshot.standings["rows"]
    known = {row["version_id"]: row["part"] for row in rows if "part" in row}
    since: ColumnElement[bool] = col(Series.state) == JobState.DONE
    if snapshot is not None and known:
        since = col(Series.finished_at) >= snapshot.created_at - MARGIN
    statement = (
        select(Series.id, Series.state, Participant.version_id)
        .join(Match, (col(Match.series_id) == Series.id) & (col(Match.number) == 0))
        .join(Participant, col(Participant.match_id) == Match.id)
        .where(Series.season_id == season_id, col(Series.purpose).not_in(UNRATED))
        .where(or_(col(Series.state).in_(UNFINISHED), since))
    )
    tables: dict[int, list[int]] = {}
    open_series: Counter[int] = Counter()
    for series_id, state, version in session.exec(statement):
        tables.setdefault(series_id, []).append(version)
        open_series[version] += state in UNFINISHED
    return parts(versions, tables.values(), known), open_series


def _met(session: Session, season_id: int, versions: Mapping[int, int], player: Entry) -> dict[int, Met]:
    """Return a player's planned and played games against every opponent that may play now; `versions` is keyed by bot.

    Games between earlier versions of the two bots are counted separately: they show which bots have met, but not how
    often these two versions have.
    """
    met: dict[int, Met] = {}
    chosen = {"season_id": season_id, "bot_id": player.bot_id}
    for own_id, other_id, bot_id, games, lead in session.connection().execute(MET, chosen):
        opponent = versions.get(bot_id)
        if opponent is None:
            continue
        was = met.get(opponent, Met())
        if (own_id, other_id) == (player.version_id, opponent):
            met[opponent] = Met(games, was.before, lead)
        else:
            met[opponent] = Met(was.games, was.before + games, was.lead)
    return met


def _games_of(own: Any, other: Any, lead: Any) -> Select[Any]:
    mine = select(BotVersion.id).where(BotVersion.bot_id == bindparam("bot_id"))
    return (
        columns(own, other, col(BotVersion.bot_id), col(Pair.games), lead)
        .join(BotVersion, col(BotVersion.id) == other)
        .where(col(Pair.season_id) == bindparam("season_id"), own.in_(mine))
    )


MET = union_all(_games_of(Pair.low_id, Pair.high_id, Pair.lead), _games_of(Pair.high_id, Pair.low_id, -col(Pair.lead)))
"""Executed for each player of each series, and built once."""
