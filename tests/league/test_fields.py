"""Challenges against several opponents at once: each duel ends by itself, and the contest with the last."""

import pytest

from deadheat.league import errors, sprt
from deadheat.league.records.contests import ContestDetail
from deadheat.league.records.entries import AskedChallenge
from deadheat.league.service.people import notices
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.rulings.rulings import void_match
from deadheat.league.service.seasons import absence
from deadheat.league.service.views.contests import contest
from deadheat.league.states import ContestState
from deadheat.league.tables import BotVersion
from tests.league.outcomes import won
from tests.league.refusals import refused
from tests.league.test_asked import League
from tests.league.world import World


@pytest.fixture
def league(world: World) -> League:
    return League(world)


def ask(league: League, games: int = 4, test: sprt.Terms | None = None) -> AskedChallenge:
    return league.ask(games, test=test, opponent_ids=[league.other_bot])


def shown(league: League, number: int) -> ContestDetail:
    return league.world.read(contest, number)


def play(league: League, wins: set[int], most: int = 100) -> list[int]:
    """Play the challenge, which the asker wins against these bots; return the opponents of its series of two games."""
    order: list[int] = []
    for _ in range(most):
        if not (made := league.world.tick()):
            break
        (series_id,) = made  # one of an author at a time
        job = league.world.claimed(series_id)
        outcomes = []
        for match in job.matches:
            bots = [league.world.row(BotVersion, version).bot_id for version in match.seats]
            seat = bots.index(league.bot_id)
            outcomes.append(won(match, seat if bots[1 - seat] in wins else 1 - seat))
            order.append(bots[1 - seat])
        assert league.world.finish(job, outcomes)
    return order[::2]


def test_every_opponent_is_met_in_turn_and_has_a_score_of_its_own(league: League) -> None:
    made = ask(league)
    assert (made.opponents, made.opponent_id) == (2, league.rival_bot)
    order = play(league, wins={league.rival_bot})
    assert order == [league.rival_bot, league.other_bot] * 2, "the one with fewer games goes on"
    done = shown(league, made.id)
    assert [(one.bot_id, one.wins, one.losses, one.outcome) for one in done.opponents] == [
        (league.rival_bot, 4, 0, "spent"),
        (league.other_bot, 0, 4, "spent"),
    ]
    assert (done.state, done.wins, done.losses) == (ContestState.ENDED, 4, 4)
    assert done.reason == "2 opponents: all games against 2 are played."
    assert done.low is not None and done.high is not None and done.low < 0 < done.high
    told, *_ = league.world.read(notices.inbox, league.author)
    assert "(+1) by" in told.text and "with 4 wins, 0 draws and 4 losses: 2 opponents" in told.text


def test_each_opponent_is_judged_by_a_test_of_its_own_and_its_verdict_stands(league: League) -> None:
    made = ask(league, 50, sprt.Terms(0, 300))
    play(league, {league.rival_bot}, most=20)
    now = shown(league, made.id)
    while not (one := now.opponents[0]).outcome:
        play(league, {league.rival_bot}, most=1)
        now = shown(league, made.id)
    assert (one.outcome, now.llr) == ("stronger", None)
    league.world.write(void_match, league.world.boss, one.match_ids[0], "the verdict stands")
    play(league, {league.rival_bot})
    done = shown(league, made.id)
    assert [one.outcome for one in done.opponents] == ["stronger", "not-stronger"]
    assert done.reason == "2 opponents: stronger than 1, not stronger than 1."
    assert done.upper is not None and done.lower is not None
    assert [one.llr is not None and done.lower < one.llr < done.upper for one in done.opponents] == [False, False]


def test_the_quota_counts_the_games_against_all_opponents(league: League) -> None:
    assert "100 unrated games a day" in refused(errors.BadSetting, ask, league, 51)
    ask(league, 40)
    assert "(20 left)" in refused(errors.OverQuota, ask, league, 11)
    ask(league, 10)


def test_a_duel_that_is_over_is_charged_with_what_was_begun_while_the_others_go_on(league: League) -> None:
    ask(league, 50)
    play(league, set(), most=2)
    league.world.write(absence.withdraw, league.rival, league.season_id, league.rival_bot)
    league.world.tick()
    assert "(48 left)" in refused(errors.OverQuota, league.ask, 49, opponent_id=league.other_bot)
    league.ask(48, opponent_id=league.other_bot)


def test_an_opponent_that_leaves_ends_its_own_duel_only(league: League) -> None:
    made = ask(league)
    play(league, set(), most=2)
    league.world.write(absence.withdraw, league.rival, league.season_id, league.rival_bot)
    assert set(play(league, set())) == {league.other_bot}
    done = shown(league, made.id)
    assert [(one.losses, one.outcome) for one in done.opponents] == [(2, "left"), (4, "spent")]
    assert done.reason == "2 opponents: all games against 1 are played, 1 left the season."
    assert done.planned == 6


def test_a_game_in_progress_with_an_opponent_that_leaves_counts(league: League) -> None:
    world, made = league.world, ask(league)
    (series_id,) = world.tick()
    job = world.claimed(series_id)
    world.write(absence.withdraw, league.rival, league.season_id, league.rival_bot)
    assert world.tick() == []
    assert shown(league, made.id).opponents[0].outcome is None, "a game with it is still being played"
    assert world.finish(job, [won(match, match.seats.index(made.version_id)) for match in job.matches])
    assert set(play(league, set())) == {league.other_bot}
    done = shown(league, made.id)
    assert [(one.wins, one.losses, one.outcome) for one in done.opponents] == [(2, 0, "left"), (0, 4, "spent")]
    assert (done.wins, done.losses, done.planned) == (2, 4, 6)
    told, *_ = world.read(notices.inbox, league.author)
    assert "with 2 wins, 0 draws and 4 losses: 2 opponents" in told.text


def test_the_challenge_is_over_once_all_its_opponents_have_left(league: League) -> None:
    made = ask(league)
    for owner, bot_id in ((league.rival, league.rival_bot), (league.other, league.other_bot)):
        league.world.write(absence.withdraw, owner, league.season_id, bot_id)
    league.world.tick()
    done = shown(league, made.id)
    assert (done.state, done.reason, done.planned) == (ContestState.ENDED, "2 opponents: 2 left the season.", 0)


def test_the_best_of_the_newest_ranking_are_challenged_but_not_ones_own(league: League) -> None:
    world = league.world
    assert "no bot to play against" in refused(errors.BadSetting, league.ask, opponent_id=None)
    world.write(refit, league.season_id)
    best = league.ask(1, who=league.rival, bot_id=league.rival_bot, opponent_id=None, top=8)
    assert (best.opponents, best.opponent_id) == (1, league.other_bot)
    both = league.ask(1, opponent_id=league.other_bot, top=8)
    assert (both.opponents, both.opponent_id) == (2, league.other_bot), "nobody is met twice"


def test_a_version_without_its_bot_is_refused(league: League) -> None:
    others = [league.other_bot]
    said = refused(errors.BadSetting, league.ask, opponent_id=None, opponent_ids=others, opponent_version=1)
    assert "whose version" in said
