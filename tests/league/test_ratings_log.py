"""A log has a canonical form and a hash, and can be written to a file."""

from __future__ import annotations

import hashlib
import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.league.ratings import Games, Log, log_of
from deadheat.league.ratings.jsonl import MOST_LINE_BYTES, MOST_PLAYERS, BadLine, read
from tests.league.logs import Line, duels, lines_of, log
from tests.league.refusals import refused
from tests.league.test_ratings import LOGS

pytestmark = pytest.mark.quick


def told(made: Log) -> list[tuple[tuple[str, ...], tuple[int, ...], str | None, int]]:
    """Return the rows of a log, with names."""
    return [
        (
            tuple(made.players[player] for player in players),
            tuple(int(rank) for rank in ranks),
            None if group < 0 else made.groups[group],
            int(count),
        )
        for tables in made.tables
        for players, ranks, group, count in zip(tables.players, tables.ranks, tables.groups, tables.counts, strict=True)
    ]


def test_equal_games_are_counted_and_ranks_are_places() -> None:
    made = log([(("b", "a"), (7, 3)), (("b", "a"), (2, 1)), (("c", "a", "b"), (1, 5, 5))])
    assert told(made) == [(("b", "a"), (1, 0), None, 2), (("c", "a", "b"), (0, 1, 1), None, 1)]
    assert (made.players, made.games) == (("a", "b", "c"), 3)


def test_players_without_games_and_groups_of_one_game_are_left_out() -> None:
    games = Games(np.array([[0, 2], [2, 0], [0, 2]]), np.array([[1, 2]] * 3), np.array([0, 0, 1]))
    made = log_of(["z", "y", "x"], [games], ["pair", "single", "unused"])
    assert (made.players, made.groups) == (("x", "z"), ("pair",))
    zx = ("z", "x"), (0, 1)
    assert told(made) == [(("x", "z"), (0, 1), "pair", 1), (*zx, None, 1), (*zx, "pair", 1)]


def test_the_hash_can_be_made_from_its_description() -> None:
    ba = ("b", "a"), (2, 1)
    made = log([(*ba, "g"), (("a", "b"), (1, 1), "g"), ba, (("c", "ä", "a"), (1, 2, 2))])
    digest = hashlib.sha256(b'{"players":["a","b","c","\\u00e4"],"groups":["g"],"tables":[[2,3],[3,1]]}\n')
    for row in ((0, 1, 0, 0, 0, 1), (1, 0, 1, 0, -1, 1), (1, 0, 1, 0, 0, 1), (2, 3, 0, 0, 1, 1, -1, 1)):
        digest.update(b"".join(number.to_bytes(4, "little", signed=True) for number in row))
    assert made.sha256 == digest.hexdigest()


@given(LOGS)
def test_the_hash_tells_logs_apart(lines: list[Line]) -> None:
    whole = log(lines).sha256
    assert whole not in {log([*lines, lines[0]]).sha256, log(lines[1:]).sha256}
    assert whole != log([(lines[0][0][::-1], lines[0][1][::-1]), *lines[1:]]).sha256  # the seats are part of the log


@given(LOGS, st.randoms(use_true_random=False))
def test_arrays_in_any_portions_make_the_same_log(lines: list[Line], chance: random.Random) -> None:
    cut = chance.randrange(len(lines) + 1)
    parts = [log(part) for part in (lines[:cut], lines[cut:]) if part]
    players = sorted({player for part in parts for player in part.players}, reverse=True)
    groups = sorted({str(line[2]) for line in lines if len(line) > 2 and line[2] is not None})
    games = [
        Games(
            np.array([[players.index(player) for player in seated]]),
            np.array([ranks]),
            np.array([-1 if group is None else groups.index(str(group))]),
        )
        for seated, ranks, group in [(*line, None)[:3] for line in chance.sample(lines, len(lines))]
    ]
    assert log_of(players, games, groups).sha256 == log(lines).sha256


def test_rows_too_wide_for_one_key_are_sorted_all_the_same() -> None:
    chance = np.random.default_rng(3)
    seated = np.stack([chance.permutation(3000)[:6] for _ in range(400)])
    seated[200:] = seated[:200]
    names = [f"{number:04}" for number in range(3000)]
    made = log_of(names, [Games(seated, np.tile(np.arange(6), (400, 1)))])
    rows = [row for row, _, _, _ in told(made)]
    assert rows == sorted({tuple(names[player] for player in players) for players in seated})
    assert [count for _, _, _, count in told(made)] == [2] * 200


def test_names_that_are_there_twice_are_our_mistake() -> None:
    refused(AssertionError, log_of, ["a", "a"], [])


@given(LOGS)
def test_a_log_comes_back_from_its_lines(lines: list[Line]) -> None:
    made = log(lines)
    again = read(line.encode() for line in lines_of(made))
    assert (again.sha256, told(again)) == (made.sha256, told(made))


def test_a_file_has_a_game_a_line() -> None:
    made = read(
        [
            b'{"players": ["a", "b"], "ranks": [1, 2]}\n',
            b"\n",
            b'{"ranks": [2, 1, 2], "players": [7, "b", "a"], "group": 5, "match": 17}\n',
            b'{"players": ["7", "b"], "ranks": [0, 0], "group": "5"}',
        ]
    )
    assert told(made) == [
        (("7", "b"), (0, 0), "5", 1),
        (("a", "b"), (0, 1), None, 1),
        (("7", "b", "a"), (1, 0, 1), "5", 1),
    ]


GAME = {"players": ["a", "b"], "ranks": [1, 2]}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"{", "it is not JSON"),
        (b"\xff\xfe", "it is not JSON"),
        (b"[" * 60_000, "it is not JSON"),
        (b"[]", "it is not a JSON object"),
        (b'{"players": ["a", "b"], "ranks": [1, 2]}' + b" " * MOST_LINE_BYTES, "it is longer than"),
        (GAME | {"players": "ab"}, "players must be a list"),
        (GAME | {"players": ["a"], "ranks": [1]}, "players must be a list of 2"),
        (GAME | {"players": ["a", "a"]}, "a player is listed twice"),
        (GAME | {"players": ["1", 1]}, "a player is listed twice"),
        (GAME | {"players": ["a", True]}, "a player must be text or a whole number"),
        (GAME | {"players": ["a", ""]}, "a player must have a name of 1 to 256 characters"),
        (GAME | {"players": ["a", 10**12]}, "a player must have a name"),
        (GAME | {"ranks": [1]}, "ranks must be a list of 2"),
        ({"players": ["a", "b"]}, "ranks must be a list of 2"),
        (GAME | {"ranks": [1, 2.5]}, "ranks must be whole numbers"),
        (GAME | {"ranks": [True, 2]}, "ranks must be whole numbers"),
        (GAME | {"ranks": [1, 10**10]}, "ranks must be whole numbers"),
        (GAME | {"group": []}, "a group must be text or a whole number"),
    ],
)
def test_a_line_that_is_no_game_is_told_by_number(line: bytes | dict[str, object], sentence: str) -> None:
    bad = line if isinstance(line, bytes) else json.dumps(line).encode()
    with pytest.raises(BadLine, match=f"^line 3: {sentence}"):
        read([json.dumps(GAME).encode(), b"", bad, b"and more"])


def test_a_number_of_thousands_of_digits_is_no_name() -> None:
    assert "line 1" in refused(BadLine, read, [b'{"players": ["a", ' + b"1" * 5000 + b'], "ranks": [1, 2]}'])


def test_players_are_bounded() -> None:
    lines = [json.dumps({"players": [number, number + 1], "ranks": [1, 2]}).encode() for number in range(MOST_PLAYERS)]
    with pytest.raises(BadLine, match=f"line {MOST_PLAYERS}: this game brings a further player"):
        read(lines)


def test_nothing_is_lost_between_players_and_their_games() -> None:
    made = log(duels("a", "b", 3, 2, 1))
    assert told(made) == [(("a", "b"), (0, 0), None, 1), (("a", "b"), (0, 1), None, 3), (("a", "b"), (1, 0), None, 2)]
