"""Unrated matches over HTTP and on the site: asked for in a form, followed on a page, stopped."""

from typing import Any

import pytest

from deadheat.league.service.seasons.entries import enter
from tests.api.browser import Browser
from tests.api.site import Site
from tests.league.outcomes import forfeited, won


class Asking:
    """A season with a rival bot, and Ada's browser; her bot is not in it."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.season_id = site.world.season(0, unrated_games=20)
        owner, self.rival = site.world.bot("rival")
        site.world.write(enter, owner, self.season_id, self.rival)
        self.ada = Browser(site).sign_up("ada")
        self.headers = site.sign_in("ada")
        self.bot_id = site.bot(self.headers, "swift")
        site.version(self.headers, self.bot_id)

    def ask(self, **body: object) -> Any:
        wanted = {"season_id": self.season_id, "bot_id": self.bot_id, "opponent_id": self.rival, "games": 2} | body
        return self.site.ok(201, self.site.client.post("/v1/challenges", json=wanted, headers=self.headers))

    def play(self, made: list[int] | None = None, *, fault: bool = False) -> list[int]:
        """Play what is planned, or these series, and return those that are planned after them."""
        for series_id in self.site.world.tick() if made is None else made:
            job = self.site.world.claimed(series_id)
            seats = [match.seats.index(max(match.seats)) for match in job.matches]  # Ada's version is the newest one
            outcomes = [
                forfeited(match, 1 - seat) if fault else won(match, seat)
                for match, seat in zip(job.matches, seats, strict=True)
            ]
            assert self.site.world.finish(job, outcomes)
        return self.site.world.tick()  # counts the games


@pytest.fixture
def asking(site: Site) -> Asking:
    return Asking(site)


def test_the_form_beside_a_bot_leads_to_the_challenge(asking: Asking) -> None:
    ada, path = asking.ada, f"/bots/{asking.rival}/challenge?season={asking.season_id}"
    assert path in asking.site.client.get(f"/bots/{asking.rival}").text
    ada.submit(path, 422, at=path, games="21")
    assert "20 unrated games a day" in ada.page.text
    ada.submit(path, games="4", elo0="0", elo1="100", private="true")
    assert ada.answer.url.path == "/contests/1"
    asking.play(fault=True)
    shown = ada.get("/contests/1").text
    assert "2 / 0 / 0" in shown and "2 of at most 4 matches" in shown and "private" in shown
    assert "log-likelihood ratio" in shown and 'http-equiv="refresh"' in ada.answer.text
    assert '<td class="number">0</td><td class="number fault">2</td>' in ada.answer.text, "only the opponent's faults"
    ada.submit("/contests/1/cancel")
    assert "Its author stopped it." in ada.page.text and "rival" in ada.get("/contests").text
    assert asking.site.client.get("/contests/1").status_code == 404


def test_the_form_needs_no_season_if_one_allows_challenges(asking: Asking) -> None:
    asking.ada.get(f"/bots/{asking.rival}/challenge")
    assert f'action="/bots/{asking.rival}/challenge?season={asking.season_id}"' in asking.ada.answer.text
    text = asking.ada.get(f"/bots/{asking.bot_id}/challenge", 404).text
    assert "lets authors ask for matches" in text


def test_a_form_with_half_a_test_is_shown_again(asking: Asking) -> None:
    path = f"/bots/{asking.rival}/challenge?season={asking.season_id}"
    asking.ada.submit(path, 422, at=path, games="4", elo1="100")
    asking.ada.submit(path, 422, games="4", elo0="100", elo1="0")
    assert "elo0 must be below elo1" in asking.ada.page.text


def test_a_public_challenge_is_seen_by_everybody_and_stopped_by_its_author(asking: Asking) -> None:
    site = asking.site
    asking.ask()
    asking.play()
    seen = site.ok(200, site.client.get("/v1/challenges/1"))
    assert (seen["wins"], seen["private"], seen["opponent"]) == (2, False, "rival")
    listed = site.ok(200, site.client.get("/v1/challenges/1/matches?limit=1"))
    assert (listed["items"][0]["asked"], listed["items"][0]["rated"]) == ("public", False)
    older = site.ok(200, site.client.get(f"/v1/challenges/1/matches?limit=1&cursor={listed['next']}"))
    assert older["items"][0]["id"] < listed["items"][0]["id"]
    page = site.client.get("/contests/1").text
    assert "rival" in page and "Stop" not in page
    assert "An author asked for it" in site.client.get(f"/matches/{listed['items'][0]['id']}").text
    site.problem(404, site.client.post("/v1/challenges/1/stop", headers=site.author("eve")), "not-found")
    site.ok(200, site.client.get("/v1/challenges", headers=asking.headers))


def test_several_opponents_are_challenged_at_once(asking: Asking) -> None:
    site, ada = asking.site, asking.ada
    owner, other = site.world.bot("other")
    site.world.write(enter, owner, asking.season_id, other)
    made = asking.ask(opponent_ids=[other], test={"elo0": 0, "elo1": 100})
    assert (made["opponent"], made["opponents"], made["llr"], made["games_limit"]) == ("rival", 2, None, 2)
    asking.play(asking.play())
    shown = site.ok(200, site.client.get("/v1/contests/1"))
    assert [(one["bot"], one["wins"], one["outcome"]) for one in shown["opponents"]] == [
        ("rival", 2, "spent"),
        ("other", 0, "spent"),
    ]
    assert shown["llr"] is None and shown["opponents"][0]["llr"] > 0
    page = site.client.get("/contests/1").text
    assert "2 bots" in page and "4 of at most 4 matches" in " ".join(page.split())
    assert "test of its own, of 100 against 0" in page
    assert '<th scope="row">Total</th>' in page and page.count("<td>no verdict</td>") == 2
    path = f"/bots/{asking.rival}/challenge?season={asking.season_id}"
    ada.submit(path, 422, at=path, games="2", opponent_ids=f"{owner.name}/other nobody/there")
    assert "no bot nobody/there" in ada.page.text
    ada.submit(path, games="2", opponent_ids=f"{owner.name}/other", top="3")
    assert "2 bots" in ada.page.text
    body = {"season_id": asking.season_id, "bot_id": asking.bot_id, "games": 2}
    refused = site.client.post("/v1/challenges", headers=asking.headers, json=body)
    assert "opponent" in site.problem(422, refused, "bad-setting")["detail"]


def test_a_quota_tells_when_there_is_more(asking: Asking) -> None:
    asking.ask(games=20)
    body = {"season_id": asking.season_id, "bot_id": asking.bot_id, "opponent_id": asking.rival, "games": 1}
    answer = asking.site.client.post("/v1/challenges", json=body, headers=asking.headers)
    assert "20 a day" in asking.site.problem(429, answer, "over-quota")["detail"]


def test_a_private_match_is_kept_by_no_cache(asking: Asking) -> None:
    asking.ask(private=True)
    asking.play()
    listed = asking.site.client.get("/v1/challenges/1/matches", headers=asking.headers)
    newest = asking.site.ok(200, listed)["items"][0]
    for path in (f"/v1/matches/{newest['id']}/live", f"/matches/{newest['id']}", "/v1/challenges/1"):
        answer = asking.site.client.get(path, headers=asking.headers)
        assert answer.status_code == 200
        assert "no-store" in answer.headers["cache-control"], path
        assert asking.site.client.get(path).status_code == 404


def test_points_faults_and_matches_are_shown_while_a_version_plays(site: Site) -> None:
    world = site.world
    for name in ("easy", "hard"):
        world.bot(name, owner=world.boss)
    season_id = world.season(0, panel=["boss/easy", "boss/hard"], panel_minimum=3)
    headers = site.author("ada")
    bot_id = site.bot(headers)
    site.upload(headers, bot_id, b"print()")
    world.build(site.queue.builds.pop(0))
    answer = site.client.put(f"/v1/seasons/{season_id}/entries/{bot_id}", json={}, headers=headers)
    assert answer.json()["waits_for_panel"]
    browser = Browser(site).sign_in("ada")
    page = f"/bots/{bot_id}/versions/1"
    first, second = world.tick()
    assert "0 / 0 / 0" in browser.get(page).text and "0 of 4 points, 3 needed" in browser.answer.text
    assert "/static/live.js" in browser.answer.text
    job = world.claimed(first)
    lost = [forfeited(match, match.seats.index(max(match.seats))) for match in job.matches]
    world.finish(job, [won(job.matches[0], job.matches[0].seats.index(max(job.matches[0].seats))), lost[1]])
    world.tick()
    (found,) = site.ok(200, site.client.get(f"/v1/bots/{bot_id}/panels", headers=headers))["items"]
    easy, hard = found["opponents"]
    assert (found["state"], found["points"], found["most"], found["minimum"]) == ("running", 1.0, 4, 3.0)
    assert (easy["bot"], easy["points"], easy["wins"], easy["losses"], easy["faults"]) == ("easy", 1.0, 1, 1, 1)
    assert easy["match_ids"] == [match.match_id for match in job.matches]
    assert (hard["points"], len(hard["match_ids"])) == (0.0, 2)
    assert found["low"] < found["elo"] < found["high"]
    for path in (page, f"/bots/{bot_id}/upload"):
        browser.get(path)
        assert f'<a href="/contests/{found["id"]}">' in browser.answer.text
        assert "1 of 4 points, 3 needed" in browser.answer.text
    assert "so it gets no matches" in browser.answer.text
    shown = browser.get(f"/contests/{found['id']}").text
    assert "2 of 4 matches. 1 of 4 points. It needs 3" in " ".join(shown.split())
    assert "Estimated performance" in shown and "Own faults" in shown
    assert '<td class="number fault">1</td><td class="number">0</td>' in browser.answer.text
    assert f'<a href="/matches/{easy["match_ids"][0]}">' in browser.answer.text
    assert site.client.get(f"/contests/{found['id']}").status_code == 404, "panels are their authors' alone"
    world.finish(world.claimed(second))
    world.tick()
    (found,) = site.ok(200, site.client.get(f"/v1/bots/{bot_id}/panels?version=1", headers=headers))["items"]
    assert (found["state"], found["plays"]) == ("failed", False)
    assert site.client.get(f"/v1/bots/{bot_id}/panels?version=2", headers=headers).json()["items"] == []


def test_a_version_is_shown_with_its_test_against_the_panel(site: Site) -> None:
    world = site.world
    world.bot("easy", owner=world.boss)
    season_id = world.season(0, panel=["boss/easy"], panel_test=["0", "300"], panel_games=40)
    headers = site.author("ada")
    bot_id = site.bot(headers)
    site.version(headers, bot_id)
    site.client.put(f"/v1/seasons/{season_id}/entries/{bot_id}", json={}, headers=headers)
    browser = Browser(site).sign_in("ada")
    assert "test of 300 against 0" in browser.get(f"/seasons/{season_id}").text
    made = world.tick()
    assert world.finish(world.claimed(made[0]))  # the first seat wins
    world.tick()
    (found,) = site.ok(200, site.client.get(f"/v1/bots/{bot_id}/panels", headers=headers))["items"]
    assert (found["elo0"], found["elo1"], found["points"], found["most"]) == (0, 300, 1, 2)
    shown = " ".join(browser.get(f"/contests/{found['id']}").text.split())
    assert "2 of at most 40 matches. 1 of 2 points." in shown
    assert "test of 300 against 0" in shown
