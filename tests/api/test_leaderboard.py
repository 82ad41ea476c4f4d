"""The leaderboard: from the snapshot, as bytes, with an ETag."""

import threading
from collections import OrderedDict
from unittest import mock

import pytest

from deadheat.api.services import CACHED_BODIES, FRESH_SECONDS, Bodies, Body
from deadheat.league.database import Database
from deadheat.league.service.rankings import standings
from deadheat.league.service.seasons.entries import enter
from tests.api.site import Site


@pytest.fixture
def season_id(site: Site) -> int:
    season = site.world.season(3, series_length=2, games_per_pair=2)
    site.world.play_all()
    refit(site, season)
    return season


def refit(site: Site, season: int) -> None:
    assert site.world.write(standings.refit, season)


def expire(site: Site) -> None:
    site.app.state.services.bodies._seconds = lambda: 10**9


def test_it_shows_the_newest_ranking(site: Site, season_id: int) -> None:
    board = site.ok(200, site.client.get(f"/v1/seasons/{season_id}/leaderboard"))
    for row in board["rows"]:  # everybody won one and lost one against everybody
        assert (row["rank"], row["tied"], row["rank_low"], row["rank_high"]) == (1, True, 1, 3)
        assert row["low"] < row["elo"] < row["high"]
    assert (board["unranked"], board["fit"]["triads"], board["seats"][0]["seats"]) == ([], 0, 2)
    assert board["pairs"]["games"] == [[0, 2, 2], [2, 0, 2], [2, 2, 0]]
    assert board["config"]["method"] == "bradley-terry-map"
    nothing = dict.fromkeys(("abandoned", "voids", "timeouts", "other_faults"), 0)
    assert board["totals"] == nothing | {"rated": 6, "matches": 6, "causes": {}} and len(board["log_sha256"]) == 64


def test_a_client_that_has_it_is_told_so(site: Site, season_id: int) -> None:
    path = f"/v1/seasons/{season_id}/leaderboard"
    etag = site.client.get(path).headers["etag"]
    for header in (etag, etag.removeprefix("W/"), f'"x", {etag}', "*"):
        again = site.client.get(path, headers={"If-None-Match": header})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert site.client.get(path, headers={"If-None-Match": '"x"'}).status_code == 200


def test_a_new_ranking_has_a_new_etag(site: Site, season_id: int) -> None:
    path = f"/v1/seasons/{season_id}/leaderboard"
    before = site.client.get(path)
    owner, bot_id = site.world.bot()
    site.world.write(enter, owner, season_id, bot_id)
    refit(site, season_id)
    expire(site)
    after = site.client.get(path, headers={"If-None-Match": before.headers["etag"]})
    assert after.status_code == 200
    assert len(site.ok(200, after)["rows"]) == 4


def test_a_fresh_answer_asks_the_database_nothing(site: Site, season_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/v1/seasons/{season_id}/leaderboard"
    first = site.client.get(path)
    bodies = site.app.state.services.bodies
    bodies._seconds = lambda: 0.0
    bodies.keep(("leaderboard", season_id), bodies._kept.popitem()[1][1])
    monkeypatch.setattr(Database, "reading", lambda _: pytest.fail("it asked"))
    assert site.client.get(path).content == first.content


def test_bodies_are_kept_for_a_moment_and_in_bounded_number() -> None:
    clock = [0.0]
    bodies = Bodies(lambda: clock[0])
    body = bodies.keep("a", Body(1, '"1"', b"x", "text/plain"))
    assert bodies.fresh("a") is body
    clock[0] += FRESH_SECONDS + 0.1
    assert bodies.fresh("a") is None and bodies.current("a", 2) is None and bodies.current("a", 1) is body
    assert bodies.fresh("a") is body
    for number in range(1000):
        bodies.keep(number, body)
    assert len(bodies._kept) < 300


def test_threads_that_keep_answers_at_once_drop_none_under_each_others_hands() -> None:
    bodies = Bodies()
    body = Body(1, '"1"', b"x", "text/plain")
    others = threading.Thread(target=lambda: [bodies.keep(number, body) for number in range(CACHED_BODIES)])

    class Interrupted(OrderedDict[object, tuple[float, Body]]):
        """Lets other threads run in the middle of keeping one answer; a lock must keep them waiting."""

        def __setitem__(self, key: object, value: tuple[float, Body]) -> None:
            super().__setitem__(key, value)
            if key == "mine":
                others.start()
                others.join(0.3)

    bodies._kept = Interrupted()
    assert bodies.keep("mine", body) is body
    others.join()
    assert len(bodies._kept) == CACHED_BODIES


def test_what_is_kept_is_given_for_its_address_alone_and_measured_as_its_route(
    site: Site, season_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = site.app.state.services.bodies
    bodies._seconds = lambda: 0.0
    path = f"/seasons/{season_id}"
    first = site.client.get(path)
    seen: list[tuple[str, str, int]] = []
    monkeypatch.setattr("deadheat.api.metrics.record_request", lambda *request: seen.append(request[:3]))
    no_route = mock.Mock(side_effect=AssertionError("the database was asked"))
    monkeypatch.setattr("deadheat.api.pages.season.season_info", no_route)
    again = site.client.get(path)
    assert (again.content, again.headers["etag"]) == (first.content, first.headers["etag"])
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    assert site.client.get(path, headers={"If-None-Match": first.headers["etag"]}).status_code == 304
    assert site.client.head(path).content == b""
    assert seen == [("GET", "/seasons/{season_id}", status) for status in (200, 304, 200)]
    assert site.client.post(path).status_code == 405
    assert site.client.get(f"{path}?page=2").status_code == 500, "another address is another page"
    bodies._seconds = lambda: FRESH_SECONDS + 1
    assert site.client.get(path).status_code == 500, "a moment later it is looked at again"


def test_pages_of_those_who_signed_in_are_never_remembered(site: Site) -> None:
    for path in ("/account", "/sign-in", "/v1/users/me"):
        site.client.get(path)
    assert not site.app.state.services.bodies._addresses
