"""A season's page begins with its winner, and shows an evaluation where a ranking would say nothing."""

from sqlmodel import select, update

from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.service.evaluations.beginning import begin_now
from deadheat.league.service.rankings.standings import refit
from deadheat.league.states import FinalsFormat, SeasonState
from deadheat.league.tables import RatingSnapshot
from deadheat.league.timetable import DeclaredEvaluation
from tests.api.site import Site
from tests.api.test_pages import page
from tests.league.outcomes import lower_wins
from tests.league.test_divisions import TWO, assign


def names(site: Site, season_id: int) -> list[str]:
    """Return the names of a season's bots, by place."""
    return [row["bot"] for row in site.world.ranking(season_id)]


def test_a_closed_season_begins_with_its_winner_and_a_podium(site: Site) -> None:
    season_id = site.world.season(4, games_per_pair=2)
    site.world.play_all(lower_wins)
    site.world.settle_rankings()
    assert " won " not in page(site, f"/seasons/{season_id}").text, "it is not over"
    site.world.publish(season_id)
    site.app.state.services.bodies._seconds = lambda: 10**9
    found = page(site, f"/seasons/{season_id}").text
    first, second, third, _ = names(site, season_id)
    podium = found[: found.index("Final standings")]
    assert "A single wrong result" in podium
    assert f"{first} won season" in podium and "The ratings by all matches" in podium
    assert all(name in podium for name in (second, third)) and names(site, season_id)[3] not in podium
    card = page(site, "/").text
    assert first in card[card.index("Winner") :]


def test_a_lead_survives_as_many_wrong_results_as_the_ranking_says(site: Site) -> None:
    season_id = site.world.season(2, games_per_pair=10)
    site.world.play_all(lower_wins)
    site.world.publish(season_id)
    found = page(site, f"/seasons/{season_id}").text
    leads = site.client.get(f"/v1/seasons/{season_id}/leaderboard").json()["leads"]
    first = site.world.ranking(season_id)[0]
    assert leads == {str(first["version_id"]): 4}, "with five of ten the other way they are level"
    assert "survives 4 wrong results" in found and "Survives" in found


def test_a_ranking_that_was_stored_before_leads_is_shown_without_them(site: Site) -> None:
    season_id = site.world.season(2, games_per_pair=10)
    site.world.play_all(lower_wins)
    site.world.settle_rankings()
    (stored,) = site.world.rows(select(RatingSnapshot.standings))
    without = {name: part for name, part in stored.items() if name != "leads"}
    site.world.write(lambda session: session.exec(update(RatingSnapshot).values(standings=without)))
    assert "±" in page(site, f"/seasons/{season_id}").text
    assert site.client.get(f"/v1/seasons/{season_id}/leaderboard").json()["leads"] == {}


def test_a_shared_first_place_is_announced_as_shared_and_two_bots_have_two_places(site: Site) -> None:
    season_id = site.world.season(2, games_per_pair=2)
    site.world.play_all()
    site.world.publish(season_id)
    found = page(site, f"/seasons/{season_id}").text
    assert "share the first place" in found and found.count("1=") == 4


def test_each_division_has_its_winner(site: Site) -> None:
    season_id = site.world.season(6, games_per_pair=2, divisions=TWO)
    assign(site.world, season_id, 1, 1, 2, 3)
    site.world.play_all(lower_wins)
    site.world.publish(season_id)
    found = page(site, f"/seasons/{season_id}").text
    bots = names(site, season_id)
    assert all(
        f"{bot} won season" in found and f", {of}" in found for bot, of in ((bots[0], "First"), (bots[3], "Second"))
    )


def test_where_stages_decided_the_podium_is_theirs(site: Site) -> None:
    world = site.world
    season_id = world.season(4, games_per_pair=2, finals=FinalsFormat.STAGES, stages=["round-robin matches=2"])
    world.play_all(lower_wins)
    world.settle_rankings()
    world.set_state(season_id, SeasonState.FINALS)
    world.settle_rankings()
    world.play_all(lower_wins)
    world.settle()
    found = page(site, f"/seasons/{season_id}").text
    assert f"{names(site, season_id)[0]} won season" in found and "stages of the finals decided" in found


def test_before_any_match_is_rated_an_evaluation_stands_in_for_the_ranking(site: Site) -> None:
    world = site.world
    season_id = world.season(3, ladder=False)
    world.write(refit, season_id)
    assert "No ranking yet" in page(site, f"/seasons/{season_id}").text, "equal ratings say nothing"
    line = DeclaredEvaluation(name="Interim", format=EvaluationFormat.ROUND_ROBIN, matches=2)
    world.write(begin_now, world.boss, season_id, line)
    world.play_all(lower_wins)
    site.app.state.services.bodies._seconds = lambda: 10**9
    found = page(site, f"/seasons/{season_id}")
    assert "Standings of Interim, number 1" in found.text and "±" not in found.text
    assert "/contests/1" in found.links and "Sonneborn" in found.text
