"""Seasons, entries, teams and quotas over HTTP."""

import unicodedata
from collections.abc import Mapping
from html import escape
from typing import Any

import httpx
import pytest

from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.jobs.builds import BuildOutcome, finish_build
from deadheat.league.service.rankings.standings import publish, refit
from deadheat.league.service.seasons.seasons import season_info, seasons
from deadheat.league.states import FinalsFormat, SeasonState
from tests.api.browser import OURS, Browser
from tests.api.site import Site
from tests.league.people import GAME

Headers = Mapping[str, str]


def made(site: Site, headers: Headers, **settings: Any) -> dict[str, Any]:
    body = {"game": GAME, "name": "Winter", **settings}
    answer = site.client.post("/v1/seasons", json=body, headers=dict(headers))
    found: dict[str, Any] = site.ok(201, answer)
    assert answer.headers["location"] == f"/v1/seasons/{found['id']}"
    return found


def ready_bot(site: Site, headers: Headers) -> int:
    bot_id = site.bot(headers)
    site.version(headers, bot_id)
    return bot_id


def test_a_season_is_made_with_every_setting_and_shows_them(site: Site) -> None:
    boss = site.organiser()
    settings = {
        "freezes_at": "2027-01-01T00:00:00Z", "closes_at": "2027-02-01T00:00:00Z", "finals": "swiss", "finals_top": 8,
        "finals_rounds": 4, "finals_extra_games": 500, "finals_log": "finals", "closes_when_done": False, "promoted": 2,
        "admission": "invited", "entries_per_author": 2, "teams_only": True, "languages": ["c", "python"],
        "uploads_per_hour": 10, "versions_per_day": 5, "challenge_games": 0,
    }  # fmt: skip
    season = made(site, boss, **settings, divisions=[{"name": "First", "size": 8}, {"name": "Second"}])
    assert {name: season[name] for name in settings} == settings
    assert season["divisions"] == [
        {"number": 1, "name": "First", "size": 8, "entries": 0},
        {"number": 2, "name": "Second", "size": None, "entries": 0},
    ]
    assert (season["published_at"], season["log_sha256"], season["previous_id"]) == (None, None, None)


def test_a_season_needs_a_game_or_a_season_before(site: Site) -> None:
    boss = site.organiser()
    site.problem(422, site.client.post("/v1/seasons", json={"name": "x"}, headers=boss), "invalid")
    body = {"name": "x", "previous_id": made(site, boss)["id"]}
    site.problem(409, site.client.post("/v1/seasons", json=body, headers=boss), "wrong-state")


def test_whole_deals_are_told_when_a_season_is_made_and_on_its_page(site: Site) -> None:
    body = {"name": "Dice", "game": "liars-dice", "seats": 4, "games_per_pair": 21, "finals": "swiss"}
    found = site.ok(201, site.client.post("/v1/seasons", json=body, headers=site.organiser()))
    assert (found["series_length"], found["games_per_pair"]) == (10, 21)
    assert found["plays"] == {"series_length": 8, "games_per_pair": 20, "finals_games": 8}
    assert found["rounded"] == (
        "Each deal is played once from each of the 4 seats, so there are 8 in one go, not 10; 20 of each pair, not 21; "
        "8 at each meeting in the finals, not 10."
    )
    page = site.client.get(f"/seasons/{found['id']}").text
    assert "8 matches, at least 20 per pair" in page and found["rounded"] in page


def test_the_page_of_a_season_tells_the_limits_that_are_not_as_usual(site: Site) -> None:
    boss = site.organiser()
    usual = site.client.get(f"/seasons/{made(site, boss)['id']}").text
    settings = {"upload_kib": 64, "languages": ["c", "python"], "entries_per_author": 2, "teams_only": True}
    limited = site.client.get(f"/seasons/{made(site, boss, name='Spring', **settings)['id']}").text
    for label, value in (
        ("Largest upload that may enter, in KiB", "64"),
        ("Languages", "c, python"),
        ("Entries per author", "2"),
        ("Owners of bots", "teams only"),
    ):
        told = f"<dt>{label}</dt><dd>{value}</dd>"
        assert told in limited and f"<dt>{label}</dt>" not in usual


def test_a_season_keeps_its_name_where_another_has_the_new_one(site: Site) -> None:
    boss = site.organiser()
    site.ok(201, site.client.post("/v1/seasons", json={"name": "Summer", "game": GAME}, headers=boss))
    path = f"/v1/seasons/{made(site, boss)['id']}"
    name = site.ok(200, site.client.get(path))["name"]
    site.problem(409, site.client.patch(path, json={"name": "SUMMER"}, headers=boss), "name-taken")
    assert site.ok(200, site.client.get(path))["name"] == name


@pytest.mark.parametrize("name", ["겨울 예선, 2026", "Über-Cup & Finals!", "e\u0301te\u0301"])
def test_a_season_has_a_name_in_any_language(site: Site, name: str) -> None:
    season = made(site, site.organiser(), name=name)
    assert season["name"] == unicodedata.normalize("NFC", name)
    assert escape(season["name"], quote=False) in site.client.get(f"/seasons/{season['id']}").text


@pytest.mark.parametrize(
    ("name", "has"),
    [
        (" x", "It begins with ' '"),
        ("a|b", "It contains '|'"),
        ("a\u200d", "It contains '\\u200d'"),
        ("\u3164", "\u3164"),
        ("\u0130", "\u0130"),
        ("\u09df" * 64, "at most 64"),  # twice as long when composed
    ],
)
def test_what_a_season_s_name_may_not_have_is_named(site: Site, name: str, has: str) -> None:
    asked = site.client.post("/v1/seasons", json={"game": GAME, "name": name}, headers=site.organiser())
    assert has in site.problem(422, asked, "invalid")["detail"]


def test_settings_and_state_change_in_one_request_or_not_at_all(site: Site) -> None:
    boss = site.organiser()
    path = f"/v1/seasons/{made(site, boss)['id']}"
    body = {"games_per_pair": 8, "state": "finals"}
    site.problem(409, site.client.patch(path, json=body, headers=boss), "wrong-state")
    assert site.ok(200, site.client.get(path))["games_per_pair"] is None
    changed = site.ok(200, site.client.patch(path, json=body | {"state": "open"}, headers=boss))
    assert (changed["games_per_pair"], changed["state"]) == (8, "open")
    refused = site.problem(422, site.client.patch(path, json={"ranks": "wins"}, headers=boss), "bad-setting")
    assert refused["setting"] == "ranks"


def test_final_standings_are_told_apart_from_others(site: Site) -> None:
    boss, ada = site.organiser(), site.author()
    season_id = made(site, boss)["id"]
    path = f"/v1/seasons/{season_id}"
    site.ok(200, site.client.put(f"{path}/entries/{ready_bot(site, ada)}", headers=ada))
    site.ok(200, site.client.patch(path, json={"state": "closed"}, headers=boss))
    assert site.world.write(publish, season_id)
    board = site.ok(200, site.client.get(f"{path}/leaderboard"))
    season = site.ok(200, site.client.get(path))
    assert board["final"]
    assert season["log_sha256"] == board["log_sha256"]
    assert (board["rows"][0]["division"], board["rows"][0]["finalist"], board["rows"][0]["team"]) == (1, False, None)
    page = site.client.get(f"/seasons/{season_id}", headers={"accept": "text/html"}).text
    assert "Final standings" in page and season["log_sha256"] in page


def test_a_season_in_which_something_is_open_is_closed_only_by_force(site: Site) -> None:
    boss = site.organiser()
    path = f"/v1/seasons/{site.world.season(2, games_per_pair=2, finals=FinalsFormat.SWISS)}"
    site.world.tick()
    found = site.ok(200, site.client.get(path))
    assert found["unfinished"] == {"appeals": 0, "matches": 2, "rejudged": 0, "finals": True}
    assert (found["waits_for"], found["finals_progress"]) == ([], [])
    refused = site.problem(409, site.client.patch(path, json={"state": "closed"}, headers=boss), "unsettled")
    assert refused["left"] == ["2 matches still to be played", "finals that are not over"]
    body = {"state": "closed", "force": True}
    assert site.ok(200, site.client.patch(path, json=body, headers=boss))["state"] == "closed"
    assert site.ok(200, site.client.get(path))["unfinished"]["finals"] is False
    assert "unplayed" in site.client.get("/audit", headers={"accept": "text/html"}).text


def test_the_page_of_a_season_tells_how_far_its_finals_are(site: Site) -> None:
    season_id = site.world.season(3, games_per_pair=2, finals=FinalsFormat.ROUND_ROBIN, finals_extra_games=7)
    site.world.play_all()
    site.world.write(set_season_state, site.world.boss, season_id, SeasonState.FINALS)
    site.world.write(refit, season_id)
    site.world.tick()
    (told,) = site.ok(200, site.client.get(f"/v1/seasons/{season_id}"))["finals_progress"]
    assert (told["finalists"], told["finished"], told["series"], told["extra_left"]) == (3, 0, 3, 7)
    page = " ".join(site.client.get(f"/seasons/{season_id}", headers={"accept": "text/html"}).text.split())
    assert "3 finalists, round 3 of 3, <strong>0 of 3</strong>" in page


def test_a_gate_whose_terms_make_no_test_is_refused(site: Site) -> None:
    ada = site.author()
    entry = f"/v1/seasons/{made(site, site.organiser())['id']}/entries/{ready_bot(site, ada)}"
    site.problem(422, site.client.put(entry, json={"gate": {"elo1": -1}}, headers=ada), "bad-setting")


def test_a_team_may_own_a_bot_from_the_start(site: Site) -> None:
    ada, eve = site.author("ada"), site.author("eve")
    team_id = site.ok(201, site.client.post("/v1/teams", json={"name": "lovelace"}, headers=ada))["id"]
    body = {"game": GAME, "name": "ours", "team_id": team_id}
    site.problem(404, site.client.post("/v1/bots", json=body, headers=eve), "not-found")
    assert site.ok(201, site.client.post("/v1/bots", json=body, headers=ada))["team"] == "lovelace"
    site.problem(409, site.client.post("/v1/teams", json={"name": "Lovelace"}, headers=eve), "name-taken")


@pytest.mark.parametrize(("quota", "seconds"), [("uploads_per_hour", 3600), ("versions_per_day", 24 * 3600)])
def test_over_a_quota_an_upload_is_refused_with_the_time_to_wait(site: Site, quota: str, seconds: int) -> None:
    site = site.beside(**{quota: 2})
    ada = site.author()
    bot_id = site.bot(ada)
    site.ok(202, site.upload(ada, bot_id, b"print(1)"))
    site.world.clock.turn(10.5)
    site.ok(202, site.upload(ada, bot_id, b"print(2)"))
    answer = site.upload(ada, bot_id, b"print(3)")
    refused = site.problem(429, answer, "over-quota")
    assert answer.headers["retry-after"] == str(seconds - 10)
    assert (refused["limit"], refused["retry_after_seconds"]) == (2, seconds - 10)
    assert len(site.queue.builds) == 2
    site.world.clock.turn(seconds - 10)
    site.ok(202, site.upload(ada, bot_id, b"print(3)"))


def test_the_transcript_of_a_qualification_is_its_authors(site: Site) -> None:
    ada, eve = site.author("ada"), site.author("eve")
    bot_id = site.bot(ada)
    version_id = site.ok(202, site.upload(ada, bot_id, b"print()"))["id"]
    path = f"/v1/bots/{bot_id}/versions/1/trial"
    site.problem(404, site.client.get(path, headers=ada), "not-found")
    transcript = b'{"a": 1}\n'
    job = site.world.building(version_id)
    assert site.world.write(finish_build, job, BuildOutcome(None, "slow", "", site.blobs.put(transcript)))
    answer = site.client.get(path, headers=ada)
    assert (answer.status_code, answer.content) == (200, transcript)
    assert answer.headers["content-type"] == "application/x-ndjson"
    site.problem(404, site.client.get(path, headers=eve), "not-found")
    site.problem(401, site.client.get(path), "bad-token")


FILE = f"""[season]
name = "Winter"
game = "{GAME}"
[matches]
series_length = 4
[dates]
timezone = "Asia/Seoul"
opens_at = 2098-12-01T18:00:00
"""
PAGE = "/desk/season-file"


def test_a_file_is_previewed_applied_and_fetched_again(site: Site) -> None:
    boss = site.organiser()
    body = {"document": FILE, "preview": True}
    told = site.ok(200, site.client.post("/v1/season-files", json=body, headers=boss))
    assert (told["season_id"], told["applied"], told["timezone"]) == (None, False, "Asia/Seoul")
    assert {"path": "matches.series_length", "now": 10, "then": 4} in told["changes"]
    opens = {"path": "dates.opens_at", "label": "Opens", "at": "2098-12-01T18:00:00+09:00", "otherwise": "manually"}
    assert told["timetable"][0] == opens
    made = site.ok(200, site.client.post("/v1/season-files", json={"document": FILE}, headers=boss))
    path = f"/v1/seasons/{made['season_id']}"
    assert made["applied"]
    assert site.ok(200, site.client.get(path))["opens_at"] == "2098-12-01T09:00:00Z"
    fetched = site.client.get(f"{path}/file", headers=boss)
    assert fetched.headers["content-type"].startswith("application/toml")
    again = site.ok(200, site.client.put(f"{path}/file", json={"document": fetched.text}, headers=boss))
    assert (again["applied"], again["changes"]) == (False, [])


def test_everybody_reads_the_file_without_the_list_of_who_is_invited(site: Site) -> None:
    boss = site.organiser()
    site.author("ada")
    document = f'{FILE}[entry]\nadmission = "invited"\ninvited = ["ada"]\n'
    made = site.ok(200, site.client.post("/v1/season-files", json={"document": document}, headers=boss))
    path = f"/v1/seasons/{made['season_id']}"
    own, public = site.client.get(f"{path}/file", headers=boss).text, site.client.get(f"{path}/season.toml").text
    assert 'invited = ["ada"]' in own
    assert "ada" not in public
    again = site.ok(200, site.client.put(f"{path}/file", json={"document": public}, headers=boss))
    assert (again["applied"], again["changes"]) == (False, [])


def test_a_refusal_lists_every_mistake(site: Site) -> None:
    text = FILE.replace("= 4", "= 0").replace("18:00:00", "18:00:00Z\nfreezes_at = 2098-01-01T00:00:00Z")
    answer = site.client.post("/v1/season-files", json={"document": text}, headers=site.organiser())
    found = site.problem(422, answer, "bad-season-file")
    assert found["mistakes"] == [
        {"path": "matches.series_length", "why": "it should be at least 1"},
        {"path": "dates.freezes_at", "why": "it must come after opens_at"},
    ]
    assert found["detail"].splitlines()[0] == "The file has 2 mistakes:"


def test_a_file_is_chosen_previewed_and_applied_at_the_desk(boss: Browser, site: Site) -> None:
    boss.get(PAGE)
    sent = {"csrf": boss.page.token, "document": ""}
    file = {"file": ("winter.toml", b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode())}
    boss.show(boss.client.post(PAGE, data=sent, files=file, headers=OURS), 200)
    assert "2098-12-01 18:00 KST" in boss.answer.text and "2098-12-01 09:00:00 UTC" in boss.answer.text
    with site.world.db.reading() as session:
        assert seasons(session) == []
    text = boss.page.forms[-1].fields["document"]
    assert text.strip() == FILE.strip()
    page = boss.submit(PAGE, apply="yes")
    assert "Winter" in page.text
    season_id = int(boss.answer.url.path.rpartition("/")[2])
    with site.world.db.reading() as session:
        assert season_info(session, season_id).series_length == 4
    where = f"{PAGE}?season={season_id}"
    text = boss.get(where).forms[-1].fields["document"]
    assert "series_length = 4\n" in text
    assert "nothing to change" in boss.show(post(boss, where, document=text), 200).text
    page = boss.show(post(boss, where, document=text.replace("length = 4", "length = 8")), 200)
    assert "matches.series_length" in page.text and "matches.seats" not in page.text.partition("A file (TOML)")[0]


def post(browser: Browser, where: str, **fields: str) -> httpx.Response:
    return browser.client.post(where, data={"csrf": browser.page.token, **fields}, headers=OURS, follow_redirects=True)


def test_the_desk_lists_every_mistake_and_keeps_what_was_typed(boss: Browser) -> None:
    boss.get(PAGE)
    text = FILE.replace("= 4", "= 0").replace("[dates]", '["date<script>"]')
    boss.show(post(boss, PAGE, document=text), 422)
    assert "<code>matches.series_length</code>: it should be" in boss.answer.text
    assert "date<script>" not in boss.answer.text and boss.page.forms[-1].fields["document"].strip() == text.strip()
    sent = {"csrf": boss.page.token, "document": ""}
    answer = boss.client.post(PAGE, data=sent, files={"file": ("x.toml", b"\xff\xfe")}, headers=OURS)
    assert answer.status_code == 422 and "not text in UTF-8" in answer.text


def test_a_forecast_is_told_over_http_and_at_the_desk(site: Site, boss: Browser) -> None:
    season_id = site.world.season(3)
    path = f"/v1/seasons/{season_id}/forecast"
    told = site.ok(200, site.client.get(path, params={"bots": 23}, headers=site.organiser()))
    assert (told["bots"], told["series_measured"]) == (23, 0)
    site.problem(422, site.client.get(path, params={"bots": 1}, headers=site.organiser()))
    site.problem(403, site.client.get(path, headers=site.author()))
    boss.get(f"/desk/seasons/{season_id}?bots=17")
    assert "17 bots" in boss.page.text
    boss.get("/desk/season-file")
    boss.submit("/desk/season-file", document=f'[season]\nname = "Final"\ngame = "{GAME}"\n', bots="12")
    assert "12 bots" in boss.page.text
