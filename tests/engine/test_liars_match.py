"""Whole matches of Liar's Dice: views, rounds, eliminations, faults, and the losers computed a second time."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine.chance import Chance
from deadheat.engine.core import FOUND_BY_RULES, Fault, Message, Result
from deadheat.engine.memory import Answer, Player
from deadheat.engine.transcript import Transcript
from deadheat.games.liars_dice.rules import BIDS
from tests.engine.liars_players import Legal, may_follow, play, play_table
from tests.engine.players import ANSWERS, events, faulty, seed
from tests.lanes import examples

pytestmark = pytest.mark.quick

numbers = st.integers(0, 2**50)
tables = st.integers(2, 6)


def claim(player: str, quantity: int, face: int) -> dict[str, Any]:
    return {"playerId": player, "quantity": quantity, "faceValue": face}


# The view --------------------------------------------------------------------------------------------------------


def test_a_view_has_exactly_the_texts_fields() -> None:
    table = play_table("12345 23456 34561", ["P1 2x3", "P2 3x3"], 3)
    assert table.view == {
        "you": "P3",
        "myDice": [3, 4, 5, 6, 1],
        "opponents": [{"id": "P1", "diceCount": 5}, {"id": "P2", "diceCount": 5}],
        "currentBid": claim("P2", 3, 3),
        "recentBids": [claim("P1", 2, 3), claim("P2", 3, 3)],
        "totalDiceInPlay": 15,
        "round": 1,
        "isYourTurn": True,
        "currentPlayer": "P3",
    }
    order = "you myDice opponents currentBid recentBids totalDiceInPlay round isYourTurn currentPlayer"
    assert [*table.view] == order.split()


def test_the_first_view_of_a_round_has_no_bid() -> None:
    view = play_table("12345 23456", []).view
    assert (view["currentBid"], view["recentBids"], view["round"]) == (None, [], 1)


def test_l06_recent_bids_are_those_of_others_since_ones_own() -> None:
    turns = ["P1 1x2", "P2 1x3", "P3 1x4", "P1 1x5", "P2 1x6", "P3 2x2"]
    table = play_table("11111 22222 33333", turns, 3)
    assert [view["recentBids"] for view in table.views(0)] == [
        [],
        [claim("P2", 1, 3), claim("P3", 1, 4)],
        [claim("P2", 1, 6), claim("P3", 2, 2)],
    ]
    assert [view["recentBids"] for view in table.views(1)] == [
        [claim("P1", 1, 2)],
        [claim("P3", 1, 4), claim("P1", 1, 5)],
    ]
    assert [view["recentBids"] for view in table.views(2)] == [
        [claim("P1", 1, 2), claim("P2", 1, 3)],
        [claim("P1", 1, 5), claim("P2", 1, 6)],
    ]


@pytest.mark.parametrize(
    ("dice", "turns", "seats", "bids"),
    [
        pytest.param(
            "11111 22222 33333 2222 22222 33333",
            ["P1 1x2", "P2 9x6", "P3 challenge", "P2 1x2"],
            3,
            [claim("P2", 1, 2)],
            id="of this round only",
        ),
        pytest.param(
            "11111 22222 33333",
            ["P1 1x2", "P2 1x3", "P3 1x4", "P1 1x5", "P2 resign"],
            3,
            [claim("P1", 1, 5)],
            id="none of one's own",
        ),
        pytest.param(
            "11111 22222 33333 44444",
            ["P1 1x2", "P2 1x3", "P3 1x4", "P4 1x5", "P1 resign", "P2 1x6"],
            4,
            [claim("P4", 1, 5), claim("P2", 1, 6)],
            id="also of a player who has left",
        ),
    ],
)
def test_l06_which_bids_are_recent(dice: str, turns: list[str], seats: int, bids: list[dict[str, Any]]) -> None:
    view = play_table(dice, turns, seats).view
    assert (view["you"], view["recentBids"]) == ("P3", bids)


def test_l19_opponents_are_the_active_ones_in_seat_order() -> None:
    table = play_table("11111 22222 33333 44444", ["P1 1x2", "P2 resign", "P3 1x3"], 4)
    assert table.view["you"] == "P4"
    assert table.view["opponents"] == [{"id": "P1", "diceCount": 5}, {"id": "P3", "diceCount": 5}]
    assert table.view["totalDiceInPlay"] == 15


# Challenges ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dice", "turns", "counted", "loser"),
    [
        pytest.param("33116 22456", ["P1 3x3", "P2 challenge"], 4, "P2", id="more than bid: the challenger loses"),
        pytest.param("33116 22456", ["P1 4x3", "P2 challenge"], 4, "P2", id="L-17 exactly the bid: it is met"),
        pytest.param("33116 22456", ["P1 5x3", "P2 challenge"], 4, "P1", id="less: the bidder loses"),
        pytest.param("33116 22456", ["P1 2x1", "P2 challenge"], 2, "P2", id="ones alone count for ones"),
        pytest.param("33116 22456", ["P1 3x1", "P2 challenge"], 2, "P1", id="and nothing else does"),
        pytest.param("33116 22456", ["P1 2x2", "P2 4x6", "P1 challenge"], 4, "P1", id="of P2's bid, met"),
        pytest.param("33116 22456", ["P1 2x2", "P2 5x6", "P1 challenge"], 4, "P2", id="of P2's bid, not met"),
        pytest.param("22222 33333", ["P1 1x1", "P2 challenge"], 0, "P1", id="none of it"),
        pytest.param("11111 11111", ["P1 10x5", "P2 challenge"], 10, "P2", id="all of it"),
        pytest.param("11111 11111", ["P1 11x5", "P2 challenge"], 10, "P1", id="L-03 more than there are dice"),
        pytest.param("11111 11111", ["P1 30x6", "P2 15x1", "P1 30x1", "P2 challenge"], 10, "P1", id="L-03 the top"),
    ],
)
def test_a_challenge_shows_all_dice_and_costs_its_loser_one(
    dice: str, turns: list[str], counted: int, loser: str
) -> None:
    table = play_table(dice + "66666 6666", turns)
    for seat in (0, 1):
        (notice,) = table.notices(seat)
        assert notice == {
            "event": "challenge",
            "round": 1,
            "challenger": turns[-1].split()[0],
            "bid": claim(turns[-2].split()[0], *map(int, turns[-2].split()[1].split("x"))),
            "dice": {f"P{n + 1}": [*map(int, hand)] for n, hand in enumerate(dice.split())},
            "count": counted,
            "loser": loser,
        }
    assert (table.view["you"], table.view["totalDiceInPlay"], table.view["round"]) == (loser, 9, 2)


def test_l05_the_dice_of_a_player_who_resigned_do_not_count() -> None:
    turns = ["P1 5x2", "P2 resign", "P3 challenge"]
    *_, challenge = play_table("33333 22222 44444 6666 66666", turns, 3).notices(0)
    assert (challenge["event"], challenge["count"], challenge["loser"]) == ("challenge", 0, "P1")
    assert list(challenge["dice"]) == ["P1", "P3"]


# Rounds ----------------------------------------------------------------------------------------------------------


P2_OUT = "22222 33333 44444" + "22222 3333 44444" + "22222 333 44444" + "22222 33 44444" + "22222 3 44444"
P3_OUT = "22222 33333 44444" + "22222 33333 4444" + "22222 33333 444" + "22222 33333 44" + "22222 33333 4"
P2_LOSES = ["P1 1x2", *(5 * ["P2 9x2", "P3 challenge"])]
P3_LOSES = ["P1 1x2", "P2 1x3", *(5 * ["P3 9x2", "P1 challenge"])]
TIMEOUT, OK = Fault.TIMEOUT, "OK"


@pytest.mark.parametrize(
    ("dice", "turns", "ready", "asked"),
    [
        pytest.param("22222 33333 44444", [], 3, ("P1", 1), id="seat 0 opens"),
        pytest.param("33333 44444", [], [TIMEOUT, OK, OK], ("P2", 1), id="the next one where seat 0 is not ready"),
        pytest.param(
            "22222 33333 44444 22222 3333 44444", ["P1 1x2", "P2 9x2", "P3 challenge"], 3, ("P2", 2), id="the loser"
        ),
        pytest.param(P2_OUT + "22222 44444", P2_LOSES, 3, ("P3", 6), id="the next one where the loser is out"),
        pytest.param(P3_OUT + "22222 33333", P3_LOSES, 3, ("P1", 6), id="the first seat after the last"),
        pytest.param(
            P2_OUT + "22222 44444", [*P2_LOSES, "P3 1x3", "P1 1x4", "P3 1x5"], 3, ("P1", 6), id="nobody who is out"
        ),
    ],
)
def test_l07_whose_turn_it_is(
    dice: str, turns: list[str], ready: Sequence[str | Fault] | int, asked: tuple[str, int]
) -> None:
    view = play_table(dice, turns, ready).view
    assert (view["you"], view["round"]) == asked


def test_everybody_hears_of_an_elimination() -> None:
    table = play_table(P2_OUT + "22222 44444", P2_LOSES, 3)
    assert [notice["event"] for notice in table.notices(1)] == 5 * ["challenge"] + ["elimination"]
    assert table.notices(0) == table.notices(1) == table.notices(2)
    assert table.notices(0)[-1] == {"event": "elimination", "round": 5, "playerId": "P2"}


def test_who_is_out_hears_on_and_is_asked_nothing() -> None:
    turns = [*P2_LOSES, "P3 1x3", "P1 challenge", "P3 resign"]
    table = play_table(P2_OUT + "22222 44444" + "22222 4444", turns, 3)
    assert (table.result, table.heard[1][-1]) == (Result((1, 3, 2), (5, 0, 0)), "FINISH")
    assert (table.notices(1), len(table.views(1))) == (table.notices(0), 5)


# Resigning and failing -------------------------------------------------------------------------------------------


def test_l05_a_resignation_leaves_the_bid_and_the_round_to_the_next_active_seat() -> None:
    table = play_table("22222 33333 44444", ["P1 3x2", "P2 resign"], 3)
    view = table.view
    assert (view["you"], view["currentBid"], view["round"], view["totalDiceInPlay"]) == ("P3", claim("P1", 3, 2), 1, 10)
    for seat in range(3):
        assert table.notices(seat) == [{"event": "resignation", "round": 1, "playerId": "P2"}]


def test_l05_who_resigns_instead_of_opening_leaves_that_to_the_next_seat() -> None:
    table = play_table("22222 33333 44444", ["P1 resign"], 3)
    assert (table.view["you"], table.view["currentBid"]) == ("P2", None)


@pytest.mark.parametrize(
    ("way", "fault"),
    [
        ("resign", None),
        ("timeout", Fault.TIMEOUT),
        ("exited", Fault.EXITED),
        ("nonsense", Fault.MALFORMED),
        pytest.param("challenge", Fault.ILLEGAL, id="L-14 a challenge without a bid"),
    ],
)
def test_l05_one_player_left_ends_the_game(way: str, fault: Fault | None) -> None:
    table = play_table("22222 33333", [f"P1 {way}"])
    assert (table.ended.ranks, table.ended.faults) == ((2, 1), {} if fault is None else {0: fault})
    assert table.heard[1][-2:] == ['{"event":"resignation","round":1,"playerId":"P1"}', "FINISH"]


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        *((fault.value, fault) for fault in Fault if fault not in FOUND_BY_RULES),
        ("OK", Fault.MALFORMED),
        *((bid, Fault.ILLEGAL) for bid in ("2x1", "31x4", "7x7")),
    ],
)
def test_l15_a_fault_eliminates_like_a_resignation_and_is_kept(reply: str, fault: Fault) -> None:
    """The others cannot tell one from the other (C-14)."""
    turns = ["P1 6x2", f"P2 {reply}", "P3 challenge", "P1 4x2", "P3 challenge"]
    failed = play_table("22222 33333 44444 2222 44444 222 44444", turns, 3)
    resigned = play_table("22222 33333 44444 2222 44444 222 44444", [turns[0], "P2 resign", *turns[2:]], 3)
    assert (failed.heard[0], failed.heard[2]) == (resigned.heard[0], resigned.heard[2])
    (told,) = (event for event in failed.events if event["type"] == "fault")
    assert (told["seat"], told["fault"], told["command"]) == (1, fault, "TURN")
    assert failed.heard[1] == resigned.heard[1][:2], "a program that failed is told nothing more"


def test_l08_places_are_the_reverse_order_of_elimination() -> None:
    turns = ["P1 1x2", "P2 resign", "P3 timeout", "P4 1x3", "P1 resign"]
    result = play_table("22222 33333 44444 55555", turns, 4).ended
    assert (result, result.rated) == (Result((2, 4, 3, 1), None, {2: Fault.TIMEOUT}), True)


def test_points_are_the_dice_left_and_none_after_a_fault() -> None:
    assert play_table("22222 33333", ["P1 1x2", "P2 resign"]).result == Result((1, 2), (5, 0))
    assert play_table("22222 33333", ["P1 1x2", "P2 timeout"]).result == Result((1, 2), None, {1: Fault.TIMEOUT})


# READY -----------------------------------------------------------------------------------------------------------


def test_c11_who_is_not_ready_is_out_before_the_first_round() -> None:
    table = play_table("22222 44444", ["P1 1x2"], ["OK", "ok", "OK"])
    view = table.view
    assert (view["you"], view["opponents"]) == ("P3", [{"id": "P1", "diceCount": 5}])
    assert table.notices(0) == table.notices(2) == [{"event": "resignation", "round": 0, "playerId": "P2"}]
    assert table.heard[1] == ["READY"]


@pytest.mark.parametrize(
    ("ready", "ranks"),
    [
        pytest.param([Fault.TIMEOUT, "OK"], (2, 1), id="two seats"),
        pytest.param(["OK", "KO"], (1, 2), id="two seats, the other"),
        pytest.param([Fault.TIMEOUT, "OK", Fault.EXITED], (3, 1, 2), id="L-08 in seat order"),
        pytest.param(["", "OK", "", "", Fault.MEMORY, ""], (6, 1, 5, 4, 3, 2), id="L-08 five of six"),
    ],
)
def test_c01_one_who_is_ready_alone_has_won(ready: list[str | Fault], ranks: tuple[int, ...]) -> None:
    result = play_table("", [], ready).ended
    assert (result.ranks, result.points, result.rated) == (ranks, None, True)
    assert len(result.faults) == len(ready) - 1


@pytest.mark.parametrize("seats", range(2, 7))
def test_c01_if_nobody_is_ready_nobody_wins(seats: int) -> None:
    table = play_table("", [], [Fault.TIMEOUT] * (seats - 1) + ["no"])
    assert (table.ended.ranks, table.ended.points, table.ended.rated) == ((1,) * seats, None, False)
    assert list(table.ended.faults.values()) == [Fault.TIMEOUT] * (seats - 1) + [Fault.MALFORMED]
    assert table.heard == [["READY"]] * seats
    assert [event["type"] for event in table.events] == ["fault"] * seats + ["final"]


# Whole matches, computed a second time ---------------------------------------------------------------------------


def recount(transcript: Transcript) -> list[str]:
    """Compute the loser of each challenge from the exchanged lines alone."""
    lines = [json.loads(m.line) for e in transcript.exchanges for m in e.messages if m.seat == 0 and "event" in m.line]
    shown = [notice["dice"] for notice in lines if notice["event"] == "challenge"]
    hands: dict[str, list[int]] = {}  # in this round, from views
    bids: list[tuple[str, int, int]] = []
    losers: list[str] = []
    for prompt in transcript.prompts():
        if prompt.message.line == "READY":
            continue
        view, move = json.loads(prompt.message.line), json.loads(str(prompt.reply.line))
        if not view["currentBid"]:
            hands, bids = {}, []
        hands[view["you"]] = view["myDice"]
        if move["type"] == "bid":
            assert not bids or may_follow((move["quantity"], move["faceValue"]), bids[-1][1:])
            bids.append((view["you"], move["quantity"], move["faceValue"]))
        else:
            dice = shown[len(losers)]
            assert {player: dice[player] for player in hands} == hands
            player, quantity, face = bids[-1]
            found = sum(die == face or (die == 1 and face != 1) for hand in dice.values() for die in hand)
            losers.append(player if found < quantity else view["you"])
    return losers


@given(tables, numbers)
@examples(60)
def test_legal_play_never_faults_and_the_losers_are_what_the_dice_say(seats: int, number: int) -> None:
    transcript = play(seats, number)
    result = transcript.result
    assert result.faults == {}
    losers = recount(transcript)
    assert [event["loser"] for event in events(transcript, "challenge")] == [int(loser[1]) - 1 for loser in losers]
    lost = Counter(losers)
    points = [5 - lost[f"P{seat + 1}"] for seat in range(seats)]
    assert result.points == tuple(points)
    out = [player for n, player in enumerate(losers) if losers[: n + 1].count(player) == 5]
    assert len(out) == seats - 1
    order = [*(f"P{seat + 1}" for seat in range(seats) if points[seat]), *reversed(out)]
    assert [order.index(f"P{seat + 1}") + 1 for seat in range(seats)] == list(result.ranks)
    rounds = [event["round"] for event in events(transcript, "round")]
    assert rounds == list(range(1, len(rounds) + 1)) and len(rounds) <= 5 * seats - 1, "L-18"
    assert max(Counter(event["round"] for event in events(transcript, "bid")).values()) <= 180, "L-18"


def test_l18_the_longest_round_has_180_bids() -> None:
    turns = [f"P{n % 2 + 1} {bid.quantity}x{bid.face}" for n, bid in enumerate(BIDS)]
    assert play_table("22222 33333 22222 3333", [*turns, "P1 challenge"]).notices(0)[0]["loser"] == "P2"


@given(tables, numbers)
@examples(30)
def test_places_and_faults_of_matches_with_resignations(seats: int, number: int) -> None:
    players: dict[str, Player] = {f"p{seat + 1}": Legal(number + seat, resigns=20) for seat in range(seats)}
    transcript = play(seats, number, **players)
    assert (sorted(transcript.result.ranks), transcript.result.faults) == (list(range(1, seats + 1)), {})
    places = {event["seat"]: event["place"] for event in events(transcript, "elimination")}
    assert [places.get(seat, 1) for seat in range(seats)] == list(transcript.result.ranks)
    assert transcript.result.points is not None and sum(points > 0 for points in transcript.result.points) == 1


def test_only_the_seat_whose_turn_it_is_is_asked() -> None:
    transcript = play(6, 1)
    asked = [list(exchange.replies) for exchange in transcript.exchanges]
    assert (asked[0], asked[-1], {len(seats) for seats in asked[1:-1]}) == ([0, 1, 2, 3, 4, 5], [], {1})
    commands = {(prompt.message.command, prompt.limit_ns) for prompt in transcript.prompts()}
    assert commands == {("READY", 3_000_000_000), ("TURN", 500_000_000)}


def test_the_dice_of_a_match_are_the_seed_alone() -> None:
    transcript = play(3, 7)
    chance = Chance(seed(7))
    hands = events(transcript, "hand")
    assert len(hands) > 20
    for hand in hands:
        assert hand["private"] is True
        assert tuple(hand["dice"]) == chance.dice(len(hand["dice"]))


# Faults anywhere -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seats", [2, 3, pytest.param(5, marks=pytest.mark.all)])
@pytest.mark.parametrize(
    ("answer", "fault"),
    [*ANSWERS.values(), (Answer('{"type":"bid","quantity":31,"faceValue":2}', 5), None)],
    ids=[*ANSWERS, "illegal"],
)
def test_c14_l15_a_fault_at_any_exchange_eliminates_its_seat_there(
    answer: Answer | None, fault: Fault | None, seats: int
) -> None:
    whole = play(seats, 4)
    for seat in range(seats):
        prompts = [number for number, exchange in enumerate(whole.exchanges) if seat in exchange.replies]
        for at_prompt, number in enumerate(prompts):
            cut = play(seats, 4, **{f"p{seat + 1}": faulty(Legal(40 + seat), at_prompt, answer)})
            assert cut.exchanges[:number] == whole.exchanges[:number]
            expected = fault or (Fault.ILLEGAL if number else Fault.MALFORMED)
            assert cut.result.faults == {seat: expected}
            assert cut.result.ranks[seat] > 1
            assert sorted(cut.result.ranks) == list(range(1, seats + 1))
            assert all(m.seat != seat for exchange in cut.exchanges[number + 1 :] for m in exchange.messages)
            farewell = [Message(other, "FINISH") for other in range(seats) if other != seat]
            assert list(cut.exchanges[-1].messages[-len(farewell) :]) == farewell
