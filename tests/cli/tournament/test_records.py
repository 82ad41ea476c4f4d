"""A tournament's folder: what a reader finds there, however the writer ended."""

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from deadheat.cli.tournament.records import (
    GAMES,
    Answers,
    BadFolder,
    Bot,
    Folder,
    GameRecord,
    Kind,
    Request,
    Stage,
    load,
    record_of,
    save,
)
from deadheat.cli.tournament.schedule import plan
from deadheat.cli.tournament.standings import Standings
from deadheat.engine.core import Fault, Message, Reply, Result
from deadheat.engine.own_time import Evidence
from deadheat.engine.transcript import Exchange, Transcript
from deadheat.league.ratings.log import read

pytestmark = pytest.mark.quick

KNOWN: dict[str, object] = {
    "points": None,
    "faults": [],
    "times": [{}, {}],
    "host_ms": [0, 0],
    "void_attempts": 0,
    "seconds": 0.5,
}
LINE = {"number": 0, "players": ["a", "b"], "ranks": [1, 2], "group": "0-1/1", "transcript": None, **KNOWN}


def request(*labels: str, **other: object) -> Request:
    bots = tuple(Bot(label, label, "00", f"{place:02}", ("./bot",)) for place, label in enumerate(labels))
    how = {"seed": "seed", "keep": "none", "sandbox": "local", "stages": (Stage(len(bots), 4),)}
    known = {"game": "yacht-auction", "bots": bots, "kind": Kind.ROUND_ROBIN, "seats": 2, "games": 4, **how}
    return Request(**{**known, **other})  # type: ignore[arg-type]


def test_a_request_is_read_as_it_was_written(tmp_path: Path) -> None:
    asked = request("a", "b", sprt={"elo0": 0.0, "elo1": 20.0}, stages=(Stage(2, 4), Stage(3, 4)))
    save(tmp_path, asked)
    assert load(tmp_path) == asked


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "bots": [{}]}'])
def test_what_is_no_tournament_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "tournament.json").write_text(text)
    with pytest.raises(BadFolder):
        load(tmp_path)


@pytest.mark.parametrize("torn", ['{"number": 1, "pla', "x", '{"number": 1, "players": ["a", "b"], "ranks": [1, 2]}'])
def test_a_torn_last_line_is_cut_off_and_its_game_played_again(tmp_path: Path, torn: str) -> None:
    whole = json.dumps(LINE) + "\n"
    (tmp_path / GAMES).write_text(whole + torn)
    with Folder(tmp_path) as folder:
        assert [game.number for game in folder.games] == [0]
        assert (tmp_path / GAMES).read_text() == whole
        folder.append(json.dumps({**LINE, "number": 1}))
    with Folder(tmp_path) as folder:
        assert [game.number for game in folder.games] == [0, 1]


def test_a_line_in_the_middle_that_is_no_game_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / GAMES).write_text("{}\n" + json.dumps(LINE) + "\n")
    with pytest.raises(BadFolder, match="line 1: number: This is required; delete the line, and --resume plays its"):
        Folder(tmp_path)


def test_a_folder_belongs_to_one_tournament_at_a_time(tmp_path: Path) -> None:
    with Folder(tmp_path), pytest.raises(BadFolder, match="another tournament"):
        Folder(tmp_path)
    Folder(tmp_path).close()


def test_times_are_by_seat_and_command_and_time_taken_is_apart() -> None:
    def ask(seat: int, line: str) -> Message:
        return Message(seat, line, 500_000_000)

    taken = Evidence(wall_ns=9_000_000, cpu_ns=0, leader_cpu_ns=0, delay_ns=4_000_000)
    replies = {0: Reply("OK", 1_234_567), 1: Reply("OK", 9_000_000, stolen_ns=4_000_000, evidence=taken)}
    late = {0: Reply(None, 600_000_000, Fault.TIMEOUT), 1: Reply(None, 0, Fault.EXITED)}
    exchanges = (
        Exchange((ask(0, "READY"), ask(1, "READY")), replies),
        Exchange((ask(0, "ROLL 1 2"), ask(1, "ROLL 1 2"), Message(1, "GET A")), late),
    )
    faults = {0: Fault.TIMEOUT, 1: Fault.EXITED}
    played = Transcript("g", 1, 2, b"", exchanges, Result((1, 1), None, faults))
    record = record_of(0, ["a", "b"], "0-1/1", played, 0.5, None)
    assert record.times == [
        {"READY": Answers(500, [(1.2, 1)]), "ROLL": Answers(500, [(600, 1)])},
        {"READY": Answers(500, [(5, 1)])},
    ]
    assert record.host_ms == [0, 4]


def game(number: int, players: list[str], ranks: list[int], **other: object) -> GameRecord:
    line = {**LINE, "number": number, "players": players, "ranks": ranks, **other}
    return TypeAdapter(GameRecord).validate_python(line)


def test_pairs_count_once_both_games_are_there_and_nothing_counts_twice() -> None:
    asked = request("a", "b", games=4)
    standings = Standings(asked)
    (first, second), (third, fourth) = (deal.games for deal in plan(asked))
    one = game(first.number, [asked.labels[bot] for bot in first.players], [1, 2])
    standings.add(one)
    standings.add(one)
    assert sum(standings.total(0)) == 1 and standings.pairs(0) == (0, 0, 0)
    standings.add(game(second.number, [asked.labels[bot] for bot in second.players], [1, 2]))
    assert standings.pairs(0) == standings.pairs(1) == (0, 1, 0), "each won in the first seat"
    later = {"group": "0-1/2"}
    standings.add(game(third.number, [asked.labels[bot] for bot in third.players], [1, 1], rated=False, **later))
    standings.add(game(fourth.number, [asked.labels[bot] for bot in fourth.players], [1, 2], **later))
    assert (sum(standings.total(0)), standings.unrated) == (3, 1), "a game that both lost counts for nobody"
    assert standings.pairs(0) == (0, 1, 0)


def test_rate_passes_over_games_that_all_lost_by_faults() -> None:
    lines = [json.dumps(LINE), json.dumps({**LINE, "rated": False, "ranks": [1, 1]})]
    assert read(line.encode() for line in lines).games == 1
