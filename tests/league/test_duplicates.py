"""Matches that are played again judge machines: honest ones stay whatever chance does, liars are found in time."""

from dataclasses import replace
from random import Random

import pytest

from deadheat.engine.core import Fault, Result
from deadheat.league.checking.duplicates import (
    ALPHA,
    CHANCES,
    FAVOURED,
    ODD,
    SHARE,
    Evidence,
    coins,
    weigh,
)
from deadheat.league.states import Found
from tests.lanes import scaled
from tests.league import lying
from tests.league.lying import League, Lie

pytestmark = pytest.mark.quick

FIRST, SECOND = Result((1, 2), None), Result((2, 1), None)
LATE = Result((2, 1), None, {0: Fault.TIMEOUT})
BETTER, ALL_ODD = {"better 5": True, "better 6": False}, {"odd": True, "odd 5": True, "odd 6": True}
NOT_ODD = dict.fromkeys(ALL_ODD, False)


@pytest.mark.parametrize(
    ("played", "again", "favourite", "expected"),
    [
        (FIRST, (FIRST, FIRST), 0, {}),
        (FIRST, (SECOND, SECOND), None, {**BETTER, **ALL_ODD}),
        (FIRST, (SECOND, SECOND), 0, {**BETTER, "upsets": False, **ALL_ODD}),
        (FIRST, (SECOND, FIRST), 1, {**BETTER, "upsets": True, **NOT_ODD}),
        (FIRST, (FIRST, SECOND), 0, NOT_ODD),
        (FIRST, (SECOND, Result((1, 1), None)), None, BETTER),
        (LATE, (FIRST, FIRST), 0, {"late": True}),
        (FIRST, (LATE, FIRST), 0, {"late": False}),
        (LATE, (LATE, FIRST), 0, {}),
        (FIRST, (FIRST, LATE), 0, {}),
        (
            replace(SECOND, faults={0: Fault.EXITED}),
            (FIRST, FIRST),
            0,
            {"better 5": False, "better 6": True, **ALL_ODD},
        ),
    ],
)
def test_a_match_played_again_gives_these_coins(
    played: Result, again: tuple[Result, Result], favourite: int | None, expected: dict[str, bool]
) -> None:
    thrown = coins((5, 6), played, again, favourite)
    if played.faults.get(0) is Fault.EXITED:
        thrown.pop("upsets")
    assert thrown == expected


def test_evidence_starts_from_1_and_never_grows_on_average_on_an_honest_machine() -> None:
    assert weigh([]) == Evidence(1.0, 1.0, {})
    so_far = [{"odd": True, "odd 5": True}, {"upsets": True, "better 6": True}, {"late": False}] * 3
    for side, honest in (("odd", ODD), ("odd 5", ODD), ("odd 77", ODD), ("upsets", FAVOURED), ("late", FAVOURED)):
        up, down = (weigh([*so_far, {side: against}]) for against in (True, False))
        for name in ("lies", "late"):
            mean = honest * getattr(up, name) + (1 - honest) * getattr(down, name)
            assert mean == pytest.approx(getattr(weigh(so_far), name))
    for chance in (FAVOURED, 1 - FAVOURED):  # a version's coin for better, and its other face
        up, down = (weigh([*so_far, {"better 6": against}]) for against in (True, False))
        assert chance * up.lies + (1 - chance) * down.lies < weigh(so_far).lies * 1.1
    assert all(chance > FAVOURED >= ODD for chance in CHANCES)


def test_doubt_has_the_matches_that_it_concerns_played_again() -> None:
    doubted = weigh([{"better 5": True}] * 6)
    assert [doubted.share([5, 6]), doubted.share([6, 7]), weigh([]).share([5])] == [1.0, SHARE, SHARE]
    assert weigh([{"late": True}] * 5).share([1, 2]) == 1.0
    assert weigh([{"odd": True}] * 5000).verdict is Found.LIES  # no overflow
    assert (weigh([{"late": True}] * 40).verdict, weigh([{"late": True}] * 40).honest < ALPHA) == (Found.LATE, True)
    assert weigh([{"odd": False}] * 9).honest == 1.0


HONEST = {
    "dice decide half of the matches": League(same=0.5, late=0.01),
    "slower": League(same=0.5, slower_elo=60, late=0.02),
    "as slow as allowed": League(same=0.0, slower_elo=120, late=0.02),
    "alike": League(same=1.0),
}


@pytest.mark.parametrize("league", HONEST.values(), ids=HONEST)
def test_no_honest_machine_is_out_in_100000_series_of_programs_that_search_by_the_clock(league: League) -> None:
    machines = scaled(100, 2)
    ends = [lying.play(Random(f"honest {number}"), league, 1000)[1] for number in range(machines)]
    assert [end.verdict for end in ends] == [None] * machines
    assert max(max(end.lies, end.late) for end in ends) < 20  # far from 1 / ALPHA


FOUND: dict[str, tuple[League, Lie, float, int, Found]] = {
    "every result, alike": (League(1), lying.upsets, 1.0, 150, Found.LIES),
    "1 in 2, alike": (League(1), lying.upsets, 0.5, 300, Found.LIES),
    "1 in 10, alike": (League(1), lying.upsets, 0.1, 1500, Found.LIES),
    "1 in 2, 4 of 5 alike": (League(0.8, 30), lying.upsets, 0.5, 600, Found.LIES),
    "1 in 5, 4 of 5 alike": (League(0.8, 30), lying.upsets, 0.2, 2000, Found.LIES),
    "every result, none alike": (League(0, 30), lying.upsets, 1.0, 1000, Found.LIES),
    "1 in 2, none alike": (League(0, 30), lying.upsets, 0.5, 6000, Found.LIES),
    "a favourite's, alike": (League(1), lying.favours(10), 1.0, 3500, Found.LIES),
    "1 in 2 of a favourite's, alike": (League(1), lying.favours(10), 0.5, 6000, Found.LIES),
    "a favourite's, none alike": (League(0, 30), lying.favours(10), 1.0, 8000, Found.LIES),
    "every time-out of a victim": (League(0, 30), lying.times_out(10), 1.0, 3000, Found.LATE),
    "1 in 2 time-outs of a victim": (League(0, 30), lying.times_out(10), 0.5, 4500, Found.LATE),
}
"""A league of 20 versions, a lie, its rate, the matches within which each liar was found, and the verdict."""


@pytest.mark.parametrize(("league", "lie", "rate", "within", "verdict"), FOUND.values(), ids=FOUND)
def test_liars_are_found_within_a_stated_number_of_matches(
    league: League, lie: Lie, rate: float, within: int, verdict: Found
) -> None:
    for number in range(scaled(50, 2)):
        matches, end, _ = lying.play(Random(f"liar {number}"), league, within // lying.MATCHES, lie, rate)
        assert end.verdict is verdict, (number, matches, end.lies, end.late)
