"""Agents of the seed's interface over WebSockets: they play, connect again, and are told what they did wrong."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from sqlmodel import Session, col, select, update
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from deadheat.api.app import create_app
from deadheat.api.edge.connections import Socket, capped
from deadheat.api.routes import seed_sockets
from deadheat.engine.transcript import decode
from deadheat.league.service.people.person import Person
from deadheat.league.service.tables import turns
from deadheat.league.states import Role, SeatKind
from deadheat.league.tables import GameTable, TableSeat, Token
from tests.api.served import served
from tests.api.sheet import SheetAgent, decide
from tests.api.site import Site
from tests.api.test_seed_agents import agents, seated


class Server:
    """The site on a real socket, which can be restarted."""

    def __init__(self, site: Site) -> None:
        self.site, self.stack = site, ExitStack()
        self.protocol = capped(site.world.settings)
        self.start()

    def start(self) -> None:
        app = create_app(self.site.world.settings, queue=self.site.queue, db=self.site.world.db, blobs=self.site.blobs)
        url = self.stack.enter_context(served(app, self.protocol, Socket))
        self.address = url.replace("http", "ws")

    def open(self, agent: SheetAgent, path: str = "", **headers: str) -> ClientConnection:
        sent = {"Authorization": f"Bearer {agent.key}", **headers}
        return connect(f"{self.address}/ws/{path or f'game/{agent.match}'}", additional_headers=sent, open_timeout=30)


@pytest.fixture
def server(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(seed_sockets, "LOOK_SECONDS", 0.02)
    made = Server(site)
    yield made
    made.stack.close()
    assert made.protocol.of_address.total() == 0, "every connection that became a socket was counted off"


def heard(socket: ClientConnection, kind: str) -> dict[str, Any]:
    """Return the next message, which is of that kind."""
    told: dict[str, Any] = json.loads(socket.recv(30))
    assert told["type"] == kind, told
    return told


def say(socket: ClientConnection, sequence: int, action: object) -> None:
    socket.send(json.dumps({"type": "action", "sequence": sequence, "payload": action}))


def play(server: Server, agent: SheetAgent) -> list[dict[str, Any]]:
    """Play to the end with a bad connection, and return what was told of it and every turn that was told."""
    asked: list[dict[str, Any]] = []
    while True:
        try:
            with server.open(agent) as socket:
                heard(socket, "connected")
                while (told := json.loads(socket.recv(60)))["type"] != "game_over":
                    if told["type"] == "error":
                        assert told["error"] in {"invalid_action", "invalid_request", "stale_sequence", "not_your_turn"}
                        continue
                    asked.append(told)
                    if len(asked) % 4 == 1:
                        break  # and connect again: the turn is pushed again
                    for message in ("x", b"\0", '{"type": "action"}', "[]")[: len(asked) % 3]:
                        socket.send(message)
                    say(socket, told["sequence"] - 1, {"type": "challenge"})
                    say(socket, told["sequence"], {"type": "steal"} if len(asked) % 5 == 0 else {"type": "challenge"})
                    for _ in range(2):
                        say(socket, told["sequence"], decide(told["view"]))
                else:
                    return [*asked, told]
        except (ConnectionClosed, OSError):
            continue


def test_four_agents_play_over_sockets_though_they_and_the_server_come_back(site: Site, server: Server) -> None:
    players = agents(site)
    with ExitStack() as stack:
        lobbies = [stack.enter_context(server.open(agent, "agent")) for agent in players]
        seated(players)
        for lobby, agent in zip(lobbies, players, strict=True):
            heard(lobby, "connected")
            assert heard(lobby, "match_found")["matchId"] == agent.match
    with ThreadPoolExecutor() as pool:
        games = [pool.submit(play, server, agent) for agent in players]
        while not any(game.done() for game in games):
            if len(server.site.world.read(replies)) > 3000:
                break
            time.sleep(0.02)
        server.stack.close()
        server.start()
        told = [game.result(120) for game in games]
    for seat, (*asked, end) in enumerate(told):
        assert [turn["sequence"] for turn in asked] == sorted(turn["sequence"] for turn in asked)
        assert len({turn["sequence"] for turn in asked}) < len(asked), "one was pushed again"
        assert [one["seat"] for one in end["results"] if one["you"]] == [seat]
    record = decode(site.client.get(f"/v1/exhibitions/{players[0].match}/transcript").content)
    assert record.result.faults == {} and sorted(record.result.ranks) == [1, 2, 3, 4]


def replies(session: Session) -> str:
    return session.get_one(GameTable, 1, populate_existing=True).replies


def test_a_new_socket_replaces_the_old_one(site: Site, server: Server) -> None:
    one, *_ = agents(site)
    with server.open(one, "agent") as old:
        heard(old, "connected")
        with server.open(one, "agent") as new:
            heard(new, "connected")
            heard(old, "replaced")
            with pytest.raises(ConnectionClosed):
                old.recv(30)
            new.send("x" * 20_000)
            with pytest.raises(ConnectionClosed) as closed:
                new.recv(30)
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009, "it was too large"


def test_strangers_and_pages_of_other_sites_get_no_socket(site: Site, server: Server) -> None:
    players = agents(site)
    seated(players)
    players[0].match, others = "99", players[1]
    for path, headers, status in (
        ("game/99", {}, 404),
        ("game/99999999999", {}, 404),
        ("agent", {"Origin": "https://elsewhere.example"}, 403),
        ("agent", {"Authorization": "Bearer dh_x"}, 401),
        ("agent", {"Authorization": ""}, 401),
    ):
        with pytest.raises(InvalidStatus) as refused:
            server.open(others, path, **headers)
        assert refused.value.response.status_code == status and b"error" in (refused.value.response.body or b"")


def test_who_says_too_much_is_told_to_wait(site: Site, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    one, *_ = agents(site)
    with server.open(one, "agent") as socket:
        heard(socket, "connected")
        for _ in range(site.world.settings.writes_per_minute + 1):
            socket.send("{}")
        while (told := heard(socket, "error"))["error"] != "over_quota":
            assert told["error"] == "invalid_request"
        assert told["retryAfterMs"] > 0


def test_a_revoked_key_is_told_nothing_more(site: Site, server: Server) -> None:
    players = agents(site)
    seated(players)
    with ExitStack() as stack:
        sockets = [stack.enter_context(server.open(agent)) for agent in players]
        for socket in sockets:
            heard(socket, "connected")
        (asked,) = site.world.rows(select(TableSeat).where(col(TableSeat.ready_at).is_not(None)))
        turn = heard(sockets[asked.seat], "your_turn")
        with site.world.db.transaction() as session:
            session.exec(update(Token).values(revoked_at=site.world.clock.now))
        owner = Person(asked.user_id or 0, "owner", Role.AUTHOR)
        line = json.dumps(decide(turn["view"]))
        site.world.write(turns.answer, owner, asked.table_id, turn["sequence"], line, SeatKind.AGENT)
        with pytest.raises(ConnectionClosed):
            sockets[(asked.seat + 1) % len(players)].recv(30)


def test_a_revoked_key_moves_nothing_more(site: Site, server: Server) -> None:
    one, *_ = agents(site)
    with server.open(one, "agent") as socket:
        heard(socket, "connected")
        with site.world.db.transaction() as session:
            session.exec(update(Token).values(revoked_at=site.world.clock.now))
        socket.send("{}")
        assert heard(socket, "error")["error"] == "bad_token"
