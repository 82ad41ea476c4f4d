"""`deadheat rate --season ID --check --server URL`: a ranking computed again from a server's exports."""

import json
from datetime import timedelta

import pytest
from sqlmodel import col, select, update

from deadheat.engine.chance import commitment
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.rankings import standings
from deadheat.league.service.rankings.standings import publish, recount
from deadheat.league.service.rulings.rulings import void_match
from deadheat.league.service.seasons.absence import disqualify
from deadheat.league.service.seasons.divisions import assign_division
from deadheat.league.service.seasons.entries import enter
from deadheat.league.states import ContestState, MatchState, SeasonState
from deadheat.league.tables import Contest, Match, RatingSnapshot
from tests.api.site import Site
from tests.cli.command import assert_one_sentence, invoke
from tests.league.test_asked import TEST, League
from tests.league.test_challenges import Entrant


class Served:
    def __init__(self, site: Site, url: str) -> None:
        self.site, self.url, self.world = site, url, site.world

    def check(self, season_id: int, *options: str) -> tuple[int, str]:
        done = invoke("rate", "--season", str(season_id), "--check", "--server", self.url, *options)
        return done.returncode, done.stdout

    def refit(self, season_id: int) -> None:
        assert self.world.write(standings.refit, season_id)


@pytest.fixture
def kept(site: Site, server: str) -> Served:
    return Served(site, server)


def test_everybody_can_make_a_ranking_again(kept: Served) -> None:
    """The season has a voided match, a disqualified bot, and a bot with a second version."""
    season_id = kept.world.season(5, series_length=2, games_per_pair=4)
    kept.world.play_all()
    with kept.world.db.transaction() as session:
        void_match(session, kept.world.boss, 3, "a test")
        disqualify(session, kept.world.boss, season_id, 5, "a test")
        decided = update(Match).where(col(Match.id) == 4)
        session.execute(decided.values(state=MatchState.DECIDED, transcript_sha256=None))
    owner, bot_id = kept.world.bot()
    kept.world.write(enter, owner, season_id, bot_id)
    kept.world.play_all()
    kept.world.build(kept.world.upload(owner, bot_id))
    kept.refit(season_id)
    code, said = kept.check(season_id)
    assert (code, said.splitlines()[0].split(" follows ")[0]) == (0, "Ranking 1 of season 1"), said
    found = json.loads(kept.check(season_id, "--json")[1])
    assert found["log_sha256"] == kept.world.read(recount, season_id).log_sha256 and found["games"] > 20


def test_how_closely_a_version_is_tied_follows_from_the_exported_gates(kept: Served) -> None:
    season_id = kept.world.season(2, series_length=10, games_per_pair=10)
    entrant = Entrant(kept.world, season_id=season_id)
    kept.world.play_all()
    entrant.upload()
    entrant.play([1])
    kept.refit(season_id)
    assert kept.check(season_id)[0] == 0
    passed_later = {"ended_at": kept.world.clock.now + timedelta(days=1)}
    for changed in ({"state": ContestState.FAILED}, {"state": ContestState.PASSED} | passed_later):
        with kept.world.db.transaction() as session:
            session.execute(update(Contest).values(**changed))
        code, said = kept.check(season_id)
        assert code == 1
        assert "prior_sd is stored as 200.0, but the log gives nothing." in said


def test_what_authors_asked_for_is_no_part_of_ranking_or_dice(kept: Served) -> None:
    """The season's secret is public; a version passed a public test, and some matches are in no export."""
    league = League(kept.world)
    league.ask(50, test=TEST)
    league.ask(2, private=True)
    league.play()
    assert len(league.matches()) > 10
    kept.world.write(set_season_state, kept.world.boss, league.season_id, SeasonState.CLOSED)
    kept.world.settle()
    code, said = kept.check(league.season_id)
    assert code == 0, said
    assert "1 seed of 1 match" not in said and "seeds of 4 matches" in said


def test_deals_at_tables_of_three_and_divisions_are_made_again(kept: Served) -> None:
    season_id = kept.world.season(
        6, game="liars-dice", seats=3, series_length=6, games_per_pair=12, divisions=[("Gold", None), ("Silver", None)]
    )
    with kept.world.db.transaction() as session:
        for bot_id in (1, 2, 3):
            assign_division(session, kept.world.boss, season_id, bot_id, 1)
    kept.world.play_all()
    kept.refit(season_id)
    code, said = kept.check(season_id)
    assert code == 0, said


def test_a_ranking_that_does_not_follow_and_a_log_that_has_changed_are_told(kept: Served) -> None:
    season_id = kept.world.ranked(3, series_length=2, games_per_pair=2)
    with kept.world.db.transaction() as session:
        snapshot = session.exec(select(RatingSnapshot)).one()
        first, *others = snapshot.standings["rows"]
        snapshot.standings = {**snapshot.standings, "rows": [{**first, "elo": first["elo"] + 1}, *others]}
    code, said = kept.check(season_id)
    assert code == 1 and "log_sha256 is stored as" not in said
    assert f"rows.version {first['version_id']}.elo is stored as 1501.0, but the log gives 1500.0." in said
    kept.world.write(void_match, kept.world.boss, 1, "a test")
    code, said = kept.check(season_id)
    assert (code, "log_sha256 is stored as" in said) == (1, True)


def test_a_season_without_a_ranking_and_one_that_is_not_there(kept: Served) -> None:
    code, said = kept.check(kept.world.season(1))
    assert (code, said.splitlines()[0]) == (0, "Season 1 has no ranking yet.")
    nothing = invoke("rate", "--season", "9", "--check", "--server", kept.url)
    assert_one_sentence(nothing, "There is no season 9.", code=1)
    assert_one_sentence(invoke("rate", "--season", "1", "--server", kept.url), "--server works")


def test_everybody_can_make_the_dice_of_a_season_again(kept: Served) -> None:
    world = kept.world
    season_id = world.season(3, series_length=2, games_per_pair=2)
    world.play_all()
    kept.refit(season_id)
    assert "published with the final standings" in kept.check(season_id)[1]
    world.write(set_season_state, world.boss, season_id, SeasonState.CLOSED)
    assert world.write(publish, season_id)
    code, said = kept.check(season_id)
    assert (code, "follow from the secret that the season opened with: 6 seeds of 6 matches." in said) == (0, True)
    with world.db.transaction() as session:
        session.exec(update(Match).where(col(Match.id) == 2).values(seed=bytes(16), commitment=commitment(bytes(16))))
    code, said = kept.check(season_id)
    assert (code, "Match 2 does not have the dice that follow" in said) == (1, True)
    assert len(json.loads(kept.check(season_id, "--json")[1])["dice"]["differences"]) == 1
