"""Lists of matches on the site: every match can be reached, points are decimals, and omissions are stated."""

import dataclasses
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from deadheat.api.pages import home, match
from deadheat.engine.core import Result
from deadheat.engine.figures import points
from deadheat.league.records.matches import Match, SeatView
from deadheat.league.service.ground.audit import record
from deadheat.league.service.views import matches as league_matches
from deadheat.league.service.views import overview
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import TranscriptsFrom
from tests.api.site import Site
from tests.api.test_live_matches import a_second_passes
from tests.api.test_matches import Played, transcript
from tests.api.test_pages import HTML, page
from tests.league.outcomes import forfeited, won
from tests.league.people import GAME
from tests.league.test_challenges import Entrant


@pytest.fixture
def site_of_three(site: Site) -> Site:
    """A season in which three bots have played each other four times."""
    site.world.season(3)
    assert site.world.play_all() == 12
    return site


def walked(site: Site, path: str) -> list[int]:
    """Return the matches that this page and its successors link to, in their order."""
    numbers: list[int] = []
    while path:
        found = page(site, path)
        numbers += [int(link.removeprefix("/matches/")) for link in found.links if link.startswith("/matches/")]
        path = next((link for link in found.links if "before=" in link), "")
    return numbers


def test_every_match_of_a_season_is_reached_page_by_page(site_of_three: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match, "ROWS", 5)
    assert "/seasons/1/matches" in page(site_of_three, "/seasons/1").links
    assert walked(site_of_three, "/seasons/1/matches") == list(range(12, 0, -1))


def test_a_bots_matches_are_listed_against_all_and_against_one(site_of_three: Site, monkeypatch) -> None:
    monkeypatch.setattr(match, "ROWS", 3)
    mine = site_of_three.world.read(league_matches.matches, bot_id=2)
    assert "/bots/2/matches" in page(site_of_three, "/bots/2").links
    assert walked(site_of_three, "/bots/2/matches") == [one.id for one in mine]
    against = [one.id for one in mine if 3 in {seat.bot_id for seat in one.seats}]
    (link,) = [link for link in page(site_of_three, "/bots/2/opponents").links if link.endswith("opponent=3")]
    assert walked(site_of_three, link) == against
    assert (len(mine), len(against)) == (8, 4)
    page(site_of_three, "/bots/2/matches?opponent=99", 404)
    assert "No matches yet" in page(site_of_three, "/bots/2/matches?opponent=2").text


def test_a_bots_matches_say_how_they_ended_for_it_and_can_be_those_that_it_lost(site_of_three: Site) -> None:
    mine = site_of_three.world.read(league_matches.matches, bot_id=2)
    lost = [one.id for one in mine if next(seat for seat in one.seats if seat.bot_id == 2).rank == 2]
    assert 0 < len(lost) < len(mine)
    assert walked(site_of_three, "/bots/2/matches?lost=true") == lost
    listed = site_of_three.client.get("/v1/matches?bot=2&lost=true").json()["items"]
    assert [one["id"] for one in listed] == lost
    text = page(site_of_three, "/bots/2/matches").text  # the cells in their order: outcome, difference, version
    assert (text.count("lost\N{MINUS SIGN}1,0001 "), text.count("won+1,0001 ")) == (len(lost), len(mine) - len(lost))


def test_the_last_to_end_comes_first_whatever_its_number(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three series: the one planned first ends last, and one is not over."""
    monkeypatch.setattr(match, "ROWS", 3)
    monkeypatch.setattr(home, "NEWEST", 8)
    world = site.world
    world.season(3, series_length=4)
    jobs = [job for job in map(world.claim, world.tick()) if job is not None]
    for job in reversed(jobs[:2]):
        world.clock.turn(1)
        assert world.finish(job, [won(match) for match in job.matches])
    ended = [match.match_id for job in jobs[:2] for match in reversed(job.matches)]
    assert len(jobs) == 3 and ended != sorted(ended, reverse=True)
    assert walked(site, "/seasons/1/matches") == ended
    seated = {number: {seat.bot_id for seat in detail(site, number).seats} for number in ended}
    for bot in (1, 2, 3):
        assert walked(site, f"/bots/{bot}/matches") == [number for number in ended if bot in seated[number]]
    for path in ("/", "/seasons/1", f"/games/{GAME}"):
        found = dict.fromkeys(page(site, path).links)  # a game's page begins with its newest match
        links = [link.removeprefix("/matches/") for link in found if link.startswith("/matches/")]
        assert [int(link) for link in links if int(link) in ended] == ended
    listed = site.client.get("/v1/matches?state=done&limit=5").json()
    rest = site.client.get(f"/v1/matches?state=done&cursor={listed['next']}").json()
    assert [match["id"] for match in listed["items"] + rest["items"]] == ended
    page(site, f"/seasons/1/matches?before={jobs[2].matches[0].match_id}", 422)  # that match has not ended


def detail(site: Site, number: int) -> Match:
    return site.world.read(match_detail, number)


def test_a_list_that_did_not_change_is_304(site_of_three: Site) -> None:
    for path in ("/", "/seasons/1", "/seasons/1/matches", "/bots/2/matches?opponent=3"):
        etag = site_of_three.client.get(path, headers=HTML).headers["etag"]
        a_second_passes(site_of_three)  # the page is rendered again
        again = site_of_three.client.get(path, headers=HTML | {"If-None-Match": etag})
        assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (Fraction(91, 2), "45.5"),
        ("91/2", "45.5"),
        ("-1/8", "-0.125"),
        ("1234567/4", "308641.75"),
        (Fraction(100, 3), "33.333"),
        ("something new", "something new"),
    ],
)
def test_points_are_decimals(value: int | Fraction | str, text: str) -> None:
    assert points(value) == text


def test_points_are_decimals_on_every_page(site: Site) -> None:
    world = site.world
    world.season(2, games_per_pair=2)
    job = world.claimed(world.tick()[0])
    halves = Result((1, 2), (Fraction(91, 2), Fraction(85, 2)), {})
    assert world.finish(job, [dataclasses.replace(won(match), result=halves) for match in job.matches])
    assert "45.5 : 42.5" in page(site, "/").text and "45.5" in page(site, f"/matches/{job.matches[0].match_id}").text


def test_what_a_match_page_leaves_out_it_tells(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    number = Played(site).ids[0]
    path = f"/matches/{number}"
    whole = page(site, path).text
    assert "All " in whole and "The first" not in whole
    monkeypatch.setattr(match, "MAX_MOVES", 1)
    monkeypatch.setattr(match, "MAX_RULINGS", 3)
    site.app.state.services.bodies._kept.clear()  # the moves
    with site.world.db.transaction() as session:
        for reason in ("one", "two", "three", "four"):
            record(session, "chief", "match-voided", f"match/{number}", {"reason": reason})
    cut = page(site, path).text
    assert "The first 1 of" in cut and "other move" in cut and "The newest 3 decisions on this match" in cut
    assert cut.count("Match voided by chief") == 3


def test_two_versions_of_one_bot_are_told_apart_wherever_they_met(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "NEWEST", 20)
    entrant = Entrant(site.world)
    entrant.upload()
    job = site.world.claimed(site.world.tick()[0])
    one, drawn, lost, nobody, *rest = job.matches
    outcomes = [
        dataclasses.replace(won(one), transcript_sha256=site.blobs.put(transcript(job))),
        dataclasses.replace(won(drawn), result=Result((1, 1), (5, 5))),
        forfeited(lost, 0),
        forfeited(nobody, 0, 1),
    ]
    assert site.world.finish(job, outcomes + [won(match) for match in rest])
    names = detail(site, one.match_id).names
    bot = detail(site, one.match_id).seats[0].bot
    assert sorted(names) == [f"{bot} v1", f"{bot} v2"]
    found = page(site, f"/matches/{one.match_id}").text
    assert f"{names[0]} won." in found and f"{names[0]} wins." in found
    assert site.client.get(f"/v1/matches/{one.match_id}/replay").json()["names"] == names
    assert "A draw." in page(site, f"/matches/{drawn.match_id}").text
    assert "Nobody won." in page(site, f"/matches/{nobody.match_id}").text
    slow, other = detail(site, lost.match_id).names
    found = page(site, f"/matches/{lost.match_id}").text
    assert f"{other} won." in found and f"{slow} failed by" in found
    for path in ("/", f"/bots/{entrant.bot_id}/matches"):
        listed = page(site, path).text
        assert all(name in listed for name in names)
        assert f"{slow}: timeout" in listed


@pytest.mark.parametrize(
    ("seated", "names"),
    [
        ([(1, "fox", "ada", 3), (2, "owl", "bob", 3)], ["fox", "owl"]),
        ([(1, "fox", "ada", 3), (2, "fox", "bob", 3)], ["ada/fox", "bob/fox"]),
        ([(1, "fox", "ada", 3), (1, "fox", "ada", 4)], ["fox v3", "fox v4"]),
        (
            [(1, "fox", "ada", 3), (2, "fox", "bob", 3), (1, "fox", "ada", 4)],
            ["ada/fox v3", "bob/fox", "ada/fox v4"],
        ),
    ],
)
def test_no_two_seats_have_one_name(
    site_of_three: Site, seated: list[tuple[int, str, str, int]], names: list[str]
) -> None:
    seats = tuple(SeatView(seat, *who, None, None, None, None) for seat, who in enumerate(seated))
    assert dataclasses.replace(detail(site_of_three, 1), seats=seats).names == names


def test_a_list_shows_the_closest_matches_or_those_with_a_fault(played: Played) -> None:
    site, (whole, forfeit, _) = played.site, played.ids
    for path in (f"/seasons/{played.season}/matches", f"/bots/{played.bots[0]}/matches"):
        every, closest, faults = (page(site, path + query).links for query in ("", "?show=closest", "?show=faults"))
        assert {f"/matches/{whole}", f"/matches/{forfeit}"} <= set(every)
        assert f"/matches/{whole}" in closest and f"/matches/{forfeit}" not in closest
        assert {f"/matches/{forfeit}", f"/matches/{forfeit}#fault"} <= set(faults) and f"/matches/{whole}" not in faults
    assert 'id="fault"' in site.client.get(f"/matches/{forfeit}").text
    only = page(site, f"/seasons/{played.season}/matches?bot={played.bots[1]}")
    assert f"/matches/{whole}" in only.links
    assert site.client.get(f"/seasons/{played.season}/matches?show=x", headers=HTML).status_code == 422


def test_a_list_shows_the_biggest_turn_arounds_where_a_game_has_a_lead(site: Site) -> None:
    world = site.world
    world.season(2, series_length=4, games_per_pair=4)
    job = world.claimed()
    behind = (0.0, 2.5, 12_000.0, None)
    assert world.finish(job, [replace(won(one), comeback=by) for one, by in zip(job.matches, behind, strict=True)])
    never, little, most, _ = (match.match_id for match in job.matches)
    for path in ("/seasons/1/matches", "/bots/1/matches"):
        assert f"{path}?show=comebacks" in page(site, path).links
        assert walked(site, f"{path}?show=comebacks") == [most, little]
        text = page(site, f"{path}?show=comebacks").text
        assert "came back from 12,000 behind" in text and "came back from 2.5 behind" in text
    for number, told in ((most, True), (never, False)):
        assert ("came back from" in page(site, f"/matches/{number}").text) == told
    assert [site.client.get(f"/v1/matches/{one.match_id}").json()["comeback"] for one in job.matches] == [*behind]
    world.season(2, game="liars-dice", series_length=4, games_per_pair=4)
    assert not any("show=c" in link for link in page(site, "/seasons/2/matches").links), "dice are no points"
    hidden = world.season(2, transcripts=TranscriptsFrom.CLOSED)
    links = page(site, f"/seasons/{hidden}/matches").links
    assert f"/seasons/{hidden}/matches?show=closest" in links
    assert f"/seasons/{hidden}/matches?show=comebacks" not in links, "who came back is as secret as the moves"
    for season in (2, hidden):
        assert "came back" not in page(site, f"/seasons/{season}/matches?show=comebacks").text


def test_home_a_season_and_a_game_lead_to_what_is_worth_watching(site: Site) -> None:
    site.world.season(2, series_length=4, games_per_pair=4)
    job = site.world.claimed()
    closest, turned, fault, _ = job.matches
    close = replace(won(closest), result=Result((1, 2), (Fraction(10), Fraction(9))))
    outcomes = [close, replace(won(turned), comeback=9), forfeited(fault, 1), won(job.matches[3])]
    assert site.world.finish(job, outcomes)
    for path in ("/", "/seasons/1", f"/games/{GAME}"):
        told = page(site, path)
        shown = told.text[told.text.index("Worth watching") :]
        assert all(words in shown for words in ("The closest", "came back from 9 behind", "Decided by a fault"))
        assert f"/matches/{fault.match_id}" in told.links


def test_the_closest_match_has_the_smallest_share_between_first_and_last() -> None:
    def met(*points: str | None) -> Any:
        return SimpleNamespace(seats=[SimpleNamespace(points=each) for each in points])

    assert (
        overview.margin(met("100", "99"))
        < overview.margin(met("3", "2"))
        < overview.margin(met("1", "-1"))
        < overview.margin(met("1", None))
    )


def test_namesakes_in_a_running_series_are_told_apart() -> None:
    assert overview.told_apart([(1, "fox", "ada"), (2, "fox", "bob")]) == ((1, "ada/fox"), (2, "bob/fox"))
    assert overview.told_apart([(1, "fox", "ada"), (2, "hen", "ada")]) == ((1, "fox"), (2, "hen"))
