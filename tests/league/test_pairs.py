"""Duels whose test counts pairs: where hands are hidden, each deal is played from both seats. How often tests err."""

from collections import Counter
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from sqlmodel import col, select

from deadheat.league import errors, sprt
from deadheat.league.pairing.duel import Count, Duel
from deadheat.league.records.entries import AskedChallenge
from deadheat.league.service.duels import requests
from deadheat.league.service.rankings.standings import dice_check
from deadheat.league.service.rulings.rulings import rejudge_match, void_match
from deadheat.league.service.seasons import absence
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.views import former
from deadheat.league.states import ContestKind, ContestState, FinalsFormat, JobState, SeasonState
from deadheat.league.tables import Contest, Match, Meeting, Participant, Season, Series, VoidedMatch
from deadheat.league.words import Outcome
from tests.lanes import scaled
from tests.league.outcomes import forfeited, won
from tests.league.refusals import refused
from tests.league.seasons import at_gate
from tests.league.world import World

GAME = "liars-dice"
TEST = sprt.Terms(0, 100)
PAIRED = Duel(41, TEST, paired=True)


@pytest.mark.parametrize(
    ("count", "outcome"),
    [
        (Count(wins=40, pairs=(0, 0, 0, 0, 20)), Outcome.STRONGER),
        (Count(losses=14, pairs=(7, 0, 0, 0, 0)), Outcome.NOT_STRONGER),
        (Count(losses=12, pairs=(6, 0, 0, 0, 0)), None),
        (Count(wins=39, pairs=(0, 0, 0, 0, 0)), None),
        (Count(wins=20, losses=20, pairs=(1, 0, 18, 0, 1)), Outcome.SPENT),
    ],
)
def test_pairs_alone_decide_and_a_last_single_game_is_not_played(count: Count, outcome: Outcome | None) -> None:
    assert PAIRED.judge(count)[0] is outcome


def test_deals_are_planned_whole() -> None:
    assert PAIRED.draw(Count(), 0, 7) == (6, True)
    assert PAIRED.draw(Count(), 0, 1) == (2, True)
    assert PAIRED.draw(Count(wins=38), 38, 7) == (2, True)


class League:
    """A season of Liar's Dice with a rival, and a bot outside it that challenges the rival."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.season_id = world.season(0, game=GAME, series_length=6, unrated_games=100, games_per_pair=2)
        self.rival, self.rival_bot = world.entrant(self.season_id, game=GAME)
        self.author, self.bot_id = world.bot(game=GAME)

    def ask(self, games: int = 40, test: sprt.Terms | None = TEST) -> AskedChallenge:
        ask = partial(requests.ask, bot_id=self.bot_id, opponent_id=self.rival_bot)
        return self.world.write(ask, self.author, self.season_id, Duel(games, test))

    def llr(self, number: int) -> float:
        llr = self.world.read(former.asked_challenge, self.author, number).llr
        assert llr is not None
        return llr

    def play(self, made: list[int], version: int, *, wins: bool = True) -> None:
        for series_id in made:
            job = self.world.claimed(series_id)
            outcomes = [won(match, match.seats.index(version) ^ (not wins)) for match in job.matches]
            assert self.world.finish(job, outcomes)

    def at_gate(self, games: int = 200) -> int:
        """Send a second version of the rival's bot to a gate, and return its id."""
        self.world.write(enter, self.rival, self.season_id, self.rival_bot, None, at_gate(games=games))
        return self.world.version(self.rival, self.rival_bot)

    def begin_again(self) -> None:
        """End the gate by choosing the active version, and choose the new one again."""
        self.world.write(enter, self.rival, self.season_id, self.rival_bot, 1)
        self.world.write(enter, self.rival, self.season_id, self.rival_bot, None)

    def gate(self) -> Contest:
        gates = select(Contest).where(Contest.kind == ContestKind.GATE)
        return self.world.rows(gates.order_by(col(Contest.id).desc()))[0]

    def score(self) -> dict[str, Any]:
        """Return the score of the newest gate."""
        (score,) = self.world.rows(select(Meeting.score).where(Meeting.contest_id == self.gate().id))
        return dict(score)

    def state(self, series_id: int) -> JobState:
        return self.world.row(Series, series_id).state


@pytest.fixture
def league(world: World) -> League:
    return League(world)


def test_each_deal_is_played_from_both_seats_and_no_series_has_both(league: League) -> None:
    world, made = league.world, league.ask()
    series = world.tick()
    assert len(series) == 2
    waits = world.read(former.asked_challenge, league.author, made.id).waits
    assert "next in line" in waits or "No machine" in waits, "it does not wait for its own other half"
    seats: dict[str, list[tuple[int, int]]] = {}
    rows = select(Match.commitment, Match.series_id, Participant.version_id).join(
        Participant, col(Participant.match_id) == Match.id
    )
    for deal, series_id, first in world.rows(rows.where(Participant.seat == 0)):
        seats.setdefault(deal, []).append((series_id, first))
    assert len(seats) == 3
    for played in seats.values():
        assert sorted(one for one, _ in played) == series and len({first for _, first in played}) == 2
    league.play(series[:1], made.version_id)
    assert world.tick() == [], "the test waits for the other half of each pair"
    league.play(series[1:], made.version_id)
    world.tick()
    assert league.llr(made.id) == pytest.approx(sprt.test((0, 0, 0, 0, 3), TEST).llr)


def test_a_pair_of_which_a_game_does_not_count_is_left_out_whole(league: League) -> None:
    world, made = league.world, league.ask()
    first, second = world.tick()
    job = world.claimed(first)
    mine = [match.seats.index(made.version_id) for match in job.matches]
    outcomes = [won(match, seat) for match, seat in zip(job.matches, mine, strict=True)]
    assert world.finish(job, [forfeited(job.matches[0], 0, 1), *outcomes[1:]])
    league.play([second], made.version_id)
    world.write(void_match, world.boss, job.matches[1].match_id, "a spectator pulled the plug")
    world.tick()
    assert league.llr(made.id) == pytest.approx(sprt.test((0, 0, 0, 0, 1), TEST).llr)
    now = world.read(former.asked_challenge, league.author, made.id)
    assert (now.wins, now.losses) == (4, 0), "the score has every game"


def test_a_duel_that_began_before_there_were_pairs_keeps_its_terms(league: League) -> None:
    world, made = league.world, league.ask()
    terms = world.row(Contest, made.id).terms
    world.change(Contest, made.id, terms={name: terms[name] for name in terms if name != "paired"})
    (series_id,) = world.tick()
    deals = Counter(world.rows(select(Match.commitment).where(Match.series_id == series_id)))
    assert len(deals) == 6
    league.play([series_id], made.version_id)
    world.tick()
    assert league.llr(made.id) == pytest.approx(sprt.test((0, 0, 6), TEST).llr)


def test_a_gate_goes_on_without_pairs_only_where_the_same_programs_began_so(league: League) -> None:
    world = league.world
    world.write(enter, league.rival, league.season_id, league.rival_bot, None, at_gate())
    second = world.version(league.rival, league.rival_bot)
    gates = select(Contest).where(Contest.kind == ContestKind.GATE).order_by(col(Contest.id).desc())
    (gate,) = world.rows(gates)
    assert gate.terms["paired"]
    world.change(Contest, gate.id, terms={name: gate.terms[name] for name in gate.terms if name != "paired"})
    league.play(world.tick(), second)
    world.write(enter, league.rival, league.season_id, league.rival_bot, 1)
    world.write(enter, league.rival, league.season_id, league.rival_bot, None)
    assert ["paired" in one.terms for one in world.rows(gates)] == [False, False]
    world.version(league.rival, league.rival_bot)
    assert ["paired" in one.terms for one in world.rows(gates)] == [True, False, False]


def test_an_author_who_ends_a_gate_within_a_pair_cannot_drop_the_other_half(league: League) -> None:
    world, second = league.world, league.at_gate()
    first, other = world.tick()
    league.play([first], second, wins=False)
    league.begin_again()
    assert league.state(other) is JobState.QUEUED
    league.play([other], second, wins=False)
    world.tick()
    assert league.score()["losses"] == 6
    assert league.score()["llr"] == pytest.approx(sprt.test((3, 0, 0, 0, 0), TEST).llr)


def test_a_half_whose_other_half_is_being_played_is_not_dropped_either(league: League) -> None:
    world, _ = league.world, league.at_gate()
    first, other = world.tick()
    world.claimed(first)
    league.begin_again()
    assert [league.state(one) for one in (first, other)] == [JobState.RUNNING, JobState.QUEUED]


def test_a_gate_that_begins_again_waits_for_the_games_of_before(league: League) -> None:
    world, second = league.world, league.at_gate()
    first, other = world.tick()
    running = world.claimed(first)
    league.begin_again()
    assert world.tick() == []
    assert world.finish(running, [won(match, match.seats.index(second)) for match in running.matches])
    assert world.tick() == [], "the other half still waits"
    league.play([other], second)
    assert len(world.tick()) == 2
    assert league.score()["wins"] == 6


def test_a_gate_that_begins_again_is_not_judged_before_the_games_of_before_end(league: League) -> None:
    world, second = league.world, league.at_gate(games=12)
    league.play(world.tick(), second)
    running = [world.claimed(series_id) for series_id in world.tick()]
    league.begin_again()
    world.tick()
    assert league.score()["wins"] == 0, "it is not counted yet"
    for job in running:
        assert world.finish(job, [won(match, match.seats.index(second)) for match in job.matches])
    assert world.tick() == []
    gate = league.gate()
    assert gate.state is ContestState.FAILED and gate.reason.startswith("12 games"), "none was played beyond them"


def test_pairs_that_have_not_begun_are_dropped(league: League) -> None:
    world, _ = league.world, league.at_gate()
    made = world.tick()
    league.begin_again()
    assert {league.state(one) for one in made} == {JobState.ABANDONED}


def test_a_replay_at_a_gate_is_not_dropped_so_the_voided_game_stays_void(league: League) -> None:
    world, second = league.world, league.at_gate()
    league.play(world.tick(), second)
    match_id = world.rows(select(Match.id).order_by(col(Match.id)))[0]
    again = world.write(rejudge_match, world.boss, match_id, "a spectator pulled the plug")
    league.begin_again()
    assert league.state(world.row(Match, again).series_id) is JobState.QUEUED
    assert world.rows(select(VoidedMatch.match_id)) == [match_id]


@pytest.mark.parametrize("way", [SeasonState.FROZEN, SeasonState.FINALS, SeasonState.CLOSED])
def test_half_a_pair_waits_until_the_ladder_is_over(league: League, way: SeasonState) -> None:
    world, second = league.world, league.at_gate()
    first, other = world.tick()
    league.play([first], second)
    world.change(Season, league.season_id, finals=FinalsFormat.ROUND_ROBIN)
    world.set_state(league.season_id, way, force=True)
    assert league.state(other) is (JobState.QUEUED if way is SeasonState.FROZEN else JobState.ABANDONED)


def test_half_a_pair_is_played_while_the_bot_is_withdrawn(league: League) -> None:
    world, second = league.world, league.at_gate()
    first, other = world.tick()
    league.play([first], second)
    world.write(absence.withdraw, league.rival, league.season_id, league.rival_bot)
    assert league.state(other) is JobState.QUEUED


def test_a_request_has_no_verdict_once_it_is_stopped_so_its_other_half_is_dropped(league: League) -> None:
    world, made = league.world, league.ask()
    first, other = world.tick()
    league.play([first], made.version_id)
    world.write(requests.stop, league.author, made.id)
    assert league.state(other) is JobState.ABANDONED
    assert world.row(Contest, made.id).state is ContestState.ENDED


def test_a_test_of_pairs_has_two_games(league: League) -> None:
    assert "at least two" in refused(errors.BadSetting, league.ask, 1)
    assert league.ask(1, None).games_limit == 1
    assert league.ask(2).games_limit == 2


def test_a_gate_of_one_game_plays_it_and_counts_no_pairs(league: League) -> None:
    world, second = league.world, league.at_gate(games=1)
    assert "paired" not in league.gate().terms
    league.play(world.tick(), second)
    world.tick()
    assert league.score()["wins"] == 1
    assert league.gate().reason == "1 game did not show that it is stronger."


def test_the_seasons_dice_are_as_it_promised(league: League) -> None:
    world = league.world
    world.write(enter, league.rival, league.season_id, league.rival_bot, None, at_gate(games=12))
    version = world.version(league.rival, league.rival_bot)
    while made := world.tick():
        league.play(made, version)
    assert len(world.rows(select(Series.id))) == 4
    world.set_state(league.season_id, SeasonState.CLOSED)
    world.settle()
    assert world.read(dice_check, league.season_id).differences == ()


# What they are worth -------------------------------------------------------------------------------------------------

CORRELATION = -0.67
"""Of the two games of a deal between equal experts, measured in 1,000 deals; -0.25 between experts and tellers."""


@cache
def verdict(counts: tuple[int, ...]) -> sprt.Verdict:
    """Return the test's verdict; many walks pass through the same counts."""
    return sprt.test(counts, TEST).verdict


def ends(chance: np.random.Generator, chances: list[float], tests: int) -> tuple[float, float]:
    """Return the share of passes at a gate of 200 games, looked at after every ten, and the mean number of games."""
    size, passed, games = 1 if len(chances) == 3 else 2, 0, 0
    for _ in range(tests):
        counts, played, found = np.zeros(len(chances), np.int64), 0, sprt.Verdict.CONTINUE
        while found is sprt.Verdict.CONTINUE and played < 200:
            counts += chance.multinomial(10 // size, chances)
            played += 10
            found = verdict(tuple(counts.tolist()))
        passed += found is sprt.Verdict.ACCEPT
        games += played
    return passed / tests, games / tests


def single(elo: float) -> list[float]:
    won = 1 / (1 + 10 ** (-elo / 400))
    return [1 - won, 0, won]


def pairs(elo: float) -> list[float]:
    """Return the chances of the five scores of a deal, whose games are correlated as measured."""
    lost, _, won = single(elo)
    shared = CORRELATION * won * lost
    both, neither = max(won * won + shared, 0.0), max(lost * lost + shared, 0.0)
    return [neither, 0, 1 - both - neither, 0, both]


@pytest.mark.quick
def test_pairs_err_within_alpha_and_save_games() -> None:
    chance, tests = np.random.default_rng(39), scaled(4000, 1000)
    equals, _ = ends(chance, pairs(0), tests)
    assert equals <= TEST.alpha
    assert ends(chance, pairs(50), tests)[0] > 0.8
    assert ends(chance, single(50), tests)[0] < 0.5
    passed, games = ends(chance, pairs(100), tests)
    _, games_without = ends(chance, single(100), tests)
    assert 1 - passed <= TEST.beta, "it is stronger than the test asks: about 170 normalised Elo"
    assert games < 0.7 * games_without, (games, games_without)


@pytest.mark.quick
def test_a_test_against_an_uneven_panel_errs_within_alpha() -> None:
    """The version beats the weak half and loses to the strong one: together it is the panel's equal."""
    chance, tests, passed, failed = np.random.default_rng(65), scaled(4000, 1000), 0, 0
    for _ in range(tests):
        counts, found = np.zeros(3, np.int64), sprt.Verdict.CONTINUE
        for _ in range(25):  # rounds of two games against each of four bots
            wins = chance.binomial(2, (0.2, 0.4, 0.6, 0.8)).sum()
            counts += (8 - wins, 0, wins)
            found = verdict(tuple(counts.tolist()))
            if found is not sprt.Verdict.CONTINUE:
                break
        passed += found is sprt.Verdict.ACCEPT
        failed += found is sprt.Verdict.REJECT
    assert passed <= TEST.alpha * tests
    assert failed > 0.8 * tests
