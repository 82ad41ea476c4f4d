"""Held matches: in the API, in the command, at the desk and on the match's page."""

from __future__ import annotations

import re

import pytest

from deadheat.league.jobs import MatchOutcome
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.series.carrying_out import finish_series
from tests.api.browser import Browser
from tests.api.served import served
from tests.api.site import Site
from tests.cli.command import Typing
from tests.league.outcomes import void, won

WHY = {"reason": "its children fill the machine"}


def hold(site: Site, matches: int = 1) -> list[int]:
    """Void `matches` matches twice at the second seat's turn, let another be won, and return the void ones."""
    site.world.season(2, series_length=matches + 1, games_per_pair=matches + 1)
    (series_id,) = site.world.tick()
    voids: list[MatchOutcome] = []
    for last in (False, True):
        job = site.world.claimed(series_id, f"{site.world.host.name}:7")
        voids = [void(match, seat=1, peak_bytes=5) for match in job.matches[:matches]]
        with site.world.db.transaction() as session:
            outcomes = [*voids, *(won(match) for match in job.matches[matches:] if last)]
            assert finish_series(session, job, f"{site.world.host.name}:7", outcomes)
    return [outcome.match_id for outcome in voids]


def state(site: Site, match_id: int) -> str:
    return str(site.ok(200, site.client.get(f"/v1/matches/{match_id}"))["state"])


def test_the_api_lists_and_answers_them(site: Site) -> None:
    (match_id,), boss = hold(site), site.organiser()
    site.problem(401, site.client.get("/v1/held-matches"), "bad-token")
    (found,) = site.ok(200, site.client.get("/v1/held-matches", headers=boss))["items"]
    assert (found["id"], found["state"], found["attempt"], found["seed"]) == (match_id, "held", 3, None)
    lines = [(line["cause"], line["seed_number"], line["machine"], line["seat"]) for line in found["attempts"]]
    assert lines == [("host-memory", 1, 1, 1), ("host-memory", 2, 1, 1)]
    path = f"/v1/matches/{match_id}"
    site.problem(422, site.client.post(f"{path}/decide", json={**WHY, "seat": 2}, headers=boss), "bad-setting")
    assert site.client.post(f"{path}/decide", json={**WHY, "seat": 1}, headers=boss).status_code == 204
    assert [seat["rank"] for seat in site.ok(200, site.client.get(path))["seats"]] == [1, 2]
    site.problem(409, site.client.post(f"{path}/leave", json=WHY, headers=boss), "wrong-state")
    assert site.client.get(f"{path}/transcript").status_code == 409


def test_the_api_tells_whose_attempts_are_void(site: Site) -> None:
    hold(site)
    (found,) = site.ok(200, site.client.get("/v1/seasons/1/voids", headers=site.organiser()))["items"]
    assert (found["voids"], found["attempts"], found["by_machine"], found["flagged"]) == (2, 3, {"1": 2}, False)
    site.problem(404, site.client.get("/v1/seasons/9/voids", headers=site.organiser()), "not-found")


def test_everybody_reads_on_the_matchs_page_what_happened(site: Site) -> None:
    (match_id,) = hold(site)
    text = site.client.get(f"/matches/{match_id}").text
    assert "until an organiser decides" in text and text.count("<td>seat 2, ") == 2
    assert "Match held</strong> by system" in text
    boss = site.organiser()
    site.client.post(f"/v1/matches/{match_id}/decide", json={**WHY, "seat": 1}, headers=boss)
    text = site.client.get(f"/matches/{match_id}").text
    assert "organiser decided this match" in text and "<strong>Decided: seat 2 lost</strong> by boss" in text
    assert "1 match played, 0 to come" not in text
    assert "2 matches played, 0 to come" in site.client.get("/seasons/1").text


@pytest.mark.parametrize(("answer", "after"), [("again", "abandoned"), ("leave", "abandoned"), ("1", "decided")])
def test_the_desk_has_three_answers(site: Site, boss: Browser, answer: str, after: str) -> None:
    match_id, other = hold(site, 2)
    boss.get("/desk")
    assert f'action="/desk/held/{other}"' in boss.answer.text
    boss.submit(f"/desk/held/{match_id}", 422, answer=answer, reason="")
    boss.submit(f"/desk/held/{match_id}", answer=answer, reason="looked at")
    assert state(site, match_id) == after
    assert f'action="/desk/held/{match_id}"' not in boss.get("/desk").text
    boss.submit(f"/desk/held/{other}", 422, answer="9", reason="no such seat")


def test_a_version_with_few_void_attempts_is_not_named_to_operators(site: Site, boss: Browser) -> None:
    hold(site)
    assert "Void attempts by version" not in boss.get("/operator").text
    assert 'deadheat_held_matches{game="yacht-auction"} 1.0' in site.client.get("/metrics").text


def test_operators_see_versions_with_more_void_attempts_than_by_chance(site: Site, boss: Browser, monkeypatch) -> None:
    hold(site, 3)
    assert "Void attempts by version" not in boss.get("/operator").text, "there is no field to compare it with"
    monkeypatch.setattr("deadheat.league.service.views.voids.MOST_LIKELY", 1.1)
    assert "Void attempts by version" in boss.get("/operator").text
    assert re.findall(r"<td>(\d+) on machine 1</td>", boss.answer.text) == ["4"], "the other version has two"
    assert "1 version: more void attempts than chance explains." in boss.answer.text


def test_the_desk_shows_versions_that_fail_too_often(site: Site, boss: Browser, monkeypatch) -> None:
    hold(site, 3)
    assert "Versions with too many void attempts" not in boss.get("/desk").text, "there is no field to compare it with"
    monkeypatch.setattr("deadheat.league.service.views.voids.MOST_LIKELY", 1.1)
    assert "with too many void attempts" in boss.get("/desk").text


def test_the_command_lists_decides_and_leaves(site: Site) -> None:
    first, second = hold(site, 2)
    with served(site.app) as server:
        boss = Typing(site, server)
        told = boss.says("boss", "organise", "held")
        assert f"Match {first} of season 1" in told and "host-memory (seed 1, seat 2 was to answer, machine 1)" in told
        why = ("--reason", "its own doing")
        assert f"Seat 2 loses match {first}." in boss.says("boss", "organise", "decide", first, "--seat", 2, *why)
        assert f"Match {second} stays unplayed." in boss.says("boss", "organise", "leave", second, *why)
        assert "No match." in boss.says("boss", "organise", "held")


@pytest.mark.parametrize("ranked", [False, True])
def test_the_audit_page_counts_those_that_wait(site: Site, ranked: bool) -> None:
    hold(site, 3)
    if ranked:
        assert site.world.write(refit, 1)
    (season,) = re.findall(r"<tr>\s*<th scope=\"row\">.*?</tr>", site.client.get("/audit").text, re.DOTALL)
    cells = re.findall(r"<td class=\"number\"[^>]*>([^<]*)", season)
    assert cells[-2:] == (["0", "3"] if ranked else ["\u2013", "3"])
