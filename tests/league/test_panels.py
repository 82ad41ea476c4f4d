"""The panel: every new version first plays the season's sample bots, and may need a minimum of points there."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from sqlmodel import col, select

from deadheat.league import errors
from deadheat.league.jobs import MatchJob, MatchOutcome
from deadheat.league.pairing.duel import Duel
from deadheat.league.records.entries import AskedChallenge, Entry
from deadheat.league.service.duels import panels, requests
from deadheat.league.service.jobs.sweep import sweep
from deadheat.league.service.people import notices, person
from deadheat.league.service.rulings.rulings import void_match
from deadheat.league.service.seasons import absence, entries, participation, seasons
from deadheat.league.service.series.turns import claim_next_series
from deadheat.league.service.tables import sitting
from deadheat.league.service.views import former as views
from deadheat.league.service.views.forecasts import AT_PANEL, waiting
from deadheat.league.states import ContestState, JobState, Purpose, SeasonState
from deadheat.league.tables import BotVersion, Match, Participant, Season, Series
from deadheat.league.tables import Contest as ContestRow
from deadheat.league.tables import Entry as EntryRow
from tests.league.outcomes import abandoned, forfeited, won
from tests.league.refusals import refused
from tests.league.seasons import at_gate
from tests.league.world import World, tick

Outcome = Callable[[MatchJob, int], MatchOutcome]
"""A function that decides how a match ends, given the newcomer's seat."""


win, fault = won, forfeited


def lose(match: MatchJob, seat: int) -> MatchOutcome:
    return won(match, 1 - seat)


def unplayed(match: MatchJob, seat: int) -> MatchOutcome:
    return abandoned(match)


class Contest:
    """A season, its panel of two bots that do not enter it, `owner/easy` and `owner/hard`, and a newcomer."""

    def __init__(self, world: World, **settings: Any) -> None:
        self.world = world
        settings = {"panel": ["owner/easy", "owner/hard"], "panel_minimum": 2, **settings}
        made = world.repeated(partial(self._made, settings), "contest", settings)
        self.house, self.panel, self.season_id, self.owner, self.bot_id = made

    def _made(self, settings: dict[str, Any]) -> tuple[person.Person, list[int], int, person.Person, int]:
        house = self.world.author("owner")
        panel = [self.world.bot(name, owner=house)[1] for name in ("easy", "hard")]
        return house, panel, self.world.season(0, **settings), *self.world.bot("newcomer")

    def enter(self, number: int | None = None, **chosen: Any) -> Entry:
        return self.world.write(entries.enter, self.owner, self.season_id, self.bot_id, number, **chosen)

    def entry(self) -> Entry:
        return self.world.read(entries.entry_info, self.season_id, self.bot_id)

    def waits(self) -> bool:
        mine = select(EntryRow.waits_for_panel).where(EntryRow.bot_id == self.bot_id)
        return self.world.read(lambda session: session.exec(mine.where(EntryRow.season_id == self.season_id)).one())

    def upload(self, program: str = "") -> int:
        return self.world.version(self.owner, self.bot_id, program=program)

    def runs(self) -> list[ContestRow]:
        return self.world.read(panels.runs)

    def states(self) -> list[str]:
        return [run.state.value for run in self.runs()]

    def planned(self) -> list[int]:
        return [one for one in self.world.tick() if self.world.row(Series, one).purpose is Purpose.PANEL]

    def play(self, *outcomes: Outcome, series: Sequence[int] | None = None) -> list[int]:
        """Play the panel with these outcomes in turn, the last one repeated; return the matches."""
        played: list[int] = []
        for series_id in self.planned() if series is None else series:
            job = self.world.claimed(series_id)
            results = []
            for match in job.matches:
                bots = [self.world.row(BotVersion, version).bot_id for version in match.seats]
                seat = next(seat for seat, bot_id in enumerate(bots) if bot_id not in self.panel)
                results.append(outcomes[min(len(played), len(outcomes) - 1)](match, seat))
                played.append(match.match_id)
            assert self.world.finish(job, results)
        return played

    def judged(self, *outcomes: Outcome, series: Sequence[int] | None = None) -> list[int]:
        """Play what is planned (see `play`), and let the next tick judge it."""
        played = self.play(*outcomes, series=series)
        self.world.tick()
        return played

    def state(self, state: SeasonState) -> None:
        self.world.set_state(self.season_id, state)

    def go_on_in_the_next_season(self, **chosen: Any) -> None:
        """Publish the season, and create the season that continues it, which has not opened."""
        self.world.publish(self.season_id)
        given = {"name": "next", "previous_id": self.season_id, **chosen}
        self.season_id = self.world.write(seasons.create_season, self.world.boss, **given).id


@pytest.fixture
def contest(world: World) -> Contest:
    return Contest(world)


@pytest.fixture
def entered(contest: Contest) -> Contest:
    contest.enter()
    return contest


def test_a_version_plays_each_bot_of_the_panel_from_both_sides_and_then_plays_for_its_bot(entered: Contest) -> None:
    assert entered.waits()
    played = entered.play(win, lose)
    played_by = select(Participant.seat, Participant.bot_id).where(col(Participant.match_id).in_(played))
    seats = entered.world.rows(played_by)
    assert sorted(seats) == sorted(
        [(0, entered.bot_id), (1, entered.bot_id)] * 2 + [(seat, bot) for bot in entered.panel for seat in (0, 1)]
    )
    assert not any(entered.world.row(Match, match_id).rated for match_id in played)
    entered.world.tick()  # one of four points: too few
    (run,) = entered.runs()
    assert (run.state, run.result["points"], run.terms["minimum"]) == (ContestState.FAILED, 1.0, 2.0)
    assert entered.waits()


def test_nothing_is_drawn_for_a_bot_without_the_points(entered: Contest) -> None:
    entered.world.entrant(entered.season_id)
    entered.play(lose)
    assert entered.world.tick() == []
    assert entered.states() == ["failed", "failed"]


def test_nobody_plays_a_version_without_the_points_first(world: World) -> None:
    entered = Contest(world, unrated_games=10)
    entered.enter()
    stranger, own = world.bot()

    def seat() -> object:
        return world.write(sitting.take_seat, stranger, entered.bot_id)

    def ask(who: person.Person, bot_id: int, version: int | None = None) -> AskedChallenge:
        versions: dict[str, Any] = {"bot_id": bot_id, "opponent_id": entered.bot_id, "version": version}
        return world.write(requests.ask, who, entered.season_id, Duel(2), **versions)

    assert "this bot has none" in refused(errors.WrongState, seat)
    assert "passed the panel yet" in refused(errors.WrongState, ask, stranger, own)
    entered.upload()
    assert ask(entered.owner, entered.bot_id, 1).opponent_version == 2
    entered.judged(win)
    assert ask(stranger, own).opponent_version == 2 and seat()


def test_a_bot_that_waits_is_told_for_what(contest: Contest) -> None:
    def told() -> tuple[bool, str]:
        found = contest.world.read(waiting, contest.season_id, contest.bot_id, 1)
        return found.over, found.sentence

    contest.enter()
    for state, sentence in ((SeasonState.SCHEDULED, SeasonState.SCHEDULED.holds), (SeasonState.OPEN, AT_PANEL)):
        contest.world.change(Season, contest.season_id, state=state)
        assert told() == (False, sentence)
    contest.judged(lose)
    assert told()[0]


def test_the_newest_version_with_the_points_plays(entered: Contest) -> None:
    entered.judged(win)
    assert (entered.entry().version, entered.waits()) == (1, False)
    entered.upload()
    entered.judged(lose)
    assert "0 points against the panel" in refused(errors.NotAdmitted, entered.enter, 2)
    assert entered.entry().version == 1
    entered.upload()
    entered.play(win, win, lose)
    assert entered.entry().version == 1
    entered.world.tick()
    assert entered.entry().version == 3


def test_an_author_chooses_in_advance_and_the_newest_does_not_take_over_then(entered: Contest) -> None:
    entered.judged(win)
    entered.upload()
    assert entered.enter(2).version == 1
    entered.upload()
    entered.play(win)  # version 2's games: a chosen version precedes the newest
    entered.world.tick()
    entered.judged(win)
    assert (entered.entry().version, entered.entry().follows) == (2, False)
    assert entered.states() == ["passed", "passed", "passed"]


def test_a_newer_version_goes_first_and_the_older_one_goes_on_with_its_results(entered: Contest) -> None:
    first, second = entered.planned()
    played = entered.play(win, series=[first])
    entered.upload()
    assert entered.world.row(Series, second).state is JobState.ABANDONED
    entered.play(lose)  # version 2's games
    entered.world.tick()
    assert len(entered.play(lose)) == 2  # the rest of version 1's games
    entered.world.tick()
    assert [(run.state, run.result["points"]) for run in entered.runs()] == [("passed", 2.0), ("failed", 0.0)]
    assert (entered.entry().version, len(played)) == (1, 2)


def test_an_own_failure_is_worth_nothing_and_ours_is_played_again_from_the_same_side(entered: Contest) -> None:
    first, second = entered.planned()
    entered.play(win, unplayed, series=[first])
    entered.play(fault, win, series=[second])
    (again,) = entered.planned()
    job = entered.world.claimed(again)
    lost = entered.world.read(
        lambda session: session.exec(select(Match).where(Match.series_id == first).order_by(col(Match.id))).all()[1]
    )
    seats = select(Participant.version_id).where(Participant.match_id == lost.id).order_by(col(Participant.seat))
    seated = tuple(entered.world.rows(seats))
    assert [match.seats for match in job.matches] == [seated]
    assert entered.states() == ["running"]
    entered.world.finish(job, [won(match, 0) for match in job.matches])
    entered.world.tick()
    (run,) = entered.runs()
    assert (run.state, run.result["points"]) == ("passed", 2.0)


def test_what_arrived_before_the_freeze_is_judged_after_it(entered: Contest) -> None:
    entered.state(SeasonState.FROZEN)
    entered.upload()  # too late for the freeze
    entered.judged(win)
    assert (entered.states(), entered.entry().version, entered.waits()) == (["passed"], 1, False)
    entered.state(SeasonState.OPEN)  # what arrived in the meantime plays now
    entered.judged(win)
    assert entered.entry().version == 2


def test_a_gate_that_is_closed_in_a_frozen_season_keeps_the_former_version(contest: Contest) -> None:
    contest.enter(gate=at_gate())
    contest.judged(win)
    assert (contest.entry().version, contest.waits()) == (1, False)  # the first version has no opponent at the gate
    contest.upload()
    contest.state(SeasonState.FROZEN)
    contest.judged(win)
    assert (contest.states(), contest.entry().version) == (["passed", "passed"], 1)


def test_with_the_points_a_version_goes_on_to_its_gate(contest: Contest) -> None:
    contest.enter(gate=at_gate())
    contest.judged(win)
    contest.upload()
    assert contest.world.read(views.challenges, contest.owner, contest.season_id, contest.bot_id) == []
    contest.judged(win)
    (gate,) = contest.world.read(views.challenges, contest.owner, contest.season_id, contest.bot_id)
    assert (gate.candidate, gate.state, contest.entry().version) == (2, "running", 1)


def test_a_bot_of_the_panel_that_cannot_play_is_left_out_and_the_minimum_is_less(contest: Contest) -> None:
    contest.world.write(participation.change_bot, contest.house, contest.panel[0], retired=True)
    contest.enter()
    assert len(contest.planned()) == 1
    (run,) = contest.runs()
    assert run.terms["minimum"] == 1


def test_a_panel_that_cannot_play_keeps_nobody_out(contest: Contest) -> None:
    for bot_id in contest.panel:
        contest.world.write(participation.change_bot, contest.house, bot_id, retired=True)
    contest.enter()
    contest.world.tick()
    assert contest.states() == ["passed"]
    assert not contest.waits()


def test_a_bot_of_the_panel_that_enters_plays_the_others_and_needs_no_points(contest: Contest) -> None:
    assert not contest.world.write(entries.enter, contest.house, contest.season_id, contest.panel[0]).waits_for_panel
    (series_id,) = contest.planned()
    job = contest.world.claimed(series_id)
    assert {contest.world.row(BotVersion, one).bot_id for one in job.matches[0].seats} == set(contest.panel)


def test_the_same_program_as_another_upload_keeps_its_results(entered: Contest) -> None:
    entered.upload("a program")
    entered.judged(lose)
    entered.upload("a program")
    entered.world.tick()
    assert entered.states() == ["running", "failed", "failed"]


def test_a_version_that_failed_is_judged_again_once_the_season_asks_for_less(entered: Contest) -> None:
    entered.judged(win, lose)
    entered.world.write(seasons.edit_season, entered.world.boss, entered.season_id, panel_minimum=1)
    entered.enter()
    entered.world.tick()
    assert (entered.states(), entered.waits()) == (["failed", "passed"], False)


def test_in_the_next_season_newer_versions_still_need_the_points(entered: Contest) -> None:
    entered.judged(win)
    entered.upload("it fails")
    entered.judged(lose)
    entered.upload("too late to be judged")
    entered.go_on_in_the_next_season()
    assert entered.entry().version == 1
    entered.state(SeasonState.OPEN)
    assert entered.entry().version == 1
    entered.judged(win)
    assert entered.entry().version == 3


def test_what_failed_is_not_taken_over_for_its_language_either(entered: Contest) -> None:
    entered.judged(win)  # version 1 is in Python
    entered.upload()
    entered.judged(lose)
    entered.world.version(entered.owner, entered.bot_id, language="c")
    entered.judged(win)
    assert entered.entry().version == 3
    entered.go_on_in_the_next_season(languages=["python"])
    assert entered.entry().version == 1


def test_a_bot_that_plays_already_needs_no_points(world: World) -> None:
    contest = Contest(world, panel=None, panel_minimum=None)
    contest.enter()
    panel = ["owner/easy", "owner/hard"]
    world.write(seasons.edit_season, world.boss, contest.season_id, panel=panel, panel_minimum=4)
    assert contest.enter(1).version == 1
    contest.judged(lose)
    assert contest.states() == ["failed"]
    assert contest.enter(1).version == 1
    assert not contest.waits()


def test_nobody_waits_any_more_once_the_minimum_is_gone(entered: Contest) -> None:
    entered.judged(lose)
    entered.world.write(seasons.edit_season, entered.world.boss, entered.season_id, panel=None, panel_minimum=None)
    entered.world.tick()
    assert not entered.waits()


def test_every_version_plays_the_panel_also_where_its_author_chose_one(contest: Contest) -> None:
    contest.enter(1)
    contest.judged(win)
    contest.upload()
    contest.judged(win)
    assert (contest.states(), contest.entry().version) == (["passed", "passed"], 1)
    assert contest.enter(2).version == 2


def test_the_panel_is_played_before_everything_else(contest: Contest) -> None:
    for _ in range(2):
        contest.world.entrant(contest.season_id)
    contest.play(win)
    ladder = contest.world.tick()
    contest.world.clock.turn(3600)
    contest.enter()
    panel = contest.planned()
    job = contest.world.write(claim_next_series, ladder[0], "w1", contest.world.host)
    assert job is not None and job.series_id in panel


def test_two_schedulers_and_a_worker_that_dies_do_nothing_twice(entered: Contest) -> None:
    with entered.world.connect().transaction() as session:
        made = tick(session)
    assert entered.world.tick() == []
    job = entered.world.claimed(made[0])
    entered.world.clock.turn(60)
    entered.world.write(sweep)
    assert entered.world.finish(entered.world.claimed(made[0], "w2"), won, "w2")
    assert not entered.world.finish(job)
    entered.judged(lose, series=[made[1]])
    entered.world.tick()
    (run,) = entered.runs()
    assert (run.state, run.result["points"]) == ("failed", 1.0)
    told = [notice.text for notice in entered.world.read(notices.inbox, entered.owner)]
    assert len([text for text in told if text.startswith("Version 1 of newcomer has 1")]) == 1


def test_a_panel_must_be_playable(world: World) -> None:
    for settings, sentence in (
        ({"panel": ["nobody/there"]}, "there is no bot nobody/there in yacht-auction"),
        ({"panel_minimum": 3}, "without a panel"),
        ({"panel_test": ["0", "100"]}, "without a panel"),
    ):
        with pytest.raises(errors.BadSetting, match=sentence):
            world.season(0, **settings)
    assert "there are only 4 points" in refused(errors.BadSetting, Contest, world, panel_minimum=5)
    season = partial(world.season, 0, panel=["owner/easy"])
    assert "leave one out" in refused(errors.BadSetting, season, panel_minimum=1, panel_test=["0", "100"])
    assert "elo0 must be below elo1" in refused(errors.BadSetting, season, panel_test=["100", "0"])


def test_a_series_that_is_under_way_counts_for_the_older_version(entered: Contest) -> None:
    first, second = entered.planned()
    job = entered.world.claimed(first)
    entered.upload()
    entered.play(win)
    assert entered.world.finish(job, [won(match, 0) for match in job.matches])
    entered.world.tick()
    assert entered.entry().version == 2
    assert len(entered.play(lose)) == 2
    entered.world.tick()
    assert entered.states() == ["failed", "passed"]
    assert entered.world.row(Series, second).state is JobState.ABANDONED


def test_a_match_that_an_organiser_voids_is_played_again(entered: Contest) -> None:
    first, second = entered.planned()
    (voided, _) = entered.play(win, series=[first])
    entered.world.write(void_match, entered.world.boss, voided, "a spectator pulled the plug")
    entered.play(win, series=[second])
    assert len(entered.play(lose)) == 1
    entered.world.tick()
    assert entered.runs()[0].result["points"] == 3


def test_the_close_ends_what_is_left_without_a_verdict(entered: Contest) -> None:
    made = entered.planned()
    entered.state(SeasonState.CLOSED)
    (run,) = entered.runs()
    assert (run.state, run.reason) == ("ended", "The season is closed.")
    assert {entered.world.row(Series, one).state for one in made} == {JobState.ABANDONED}
    assert entered.world.tick() == []


def test_a_withdrawn_bot_plays_no_panel_until_it_comes_back(entered: Contest) -> None:
    entered.world.write(absence.withdraw, entered.owner, entered.season_id, entered.bot_id)
    assert entered.planned() == []
    entered.world.clock.turn(entered.world.settings.rejoin_seconds)
    entered.world.write(absence.rejoin, entered.owner, entered.season_id, entered.bot_id)
    assert len(entered.planned()) == 2


def test_without_a_minimum_every_version_plays_at_once(world: World) -> None:
    contest = Contest(world, panel_minimum=None)
    assert not contest.enter().waits_for_panel
    contest.judged(lose)
    assert contest.states() == ["passed"]


def with_test(world: World, games: int, elo1: str) -> Contest:
    contest = Contest(world, panel_minimum=None, panel_test=["0", elo1], panel_games=games, series_length=5)
    contest.enter()
    return contest


def met(contest: Contest) -> list[int]:
    """Return the games against each bot of the panel so far."""
    played = select(Participant.bot_id).join(Match, col(Match.id) == Participant.match_id)
    bots = contest.world.rows(played.where(col(Match.finished_at).is_not(None)))
    return [bots.count(bot_id) for bot_id in contest.panel]


@pytest.mark.parametrize(("outcome", "state"), [(win, "passed"), (lose, "failed")])
def test_a_test_decides_as_soon_as_it_can_and_its_games_are_even(world: World, outcome: Outcome, state: str) -> None:
    contest = with_test(world, 40, "300")
    assert contest.waits()
    series, rounds = contest.planned(), 0
    while series:
        rounds += 1
        first, second = series
        contest.play(outcome, series=[first])
        assert world.tick() == [], "the test waits until the other bot has been met as often"
        contest.play(outcome, series=[second])
        assert met(contest) == [2 * rounds] * 2
        series = contest.planned()
    assert contest.states() == [state] and rounds < 10
    assert contest.waits() == (state == "failed")


def test_without_a_verdict_after_all_games_nobody_has_passed(world: World) -> None:
    contest = with_test(world, 2, "20")
    contest.judged(win, lose)
    (run,) = contest.runs()
    assert (run.state, run.reason) == (ContestState.FAILED, "All games have been played without a verdict.")
    told, *_ = world.read(notices.inbox, contest.owner)
    assert told.text.endswith("; it did not pass the test.")
    assert "did not pass the test" in refused(errors.NotAdmitted, contest.enter, 1)


def test_a_tested_program_keeps_its_games_and_a_voided_one_is_played_again_before_the_test_looks(world: World) -> None:
    contest = with_test(world, 40, "300")
    played = contest.play(win)
    world.write(void_match, world.boss, played[0], "a spectator pulled the plug")
    (again,) = contest.planned()
    assert met(contest) == [2, 2] and len(contest.play(win, series=[again])) == 1
    contest.upload("a program")
    for _ in range(20):
        contest.play(lose)
    contest.upload("a program")
    contest.world.tick()
    assert contest.states()[1:] == ["failed", "failed"]
