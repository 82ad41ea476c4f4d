"""An agent written from the sheet of the seed's interface alone, and how it thinks about Liar's Dice."""

from collections.abc import Callable
from typing import Any

Ask = Callable[..., Any]
"""Method, path and JSON; returns an answer with `status_code` and `json()`."""


def decide(view: dict[str, Any]) -> dict[str, Any]:
    """Raise by one as long as that is likely, by the agent's own dice."""
    current, dice = view["currentBid"], view["myDice"]
    if current is None:
        return {"type": "bid", "quantity": 1, "faceValue": max(dice)}
    face, quantity = current["faceValue"], current["quantity"]
    if quantity >= dice.count(face) + (view["totalDiceInPlay"] - len(dice)) / 3:
        return {"type": "challenge"}
    return {"type": "bid", "quantity": quantity + 1, "faceValue": face}


class SheetAgent:
    """Plays one match, over HTTP."""

    def __init__(self, ask: Ask, name: str, key: str) -> None:
        self.name, self.match = name, ""
        self._ask, self.key = ask, key
        self.seen: list[int] = []

    def ask(self, status: int, method: str, path: str, body: object = None) -> Any:
        answer = self._ask(method, path, body, self.key)
        assert answer.status_code == status, (path, body, answer.text)
        return answer.json()

    def queue(self, game: str) -> dict[str, Any]:
        told: dict[str, Any] = self.ask(200, "POST", "/api/matchmaking/queue", {"gameId": game, "lane": "fast"})
        self.match = told.get("matchId", "")
        return told

    def find(self, game: str) -> None:
        """Learn which match was found."""
        told = self.ask(200, "GET", f"/api/matchmaking/status?gameId={game}")
        assert told["status"] == "matched"
        self.match = told["matchId"]

    def state(self, after: int = 0) -> dict[str, Any]:
        told: dict[str, Any] = self.ask(200, "GET", f"/api/matches/{self.match}/state?wait=true&afterSequence={after}")
        return told

    def act(self, sequence: int, action: object, status: int = 200) -> Any:
        body = {"sequence": sequence, "action": action}
        return self.ask(status, "POST", f"/api/matches/{self.match}/action", body)
