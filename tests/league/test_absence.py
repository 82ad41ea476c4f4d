"""Bots that leave, rest and come back."""

import json

import pytest
from sqlmodel import col, select

from deadheat.league.errors import NotAllowed, NotFound, TooSoon, WrongState
from deadheat.league.records.entries import Entry
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.people.notices import inbox
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.seasons import absence, entries, participation, seasons
from deadheat.league.service.seasons.absence import disqualify, reinstate, rejoin, take_out, withdraw
from deadheat.league.states import FinalsFormat, JobState, MatchState, Purpose, SeasonState
from deadheat.league.tables import Attempt, Match, Participant, Season, Series
from deadheat.league.words import NoticeKind
from tests.league.outcomes import forfeited, won
from tests.league.refusals import refused
from tests.league.test_rulings import Ranked
from tests.league.world import World


@pytest.fixture
def ranked(world: World) -> Ranked:
    return Ranked(world)


def states(world: World, bot_id: int) -> list[str]:
    theirs = select(Match.state).join(Participant, col(Participant.match_id) == Match.id)
    return world.rows(theirs.where(Participant.bot_id == bot_id).order_by(col(Match.id)))


def test_a_withdrawn_bot_keeps_its_results_and_is_not_paired_any_more(ranked: Ranked) -> None:
    owner, bot_id = ranked.owners[0]
    ranked.rule(withdraw, ranked.season, bot_id, who=owner)
    log, rows = ranked.table()
    assert (log, len([row for row in rows if row[4] is not None])) == (ranked.first[0], 2)
    before = len(ranked.matches(bot_id))
    ranked.enter()
    ranked.world.play_all()
    assert len(ranked.matches(bot_id)) == before
    ranked.world.clock.turn(ranked.world.settings.rejoin_seconds)
    ranked.rule(rejoin, ranked.season, bot_id, who=owner)
    ranked.world.play_all()
    assert len(ranked.matches(bot_id)) == before + 4


def test_a_withdrawn_bot_still_plays_what_was_drawn(ranked: Ranked) -> None:
    ranked.enter()
    newcomer, bot_id = ranked.owners[-1]
    waiting = ranked.world.tick()
    ranked.rule(withdraw, ranked.season, bot_id, who=newcomer)
    ranked.world.play(waiting)
    assert set(states(ranked.world, bot_id)) == {MatchState.DONE}
    ranked.world.clock.turn(ranked.world.settings.rejoin_seconds)
    ranked.rule(rejoin, ranked.season, bot_id, who=newcomer)
    ranked.world.play_all()
    assert states(ranked.world, bot_id) == [MatchState.DONE] * 12, "as if it had never left"


def test_a_bot_withdrawn_from_an_open_season_stays_out_for_a_while(ranked: Ranked) -> None:
    owner, bot_id = ranked.owners[0]
    ranked.rule(withdraw, ranked.season, bot_id, who=owner)
    ranked.world.clock.turn(600)
    ranked.rule(withdraw, ranked.season, bot_id, who=owner)  # withdrawing again does not prolong it
    with pytest.raises(TooSoon, match="come back in 3000 s") as caught:
        ranked.rule(rejoin, ranked.season, bot_id, who=owner)
    assert caught.value.retry_after_seconds == 3000
    ranked.world.clock.turn(3000)
    ranked.rule(rejoin, ranked.season, bot_id, who=owner)
    assert len(ranked.table()[1]) == 3


def test_before_a_season_opens_a_withdrawn_bot_may_come_back_at_once(world: World) -> None:
    season_id = world.write(seasons.create_season, world.boss, game="yacht-auction", name="later").id
    owner, bot_id = world.entrant(season_id)
    world.write(withdraw, owner, season_id, bot_id)
    world.write(rejoin, owner, season_id, bot_id)
    assert world.write(participation.absent_bots, season_id) == []


@pytest.mark.parametrize("state", [SeasonState.FROZEN, SeasonState.FINALS])
def test_from_the_freeze_on_authors_neither_leave_nor_come_back(ranked: Ranked, state: SeasonState) -> None:
    (owner, bot_id), (other, leaver) = ranked.owners[:2]
    ranked.world.write(seasons.edit_season, ranked.world.boss, ranked.season, finals=FinalsFormat.ROUND_ROBIN)
    ranked.rule(withdraw, ranked.season, leaver, who=other)
    ranked.world.clock.turn(ranked.world.settings.rejoin_seconds)
    ranked.world.set_state(ranked.season, state)
    for wish, bot, who in ((withdraw, bot_id, owner), (rejoin, leaver, other)):
        assert "organisers decide" in refused(WrongState, ranked.rule, wish, ranked.season, bot, who=who)
    ranked.rule(reinstate, ranked.season, leaver, "the author asked in time")
    assert ranked.world.read(participation.absent_bots, ranked.season) == []


def test_waiting_series_of_a_bot_that_is_taken_out_are_dropped_and_running_ones_are_played(world: World) -> None:
    ranked = Ranked(world)
    ranked.enter()
    running, *waiting = world.tick()
    job = world.claimed(running)
    ranked.rule(disqualify, ranked.season, ranked.owners[-1][1], "no reason")
    found = dict(world.rows(select(Series.id, Series.state)))
    causes = world.rows(select(Attempt.cause).where(col(Attempt.series_id).in_(waiting)))
    assert waiting and all(found[series_id] is JobState.ABANDONED for series_id in waiting)
    assert set(causes) == {"entry-absent"}
    assert world.finish(job)
    assert ranked.table() == ranked.first, "what was played after all does not count"


def test_a_bot_that_an_organiser_takes_out_keeps_its_results_and_plays_no_more(ranked: Ranked) -> None:
    owner, bot_id = ranked.owners[0]
    ranked.enter()
    ranked.world.tick()
    ranked.rule(take_out, ranked.season, bot_id, "the author asked for it")
    assert ranked.table()[0] == ranked.first[0]
    ranked.world.clock.turn(ranked.world.settings.rejoin_seconds)
    assert "withdrawn by an organiser" in refused(WrongState, ranked.rule, rejoin, ranked.season, bot_id, who=owner)
    ranked.rule(disqualify, ranked.season, bot_id, "and more was found out")
    ranked.rule(take_out, ranked.season, bot_id, "changes nothing: it stays disqualified")
    ranked.rule(reinstate, ranked.season, bot_id, "a mistake")
    ranked.world.play_all()
    assert states(ranked.world, bot_id).count(MatchState.DONE) == 12, "its dropped series do not count as planned"


def test_an_author_cannot_take_a_ruling_back_or_touch_the_bots_of_others(ranked: Ranked) -> None:
    owner, bot_id = ranked.owners[0]
    stranger = ranked.owners[1][0]
    for wish in (withdraw, rejoin):
        refused(NotFound, ranked.rule, wish, ranked.season, bot_id, who=stranger)
    for ruling in (take_out, disqualify, reinstate):
        refused(NotAllowed, ranked.rule, ruling, ranked.season, bot_id, "mine", who=owner)
    ranked.rule(disqualify, ranked.season, bot_id, "x")
    ranked.rule(withdraw, ranked.season, bot_id, who=owner)  # has no effect: the bot stays disqualified
    with pytest.raises(WrongState, match="disqualified by an organiser"):
        ranked.rule(rejoin, ranked.season, bot_id, who=owner)


def test_a_bot_that_is_out_does_not_enter_anew(ranked: Ranked) -> None:
    owner, bot_id = ranked.owners[0]
    ranked.rule(withdraw, ranked.season, bot_id, who=owner)
    for how in ("withdrawn", "disqualified"):
        for who in (owner, ranked.world.boss):
            with pytest.raises(WrongState, match=how):
                ranked.rule(entries.enter, ranked.season, bot_id, who=who)
        ranked.rule(disqualify, ranked.season, bot_id, "caught")


def test_coming_back_has_a_word_of_its_own_in_the_audit_log(ranked: Ranked) -> None:
    owner, bot_id = ranked.owners[0]
    ranked.rule(withdraw, ranked.season, bot_id, who=owner)
    ranked.world.clock.turn(ranked.world.settings.rejoin_seconds)
    ranked.rule(rejoin, ranked.season, bot_id, who=owner)
    ranked.rule(take_out, ranked.season, bot_id, "one")
    ranked.rule(reinstate, ranked.season, bot_id, "two")
    newest = ranked.world.read(audit_log, subject=f"season/{ranked.season}", limit=4)
    said = [(entry.actor, entry.action, json.loads(entry.data)["reason"]) for entry in reversed(newest)]
    assert said == [
        (owner.name, "entry-withdrawn", ""),
        (owner.name, "entry-rejoined", ""),
        ("boss", "entry-withdrawn", "one"),
        ("boss", "entry-reinstated", "two"),
    ]


@pytest.mark.parametrize("when", ["before it plays", "when the finals are over"])
def test_a_finalist_that_comes_back_plays_everyone_it_has_missed(world: World, when: str) -> None:
    finals = {"finals": FinalsFormat.ROUND_ROBIN, "finals_games": 2, "closes_when_done": False}
    season_id = world.played(3, games_per_pair=2, **finals)
    world.set_state(season_id, SeasonState.FINALS)
    world.write(refit, season_id)
    made = world.tick()
    assert len(made) == 3
    world.write(disqualify, world.boss, season_id, 1, "x")
    if when == "when the finals are over":
        world.play_left(made)
        assert world.tick() == []
    world.write(reinstate, world.boss, season_id, 1, "y")
    again = world.tick()
    assert len(again) == 2
    world.play_left({*made, *again})
    world.clock.turn(60)
    world.write(refit, season_id)
    assert world.tick() == []
    played = select(Series.id).where(Series.season_id == season_id, Series.purpose == Purpose.FINALS)
    assert len(world.rows(played.where(Series.state == JobState.DONE))) == 3
    assert world.row(Season, season_id).finals_done_at is not None


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
    with pytest.raises(TooSoon, match="The bot is resting"):
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
