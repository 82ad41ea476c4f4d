"""Twelve agents of three makes play a season at once: our client, the shapes of the seed's site, and a starter bot."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Any

import httpx
import pytest

from deadheat.api.routes import tables as routes
from deadheat.cli.server.agent import Agent
from deadheat.cli.server.api_client import Client
from deadheat.engine.games.folder import bots_of
from deadheat.league.records.tables import TableTurn
from deadheat.league.states import SeasonState
from tests.api.sheet import SheetAgent
from tests.api.site import Site, bearer, token_in
from tests.bots.loading import bot_class
from tests.cli.command import deadheat, invoke, succeeded
from tests.cli.test_seasons_of_agents import queue, season_of_agents

AGENTS, MATCHES = 12, 2
NAME = "agent"


def mind(game: str, seed: int) -> Any:
    bot = bot_class(bots_of(game) / "random")(seed)
    return lambda lines: [bot.answer(line) for line in lines if not line.startswith("FINISH")][-1]


def by_client(site: Site, server: str, season_id: int, game: str, owner: dict[str, str]) -> None:
    with Client(server, token_in(owner)) as league:
        agent = Agent(league, NAME)
        for number in range(MATCHES):
            answer = mind(game, number)

            def decide(turn: TableTurn, answer: Any = answer) -> str:
                return str(answer(turn.lines))

            assert agent.play(agent.enter(season_id), decide).ranks is not None


def by_sheet(site: Site, server: str, season_id: int, game: str, owner: dict[str, str]) -> None:
    """Sit down with the account's token; ask and move by the shapes of the seed's site, with the agent's key."""
    key = site.ok(201, site.client.post("/api/agents", json={"name": NAME}, headers=owner))["apiKey"]
    with httpx.Client(base_url=server, timeout=60) as client:

        def ask(method: str, path: str, body: object, key: str) -> httpx.Response:
            return client.request(method, path, json=body, headers=bearer(key))

        for number in range(MATCHES):
            agent, answer, after = SheetAgent(ask, NAME, key), mind(game, number), 0
            agent.match = str(site.ok(200, queue(site, owner, NAME, season_id=season_id))["id"])
            while (told := agent.state(after))["status"] != "game_over":
                if told["status"] == "your_turn" and told["sequence"] > after:
                    after = told["sequence"]
                    agent.act(after, {"line": answer(told["lines"])})


def by_command(site: Site, server: str, season_id: int, game: str, owner: dict[str, str]) -> None:
    words = ("agent", "--season", str(season_id), "--name", NAME, "--server", server, "--token", token_in(owner))
    for _ in range(MATCHES):
        done = deadheat(*words, "--", sys.executable, str(bots_of(game) / "random" / "main.py"))
        assert "is over: place" in done.stdout, done.stdout + done.stderr


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A league of agents that all have one address."""
    with closing(Site(tmp_path / "league", reads_per_minute=100_000)) as made:
        yield made


@pytest.mark.all
@pytest.mark.parametrize(("game", "seats"), [("liars-dice", 4), ("yacht-auction", 2)])
def test_twelve_agents_of_three_makes_play_a_season_that_is_watched_ranked_archived_and_verified(
    site: Site, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, game: str, seats: int
) -> None:
    monkeypatch.setattr(routes, "LOOK_SECONDS", 0.1)
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    season_id, matches = season_of_agents(site, game=game, seats=seats), AGENTS * MATCHES // seats
    owners, watched = [site.author(f"owner{number}") for number in range(AGENTS)], set[int]()
    with ThreadPoolExecutor(AGENTS) as pool:
        makes = (by_client, by_sheet, by_command) * (AGENTS // 3)
        playing = [
            pool.submit(make, site, server, season_id, game, own) for make, own in zip(makes, owners, strict=True)
        ]
        while not all(one.done() for one in playing):
            sleep(0.2)
            for number in range(1, matches + 1):
                seen = httpx.get(f"{server}/v1/matches/{number}/live")
                watched |= {number} if seen.status_code == 200 and seen.json()["match"] is not None else set()
        for one in playing:
            one.result()
    assert watched, "somebody could watch"
    assert site.world.rank(season_id)
    board = site.world.ranking(season_id)
    assert len(board) == AGENTS and {row["games"] for row in board} == {MATCHES}
    played = [site.ok(200, site.client.get(f"/v1/matches/{number}")) for number in range(1, matches + 1)]
    assert all(len(match["seats"]) == seats for match in played)
    assert not [seat["fault"] for match in played for seat in match["seats"] if seat["fault"]]
    site.world.set_state(season_id, SeasonState.CLOSED)
    site.world.settle_rankings()
    path = str(tmp_path / "season.zip")
    succeeded(invoke("season", "archive", str(season_id), "-o", path))
    done = invoke("season", "verify", path)
    assert done.returncode == 0 and f"{matches} matches played again" in done.stdout, done.stdout
    print(f"{game}: {matches} matches of {seats} were played, {len(watched)} watched while they were\n{done.stdout}")
