"""Meetings of two, built and read by sides, and the contests to which series belong."""

from dataclasses import dataclass

from sqlmodel import col, select

from deadheat.league.pairing.figures import Meeting
from deadheat.league.service.evaluations.playing import drawn, with_players
from deadheat.league.tables import Contest, Series
from deadheat.league.tables import Meeting as Row
from tests.league.world import World


class Pair(Meeting):
    """A meeting of two; without a second player, a bye."""

    def __new__(
        cls, round_: int, first: int, second: int | None, first_points: float = 0.0, second_points: float = 0.0
    ) -> "Pair":
        players = (first,) if second is None else (first, second)
        return super().__new__(cls, round_, players, (first_points, second_points)[: len(players)])

    @property
    def first(self) -> int:
        return self.players[0]

    @property
    def second(self) -> int | None:
        return self.players[1] if len(self.players) > 1 else None

    @property
    def first_points(self) -> float:
        return self.points[0]

    @property
    def second_points(self) -> float:
        return self.points[1] if len(self.points) > 1 else 0.0


@dataclass
class Pairing:
    """A pairing in the database. Points are None until it is settled."""

    id: int
    round: int
    first_id: int
    second_id: int | None
    first_points: float | None
    second_points: float | None


def pairings(world: World, evaluation_id: int | None = None, number: int | None = None) -> list[Pairing]:
    """Return the pairings of an evaluation, or of all, in the order of rounds and boards; `number`: of this round."""
    which = () if evaluation_id is None else (col(Row.contest_id) == evaluation_id,)
    found = []
    with world.db.reading() as session:
        rows = drawn(session, with_players(*which))
    for one in rows:
        points = (None, None) if one.points is None else (*one.points, 0.0)
        second = one.players[1] if len(one.players) > 1 else None
        found.append(Pairing(one.id, one.round, one.players[0], second, points[0], points[1]))
    return [one for one in found if number in {None, one.round}]


def contest_of(world: World, series_id: int) -> Contest | None:
    meetings = select(Contest).join(Row, col(Row.contest_id) == Contest.id)
    found = world.rows(meetings.join(Series, col(Series.meeting_id) == Row.id).where(Series.id == series_id))
    return next(iter(found), None)
