"""Making new series: one call, `tick`, whenever the scheduler likes.

Few series are open at a time (`open_series_limit` of each season), so the queue stays short whatever the field's
size, a new version waits for minutes and not for days, and nothing need be withdrawn when a season closes.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from sqlmodel import Session, col, func, select

from engine.chance import SEED_BYTES, commitment
from league.database import now, settings_of, surroundings
from league.pairing import PairKey, propose
from league.service.counting import taking_part
from league.service.seasons import change_state
from league.service.steps import insert_rows
from league.states import SeasonState, SeriesState, VersionState
from league.tables import BotVersion, Entry, Match, Pair, Participant, Season, Series

log = logging.getLogger(__name__)


def tick(session: Session) -> list[int]:
    """Open and close seasons whose date has come, and plan series; returns the new series, to be enqueued."""
    at = now(session)
    _turn_seasons(session, at)
    planned: list[int] = []
    for season in session.exec(select(Season).where(Season.state == SeasonState.OPEN).order_by(col(Season.id))).all():
        planned += _plan(session, season, at)
    return planned


def _turn_seasons(session: Session, at: datetime) -> None:
    opening = select(Season.id).where(Season.state == SeasonState.SCHEDULED, col(Season.opens_at) <= at)
    for season_id in session.exec(opening).all():
        change_state(session, season_id, SeasonState.SCHEDULED, SeasonState.OPEN)
    closing = select(Season.id).where(Season.state == SeasonState.OPEN, col(Season.closes_at) <= at)
    for season_id in session.exec(closing).all():
        change_state(session, season_id, SeasonState.OPEN, SeasonState.CLOSED)


def _plan(session: Session, season: Season, at: datetime) -> list[int]:
    settings = settings_of(session)
    # Two schedulers at once would both see room: the season's row lets one in after the other (SQLite: any writer).
    session.exec(select(Season.id).where(Season.id == season.id).with_for_update(key_share=True)).one()
    unfinished = col(Series.state).in_([SeriesState.QUEUED, SeriesState.RUNNING])
    count = select(func.count()).select_from(Series).where(Series.season_id == season.id, unfinished)
    room = settings.open_series_limit - session.exec(count).one()
    if room <= 0:
        return []
    bots = _playable(session, season.id)
    if len(bots) < 2:
        return []
    games = {
        (low, high): played
        for low, high, played in session.exec(
            select(Pair.low_id, Pair.high_id, Pair.games).where(Pair.season_id == season.id)
        )
    }
    seed = surroundings(session).entropy(SEED_BYTES)
    chosen = propose(list(bots), games, room, season.series_length, season.games_per_pair, seed)
    series_ids = []
    for pair, length in chosen:
        series_ids.append(_insert_series(session, season.id, pair, length, games.get(pair, 0), bots, at))
        games[pair] = games.get(pair, 0) + length
        session.merge(Pair(season_id=season.id, low_id=pair[0], high_id=pair[1], games=games[pair]))
    if series_ids:
        log.info("season %d: %d series planned", season.id, len(series_ids))
    return series_ids


def _playable(session: Session, season_id: int) -> dict[int, int]:
    """Versions that may play, each with its bot."""
    statement = (
        select(Entry.version_id, Entry.bot_id)
        .join(BotVersion, col(BotVersion.id) == Entry.version_id)
        .where(Entry.season_id == season_id, taking_part(season_id), BotVersion.state == VersionState.READY)
    )
    return dict(session.exec(statement).all())


def _insert_series(
    session: Session, season_id: int, pair: PairKey, length: int, before: int, bots: dict[int, int], at: datetime
) -> int:
    """One series; the seats change with every game of the pair, over all its series."""
    surrounding = surroundings(session)
    wait = timedelta(seconds=surrounding.settings.requeue_seconds)
    series = Series(season_id=season_id, queued_at=at, nudge_at=at + wait, created_at=at)
    session.add(series)
    session.flush()
    matches = []
    for number in range(length):
        seed = surrounding.entropy(SEED_BYTES)
        matches.append(
            Match(
                series_id=series.id,
                season_id=season_id,
                number=number,
                seed=seed,
                commitment=commitment(seed),
                created_at=at,
            )
        )
    session.add_all(matches)
    session.flush()
    participants = []
    for match in matches:
        seated = pair if (before + match.number) % 2 == 0 else (pair[1], pair[0])
        participants += [
            {"match_id": match.id, "seat": seat, "version_id": version, "bot_id": bots[version]}
            for seat, version in enumerate(seated)
        ]
    insert_rows(session, Participant, participants)
    return series.id
