"""Unrated matches that authors ask for: they change nothing that counts, and may be private."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlmodel import col, select

from deadheat.league import errors, sprt
from deadheat.league.pairing.duel import Duel
from deadheat.league.records.entries import AskedChallenge
from deadheat.league.service.contests.life import OPEN_SERIES
from deadheat.league.service.course import planning
from deadheat.league.service.duels import requests
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.standings import dice_check, leaderboard, recount, refit
from deadheat.league.service.rulings import appeals, rulings
from deadheat.league.service.seasons import absence, seasons
from deadheat.league.service.series import response_times, turns
from deadheat.league.service.series.planning import add_series
from deadheat.league.service.views import careers, forecasts
from deadheat.league.service.views import former as views
from deadheat.league.service.views import matches as league_matches
from deadheat.league.states import (
    Asked,
    ChallengeState,
    JobState,
    MatchState,
    Precedence,
    Purpose,
    Role,
    SeasonState,
    Span,
)
from deadheat.league.tables import Match, Pair, Season, Series
from tests.league.meetings import contest_of
from tests.league.outcomes import forfeited, void, won
from tests.league.refusals import refused
from tests.league.test_timeouts import counted, late
from tests.league.world import World

TEST = sprt.Terms(0, 100)

Owned = tuple[Person, int]
"""An owner and their bot."""


class League:
    """A season of two bots that have played their rated games, and an author of a third bot who asks."""

    def __init__(self, world: World, **chosen: Any) -> None:
        self.world = world
        made = world.repeated(partial(self._made, chosen), "league that asks", chosen)
        self.season_id, (self.rival, self.rival_bot), (self.other, self.other_bot), (self.author, self.bot_id) = made

    def _made(self, chosen: dict[str, Any]) -> tuple[int, Owned, Owned, Owned]:
        world = self.world
        season_id = world.season(0, unrated_games=100, **chosen)
        rival, other, asker = world.entrant(season_id), world.entrant(season_id), world.bot()
        if chosen.get("games_per_pair", 4) is not None:
            world.play_all()
        return season_id, rival, other, asker

    def ask(
        self, games: int = 4, who: Person | None = None, test: sprt.Terms | None = None, **question: Any
    ) -> AskedChallenge:
        wanted = {"bot_id": self.bot_id, "opponent_id": self.rival_bot} | question
        return self.world.write(requests.ask, who or self.author, self.season_id, Duel(games, test), **wanted)

    def now(self, challenge_id: int, viewer: Person | None = None) -> AskedChallenge:
        return self.world.read(views.asked_challenge, viewer or self.author, challenge_id)

    def play(self, candidate_wins: Callable[[int], bool] = lambda _: True, steps: int = 100) -> None:
        """Play until nothing is planned; the first seat wins rated games."""
        number = 0
        for _ in range(steps):
            made = self.world.tick()
            if not made:
                return
            for series_id in made:
                job = self.world.claimed(series_id)
                contest = contest_of(self.world, series_id)
                outcomes = [won(match) for match in job.matches]
                if contest is not None:
                    candidate = self.now(contest.id, self.world.boss).version_id
                    for place, match in enumerate(job.matches):
                        seat = match.seats.index(candidate)
                        outcomes[place] = won(match, seat if candidate_wins(number) else 1 - seat)
                        number += 1
                assert self.world.finish(job, outcomes)

    def matches(self) -> list[Match]:
        return self.world.rows(select(Match).where(col(Match.asked).is_not(None)).order_by(col(Match.id)))


@pytest.fixture
def league(world: World) -> League:
    return League(world)


def test_so_many_games_are_played_and_counted(league: League) -> None:
    asked_for = league.ask(5)
    assert (asked_for.state, asked_for.bot_id, asked_for.opponent_id) == ("running", league.bot_id, league.rival_bot)
    league.play(lambda number: number != 1)
    done = league.now(asked_for.id)
    assert (done.state, done.wins, done.draws, done.losses) == (ChallengeState.ENDED, 4, 0, 1)
    assert (done.llr, done.games_planned) == (None, 5)
    firsts = [league.world.read(league_matches.match_detail, match.id).seats[0].bot_id for match in league.matches()]
    assert sorted(firsts.count(bot) for bot in {league.bot_id, league.rival_bot}) == [2, 3], "seats alternate"


def test_nothing_that_counts_changes(league: League) -> None:
    """The ranking, totals, log, pairs, deals, faults, response times and waiting stay as they were."""
    world, season_id = league.world, league.season_id
    world.write(refit, season_id)

    def figures() -> list[object]:
        with world.db.transaction() as session:
            refit(session, season_id)
            board = leaderboard(session, season_id)
            pairs = [(row.low_id, row.high_id, row.games) for row in session.exec(select(Pair))]
            entries = [forecasts.waiting(session, season_id, bot) for bot in (league.rival_bot, league.other_bot)]
            faults = careers.failure_counts(session, season_id, league.rival_bot)
            failures = careers.failures(session, season_id, league.rival_bot)
            times = response_times.command_times(session, season_id, range(1, 9))
            deals = session.get_one(Season, season_id).deals
            progress = seasons.season_progress(session, season_id)
            return [board.log_sha256, board.standings, pairs, deals, entries, faults, failures, times, progress]

    before = figures()
    for private in (False, True):
        league.ask(2, private=private)
        (series_id,) = world.tick()
        assert figures() == before, "while it waits"
        job = world.claimed(series_id)
        assert world.finish(job, [forfeited(match, match.seats.index(1)) for match in job.matches])
        assert figures() == before, "and when it was lost by a fault"
    assert [match.asked for match in league.matches()] == [Asked.PUBLIC] * 2 + [Asked.PRIVATE] * 2
    assert recount_is_right(league)


def recount_is_right(league: League) -> bool:
    dice = league.world.read(dice_check, league.season_id)
    assert (dice.differences, league.world.read(recount, league.season_id).differences) == ((), ())
    return True


def test_the_dice_are_none_of_the_seasons(league: League) -> None:
    league.ask(3)
    league.play()
    assert [match.deal for match in league.matches()] == [None] * 3
    league.world.entrant(league.season_id)
    league.play()
    league.world.set_state(league.season_id, SeasonState.CLOSED)
    league.world.settle()
    assert recount_is_right(league), "with the secret told"
    league.world.change(Match, 1, deal=None)
    assert "Match 1 has a seed" in league.world.read(dice_check, league.season_id).differences[0]


def test_a_quota_by_author_and_day(league: League) -> None:
    assert "100 unrated games a day" in refused(errors.BadSetting, league.ask, 101)
    league.ask(60)
    with pytest.raises(errors.OverQuota) as caught:
        league.ask(41)
    assert caught.value.retry_after_seconds == 24 * 3600
    assert "(40 left)" in str(caught.value)
    league.world.write(requests.stop, league.author, league.ask(40).id)
    league.ask(40), "nothing of the one that was stopped had been planned"
    league.ask(100, who=league.other, bot_id=league.other_bot)
    league.world.clock.turn(24 * 3600)
    begun = league.ask(100)
    played, *_ = league.world.tick()
    job = league.world.claimed(played)
    league.world.write(requests.stop, league.author, begun.id)
    league.ask(100 - len(job.matches)), "what waited when it was stopped is the author's again"


def test_one_challenge_of_an_author_at_a_time_and_few_of_a_season(league: League) -> None:
    first, second = league.ask(2), league.ask(2)
    askers = [league.world.bot() for _ in range(OPEN_SERIES)]
    for owner, bot_id in askers:
        league.ask(2, who=owner, bot_id=bot_id)
    made = league.world.tick()
    assert len(made) == OPEN_SERIES
    played = [contest_of(league.world, one) for one in made]
    assert [one and one.id for one in played] == [first.id, *range(second.id + 1, 6)]
    assert league.world.tick() == []
    league.world.play(made)
    league.play()
    assert {league.now(number, league.world.boss).state for number in range(1, 7)} == {ChallengeState.ENDED}


def test_rated_series_that_were_planned_later_come_first_at_the_beginning(world: World) -> None:
    league = League(world, games_per_pair=None)
    rulings = [world.claimed(series_id) for series_id in world.tick()]
    league.ask(2)
    (unrated,) = (one for one in world.tick() if world.row(Series, one).purpose is Purpose.CHALLENGE)
    assert world.row(Series, unrated).precedence == Precedence.ASKED
    world.clock.turn(50)
    for job in rulings:
        world.finish(job)
    (rated, *_) = world.tick()
    assert world.row(Series, rated).purpose is Purpose.LADDER

    def next_one() -> int:
        job = world.write(turns.claim_next_series, rated, "w", world.host)
        assert job is not None
        return job.series_id

    later = [next_one() for _ in range(len(_queued(world)))]
    assert later[-1] == unrated, "though it was planned 50 seconds before them"


def _queued(world: World) -> list[int]:
    return world.rows(select(Series.id).where(Series.state == JobState.QUEUED))


def test_a_ladder_that_never_rests_does_not_starve_it(world: World) -> None:
    League(world, games_per_pair=None).ask(2)
    (unrated,) = (one for one in world.tick() if world.row(Series, one).purpose is Purpose.CHALLENGE)
    world.clock.turn(71 * 60)
    world.play(one for one in _queued(world) if one != unrated)
    (rated, *_) = world.tick()
    job = world.write(turns.claim_next_series, rated, "w", world.host)
    assert job is not None and job.series_id == unrated


@pytest.mark.parametrize("after", [SeasonState.FINALS, SeasonState.CLOSED])
def test_it_ends_with_the_ladder(world: World, after: SeasonState) -> None:
    league = League(world, finals="round-robin")
    asked_for = league.ask(4)
    (series_id,) = world.tick()
    world.set_state(league.season_id, SeasonState.FROZEN)
    assert league.now(asked_for.id).state == "running"
    job = world.claimed(series_id)
    world.set_state(league.season_id, after, force=True)
    done = league.now(asked_for.id)
    assert (done.state, done.reason) == (ChallengeState.ENDED, f"The season is {after.words}.")
    assert world.finish(job)
    world.settle()
    assert len(league.matches()) == 2, "nothing more was planned"
    assert "open or frozen" in refused(errors.WrongState, league.ask, 2)


def test_the_organisers_switch_it_off(league: League) -> None:
    asked_for = league.ask(4)
    league.world.write(seasons.edit_season, league.world.boss, league.season_id, unrated_games=0)
    assert league.world.tick() == []
    assert "switched unrated matches off" in league.now(asked_for.id).reason
    assert "no unrated matches" in refused(errors.WrongState, league.ask, 1)


def test_it_ends_when_a_bot_leaves(league: League) -> None:
    against_rival = league.ask(4)
    own = league.ask(4, who=league.other, bot_id=league.other_bot)
    league.world.tick()
    league.world.write(absence.withdraw, league.rival, league.season_id, league.rival_bot)
    league.play()
    assert "no longer takes part" in league.now(against_rival.id).reason
    assert "no longer takes part" in refused(errors.WrongState, league.ask, 2)
    assert league.now(own.id, league.other).state == ChallengeState.ENDED
    league.world.write(absence.disqualify, league.world.boss, league.season_id, league.other_bot, "copied")
    with pytest.raises(errors.WrongState, match="by an organiser"):
        league.ask(2, who=league.other, bot_id=league.other_bot, opponent_id=league.other_bot)


def test_questions_that_an_author_may_not_ask(league: League) -> None:
    with pytest.raises(errors.NotFound):
        league.ask(who=league.other)  # somebody else's bot
    with pytest.raises(errors.NotFound):
        league.ask(opponent_id=league.world.bot()[1])  # a bot outside that season
    assert "your own bots" in refused(errors.BadSetting, league.ask, opponent_version=1)
    assert "against itself" in refused(errors.BadSetting, league.ask, opponent_id=league.bot_id, opponent_version=1)
    _, other_game = league.world.bot(game="betris-large", owner=league.author)
    refused(errors.WrongGame, league.ask, bot_id=other_game)
    league.world.write(seasons.edit_season, league.world.boss, league.season_id, admission="invited")
    refused(errors.NotAdmitted, league.ask)


@pytest.mark.databases
def test_nothing_is_planned_after_the_stop_by_a_tick_that_had_begun_before(league: League, monkeypatch) -> None:
    asked_for = league.ask()
    stopping = threading.Thread(target=league.world.write, args=(requests.stop, league.author, asked_for.id))

    def slowly(*given: Any, **named: Any) -> list[list[int]]:
        stopping.start()
        stopping.join(0.5)  # it waits for the tick, which has read the challenge as running
        return add_series(*given, **named)

    monkeypatch.setattr(planning, "add_series", slowly)
    assert len(league.world.tick()) == 1
    stopping.join()
    stopped = league.now(asked_for.id)
    assert (stopped.state, stopped.games_planned) == (ChallengeState.ENDED, 0)
    assert {match.state for match in league.matches()} == {MatchState.ABANDONED}


def test_nobody_appeals_what_an_author_asked_for(league: League) -> None:
    league.ask(1), league.ask(1, private=True)
    league.play()
    public, private = league.matches()
    for who in (league.author, league.rival):
        with pytest.raises(errors.WrongState, match="It is unrated"):
            league.world.write(appeals.open_appeal, who, public.id, "unfair", {})
    league.world.refused(errors.NotFound, appeals.open_appeal, league.rival, private.id, "unfair", {})


def test_an_organiser_who_competes_does_not_see_rivals_private_matches(league: League) -> None:
    asked_for = league.ask(1, private=True)
    league.play()
    (match,) = league.matches()
    world = league.world
    boss = world.boss
    assert world.read(views.asked_challenge, boss, asked_for.id).id == asked_for.id
    bot_id = world.entrant(league.season_id, owner=boss)[1]
    looks = (league_matches.match_detail, league_matches.transcript_of)
    with world.db.reading() as session:
        for look in looks:
            refused(errors.NotFound, look, session, match.id, boss)
        refused(errors.NotFound, views.asked_challenge, session, boss, asked_for.id)
    world.write(absence.withdraw, boss, league.season_id, bot_id)
    world.refused(errors.NotFound, views.asked_challenge, boss, asked_for.id)  # they could come back with what they saw
    judge = replace(world.author(), role=Role.ORGANISER)
    world.entrant(world.season(0), owner=judge)  # a bot in another season does not matter
    assert world.read(views.asked_challenge, judge, asked_for.id).id == asked_for.id


def test_a_private_match_is_seen_by_its_people_and_organisers_alone(league: League) -> None:
    asked_for = league.ask(1, private=True)
    league.play()
    (match,) = league.matches()
    with league.world.db.reading() as session:
        for viewer in (league.author, league.world.boss):
            assert league_matches.match_detail(session, match.id, viewer).asked is Asked.PRIVATE
            assert league_matches.transcript_of(session, match.id, viewer)
            assert [m.id for m in league_matches.matches(session, contest_id=asked_for.id)] == [match.id]
        strangers: tuple[Person | None, ...] = (None, league.rival, league.other)
        for stranger in strangers:
            for look in (league_matches.match_detail, league_matches.transcript_of):
                refused(errors.NotFound, look, session, match.id, stranger)
            refused(errors.NotFound, views.asked_challenge, session, stranger, asked_for.id)
        assert len(league_matches.endings(session, league.author, match.id)) == 1
        refused(errors.NotFound, league_matches.endings, session, league.rival, match.id)
        assert match.id not in {found.id for found in league_matches.matches(session, limit=1000)}
        after = partial(league_matches.matches, session, state=MatchState.DONE, before=match.id)
        refused(errors.BadCursor, after)
        assert after(contest_id=asked_for.id) == []
        assert views.asked(session, league.rival) == []
        assert [found.id for found in views.asked(session, league.author)] == [asked_for.id]


def held_in_private(league: League) -> tuple[int, Person]:
    """Hold a private match; return it, and an organiser whose bot is the opponent."""
    league.ask(1, private=True)
    (series_id,) = league.world.tick()
    for _ in range(2):
        job = league.world.claimed(series_id)
        assert league.world.finish(job, [void(job.matches[0], seat=0)])
    (match,) = league.matches()
    assert match.state is MatchState.HELD
    return match.id, replace(league.rival, role=Role.ORGANISER)


def test_a_private_match_that_is_held_hides_no_others_from_a_competing_organiser(league: League) -> None:
    match_id, rival = held_in_private(league)
    assert [match.id for match in league.world.read(rulings.held_matches, league.world.boss)] == [match_id]
    assert league.world.read(rulings.held_matches, rival) == []


def test_an_organiser_who_competes_does_not_rule_on_rivals_private_matches(league: League) -> None:
    match_id, rival = held_in_private(league)
    league.world.refused(errors.NotFound, rulings.leave_match, rival, match_id, "it does not exist for them")
    league.world.refused(errors.NotFound, rulings.rejudge_match, rival, match_id, "it does not exist for them")


@pytest.mark.databases
def test_late_answers_of_matches_that_an_author_asked_for_change_no_figures(world: World) -> None:
    league = League(world)
    before = [world.read(counted, span) for span in Span]
    league.ask(2, private=True)
    for series_id in world.tick():
        assert world.finish(world.claimed(series_id), late)
    assert [world.read(counted, span) for span in Span] == before


@pytest.mark.parametrize(("wins", "state"), [(True, ChallengeState.PASSED), (False, ChallengeState.FAILED)])
def test_a_test_stops_by_itself(league: League, wins: bool, state: ChallengeState) -> None:
    asked_for = league.ask(100, test=TEST)
    league.play(lambda _: wins)
    done = league.now(asked_for.id)
    assert done.state is state
    assert done.wins + done.losses < 40
    assert done.llr is not None and done.upper is not None and done.lower is not None
    assert not done.lower < done.llr < done.upper


def test_own_versions_meet_without_an_entry(league: League) -> None:
    league.world.version(league.author, league.bot_id)
    asked_for = league.ask(2, opponent_id=league.bot_id, version=2, opponent_version=1)
    assert (asked_for.version, asked_for.opponent_version) == (2, 1)
    assert asked_for.sides == (f"{asked_for.bot} v2", f"{asked_for.bot} v1")
    league.play()
    assert league.now(asked_for.id).wins == 2


def test_only_its_author_stops_it_and_only_once(league: League) -> None:
    asked_for = league.ask()
    league.world.refused(errors.NotFound, requests.stop, league.rival, asked_for.id)
    league.world.tick()
    stopped = league.world.write(requests.stop, league.author, asked_for.id)
    assert (stopped.state, stopped.reason) == (ChallengeState.ENDED, "Its author stopped it.")
    assert [match.state for match in league.matches()] == [MatchState.ABANDONED] * 2
    league.world.refused(errors.WrongState, requests.stop, league.author, asked_for.id)
