"""A canonical form of a log of results: in whatever order it is given, the same log has the same arrays and hash.

The hash is the SHA-256 of these bytes:

* one line of JSON with the keys ``players`` (sorted names of those who played), ``groups`` (sorted names of the groups
  with two games or more) and ``tables`` (pairs of seats and distinct rows), in this order, without spaces, ASCII only,
  ended by a newline;
* for every number of seats in ascending order the distinct rows in ascending order, each of them as little-endian
  signed 32-bit integers: the players by seat (places in ``players``), their ranks (how many of the table were strictly
  better), the group (its place in ``groups``, -1 for none), and how often the row occurs.

So the hash covers who sat where, but not how ranks are spelled (1, 2, 2 or 1, 5, 5).
"""

import hashlib
import json
import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deadheat.league.ratings.linear import Ints, are_dense, how_many, joined

NO_GROUP = -1

MOST_OF_A_KEY = 2**62
"""The limit of a 64-bit key: columns are packed into one as long as every row's key stays below."""


@dataclass(frozen=True, slots=True, eq=False)
class Games:
    """Unsorted results: games with the same number of seats.

    `players` (games, seats): places in a list of names, by seat, different within a row. `ranks` (games, seats): any
    whole numbers, smaller is better, equal is a tie. `groups` (games,): places in a list of groups, NO_GROUP for none.
    """

    players: Ints
    ranks: Ints
    groups: Ints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The distinct rows of a log with one number of seats, in ascending order.

    `ranks` count the strictly better players: 0 is the first place. `counts` says how often a row occurs.
    """

    players: Ints  # (rows, seats)
    ranks: Ints  # (rows, seats)
    groups: Ints  # (rows,), NO_GROUP for none
    counts: Ints  # (rows,)

    @property
    def seats(self) -> int:
        """The number of players at each of these tables."""
        return int(self.players.shape[1])

    def only(self, rows: Ints) -> "Tables":
        """Select some of the rows."""
        return Tables(self.players[rows], self.ranks[rows], self.groups[rows], self.counts[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """A log in its canonical form. `players` and `groups` are sorted, `tables` by number of seats."""

    players: tuple[str, ...]
    groups: tuple[str, ...]
    tables: tuple[Tables, ...]
    sha256: str

    @property
    def games(self) -> int:
        """The number of results in the log."""
        return sum(int(tables.counts.sum()) for tables in self.tables)


def log_of(players: Sequence[str], games: Iterable[Games], groups: Sequence[str] = ()) -> Log:
    """Convert a log to the canonical form. Names without games, and groups of one game, are left out."""
    assert len(set(players)) == len(players)
    assert len(set(groups)) == len(groups)
    parts = [part for part in games if len(part.players)]
    names, place = _sorted_used(players, _occurrences((part.players.ravel() for part in parts), len(players)), 1)
    grouped = [part.groups for part in parts if part.groups is not None]
    members = _occurrences((group[group != NO_GROUP] for group in grouped), len(groups))
    labels, group_place = _sorted_used(groups, members, 2)
    group_place = np.append(group_place, NO_GROUP)  # the last entry, which the index NO_GROUP reads
    by_seats: dict[int, list[Games]] = {}
    for part in parts:
        by_seats.setdefault(part.players.shape[1], []).append(part)
    tables = tuple(_tables(by_seats[seats], place, len(names), group_place, len(labels)) for seats in sorted(by_seats))
    return Log(names, labels, tables, _sha256(names, labels, tables))


def _occurrences(places: Iterable[Ints], size: int) -> Ints:
    total: Ints = np.zeros(size, np.int64)
    for some in places:
        total = total + np.bincount(some, minlength=size)
    return total


def _sorted_used(names: Sequence[str], occurrences: Ints, least: int) -> tuple[tuple[str, ...], Ints]:
    """Return the names that occur at least `least` times, sorted, and each old name's new place, or -1."""
    used = sorted((int(place) for place in np.flatnonzero(occurrences >= least)), key=names.__getitem__)
    new_place: Ints = np.full(len(names), -1, np.int64)
    new_place[used] = np.arange(len(used))
    return tuple(names[place] for place in used), new_place


def _tables(parts: Sequence[Games], place: Ints, players: int, group_place: Ints, groups: int) -> Tables:
    seats = range(parts[0].players.shape[1])
    seated = [joined([place[part.players[:, seat]] for part in parts]) for seat in seats]
    raw = [joined([part.ranks[:, seat] for part in parts]) for seat in seats]
    ranks = [how_many(other < own for other in raw if other is not own) for own in raw]
    group = joined(
        [np.full(len(part.players), NO_GROUP) if part.groups is None else group_place[part.groups] for part in parts]
    )
    columns: list[Ints] = [*seated, *ranks, group - NO_GROUP]
    bases = [players] * len(seats) + [len(seats)] * len(seats) + [groups + 1]
    rows, counts = _distinct(columns, bases)
    split = len(seats)
    return Tables(
        np.stack(rows[:split], axis=1), np.stack(rows[split : 2 * split], axis=1), rows[-1] + NO_GROUP, counts
    )


def _distinct(columns: Sequence[Ints], bases: Sequence[int]) -> tuple[list[Ints], Ints]:
    """Return the distinct rows in ascending order, by columns, and their counts. Values are below a column's base."""
    cuts, size = [0], 1  # the columns are packed in runs, each of which fits into one key
    for column, base in enumerate(bases):
        size *= base
        if size > MOST_OF_A_KEY:
            cuts.append(column)
            size = base
    packing = list(pairwise([*cuts, len(bases)]))
    keys = [_packed(columns[start:end], bases[start:end]) for start, end in packing]
    if len(keys) > 1:
        order = np.lexsort(tuple(reversed(keys)))
        keys = [key[order] for key in keys]
        new = np.ones(len(order), bool)
        new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
        starts = np.flatnonzero(new)
        unique, counts = [key[starts] for key in keys], np.diff(starts, append=len(order))
    elif are_dense(keys[0], math.prod(bases)):
        occurrences = np.bincount(keys[0])
        unique = [np.flatnonzero(occurrences)]
        counts = occurrences[unique[0]]
    else:
        only, counts = np.unique(keys[0], return_counts=True)
        unique = [only]
    rows: list[Ints] = []
    for key, (start, end) in zip(unique, packing, strict=True):
        left, unpacked = key, []
        for base in reversed(bases[start:end]):
            left, digit = np.divmod(left, base)
            unpacked.append(digit)
        rows += reversed(unpacked)
    return rows, counts


def _packed(columns: Sequence[Ints], bases: Sequence[int]) -> Ints:
    key = columns[0].astype(np.int64)
    for column, base in zip(columns[1:], bases[1:], strict=True):
        if base > 1:
            key *= base
            key += column
    return key


def _sha256(players: Sequence[str], groups: Sequence[str], tables: Sequence[Tables]) -> str:
    sizes = [[table.seats, len(table.counts)] for table in tables]
    head = json.dumps({"players": players, "groups": groups, "tables": sizes}, separators=(",", ":"))
    digest = hashlib.sha256(head.encode() + b"\n")
    for table in tables:
        rows = np.column_stack([table.players, table.ranks, table.groups, table.counts])
        digest.update(np.ascontiguousarray(rows, dtype="<i4").tobytes())
    return digest.hexdigest()


# Reads logs from files: one JSON object a line, `{"players": [...], "ranks": [...], "group": ...}`.
# Players are text or whole numbers (a number and its digits are the same player), by seat, and all different. Ranks are
# as many whole numbers: smaller is better, equal is a tie. The group, text or a whole number, is optional. A line with
# `"rated": false` is not a result (everybody at the table lost by a fault) and is skipped. Other fields are ignored.

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
