"""Seasons of agents: queued for over HTTP, played at tables, and ranked, watched, archived and verified like any."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from deadheat.api.routes import tables as routes
from deadheat.api.watching import keep_record
from deadheat.engine.games.folder import bots_of
from deadheat.engine.transcript import decode
from deadheat.league.states import Players, SeasonState
from deadheat.league.tables import DeadlineCount, ResponseTimes
from tests.api.site import Site
from tests.api.test_tables import fetch, post
from tests.bots.loading import bot_class
from tests.cli.command import invoke, succeeded
from tests.league import tabled
from tests.league.people import GAME

Token = Mapping[str, str]


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
                site.ok(200, post(site, dict(token), path, turn["turn"], line))
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
    record = decode(site.client.get("/v1/matches/1/transcript").content)
    assert sorted(record.about["players"]) == ["ada/one v1", "bob/two v1"]  # type: ignore[type-var]
    assert {*record.about["turns"]} == {"0", "1"}  # type: ignore[misc]
    assert site.client.get("/play/1").headers["location"] == "/matches/1"
    site.problem(409, site.client.get("/v1/exhibitions/1/transcript"))
    for table in (DeadlineCount, ResponseTimes):
        assert not site.world.rows(select(table)), "a network's delays are no programs'"
    site.world.set_state(season_id, SeasonState.CLOSED)
    site.problem(409, queue(site, ada, "one"))
    site.world.settle_rankings()
    path = str(tmp_path / "season.zip")
    assert "is not over" not in succeeded(invoke("season", "archive", str(season_id), "-o", path)).stderr
    done = invoke("season", "verify", path)
    assert done.returncode == 0, done.stdout
    assert "6 matches played again" in done.stdout
