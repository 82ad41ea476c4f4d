"""Organisers' rulings and authors' appeals over HTTP."""

from __future__ import annotations

import pytest

from deadheat.league.records.rulings import AuditRecord
from deadheat.league.states import TranscriptsFrom
from deadheat.league.tables import Season
from deadheat.league.verification.chain import GENESIS, record_sha256
from tests.api.test_matches import Played

WHY = {"reason": "the host was overloaded"}


def organiser(played: Played) -> dict[str, str]:
    return played.site.organiser()


def test_an_organiser_voids_restores_and_rejudges(played: Played) -> None:
    site, boss = played.site, organiser(played)
    match = played.ids[0]
    for verb in ("void", "restore"):
        for changed in (True, False):
            ruled = site.ok(200, site.client.post(f"/v1/matches/{match}/{verb}", json=WHY, headers=boss))
            assert ruled == {"match_id": match, "changed": changed}
    again = site.ok(201, site.client.post(f"/v1/matches/{match}/rejudge", json=WHY, headers=boss))["match_id"]
    assert site.ok(200, site.client.get(f"/v1/matches/{again}"))["state"] == "scheduled"
    site.problem(409, site.client.post(f"/v1/matches/{match}/rejudge", json=WHY, headers=boss), "wrong-state")
    log = site.ok(200, site.client.get("/v1/audit", params={"subject": f"match/{match}"}))["items"]
    assert [record["action"] for record in log] == ["match-rejudged", "match-restored", "match-voided"]
    why = site.ok(200, site.client.get(f"/v1/matches/{match}"))["uncounted"]
    assert why == {
        "cause": "rejudged",
        "sentence": f"An organiser has it replayed as match {again}: the host was overloaded",
        "rejudged_id": again,
    }
    listed = site.ok(200, site.client.get("/v1/matches", params={"season": played.season}))["items"]
    assert {item["id"]: item["repeats_id"] for item in listed}[again] == match


def test_a_page_says_first_that_a_match_does_not_count(played: Played) -> None:
    site, boss = played.site, organiser(played)
    voided, appealed, abandoned = played.ids
    assert "does not count" not in page_of(played, voided)
    site.ok(200, site.client.post(f"/v1/matches/{voided}/void", json=WHY, headers=boss))
    title, *_ = page_of(played, voided).split("</h1>")
    assert "does not count" in title
    why = "Does not count.</strong> An organiser took it out of the log of results: the host was overloaded"
    assert why in page_of(played, voided)
    assert "does not count" in site.client.get(f"/seasons/{played.season}").text, "the list says so as well"
    made = site.ok(201, site.client.post(f"/v1/matches/{appealed}/appeals", json={"text": "x"}, headers=played.ada))
    body = {"uphold": False, "ruling": "it was late"}
    site.ok(200, site.client.post(f"/v1/appeals/{made['id']}/ruling", json=body, headers=boss))
    assert "<strong>Appeal rejected</strong> by boss" in page_of(played, appealed)
    assert "(most recently: host-unknown)" in page_of(played, abandoned)


def page_of(played: Played, match_id: int) -> str:
    return played.site.client.get(f"/matches/{match_id}").text


@pytest.mark.parametrize("verb", ["void", "restore", "rejudge"])
def test_a_ruling_needs_a_reason_and_a_match(played: Played, verb: str) -> None:
    site = played.site
    path = f"/v1/matches/{played.ids[0]}/{verb}"
    site.problem(422, site.client.post(path, json={"reason": "  "}, headers=organiser(played)))
    site.problem(404, site.client.post(f"/v1/matches/999/{verb}", json=WHY, headers=organiser(played)))


def test_an_entry_leaves_and_comes_back(played: Played) -> None:
    site, boss = played.site, organiser(played)
    entry = f"/v1/seasons/{played.season}/entries/{played.bots[0]}"
    site.ok(204, site.client.post(f"{entry}/withdraw", headers=played.ada))
    site.problem(404, site.client.post(f"{entry}/rejoin", headers=played.bob))
    answer = site.client.post(f"{entry}/rejoin", headers=played.ada)
    assert site.problem(429, answer, "too-soon")["retry_after_seconds"] == 3600
    assert answer.headers["Retry-After"] == "3600"
    site.world.clock.turn(3600)
    site.ok(204, site.client.post(f"{entry}/rejoin", headers=played.ada))
    site.problem(403, site.client.post(f"{entry}/withdraw", json=WHY, headers=played.ada))
    site.ok(204, site.client.post(f"{entry}/withdraw", json=WHY, headers=boss))
    site.problem(409, site.client.post(f"{entry}/rejoin", headers=played.ada))
    site.ok(204, site.client.post(f"{entry}/reinstate", json=WHY, headers=boss))
    site.problem(403, site.client.post(f"{entry}/disqualify", json=WHY, headers=played.ada))
    site.ok(204, site.client.post(f"{entry}/disqualify", json=WHY, headers=boss))
    site.problem(409, site.client.post(f"{entry}/rejoin", headers=played.ada))
    refusal = site.problem(409, site.client.put(entry, headers=played.ada), "wrong-state")
    assert refusal["detail"].startswith("The bot was disqualified by an organiser;")
    site.ok(204, site.client.post(f"{entry}/reinstate", json=WHY, headers=boss))


@pytest.mark.parametrize("transcripts", TranscriptsFrom)
def test_an_appeal_is_resimulated_and_ruled(transcripts: TranscriptsFrom, played: Played) -> None:
    site, boss = played.site, organiser(played)
    with site.world.db.transaction() as session:
        session.get_one(Season, played.season).transcripts = transcripts
    match = played.ids[1]  # ada's bot timed out in it, and the store lacks its transcript
    path = f"/v1/matches/{match}/appeals"
    appeal = site.ok(201, site.client.post(path, json={"text": "<script>no"}, headers=played.ada))
    assert appeal["state"] == "open"
    findings = appeal["findings"]
    assert findings["verified"] is None and findings["problem"] == "its transcript is lost"
    assert findings["faults"][0]["fault"] == "timeout"
    assert [attempt["cause"] for attempt in findings["attempts"]] == ["referee-late", "played"]
    site.problem(409, site.client.post(path, json={"text": "again"}, headers=played.ada), "wrong-state")
    assert site.ok(200, site.client.get("/v1/appeals", headers=played.bob))["items"] == []
    assert len(site.ok(200, site.client.get("/v1/appeals", headers=boss))["items"]) == 1
    ruling = f"/v1/appeals/{appeal['id']}/ruling"
    decision = {"uphold": True, "ruling": "the host was late twice", "remedy": "rejudge"}
    site.problem(403, site.client.post(ruling, json=decision, headers=played.ada))
    wrong = {"uphold": False, "ruling": "no", "remedy": "void"}
    site.problem(422, site.client.post(ruling, json=wrong, headers=boss))
    ruled = site.ok(200, site.client.post(ruling, json=decision, headers=boss))
    assert (ruled["state"], ruled["ruled_by"]) == ("upheld", "boss")
    site.problem(409, site.client.post(ruling, json=decision, headers=boss), "wrong-state")
    actions = [item["action"] for item in site.ok(200, site.client.get("/v1/audit"))["items"]]
    assert actions[:3] == ["match-rejudged", "appeal-ruled", "appeal-opened"]


def test_only_who_was_in_a_finished_match_may_appeal_and_may_take_it_back(played: Played) -> None:
    site = played.site
    carol = site.author("carol")
    path = f"/v1/matches/{played.ids[0]}/appeals"
    site.problem(404, site.client.post(path, json={"text": "x"}, headers=carol))
    site.problem(409, site.client.post(f"/v1/matches/{played.ids[2]}/appeals", json={"text": "x"}, headers=played.ada))
    appeal = site.ok(201, site.client.post(path, json={"text": "x"}, headers=played.ada))["id"]
    site.problem(404, site.client.post(f"/v1/appeals/{appeal}/withdraw", headers=played.bob))
    assert site.ok(200, site.client.post(f"/v1/appeals/{appeal}/withdraw", headers=played.ada))["state"] == "withdrawn"
    for _ in range(2):
        appeal = site.ok(201, site.client.post(path, json={"text": "anew"}, headers=played.ada))
        assert appeal["state"] == "open"
        site.ok(200, site.client.post(f"/v1/appeals/{appeal['id']}/withdraw", headers=played.ada))
    problem = site.problem(409, site.client.post(path, json={"text": "anew"}, headers=played.ada), "too-many")
    assert problem["detail"] == "Too many appeals of one bot against one match: the limit is 3."


def test_announcements_come_and_go(played: Played) -> None:
    site, boss = played.site, organiser(played)
    body = {"season": played.season, "title": "Finals on Sunday", "text": "Be there."}
    site.problem(403, site.client.post("/v1/announcements", json=body, headers=played.ada))
    made = site.ok(201, site.client.post("/v1/announcements", json=body, headers=boss))
    assert site.ok(200, site.client.get("/v1/announcements"))["items"] == [made]
    assert site.ok(200, site.client.get(f"/v1/announcements?season={played.season + 1}"))["items"] == []
    site.ok(204, site.client.delete(f"/v1/announcements/{made['id']}", headers=boss))
    assert site.ok(200, site.client.get("/v1/announcements"))["items"] == []


def test_the_audit_log_can_be_checked_by_anyone(played: Played) -> None:
    site = played.site
    records, cursor = [], None
    while True:
        params = {"oldest_first": "true", "limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = site.ok(200, site.client.get("/v1/audit", params=params))
        records += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    assert len(records) > 4
    previous = GENESIS
    for record in records:
        assert record["prev_sha256"] == previous and record["sha256"] == record_sha256(AuditRecord(**record))
        previous = record["sha256"]
