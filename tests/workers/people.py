"""People who answer every question with a legal, bad move."""

import json
import threading
import time
from collections.abc import Callable
from typing import Self

from deadheat.engine.games import GAMES
from deadheat.engine.scenes import scenes_so_far
from deadheat.games.liars_dice.rules import BIDS, Bid
from deadheat.games.yacht_auction.rules import CATEGORIES
from deadheat.league.database import Database
from deadheat.league.errors import WrongState
from deadheat.league.service.people.person import Person
from deadheat.league.service.tables import turns, viewing
from deadheat.league.service.tables.viewing import Table
from deadheat.league.states import NOT_OVER


def move(table: Table) -> str:
    assert table.prompt is not None and table.match is not None
    command, *rest = table.prompt.split(" ")
    match command:
        case "ROLL":
            return "BID A 0"
        case "SCORE":
            return _put(table)
        case "PHASE1":
            return f"BET {rest[0]} 0"
        case "PHASE2":
            return "PLACE 0"
    return claim(json.loads(table.prompt))


def _put(table: Table) -> str:
    assert table.match is not None
    state = scenes_so_far(GAMES[table.info.game], table.match, table.info.names)[-1].state
    free = next(name for name in CATEGORIES if name not in state["sheets"][table.info.seat])
    return f"PUT {free} {state['hands'][table.info.seat][:5]}"


def claim(view: dict[str, object]) -> str:
    current = view["currentBid"]
    if isinstance(current, dict):
        height = BIDS.index(Bid(current["quantity"], current["faceValue"]))
        if height > 12:
            return '{"type":"challenge"}'
        bid = BIDS[height + 1]
    else:
        bid = BIDS[0]
    return json.dumps({"type": "bid", "quantity": bid.quantity, "faceValue": bid.face})


class AtTheTable(threading.Thread):
    """Plays one exhibition to its end within a `with`. `think` is called before each move; if it returns False, none is
    made.
    """

    def __init__(
        self, db: Database, person: Person, exhibition_id: int, think: Callable[[Table], bool] = lambda _: True
    ) -> None:
        super().__init__(daemon=True)
        self._db, self._person, self._id, self._think = db, person, exhibition_id, think
        self.moves: list[tuple[int, str]] = []
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            while self._look():
                time.sleep(0.02)
        except BaseException as error:  # noqa: BLE001  the test's own thread raises it
            self.failed = error
            with self._db.transaction() as session:  # a worker would wait for the answer for ever
                turns.resign(session, self._person, self._id)

    def _look(self) -> bool:
        with self._db.reading() as session:
            table = viewing.view(session, self._person, self._id)
        if table.info.state not in NOT_OVER:
            return False
        if table.prompt is None or not self._think(table):
            return True
        line = move(table)
        try:
            with self._db.transaction() as session:
                turns.answer(session, self._person, self._id, table.turn, line)
        except WrongState:  # the attempt was void meanwhile
            return True
        self.moves.append((table.turn, line))
        return True

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for the end of the match, and raise what went wrong."""
        self.join(60)
        if self.failed is not None and kind is None:
            raise self.failed
        assert kind or not self.is_alive(), "the match does not end"
