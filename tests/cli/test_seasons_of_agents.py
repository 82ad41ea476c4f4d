"""Seasons of agents: queued for over HTTP, played at tables, and ranked, watched, archived and verified like any."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from deadheat.api.routes import tables as routes
from deadheat.api.watching import keep_record
from deadheat.engine.games.folder import bots_of
from deadheat.engine.transcript import decode, encode
from deadheat.league.causes import Cause
from deadheat.league.service.people.person import Person
from deadheat.league.service.tables import places, sitting, turns
from deadheat.league.service.tables.entering import MOST_A_DAY
from deadheat.league.states import JobState, Players, SeasonState, SeatKind, TableState
from deadheat.league.tables import Attempt, DeadlineCount, Match, ResponseTimes, Season, Series, User
from tests.api.browser import Browser
from tests.api.site import Site, token_in
from tests.api.test_tables import fetch, post
from tests.bots.loading import bot_class
from tests.cli.command import invoke, succeeded
from tests.league import tabled
from tests.league.people import GAME

Token = dict[str, str]


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "WAIT_SECONDS", 0.0)


def season_of_agents(site: Site, **chosen: Any) -> int:
    return site.world.season(0, players=Players.AGENTS, games_per_pair=None, **chosen)


def queue(site: Site, token: Token, name: str, model: str = "", season_id: int = 1) -> Any:
    return site.client.post(f"/v1/seasons/{season_id}/table", json={"name": name, "model": model}, headers=token)


def sit(site: Site, *players: tuple[Token, str]) -> tuple[str, dict[int, Token]]:
    """Sit agents down at one table; return its address, and whose each seat is."""
    tables = [site.ok(200, queue(site, token, name)) for token, name in players]
    assert len({table["id"] for table in tables}) == 1 and tables[-1]["match_id"] is not None
    path = f"/v1/tables/{tables[-1]['id']}"
    return path, {fetch(site, token, path)["seat"]: token for token, _ in players}


def play(site: Site, path: str, seats: Mapping[int, Token], until: int = 1000) -> Any:
    """Let random bots play until the match is over, or this many questions were answered; return the table."""
    minds = {seat: bot_class(bots_of(GAME) / "random")(seat) for seat in seats}
    after = dict.fromkeys(seats, 0)
    while (table := site.ok(200, site.client.get(path)))["state"] == "running" and until:
        for seat, token in seats.items():
            turn = fetch(site, token, path, after[seat])
            if turn["prompt"] is not None and until:
                line = [minds[seat].answer(line) for line in turn["lines"]][-1]
                site.ok(200, post(site, token, path, turn["turn"], line))
                after[seat], until = turn["turn"], until - 1
    return table


def let_pass(site: Site, seconds: int) -> None:
    for _ in range(seconds):
        site.world.clock.turn(1)
        for table_id in site.world.write(tabled.watched):
            keep_record(site.app.state.services, table_id)


def test_a_season_of_agents_is_ranked_watched_archived_and_verified(
    site: Site, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    season_id = season_of_agents(site)
    ada, bob = (site.author(name) for name in ("ada", "bob"))
    both = ((ada, "one"), (bob, "two"))
    for _ in range(4):
        assert play(site, *sit(site, *both))["state"] == "done"
    path, seats = sit(site, *both)
    play(site, path, seats, 3)
    live = site.ok(200, site.client.get("/v1/matches/5/live"))
    assert live["match"] is not None and "you see it" in live["told"]
    let_pass(site, 90)
    assert site.ok(200, site.client.get(path))["state"] == "done", "the last one was late"
    path, seats = sit(site, *both)
    assert site.world.tick() == [], "nothing is planned"
    site.ok(200, site.client.post(f"{path}/resign", headers=ada))
    assert play(site, path, {seat: token for seat, token in seats.items() if token is bob})["state"] == "done"
    (board,) = [site.world.ranking(season_id)] if site.world.rank(season_id) else [[]]
    assert [(row["author"], row["games"]) for row in sorted(board, key=lambda row: row["author"])] == [
        ("ada", 6),
        ("bob", 6),
    ]
    assert all(row["low"] < row["elo"] < row["high"] for row in board)
    for number in range(1, 7):
        assert site.client.get(f"/matches/{number}").status_code == 200
        said = site.ok(200, site.client.get(f"/v1/matches/{number}/verification"))
        assert said["verified"], said
    (lost,) = [seat for seat in site.ok(200, site.client.get("/v1/matches/6"))["seats"] if seat["fault"]]
    assert (lost["fault"]["fault"], lost["fault"]["why"]) == ("exited", "the player resigned")
    told = [site.client.get(path).text for path in ("/matches/6", "/v1/matches/6/replay")]
    for text in (*told, succeeded(invoke("explain", "6", "--seat", str(lost["seat"] + 1))).stdout):
        assert "the player resigned" in text and "program ended" not in text, text
    record = decode(site.client.get("/v1/matches/1/transcript").content)
    about: dict[str, Any] = record.about  # type: ignore[assignment]
    assert sorted(about["players"]) == ["ada/one v1", "bob/two v1"] and {*about["turns"]} == {"0", "1"}
    assert site.client.get("/play/1").headers["location"] == "/matches/1"
    for part in ("replay", "transcript", "verification"):
        said = site.problem(404, site.client.get(f"/v1/exhibitions/1/{part}"))
        assert said["detail"] == "It is match 1 of a season."
    for table in (DeadlineCount, ResponseTimes):
        assert not site.world.rows(select(table)), "a network's delays are no programs'"
    counted = site.ok(200, site.client.get("/v1/timeouts"))
    assert counted["bots"] == counted["commands"] == [] and counted["agents"][0]["late"] == 1
    assert counted["agents"][0]["turns"] > 50 and counted["agents"][0]["absent"] <= 1
    late = [
        site.ok(200, site.client.get("/v1/matches", params={"late": "bot", **which}))["items"]
        for which in ({}, {"season": 1})
    ]
    assert [len(found) for found in late] == [0, 1]
    assert "in no other figure here" in site.client.get("/timeouts", headers={"accept": "text/html"}).text
    site.world.set_state(season_id, SeasonState.CLOSED)
    site.problem(409, queue(site, ada, "one"))
    site.world.settle_rankings()
    path = str(tmp_path / "season.zip")
    assert "is not over" not in succeeded(invoke("season", "archive", str(season_id), "-o", path)).stderr
    done = invoke("season", "verify", path)
    assert done.returncode == 0, done.stdout
    assert "6 matches played again" in done.stdout


def test_nothing_tells_a_time_that_was_not_measured(
    site: Site, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    season_id = season_of_agents(site)
    ada, bob = site.author("ada"), site.author("bob")
    path, seats = sit(site, (ada, "one"), (bob, "two"))
    play(site, path, seats, 3)
    live = site.ok(200, site.client.get("/v1/matches/1/live"))["match"]
    waiting = fetch(site, seats[0], path), fetch(site, seats[1], path)
    (late,) = [turn["seat"] for turn in waiting if turn["prompt"] is not None][:1]
    let_pass(site, 90)
    shown = site.ok(200, site.client.get("/v1/matches/1"))
    assert shown["latencies"] == [] and shown["seats"][late]["fault"]["fault"] == "timeout"
    assert all(seat["fault"] is None or seat["fault"]["elapsed_ms"] is None for seat in shown["seats"])
    replay = site.ok(200, site.client.get("/v1/matches/1/replay"))
    assert not any(scene["answers"] for each in (live, replay) for scene in each["scenes"])
    assert site.client.get(f"/v1/seasons/{season_id}/export/latencies.csv").text.count("\n") <= 1
    mine = Browser(site).sign_in("ada" if seats[late] is ada else "bob").get("/matches/1/mine")
    pages = [site.client.get("/matches/1").text, mine.text]
    explained = succeeded(invoke("explain", "1", "--seat", str(late + 1))).stdout
    for text in (*pages, explained):
        assert "of 500 ms" not in text and "flush your output" not in text and "0.00 ms" not in text, text
    assert "within the time for a move" in explained and "within the time for a move" in mine.text
    assert site.ok(200, site.client.get("/v1/matches/1/verification"))["verified"]


def test_an_owner_never_meets_itself_nor_anybody_too_often_in_a_day(site: Site) -> None:
    season_of_agents(site)
    ada, bob, eve = (site.author(name) for name in ("ada", "bob", "eve"))
    mine = [site.ok(200, queue(site, ada, name)) for name in ("one", "two", "one", "One")]
    assert [table["state"] for table in mine] == ["open"] * 4
    assert len({table["id"] for table in mine}) == 2, "an agent that waits keeps its seat"
    for number in range(MOST_A_DAY):
        table = site.ok(200, queue(site, bob, "x"))
        assert (table["state"], table["id"]) == ("running", mine[number % 2]["id"]), number
        for token in (bob, ada):
            site.ok(200, site.client.post(f"/v1/tables/{table['id']}/resign", headers=token))
        site.world.clock.turn(600)
        mine[number % 2] = site.ok(200, queue(site, ada, ("one", "two")[number % 2]))
    waits = site.ok(200, queue(site, bob, "x"))
    assert waits["state"] == "open" and waits["id"] not in {table["id"] for table in mine}
    assert site.ok(200, queue(site, eve, "y"))["state"] == "running"


def test_pages_tell_agents_what_begins_a_match(site: Site) -> None:
    season_id = season_of_agents(site)
    site.ok(200, queue(site, site.author("ada"), "one"))
    shown = {path: site.client.get(path).text for path in (f"/seasons/{season_id}", "/bots/1")}
    assert "Agents play here" in shown[f"/seasons/{season_id}"] and "plays when it asks" in shown["/bots/1"]
    assert not any("still open" in text or "missing" in text for text in shown.values()), "the house's bots sit in"


def test_no_pace_of_machines_is_forecast_for_agents(site: Site, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    monkeypatch.setenv("DEADHEAT_TOKEN", token_in(site.organiser()))
    said = succeeded(invoke("season", "forecast", str(season_of_agents(site)))).stdout
    assert "0 agents; their matches begin when they ask for one" in said and "a minute" not in said, said


def test_programs_and_agents_are_never_mixed(site: Site) -> None:
    agents, programs = season_of_agents(site), site.world.season(2)
    ada, boss = site.author("ada"), site.organiser()
    site.ok(200, queue(site, ada, "one", "model A"))
    (bot,) = site.ok(200, site.client.get("/v1/bots", headers=ada))["items"]
    assert "enter a bot" in site.problem(409, queue(site, ada, "one", season_id=programs))["detail"]
    for number, headers in ((programs, ada), (programs, boss)):
        said = site.client.put(f"/v1/seasons/{number}/entries/{bot['id']}", headers=headers)
        assert "programs play in it" in site.problem(403, said)["detail"]
    other = site.world.entrant(programs)[1]
    said = site.client.put(f"/v1/seasons/{agents}/entries/{other}", headers=boss)
    assert "agents play in it" in site.problem(403, said)["detail"]
    upload = site.client.post(f"/v1/bots/{bot['id']}/versions", files={"file": ("bot.py", b"1")}, headers=ada)
    assert "has no programs" in site.problem(409, upload)["detail"]
    gate = site.client.put(f"/v1/seasons/{agents}/entries/{bot['id']}", json={"gate": {}}, headers=ada)
    assert "no promotion gates" in site.problem(422, gate)["detail"]
    site.ok(200, queue(site, site.author("bob"), "two"))
    rivals = [one["bot_id"] for one in site.ok(200, site.client.get(f"/v1/seasons/{agents}/entries"))["items"]]
    asked = {"season_id": agents, "bot_id": bot["id"], "opponent_id": rivals[-1], "games": 2}
    for season_id, opponent_id in ((agents, rivals[-1]), (programs, other)):
        wanted = {**asked, "season_id": season_id, "opponent_id": opponent_id}
        said = site.client.post("/v1/challenges", json=wanted, headers=ada)
        assert "Agents play no unrated matches" in site.problem(409, said)["detail"]
    site.bot(ada, "mine")
    site.problem(409, queue(site, ada, "mine"))


@pytest.mark.parametrize(
    "settings",
    [
        {"finals": "swiss"},
        {"ladder": False},
        {"games_per_pair": 4},
        {"rest_faults": 3},
        {"languages": ["python"]},
        {"panel": ["a/b"]},
        {"divisions": [{"name": "A"}, {"name": "B"}]},
        {"move_seconds": 4},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_a_season_of_agents_has_nothing_that_the_league_plans(site: Site, settings: dict[str, Any]) -> None:
    body = {"name": "S", "game": GAME, "players": "agents", **settings}
    site.problem(422, site.client.post("/v1/seasons", json=body, headers=site.organiser()))


def test_an_agent_that_a_season_refuses_leaves_nothing_in_the_store(site: Site) -> None:
    token, claim = site.author("ada"), hashlib.sha256(b"one\n").hexdigest()
    site.world.season(0)
    site.problem(404, queue(site, token, "one", season_id=2))
    site.problem(409, queue(site, token, "one"))
    season_id = season_of_agents(site)
    site.world.set_state(season_id, SeasonState.CLOSED)
    site.problem(409, queue(site, token, "one", season_id=season_id))
    season_id = season_of_agents(site)
    for number in range(sitting.MOST_TABLES):
        other = f"agent {number}"
        site.ok(200, site.client.post("/v1/tables/queue", json={"game": GAME, "name": other}, headers=token))
    site.problem(409, queue(site, token, "one", season_id=season_id))
    assert not site.blobs.has(claim)
    for table_id in range(1, sitting.MOST_TABLES + 1):
        site.ok(200, site.client.post(f"/v1/tables/{table_id}/resign", headers=token))
    site.ok(200, queue(site, token, "one", season_id=season_id))
    assert site.blobs.has(claim)


def test_each_model_is_a_version_and_its_claim_can_be_read(site: Site) -> None:
    season_id = season_of_agents(site)
    ada = site.author("ada")
    table = site.ok(200, queue(site, ada, "one", "model A"))
    entry: dict[str, Any] = {}
    for model, number in (("model A", 1), ("model B", 2), ("model A", 1)):
        site.client.post(f"/v1/tables/{table['id']}/resign", headers=ada)
        site.world.clock.turn(3600)
        table = site.ok(200, queue(site, ada, "one", model))
        (entry,) = site.ok(200, site.client.get(f"/v1/seasons/{season_id}/entries"))["items"]
        assert entry["version"] == number
    assert site.client.get(f"/v1/bots/{entry['bot_id']}/versions/2/source", headers=ada).text == "model B\n"
    bob = site.author("bob")
    site.ok(200, queue(site, bob, "two"))
    seats = {seat["author"]: seat["model"] for seat in site.ok(200, site.client.get("/v1/matches/1"))["seats"]}
    assert seats == {"ada": "model A", "bob": ""}
    assert all("model A" in site.client.get(page).text for page in ("/matches/1", f"/bots/{entry['bot_id']}"))
    site.client.post(f"/v1/tables/{table['id']}/resign", headers=ada)
    assert "recently" in site.problem(429, queue(site, ada, "one", "model B"))["detail"]


def test_who_waits_at_a_table_of_a_season_is_told_to_nobody_before_it_is_full(site: Site) -> None:
    season_of_agents(site)
    ada, bob = site.author("ada"), site.author("bob")
    table = site.ok(200, queue(site, ada, "one", "model A"))
    path = f"/v1/tables/{table['id']}"
    for shown in (table, site.ok(200, site.client.get(path, headers=bob)), site.ok(200, site.client.get(path))):
        assert sorted(player["name"] for player in shown["players"]) == ["", "-"] and shown["commitment"] == ""
        assert not any(player["author"] or player["model"] for player in shown["players"])
    full = site.ok(200, queue(site, bob, "two"))
    assert {player["author"] for player in full["players"]} == {"ada", "bob"}
    assert full["commitment"] == site.ok(200, site.client.get("/v1/matches/1"))["commitment"]


def test_who_left_a_table_of_a_season_is_told_to_nobody_either(site: Site) -> None:
    season_of_agents(site, game="liars-dice", seats=4)
    ada, bob = site.author("ada"), site.author("bob")
    table = site.ok(200, queue(site, ada, "one"))
    assert site.ok(200, queue(site, bob, "two"))["id"] == table["id"]
    for number, who in ((table["id"] + 1, bob), (table["id"], ada)):  # the last to leave ends the table itself
        site.ok(200, site.client.post(f"/v1/tables/{table['id']}/resign", headers=who))
        left = site.ok(200, site.client.get(f"/v1/tables/{number}"))
        assert left["state"] == "abandoned" and {player["name"] for player in left["players"]} <= {"", "-"}


def test_who_queues_again_as_another_model_keeps_the_seat_and_its_version(site: Site) -> None:
    season_id = season_of_agents(site)
    ada = site.author("ada")
    assert len({site.ok(200, queue(site, ada, "one", model))["id"] for model in ("A", "", "B")}) == 1
    (entry,) = site.ok(200, site.client.get(f"/v1/seasons/{season_id}/entries"))["items"]
    assert site.ok(200, site.client.get("/v1/bots/1", headers=ada))["versions"] == entry["version"] == 1


def test_who_plays_in_a_season_is_settled_by_the_first_entry_and_agents_have_no_divisions(site: Site) -> None:
    entered = site.world.season(2, games_per_pair=None)
    divided = site.world.season(0, divisions=[("A", 2), ("B", None)], games_per_pair=None)
    with site.world.db.transaction() as session:
        for season_id in (entered, divided):
            session.get_one(Season, season_id).state = SeasonState.SCHEDULED
    for season_id, why in ((entered, "have entered"), (divided, "divisions")):
        said = site.client.patch(f"/v1/seasons/{season_id}", json={"players": "agents"}, headers=site.organiser())
        assert why in site.problem(422, said)["detail"]


def test_a_table_that_is_given_up_leaves_its_match_unplayed_and_the_dice_accounted_for(site: Site) -> None:
    season_id = season_of_agents(site)
    ada, bob = site.author("ada"), site.author("bob")
    path, _ = sit(site, (ada, "one"), (bob, "two"))
    number = int(path.rpartition("/")[2])
    for _ in range(2):
        site.world.write(places.abandon, number, TableState.RUNNING, Cause.UNKNOWN)
    assert site.ok(200, site.client.get("/v1/matches/1"))["state"] == "abandoned"
    assert site.world.row(Series, 1).state is JobState.ABANDONED
    play(site, *sit(site, (ada, "one"), (bob, "two")))
    site.world.publish(season_id)
    matches = site.world.rows(select(Match).order_by(col(Match.id)))
    assert [match.deal for match in matches] == [1, 2] and site.world.row(Season, season_id).deals == 2


def test_a_season_that_closes_waits_for_its_tables_and_begins_no_more(site: Site) -> None:
    season_id = season_of_agents(site)
    ada, bob, eve = (site.author(name) for name in ("ada", "bob", "eve"))
    path, seats = sit(site, (ada, "one"), (bob, "two"))
    open_one = site.ok(200, queue(site, eve, "three"))["id"]
    site.world.set_state(season_id, SeasonState.CLOSED)
    site.world.settle_rankings()
    assert site.ok(200, site.client.get(f"/v1/seasons/{season_id}"))["published_at"] is None
    site.problem(409, queue(site, site.author("dan"), "four"))
    said = site.client.post(f"/v1/tables/{open_one}/seat", json={"name": "four"}, headers=ada)
    assert "queue for the season" in site.problem(409, said)["detail"]
    assert play(site, path, seats)["state"] == "done"
    site.world.settle_rankings()
    assert site.ok(200, site.client.get(f"/v1/seasons/{season_id}"))["published_at"] is not None


def test_the_result_is_written_once(site: Site) -> None:
    season_id = season_of_agents(site)
    path, _ = sit(site, (site.author("ada"), "one"), (site.author("bob"), "two"))
    number = int(path.rpartition("/")[2])
    for user in site.world.rows(select(User).where(User.name != "boss")):
        site.world.write(turns.resign, Person(user.id, user.name, user.role), number, SeatKind.AGENT)
    transcript = site.world.read(turns.record, number)
    assert transcript is not None
    over = (number, 0, transcript.result, site.blobs.put(encode(transcript)), transcript)
    assert [site.world.write(turns.finish, *over) for _ in range(2)] == [True, False]
    site.world.write(places.abandon, number, TableState.RUNNING, Cause.UNKNOWN)
    assert site.ok(200, site.client.get("/v1/matches/1"))["state"] == "done"
    assert len(site.world.rows(select(Attempt))) == 1 and site.world.row(Season, season_id).deals == 1
