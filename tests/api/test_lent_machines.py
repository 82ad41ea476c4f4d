"""A lent machine lies so that re-simulation cannot see it: it is found by what trusted ones play again."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from sqlmodel import col, select

from deadheat.engine.core import Fault, Message, Reply, Seat
from deadheat.engine.games.variants import rules_of
from deadheat.engine.referee import run_match
from deadheat.engine.transcript import Transcript, decode, encode
from deadheat.league.service.machines import trust
from deadheat.league.service.machines.access import machines
from deadheat.league.service.rankings.standings import leaderboard, refit
from deadheat.league.service.series.hosts import host_seen
from deadheat.league.states import Found, MatchState, Trust
from deadheat.league.tables import BotVersion, Match, Participant, PlayedAgain, VoidedMatch
from deadheat.workers.again import play_again_when_due
from deadheat.workers.machine.client import Dismissed
from deadheat.workers.play import play_series
from tests.api.test_machines import League, league, link, packed, unhurried, unpacked

__all__ = ["league", "unhurried"]


class Ended:
    """A transport that gives recorded replies until a seat's last one, and then says that its program ended."""

    def __init__(self, true: Transcript, loser: Seat) -> None:
        last = true.last_prompt(loser)
        assert last is not None
        self._true, self._loser, self._last, self._next = true, loser, last.exchange, 0

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        if not any(message.limit_ns is not None for message in messages):
            return {}
        number, self._next = self._next, self._next + 1
        replies = self._true.exchanges[number].replies
        return {**replies, self._loser: Reply(None, 5, Fault.EXITED)} if number == self._last else replies


def turned(true: Transcript) -> Transcript:
    """Return a transcript without a flaw in which the winner's program ended early."""
    winner = true.result.ranks.index(1)
    game = rules_of(true)
    return run_match(game, true.seats, true.seed, Ended(true, winner), true.about, true.attempt)


def lie(results: dict[str, Any]) -> None:
    for played in results["played"]:
        played["transcript"] = packed(encode(turned(decode(unpacked(played)))))


def test_a_lie_without_a_flaw_is_found_and_has_no_effect_on_ratings(
    league: League, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deadheat.league.checking.duplicates.SHARE", 1.0)
    world = league.world
    world.built_as("greedy")
    season_id = world.season(series_length=6, games_per_pair=24)
    with world.db.transaction() as session:
        for version in session.exec(select(BotVersion)).all():
            version.lendable = True
    lent = league.machine("lent", Trust.LOW)
    link(lent).spoil = lie
    row, lied = None, 0
    while row is None or row.found is None:
        world.tick()
        assert link(lent).seen(0.0, 0.0, 0.0, None)
        assert play_series(lent, 0), "nothing is left to play"
        lied += 6
        while world.rows(select(PlayedAgain).where(col(PlayedAgain.coins).is_(None))):
            play_again_when_due(world.context)
        world.write(trust.judge_machines)
        (row,) = world.read(machines)
    assert (row.found, row.played_again) == (Found.LIES, lied)
    assert lied <= 30
    with pytest.raises(Dismissed):
        link(lent).claim(0)
    while world.write(trust.replay_played):
        pass
    assert len(world.rows(select(VoidedMatch))) == lied
    with world.db.transaction() as session:
        assert host_seen(session, world.host)
    for series_id in world.enqueued():
        play_series(world.context, series_id)
    again = world.rows(select(Match.id).where(col(Match.repeats_id).is_not(None)))
    faults = select(Participant).where(col(Participant.match_id).in_(again), col(Participant.fault).is_not(None))
    assert len(again) == lied and not world.rows(faults)
    world.write(refit, season_id)
    done = world.rows(select(Match).where(Match.state == MatchState.DONE))
    assert world.read(leaderboard, season_id).standings["totals"]["rated"] == len(done) - lied
