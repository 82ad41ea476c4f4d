"""Reads logs from files: one JSON object a line, `{"players": [...], "ranks": [...], "group": ...}`.

Players are text or whole numbers (a number and its digits are the same player), by seat, and all different. Ranks are
as many whole numbers: smaller is better, equal is a tie. The group, text or a whole number, is optional. A line with
`"rated": false` is not a result (everybody at the table lost by a fault) and is skipped. Other fields are ignored.
"""

import json
from array import array
from collections.abc import Iterable

import numpy as np

from deadheat.league.ratings.log import NO_GROUP, Games, Log, log_of

MOST_LINE_BYTES = 65_536
MOST_SEATS = 64
MOST_NAME = 256
"""The most characters of a name."""

MOST_RANK = 10**9
MOST_GAMES = 20_000_000
MOST_PLAYERS = 4000
"""The most players. The ratings' matrices of players by players then take half a gigabyte."""


class BadLine(Exception):
    """An invalid line of a log; the text is a sentence with the line's number."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(f"line {number}: {why}")


def read(lines: Iterable[bytes]) -> Log:
    """Read the log in these lines, skipping empty ones. Raises BadLine."""
    players: dict[str, int] = {}
    groups: dict[str, int] = {}
    columns: dict[int, tuple[array[int], array[int], array[int]]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if number > MOST_GAMES:
            raise BadLine(number, f"a log has at most {MOST_GAMES} games")
        try:
            game = _game(line)
        except ValueError as error:
            raise BadLine(number, str(error)) from None
        if game is None:
            continue
        seated, ranks, group = game
        places = [players.setdefault(player, len(players)) for player in seated]
        if len(players) > MOST_PLAYERS:
            raise BadLine(number, f"this game brings a further player, but only {MOST_PLAYERS} can be rated together")
        to_players, to_ranks, to_groups = columns.setdefault(len(seated), (array("q"), array("q"), array("q")))
        to_players.extend(places)
        to_ranks.extend(ranks)
        to_groups.append(NO_GROUP if group is None else groups.setdefault(group, len(groups)))
    games = [
        Games(
            np.frombuffer(seated_at, np.int64).reshape(-1, seats),
            np.frombuffer(ranked, np.int64).reshape(-1, seats),
            np.frombuffer(grouped, np.int64),
        )
        for seats, (seated_at, ranked, grouped) in columns.items()
    ]
    return log_of(list(players), games, list(groups))


def _game(line: bytes) -> tuple[list[str], list[int], str | None] | None:
    """Return a line's players, ranks and group; None if it is not rated. Raises ValueError with half a sentence."""
    if len(line) > MOST_LINE_BYTES:
        raise ValueError(f"it is longer than {MOST_LINE_BYTES} bytes")
    try:
        game = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(game, dict):
        raise ValueError("it is not a JSON object")
    players, ranks, group = game.get("players"), game.get("ranks"), game.get("group")
    if not isinstance(players, list) or not 2 <= len(players) <= MOST_SEATS:
        raise ValueError(f"players must be a list of 2 to {MOST_SEATS}")
    names = [_name(player, "a player") for player in players]
    if len(set(names)) < len(names):
        raise ValueError("a player is listed twice")
    if not isinstance(ranks, list) or len(ranks) != len(players):
        raise ValueError(f"ranks must be a list of {len(players)} numbers, one for each player")
    if not all(type(rank) is int and abs(rank) <= MOST_RANK for rank in ranks):
        raise ValueError("ranks must be whole numbers, 1 for the best")
    if game.get("rated") is False:
        return None
    return names, ranks, None if group is None else _name(group, "a group")


def _name(value: object, what: str) -> str:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise ValueError(f"{what} must be text or a whole number")
    name = str(value) if isinstance(value, str) or abs(value) <= MOST_RANK else ""
    if not 0 < len(name) <= MOST_NAME:
        raise ValueError(f"{what} must have a name of 1 to {MOST_NAME} characters")
    return name
