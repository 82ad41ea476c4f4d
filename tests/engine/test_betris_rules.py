"""The rules of Betris as tables from their source text. Names and parameters contain the ids of rulings."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine.chance import Chance
from deadheat.engine.core import Fault
from deadheat.engine.games.parsing import Refused
from deadheat.games.betris_large.polyominoes import NAMES, PLACEMENTS, SHAPES, SIZES, bit, forms, largest_square
from deadheat.games.betris_large.rules import Bet, Place, Player, acquire, offer, payment, read_bet, read_place
from tests.engine.betris_players import FORMS, legal_places, moved_to_origin, place_line, side_of_largest_square

pytestmark = pytest.mark.quick

PAGE = Path(__file__).parent.parent.parent / "games" / "betris_large" / "protocol.md"

cells_of_the_board = [(x, y) for x in range(1, 8) for y in range(1, 8)]
boards = st.frozensets(st.sampled_from(cells_of_the_board))


def mask(cells) -> int:
    return sum(map(bit, cells))


def fault_in(read, *arguments) -> tuple[Fault, str]:
    with pytest.raises(Refused) as refused:
        read(*arguments)
    return refused.value.fault, refused.value.why


# The blocks ------------------------------------------------------------------------------------------------------

NAMES_BY_FORMS = {1: "I1 O4 X5", 2: "I2 I3 I4 I5", 4: "L3 S4 T4 T5 U5 V5 W5 Z5", 8: "L4 L5 F5 N5 P5 Y5"}
FIXED_FORMS = {name: count for count, names in NAMES_BY_FORMS.items() for name in names.split()}


def test_b16_the_text_names_21_blocks_in_this_order() -> None:
    text = "I1, I2, I3, L3, I4, L4, S4, T4, O4, I5, L5, F5, N5, P5, T5, U5, V5, W5, X5, Y5, Z5"
    assert text.split(", ") == [*NAMES]
    assert [SIZES[name] for name in NAMES] == [int(name[1]) for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_b16_a_block_has_its_fixed_forms_and_no_other(name: str) -> None:
    assert len(forms(SHAPES[name])) == FIXED_FORMS[name]
    assert {moved_to_origin(form) for form in forms(SHAPES[name])} == FORMS[name]


def test_b16_the_blocks_are_all_free_polyominoes_of_one_to_five_cells() -> None:
    """Growing shapes cell by cell gives exactly the 91 forms of the blocks."""
    grown = {frozenset({(0, 0)})}
    everything = set(grown)
    for _ in range(4):
        grown = {
            moved_to_origin(form | {(x + i, y + j)})
            for form in grown
            for x, y in form
            for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0))
            if (x + i, y + j) not in form
        }
        everything |= grown
    assert len(everything) == 91 == sum(FIXED_FORMS.values())
    assert everything == {form for name in NAMES for form in FORMS[name]}
    assert everything == {moved_to_origin(form) for name in NAMES for form in forms(SHAPES[name])}


def test_b16_the_authors_page_draws_every_block_as_it_is() -> None:
    drawings = PAGE.read_text().split("<!-- blocks -->")[1].split("```")[1].strip("\n").splitlines()
    found: dict[str, frozenset[tuple[int, int]]] = {}
    for group in range(0, len(drawings), 5):
        header, *rows = drawings[group : group + 4]
        columns = [(header.index(name), name) for name in header.split()]
        for (start, name), (end, _) in zip(columns, [*columns[1:], (999, "")], strict=True):
            found[name] = frozenset(
                (x, y) for x, row in enumerate(rows) for y, mark in enumerate(row[start:end]) if mark == "#"
            )
    assert list(found) == list(NAMES)
    for name, cells in found.items():
        assert moved_to_origin(cells) in FORMS[name], name


@pytest.mark.parametrize("name", NAMES)
def test_b06_every_form_is_accepted_at_every_place_of_the_board(name: str) -> None:
    places = legal_places(name, frozenset())
    assert {mask(cells) for cells in places} == PLACEMENTS[name]
    for cells in places:
        assert read_place(place_line(cells), name, Player()) == Place(tuple(cells))
        assert read_place(place_line(cells[::-1]), name, Player()).cells == tuple(cells[::-1])


@pytest.mark.parametrize("name", NAMES)
def test_b06_no_form_of_another_block_of_that_size_is_accepted(name: str) -> None:
    for other in NAMES:
        if other != name and SIZES[other] == SIZES[name]:
            for form in FORMS[other]:
                line = place_line([(x + 2, y + 1) for x, y in form])
                assert fault_in(read_place, line, name, Player())[0] is Fault.ILLEGAL


# 3. Scoring ------------------------------------------------------------------------------------------------------


def board(picture: str) -> int:
    return mask((x, y) for x, row in enumerate(picture.split(), 1) for y, mark in enumerate(row, 1) if mark == "#")


EXAMPLE = "######. #####.# ######. ####### #####.# #####.# .#####."
EMPTY, FULL = " ".join(7 * ["......."]), " ".join(7 * ["#######"])


@pytest.mark.parametrize(
    ("picture", "chips", "cells", "square", "total"),
    [
        pytest.param(EXAMPLE, 3, 42, 5, "68.5", id="the text's 42 + 25 + 3 x 0.5"),
        pytest.param(EMPTY, 24, 0, 0, "12.0", id="nothing but chips"),
        pytest.param(EMPTY, 0, 0, 0, "0.0", id="nothing"),
        pytest.param(EMPTY, 1, 0, 0, "0.5", id="B-12 half a point"),
        pytest.param(FULL, 24, 49, 7, "110.0", id="everything"),
        pytest.param("#......" + 6 * " .......", 0, 1, 1, "2.0", id="one cell is a square"),
        pytest.param("#######" + 6 * " .......", 0, 7, 1, "8.0", id="a row"),
        pytest.param(
            "####### #.....# #.....# #.....# #.....# #.....# #######", 0, 24, 1, "25.0", id="B-13 a frame is no square"
        ),
        pytest.param(
            "...#... ..###.. .#####. ####### .#####. ..###.. ...#...", 0, 25, 3, "34.0", id="B-13 a slanted one neither"
        ),
        pytest.param(
            "##...## ##...## ....... ....... ....... ##...## ##...##", 2, 16, 2, "21.0", id="B-13 four squares add one"
        ),
        pytest.param(
            "....... ....... ....... ....... ....### ....### ....###", 5, 9, 3, "20.5", id="in the last corner"
        ),
        pytest.param(
            ".....## #.....# ##..... ....... ....... ....... .......", 0, 6, 1, "7.0", id="the edges do not touch"
        ),
    ],
)
def test_a_board_scores_what_the_text_says(picture: str, chips: int, cells: int, square: int, total: str) -> None:
    player = Player(chips=chips, board=board(picture))
    assert (player.cells, player.square, player.total) == (cells, square, total)
    assert player.half_points == 2 * float(total)


@given(boards)
def test_b13_the_largest_square_is_the_largest_of_all_squares(filled: frozenset[tuple[int, int]]) -> None:
    assert largest_square(mask(filled)) == side_of_largest_square(filled)


@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 7), boards)
def test_b13_a_square_is_found_wherever_it_lies(
    side: int, row: int, column: int, more: frozenset[tuple[int, int]]
) -> None:
    top, left = min(row, 8 - side), min(column, 8 - side)
    square = frozenset((top + i, left + j) for i in range(side) for j in range(side))
    assert largest_square(mask(square)) == side
    assert largest_square(mask(square | more)) == side_of_largest_square(square | more) >= side


# Phase 1: Betting Phase ------------------------------------------------------------------------------------------

OFFERED = ("I2", "F5")


@pytest.mark.parametrize(
    ("bets", "coin", "acquired", "paid"),
    [
        pytest.param(("I2 1", "F5 4"), 0, OFFERED, (1, 4), id="B-02 different blocks: both succeed and both pay"),
        pytest.param(("F5 1", "I2 4"), 1, ("F5", "I2"), (1, 4), id="B-02 the other way round"),
        pytest.param(("F5 3", "I2 3"), 1, ("F5", "I2"), (3, 3), id="B-02 equal bets on different blocks: no tie"),
        pytest.param(("F5 4", "F5 3"), 1, ("F5", "I2"), (4, 0), id="B-03 the loser gets the other and pays nothing"),
        pytest.param(("F5 3", "F5 4"), 0, ("I2", "F5"), (0, 4), id="B-03 seat 1 succeeds"),
        pytest.param(("I2 5", "I2 0"), 1, ("I2", "F5"), (5, 0), id="B-03 of block A"),
        pytest.param(("F5 4", "F5 4"), 0, ("F5", "I2"), (4, 0), id="B-04 tie, coin for seat 0"),
        pytest.param(("F5 4", "F5 4"), 1, ("I2", "F5"), (0, 4), id="B-04 tie, coin for seat 1"),
        pytest.param(("I2 0", "I2 0"), 0, ("I2", "F5"), (0, 0), id="B-04 0 against 0, coin for seat 0"),
        pytest.param(("I2 0", "I2 0"), 1, ("F5", "I2"), (0, 0), id="B-04 0 against 0, coin for seat 1"),
    ],
)
def test_blocks_are_acquired_and_paid(
    bets: tuple[str, str], coin: int, acquired: tuple[str, str], paid: tuple[int, int]
) -> None:
    first, second = (read_bet(f"BET {bet}", OFFERED, Player()) for bet in bets)
    assert acquire((first, second), OFFERED, coin) == acquired
    assert (payment(first, acquired[0]), payment(second, acquired[1])) == paid


def test_block_a_is_drawn_from_21_and_block_b_from_the_other_20() -> None:
    class Script(Chance):
        """Draws given numbers below given bounds."""

        def __init__(self, *draws: tuple[int, int]) -> None:
            super().__init__(b"")
            self.draws = iter(draws)

        def below(self, bound: int) -> int:
            expected, value = next(self.draws)
            assert bound == expected
            return value

    for a in range(21):
        for b in range(20):
            first, second = offer(Script((21, a), (20, b)))
            assert (first, second) == (NAMES[a], [name for name in NAMES if name != first][b])


def test_every_pair_is_offered_equally_often() -> None:
    chance, counts = Chance(b"pairs"), dict.fromkeys(NAMES, 0)
    for _ in range(21_000):
        a, b = offer(chance)
        assert a != b
        counts[a] += 1
        counts[b] += 1
    assert all(1_800 < count < 2_200 for count in counts.values())  # five standard deviations


@pytest.mark.parametrize(
    ("line", "bet"),
    [
        ("BET I2 0", Bet("I2", 0)),
        ("BET F5 5", Bet("F5", 5)),
        pytest.param(" \tBET   F5\t005 \r", Bet("F5", 5), id="C-06 C-07"),
    ],
)
def test_a_bet_is_read(line: str, bet: Bet) -> None:
    assert read_bet(line, OFFERED, Player(chips=5)) == bet


MALFORMED, ILLEGAL = Fault.MALFORMED, Fault.ILLEGAL


@pytest.mark.parametrize(
    ("line", "fault", "why"),
    [
        pytest.param("BET F5 6", ILLEGAL, "over 5", id="B-10 over the highest bet"),
        pytest.param("BET F5 4", ILLEGAL, "with 3 chips", id="B-10 over the chips held"),
        pytest.param("BET F5 999999999", ILLEGAL, "over 5", id="B-10 far over"),
        pytest.param("BET F5 1000000000", MALFORMED, "1 to 9 digits", id="C-07 ten digits"),
        pytest.param("BET P5 1", ILLEGAL, "not on offer", id="a block that is not on offer"),
        pytest.param("BET Q5 1", MALFORMED, "no block", id="B-14 unknown"),
        pytest.param("BET f5 1", MALFORMED, "no block", id="B-14 C-08 lower case"),
        pytest.param("BET A 1", MALFORMED, "no block", id="B-14 neither A nor B is a name"),
        pytest.param("BET F 5", MALFORMED, "no block", id="B-14 half a name"),
        pytest.param("BET Q5 9", MALFORMED, "no block", id="grammar is looked at first"),
        pytest.param("BET P5 x", MALFORMED, "1 to 9 digits", id="grammar before the offer"),
        pytest.param("BET F5 -1", MALFORMED, "1 to 9 digits", id="C-07 sign"),
        pytest.param("BET F5 +1", MALFORMED, "1 to 9 digits", id="C-07 plus"),
        pytest.param("BET F5 1.0", MALFORMED, "1 to 9 digits", id="C-07 point"),
        pytest.param("BET F5 1_0", MALFORMED, "1 to 9 digits", id="C-07 underscore"),
        pytest.param("BET F5 1e0", MALFORMED, "1 to 9 digits", id="C-07 exponent"),
        pytest.param("BET F5 \u0663", MALFORMED, "ASCII", id="C-07 another script's digit"),
        pytest.param("BET F5", MALFORMED, "2 words", id="no chips"),
        pytest.param("BET F5 1 1", MALFORMED, "2 words", id="one word too many"),
        pytest.param("BET 1 F5", MALFORMED, "no block", id="the wrong way round"),
        pytest.param("bet F5 1", MALFORMED, "expected BET", id="C-08 command"),
        pytest.param("PLACE 0", MALFORMED, "expected BET", id="the other phase's reply"),
        pytest.param("", MALFORMED, "empty", id="C-06 empty"),
        pytest.param("BET\u00a0F5 1", MALFORMED, "ASCII", id="C-06 other space"),
    ],
)
def test_a_bet_is_refused(line: str, fault: Fault, why: str) -> None:
    found, reason = fault_in(read_bet, line, OFFERED, Player(chips=3))
    assert found is fault
    assert why in reason


# Phase 2: Placement Phase ----------------------------------------------------------------------------------------

PART_FILLED = Player(board=board("###.... " + 6 * "....... "))


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        pytest.param("PLACE 0", (), id="B-05 PASS"),
        pytest.param("PLACE 000", (), id="B-05 C-07 PASS with zeros"),
        pytest.param("PLACE 3 2 1 2 2 3 1", ((2, 1), (2, 2), (3, 1)), id="in order"),
        pytest.param("PLACE 3 3 1 2 1 2 2", ((3, 1), (2, 1), (2, 2)), id="B-06 in any order"),
        pytest.param("\tPLACE  03 2 1\t2 2 3  001\r", ((2, 1), (2, 2), (3, 1)), id="C-06 C-07"),
        pytest.param("PLACE 3 1 4 2 4 2 3", ((1, 4), (2, 4), (2, 3)), id="beside filled cells"),
        pytest.param("PLACE 3 7 7 6 7 7 6", ((7, 7), (6, 7), (7, 6)), id="in the last corner"),
    ],
)
def test_a_placement_is_read_in_the_players_own_order(line: str, cells: tuple[tuple[int, int], ...]) -> None:
    place = read_place(line, "L3", PART_FILLED)
    assert (place, place.mask) == (Place(cells), mask(cells))


@pytest.mark.parametrize(
    ("line", "fault", "why"),
    [
        pytest.param("PLACE 2 2 1 2 2", ILLEGAL, "L3, which has 3", id="B-09 k is not the block's size"),
        pytest.param("PLACE 4 2 1 2 2 3 1 3 2", ILLEGAL, "L3, which has 3", id="B-09 one cell too many"),
        pytest.param("PLACE 3 2 1 2 2", MALFORMED, "6 coordinates", id="B-09 missing"),
        pytest.param("PLACE 3 2 1 2 2 3", MALFORMED, "6 coordinates", id="B-09 missing half a cell"),
        pytest.param("PLACE 3 2 1 2 2 3 1 3", MALFORMED, "6 coordinates", id="B-09 extra"),
        pytest.param("PLACE 2 2 1 2 2 3 1", MALFORMED, "4 coordinates", id="B-09 extra for k"),
        pytest.param("PLACE 0 2 1", MALFORMED, "0 coordinates", id="B-05 B-09 a PASS with a cell"),
        pytest.param("PLACE 999999999 1 1", MALFORMED, "coordinates", id="B-09 a huge k"),
        pytest.param("PLACE", MALFORMED, "without", id="B-09 nothing"),
        pytest.param("PASS", MALFORMED, "expected PLACE", id="B-05 the word PASS is none"),
        pytest.param("PLACE L3 2 1 2 2 3 1", MALFORMED, "digits", id="the block's name instead of k"),
        pytest.param("PLACE -3 2 1 2 2 3 1", MALFORMED, "digits", id="C-07 sign"),
        pytest.param("PLACE 3 2 1 2 2 3 1.0", MALFORMED, "digits", id="C-07 point"),
        pytest.param("PLACE 3 2,1 2,2 3,1", MALFORMED, "digits", id="commas"),
        pytest.param("PLACE 3 (2 1) (2 2) (3 1)", MALFORMED, "digits", id="brackets"),
        pytest.param("place 3 2 1 2 2 3 1", MALFORMED, "expected PLACE", id="C-08 command"),
        pytest.param("BET L3 1", MALFORMED, "expected PLACE", id="the other phase's reply"),
        pytest.param("", MALFORMED, "empty", id="C-06 empty"),
        pytest.param("PLACE 3 0 1 1 1 1 2", ILLEGAL, "(0, 1) is not on the board", id="row 0"),
        pytest.param("PLACE 3 2 0 2 1 3 1", ILLEGAL, "(2, 0) is not on the board", id="column 0"),
        pytest.param("PLACE 3 8 1 7 1 7 2", ILLEGAL, "(8, 1) is not on the board", id="row 8"),
        pytest.param("PLACE 3 2 8 2 7 3 7", ILLEGAL, "(2, 8) is not on the board", id="column 8"),
        pytest.param("PLACE 3 2 7 3 1 3 2", ILLEGAL, "not block L3", id="the edges do not touch"),
        pytest.param("PLACE 3 999999999 1 2 2 3 1", ILLEGAL, "not on the board", id="far off"),
        pytest.param("PLACE 3 2 1 2 1 3 1", ILLEGAL, "named twice", id="B-06 a cell twice"),
        pytest.param("PLACE 3 2 1 2 01 2 2", ILLEGAL, "named twice", id="B-06 a cell twice, spelled otherwise"),
        pytest.param("PLACE 3 2 1 2 2 2 3", ILLEGAL, "not block L3", id="B-06 another block"),
        pytest.param("PLACE 3 2 1 3 2 4 1", ILLEGAL, "not block L3", id="B-06 touching at corners only"),
        pytest.param("PLACE 3 2 1 2 2 5 5", ILLEGAL, "not block L3", id="B-06 in two pieces"),
        pytest.param("PLACE 3 1 3 2 3 2 2", ILLEGAL, "filled", id="on a filled cell"),
        pytest.param("PLACE 3 1 1 1 2 2 1", ILLEGAL, "filled", id="on two filled cells"),
    ],
)
def test_a_placement_is_refused(line: str, fault: Fault, why: str) -> None:
    found, reason = fault_in(read_place, line, "L3", PART_FILLED)
    assert found is fault
    assert why in reason


coordinates = st.integers(0, 9)
near = st.lists(st.tuples(coordinates, coordinates), max_size=6)


@given(st.sampled_from(NAMES), boards, st.data())
def test_a_placement_is_refused_for_the_right_reason_or_legal(name: str, filled, data: st.DataObject) -> None:
    """Change a legal placement in some way, and compute the expected reason again with sets of cells."""
    cells = [*data.draw(st.sampled_from(legal_places(name, frozenset())))]
    match data.draw(st.sampled_from(["nothing", "move a cell", "repeat a cell", "drop a cell", "shift", "any"])):
        case "move a cell":
            cells[data.draw(st.integers(0, len(cells) - 1))] = data.draw(st.tuples(coordinates, coordinates))
        case "repeat a cell":
            cells[0] = cells[-1]
        case "drop a cell":
            cells.pop()
        case "shift":
            cells = [(x + 1, y) for x, y in cells]
        case "any":
            cells = data.draw(near)
    if not cells:
        why = None
    elif len(cells) != SIZES[name]:
        why = "which has"
    elif not set(cells) <= set(cells_of_the_board):
        why = "not on the board"
    elif len(set(cells)) < len(cells):
        why = "twice"
    elif moved_to_origin(cells) not in FORMS[name]:
        why = "are not block"
    else:
        why = "filled" if filled & set(cells) else None
    player = Player(board=mask(filled))
    if why is None:
        assert read_place(place_line(cells), name, player).cells == tuple(cells)
    else:
        fault, reason = fault_in(read_place, place_line(cells), name, player)
        assert fault is ILLEGAL
        assert why in reason


@given(st.text() | st.binary().map(lambda data: data.decode("utf-8", "surrogateescape")))
def test_no_text_gets_anything_but_a_fault_out_of_the_readers(line: str) -> None:
    for arguments in ((read_bet, line, OFFERED, PART_FILLED), (read_place, line, "X5", PART_FILLED)):
        fault, why = fault_in(*arguments)
        assert fault in (MALFORMED, ILLEGAL)
        assert len(why) < 100
