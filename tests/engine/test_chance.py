"""The stream of chance is a published algorithm, so these values may never change."""

import hashlib
from collections import Counter

import pytest

from deadheat.engine.chance import SEED_BYTES, Chance, attempt_seed, commitment
from tests.engine.players import seed

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("number", "dice"),
    [
        (0, "2154353131553115143616314642155424336156"),
        (1, "6563656263654246546363611431655612145345"),
        (2**128 - 1, "6256124323546665215521622532154366451316"),
    ],
)
def test_the_dice_of_a_seed_are_these_for_ever(number: int, dice: str) -> None:
    assert "".join(map(str, Chance(seed(number)).dice(len(dice)))) == dice


def test_other_bounds_are_stored_too() -> None:
    chance = Chance(b"deadheat")
    stored = {1: 0, 2: 1, 3: 0, 5: 1, 6: 0, 7: 0, 10: 5, 21: 12, 100: 8, 255: 56, 256: 151}
    assert {bound: chance.below(bound) for bound in stored} == stored


def test_the_seeds_of_further_attempts_are_these_for_ever() -> None:
    """One commitment stands for the whole list (ruling C-16)."""
    first = bytes(range(SEED_BYTES))
    assert attempt_seed(first, 1) == first
    assert attempt_seed(first, 2) == hashlib.sha256(b"deadheat attempt 2" + first).digest()[:16]
    assert attempt_seed(first, 2).hex() == "3e40a50dd428a889a21bb93f6edd4ac0"
    assert len({attempt_seed(first, number) for number in range(1, 1000)}) == 999


def test_the_commitment_is_the_hash_of_the_seed() -> None:
    assert commitment(bytes(SEED_BYTES)) == "374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb"


def independent_stream(number: int, bound: int, count: int) -> list[int]:
    """Compute the stream from the module's description alone."""
    data = b"".join(hashlib.sha256(seed(number) + block.to_bytes(8, "big")).digest() for block in range(count))
    return [byte % bound for byte in data if byte < bound * (256 // bound)][:count]


@pytest.mark.parametrize("bound", [1, 2, 6, 7, 129, 255, 256])
def test_the_description_suffices_to_write_it_again(bound: int) -> None:
    chance = Chance(seed(5))
    assert [chance.below(bound) for _ in range(300)] == independent_stream(5, bound, 300)


def test_a_byte_over_the_last_multiple_is_thrown_away() -> None:
    """256 is no multiple of 6, so low faces would come up more often without this."""
    number, byte = next(
        (n, first) for n in range(1000) if (first := hashlib.sha256(seed(n) + bytes(8)).digest())[0] >= 252
    )
    assert Chance(seed(number)).below(6) == byte[1] % 6


@pytest.mark.parametrize("bound", [2, 3, 6, 21, 256])
def test_every_value_is_about_equally_likely(bound: int) -> None:
    chance, draws = Chance(b"uniform"), 20_000
    counted = Counter(chance.below(bound) for _ in range(draws))
    expected = draws / bound
    chi_square = sum((counted[value] - expected) ** 2 / expected for value in range(bound))
    freedom = bound - 1
    assert set(counted) <= set(range(bound))
    assert chi_square < freedom + 5 * (2 * freedom) ** 0.5  # five standard deviations; the seed is fixed


def test_neighbouring_dice_are_independent() -> None:
    chance = Chance(b"pairs")
    counted = Counter(chance.dice(2) for _ in range(18_000))
    assert len(counted) == 36
    assert sum((n - 500) ** 2 / 500 for n in counted.values()) < 35 + 5 * 70**0.5


def test_pick_takes_from_the_same_stream() -> None:
    assert [Chance(seed(3)).pick("abcdef")] == ["abcdef"[Chance(seed(3)).below(6)]]


@pytest.mark.parametrize("number", range(5))
def test_dice_are_numbers_below_six_of_the_same_stream(number: int) -> None:
    """This holds between other numbers too, and where a byte is thrown away, as 16 of 1,000 are."""
    chance, one_by_one = Chance(seed(number)), Chance(seed(number))
    for count in range(50):
        assert chance.dice(count) == tuple(one_by_one.below(6) + 1 for _ in range(count))
        assert chance.below(21) == one_by_one.below(21)


@pytest.mark.parametrize("bound", [0, -1, 257])
def test_a_bound_outside_a_byte_is_our_own_mistake(bound: int) -> None:
    with pytest.raises(AssertionError):
        Chance(b"").below(bound)
