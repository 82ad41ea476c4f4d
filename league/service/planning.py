"""Writing a planned series down: where matches, their seats and their seeds come from.

Ladder, finals and challenges all plan with `add_series`. Every match gets a secret seed with a public commitment.
Where a game's hands are private (`engine.games.SAME_DEALS`), the matches of one turn round the table share one: they
are a group. A group lies in one series, and the results of a series are written in one transaction
(`league.service.play.finish_series`), so its seed is shown with the last of its matches or not at all. Who plays an
abandoned match of it again, by an organiser's ruling, knows its dice no better for it: programs are chosen when a
match is planned, have no memory from match to match, and no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import combinations

from sqlmodel import Session, col, select

from engine.chance import SEED_BYTES, commitment
from engine.games import SAME_DEALS
from league.database import now, surroundings
from league.pairing import Seating, pair_key, seatings, whole_turns
from league.service.steps import insert_rows
from league.states import Purpose
from league.tables import BotVersion, Match, Pair, Participant, Season, Series


def whole_groups(game: str, seats: int, matches: int) -> int:
    """As many matches as wished, or what is left of them when a deal is to be played by everyone in every seat."""
    return whole_turns(matches, seats) if game in SAME_DEALS else matches


def add_series(
    session: Session,
    season: Season,
    versions: Sequence[int],
    matches: int,
    *,
    purpose: Purpose = Purpose.LADDER,
    round_number: int | None = None,
    challenge_id: int | None = None,
) -> int:
    """Plan a series between different versions and return its id, to be enqueued after the commit.

    Of two versions the first begins; after that they take turns. Where deals are shared, `matches` is cut to whole
    groups; challenges get fresh dice in every game, for their test takes matches as independent.
    """
    at = now(session)
    surrounding = surroundings(session)
    same_deals = season.game in SAME_DEALS and purpose is not Purpose.CHALLENGE
    if same_deals:
        matches = whole_turns(matches, len(versions))
    series = Series(
        season_id=season.id,
        purpose=purpose,
        round=round_number,
        challenge_id=challenge_id,
        queued_at=at,
        nudge_at=at + timedelta(seconds=surrounding.settings.requeue_seconds),
        created_at=at,
    )
    session.add(series)
    session.flush()
    order = surrounding.entropy(SEED_BYTES)  # who follows whom round a table
    plan = seatings(versions, matches, same_deals=same_deals, seed=order)
    _add_matches(session, series, plan)
    if purpose is not Purpose.CHALLENGE:  # two versions of one bot, and never rated
        _count(session, season.id, versions, matches)
    return series.id


def _add_matches(session: Session, series: Series, plan: Sequence[Seating]) -> None:
    entropy = surroundings(session).entropy
    seeds: dict[int, bytes] = {}
    rows = []
    for number, seating in enumerate(plan):
        seed = seeds.setdefault(seating.group, b"") or entropy(SEED_BYTES)
        seeds[seating.group] = seed
        rows.append(
            Match(
                series_id=series.id,
                season_id=series.season_id,
                number=number,
                seed=seed,
                commitment=commitment(seed),
                created_at=series.created_at,
            )
        )
    session.add_all(rows)
    session.flush()
    seated = plan[0].seats
    bots = dict(session.exec(select(BotVersion.id, BotVersion.bot_id).where(col(BotVersion.id).in_(seated))).all())
    participants = [
        {"match_id": row.id, "seat": seat, "version_id": version, "bot_id": bots[version]}
        for row, seating in zip(rows, plan, strict=True)
        for seat, version in enumerate(seating.seats)
    ]
    insert_rows(session, Participant, participants)


def _count(session: Session, season_id: int, versions: Sequence[int], matches: int) -> None:
    """What pairing will know of it. The season's row is locked by whoever plans, so nobody else counts meanwhile."""
    for one, other in combinations(versions, 2):
        low, high = pair_key(one, other)
        row = session.get(Pair, (season_id, low, high))
        if row is None:
            row = Pair(season_id=season_id, low_id=low, high_id=high, games=0)
            session.add(row)
        row.games += matches
        if len(versions) == 2 and matches % 2:
            row.lead += 1 if one == low else -1
