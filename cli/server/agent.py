"""Agents: programs on this machine that play at tables of a league over HTTP.

    with deadheat.Client("https://league.example", token) as league:
        agent = deadheat.Agent(league, "my-agent")
        table_id = agent.sit("GAME", ["me", "open"])
        end = agent.play(table_id, lambda turn: answer(turn.lines, turn.prompt))

A server that does not answer is asked again until it does, because every request may be repeated. `deadheat agent` runs
any program that speaks a game's lines, without limits; only the table's clock counts.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from deadheat.cli.console import USAGE, fail, note
from deadheat.cli.output import Output
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import asks
from deadheat.cli.server.wire import Refused
from deadheat.engine.core import NS_PER_S, Message, Reply
from deadheat.league.records.tables import TableTurn
from deadheat.sandbox.box import Limits, Program
from deadheat.sandbox.local import LocalSandbox
from deadheat.sandbox.pipes import PipeTransport

Decide = Callable[[TableTurn], str]
Answered = TypeVar("Answered")

AGAIN_SECONDS = 1.0
"""The pause before a server that did not answer is asked again."""

PATIENCE_NS = 3600 * NS_PER_S
"""The limit of a program's answer at home: the table's own clock ends first."""

RESTORED = "the league was restored and asks turn {} again; the program is stopped, its seat is not resigned"
OVER = ("done", "abandoned")


class Agent:
    """A player with a name at tables of a league."""

    def __init__(self, league: Client, name: str, model: str = "") -> None:
        self._league = league
        self._about = {"name": name, "model": model}

    def sit(self, game: str, seats: Sequence[str | int]) -> int:
        """Make a table, and return its number. `seats`: "me" once, "open" for other people's agents, bots by number."""
        return self._league.make_table({"game": game, "seats": list(seats), **self._about}).id

    def queue(self, game: str) -> int:
        """Take a seat at the oldest open table of a game, or at a new one, and return the table's number. After 30
        seconds, the house's bots take the seats that are still open.
        """
        return persist(lambda: self._league.queue({"game": game, **self._about})).id

    def enter(self, season_id: int) -> int:
        """Take a seat for a rated match in a season of agents, and return the table's number."""
        return persist(lambda: self._league.queue_for_season(season_id, self._about)).id

    def join(self, table_id: int) -> None:
        """Take the first open seat of a table."""
        self._league.join_table(table_id, self._about)

    def play(self, table_id: int, decide: Decide) -> TableTurn:
        """Answer every question with what `decide` makes of it, and return the table when the match is over.

        A refused answer is sent until it counts as it is. Raises Refused; after its code `restored`, call this again.
        """
        after, line = 0, ""
        while True:
            turn = persist(lambda: self._league.next_turn(table_id, after))  # noqa: B023  called at once
            if turn.state in OVER:
                return turn
            if turn.prompt is not None:
                if turn.turn < after:
                    raise Refused(0, "restored", RESTORED.format(turn.turn))
                line = line if turn.turn == after else decide(turn)  # it was too late, or is no longer known
                self._answer(table_id, turn, line)
                after = turn.turn

    def _answer(self, table_id: int, turn: TableTurn, line: str) -> None:
        while True:
            try:
                persist(lambda: self._league.answer_turn(table_id, turn.turn, line))
            except Refused as error:
                if error.status == 422:  # the third such answer counts as it is
                    continue
                if error.status != 409:
                    raise
                time.sleep(AGAIN_SECONDS)  # too late; the next question, if there is one, follows
            return

    def resign(self, table_id: int) -> None:
        """Leave a table, and lose the match."""
        persist(lambda: self._league.leave_table(table_id))


def persist(ask: Callable[[], Answered]) -> Answered:
    """Ask until the server answers. Raises Refused."""
    while True:
        try:
            return ask()
        except Refused as error:
            if not error.passing:
                raise
            time.sleep(max(AGAIN_SECONDS, error.retry_after_seconds))


class Failed(Exception):
    """The program at home did not answer."""


class AtHome:
    """A program on this machine that reads a game's lines and answers them."""

    def __init__(self, command: Sequence[str]) -> None:
        self._box = LocalSandbox().open(Program(Path.cwd(), tuple(command), command[0]), Limits())
        self._transport = PipeTransport([self._box.start()])

    def __call__(self, turn: TableTurn) -> str:
        """Return the program's answer. Raises Failed."""
        reply = Reply("", 0)
        waiting: list[Message] = []
        for number, line in enumerate(turn.lines, 1):
            asks = number == len(turn.lines) or line.split(" ", 1)[0] == "READY"
            waiting.append(Message(0, line, PATIENCE_NS if asks else None))
            if asks:
                reply = self._transport.exchange(waiting)[0]
                waiting = []
            if reply.line is None:
                raise Failed(f"the program has {reply.fault or 'failed'}")
        return reply.line or ""

    def close(self) -> None:
        """End the program and whatever it has started."""
        self._box.close()


@asks
def agent(
    client: Client,
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="Your program, after two dashes.")],
    game: Annotated[str, typer.Option(help="Play this game against whoever else wants to, or the league's bots.")] = "",
    table: Annotated[int, typer.Option(help="Take a seat at this table.", min=0)] = 0,
    season: Annotated[int, typer.Option(help="Play a rated match in this season of agents.", min=0)] = 0,
    bot: Annotated[list[int], typer.Option(help="With --game: play against this bot; give it for each seat.")] = [],  # noqa: B006
    name: Annotated[str, typer.Option(help="Your agent's name.")] = "agent",
    model: Annotated[str, typer.Option(help="Which model or program it is, for those who watch.")] = "",
) -> Output:
    """Let a program on this machine play at a table of a league, without uploading it."""
    if bool(game) + bool(table) + bool(season) != 1:
        fail("name one of --game, --season and --table", USAGE)
    player = Agent(client, name, model)
    if table:
        player.join(table)
    table_id = table or (
        player.enter(season) if season else player.sit(game, ["me", *bot]) if bot else player.queue(game)
    )
    note(f"{client.server}/play/{table_id} shows the match when it is over.", f"table {table_id}:")
    for waits in (one for one in client.open_tables() if one.id == table_id):
        free = f"{sum(not player.name for player in waits.players)} of {len(waits.players)} seats"
        note(f"{free} open since {waits.created_at.astimezone():%H:%M}; the match begins when all are taken.", "waits:")
    program = AtHome(command)
    try:
        end = player.play(table_id, program)
    except Failed as error:
        player.resign(table_id)
        fail(f"{error}; the match is resigned")
    finally:
        program.close()
    return Output(end, _words(end))


def _words(end: TableTurn) -> str:
    if end.ranks is None:
        return f"Table {end.table_id} was given up."
    points: Any = "" if end.points is None else f", {end.points[end.seat]} points"
    lost = f" ({end.fault})" if end.fault else ""
    return f"Table {end.table_id} is over: place {end.ranks[end.seat]} of {len(end.ranks)}{points}{lost}."
