"""Which games a tournament plays: balanced seats, shared dice, and no change to past games when it continues."""

import hashlib
import json
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.cli.tournament import beginning
from deadheat.cli.tournament.beginning import OLD_BOUNDS, Condition, Gate, Unplayable, judge
from deadheat.cli.tournament.records import Kind, Request, Stage
from deadheat.cli.tournament.schedule import missing, plan
from deadheat.cli.tournament.standings import Standings
from tests.cli.tournament.test_records import game, request

pytestmark = pytest.mark.quick


def design(bots: int = 4, games: int = 4, seats: int = 2, **other: Any) -> Request:
    labels = [f"bot-{number}" for number in range(bots)]
    return replace(request(*labels, seats=seats, stages=(Stage(bots, games),)), **other)


def meetings(of: Request) -> Counter[tuple[int, int]]:
    games = [game for deal in plan(of) for game in deal.games]
    return Counter(pair for game in games for pair in combinations(sorted(game.players), 2))


designs = st.builds(
    lambda seats, more, games, kind: design(seats + more, games, seats, kind=kind),
    st.integers(2, 6),
    st.integers(0, 4),
    st.integers(1, 9),
    st.sampled_from(Kind),
)


@given(designs)
def test_every_pair_that_meets_plays_enough_and_every_deal_once_from_each_seat(of: Request) -> None:
    (stage,) = of.stages
    met = meetings(of)
    everybody = combinations(range(stage.bots), 2)
    pairs = everybody if of.kind is Kind.ROUND_ROBIN else [(0, n) for n in range(1, stage.bots)]
    assert all(met[pair] >= stage.games for pair in pairs)
    for deal in plan(of):
        assert len(deal.games) == of.seats
        for seat in range(of.seats):
            assert sorted(game.players[seat] for game in deal.games) == list(deal.table)


@given(designs)
def test_games_are_numbered_in_their_order_and_only_those_of_one_deal_share_dice(of: Request) -> None:
    deals = plan(of)
    assert [game.number for deal in deals for game in deal.games] == list(range(sum(len(deal.games) for deal in deals)))
    assert len({deal.seed for deal in deals}) == len({deal.group for deal in deals}) == len(deals)


@given(designs, st.integers(0, 2), st.integers(0, 6))
def test_one_more_bot_or_more_games_change_no_game_of_before(of: Request, bots: int, games: int) -> None:
    (stage,) = of.stages
    labels = (*of.labels, *(f"new-{number}" for number in range(bots)))
    later = replace(of, bots=request(*labels).bots, stages=(stage, Stage(stage.bots + bots, stage.games + games)))
    before, after = plan(of), plan(later)
    assert after[: len(before)] == before
    met = meetings(later)
    assert all(met[0, other] >= stage.games + games for other in range(1, len(labels)))


def test_two_play_exactly_what_was_asked_and_everybody_in_turn() -> None:
    of = design(bots=4, games=6)
    assert set(meetings(of).values()) == {6}
    tables = [deal.table for deal in plan(of)]
    assert tables[:6] == tables[6:12] == list(combinations(range(4), 2)), "who stops early has treated all alike"


def test_a_tournament_that_was_not_interrupted_plays_in_the_order_of_its_numbers() -> None:
    for of in (design(bots=4, games=6), design(5, games=6, kind=Kind.GAUNTLET), design(games=6, block=2)):
        assert missing(of, plan(of), ()) == plan(of)


@given(designs, st.integers(0, 40))
def test_an_added_bot_plays_first_until_it_has_caught_up(of: Request, number: int) -> None:
    (stage,) = of.stages
    later = replace(of, bots=request(*of.labels, "new").bots, stages=(stage, Stage(stage.bots + 1, stage.games)))
    deals = plan(later)
    order = missing(later, deals, range(number))
    assert sorted(game.number for deal in order for game in deal.games) == list(
        range(number, sum(len(deal.games) for deal in deals))
    )
    if of.seats > 2:
        return
    met = Counter(
        game.players if game.players[0] < game.players[1] else game.players[::-1]
        for deal in deals
        for game in deal.games
        if game.number < number
    )
    for deal in order:
        wanting = {other.table for other in order[order.index(deal) :]}
        assert met[deal.table] - min(met[table] for table in wanting) < of.seats, "who has met least is next"
        met[deal.table] += len(deal.games)


def test_larger_tables_spread_the_meetings() -> None:
    met = meetings(design(bots=9, games=4, seats=4)).values()
    assert len(met) == 36 and max(met) <= 4 * min(met)
    assert sum(met) <= 1.6 * 36 * 4, "not much more than was asked"


def test_dice_follow_from_seed_and_names_alone() -> None:
    of = design(bots=3)
    same = {tuple(of.labels[bot] for bot in deal.table): deal.seed for deal in plan(of) if deal.group.endswith("/1")}
    others = replace(of, bots=request("stranger", *of.labels).bots, stages=(Stage(4, 4),))
    for deal in plan(others):
        names = tuple(others.labels[bot] for bot in deal.table)
        assert deal.group.endswith("/2") or same.get(names, deal.seed) == deal.seed
    assert not {deal.seed for deal in plan(of)} & {deal.seed for deal in plan(replace(of, seed="other"))}


def test_candidates_play_the_same_dice_against_each_member_of_a_panel_and_not_each_other() -> None:
    deals = plan(design(bots=5, panel=2))
    assert {deal.table for deal in deals} == {(one, other) for one in range(3) for other in (3, 4)}
    for opponent in (3, 4):
        dice = [[deal.seed for deal in deals if deal.table == (one, opponent)] for one in range(3)]
        assert dice[0] == dice[1] == dice[2]


BEGUN = {
    "49f708f15f56c453": design(games=5),
    "8030a388627145e6": design(5, stages=(Stage(4, 4), Stage(5, 4), Stage(5, 9))),
    "abe56ea128671760": design(games=6, block=2),
    "cacc409c10d6c607": design(games=6, kind=Kind.GAUNTLET),
    "d7503757bdb8d61a": design(6, games=6, kind=Kind.GAUNTLET, panel=2),
    "f36b7db8c2beb083": design(7, seats=4, stages=(Stage(6, 4), Stage(7, 8))),
    "73358c861858726e": design(7, games=4, seats=3, kind=Kind.GAUNTLET),
}
"""Plans by the beginning of their hash: tournaments that have begun continue with the same games."""


@pytest.mark.parametrize(("known", "of"), BEGUN.items())
def test_the_games_of_a_tournament_never_change(known: str, of: Request) -> None:
    games = [(deal.group, deal.seed.hex(), [(one.number, one.players) for one in deal.games]) for deal in plan(of)]
    assert hashlib.sha256(json.dumps(games).encode()).hexdigest().startswith(known)


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
    with pytest.raises(Unplayable, match=r"called rash-\*"):
        beginning._check_gate(gate, LABELS, 3)
    beginning._check_gate(gate, ["rash-1", "rash-1", "rush-2"], 2)  # who shares a name with others still has it


def test_fewer_games_than_could_show_anything_are_known_before_any_is_played() -> None:
    few, enough = (
        Gate.model_validate({"panel": ["x"], "games": games, "condition": [{"sprt": OLD_BOUNDS}]}) for games in (18, 20)
    )
    beginning._check_gate(enough, ["x"], 1)
    with pytest.raises(Unplayable, match="more than 18"):
        beginning._check_gate(few, ["x"], 1)


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
        with pytest.raises(Unplayable, match=why):
            beginning.read_gate(file)
