"""Makes a ranking from a season's log of results: ratings, and the other figures of each bot.

Its `standings` are JSON: ``rows``, one for each bot that takes part, by its active version, in the order of their
places, bots without one (they have not played) last; ``unranked``, the other versions with games (earlier ones, and
those of bots that left); ``totals``; and measures of how far to trust all this: ``fit``, ``seats``, ``pairs``, and
``leads`` by version (see `league.ratings`). With ``config``, `league.service.rankings.standings` can recompute it from
the log.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
from sqlalchemy import BigInteger, ScalarResult, Select, bindparam, cast
from sqlalchemy import select as columns
from sqlmodel import Session, case, col, func, select
from sqlmodel.sql.expression import Select as SelectOf

from deadheat.engine.core import Fault
from deadheat.league.database import now
from deadheat.league.ratings import Games, Log, Prior, Rating, RatingConfig, RatingTable, carried, log_of, rate
from deadheat.league.ratings.linear import Ints
from deadheat.league.ratings.quality import PAIR_TABLE_PLAYERS
from deadheat.league.ratings.table import FIGURES, by_rating
from deadheat.league.service.ground.counting import SEASONS_AT_A_TIME, counts, happened, taking_part
from deadheat.league.service.ground.lookups import final_ranking
from deadheat.league.service.seasons.seasons import planned_by_state
from deadheat.league.service.series.outcomes import rules_played
from deadheat.league.service.series.privacy import voids_at_planned
from deadheat.league.states import WITH_RESULT, ContestKind, ContestState, FinalsLog, MatchState, Purpose
from deadheat.league.tables import (
    Attempt,
    Bot,
    BotVersion,
    Contest,
    Entry,
    Match,
    Participant,
    RatingSnapshot,
    Season,
    Series,
    Team,
    User,
)

# A season's log of results as arrays, streamed from the database as one whole number per seat.
# A million matches of two are read in two seconds of CPU time and 30 MB; rows took twice the time, and objects ten
# times the memory.

BITS = 6
"""The number of bits for a seat, and for a rank."""

MOST = 1 << BITS

AT_A_TIME = 20_000
"""The number of rows that the database returns at once."""


def season_log(session: Session, season_id: int, purpose: Purpose | None = None) -> Log:
    """Return the matches that count, or those of series with that purpose. Players are versions' ids as text.

    Matches with the same seed share their dice: they are a group, named by the seed's commitment.
    """
    codes = np.fromiter(_streamed(session, _packed(season_id, purpose)), np.int64)
    seats, ranks, versions = codes % MOST, codes // MOST % MOST, codes // MOST**2
    starts = np.flatnonzero(seats == 0)
    sizes = np.diff(starts, append=len(codes))
    groups, labels = _groups(session, season_id, purpose)
    assert len(groups) in (0, len(starts)), "a session that reads sees one instant"
    ids, players = np.unique(versions, return_inverse=True)
    games = []
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        places = starts[same][:, None] + np.arange(size)
        games.append(Games(players[places], ranks[places], groups[same] if len(groups) else None))
    return log_of([str(version) for version in ids], games, labels)


@lru_cache(SEASONS_AT_A_TIME)
def _packed(season_id: int, purpose: Purpose | None) -> Select[Any]:
    """Return the statement for one number for each seat, by match and seat."""
    version = cast(col(Participant.version_id), BigInteger)
    code = (version * MOST + col(Participant.rank)) * MOST + col(Participant.seat)
    statement = (
        select(code)
        .join(Match, col(Match.id) == Participant.match_id)
        .order_by(col(Participant.match_id), col(Participant.seat))
    )
    return _counted(statement, season_id, purpose)


def _groups(session: Session, season_id: int, purpose: Purpose | None) -> tuple[Ints, list[str]]:
    """Return, for each match, the index of its commitment; nothing if no two matches share a seed."""
    if session.connection().execute(_shared(season_id, purpose)).first() is None:
        return np.zeros(0, np.int64), []
    statement = _counted(select(Match.commitment).order_by(col(Match.id)), season_id, purpose)
    numbers: dict[str, int] = {}
    names = _streamed(session, statement)
    groups = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.int64)
    return groups, list(numbers)


@lru_cache(SEASONS_AT_A_TIME)
def _shared(season_id: int, purpose: Purpose | None) -> Select[Any]:
    """Return the statement for a commitment that several matches share."""
    commitments = _counted(select(Match.commitment), season_id, purpose).group_by(col(Match.commitment))
    return commitments.having(func.count() > 1).limit(1)


def _counted(statement: Select[Any], season_id: int, purpose: Purpose | None) -> Select[Any]:
    statement = statement.where(*counts(season_id))
    if purpose is not None:
        statement = statement.join(Series, col(Series.id) == Match.series_id).where(col(Series.purpose) == purpose)
    return statement


def _streamed(session: Session, statement: Select[Any]) -> ScalarResult[Any]:
    """Yield the values of the one column, bypassing the object mapper, which would double the time."""
    return session.connection().execute(statement, execution_options={"yield_per": AT_A_TIME}).scalars()


# The priors of a season's ratings: chains of versions, and ratings from the previous season.
# Each version is rated separately, because a resubmission may be anything. But it is most likely near the previous
# version, so all versions of a bot that play in a season are a chain, in the order of their numbers. The first one
# starts from the bot's last rating in the previous season, if it played there.
# A version that passed a promotion gate of this season is tied less closely to its predecessor. The games there do not
# count otherwise: an author owns both sides, and could throw games to gain points.


def _priors_of(
    session: Session, season: Season, version_ids: Collection[int], config: RatingConfig
) -> dict[str, Prior]:
    """Return the prior of each version, by its id as text."""
    before, passed = _ended(session, season), _passed(session, season.id)
    by_bot = session.exec(BY_BOT, params={"versions": list(version_ids)})
    priors: dict[str, Prior] = {}
    for bot_id, versions in groupby(by_bot, lambda row: row[0]):
        parent: int | None = None
        for _, version_id in versions:
            if parent is not None:
                sd_elo = config.passed_sd_elo if version_id in passed else None
                priors[str(version_id)] = Prior(parent=str(parent), sd_elo=sd_elo)
            elif bot_id in before:
                earlier, elo, se = before[bot_id]
                step_sd_elo = 0.0 if version_id == earlier else config.step_sd_elo(passed=version_id in passed)
                priors[str(version_id)] = carried(elo, se, config, step_sd_elo)
            else:
                priors[str(version_id)] = Prior()
            parent = version_id
    return priors


def _passed(session: Session, season_id: int) -> set[int]:
    """Return the versions that passed a promotion gate in the season."""
    return set(session.exec(PASSED, params={"season": season_id}))


_AMONG = col(BotVersion.id).in_(bindparam("versions", expanding=True))
BOTS = select(BotVersion.id, BotVersion.bot_id).where(_AMONG)
BY_BOT = select(BotVersion.bot_id, BotVersion.id).where(_AMONG).order_by(col(BotVersion.bot_id), col(BotVersion.number))
PASSED = select(Contest.candidate_id).where(
    Contest.season_id == bindparam("season"), Contest.kind == ContestKind.GATE, Contest.state == ContestState.PASSED
)


def _ended(session: Session, season: Season) -> dict[int, tuple[int, float, float]]:
    """Return how each bot ended the previous season: its version, rating and error. Final standings never change.

    These are always ratings by the whole season's log. If the finals alone rank the finalists, they rate everybody from
    the centre again: those ratings have a scale of their own, and cannot be compared with the ratings of other bots.
    """
    if season.previous_id is None:
        return {}
    snapshot = final_ranking(session, season.previous_id)
    rows = [] if snapshot is None else snapshot.standings["rows"]
    apart = snapshot is not None and "finals_log" in snapshot.config
    ended = {}
    for row in rows:
        if row.get("season_elo") is not None:
            ended[row["bot_id"]] = (row["version_id"], row["season_elo"], row["season_se"])
        elif not (apart and row["finalist"] and "season_elo" not in row):  # published before season_elo was stored
            ended[row["bot_id"]] = (row["version_id"], row["elo"], row["se"])
    return ended


# The fields of a ranking: the divisions of a season, and in each the finalists before all others.
# Ratings say how strong bots are; a season's rules decide their places. Each division has its own places, and finalists
# come before all others, whatever the ratings. Finals in stages give places of their own: finalists that have one are
# ranked by it alone, and come after those that are still in a stage. A bot without a game that counts has no place: its
# rating is only its prior.


@dataclass(frozen=True, slots=True)
class Field:
    """Versions that are ranked against each other; without `ranked`, they have no places and come last.

    `finals_place`: the place of its only version after the stages of the finals.
    """

    division: int
    finalists: bool
    version_ids: tuple[int, ...]
    ranked: bool = True
    finals_place: int | None = None


def _fields_of(session: Session, season_id: int) -> tuple[Field, ...]:
    """Return the active versions of all bots that take part: by division, finalists first."""
    members: dict[tuple[int, bool, int], list[int]] = {}
    for version_id, division, seed, place in session.exec(_entered(season_id)):
        members.setdefault((division, seed is None, place or 0), []).append(version_id)
    return tuple(
        Field(division, not others, tuple(members[division, others, place]), finals_place=place or None)
        for division, others, place in sorted(members)
    )


def _set_apart(fields: Sequence[Field], played: Collection[int], in_finals: Collection[int] | None) -> list[Field]:
    """Return the fields as they are ranked: in each division, those in `played` come first, and the others follow
    without places.

    `in_finals`: if the finals alone rank the finalists, the versions with games in them. Finalists whose games there we
    failed to play come after the others, ranked by the whole season.
    """
    ordered: list[tuple[tuple[int, bool, bool, bool, int], Field]] = []
    for field in fields:
        members: dict[tuple[bool, bool], list[int]] = {}
        for version_id in field.version_ids:
            missed = in_finals is not None and field.finalists and version_id not in in_finals
            members.setdefault((version_id not in played, missed), []).append(version_id)
        for (unplayed, missed), version_ids in members.items():
            order = (field.division, unplayed, not field.finalists, missed, field.finals_place or 0)
            ordered.append((order, replace(field, version_ids=tuple(version_ids), ranked=not unplayed)))
    return [field for _, field in sorted(ordered, key=lambda pair: pair[0])]


@lru_cache(SEASONS_AT_A_TIME)
def _entered(season_id: int) -> SelectOf[int, int, int | None, int | None]:
    entered = select(Entry.version_id, Entry.division, Entry.finals_seed, Entry.finals_place)
    return entered.where(taking_part(season_id)).order_by(col(Entry.version_id))


Row = dict[str, Any]


def ranking(session: Session, season_id: int, config: RatingConfig | None = None) -> RatingSnapshot:
    """Return the ranking of the present log, not stored; by default with the present settings."""
    season = session.get_one(Season, season_id)
    config = config or _config(season)
    return _ranked(session, season, config, season_log(session, season_id), _fields_of(session, season_id))


def ranking_if_new(session: Session, season_id: int, newest: RatingSnapshot | None) -> RatingSnapshot | None:
    """Return the ranking that follows from the present log, or None if it would equal the newest one."""
    season = session.get_one(Season, season_id)
    config, fields = _config(season), _fields_of(session, season_id)
    results = season_log(session, season_id)
    if newest is None:
        return _ranked(session, season, config, results, fields)
    if _unchanged(session, season, newest, config, results, fields):
        return None
    start = {str(row["version_id"]): row["elo"] for row in newest.standings["rows"]}
    return _ranked(session, season, config, results, fields, start)


def _config(season: Season) -> RatingConfig:
    return RatingConfig(ranks=season.ranks)


def _rules(season: Season) -> dict[str, object]:
    """Return the season's settings that a ranking depends on, apart from those of the model."""
    return {"finals_log": season.finals_log.value} if season.finals_log is FinalsLog.FINALS else {}


def _unchanged(
    session: Session,
    season: Season,
    newest: RatingSnapshot,
    config: RatingConfig,
    results: Log,
    fields: Sequence[Field],
) -> bool:
    if newest.config != config.as_json() | _rules(season) or newest.log_sha256 != results.sha256:
        return False
    ranked = {
        (row["version_id"], row["division"], row["finalist"], row.get("finals_place"))
        for row in newest.standings["rows"]
    }
    wanted = {
        (version_id, field.division, field.finalists, field.finals_place)
        for field in fields
        for version_id in field.version_ids
    }
    return ranked == wanted and newest.standings["totals"] == _totals(
        session, season.id, results.games, _faults(session, season.id)
    )


def _ranked(
    session: Session,
    season: Season,
    config: RatingConfig,
    results: Log,
    fields: Sequence[Field],
    start: Mapping[str, float] | None = None,
) -> RatingSnapshot:
    active = {version_id for field in fields for version_id in field.version_ids}
    priors = _priors_of(session, season, active | {int(player) for player in results.players}, config)
    apart = season_log(session, season.id, Purpose.FINALS) if season.finals_log is FinalsLog.FINALS else None
    in_finals = None if apart is None else {int(player) for player in apart.players}
    fields = _set_apart(fields, _played(session, active, results), in_finals)
    table = rate(results, config, priors, [_players(field) for field in fields if field.ranked], start)
    ratings = {entry.player: entry for entry in table.entries}
    leads = table.leads(_players(field) for field in fields if field.ranked)
    if apart is not None:
        finalists, theirs = _by_the_finals_alone(apart, config, fields)
        ratings |= finalists
        leads = {player: lead for player, lead in leads.items() if player not in finalists} | theirs
    faults = _faults(session, season.id)
    known = _known(session, faults, table, ratings, priors)
    for version_id, unrated in session.exec(_unrated(season.id)):
        if version_id in known:
            known[version_id]["finished"] += unrated
    rows: list[Row] = []
    taken: Counter[int] = Counter()  # places, by division
    for field in fields:
        rows += _placed(field, taken[field.division], ratings, known)
        taken[field.division] += len(field.version_ids)
    others = [known[int(entry.player)] for entry in table.entries if int(entry.player) not in active]
    return RatingSnapshot(
        season_id=season.id,
        log_sha256=results.sha256,
        config=config.as_json() | _rules(season),
        standings={
            "rows": rows,
            "unranked": others,
            "totals": _totals(session, season.id, results.games, faults),
            "fit": asdict(table.fit()),
            "seats": [asdict(effect) for effect in table.seats()],
            "pairs": _pairs(table, rows),
            "leads": leads,
            "rules": [rules.rules_version for rules in rules_played(session, [season.id])],
        },
        created_at=now(session),
    )


def _players(field: Field) -> list[str]:
    return [str(version_id) for version_id in field.version_ids]


def _played(session: Session, active: Set[int], results: Log) -> set[int]:
    """Return the active versions whose bots have played, with this or an earlier version."""
    logged = {int(player) for player in results.players}
    bots = dict(session.exec(BOTS, params={"versions": list(active | logged)}).all())
    played = {bots[version_id] for version_id in logged}
    return {version_id for version_id in active if bots[version_id] in played}


def _by_the_finals_alone(
    finals: Log, config: RatingConfig, fields: Sequence[Field]
) -> tuple[dict[str, Rating], dict[str, int]]:
    """Rate the finalists who played in the finals by those matches alone; everybody starts from the same prior. Return
    their ratings and leads.
    """
    there = set(finals.players)
    finalists = [_players(field) for field in fields if field.finalists and there.issuperset(_players(field))]
    everyone = {player: Prior() for field in finalists for player in field}
    if not everyone:
        return {}, {}
    table = rate(finals, config, everyone, finalists)
    return {entry.player: entry for entry in table.entries if entry.player in everyone}, table.leads(finalists)


def _placed(field: Field, before: int, ratings: Mapping[str, Rating], known: Mapping[int, Row]) -> list[Row]:
    """Return the rows of a field with their places, best first. `before`: places of its division already taken."""
    entries = sorted((ratings[player] for player in _players(field)), key=by_rating)
    shared = Counter(entry.place.rank for entry in entries if entry.place is not None)
    rows = []
    for entry in entries:
        place = entry.place
        assert (place is not None) == field.ranked, "who has played has a place"
        row = {
            "rank": None if place is None else before + place.rank,
            "tied": place is not None and shared[place.rank] > 1,
            "rank_low": None if place is None else before + place.low,
            "rank_high": None if place is None else before + place.high,
            "gap_se": None if place is None else place.gap_se,
            "division": field.division,
            "finalist": field.finalists,
            "finals_place": field.finals_place,
        }
        rows.append(row | known[int(entry.player)])
    return rows


def _known(
    session: Session,
    faults: Mapping[int, Mapping[str, int]],
    table: RatingTable,
    ratings: Mapping[str, Rating],
    priors: Mapping[str, Prior],
) -> dict[int, Row]:
    """Return the row of each version, without its place."""
    versions = _versions(session, [int(player) for player in table.players])
    linked = _linked(table)
    seasonal = {entry.player: entry for entry in table.entries}
    bot_games: Counter[int] = Counter()
    for entry in ratings.values():
        bot_games[versions[int(entry.player)]["bot_id"]] += entry.games
    return {
        version_id: {
            "version_id": version_id,
            **versions[version_id],
            "part": linked[version_id],
            **_figures(ratings[str(version_id)], seasonal[str(version_id)], priors[str(version_id)]),
            "bot_games": bot_games[versions[version_id]["bot_id"]],
            "finished": seasonal[str(version_id)].games,  # all matches in which its faults are counted
            **faults.get(version_id, NO_FAULTS),
        }
        for version_id in map(int, table.players)
    }


def _figures(entry: Rating, seasonal: Rating, prior: Prior) -> Row:
    """Return the figures of a rating and its prior. A rating by the finals alone has the season's rating beside it,
    because the two have no common scale.
    """
    apart = entry is not seasonal
    return {
        **{name: getattr(entry, name) for name in FIGURES},
        "season_elo": seasonal.elo if apart else None,
        "season_se": seasonal.se if apart else None,
        "parent_id": None if prior.parent is None else int(prior.parent),
        "prior_elo": prior.mean_elo,
        "prior_sd": prior.sd_elo,
    }


def _linked(table: RatingTable) -> dict[int, int]:
    """Return, for each version, the part of the field to which its games link it, named by the lowest number in it;
    pairing joins the parts.
    """
    linked = dict(zip(map(int, table.players), table.posterior.fields(chained=False).tolist(), strict=True))
    lowest: dict[int, int] = {}
    for version_id, part in linked.items():
        lowest[part] = min(lowest.get(part, version_id), version_id)
    return {version_id: lowest[part] for version_id, part in linked.items()}


def _pairs(table: RatingTable, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the points that the first bots of the ranking took from each other."""
    version_ids = [row["version_id"] for row in rows[:PAIR_TABLE_PLAYERS]]
    return {"version_ids": version_ids, **asdict(table.pairs([str(version_id) for version_id in version_ids]))}


def _totals(session: Session, season_id: int, rated: int, faults: Mapping[int, Mapping[str, int]]) -> dict[str, Any]:
    """Return the totals of the season. `causes`: the causes of void attempts at matches."""
    by_state = {state: count for state, count, _ in session.exec(planned_by_state(season_id))}
    causes = dict(session.exec(_void_causes(season_id)).all())
    return {
        "rated": rated,
        "matches": sum(by_state.get(state, 0) for state in WITH_RESULT),
        "abandoned": by_state.get(MatchState.ABANDONED, 0),
        "voids": sum(causes.values()),
        "causes": causes,
        "timeouts": sum(of_bot["timeouts"] for of_bot in faults.values()),
        "other_faults": sum(of_bot["other_faults"] for of_bot in faults.values()),
    }


@lru_cache(SEASONS_AT_A_TIME)
def _void_causes(season_id: int) -> SelectOf[str, int]:
    void = select(Attempt.cause, func.count()).where(*voids_at_planned(season_id))
    return void.group_by(Attempt.cause).order_by(Attempt.cause)


def _versions(session: Session, version_ids: Sequence[int]) -> dict[int, Row]:
    names = ("version", "language", "bot_id", "bot", "author", "team")
    rows = session.connection().execute(VERSIONS, {"versions": version_ids})
    return {version_id: dict(zip(names, values, strict=True)) for version_id, *values in rows}


_ABOUT = (BotVersion.id, BotVersion.number, BotVersion.language, Bot.id, Bot.name, User.name, Team.name)
VERSIONS: Any = (
    columns(*map(col, _ABOUT))
    .join_from(BotVersion, Bot, col(Bot.id) == BotVersion.bot_id)
    .join(User, col(User.id) == Bot.owner_id)
    .join(Team, col(Team.id) == Bot.team_id, isouter=True)
    .where(_AMONG)
)


NO_FAULTS = {"timeouts": 0, "other_faults": 0}


def _faults(session: Session, season_id: int) -> dict[int, dict[str, int]]:
    """Return the time-outs and other faults of each version, separately for rated and unrated matches."""
    failed = session.exec(_counted_faults(season_id))
    return {version_id: {"timeouts": late, "other_faults": every - late} for version_id, late, every in failed}


@lru_cache(SEASONS_AT_A_TIME)
def _counted_faults(season_id: int) -> SelectOf[int, int, int]:
    timeouts = func.sum(case((col(Participant.fault) == Fault.TIMEOUT, 1), else_=0))
    failed = select(Participant.version_id, timeouts, func.count())
    failed = failed.join(Match, col(Match.id) == Participant.match_id).where(*happened(season_id))
    return failed.where(col(Participant.fault).is_not(None)).group_by(col(Participant.version_id))


@lru_cache(SEASONS_AT_A_TIME)
def _unrated(season_id: int) -> SelectOf[int, int]:
    """Return the statement for the number of each version's unrated matches in which its faults are counted."""
    finished = select(Participant.version_id, func.count()).join(Match, col(Match.id) == Participant.match_id)
    finished = finished.where(*happened(season_id), col(Match.rated).is_(False))
    return finished.group_by(col(Participant.version_id))
