"""Agents that speak the interface of the seed's site, at our tables."""

from typing import Any

import httpx
import pytest

from deadheat.api.app import create_app
from deadheat.api.routes import seed_agents, tables
from deadheat.engine.transcript import decode
from deadheat.league.service.tables import viewing
from tests.api.browser import Browser
from tests.api.sheet import SheetAgent, decide
from tests.api.site import PASSWORD, InProcess, Site, bearer

LIARS = "liars-dice"
NAMES = ("Ann 1", "Bo_2", "Cy-3", "Di")


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "WAIT_SECONDS", 0.0)


def key_of(site: Site, account: dict[str, str], name: str = "Ann 1", model: str = "") -> Any:
    return site.ok(201, site.client.post("/api/agents", json={"name": name, "model": model}, headers=account))


def agents(site: Site, restarts: bool = False) -> list[SheetAgent]:
    """Return four agents of four accounts; `restarts`: before each request, the server is another one."""
    asked = [0]

    def ask(method: str, path: str, body: object, key: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {key}"}
        asked[0] += 1
        if not restarts or asked[0] % 4:
            return site.client.request(method, path, json=body, headers=headers)
        app = create_app(site.world.settings, queue=site.queue, db=site.world.db, blobs=site.blobs)
        with httpx.Client(transport=InProcess(app), base_url="http://league") as client:
            return client.request(method, path, json=body, headers=headers)

    keys = [key_of(site, site.author(f"owner{number}"), name, "made up") for number, name in enumerate(NAMES)]
    return [SheetAgent(ask, name, key["apiKey"]) for name, key in zip(NAMES, keys, strict=True)]


def seated(players: list[SheetAgent]) -> None:
    first = [agent.queue(LIARS) for agent in players]
    assert [told["status"] for told in first] == ["queued"] * 3 + ["matched"]
    for agent in players:
        agent.find(LIARS)


HOSTILE: tuple[dict[str, Any], ...] = (
    *({"type": "steal"}, {}, {"type": "bid", "quantity": 99, "faceValue": 9}, {"line": "x\ny"}, {"line": "y" * 9999}),
    {"type": "bid", "quantity": "1", "faceValue": [[[[]]]]},
)


@pytest.mark.parametrize("restarts", [False, True], ids=["one server", "restarts"])
def test_four_agents_from_the_sheet_play_a_match_of_liars_dice(site: Site, restarts: bool) -> None:
    players = agents(site, restarts)
    seated(players)
    turns = 0
    while (states := [agent.state() for agent in players])[0]["status"] != "game_over":
        for agent, told in zip(players, states, strict=True):
            if told["status"] == "your_turn":
                turns += 1
                move(agent, told, turns)
            else:
                assert agent.act(told["sequence"], {"type": "resign"}, 409)["error"] == "stale_sequence"
    for seat, told in enumerate(states):
        mine = [result for result in told["results"] if result["you"]]
        assert [result["seat"] for result in mine] == [seat] and told["reason"] == "finished"
    record = decode(site.client.get(f"/v1/exhibitions/{players[0].match}/transcript").content)
    assert record.result.faults == {} and record.result.ranks == tuple(one["rank"] for one in states[0]["results"])
    assert sorted(record.result.ranks) == [1, 2, 3, 4] and turns > 20


def move(agent: SheetAgent, told: dict[str, Any], turn: int) -> None:
    """Make a move as a client with a bad connection does."""
    assert told["view"]["isYourTurn"] and told["sequence"] not in agent.seen
    agent.seen.append(told["sequence"])
    assert agent.seen == sorted(agent.seen)
    action, sequence = decide(told["view"]), told["sequence"]
    if turn % 5 == 0:
        refused = agent.act(sequence, HOSTILE[turn // 5 % len(HOSTILE)], 400)
        assert refused["error"] == "invalid_action" and refused["details"]
        agent.act(sequence + 1, action, 409)
    after = agent.act(sequence, action)
    assert after["status"] != "your_turn" or after["sequence"] > sequence
    if after["status"] != "game_over":
        agent.act(sequence, action)  # the answer was lost
        assert agent.act(sequence, {"type": "resign"}, 409)["error"] == "not_your_turn"


def test_a_game_without_json_is_played_by_lines(site: Site) -> None:
    one, two = agents(site)[:2]
    assert one.queue("yacht-auction") == {"status": "queued", "position": 1}
    assert one.queue("yacht-auction")["status"] == "already_queued"
    assert two.queue("yacht-auction") == {"status": "matched", "matchId": one.match or "1"}
    one.find("yacht-auction")
    told = one.state()
    assert told["view"]["lines"][-1] == told["view"]["prompt"] and told["status"] == "your_turn"
    assert one.act(told["sequence"], {"line": "BID A 5"})["status"] == "waiting"
    assert two.act(told["sequence"], {"line": "BID Z 5"}, 400)["error"] == "invalid_action"


def test_who_polls_while_it_thinks_is_told_a_turn_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = agents(site)[:2]
    for agent in (one, two):
        agent.queue("yacht-auction")
    one.find("yacht-auction")
    looks, look = list[bool](), viewing.is_news

    def noted(*given: Any) -> bool:
        looks.append(look(*given))
        return looks[-1]

    monkeypatch.setattr(viewing, "is_news", noted)
    sequence = one.state()["sequence"]
    assert looks == [True]
    one.state(after=sequence)
    assert looks == [True, False]


def test_who_leaves_the_queue_is_not_queued(site: Site) -> None:
    one, *_ = agents(site)
    one.queue(LIARS)
    for _ in range(2):
        assert one.ask(200, "DELETE", "/api/matchmaking/queue") == {"status": "not_queued"}
    assert one.ask(200, "GET", f"/api/matchmaking/status?gameId={LIARS}") == {"status": "not_queued"}
    assert one.ask(404, "POST", "/api/matchmaking/queue", {"gameId": "chess"})["error"] == "game_not_found"


def test_a_key_plays_through_its_own_door_and_opens_no_other(site: Site) -> None:
    account = site.author("ada")
    made = key_of(site, account, "Ann 1", "a model")
    assert made["name"] == "Ann 1" and made["claim_url"] == "http://league/account"
    listed = site.ok(200, site.client.get("/v1/tokens", headers=account))["items"]
    assert {(one["kind"], one["label"]) for one in listed} >= {("agent", "Ann 1")}
    (news, *_) = site.ok(200, site.client.get("/v1/inbox", headers=account))["items"]
    assert news["text"].startswith("The key of the agent Ann 1 was created.")
    again = site.client.post("/api/agents", json={"name": "Ann 1"}, headers=account)
    assert (again.status_code, again.json()["error"]) == (409, "name_taken")
    for name, model in (("<script>", ""), (" ", ""), ("-x", ""), ("x.y", ""), ("x", "<script>")):
        bad = site.client.post("/api/agents", json={"name": name, "model": model}, headers=account)
        assert (bad.status_code, bad.json()["error"], bad.json()["title"]) == (400, "invalid_request", "Bad Request")
        assert "literal" not in bad.json()["details"]
    told = site.client.post("/api/agents", json={"name": "x"}).json()["details"]
    assert told.startswith("This requires an access token, and the request has none: register with the token of an acc")
    key = {"authorization": f"Bearer {made['apiKey']}"}
    for path in ("/v1/users/me", "/v1/inbox", "/v1/tokens", "/v1/tables/1/next"):
        assert site.client.get(path, headers=key).status_code == 401, path
    for path, body in (("/v1/bots", {"game": LIARS, "name": "b"}), ("/api/agents", {"name": "another"})):
        assert site.client.post(path, json=body, headers=key).status_code == 401
    assert site.client.get("/api/matches/1/state", headers=account).status_code == 401, "a token is no agent"
    site.client.delete(f"/v1/tokens/{made['id']}", headers=account)
    assert site.client.get("/api/matches/1/state", headers=key).status_code == 401, "its owner has revoked it"


def test_a_key_ends_with_the_token_that_made_it(site: Site) -> None:
    account, lasts = site.author("ada"), {"name": "ada", "password": PASSWORD, "label": "short", "days": 1}
    short = site.ok(201, site.client.post("/v1/tokens", json=lasts))
    made = [key_of(site, bearer(short["token"]), name) for name in ("one", "two")]
    keys = [bearer(each["apiKey"]) for each in made]
    assert [site.client.delete("/api/matchmaking/queue", headers=key).status_code for key in keys] == [200, 200]
    listed = site.client.get("/v1/tokens", headers=account).json()["items"]
    expiries = {each["id"]: each["expires_at"] for each in listed}
    assert expiries[int(made[0]["id"])] == expiries[short["id"]]
    site.client.delete(f"/v1/tokens/{made[0]['id']}", headers=account)
    assert [site.client.delete("/api/matchmaking/queue", headers=key).status_code for key in keys] == [401, 200]
    site.client.delete(f"/v1/tokens/{short['id']}", headers=account)
    assert [site.client.delete("/api/matchmaking/queue", headers=key).status_code for key in keys] == [401, 401]


def test_an_account_has_ten_agents_and_none_of_them_uses_up_its_tokens(site: Site) -> None:
    account = site.author("bob")
    for number in range(10):
        key_of(site, account, f"agent {number}", "GPT 9")
    refused = site.client.post("/api/agents", json={"name": "one more"}, headers=account)
    assert (refused.status_code, refused.json()["error"]) == (409, "too_many")
    named = {"name": "bob", "password": PASSWORD, "label": "another"}
    site.ok(201, site.client.post("/v1/tokens", json=named))
    page = Browser(site).sign_in("bob").get("/account").text
    assert "agent 9 GPT 9agent2026-01-01" in page


def test_names_that_differ_only_in_blanks_are_one_and_nothing_is_cut(site: Site) -> None:
    account, name, model = site.author("ada"), "a" * 63, "m" * 64
    assert key_of(site, account, f"{name} ", model)["name"] == name
    again = site.client.post("/api/agents", json={"name": name}, headers=account)
    assert (again.status_code, again.json()["error"]) == (409, "name_taken")
    known = seed_agents.player_of(site.app.state.services, key_of(site, account, "b", model)["apiKey"])
    assert (known.agent.name, known.agent.model) == ("b", model)


def test_an_agent_sees_no_match_of_another_one_even_of_its_own_account(site: Site) -> None:
    account = site.author("ada")
    one, two = (key_of(site, account, name)["apiKey"] for name in ("one", "two"))
    ask = {"authorization": f"Bearer {one}"}
    site.ok(200, site.client.post("/api/matchmaking/queue", json={"gameId": LIARS}, headers=ask))
    site.ok(200, site.client.get("/api/matches/1/state", headers=ask))
    for path in ("1", "99", "chess", "99999999999"):
        refused = site.client.get(f"/api/matches/{path}/state", headers={"authorization": f"Bearer {two}"})
        assert (refused.status_code, refused.json()["error"]) == (404, "match_not_found")


def test_games_are_described_and_one_has_a_schema(site: Site) -> None:
    listed = site.ok(200, site.client.get("/api/games"))
    told = site.ok(200, site.client.get(f"/api/games/{LIARS}"))
    assert told in listed and (told["minPlayers"], told["maxPlayers"]) == (2, 6)
    assert site.client.get(f"/api/games?tag={LIARS}").json() == [told] and "wild" in told["rules"]
    assert site.ok(200, site.client.get(f"/api/games/{LIARS}/rules"))["content"] == told["rules"]
    assert "oneOf" in site.ok(200, site.client.get(f"/api/games/{LIARS}/validator"))
    for path in ("yacht-auction/validator", "chess", "chess/rules", f"{LIARS}/strategy"):
        assert "error" in site.client.get(f"/api/games/{path}").json(), path


def test_who_asks_too_often_is_told_when_to_come_back(site: Site) -> None:
    beside = site.beside(reads_per_minute=10)
    answers = [beside.client.delete("/api/matchmaking/queue") for _ in range(3)]
    told = answers[-1].json()
    assert answers[-1].status_code == 429 and told["retryAfterMs"] > 0 and told["error"] == "over_quota"
