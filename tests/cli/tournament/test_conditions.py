"""A gate's conditions: what they ask, and how they judge results."""

from __future__ import annotations

from pathlib import Path

import pytest

from deadheat.cli.tournament import beginning
from deadheat.cli.tournament.beginning import OLD_BOUNDS, BadGate, Condition, Gate, can_reject, judge, unmatched
from deadheat.cli.tournament.records import Kind, Stage
from deadheat.cli.tournament.schedule import plan
from deadheat.cli.tournament.standings import Standings
from tests.cli.tournament.test_records import game, request

pytestmark = pytest.mark.quick

LABELS = ("mine", "old", "rush-1", "rush-2", "slow")
PANEL = range(2, 5)


def played(results: dict[tuple[int, int], list[int]], faults: int = 0) -> Standings:
    """Play a gate's games. `results`: half points of each pair of games, by candidate and opponent."""
    asked = request(*LABELS, kind=Kind.GAUNTLET, stages=(Stage(5, 20),), panel=3)
    standings = Standings(asked)
    points = {pair: iter(halves) for pair, halves in results.items()}
    for number, deal in enumerate(plan(asked)):
        one, other = deal.table
        halves = next(points.get((one, other), iter(())), None)
        if halves is None:
            continue
        for nth, seated in enumerate(deal.games):
            own = min(2, max(0, halves - 2 * nth))  # 3: a win and a draw
            ranks = {2: (1, 2), 1: (1, 1), 0: (2, 1)}[own]
            by_bot = dict(zip((one, other), ranks, strict=True))
            names = [LABELS[bot] for bot in seated.players]
            fault = {"seat": names.index(LABELS[one]), "fault": "timeout", "command": "ROLL"}
            found = [fault] if faults and one == 0 else []
            faults -= bool(found)
            own_ranks = [by_bot[bot] for bot in seated.players]
            standings.add(game(seated.number, names, own_ranks, faults=found, group=str(number)))
    return standings


def verdict(standings: Standings, **condition: object) -> tuple[bool, str]:
    gate = Gate.model_validate({"panel": ["x"], "condition": [condition]})
    (found,) = judge(gate, standings, 0, PANEL)
    return found.met, found.sentence


def test_no_loss_is_asked_of_those_of_that_name_only() -> None:
    games = {(0, 2): [4] * 10, (0, 3): [3] * 10, (0, 4): [0] * 10}
    met, sentence = verdict(played(games), no_loss="rush-*")
    assert met
    assert "rush-1, rush-2 in 40 games (at 95 %, it loses fewer than 7.2 % of them)" in sentence
    met, sentence = verdict(played(games | {(0, 3): [4] * 9 + [2]}), no_loss=["rush-*"])
    assert not met
    assert "it lost 1 of 40 games (rush-2 1)" in sentence
    assert not verdict(played({}), no_loss="rush-*")[0], "nothing was played"


def test_no_fault_is_asked_of_enough_games() -> None:
    games = {(0, opponent): [2] * 10 for opponent in PANEL}
    assert verdict(played(games), no_fault_in=60) == (True, "no fault in 60 games")
    assert verdict(played(games), no_fault_in=61)[0] is False
    met, sentence = verdict(played(games, faults=2), no_fault_in=60)
    assert not met
    assert "2 faults in 60 (2 x timeout at ROLL)" in sentence


def test_the_sequential_test_is_asked_of_pairs_against_those_of_that_name() -> None:
    lost = {(0, 2): [0] * 10, (0, 3): [4] * 10, (0, 4): [2] * 10}
    met, sentence = verdict(played(lost), sprt=(-100, 0), against="rush-1")
    assert (met, sentence) == (
        False,
        "the test -100,0 against rush-1 does not reject: it rejects after 10 pairs of games (LLR -3.20)",
    )
    met, sentence = verdict(played(lost), sprt=(-100, 0), against="rush-*")
    assert met and "against rush-1, rush-2 does not reject: it is undecided after 20 pairs" in sentence
    assert verdict(played({(0, 4): [2] * 20}), sprt=(-100, 0), against="slow")[1].endswith(
        "10 pairs of games (LLR 1.53)"
    )
    assert not verdict(played({}), sprt=(-100, 0))[0], "nothing was played"


def test_a_condition_is_of_one_kind_and_fits_somebody() -> None:
    for wrong in ({}, {"no_loss": "a", "no_fault_in": 3}, {"no_loss": "a", "against": "b"}, {"no_los": "a"}):
        with pytest.raises(ValueError, match=r"condition|[Ee]xtra|against"):
            Condition.model_validate(wrong)
    gate = Gate.model_validate({"panel": ["x"], "condition": [{"no_loss": ["rush-*", "rash-*"]}]})
    assert list(unmatched(gate, LABELS)) == ["rash-*"]
    assert list(unmatched(gate, ["rash-1#2", "rush-2"])) == [], "who shares a name with others still has it"


def test_fewer_games_than_could_show_anything_are_known_before_any_is_played() -> None:
    assert [pairs for pairs in range(1, 40) if can_reject(OLD_BOUNDS, pairs)][:1] == [10]


def test_a_gates_bots_are_seen_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "panel").mkdir()
    for name in ("a", "b"):
        (tmp_path / "panel" / f"{name}.py").touch()
    file = tmp_path / "gate.toml"
    file.write_text(
        'panel = ["panel/*", "house:greedy", "./panel/a.py"]\n'
        '[[condition]]\nnot_worse_than = "old"\n[[condition]]\nno_loss = "a"\n'
    )
    gate = beginning.read_gate(file)
    said = capsys.readouterr().err
    assert "the bot against the other: sprt = [-100, 0], against = ['old']" in " ".join(said.split())
    files = [str(tmp_path / "panel" / name) for name in ("a.py", "b.py")]
    assert gate.panel == [*files, "house:greedy", str(tmp_path / "old")], "each once"
    assert gate.condition[:2] == [Condition(sprt=(-100, 0), against=["old"]), Condition(no_fault_in=1)]
    for text, why in (
        ("panel", "TOML"),
        ("panel = []", "panel: It should have at least 1 item"),
        ('panel = ["a"]\ngames = 1\n[[condition]]\nno_loss = "a"', "games: It should be at least 2"),
        ('panel = ["a"]\ngames = "x"\n[[condition]]\nno_loss = "a"', "games: Enter a whole number"),
        ('panel = ["a"]\n[[condition]]\nno_loss = "a"\n[[condition]]\nno_fault_in = 0', "condition 2, no_fault_in: It"),
        ('panel = ["a"]\n[[condition]]\nno_los = "a"', "condition 1, no_los: There is no such field"),
        ('panel = ["a"]\n[[condition]]', "condition 1: a condition is one of no_loss"),
        ('panel = ["a"]', "condition: This is required"),
        ('panel = ["none/*"]\n[[condition]]\nno_loss = "a"', "nothing is called none"),
        ('panel = ["x"]\n[[condition]]\nsprt = [5, 0]', "elo0 must be below elo1"),
    ):
        file.write_text(text)
        with pytest.raises(BadGate, match=why):
            beginning.read_gate(file)
