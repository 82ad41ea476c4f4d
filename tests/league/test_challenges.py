"""Promotion gates: a version takes over once it has shown that it is stronger, and trying again does not help."""

import random
from collections.abc import Sequence
from functools import partial

import pytest
from sqlmodel import col, select

from deadheat.api.routes.entries import GateRequest
from deadheat.league import errors, sprt
from deadheat.league.ratings import RatingConfig
from deadheat.league.records.entries import Challenge, Entry
from deadheat.league.service.contests.life import OPEN_SERIES
from deadheat.league.service.duels.gates import TEST
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.people.person import Person
from deadheat.league.service.rankings.standings import leaderboard, refit
from deadheat.league.service.seasons import entries, seasons
from deadheat.league.service.views import former as views
from deadheat.league.service.views import matches as league_matches
from deadheat.league.states import ChallengeState, JobState, MatchState, Purpose, SeasonState
from deadheat.league.tables import Match, Series
from tests.league.outcomes import abandoned, forfeited, won
from tests.league.refusals import refused
from tests.league.seasons import at_gate
from tests.league.world import World

STEEP = at_gate(elo0=0, elo1=100, games=200)
"""Terms under which about twenty clear games decide."""


class Entrant:
    """A bot with a gate, in season `season_id` or (if 0) a new one."""

    def __init__(self, world: World, gate: entries.Gate = STEEP, season_id: int = 0, **settings: int) -> None:
        self.world, self.season_id = world, season_id
        made = world.repeated(partial(self._made, gate, settings), "entrant", gate, season_id, settings)
        self.season_id, self.owner, self.bot_id = made

    def _made(self, gate: entries.Gate, settings: dict[str, int]) -> tuple[int, Person, int]:
        world = self.world
        self.season_id = self.season_id or world.season(0, series_length=10, **settings)  # type: ignore[arg-type]
        self.owner, self.bot_id = world.bot()
        self.enter(gate=gate)
        return self.season_id, self.owner, self.bot_id

    def enter(self, number: int | None = None, gate: entries.Gate = "keep", who: Person | None = None) -> Entry:
        return self.world.write(entries.enter, who or self.owner, self.season_id, self.bot_id, number, gate)

    def entry(self) -> Entry:
        return self.world.read(entries.entry_info, self.season_id, self.bot_id)

    def upload(self, program: str = "") -> int:
        """Upload and build a new file, into `program` or (if "") a new program."""
        return self.world.version(self.owner, self.bot_id, program=program)

    def challenges(self) -> list[Challenge]:
        return self.world.read(views.challenges, self.owner, self.season_id, self.bot_id)

    def play(self, results: Sequence[int], steps: int = 100) -> None:
        """Play until nothing is planned, repeating the candidate's `results` (1 for a win, -1 for a loss)."""
        played = 0
        for _ in range(steps):
            made = self.world.tick()
            if not made:
                return
            for series_id in made:
                job = self.world.claimed(series_id)
                candidate = max(version for match in job.matches for version in match.seats)
                outcomes = []
                for match in job.matches:
                    seat = match.seats.index(candidate)
                    outcomes.append(won(match, seat if results[played % len(results)] > 0 else 1 - seat))
                    played += 1
                assert self.world.finish(job, outcomes)

    def state(self, state: SeasonState) -> None:
        self.world.set_state(self.season_id, state)


@pytest.fixture
def entrant(world: World) -> Entrant:
    return Entrant(world)


@pytest.fixture
def contender(entrant: Entrant) -> Entrant:
    """Return an entrant whose second version is at the gate."""
    entrant.upload()
    return entrant


def test_a_version_that_is_stronger_takes_over(contender: Entrant) -> None:
    assert (contender.entry().version, contender.entry().challenger) == (1, 2)
    contender.play([1])
    assert (contender.entry().version, contender.entry().challenger) == (2, None)
    (challenge,) = contender.challenges()
    assert (challenge.state, challenge.candidate, challenge.incumbent) == (ChallengeState.PASSED, 2, 1)
    assert challenge.llr >= challenge.upper
    assert 10 <= challenge.wins < 100


def test_the_ranking_ties_a_version_that_passed_less_closely_to_the_one_before_it(world: World) -> None:
    """The other bot's new version takes over without a gate."""
    season_id = world.season(2, series_length=10, games_per_pair=10)
    entrant, other = Entrant(world, season_id=season_id), Entrant(world, "none", season_id=season_id)
    world.play_all()
    entrant.upload()
    other.upload()
    entrant.play([1])
    assert entrant.entry().version == other.entry().version == 2
    with world.db.transaction() as session:
        assert refit(session, season_id)
        rows = {row["bot_id"]: row for row in leaderboard(session, season_id).standings["rows"]}
    assert rows[entrant.bot_id]["prior_sd"] == RatingConfig().passed_sd_elo
    assert rows[other.bot_id]["prior_sd"] is None
    assert rows[entrant.bot_id]["parent_id"] is not None is not rows[other.bot_id]["parent_id"]


def test_a_version_that_is_not_stronger_stays_out(contender: Entrant) -> None:
    contender.play([1, -1])
    assert contender.entry().version == 1
    (challenge,) = contender.challenges()
    assert challenge.state is ChallengeState.FAILED
    assert challenge.llr <= challenge.lower
    assert challenge.wins + challenge.losses < 200


def test_without_a_verdict_the_budget_decides_for_the_old_version(world: World) -> None:
    entrant = Entrant(world, at_gate(elo0=0, elo1=5, games=25))
    entrant.upload()
    entrant.play([1, -1])
    (challenge,) = entrant.challenges()
    assert (challenge.state, challenge.wins + challenge.losses) == (ChallengeState.FAILED, 25)
    assert (challenge.reason, entrant.entry().version) == ("25 games did not show that it is stronger.", 1)


def test_a_match_between_versions_of_one_bot_is_listed_once(contender: Entrant) -> None:
    contender.play([1])
    listed = [match.id for match in contender.world.read(league_matches.matches, bot_id=contender.bot_id)]
    found = contender.world.read(league_matches.matches, bot_id=contender.bot_id, opponent_id=contender.bot_id)
    against = [match.id for match in found]
    assert listed == sorted(set(listed), reverse=True)
    assert listed == against != []


def test_what_failed_is_not_tried_again_nor_as_another_upload(entrant: Entrant) -> None:
    entrant.upload("a gamble")
    entrant.play([1, -1])
    entrant.enter()
    assert entrant.entry().challenger is None
    assert entrant.world.tick() == []
    failed = entrant.challenges()[0]
    for number in (3, 4):
        entrant.upload("a gamble")
        newest = entrant.challenges()[0]
        assert (newest.candidate, newest.state) == (number, ChallengeState.FAILED)
        assert newest.reason == f"It is the same program as version 2, which has failed here: {failed.reason}"
    assert entrant.world.tick() == []
    entrant.enter()
    assert len(entrant.challenges()) == 3
    entrant.upload("a better one")
    assert entrant.entry().challenger == 5


def test_a_program_that_failed_may_try_itself_against_another(entrant: Entrant) -> None:
    entrant.upload("a gamble")
    entrant.play([1, -1])
    entrant.upload("a weak one")
    entrant.enter(3)
    entrant.upload("a gamble")
    assert (entrant.entry().version, entrant.entry().challenger) == (3, None)
    entrant.enter()
    assert entrant.entry().challenger == 4


def test_the_program_that_plays_is_not_tried_against_itself(entrant: Entrant) -> None:
    entrant.upload("a gamble")
    entrant.enter(2)
    entrant.enter()
    entrant.upload("a gamble")
    newest = entrant.challenges()[0]
    assert (newest.candidate, newest.state) == (3, ChallengeState.FAILED)
    assert newest.reason == "It is the same program as version 2, which is active."


def test_a_test_that_its_author_breaks_off_goes_on_where_it_was(entrant: Entrant) -> None:
    entrant.upload("a gamble")
    entrant.play([-1, 1], steps=1)
    before = entrant.challenges()[0]
    entrant.enter(1)
    entrant.enter()
    entrant.play([-1, 1], steps=1)
    entrant.upload("a gamble")
    entrant.play([-1, 1], steps=1)
    entrant.world.tick()
    newest, second, first = entrant.challenges()
    assert (first.state, second.state, newest.state) == (ChallengeState.ENDED, ChallengeState.ENDED, "running")
    assert (newest.candidate, newest.wins, newest.losses) == (3, 15, 15)
    assert before.wins + before.losses <= 10


def test_a_thaw_sends_what_became_ready_meanwhile_to_the_gate(entrant: Entrant) -> None:
    entrant.upload("tried before")
    entrant.play([-1, 1], steps=1)
    entrant.state(SeasonState.FROZEN)
    entrant.state(SeasonState.OPEN)
    assert entrant.entry().challenger == 2, "and it goes on from its games"
    entrant.state(SeasonState.FROZEN)
    entrant.upload("a new one")
    assert entrant.entry().challenger is None
    entrant.state(SeasonState.OPEN)
    assert (entrant.entry().version, entrant.entry().challenger) == (1, 3)


def test_a_newer_version_takes_the_place_at_the_gate(contender: Entrant) -> None:
    (series_id,) = contender.world.tick()
    contender.upload()
    assert contender.entry().challenger == 3
    newest, before = contender.challenges()
    assert (before.state, before.reason) == (ChallengeState.ENDED, "Version 3 replaced it.")
    assert newest.state is ChallengeState.RUNNING
    assert contender.world.row(Series, series_id).state is JobState.ABANDONED


def test_an_older_build_that_ends_later_replaces_nothing(entrant: Entrant) -> None:
    second, third = (entrant.world.upload(entrant.owner, entrant.bot_id) for _ in range(2))
    entrant.world.build(third)
    entrant.world.build(second)
    (challenge,) = entrant.challenges()
    assert (challenge.candidate, challenge.state) == (3, ChallengeState.RUNNING)


def test_an_authors_own_choice_needs_no_gate(contender: Entrant) -> None:
    assert contender.enter(2).version == 2
    assert contender.challenges()[0].reason == "Version 2 was chosen."


def test_a_gate_may_be_taken_away(contender: Entrant) -> None:
    assert contender.enter(gate="none").version == 2
    assert not contender.entry().gated
    contender.upload()
    assert contender.entry().version == 3


def test_a_gate_waits_until_its_season_opens(world: World) -> None:
    entrant = Entrant(world)
    entrant.season_id = world.write(seasons.create_season, world.boss, game="yacht-auction", name="next").id
    entrant.enter(gate=STEEP)
    entrant.upload()
    assert entrant.entry().challenger == 2
    world.set_state(1, SeasonState.CLOSED)
    assert world.tick() == []
    entrant.state(SeasonState.OPEN)
    assert len(world.tick()) == 1


def test_when_we_cannot_play_the_games_nothing_is_decided(world: World) -> None:
    entrant = Entrant(world, at_gate(games=15))
    entrant.upload()
    for _ in range(2):
        assert world.finish(world.claimed(), abandoned)
    assert world.tick() == []
    (challenge,) = entrant.challenges()
    assert challenge.state is ChallengeState.ENDED
    assert (challenge.reason, entrant.entry().version) == ("The service failed: 20 games could not be played.", 1)


def test_games_that_we_failed_to_play_in_an_earlier_test_are_not_held_against_the_next(world: World) -> None:
    entrant = Entrant(world, at_gate(games=15))
    entrant.upload()
    for _ in range(2):
        assert world.finish(world.claimed(), abandoned)
        entrant.enter(1)
        entrant.enter()
    world.tick()
    assert [one.state for one in entrant.challenges()] == ["running", "ended", "ended"]


def test_terms_that_make_no_test_or_take_too_many_games_are_refused(entrant: Entrant) -> None:
    assert "gate" in refused(errors.BadSetting, GateRequest(elo0=5, elo1=5).terms, "gate")
    assert "gate" in refused(errors.BadSetting, entrant.enter, gate=at_gate(games=1001))


def test_a_season_may_do_without_gates(world: World) -> None:
    assert "no promotion gates" in refused(errors.BadSetting, Entrant, world, challenge_games=0)


def test_the_terms_of_a_gate_are_not_in_the_public_log(world: World) -> None:
    entrant = Entrant(world, at_gate(alpha=0.04913, elo0=1.25, elo1=61.5, games=23))
    entrant.upload()
    entrant.play([-1])
    assert entrant.challenges()[0].state is ChallengeState.FAILED
    log = [one.data for one in world.read(audit_log, limit=1000)]
    assert any('"gate":true' in data for data in log)
    assert not [data for data in log if any(term in data for term in ("0.04913", "1.25", "61.5"))]


def test_games_at_the_gate_are_never_rated(contender: Entrant) -> None:
    contender.play([1])
    with contender.world.db.transaction() as session:
        refit(session, contender.season_id)
        rows = leaderboard(session, contender.season_id).standings["rows"]
        matches = session.exec(select(Match)).all()
    assert [(row["version"], row["games"]) for row in rows] == [(2, 0)]
    assert matches and not any(match.rated for match in matches)


def test_few_challenges_are_played_at_a_time_and_each_gets_its_turn(world: World) -> None:
    first = Entrant(world, games_per_pair=1)
    entrants = [first, *(Entrant(world, season_id=first.season_id) for _ in range(5))]
    for entrant in entrants:
        entrant.upload()
    waiting = challenge_series(world)
    assert len(waiting) == OPEN_SERIES
    world.play(waiting)
    gates = {world.row(Series, series_id).meeting_id for series_id in [*waiting, *challenge_series(world)]}
    assert len(gates) == 6


def challenge_series(world: World) -> list[int]:
    made = world.tick()
    return world.rows(select(Series.id).where(col(Series.id).in_(made), Series.purpose == Purpose.CHALLENGE))


def test_a_ladder_goes_on_beside_the_gate(entrant: Entrant) -> None:
    world = entrant.world
    world.entrant(entrant.season_id)
    entrant.upload()
    made = world.tick()
    purposes = [world.row(Series, series_id).purpose for series_id in made]
    assert sorted(purposes) == [Purpose.CHALLENGE, Purpose.LADDER]


def test_a_program_that_failed_does_not_replace_the_version_at_the_gate(entrant: Entrant) -> None:
    entrant.upload("a gamble")
    entrant.play([1, -1])
    entrant.upload("a better one")
    entrant.upload("a gamble")
    assert entrant.challenges()[0].state is ChallengeState.FAILED
    entrant.enter()
    assert entrant.entry().challenger == 3
    entrant.play([1])
    assert entrant.entry().version == 3


def test_a_series_that_runs_when_its_challenge_ends_changes_nothing(contender: Entrant) -> None:
    (series_id,) = contender.world.tick()
    job = contender.world.claimed(series_id)
    contender.enter(1)
    assert contender.world.finish(job, [won(match, match.seats.index(max(match.seats))) for match in job.matches])
    assert contender.world.tick() == []
    assert (contender.entry().version, contender.challenges()[0].state) == (1, ChallengeState.ENDED)


def test_freezing_ends_what_is_undecided(contender: Entrant) -> None:
    (series_id,) = contender.world.tick()
    contender.state(SeasonState.FROZEN)
    (challenge,) = contender.challenges()
    assert (challenge.state, challenge.reason) == (ChallengeState.ENDED, "The season is frozen.")
    assert contender.world.claim(series_id) is None
    assert contender.world.tick() == []
    assert contender.entry().version == 1


def test_what_both_versions_spoil_counts_for_neither(contender: Entrant) -> None:
    job = contender.world.claimed()
    first, second, *rest = job.matches
    outcomes = [forfeited(first, 0, 1), abandoned(second), *(won(match) for match in rest)]
    assert contender.world.finish(job, outcomes)
    contender.world.tick()
    (challenge,) = contender.challenges()
    assert (challenge.wins, challenge.losses) == (4, 4)
    assert contender.world.one(select(Match.state).where(Match.id == second.match_id)) is MatchState.ABANDONED


@pytest.mark.all
def test_wrong_passes_are_as_rare_as_the_terms_say() -> None:
    """A version as strong as the old one is tested after every ten games with alpha = .05; nothing is stored."""
    chance = random.Random(1)
    passes = 0
    for _ in range(400):
        counts = [0, 0, 0]
        for _ in range(40):
            for _ in range(10):
                counts[2 * chance.randrange(2)] += 1
            verdict = sprt.test(counts, TEST).verdict
            if verdict is not sprt.Verdict.CONTINUE:
                passes += verdict is sprt.Verdict.ACCEPT
                break
    assert passes / 400 < 0.08
