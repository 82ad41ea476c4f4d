"""The organiser's desk, the operator's page and appeals, in the browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from league import service
from league.states import Role
from tests.api.browser import OURS, Browser
from tests.api.site import Site
from tests.api.test_matches import Played
from tests.league.world import GAME

HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m"


@pytest.fixture
def played(site: Site) -> Played:
    return Played(site)


@pytest.fixture
def boss(site: Site) -> Iterator[Browser]:
    """An administrator, hence an organiser, in a browser."""
    browser = Browser(site).sign_up("chief")
    with site.world.db.transaction() as session:
        service.set_role(session, "chief", Role.ADMIN)
    yield browser
    browser.close()


@pytest.fixture
def ada(site: Site, played: Played) -> Iterator[Browser]:
    browser = Browser(site).sign_in("ada")
    yield browser
    browser.close()


def clean(browser: Browser) -> None:
    """Nothing of what a stranger wrote became more than text."""
    assert "<script>alert" not in browser.answer.text
    assert "\u202e" not in browser.answer.text
    assert "\x1b" not in browser.answer.text


@pytest.mark.parametrize("path", ["/desk", "/desk/seasons/1", "/operator"])
def test_an_author_has_no_desk(ada: Browser, site: Site, path: str) -> None:
    ada.get(path, 403)
    stranger = Browser(site)
    stranger.get(path)
    assert stranger.answer.url.path == "/sign-in"
    stranger.close()


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/desk/seasons", {"name": "S", "game": GAME}),
        ("/desk/seasons/1/state", {"state": "closed"}),
        ("/desk/seasons/1/settings", {"series_length": "5"}),
        ("/desk/seasons/1/invitations", {"name": "ada"}),
        ("/desk/seasons/1/entries/2/disqualify", {"reason": "mine is better"}),
        ("/desk/matches", {"match": "2", "verb": "void", "reason": "I lost"}),
        ("/desk/announcements", {"title": "t", "text": "t"}),
        ("/desk/announcements/1/take-down", {}),
        ("/desk/appeals/1", {"uphold": "true", "ruling": "of course"}),
    ],
)
def test_an_author_decides_nothing(ada: Browser, path: str, fields: dict[str, str]) -> None:
    ada.get("/account")
    answer = ada.client.post(path, data={**fields, "csrf": ada.page.token}, headers=OURS)
    assert answer.status_code == 403
    assert ada.client.get("/v1/audit?limit=1").json()["items"][0]["actor"] != "ada"


def test_a_season_is_made_changed_opened_and_closed(boss: Browser) -> None:
    boss.get("/desk")
    boss.submit("/desk/seasons", name="Winter", game=GAME, series_length="4", closes_at="2099-01-02T03:04:05")
    assert boss.page.text.count("Winter")
    path = boss.answer.url.path
    assert "scheduled" in boss.page.text
    page = boss.submit(f"{path}/settings", 422, languages="cobol")
    assert "cobol is none" in page.text
    boss.submit(f"{path}/settings", languages="python, c", admission="invited", closes_at="", games_per_pair="20")
    assert boss.form(f"{path}/settings").fields["languages"] == "python, c"
    assert boss.form(f"{path}/settings").fields["closes_at"] == ""
    boss.submit(f"{path}/invitations", 404, name="nobody")
    assert boss.submit(f"{path}/invitations", name="chief").text.count("Remove")
    token = boss.page.token
    for state in ("open", "closed"):
        answer = boss.client.post(f"{path}/state", data={"state": state, "csrf": token}, headers=OURS)
        assert answer.status_code == 303
    answer = boss.client.post(f"{path}/state", data={"state": "open", "csrf": token}, headers=OURS)
    assert answer.status_code == 409
    assert "It is over" in boss.get(path).text


def test_what_is_wrong_with_a_season_is_said_and_what_was_typed_stays(boss: Browser) -> None:
    boss.get("/desk")
    boss.submit("/desk/seasons", 422, name="Winter", game=GAME, seats="7", opens_at="2030-01-01T00:00:00")
    assert "is played by" in boss.page.text
    fields = boss.form("/desk/seasons").fields
    assert (fields["name"], fields["seats"], fields["opens_at"]) == ("Winter", "7", "2030-01-01T00:00:00")


def test_an_entry_is_disqualified_with_a_reason_and_reinstated(boss: Browser, played: Played) -> None:
    path, bot = f"/desk/seasons/{played.season}", played.bots[0]
    boss.get(path)
    boss.submit(f"{path}/entries/{bot}/disqualify", 422, reason="  ")
    page = boss.submit(f"{path}/entries/{bot}/disqualify", reason=HOSTILE)
    assert "disqualified" in page.text
    clean(boss)
    assert "disqualified" not in boss.submit(f"{path}/entries/{bot}/reinstate", reason="it was not so").text


def test_a_match_is_voided_restored_and_played_again(boss: Browser, played: Played) -> None:
    for verb in ("void", "restore", "rejudge"):
        boss.get("/desk")
        boss.submit("/desk/matches", match=str(played.ids[0]), verb=verb, reason=HOSTILE)
        assert boss.answer.url.path == f"/matches/{played.ids[0]}"
        clean(boss)
    boss.get("/desk")
    boss.submit("/desk/matches", 409, match=str(played.ids[0]), verb="rejudge", reason="again")
    assert boss.form("/desk/matches").fields["reason"] == "again"
    boss.submit("/desk/matches", 404, match="999", verb="void", reason="it")
    boss.submit("/desk/matches", 422, match="x", verb="void", reason="it")


def test_an_appeal_is_made_on_the_matchs_page_and_ruled_at_the_desk(
    ada: Browser, boss: Browser, played: Played
) -> None:
    match = played.ids[1]
    ada.get(f"/matches/{match}")
    assert f'href="/matches/{match}/appeal"' in ada.answer.text
    ada.get(f"/matches/{match}/appeal")
    ada.submit(f"/matches/{match}/appeal", text=HOSTILE)
    assert "does not replay" in ada.page.text
    clean(ada)
    ada.submit(f"/matches/{match}/appeal", 409, text="once more")
    boss.get("/desk")
    clean(boss)
    assert "does not replay" in boss.page.text
    boss.submit("/desk/appeals/1", 422, uphold="false", remedy="void", ruling="no")
    boss.submit("/desk/appeals/1", uphold="true", remedy="void", ruling="The host was overloaded.")
    assert "does not replay" not in boss.page.text
    page = ada.get(f"/matches/{match}/appeal")
    assert "upheld" in page.text
    assert "The host was overloaded." in page.text


def test_an_appeal_is_taken_back_by_its_author_alone(ada: Browser, site: Site, played: Played) -> None:
    match = played.ids[1]
    ada.get(f"/matches/{match}/appeal")
    ada.submit(f"/matches/{match}/appeal", text="It was fast.")
    eve = Browser(site).sign_up("eve")
    try:
        fields = {"csrf": eve.page.token}
        path = f"/matches/{match}/appeals/1/withdraw"
        assert eve.client.post(path, data=fields, headers=OURS).status_code == 404
        assert "It was fast." not in eve.get(f"/matches/{match}/appeal").text
        eve.submit(f"/matches/{match}/appeal", 404, text="me too")
    finally:
        eve.close()
    assert "withdrawn" in ada.submit(f"/matches/{match}/appeals/1/withdraw").text


def test_an_announcement_is_made_and_taken_down(boss: Browser) -> None:
    boss.get("/desk")
    boss.submit("/desk/announcements", title=HOSTILE, text=f"{HOSTILE}\r\nSecond line.")
    assert "\\r" not in boss.page.text
    assert "\\n" not in boss.page.text
    clean(boss)
    boss.get("/")
    clean(boss)
    boss.get("/desk")
    boss.submit("/desk/announcements/1/take-down")
    assert "Take down" not in boss.page.text


def test_the_operator_sees_queues_workers_and_what_went_wrong(boss: Browser, played: Played, site: Site) -> None:
    page = boss.get("/operator")
    assert "oldest waits" in page.text
    assert "machine" in page.text
    assert "timeout 1" in page.text
    assert "host faults, of" in page.text
    assert "Operator" in boss.get("/account").text
    with site.world.db.transaction() as session:
        service.set_role(session, "chief", Role.ORGANISER)
    boss.get("/operator", 403)
    boss.get("/desk")
