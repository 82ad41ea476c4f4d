"""Agents for benchmarks: their league, an API to be killed, matches that have come so far, and random players."""

import os
import runpy
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from subprocess import Popen
from typing import Any

import deadheat
from deadheat.cli.server.api_client import Client
from deadheat.engine.core import Reply
from deadheat.engine.games.folder import bots_of
from deadheat.engine.unfinished import write_replies
from deadheat.league.database import Database
from deadheat.league.records.tables import TableTurn
from deadheat.league.service.people.access import issue_token
from deadheat.league.service.people.person import Person
from deadheat.league.service.tables import sitting, turns
from tests.benchmarks.leagues import leagues
from tests.benchmarks.site import _wait_for
from tests.deployment import free_port
from tests.league.world import World

PORT = free_port()
URL = f"http://127.0.0.1:{PORT}"
Agents = list[tuple[Person, str]]


@contextmanager
def api(world: World) -> Iterator[int]:
    """Run an API that is killed in the end, and yield its process."""
    own = {"DATA_DIR": world.settings.data_dir, "DATABASE_URL": world.settings.database_url, "PORT": PORT}
    own |= {"LOG_LEVEL": "ERROR", "READS_PER_MINUTE": 1_000_000}
    variables = {f"DEADHEAT_{name}": str(value) for name, value in own.items()}
    process = Popen([sys.executable, "-m", "deadheat.cli.main", "api"], env=os.environ | variables)
    try:
        _wait_for(PORT, process)
        yield process.pid
    finally:
        process.kill()
        process.wait()


@contextmanager
def league(count: int, on_postgresql: bool = False) -> Iterator[tuple[World, Database, Agents]]:
    """Make a league by the clock on the wall, with that many agents' owners and their tokens."""
    with leagues(on_postgresql=on_postgresql) as (world,), closing(Database(world.settings)) as now:
        people = [world.author() for _ in range(count)]
        with now.transaction() as session:
            who = [(person, issue_token(session, person.id, "bench").secret) for person in people]
        yield world, now, who


def make(
    now: Database,
    game: str,
    who: Agents,
    seed: bytes = b"",
    replies: list[dict[int, Reply]] | None = None,
    pace_seconds: float | None = None,
) -> int:
    """Begin a match of these agents; if it has come so far already, nobody's time is limited."""
    me: sitting.Wanted = "me"
    others: list[sitting.Wanted] = ["open" for _ in who[1:]]
    with now.transaction() as session:
        table_id = sitting.open_table(session, who[0][0], game, [me, *others], sitting.Agent("a"))
        for person, _ in who[1:]:
            sitting.join_table(session, person, table_id, sitting.Agent("b"))
        if pace_seconds is not None:
            turns.at_table(session, table_id).row.pace_seconds = pace_seconds
        if replies is not None:
            table = turns.at_table(session, table_id)
            table.row.seed, table.row.pace_seconds = seed, 1e6
            turns.start_again(table)
            table.replies, table.row.replies = [*replies], write_replies(replies)
            table.row.turn, at_ms = len(replies), time.time_ns() // 10**6
            for number, given in enumerate(replies, 1):
                for seat in given:
                    table.seats[seat].turns.append([number, number - 1, at_ms, at_ms, at_ms, at_ms])
            turns.go_on(session, table, moved=True)
        return table_id


def bot(game: str, seed: int | None = None) -> Any:
    answer = runpy.run_path(str(bots_of(game) / "random" / "main.py"))["Bot"](seed).answer
    return lambda line: None if line.startswith("FINISH") else answer(line)


class Noting(Client):
    receipts: dict[int, str]

    def answer_turn(self, table_id: int, turn: int, line: str) -> Any:
        receipt = super().answer_turn(table_id, turn, line)
        self.receipts[turn] = line
        return receipt


def play(
    game: str, table_id: int, token: str, url: str = URL, think: Callable[[], None] = lambda: None
) -> tuple[int, dict[int, str]]:
    """Play a match, and return the seat with its answers that have receipts, by turn."""
    answer = bot(game)

    def decide(turn: TableTurn) -> str:
        think()
        return str([said for line in turn.lines if (said := answer(line))][-1])

    with Noting(url, token) as client:
        client.receipts = {}
        end = deadheat.Agent(client, "a").play(table_id, decide)
        return end.seat, client.receipts
