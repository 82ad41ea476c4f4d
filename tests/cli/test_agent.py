"""Programs at home that play at a league's tables, over a real connection."""

import sys
import threading
from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

import deadheat
from deadheat.cli.server import agent as at_home
from deadheat.cli.server.agent import RESTORED, Agent, AtHome, persist
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.wire import Refused
from deadheat.engine.games import GAMES
from deadheat.engine.replay import replay
from deadheat.engine.transcript import decode
from deadheat.league.records.tables import TableTurn
from deadheat.league.states import Players
from tests.api.site import Site, token_in
from tests.cli.command import GAME, RANDOM, invoke
from tests.cli.command import deadheat as run


@pytest.fixture
def league(site: Site, server: str) -> Iterator[tuple[Client, Client]]:
    tokens = [token_in(site.author(name)) for name in ("ada", "bob")]
    with Client(server, tokens[0]) as ada, Client(server, tokens[1]) as bob:
        yield ada, bob


def test_two_programs_play_a_whole_match_and_its_transcript_verifies(
    site: Site, server: str, league: tuple[Client, Client]
) -> None:
    ada, bob = (token_in(site.sign_in(name)) for name in ("ada", "bob"))
    said: dict[str, str] = {}

    def play(who: str, token: str) -> None:
        words = ("agent", "--game", GAME, "--name", who, "--server", server, "--token", token)
        done = run(*words, "--", sys.executable, RANDOM)
        said[who] = done.stdout + done.stderr
        assert done.returncode == 0, said[who]

    first = threading.Thread(target=play, args=("one", ada))
    first.start()
    while not league[1].open_tables():
        first.join(0.05)
        assert first.is_alive(), said
    play("two", bob)
    first.join(60)
    assert "is over: place" in said["one"] and "is over: place" in said["two"]
    record = decode(site.client.get("/v1/exhibitions/1/transcript").content)
    assert replay(GAMES[GAME], record) == record and record.result.faults == {}
    assert record.about["players"] == ["one (agent of ada)", "two (agent of bob)"]


def test_programs_at_home_play_a_season(site: Site, server: str, league: tuple[Client, Client]) -> None:
    site.world.season(0, players=Players.AGENTS, games_per_pair=None)
    other, minds = Agent(league[1], "two"), AtHome([sys.executable, RANDOM])
    there = threading.Thread(target=lambda: other.play(other.enter(1), minds))
    there.start()
    words = ("agent", "--season", "1", "--name", "one", "--server", server, "--token", token_in(site.sign_in("ada")))
    done = run(*words, "--", sys.executable, RANDOM)
    there.join(60)
    minds.close()
    assert "is over: place" in done.stdout, done.stdout + done.stderr
    assert site.ok(200, site.client.get("/v1/matches/1/verification"))["verified"]


def test_an_agent_is_a_function_and_mends_what_the_rules_refuse(league: tuple[Client, Client]) -> None:
    ada, bob = (Agent(client, name) for client, name in zip(league, ("one", "two"), strict=True))
    table_id = ada.queue(GAME)
    assert bob.queue(GAME) == table_id
    bob.resign(table_id)
    asked: list[str | None] = []

    def decide(turn: TableTurn) -> str:
        asked.append(turn.prompt)
        return "nonsense"

    end = ada.play(table_id, decide)
    assert (end.state, end.fault, len(asked)) == ("done", "malformed", 1)


def test_a_server_that_does_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_home, "AGAIN_SECONDS", 0.0)
    tries: list[int] = []

    def ask() -> str:
        tries.append(0)
        if len(tries) < 3:
            raise Refused(0, "no-answer", "nobody is there")
        return "answered"

    assert persist(ask) == "answered" and len(tries) == 3


class Restored:
    """A league that asks these turns, whatever was answered."""

    def __init__(self, *turns: int) -> None:
        self._turns = iter(turns)
        self.answers: list[tuple[int, str]] = []

    def next_turn(self, _table_id: int, _after: int) -> SimpleNamespace:
        turn = next(self._turns)
        return SimpleNamespace(state="running" if turn else "done", turn=turn, prompt="MOVE" if turn else None)

    def answer_turn(self, _table_id: int, turn: int, line: str) -> None:
        self.answers.append((turn, line))


def test_what_the_league_has_forgotten_is_said_again_but_no_program_hears_its_lines_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(at_home, "AGAIN_SECONDS", 0.0)
    lines = count()
    league: Any = Restored(1, 2, 2, 3, 0)
    Agent(league, "mine").play(7, lambda _: str(next(lines)))
    assert league.answers == [(1, "0"), (2, "1"), (2, "1"), (3, "2")]
    with pytest.raises(Refused, match="turn 1 again"):
        Agent(Restored(1, 2, 1), "mine").play(7, lambda _: "")  # type: ignore[arg-type]


def test_a_person_is_told_that_the_league_was_restored_and_nothing_is_resigned(
    server: str, league: tuple[Client, Client], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(*_: object) -> None:
        raise Refused(0, "restored", RESTORED.format(5))

    monkeypatch.setattr(Agent, "play", play)
    table = league[1].make_table({"game": GAME, "name": "two", "seats": ["me", "open"]})
    words = ("agent", "--table", str(table.id), "--server", server, "--token", token_in(site.sign_in("ada")))
    done = invoke(*words, "--", sys.executable, "-c", "input()")
    assert done.returncode == 1 and "asks turn 5 again" in done.stderr and "not resigned" in done.stderr
    assert league[1].next_turn(table.id, 0).state == "running"


def test_who_waits_is_told_for_how_many(
    server: str, league: tuple[Client, Client], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(*_: object) -> None:
        raise Refused(0, "restored", RESTORED.format(5))

    def told(who: str, *words: str) -> str:
        token = token_in(site.sign_in(who))
        return invoke("agent", *words, "--server", server, "--token", token, "--", sys.executable, "-c", "").stderr

    monkeypatch.setattr(Agent, "play", play)
    assert "waits: 1 of 2 seats open since " in told("ada", "--game", GAME)
    assert "waits:" not in told("bob", "--table", str(league[1].open_tables()[0].id))


def test_a_program_that_ends_resigns(server: str, league: tuple[Client, Client], site: Site) -> None:
    token = token_in(site.sign_in("ada"))
    table = league[1].make_table({"game": GAME, "name": "two", "seats": ["me", "open"]})
    words = ("agent", "--table", str(table.id), "--server", server, "--token", token)
    done = invoke(*words, "--", sys.executable, "-c", "pass")
    assert done.returncode == 1 and "resigned" in done.stderr


def test_what_does_not_make_sense_is_said(server: str) -> None:
    assert (
        "one of --game, --season and --table"
        in invoke("agent", "--server", server, "--token", "x", "--", "true").stderr
    )
    assert deadheat.Agent is Agent
