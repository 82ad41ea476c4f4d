"""Stores planned matches: series and their seats.

Ladder, finals, evaluations and challenges all plan with `add_series`. Every match gets a secret seed
(`league.service.series.dice`) with a public commitment. Where a game's hands are private (`engine.games.same_deals`),
each deal is played once from every seat with one seed, and those matches lie in different series
(`league.pairing.rotations`): a bot that could carry anything from one match of a series to the next, or from one box to
the next on the same machine, finds no dice there that it has seen. What people may see of them follows from the
commitment (`league.service.series.deals`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import chain, combinations, zip_longest

from sqlalchemy import bindparam
from sqlmodel import Session, col, select, update

from deadheat.engine.chance import SEED_BYTES, commitment
from deadheat.engine.games import same_deals
from deadheat.league.database import now, surroundings
from deadheat.league.pairing.pairs import pair_key
from deadheat.league.pairing.seating import Seating, rotations, seatings, whole_turns
from deadheat.league.service.ground.steps import insert_rows
from deadheat.league.service.series.dice import Dice, deal_dice, drawn_dice
from deadheat.league.states import OF_CHALLENGES, UNRATED, Asked, MatchState, Precedence, Purpose
from deadheat.league.tables import BotVersion, Match, Pair, Participant, Season, Series


def whole_groups(game: str, seats: int, matches: int) -> int:
    """Round the number of matches down to whole turns, if each deal is to be played by everyone in every seat."""
    return whole_turns(matches, seats) if same_deals(game) else matches


def series_at_once(season: Season) -> int:
    """The number of series that `add_series` makes of matches that are planned together, except for challenges."""
    return season.seats if same_deals(season.game) else 1


def add_series(
    session: Session,
    season: Season,
    versions: Sequence[int],
    matches: int,
    *,
    purpose: Purpose = Purpose.LADDER,
    precedence: Precedence = Precedence.ORDINARY,
    round_number: int | None = None,
    challenge_id: int | None = None,
    pairing_id: int | None = None,
    asked: Asked | None = None,
) -> list[int]:
    """Plan matches between different versions and return the ids of their series, to be enqueued after the commit.

    Of two versions, the first begins; after that they take turns. If deals are shared, there are as many series as
    seats, and `matches` is reduced to whole groups. Fewer matches than one group, which a pair may still need when one
    of its series was dropped, get fresh dice. Challenges get fresh dice in every game, because their test takes matches
    as independent. `asked`: an author asked for them, and the dice do not belong to the season.
    """
    order = surroundings(session).entropy(SEED_BYTES)  # decides the order round the table, and when each deal is played
    seats = len(versions)
    if same_deals(season.game) and purpose not in OF_CHALLENGES and matches >= seats:
        matches = whole_turns(matches, seats)
        plans = rotations(versions, matches // seats, seed=order)
    else:
        plans = [seatings(versions, matches, seed=order)]
    at = now(session)
    made = [
        Series(
            season_id=season.id,
            purpose=purpose,
            precedence=precedence,
            round=round_number,
            challenge_id=challenge_id,
            pairing_id=pairing_id,
            queued_at=at,
            nudge_at=at + timedelta(seconds=surroundings(session).settings.requeue_seconds),
            created_at=at,
        )
        for _ in plans
    ]
    session.add_all(made)
    session.flush()
    dice: dict[int, Dice] = {}
    for series, plan in zip(made, plans, strict=True):
        _add_matches(session, series, plan, dice, asked)
    if purpose not in UNRATED:
        _count(session, season.id, versions, plans)
    return [series.id for series in made]


def in_turns(session: Session, sets: Sequence[Sequence[int]]) -> list[int]:
    """Let series that were planned together wait in alternation with those of other tables, and return them in that
    order, so that the rotations of a deal do not follow each other on one machine if others wait too.
    """
    ids = [series_id for series_id in chain(*zip_longest(*sets)) if series_id is not None]
    at = now(session)
    if ids:
        turns = [
            {"series_id": series_id, "turn": at - timedelta(microseconds=before_the_last)}
            for before_the_last, series_id in enumerate(reversed(ids))
        ]
        session.flush()
        session.connection().execute(TAKE_TURNS, turns)
    return ids


TAKE_TURNS = update(Series).where(col(Series.id) == bindparam("series_id")).values(queued_at=bindparam("turn"))


def _add_matches(
    session: Session, series: Series, plan: Sequence[Seating], dice: dict[int, Dice], asked: Asked | None
) -> None:
    """Add the matches of a series. `dice` holds the dice of the deals that are planned together, and receives those of
    each new deal.
    """
    new = list(dict.fromkeys(seating.deal for seating in plan if seating.deal not in dice))
    drawn = deal_dice(session, series.season_id, len(new)) if asked is None else drawn_dice(session, len(new))
    dice.update(zip(new, drawn, strict=True))
    rows = [
        {
            "series_id": series.id,
            "season_id": series.season_id,
            "number": number,
            "seed": dice[seating.deal].seed,
            "commitment": commitment(dice[seating.deal].seed),
            "deal": dice[seating.deal].deal,
            "state": MatchState.SCHEDULED,
            "asked": asked,
            "created_at": series.created_at,
        }
        for number, seating in enumerate(plan)
    ]
    insert_rows(session, Match, rows)
    match_ids = session.exec(select(Match.id).where(Match.series_id == series.id).order_by(col(Match.number))).all()
    seated = plan[0].seats
    bots = dict(session.exec(select(BotVersion.id, BotVersion.bot_id).where(col(BotVersion.id).in_(seated))).all())
    participants = [
        {"match_id": match_id, "seat": seat, "version_id": version, "bot_id": bots[version]}
        for match_id, seating in zip(match_ids, plan, strict=True)
        for seat, version in enumerate(seating.seats)
    ]
    insert_rows(session, Participant, participants)


def _count(session: Session, season_id: int, versions: Sequence[int], plans: Sequence[Sequence[Seating]]) -> None:
    """Update the counts that pairing reads. The planner holds the lock on the season's row, so nobody else counts
    meanwhile.
    """
    planned = [seating for plan in plans for seating in plan]
    for one, other in combinations(versions, 2):
        low, high = pair_key(one, other)
        row = session.get(Pair, (season_id, low, high))
        if row is None:
            row = Pair(season_id=season_id, low_id=low, high_id=high, games=0)
            session.add(row)
        row.games += len(planned)
        if len(versions) == 2:
            row.lead += sum(1 if seating.seats[0] == low else -1 for seating in planned)
