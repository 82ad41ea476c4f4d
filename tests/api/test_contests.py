"""One address for every kind of contest: who sees it, its lists, and where the addresses of earlier releases lead."""

import re

import httpx
import pytest
from sqlmodel import select

from deadheat.league.states import ContestKind
from deadheat.league.tables import Contest
from tests.api.browser import Browser
from tests.api.site import Site
from tests.api.test_challenges import Asking

GATE = {"gate": {"elo0": 0, "elo1": 100, "games": 20}}


@pytest.fixture
def asking(site: Site) -> Asking:
    return Asking(site)


def test_a_gate_is_its_authors_alone_because_its_terms_are_private(asking: Asking) -> None:
    site, path = asking.site, f"/v1/seasons/{asking.season_id}/entries/{asking.bot_id}"
    site.ok(200, site.client.put(path, json=GATE, headers=asking.headers))
    site.version(asking.headers, asking.bot_id, b"print(2)")
    site.world.tick()
    (gate,) = site.ok(200, site.client.get("/v1/contests?kind=gate", headers=asking.headers))["items"]
    assert [version["version"] for version in gate["versions"]] == [2, 1] and gate["state"] == "running"
    address = f"/contests/{gate['id']}"
    assert "promotion gate" in asking.ada.get(address).text
    site.problem(404, site.client.get(f"/v1{address}"), "not-found")
    assert site.client.get(address).status_code == 404
    refused = site.client.post(f"/v1{address}/cancel", headers=asking.headers)
    site.problem(409, refused, "wrong-state")
    of_season = f"/v1/seasons/{asking.season_id}/contests?kind=gate"
    assert site.ok(200, site.client.get(of_season))["items"] == []
    site.ok(200, site.client.put(path, json={"gate": None}, headers=asking.headers))
    site.world.tick()
    assert site.ok(200, site.client.get(of_season))["items"] == [] and site.client.get(address).status_code == 404
    page = site.client.get(f"/bots/{asking.bot_id}").text
    assert "swift v2" in page and address not in page, "its results are public"


def test_a_duel_leaves_the_threads_of_public_pages_alone(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    asking.ask()
    monkeypatch.setattr(asking.site.app.state.services, "showing", object())  # it would fail as a limiter
    assert "rival" in asking.ada.get("/contests/1").text


def test_addresses_of_earlier_releases_lead_to_the_contest(asking: Asking) -> None:
    site, number = asking.site, asking.ask()["id"]
    with site.world.db.transaction() as session:
        session.get_one(Contest, number).former_id = 77

    def leads(path: str) -> tuple[int, str]:
        answer = site.client.get(path, follow_redirects=False)
        return answer.status_code, answer.headers.get("location", "")

    assert leads("/challenges/77") == (308, f"/contests/{number}")
    assert leads(f"/challenges/{number}")[0] == 404
    assert leads("/challenges?before=77") == (308, "/contests"), "the number was another"
    assert leads("/evaluations/5?round=2") == (308, "/contests/5?round=2")
    assert leads("/seasons/1/evaluations?before=7") == (308, "/seasons/1/contests"), "the number was another"
    found = site.ok(200, site.client.get("/v1/contests/77?kind=request"))
    assert (found["id"], found["known_as"]) == (number, 77)
    assert site.ok(200, site.client.get("/v1/challenges/77"))["id"] == 77


def private_contest(asking: Asking, kind: ContestKind) -> int:
    """Begin a contest of Ada's that strangers do not see, known by the number 77 in earlier releases, and return its
    number.
    """
    site, season_id = asking.site, asking.season_id
    if kind is ContestKind.REQUEST:
        asking.ask(private=True)
    elif kind is ContestKind.GATE:
        entry = f"/v1/seasons/{season_id}/entries/{asking.bot_id}"
        site.ok(200, site.client.put(entry, json=GATE, headers=asking.headers))
        site.version(asking.headers, asking.bot_id, b"print(2)")
    else:
        site.world.bot("sample", owner=site.world.boss)
        entry = f"/v1/seasons/{site.world.season(0, panel=['boss/sample'])}/entries/{asking.bot_id}"
        site.ok(200, site.client.put(entry, json={}, headers=asking.headers))
    site.world.tick()
    with site.world.db.transaction() as session:
        row = session.exec(select(Contest).where(Contest.kind == kind)).one()
        row.former_id = 77
        return row.id


@pytest.mark.parametrize("kind", [ContestKind.REQUEST, ContestKind.GATE, ContestKind.PANEL])
def test_for_strangers_a_private_contest_is_like_one_that_does_not_exist(asking: Asking, kind: ContestKind) -> None:
    site, number = asking.site, private_contest(asking, kind)
    bob, token = Browser(site).sign_up("bob").client, site.sign_in("bob")

    def seen(client: httpx.Client, path: str, asked: int) -> tuple[int, str]:
        """Return what the client gets from that address with that number in place of N."""
        headers = {"Accept": "text/html"} | (token if client is bob and path.startswith("/v1/") else {})
        answer = client.get(path.replace("N", str(asked)), headers=headers, follow_redirects=False)
        return answer.status_code, re.sub(rf"\b{asked}\b", "N", answer.text)

    for client in (site.client, bob):
        for path in (f"/v1/contests/N?kind={kind}", "/challenges/N", "/v1/challenges/N", "/v1/challenges/N/matches"):
            absent, private = (seen(client, path, asked) for asked in (78, 77))
            assert private == absent and absent[0] == 404, path
        for path in ("/contests/N", "/v1/contests/N", "/v1/contests/N/matches", "/v1/contests/N/rounds/1"):
            assert seen(client, path, number)[0] == 404, path
    own = site.ok(200, site.client.get(f"/v1/contests/77?kind={kind}", headers=asking.headers))
    assert (own["id"], own["known_as"]) == (number, 77)


def test_who_is_shown_a_button_may_stop_the_contest(asking: Asking, boss: Browser) -> None:
    asking.ask()
    assert "Stop" not in asking.site.client.get("/contests/1").text
    assert "Stop" not in boss.get("/contests/1").text
    asking.ada.get("/contests/1")
    asking.ada.submit("/contests/1/cancel")
    assert "Its author stopped it." in asking.ada.page.text
    asking.ada.get(f"/seasons/{asking.season_id}/contests?kind=request")
    assert 'href="/contests/1"' in asking.ada.answer.text
