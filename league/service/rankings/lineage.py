"""The priors of a season's ratings: chains of versions, and ratings from the previous season.

Each version is rated separately, because a resubmission may be anything. But it is most likely near the previous
version, so all versions of a bot that play in a season are a chain, in the order of their numbers. The first one starts
from the bot's last rating in the previous season, if it played there.

A version that passed a promotion gate of this season is tied less closely to its predecessor. The games there do not
count otherwise: an author owns both sides, and could throw games to gain points.
"""

from collections.abc import Collection
from itertools import groupby

from sqlmodel import Session, col, select

from deadheat.league.ratings import Prior, RatingConfig, carried
from deadheat.league.service.ground.lookups import final_ranking
from deadheat.league.states import ContestKind, ContestState
from deadheat.league.tables import BotVersion, Contest, ContestPlayer, Season


def priors_of(session: Session, season: Season, version_ids: Collection[int], config: RatingConfig) -> dict[str, Prior]:
    """Return the prior of each version, by its id as text."""
    before, passed = _ended(session, season), _passed(session, season.id)
    statement = (
        select(BotVersion.bot_id, BotVersion.id)
        .where(col(BotVersion.id).in_(list(version_ids)))
        .order_by(col(BotVersion.bot_id), col(BotVersion.number))
    )
    by_bot = session.exec(statement)
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
    passed = (
        select(ContestPlayer.version_id)
        .join(Contest, col(Contest.id) == ContestPlayer.contest_id)
        .where(Contest.season_id == season_id, Contest.kind == ContestKind.GATE)
        .where(Contest.state == ContestState.PASSED, ContestPlayer.seed == 1)
    )
    return set(session.exec(passed))


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
    found = {}
    for row in rows:
        if row.get("season_elo") is not None:
            found[row["bot_id"]] = (row["version_id"], row["season_elo"], row["season_se"])
        elif not (apart and row["finalist"] and "season_elo" not in row):  # published before season_elo was stored
            found[row["bot_id"]] = (row["version_id"], row["elo"], row["se"])
    return found
