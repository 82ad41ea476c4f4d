"""A gate's conditions: what they ask, and how they judge results."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from deadheat.cli.tournament import conditions
from deadheat.cli.tournament.conditions import (
    BadGate,
    Condition,
    Gate,
    games_needed,
    holm,
    judge,
    most_compared,
    pairs_needed,
    sign_flip,
    unmatched,
)
from deadheat.cli.tournament.records import Kind, Stage
from deadheat.cli.tournament.schedule import plan
from deadheat.cli.tournament.standings import Standings
from tests.cli.tournament.test_records import game, request

LABELS = ("mine", "old", "rush-1", "rush-2", "slow")
PANEL = range(2, 5)


def played(results: dict[tuple[int, int], list[int]], faults: int = 0) -> Standings:
    """Play a gate's games. `results`: half points of each pair of games, by candidate and opponent."""
    standings = Standings(LABELS, plan(request(*LABELS, kind=Kind.GAUNTLET, stages=(Stage(5, 20),), panel=3)))
    points = {pair: iter(halves) for pair, halves in results.items()}
    for deal in standings.deals:
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
            standings.add(game(seated.number, names, [by_bot[bot] for bot in seated.players], faults=found))
    return standings


def verdict(standings: Standings, **condition: object) -> tuple[bool, str]:
    gate = Gate.model_validate({"panel": ["x"], "condition": [condition]})
    (found,) = judge(gate, standings, 0, PANEL, {"old": 1})
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


def test_worse_is_what_luck_does_not_explain_after_asking_everybody() -> None:
    equal = {(bot, opponent): [2, 4, 2, 0, 1, 3, 2, 4, 2, 0] for bot in (0, 1) for opponent in PANEL}
    met, sentence = verdict(played(equal), not_worse_than="old")
    assert met
    assert "against 3 opponents" in sentence
    worse = equal | {(0, 2): [2, 3, 0, 0, 0, 1, 0, 2, 0, 0]}
    met, sentence = verdict(played(worse), not_worse_than="old")
    assert not met
    assert "worse against rush-1" in sentence and "rush-1 -30.0 points of 100 (p 0.023)" in sentence
    assert verdict(played(worse), not_worse_than="old", against="slow")[0]
    # It is tested at its own 5 % (1 of 32), not as the worst of three.
    hardly = equal | {(0, 2): [1, 3, 1, 0, 0, 2, 2, 4, 2, 0]}
    assert verdict(played(hardly), not_worse_than="old")[0]
    assert not verdict(played(hardly), not_worse_than="old", against="rush-1")[0]


def test_too_few_games_pass_nobody() -> None:
    few = {(bot, opponent): [2] * 5 for bot in (0, 1) for opponent in PANEL}
    met, sentence = verdict(played(few), not_worse_than="old")
    assert not met
    assert "not enough games. old took points from nobody in 6 pairs of games or more" in sentence
    assert not verdict(played({(0, 2): [2] * 10}), not_worse_than="old")[0], "the other has not played"
    lost = {(0, 2): [0] * 5, (1, 2): [2, 2, 4, 1, 0]}
    met, sentence = verdict(played(lost), not_worse_than="old", against="rush-1")
    assert not met
    assert "not enough games" in sentence, "old took points in four pairs, and 1 of 16 is luck"


def test_whoever_loses_everything_is_not_worse_than_nobody() -> None:
    dice = random.Random(16)
    for _ in range(50):
        names = [2, 3, 4][: dice.randint(1, 3)]
        deals, strength = dice.randint(1, 10), dice.random()
        old = {(1, bot): [dice.randint(0, 4) * (dice.random() < strength) for _ in range(deals)] for bot in names}
        lost = {(0, bot): [0] * deals for bot in names}
        assert not verdict(played(old | lost), not_worse_than="old", against=[LABELS[bot] for bot in names])[0], old


def test_who_never_scored_against_somebody_has_nothing_to_lose_there() -> None:
    results = {(bot, opponent): [2] * 10 for bot in (0, 1) for opponent in (2, 3)}
    hopeless = results | {(bot, 4): [0] * 10 for bot in (0, 1)}
    met, sentence = verdict(played(hopeless), not_worse_than="old")
    assert met
    assert "slow +0.0 points of 100 (hardly any to lose)" in sentence
    assert not verdict(played(hopeless), not_worse_than="old", against="slow")[0], "nothing else could fail it"


def test_a_fault_is_always_worse() -> None:
    better = {(bot, opponent): [4 - bot] * 10 for bot in (0, 1) for opponent in PANEL}
    met, sentence = verdict(played(better, faults=3), not_worse_than="old")
    assert not met
    assert "it failed in 3 games against these, which is always worse" in sentence
    assert verdict(played(better), not_worse_than="old")[0]
    assert verdict(played(better, faults=1), not_worse_than="old", against="slow")[0], "it failed against rush-1"


@pytest.mark.parametrize("differences", [(), (0, 0), (1,), (-1, -1, 2), (3, -4, 1, -2, 0, -1)])
def test_the_sign_flip_is_exact(differences: tuple[int, ...]) -> None:
    sizes = [abs(d) for d in differences if d]
    sums = [sum(s * size for s, size in zip(signs, sizes, strict=True)) for signs in
            itertools.product((-1, 1), repeat=len(sizes))]  # fmt: skip
    assert sign_flip(differences) == pytest.approx(sum(s <= sum(differences) for s in sums) / len(sums))


def test_holm_corrects_each_by_how_many_are_left() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_condition_is_of_one_kind_and_fits_somebody() -> None:
    for wrong in ({}, {"no_loss": "a", "no_fault_in": 3}, {"no_loss": "a", "against": "b"}, {"no_los": "a"}):
        with pytest.raises(ValueError, match=r"condition|[Ee]xtra|against"):
            Condition.model_validate(wrong)
    gate = Gate.model_validate({"panel": ["x"], "condition": [{"no_loss": ["rush-*", "rash-*"]}]})
    assert list(unmatched(gate, LABELS)) == ["rash-*"]
    assert list(unmatched(gate, ["rash-1#2", "rush-2"])) == [], "who shares a name with others still has it"


def test_fewer_games_than_could_show_anything_are_known_before_any_is_played() -> None:
    for opponents in (1, 2, 14, 20):
        deals = pairs_needed(opponents)
        assert opponents * 0.5**deals < conditions.LEVEL <= opponents * 0.5 ** (deals - 1)
        assert games_needed(opponents) == 4 * deals, "two games a pair, and points in half the pairs"
    asks = [{"not_worse_than": "old", "against": "rush-*"}, {"no_loss": "slow"}]
    gate = Gate.model_validate({"panel": ["x"], "condition": asks})
    assert most_compared(gate, LABELS[2:]) == 2
    assert most_compared(gate.model_copy(update={"condition": gate.condition[1:]}), LABELS[2:]) == 0


def test_a_gates_bots_are_seen_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "panel").mkdir()
    for name in ("a", "b"):
        (tmp_path / "panel" / f"{name}.py").touch()
    file = tmp_path / "gate.toml"
    file.write_text(
        'panel = ["panel/*", "house:greedy", "./panel/a.py"]\n'
        '[[condition]]\nnot_worse_than = "old"\n[[condition]]\nno_loss = "a"\n'
    )
    gate = conditions.read(file)
    files = [str(tmp_path / "panel" / name) for name in ("a.py", "b.py")]
    assert gate.panel == [*files, "house:greedy"], "each once"
    assert gate.references == [str(tmp_path / "old")]
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
        ('panel = ["x"]\n[[condition]]\nnot_worse_than = "panel/*"', "2 bots"),
    ):
        file.write_text(text)
        with pytest.raises(BadGate, match=why):
            conditions.read(file)
