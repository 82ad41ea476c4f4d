"""Bots that fail too often rest until their authors let them play again or enter another version."""

from __future__ import annotations

import json

import pytest

from deadheat.league.errors import TooSoon
from deadheat.league.records.entries import Entry
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.people.notices import inbox
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.seasons import absence, entries
from deadheat.league.words import NoticeKind
from tests.league.outcomes import forfeited, won
from tests.league.world import World


class Broken:
    """A bot that fails in all its matches, in a season with two others."""

    def __init__(self, world: World, rest_faults: int | None = 5) -> None:
        self.world = world
        self.season = world.season(2, games_per_pair=1000, rest_faults=rest_faults, rest_matches=8)
        self.owner, self.bot = world.entrant(self.season, "broken")

    @property
    def entry(self) -> Entry:
        return self.world.read(entries.entry_info, self.season, self.bot)

    def play(self, ticks: int = 3) -> int:
        """Play what `ticks` ticks plan, and return how many matches of the broken bot there were."""
        count = 0
        for _ in range(ticks):
            for series_id in self.world.tick():
                job = self.world.claimed(series_id)
                mine = {number for number, ref in job.programs.items() if "/broken" in ref.label}
                outcomes = []
                for match in job.matches:
                    failed = [seat for seat, version in enumerate(match.seats) if version in mine]
                    outcomes.append(forfeited(match, *failed) if failed else won(match))
                    count += len(failed)
                assert self.world.finish(job, outcomes)
            self.world.clock.turn(10)
        return count


def test_a_bot_that_keeps_failing_rests_and_keeps_its_place(world: World) -> None:
    broken = Broken(world)
    played = broken.play()
    assert 5 <= played < 40, "what was planned already is played"
    assert broken.entry.rests.startswith("8 faults in its last 8 matches (8 x timeout), the newest in match ")
    assert broken.entry.absence is None
    assert broken.play() == 0
    assert world.write(refit, broken.season)
    rows = world.ranking(broken.season)
    assert [(row["bot_id"], row["rank"], row["games"]) for row in rows][-1] == (broken.bot, 3, played)
    (said,) = [line for line in world.read(audit_log) if line.action == "entry-rested"]
    assert len(json.loads(said.data)["matches"]) == 8
    told = {one.kind: one.text for one in world.read(inbox, broken.owner)}
    assert NoticeKind.MANY_FAULTS not in told
    assert "8 faults in its last 8 matches (8 x timeout)" in told[NoticeKind.RESTED]


def test_its_author_lets_it_play_again_after_a_pause(world: World) -> None:
    broken = Broken(world)
    broken.play(1)
    broken.play(1)
    assert broken.entry.rests
    with pytest.raises(TooSoon, match="The bot is resting and may play again in"):
        world.write(absence.rejoin, broken.owner, broken.season, broken.bot)
    world.clock.turn(world.settings.rejoin_seconds)
    world.write(absence.rejoin, broken.owner, broken.season, broken.bot)
    assert not broken.entry.rests
    assert broken.play() >= 5, "its faults are counted anew"
    assert broken.entry.rests


def test_another_version_plays_at_once(world: World) -> None:
    broken = Broken(world)
    broken.play()
    assert broken.entry.rests
    world.version(broken.owner, broken.bot)
    assert (broken.entry.version, broken.entry.rests) == (2, "")
    assert broken.play(1) > 0


def test_without_the_setting_nobody_rests(world: World) -> None:
    broken = Broken(world, rest_faults=None)
    assert broken.play() > 40
    assert not broken.entry.rests
