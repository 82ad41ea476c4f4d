"""The ladder decides which bots play next."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.league.pairing.ladder import NEAREST, Entrant, Met, Reason, Terms, propose
from deadheat.league.pairing.pairs import PairKey, pair_key, parts
from tests.league.paper import SEED, Ladder

pytestmark = pytest.mark.quick


def entrant(version: int, elo: float = 1500, **values: int) -> Entrant:
    """Return a player that has been placed and is linked with everybody."""
    plain: dict[str, int] = {"placing": False, "waiting_since": 0, "part": 0}
    return Entrant(version, elo, **(plain | values))  # type: ignore[arg-type]


def ladder(versions: Iterable[int], terms: Terms | None = None, seed: bytes = SEED) -> Ladder:
    made = Ladder(terms or Terms(series_length=2), seed)
    for version in versions:
        made.come(version)
    return made


def test_every_other_series_begins_with_the_longest_waiting_bot() -> None:
    everyone = [entrant(version, waiting_since=10 - version) for version in range(1, 8)]
    for planned in (1, 3, 5):
        (proposal,) = propose(everyone, lambda _: {}, 1, Terms(), planned, SEED)
        assert 7 in proposal.versions
        assert proposal.reason is Reason.TURN


def test_the_other_series_go_to_bots_that_are_being_placed() -> None:
    everyone = [entrant(version, waiting_since=version) for version in range(1, 8)]
    everyone[4] = replace(everyone[4], placing=True)
    (proposal,) = propose(everyone, lambda _: {}, 1, Terms(), 2, SEED)
    assert 5 in proposal.versions
    assert proposal.reason is Reason.PLACEMENT


def test_a_bot_that_is_being_placed_has_one_series_at_a_time() -> None:
    everyone = [entrant(version, waiting_since=version) for version in range(1, 8)]
    everyone[4] = replace(everyone[4], placing=True, open_series=1)
    (proposal,) = propose(everyone, lambda _: {}, 1, Terms(), 2, SEED)
    assert 1 in proposal.versions
    everyone[4] = replace(everyone[4], open_series=0)
    reasons = [proposal.reason for proposal in propose(everyone, lambda _: {}, 6, Terms(), 2, SEED)]
    assert reasons.count(Reason.PLACEMENT) == 1


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 12),
    st.sampled_from([2, 2, 3, 4]),
    st.lists(st.sampled_from(["come", "come", "go", "plan", "plan", "plan"]), max_size=120),
)
def test_nobody_waits_for_longer_than_two_series_for_each_bot(
    number: int, bots: int, seats: int, events: list[str]
) -> None:
    """Bots come and go, and many of them are being placed."""
    chance = random.Random(number)
    season = ladder(range(1, bots + 1), Terms(seats=seats, series_length=2), number.to_bytes(4, "big"))
    newest = bots
    patience = dict.fromkeys(season.there, 2 * bots)
    for event in events:
        if event == "come":
            newest += 1
            season.come(newest, chance.gauss(1500, 200))
            patience[newest] = 2 * len(season.there)
        elif event == "go" and len(season.there) > seats:
            season.go(chance.choice(sorted(season.there)))
        elif len(season.there) >= seats:
            (proposal,) = season.plan()
            for version in season.there:
                patience[version] -= 1
            for version in proposal.versions:
                patience[version] = 2 * len(season.there)
        assert all(patience[version] >= 0 for version in season.there), season.series


def test_a_flood_of_new_bots_takes_half_of_the_series() -> None:
    """A new bot comes with every series; every second series still belongs to the bot that has waited longest."""
    season = ladder([])
    for version in range(1, 11):
        season.come(version, placing=False)
    for number in range(200):
        season.come(100 + number)
        since = {version: one.waiting_since for version, one in season.there.items()}
        (proposal,) = season.plan()
        if number % 2:
            assert min(since.values()) in {since[version] for version in proposal.versions}
        else:
            assert proposal.reason is not Reason.TURN


def drawn(everyone: list[Entrant], met: Mapping[int, Met], times: int, terms: Terms | None = None) -> Counter[int]:
    """Count the opponents of version 1, whose turn it is, over many seeds."""
    found: Counter[int] = Counter()
    for number in range(times):
        seed = number.to_bytes(4, "big")
        (proposal,) = propose(everyone, lambda _: met, 1, terms or Terms(), 1, seed)
        assert 1 in proposal.versions
        found.update(version for version in proposal.versions if version != 1)
    return found


def field_of(size: int, step_elo: float, *, placing: bool = False) -> list[Entrant]:
    """Return version 1 at 1500, whose turn it is, and the others in turn above and below it."""
    others = [entrant(one, 1500 + step_elo * (one // 2) * (-1) ** one, waiting_since=1) for one in range(2, size + 1)]
    return [replace(entrant(1), placing=placing), *others]


def test_a_bot_that_is_being_placed_meets_one_of_the_nearest_by_lot() -> None:
    found = drawn(field_of(40, 20, placing=True), {}, 600)
    assert set(found) == set(range(2, 2 + NEAREST))
    assert min(found.values()) > 600 / NEAREST / 2


def test_a_bot_that_is_being_placed_meets_new_opponents() -> None:
    met = {version: Met(2) for version in range(2, 2 + NEAREST)}
    assert set(drawn(field_of(40, 20, placing=True), met, 300)) == set(range(2 + NEAREST, 2 + 2 * NEAREST))


def test_a_placed_bot_meets_anybody_but_equals_more_often() -> None:
    """The chance is proportional to p (1 - p)."""
    found = drawn([entrant(1), entrant(2, waiting_since=1), entrant(3, 1900, waiting_since=1)], {}, 2000)
    p = 1 / (1 + 10 ** (-400 / 400))
    assert found[3] / found[2] == pytest.approx(p * (1 - p) / 0.25, abs=0.06)


@pytest.mark.parametrize("met", [{2: Met(9)}, {2: Met(4, before=5)}])
def test_a_pair_that_has_met_meets_less_often(met: Mapping[int, Met]) -> None:
    """After nine games a pair is drawn a tenth as often, whichever versions of the two bots played them."""
    found = drawn([entrant(1), entrant(2, waiting_since=1), entrant(3, waiting_since=1)], met, 2000)
    assert found[2] / found[3] == pytest.approx(1 / 10, abs=0.03)


def test_bots_of_different_divisions_never_meet() -> None:
    season = ladder([])
    for version in range(1, 13):
        season.come(version, division=1 + version % 3)
    for proposal in season.plan(300):
        assert len({version % 3 for version in proposal.versions}) == 1


def test_a_larger_table_is_set_with_neighbours() -> None:
    found = drawn(field_of(60, 30), {}, 400, Terms(seats=4))
    near = sum(found[version] for version in range(2, 22))  # within 330 Elo
    assert sum(found.values()) == 3 * 400
    assert near > 0.6 * 3 * 400
    assert set(drawn(field_of(60, 30, placing=True), {}, 100, Terms(seats=4))) == set(range(2, 2 + NEAREST))


def test_a_table_needs_enough_bots() -> None:
    assert propose([entrant(1), entrant(2), entrant(3)], lambda _: {}, 5, Terms(seats=4), 0, SEED) == []
    assert propose([entrant(1)], lambda _: {}, 5, Terms(), 0, SEED) == []
    assert propose([], lambda _: {}, 5, Terms(), 0, SEED) == []
    divided = [entrant(1), entrant(2, division=2)]
    assert propose(divided, lambda _: {}, 5, Terms(), 0, SEED) == []


@pytest.mark.parametrize(("bots", "length", "most"), [(2, 3, 7), (5, 2, 4), (6, 4, 6), (7, 10, 1)])
def test_every_pair_gets_its_share_and_no_more(bots: int, length: int, most: int) -> None:
    season = ladder(range(1, bots + 1), Terms(series_length=length, games_per_pair=most))
    while season.plan(3):
        pass
    assert season.games == dict.fromkeys(combinations(range(1, bots + 1), 2), most)


@pytest.mark.parametrize("seats", [3, 4, 6])
def test_at_larger_tables_every_pair_gets_its_share(seats: int) -> None:
    season = ladder(range(1, 10), Terms(seats=seats, series_length=seats, games_per_pair=2 * seats))
    while season.plan(3):
        pass
    assert set(season.games) == set(combinations(range(1, 10), 2))
    assert min(season.games.values()) >= 2 * seats


def test_a_bot_without_games_left_begins_no_series_and_fills_a_table() -> None:
    """One pair is left. `met` is not even called for versions 1 and 2, which wait longest but need no games."""
    asked: list[int] = []

    def met(version: int) -> dict[int, Met]:
        asked.append(version)
        return {other: Met(0 if {version, other} == {3, 4} else 6) for other in range(1, 5) if other != version}

    everyone = [entrant(1, through=True), entrant(2, through=True), entrant(3, waiting_since=1), entrant(4)]
    (proposal,) = propose(everyone, met, 5, Terms(seats=3, series_length=6, games_per_pair=6), 0, SEED)
    assert set(proposal.versions) > {3, 4}
    assert set(asked) <= {3, 4}


@given(st.integers(2, 40), st.sampled_from([2, 3, 5]), st.integers(0, 2**32 - 1), st.booleans())
def test_a_field_is_linked_after_two_series_for_each_part(bots: int, seats: int, number: int, placing: bool) -> None:
    season = Ladder(Terms(seats=seats), number.to_bytes(4, "big"))
    chance = random.Random(number)
    for version in range(1, bots + 1):
        season.come(version, chance.gauss(1500, 300), placing=placing)
    if bots < seats:
        return
    for _ in range(2 * (bots - 1)):
        if season.parts() == 1:
            break
        season.plan()
    assert season.parts() == 1


@given(st.integers(0, 2**32 - 1), st.lists(st.sampled_from(["come", "go", *["plan"] * 4]), max_size=100))
def test_a_field_with_comings_and_goings_is_soon_linked_again(number: int, events: list[str]) -> None:
    chance = random.Random(number)
    season = ladder(range(1, 9), seed=number.to_bytes(4, "big"))
    newest = 8
    for event in events:
        if event == "come":
            newest += 1
            season.come(newest, chance.gauss(1500, 300))
        elif event == "go" and len(season.there) > 2:
            season.go(chance.choice(sorted(season.there)))
        else:
            season.plan(chance.randrange(1, 4))
    season.plan(2 * (season.parts() - 1))
    assert season.parts() == 1


def test_two_fields_that_never_met_are_linked_first() -> None:
    """Their ratings are 1,000 Elo apart."""
    everyone = [entrant(version, 1000 + 1000 * (version > 5), part=int(version > 5)) for version in range(1, 9)]
    (proposal,) = propose(everyone, lambda _: {}, 1, Terms(), 0, SEED)
    assert proposal.reason is Reason.LINK
    assert {version > 5 for version in proposal.versions} == {True, False}


def test_parts_are_what_tables_link() -> None:
    assert parts([1, 2, 3, 4], [(1, 2), (4, 3)]) == {1: 1, 2: 1, 3: 3, 4: 3}
    assert parts([1, 2, 3, 4], [(4, 2)], {1: 1, 2: 1, 3: 3}) == {1: 1, 2: 1, 3: 3, 4: 1}
    assert parts([], [(9, 8, 7), (7, 5), (1, 2)]) == {9: 5, 8: 5, 7: 5, 5: 5, 1: 1, 2: 1}


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)).filter(lambda pair: pair[0] != pair[1])))
def test_parts_are_the_same_in_any_order_and_in_two_steps(tables: list[tuple[int, int]]) -> None:
    linked = parts(range(1, 13), tables)
    assert linked == parts(range(1, 13), tables[::-1])
    assert linked == parts(range(1, 13), tables[3:], parts([1], tables[:3]))
    assert all(linked[one] == linked[other] for one, other in tables)
    assert all(linked[version] <= version for version in linked)


@given(st.integers(0, 2**32 - 1), st.integers(2, 10), st.integers(1, 5), st.integers(1, 80))
def test_seats_differ_by_at_most_one_for_each_pair(number: int, bots: int, length: int, series: int) -> None:
    season = ladder(range(1, bots + 1), Terms(series_length=length), number.to_bytes(4, "big"))
    for _ in range(series):
        season.plan(1 + number % 3)
    for one, other in permutations(season.there, 2):
        assert abs(season.first[one, other] - season.first[other, one]) <= 1


def test_seats_differ_little_for_each_bot() -> None:
    """Series of one match are the hardest case: 40 bots, 100 matches each."""
    season = ladder(range(1, 41), Terms(series_length=1))
    season.plan(2000)
    for version in season.there:
        began = sum(count for (one, _), count in season.first.items() if one == version)
        followed = sum(count for (_, other), count in season.first.items() if other == version)
        assert abs(began - followed) <= 6, (version, began, followed)
    leads = [
        sum(
            count if one == version else -count
            for (one, other), count in season.first.items()
            if version in (one, other)
        )
        for version in season.there
    ]
    assert math.sqrt(sum(lead**2 for lead in leads) / len(leads)) < 3  # lots alone would give 10


def test_a_seed_decides_what_is_left_to_chance() -> None:
    everyone = field_of(30, 10)
    orders = ((everyone, b"a"), (everyone[::-1], b"a"), (everyone, b"b"))
    plans = [propose(order, lambda _: {}, 9, Terms(), 0, seed) for order, seed in orders]
    assert plans[0] == plans[1] != plans[2]


def test_planning_at_once_or_one_after_the_other_is_the_same() -> None:
    many, few = (ladder(range(1, 20), seed=b"same") for _ in range(2))
    for season in (many, few):
        for version in season.there:
            season.there[version] = replace(season.there[version], placing=False)
    many.plan(60)
    for _ in range(60):
        few.plan()
    assert many.series == few.series


def test_uploading_again_and_again_does_not_bring_a_bot_nearer_to_a_friend() -> None:
    """Bot 1 uploads after every series of its own, always as strong as its friend, bot 2. Past meetings of the two
    still count, so they meet at most twice as often as by chance.
    """
    bots = 20
    met_bots: Counter[PairKey] = Counter()
    of_bot = {bot: bot for bot in range(1, bots + 1)}  # bot -> version
    since = dict.fromkeys(of_bot, 0)
    games = 0
    for number in range(400):
        everyone = [Entrant(one, 1500 + 10 * bot * (bot > 2), bot == 1, since[bot], 0) for bot, one in of_bot.items()]
        bot_of = {version: bot for bot, version in of_bot.items()}

        def met(version: int, bot_of: Mapping[int, int] = bot_of) -> dict[int, Met]:
            own = bot_of[version]
            return {of_bot[other]: Met(0, met_bots[pair_key(own, other)]) for other in of_bot if other != own}

        (proposal,) = propose(everyone, met, 1, Terms(), number, SEED)
        playing = [bot_of[version] for version in proposal.versions]
        met_bots[pair_key(*playing)] += proposal.matches
        for bot in playing:
            since[bot] = number + 1
        if 1 in playing:
            games += 1
            of_bot[1] = 1000 + number
    with_friend = met_bots[1, 2] / 10
    assert games > 200  # its versions are always being placed
    assert with_friend < 2 * games / (bots - 1)
