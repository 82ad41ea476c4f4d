"""A version's points against a panel, on its pages and as JSON, while it plays and afterwards."""

from __future__ import annotations

from tests.api.browser import Browser
from tests.api.site import Site
from tests.league.outcomes import forfeited, won


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
    assert "0 / 0 / 0" in browser.get(page).text and "3 needed" in browser.answer.text
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
    assert "so it gets no matches" in browser.answer.text
    shown = browser.get(f"/contests/{found['id']}").text
    assert "2 of 4 matches" in shown and "It needs 3 points" in shown and "Estimated performance" in shown
    assert f'<a href="/matches/{easy["match_ids"][0]}">' in browser.answer.text
    assert site.client.get(f"/contests/{found['id']}").status_code == 404, "panels are their authors' alone"
    world.finish(world.claimed(second))
    world.tick()
    (found,) = site.ok(200, site.client.get(f"/v1/bots/{bot_id}/panels?version=1", headers=headers))["items"]
    assert (found["state"], found["plays"]) == ("failed", False)
    assert site.client.get(f"/v1/bots/{bot_id}/panels?version=2", headers=headers).json()["items"] == []
