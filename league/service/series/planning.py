"""Stores planned matches: series and their seats.

Ladder, finals, evaluations and challenges all plan with `add_series`. Every match gets a secret seed
(`league.service.series.deals`) with a public commitment. Where a game's hands are private (`engine.games.same_deals`),
each deal is played once from every seat with one seed, and those matches lie in different series
(`league.pairing.seating.rotations`). So a bot that could carry anything to the next match of a series, or to the next
box on the machine, finds no dice there that it has seen. The commitment decides what people may see of them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, combinations, zip_longest
from typing import TypeVar

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col

from deadheat.engine.chance import SEED_BYTES, commitment
from deadheat.engine.games import same_deals
from deadheat.league.database import now, settings_of, surroundings
from deadheat.league.pairing.pairs import pair_key
from deadheat.league.pairing.seating import Seating, rotations, seatings, whole_turns
from deadheat.league.service.ground.steps import insert_or_add, insert_rows
from deadheat.league.service.series.deals import deal_dice, drawn_dice
from deadheat.league.states import OF_CHALLENGES, UNRATED, Asked, MatchState, Precedence, Purpose
from deadheat.league.tables import BotVersion, Match, Pair, Participant, Season, Series

Planned = TypeVar("Planned", int, Series)


def whole_groups(season: Season, matches: int) -> int:
    """Round the number of matches down to whole turns, if everyone is to play each deal in every seat."""
    return whole_turns(matches, season.seats) if same_deals(season.game) else matches


def series_at_once(season: Season) -> int:
    """Return the number of series that `add_series` makes of matches planned together, except for challenges."""
    return season.seats if same_deals(season.game) else 1


def matches_of_each(season: Season, matches: int) -> int:
    """Return the length of the series that `add_series` makes of that many matches."""
    return max(1, whole_groups(season, matches) // series_at_once(season))


@dataclass(frozen=True, slots=True)
class Table:
    """Versions that are to play a number of matches against each other. `round`: that of finals or an evaluation.
    `paired`: the table is a challenge's, whose deals are shared like those of rated matches.
    """

    versions: Sequence[int]
    matches: int
    precedence: Precedence = Precedence.ORDINARY
    round: int | None = None
    meeting_id: int | None = None
    paired: bool = False


def add_series(
    session: Session,
    season: Season,
    tables: Sequence[Table],
    *,
    purpose: Purpose = Purpose.LADDER,
    privacy: Asked | None = None,
) -> list[list[int]]:
    """Plan matches between different versions and return the ids of each table's series, to be enqueued after the
    commit.

    With two versions, the first begins; after that they take turns. If deals are shared, there are as many series as
    seats, and `matches` is reduced to whole groups. Fewer matches than one group, which a pair may still need when one
    of its series was dropped, get fresh dice. Challenges get fresh dice in every game, unless their test counts pairs,
    because it assumes independent matches. `asked`: an author asked for them, and the dice do not belong to the season.
    """
    if not tables:
        return []
    plans = []
    for table in tables:
        order, seats = surroundings(session).entropy(SEED_BYTES), len(table.versions)  # the order of seats and of deals
        if same_deals(season.game) and (table.paired or purpose not in OF_CHALLENGES) and table.matches >= seats:
            plans.append(rotations(table.versions, whole_turns(table.matches, seats) // seats, seed=order))
        else:
            plans.append([seatings(table.versions, table.matches, seed=order)])
    made = [
        [_series(session, season, table, purpose) for _ in of_table]
        for table, of_table in zip(tables, plans, strict=True)
    ]
    at = now(session)
    for before_the_last, series in enumerate(reversed(in_turns(made))):
        series.queued_at = at - timedelta(microseconds=before_the_last)
    session.add_all(chain(*made))
    session.flush()
    _add_matches(session, season.id, made, plans, privacy)
    if purpose not in UNRATED:
        _count(session, season.id, tables, plans)
    return [[series.id for series in of_table] for of_table in made]


def _series(session: Session, season: Season, table: Table, purpose: Purpose) -> Series:
    at = now(session)
    return Series(
        season_id=season.id,
        purpose=purpose,
        precedence=table.precedence,
        round=table.round,
        meeting_id=table.meeting_id,
        queued_at=at,
        nudge_at=at + timedelta(seconds=settings_of(session).requeue_seconds),
        created_at=at,
    )


def in_turns(sets: Sequence[Sequence[Planned]]) -> list[Planned]:
    """Put series that were planned together, or their ids, in the order in which they wait: tables alternate, so that
    the rotations of a deal do not follow each other on one machine if others wait too.
    """
    return [planned for planned in chain(*zip_longest(*sets)) if planned is not None]


def _add_matches(
    session: Session,
    season_id: int,
    made: Sequence[Sequence[Series]],
    plans: Sequence[Sequence[Sequence[Seating]]],
    privacy: Asked | None,
) -> None:
    """Add the matches of new series, with their seats. Series and plans are grouped by table."""
    new = {(table, seating.deal): None for table, plan in enumerate(plans) for seating in chain(*plan)}
    drawn = deal_dice(session, season_id, len(new)) if privacy is None else drawn_dice(session, len(new))
    dice = dict(zip(new, drawn, strict=True))
    planned = [
        (series, number, seating, dice[table, seating.deal])
        for table, (of_table, plan) in enumerate(zip(made, plans, strict=True))
        for series, seated in zip(of_table, plan, strict=True)
        for number, seating in enumerate(seated)
    ]
    rows = [
        {
            "series_id": series.id,
            "season_id": season_id,
            "number": number,
            "seed": its.seed,
            "commitment": commitment(its.seed),
            "deal": its.deal,
            "state": MatchState.SCHEDULED,
            "asked": privacy,
            "created_at": series.created_at,
        }
        for series, number, _, its in planned
    ]
    insert_rows(session, Match, rows)
    seats = [
        (series.id, number, seat, version) for series, number, at, _ in planned for seat, version in enumerate(at.seats)
    ]
    _seat(session, seats)


def _seat(session: Session, seats: Sequence[tuple[int, int, int, int]]) -> None:
    """Store seats. Each consists of a series, the number of a match in it, a place and a version."""
    connection = session.connection()
    ids = {
        (series_id, number): match_id
        for match_id, series_id, number in connection.execute(IDS, {"series": sorted({seat[0] for seat in seats})})
    }
    bots = dict(connection.execute(BOTS, {"versions": sorted({seat[3] for seat in seats})}).all())
    participants = [
        {"match_id": ids[series_id, number], "seat": seat, "version_id": version, "bot_id": bots[version]}
        for series_id, number, seat, version in seats
    ]
    insert_rows(session, Participant, participants)


IDS = columns(col(Match.id), col(Match.series_id), col(Match.number)).where(
    col(Match.series_id).in_(bindparam("series", expanding=True))
)
BOTS = columns(col(BotVersion.id), col(BotVersion.bot_id)).where(
    col(BotVersion.id).in_(bindparam("versions", expanding=True))
)


def _count(
    session: Session, season_id: int, tables: Sequence[Table], plans: Sequence[Sequence[Sequence[Seating]]]
) -> None:
    """Update the counts that pairing reads."""
    games: Counter[tuple[int, int]] = Counter()
    lead: Counter[tuple[int, int]] = Counter()
    for table, plan in zip(tables, plans, strict=True):
        planned = [*chain(*plan)]
        for key in (pair_key(*two) for two in combinations(table.versions, 2)):
            games[key] += len(planned)
            if len(table.versions) == 2:
                lead[key] += sum(1 if seating.seats[0] == key[0] else -1 for seating in planned)
    rows = [
        {"season_id": season_id, "low_id": low, "high_id": high, "games": count, "lead": lead[low, high]}
        for (low, high), count in sorted(games.items())
    ]
    insert_or_add(session, Pair, ("season_id", "low_id", "high_id"), rows)
