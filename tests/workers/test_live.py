"""A worker publishes a long match while it plays it. A failure to publish has no effect."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from sqlalchemy.exc import OperationalError
from sqlmodel import Session, select

from deadheat.engine.unfinished import Replies
from deadheat.league.jobs import SeriesJob
from deadheat.league.service.series import live as league_live
from deadheat.league.states import MatchState
from deadheat.league.tables import LiveMatch, Match
from deadheat.workers import live
from deadheat.workers.live import Broadcast
from deadheat.workers.play import play_series
from tests.workers.conftest import PlayingWorld

Told = list[tuple[int, int]]
"""Each match and its exchanges."""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """The states that spectators could have seen, in order."""
    found: Told = []
    really = league_live.show

    def show(session: Session, job: SeriesJob, match_id: int, replies: Replies) -> bool:
        taken = really(session, job, match_id, replies)
        assert taken
        found.append((match_id, len(replies)))
        return taken

    monkeypatch.setattr(league_live, "show", show)
    return found


def done(world: PlayingWorld) -> bool:
    with world.db.reading() as session:
        states = set(session.exec(select(Match.state)).all())
        assert session.exec(select(LiveMatch)).all() == [], "nothing stays behind"
    return states == {MatchState.DONE}


def test_short_matches_are_not_told_of(world: PlayingWorld, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "EVERY_SECONDS", 60.0)
    play_series(world.context, world.queued(2))
    assert told == []
    assert done(world)


def test_a_long_match_is_told_of_again_and_again_to_its_end(world: PlayingWorld, told: Told, monkeypatch) -> None:
    monkeypatch.setattr(live, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(live, "COST_SHARE", 0)
    play_series(world.context, world.queued(2))
    first = [length for match_id, length in told if match_id == told[0][0]]
    assert first == [*range(1, 27), 26], "each exchange, and the end"
    assert len({match_id for match_id, *_ in told}) == 2
    assert done(world)


def test_telling_takes_a_fiftieth_of_the_time_at_most(world: PlayingWorld, told: Told) -> None:
    now = itertools.count()
    job = world.claimed(world.queued())
    broadcast = Broadcast(world.context, job, lambda: float(next(now)))  # each reading of the clock takes a second
    broadcast.begin(job.matches[0].match_id)
    for _ in range(120):
        broadcast.hear({})
    lengths = [length for _, length in told]
    assert lengths == [1, 51, 101], "writing takes a second, so the next may begin fifty later"


def test_a_match_is_played_though_nobody_can_be_told(world: PlayingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def broken(session: Session, job: SeriesJob, match_id: int, *rest: Sequence[object]) -> bool:
        tried.append(match_id)
        raise OperationalError("INSERT", {}, Exception("the disk is full"))

    monkeypatch.setattr(live, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(league_live, "show", broken)
    play_series(world.context, world.queued())
    assert tried
    assert done(world)
