"""Requests to tables that are duplicated, late, lost, out of order or hostile, at both doors: no answer is doubled,
replaced or forgotten.
"""

from random import Random
from typing import Any

import pytest

from deadheat.api.routes import tables as routes
from deadheat.engine.core import Fault
from deadheat.engine.games.folder import bots_of
from deadheat.engine.transcript import decode
from tests.api.site import Site, bearer
from tests.bots.loading import bot_class
from tests.lanes import scaled

BAD = ("", "x", "\0", "{}", '{"type":"bid","quantity":99,"faceValue":9}', "BID A 1", "y" * 4097, '{"type":"challenge"}')
Answer = tuple[int, int, str]
"""A seat, a turn and a line."""


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "WAIT_SECONDS", 0.0)


class Storm:
    """A match, and all that was sent and promised."""

    def __init__(self, site: Site, game: str, seats: int, seed: int) -> None:
        self.site, self.dice = site, Random(seed)
        owners = [site.author(f"owner{number}") for number in range(seats)]
        wanted = {"game": game, "name": "a", "seats": ["me", *["open"] * (seats - 1)]}
        made = site.ok(201, site.client.post("/v1/tables", json=wanted, headers=owners[0]))
        for owner in owners[1:]:
            site.ok(200, site.client.post(f"/v1/tables/{made['id']}/seat", json={"name": "a"}, headers=owner))
        keys = [site.client.post("/api/agents", json={"name": "a"}, headers=owner).json() for owner in owners]
        self.doors = [(owner, bearer(key["apiKey"])) for owner, key in zip(owners, keys, strict=True)]
        self.table_id, self.minds = made["id"], [bot_class(bots_of(game) / "random")(seat) for seat in range(seats)]
        self.heard = [0] * seats
        self.meant: dict[tuple[int, int], str] = {}
        self.sent: list[Answer] = []
        self.receipts: dict[tuple[int, int], tuple[str, Any]] = {}

    def think(self, seat: int) -> Answer | None:
        """Fetch a seat's question, and decide; None: it is not asked."""
        path, after = f"/v1/tables/{self.table_id}/next", {"after": self.heard[seat]}
        told = self.site.ok(200, self.site.client.get(path, params=after, headers=self.doors[seat][0]))
        if told["prompt"] is None:
            return None
        turn = told["turn"]
        if (seat, turn) not in self.meant:
            said = [self.minds[seat].answer(line) for line in told["lines"] if not line.startswith("FINISH")]
            self.meant[seat, turn], self.heard[seat] = said[-1] or "", turn
        return seat, turn, self.meant[seat, turn]

    def send(self, answer: Answer) -> None:
        """Send an answer at either door, and check what is promised."""
        seat, turn, line = answer
        mine, key = self.doors[seat]
        if own := self.dice.random() < 0.5:
            path, body = f"/v1/tables/{self.table_id}/turns/{turn}", {"line": line}
            told = self.site.client.post(path, json=body, headers=mine)
        else:
            path, action = f"/api/matches/{self.table_id}/action", {"sequence": turn, "action": {"line": line}}
            told = self.site.client.post(path, json=action, headers=key)
        assert told.status_code in (200, 400, 409, 422), told.text
        before = self.receipts.get((seat, turn))
        assert before is None or (told.status_code == 200) == (before[0] == line) or not line.isprintable(), told.text
        if told.status_code == 200:
            receipt = told.json() if own else None
            assert before is None or None in (receipt, before[1]) or receipt == before[1]
            self.receipts[seat, turn] = (line, receipt or (before and before[1]))

    def blow(self) -> None:
        """Do one thing that an agent, its network or an enemy of it may do."""
        seat, chance = self.dice.randrange(len(self.doors)), self.dice.random()
        if chance < 0.3 and self.sent:
            self.send(self.dice.choice(self.sent))
        elif chance < 0.36:
            newest = max((turn for _, turn, _ in self.sent), default=0)
            self.send((seat, max(1, newest + self.dice.randint(-3, 2)), self.dice.choice(BAD)))
        elif (answer := self.think(seat)) is not None:
            self.sent.append(answer)
            if self.dice.random() < 0.8:  # otherwise it is lost, or comes late
                self.send(answer)


@pytest.mark.parametrize(("game", "seats"), [("liars-dice", 4), ("yacht-auction", 2)])
@pytest.mark.parametrize("seed", range(scaled(12, 1)))
def test_no_order_of_requests_doubles_replaces_or_forgets_an_answer(
    site: Site, game: str, seats: int, seed: int
) -> None:
    storm = Storm(site, game, seats, seed)
    path = f"/v1/tables/{storm.table_id}"
    while site.ok(200, site.client.get(path))["state"] == "running":
        storm.blow()
    record = decode(site.client.get(f"/v1/exhibitions/{storm.table_id}/transcript").content)
    stamps: Any = record.about["turns"]
    lines = {
        (seat, turn): record.exchanges[step].replies[seat].line
        for seat in range(seats)
        for turn, step, *_ in stamps[str(seat)]
    }
    assert lines == {answer: line for answer, (line, _) in storm.receipts.items()}
    assert not {*record.result.faults.values()} & {Fault.TIMEOUT, Fault.EXITED}
    for answer in storm.sent:  # also when it is over
        storm.send(answer)
