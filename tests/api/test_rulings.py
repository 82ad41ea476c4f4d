"""Organisers' rulings, held matches, authors' appeals, and the record of decisions."""

import ast
import re
from enum import StrEnum

import pytest

from deadheat.api.pages.audit import WORDS
from deadheat.league.jobs import MatchOutcome
from deadheat.league.records.rulings import AuditRecord
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.ground.audit import first_broken, record
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.seasons.seasons import edit_season, season_info
from deadheat.league.service.series.carrying_out import finish_series
from deadheat.league.states import Absence, ChallengeState, EvaluationState, Role, SeasonState, TranscriptsFrom
from deadheat.league.tables import Season
from deadheat.league.verification.fairness import GENESIS, record_sha256
from tests.api.browser import Browser
from tests.api.served import served
from tests.api.site import Site
from tests.api.test_matches import Played
from tests.cli.command import Typing
from tests.deployment import ROOT
from tests.league.outcomes import void, won

WHY = {"reason": "the host was overloaded"}


def organiser(played: Played) -> dict[str, str]:
    return played.site.organiser()


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
    site.problem(409, site.client.post(path, json={"text": "anew"}, headers=played.ada), "too-many")


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
    for entry in records:
        assert entry["prev_sha256"] == previous and entry["sha256"] == record_sha256(AuditRecord(**entry))
        previous = entry["sha256"]


MEMORY = {"reason": "its children fill the machine"}


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
    site.problem(422, site.client.post(f"{path}/decide", json={**MEMORY, "seat": 2}, headers=boss), "bad-setting")
    assert site.client.post(f"{path}/decide", json={**MEMORY, "seat": 1}, headers=boss).status_code == 204
    assert [seat["rank"] for seat in site.ok(200, site.client.get(path))["seats"]] == [1, 2]
    site.problem(409, site.client.post(f"{path}/leave", json=MEMORY, headers=boss), "wrong-state")
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
    site.client.post(f"/v1/matches/{match_id}/decide", json={**MEMORY, "seat": 1}, headers=boss)
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


def test_versions_with_more_void_attempts_than_by_chance_are_named(site: Site, boss: Browser, monkeypatch) -> None:
    hold(site, 3)
    assert "Void attempts by version" not in boss.get("/operator").text, "there is no field to compare it with"
    assert "with too many void attempts" not in boss.get("/desk").text
    monkeypatch.setattr("deadheat.league.service.views.voids.MOST_LIKELY", 1.1)
    assert "with too many void attempts" in boss.get("/desk").text
    assert "Void attempts by version" in boss.get("/operator").text
    assert re.findall(r"<td>(\d+) on machine 1</td>", boss.answer.text) == ["4"], "the other version has two"
    assert "1 version: more void attempts than chance explains." in boss.answer.text


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


SUBJECT = re.compile(r'aria-label="Decisions about ([^"]*)"')
RECORDERS = ("record", "note_ruling", "_come_back")
COMPOSED: dict[str, type[StrEnum]] = {"season": SeasonState, "entry": Absence, "evaluation": EvaluationState}


@pytest.fixture
def ruled(site: Site) -> Played:
    """Two matches, each ruled on by the organiser."""
    found = Played(site)
    for match in found.ids[:2]:
        body = {"reason": "the <b>host</b>"}
        site.ok(200, site.client.post(f"/v1/matches/{match}/void", json=body, headers=site.organiser()))
    return found


def read(site: Site, **chosen: str) -> str:
    answer = site.client.get("/audit", params=chosen)
    assert answer.status_code == 200
    return str(answer.text)


def test_decisions_are_found_by_person_thing_and_kind(site: Site, ruled: Played) -> None:
    first, second = (f"match/{match}" for match in ruled.ids[:2])
    assert SUBJECT.findall(read(site, kind="Matches"))[:2] == [second, first]
    assert set(SUBJECT.findall(read(site, about=first))) == {first}
    assert "No decision matches." in read(site, who="nobody")
    assert {"bot/1"} == set(SUBJECT.findall(read(site, who="ada", kind="Bots")))
    assert SUBJECT.findall(read(site, kind="no such kind")) == SUBJECT.findall(read(site))


def test_a_thing_is_found_by_its_number_and_its_name_with_what_belongs_to_it(site: Site, ruled: Played) -> None:
    first, second = (f"match/{match}" for match in ruled.ids[:2])
    of_season = SUBJECT.findall(read(site, about="season/1"))
    assert {first, second, "season/1"} <= set(of_season)
    assert SUBJECT.findall(read(site, about="Season 1")) == of_season
    assert SUBJECT.findall(read(site, about=site.world.read(season_info, 1).name.upper())) == of_season
    assert SUBJECT.findall(read(site, about="season 2")) == []
    bot = site.world.read(bot_info, 1)
    of_bot = set(SUBJECT.findall(read(site, about="bot 1")))
    assert of_bot == {"bot/1", "season/1"}, "it was entered there"
    assert of_bot <= set(SUBJECT.findall(read(site, about=bot.name))), "others may have its name"
    for nothing in ("no such thing", f"season {10**30}", f"bot/{2**63}"):
        assert "No decision matches." in read(site, about=nothing)


def test_a_changed_setting_shows_what_it_was(site: Site, ruled: Played) -> None:
    site.world.write(edit_season, site.world.boss, 1, name="Spring")
    page = re.sub("<[^>]*>", "", read(site, about="Spring", kind="Seasons"))
    assert re.search(r"name \S.* → Spring", page)
    assert site.world.read(first_broken) is None


def test_things_have_names_and_pages_and_old_decisions_keep_the_choice(site: Site, ruled: Played, monkeypatch) -> None:
    monkeypatch.setattr("deadheat.api.pages.audit.RECORDS", 1)
    page = read(site, kind="Matches")
    assert f'voided <a href="/matches/{ruled.ids[1]}">match {ruled.ids[1]}</a>' in page
    assert "the &lt;b&gt;host&lt;/b&gt;" in page
    older = re.search(r'href="(/audit[^"#]*cursor=[^"#]*)', page)
    assert older
    following = site.client.get(older[1].replace("&amp;", "&")).text
    assert SUBJECT.findall(following) == [f"match/{ruled.ids[0]}"]
    assert re.search(r'uploaded a version of <a href="/bots/\d+">bot [^<]+</a>', read(site, kind="Bots"))


def test_a_record_without_the_figures_that_its_action_has_stops_no_page(site: Site, ruled: Played) -> None:
    match = ruled.ids[0]
    with site.world.db.transaction() as session:
        for action, data in (("match-voided", [1]), ("appeal-ruled", {}), ("match-decided", {})):
            record(session, "eve", action, f"match/{match}", data)  # type: ignore[arg-type]
    assert read(site, who="eve").count('aria-label="Decisions about') == 3
    assert "eve" in site.client.get(f"/matches/{match}").text


def test_every_action_of_the_audit_log_has_its_words() -> None:
    recorded = {
        part.value
        for path in (ROOT / "league").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in RECORDERS
        for argument in call.args[1:]
        for part in ast.walk(argument)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
        if re.fullmatch("[a-z]+(-[a-z]+)+", part.value)
    }
    composed = {f"{word}-{state.value}" for word, states in COMPOSED.items() for state in states}
    composed |= {f"{word}-{state.value}" for word in ("challenge", "panel") for state in ChallengeState}
    composed |= {role.action for role in Role}
    missing = (recorded | composed) - WORDS.keys()
    assert len(recorded) > 30
    assert missing == {"season-scheduled", "evaluation-running", "challenge-running", "panel-running"}, (
        "nobody records that these begin"
    )
