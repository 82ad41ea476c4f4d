"""A season as a file, over HTTP and at the desk."""

from __future__ import annotations

import httpx

from deadheat.league.service.seasons.seasons import season_info, seasons
from tests.api.browser import OURS, Browser
from tests.api.site import Site
from tests.league.people import GAME

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
