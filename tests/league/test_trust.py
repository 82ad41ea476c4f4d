"""A machine whose matches trusted ones play again: who is judged, whose matches are played again, who is told."""

import pytest
from sqlmodel import select

from deadheat.league.service.machines import trust
from deadheat.league.service.machines.access import add_machine, look_up_machine, machines
from deadheat.league.service.rankings.standings import leaderboard
from deadheat.league.states import Found, Trust
from deadheat.league.tables import Notice, PlayedAgain, VoidedMatch
from deadheat.league.words import NoticeKind
from tests.league.outcomes import Outcome, forfeited, higher_wins, lower_wins
from tests.league.world import World

LENT = "lent"


@pytest.fixture
def lending(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A season of four bots at a lent machine, all of whose matches are played again."""
    monkeypatch.setattr("deadheat.league.checking.duplicates.SHARE", 1.0)
    world.write(add_machine, LENT, Trust.LOW)
    world.season(4, games_per_pair=8)
    return world


def lend(world: World, outcome: Outcome, most: int = 1000) -> int:
    """Let the lent machine play what is planned, each match with `outcome`. Return the number of matches."""
    played = 0
    while played < most and (planned := world.tick()):
        for series_id in planned:
            job = world.claimed(series_id, worker=f"{LENT}:1")
            outcomes = [outcome(match) for match in job.matches]
            assert world.finish(job, outcomes, worker=f"{LENT}:1")
            world.write(trust.draw, LENT, job, outcomes)
            played += len(outcomes)
    return played


def play_again(world: World, outcome: Outcome) -> int:
    """Play again all that is due, as trusted machines find it. Return the number of matches."""
    played = 0
    while True:
        with world.work.transaction() as session:
            job = trust.take_again(session, world.host)
        if job is None:
            return played
        match, other = job.matches
        assert match == other and job.attempt == 0
        result = outcome(match).result
        assert result is not None
        with world.work.transaction() as session:
            trust.record_again(session, match.match_id, [result, result])
        played += 1


def sweep(world: World) -> int:
    world.write(trust.judge_machines)
    return world.write(trust.replay_played)


def voided(world: World) -> set[int]:
    with world.db.reading() as session:
        return set(session.exec(select(VoidedMatch.match_id)).all())


def told(world: World) -> int:
    with world.db.reading() as session:
        kinds = session.exec(select(Notice.kind)).all()
    return kinds.count(NoticeKind.PLAYED_AGAIN)


def test_an_honest_machine_keeps_its_token_and_its_matches(lending: World) -> None:
    played = lend(lending, lower_wins)
    assert (play_again(lending, lower_wins), sweep(lending), voided(lending)) == (played, 0, set())
    (row,) = lending.read(machines)
    assert (row.found, row.played_again, row.honest, row.revoked_at) == (None, played, 1.0, None)


def test_a_machine_that_lies_is_out_and_has_no_effect_on_ratings(lending: World) -> None:
    secret = lending.write(add_machine, "another", Trust.LOW)
    played = lend(lending, higher_wins)
    assert play_again(lending, lower_wins) == played
    first = sweep(lending)
    assert first == min(played, trust.MOST_RULINGS)
    while sweep(lending):
        pass
    assert len(voided(lending)) == played
    (_, row) = lending.read(machines)
    assert (row.name, row.found, row.honest < 0.001, row.revoked_at is not None) == (LENT, Found.LIES, True, True)
    assert lending.read(look_up_machine, secret, "boot").host.name == "another"
    assert told(lending) == 4  # each author once
    lending.play_left(lending.enqueued(), lower_wins)
    lending.settle()
    lied = lending.read(leaderboard, 1).standings["rows"]
    assert [row["bot_id"] for row in lied] == sorted(row["bot_id"] for row in lied)


def test_a_machine_that_lied_is_out_again_if_it_lies_with_another_token(lending: World) -> None:
    for _ in range(2):
        lending.write(trust.condemn, LENT, Found.LIES, "It lied.")
        assert lending.read(machines)[0].revoked_at is not None
        secret = lending.write(add_machine, LENT, Trust.LOW)
        assert lending.read(look_up_machine, secret, "boot").host.name == LENT


def test_only_the_time_outs_of_a_late_machine_are_played_again(lending: World) -> None:
    late = lend(lending, lambda match: forfeited(match, match.match_id % 2), most=20)
    fine = lend(lending, lower_wins)
    assert play_again(lending, lower_wins) == late + fine
    while sweep(lending):
        pass
    (row,) = lending.read(machines)
    assert (row.found, len(voided(lending))) == (Found.LATE, late)


def test_a_match_is_played_again_by_one_worker_and_once_more_if_that_is_silent(lending: World) -> None:
    lend(lending, lower_wins, most=1)
    with lending.db.reading() as session:
        drawn = len(session.exec(select(PlayedAgain)).all())
    taken = [lending.write(trust.take_again, lending.host) for _ in range(drawn + 1)]
    assert taken[-1] is None and all(taken[:-1])
    lending.clock.turn(trust.AGAIN_AFTER.total_seconds())
    assert lending.write(trust.take_again, lending.host) is not None
