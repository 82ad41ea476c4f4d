"""The results and estimated performance of versions against a season's panel, for their owners."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from deadheat.league.ratings import Games, Log, Prior, RatingConfig, log_of, performances
from deadheat.league.ratings.table import NORMAL_95
from deadheat.league.records import from_row
from deadheat.league.records.panels import PanelOpponent, PanelResult
from deadheat.league.service.bots.bots import own_bot
from deadheat.league.service.ground.lookups import newest_ranking
from deadheat.league.service.people.person import Person
from deadheat.league.states import ChallengeState
from deadheat.league.tables import Bot, BotVersion, Challenge, Entry, Match, PanelRun, Participant, Season, Series, User

MOST_RUNS = 200
"""The season's newest runs whose games determine how strong its panel is: more would take longer and change little."""

SHOWN = 100
"""The number of runs that are listed at a time."""


def panel_results(session: Session, owner: Person, bot_id: int, version: int | None = None) -> list[PanelResult]:
    """List the panel results of the caller's bot, or of one version; the newest `SHOWN` first. Raises NotFound."""
    own_bot(session, owner, bot_id)
    statement = (
        select(PanelRun, BotVersion, Season, Entry)
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
        _told(run, of, season, entry, opponents[run.id], waits=run.id not in first) for run, of, season, entry in rows
    ]


def is_at_panel(session: Session, season_id: int, bot_id: int, version: int | None) -> bool:
    """Say whether a version of the bot, or the one with that number, has not finished a season's panel yet."""
    running = RUNNING if version is None else RUNNING.where(BotVersion.number == version)
    return session.exec(running, params={"season": season_id, "bot": bot_id}).first() is not None


RUNNING = (
    select(PanelRun.id)
    .join(BotVersion, col(BotVersion.id) == PanelRun.version_id)
    .where(PanelRun.season_id == bindparam("season"), BotVersion.bot_id == bindparam("bot"))
    .where(PanelRun.state == ChallengeState.RUNNING)
    .limit(1)
)


def played_first(runs: Iterable[PanelRun]) -> dict[int, PanelRun]:
    """Return each entry's running panel to be played now: that of the version chosen by number, or of the newest."""
    found: dict[int, PanelRun] = {}
    for run in runs:
        other = found.setdefault(run.entry_id, run)
        if (run.chosen, run.version_id) > (other.chosen, other.version_id):
            found[run.entry_id] = run
    return found


def estimate(session: Session, season: Season, runs: Collection[PanelRun]) -> None:
    """Compute the performance of these runs from their games and those of the season's newest runs, and store it."""
    newest = select(PanelRun).where(PanelRun.season_id == season.id).order_by(col(PanelRun.id).desc())
    by_version = {run.version_id: run for run in (*session.exec(newest.limit(MOST_RUNS)), *runs)}
    found = select(Challenge).where(col(Challenge.panel_id).in_([run.id for run in by_version.values()]))
    challenges = session.exec(found.order_by(col(Challenge.id))).all()
    opponents = {challenge.incumbent_id for challenge in challenges}
    known = _rated_in_season(session, season, opponents)
    estimated = performances(_log(challenges), RatingConfig(), set(map(str, opponents)), known)
    for run in runs:
        own = estimated.get(str(run.version_id))
        run.elo, run.se = (None, None) if own is None else (own.elo, own.se)
    session.flush()


def _rated_in_season(session: Session, season: Season, version_ids: Collection[int]) -> dict[str, Prior]:
    """Return the ratings of those versions that have played in the season, by its newest ranking."""
    snapshot = newest_ranking(session, season.id)
    if snapshot is None:
        return {}
    rows = [*snapshot.standings["rows"], *snapshot.standings["unranked"]]
    rated = (row for row in rows if row["version_id"] in version_ids and row["games"] > 0)
    return {str(row["version_id"]): Prior(mean_elo=row["elo"], sd_elo=row["se"]) for row in rated}


def _log(challenges: Sequence[Challenge]) -> Log:
    """Return challenges' games as results of candidates against opponents, without those that both lost by a fault."""
    ids = sorted({one for row in challenges for one in (row.candidate_id, row.incumbent_id)})
    place = {version_id: number for number, version_id in enumerate(ids)}
    pairs, ranks = [], []
    for row in challenges:
        counts = ((row.wins, (1, 2)), (row.draws, (1, 1)), (row.losses, (2, 1)))
        for count, placed in counts:
            pairs += [(place[row.candidate_id], place[row.incumbent_id])] * count
            ranks += [placed] * count
    games = Games(np.array(pairs, np.int64).reshape(-1, 2), np.array(ranks, np.int64).reshape(-1, 2))
    return log_of([str(version_id) for version_id in ids], [games])


def _opponents(session: Session, run_ids: Sequence[int]) -> dict[int, list[PanelOpponent]]:
    statement = (
        select(Challenge, BotVersion.number, Bot, User.name)
        .join(BotVersion, col(BotVersion.id) == Challenge.incumbent_id)
        .join(Bot, col(Bot.id) == BotVersion.bot_id)
        .join(User, col(User.id) == Bot.owner_id)
        .where(col(Challenge.panel_id).in_(run_ids))
        .order_by(col(Challenge.id))
    )
    rows = session.exec(statement).all()
    matches = _matches(session, [challenge.id for challenge, *_ in rows])
    found: dict[int, list[PanelOpponent]] = defaultdict(list)
    for challenge, number, bot, author in rows:
        assert challenge.panel_id is not None, "it was looked for"
        played = matches[challenge.id]
        opponent = from_row(
            PanelOpponent,
            challenge,
            bot_id=bot.id,
            bot=bot.name,
            author=author,
            version=number,
            points=challenge.wins + challenge.draws / 2,
            faults=sum(fault for _, fault in played),
            match_ids=[match_id for match_id, _ in played],
        )
        found[challenge.panel_id].append(opponent)
    return found


def _matches(session: Session, challenge_ids: Sequence[int]) -> dict[int, list[tuple[int, bool]]]:
    """Return the matches of each challenge, and whether the candidate committed a fault in each."""
    statement = (
        select(Challenge.id, Match.id, Participant.fault)
        .join(Series, col(Series.challenge_id) == Challenge.id)
        .join(Match, col(Match.series_id) == Series.id)
        .join(
            Participant,
            (col(Participant.match_id) == Match.id) & (col(Participant.version_id) == Challenge.candidate_id),
        )
        .where(col(Challenge.id).in_(challenge_ids))
        .order_by(col(Match.id))
    )
    found: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for challenge_id, match_id, fault in session.exec(statement):
        found[challenge_id].append((match_id, fault is not None))
    return found


def _told(
    run: PanelRun, version: BotVersion, season: Season, entry: Entry, opponents: list[PanelOpponent], *, waits: bool
) -> PanelResult:
    half = None if run.se is None else NORMAL_95 * run.se
    low, high = (None, None) if run.elo is None or half is None else (run.elo - half, run.elo + half)
    return from_row(
        PanelResult,
        run,
        season=season.name,
        bot_id=version.bot_id,
        version=version.number,
        waits=waits and run.state is ChallengeState.RUNNING,
        plays=entry.version_id == version.id and not entry.waits_for_panel,
        points=sum(opponent.points for opponent in opponents),
        most=run.games * len(opponents),
        low=low,
        high=high,
        opponents=opponents,
    )
