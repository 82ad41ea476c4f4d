"""Whole matches of Betris: order of lines, banks, faults, hidden information, and totals computed a second time."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.engine.chance import Chance
from deadheat.engine.core import Fault, Message
from deadheat.engine.memory import Answer, MemoryTransport, Player
from deadheat.engine.referee import run_match
from deadheat.engine.replay import Diverged, replay
from deadheat.engine.transcript import Transcript
from deadheat.games.betris_large.polyominoes import NAMES
from tests.engine.betris_players import BANK_NS, FORMS, GAME, PROMPTS, Legal, moved_to_origin, place_line, play
from tests.engine.betris_players import side_of_largest_square as side_of
from tests.engine.players import commands, events, faulty, scripted, seed, timed
from tests.lanes import examples

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parent.parent.parent
numbers = st.integers(0, 2**63)


# The order of lines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1])
def test_lines_come_in_the_order_of_the_text(seat: int) -> None:
    assert commands(play(1), seat) == ["READY!", *(12 * ["PHASE1!", "PHASE2!", "OPP"]), "FINISH"]


def test_a_match_is_25_prompts_to_both_seats_at_once_and_a_farewell() -> None:
    transcript = play(1)
    assert len(transcript.exchanges) == 26
    assert all(len(exchange.replies) == 2 for exchange in transcript.exchanges[:PROMPTS])
    assert [prompt.limit_ns for prompt in transcript.prompts()] == 2 * [3_000_000_000] + 48 * [BANK_NS]


EXAMPLE_SEED = 670_220
"""The smallest seed whose first two rounds are those of the text: I2 and F5, a coin for seat 0, P5 and L3."""

MS = " @ 1000000 ns"  # the time of each reply, as the following lines of the example show

EXAMPLE = (
    f"""
    << READY
    >> OK
    << PHASE1 I2 F5 10000 10000
    >> BET F5 4{MS}
    << PHASE2 F5 20 24 9999 9999
    >> PLACE 5 1 1 1 2 2 2 2 3 3 2{MS}
    << OPP 2 1 1 1 2
    << PHASE1 P5 L3 9998 9998
    >> BET P5 5{MS}
    << PHASE2 P5 15 22 9997 9997
    >> PLACE 5 1 3 1 4 1 5 2 4 2 5{MS}
    << OPP 3 1 3 1 4 2 3
    """,
    f"""
    << READY
    >> OK
    << PHASE1 I2 F5 10000 10000
    >> BET F5 4{MS}
    << PHASE2 I2 24 20 9999 9999
    >> PLACE 2 1 1 1 2{MS}
    << OPP 5 1 1 1 2 2 2 2 3 3 2
    << PHASE1 P5 L3 9998 9998
    >> BET L3 2{MS}
    << PHASE2 L3 22 15 9997 9997
    >> PLACE 3 1 3 1 4 2 3{MS}
    << OPP 5 1 3 1 4 1 5 2 4 2 5
    """,
)
"""The dialogue of the text, one column for each seat. The text leaves out what follows round 2, up to FINISH."""


def example() -> Transcript:
    """Play the text's example line by line; after its last line both players PASS."""
    columns = [scripted(column) for column in EXAMPLE]
    lines_left = [sum(line.strip().startswith("<<") for line in column.splitlines()) for column in EXAMPLE]

    def column(seat: int) -> Player:
        def answer(message: Message) -> Answer | str | None:
            lines_left[seat] -= 1
            if lines_left[seat] >= 0:
                return columns[seat][0](message)
            _, block, *_ = [*message.line.split(), ""]
            return {"PHASE1": f"BET {block} 0", "PHASE2": "PLACE 0"}.get(message.command)

        return answer

    transcript = run_match(GAME, 2, seed(EXAMPLE_SEED), MemoryTransport([column(0), column(1)]))
    for _, all_said in columns:
        all_said()
    return transcript


def test_the_example_of_the_text_is_played_word_for_word() -> None:
    transcript = example()
    assert [exchange.messages[-1].line for exchange in transcript.exchanges][-1] == "FINISH"
    first, second = events(transcript, "bets")[:2]
    assert (first["coin"], first["paid"], first["chips"]) == (True, [4, 0], [20, 24])
    assert (second["coin"], second["paid"], second["chips"]) == (False, [5, 2], [15, 22])
    (final,) = events(transcript, "final")
    assert (final["cells"], final["square"], final["chips"]) == ([10, 5], [2, 1], [15, 22])
    assert (final["total"], transcript.result.points) == (["21.5", "17.0"], (Fraction(43, 2), 17))
    assert transcript.result.ranks == (1, 2)


def test_the_dialogue_in_the_authors_page_is_the_one_that_was_played() -> None:
    _, *rows = (ROOT / "games" / "betris_large" / "protocol.md").read_text().split("```")[3].strip("\n").splitlines()
    width = rows[0].rindex("<<")
    for seat, column in enumerate(([row[:width] for row in rows], [row[width:] for row in rows])):
        spoken = [line.strip().removesuffix(MS) for line in EXAMPLE[seat].strip().splitlines()]
        assert [line.strip() for line in column] == spoken


# What viewers are shown ------------------------------------------------------------------------------------------


def test_viewers_are_told_of_every_offer_bet_and_placement() -> None:
    assert Counter(event["type"] for event in play(3).events()) == {"offer": 12, "bets": 12, "place": 24, "final": 1}


@given(numbers)
@examples(25)
def test_events_agree_with_the_lines(number: int) -> None:
    transcript = play(number, Legal(1, 400_000_000))
    bet: dict[int, list[str]] = {}
    for exchange in transcript.exchanges:
        lines = {(message.seat, message.command): message.line.split()[1:] for message in exchange.messages}
        for shown_event in exchange.events:
            event: dict[str, Any] = dict(shown_event)
            match event["type"]:
                case "offer":
                    assert lines[0, "PHASE1"][:2] == lines[1, "PHASE1"][:2] == [event["a"], event["b"]]
                case "bets":
                    assert [[c, str(x)] for c, x in zip(event["choices"], event["bets"], strict=True)] == [
                        *bet.values()
                    ]
                    assert event["coin"] == (bet[0] == bet[1])
                    told = [[lines[seat, "PHASE2"][n] for seat in (0, 1)] for n in (0, 1, 3)]
                    assert (told[0], told[1]) == (event["acquired"], [*map(str, event["chips"])])
                    assert told[2] == [str(bank_ns // 1_000_000) for bank_ns in event["bank_ns"]]
                case "place":
                    assert ["PLACE", *lines[1 - event["seat"], "OPP"]] == place_line(event["cells"]).split()
        bet = {seat: reply.line.split()[1:] for seat, reply in exchange.replies.items() if reply.line}
    (final,) = events(transcript, "final")
    for seat in (0, 1):
        last = [event for event in events(transcript, "place") if event["seat"] == seat][-1]
        shown = [final[name][seat] for name in ("cells", "square", "total", "bank_ns")]
        assert [last[name] for name in ("filled", "square", "total", "bank_ns")] == shown


# Totals, a second time -------------------------------------------------------------------------------------------


class Recount:
    """One player's match, computed from the exchanged lines and times alone."""

    def __init__(self) -> None:
        self.chips, self.bank_ns, self.block, self.offered = 24, BANK_NS, "", ["", ""]
        self.bet: tuple[str, int] = ("", 0)
        self.filled: frozenset[tuple[int, int]] = frozenset()

    def half_points(self) -> int:
        return 2 * len(self.filled) + 2 * side_of(self.filled) ** 2 + self.chips

    def replied(self, line: str, elapsed_ns: int) -> None:
        command, *arguments = line.split()
        if command == "OK":
            return
        self.bank_ns -= elapsed_ns
        if command == "BET":
            self.bet = arguments[0], int(arguments[1])
            assert arguments[0] in self.offered
            assert self.bet[1] <= min(5, self.chips)
        else:
            flat = [*map(int, arguments[1:])]
            cells = frozenset(zip(flat[::2], flat[1::2], strict=True))
            assert not cells & self.filled
            assert not cells or moved_to_origin(cells) in FORMS[self.block]
            self.filled |= cells

    def told(self, line: str, other: "Recount") -> None:
        command, *arguments = line.split()
        if command == "PHASE1":
            self.offered = arguments[:2]
            assert arguments[0] != arguments[1]
            assert {*arguments[:2]} <= {*NAMES}
        if command == "PHASE2":
            self.block = arguments[0]
            wanted, chips = self.bet
            if self.block == wanted:
                assert wanted != other.bet[0] or chips >= other.bet[1]
                self.chips -= chips
            else:
                assert wanted == other.bet[0]
                assert chips <= other.bet[1]


def recount(transcript: Transcript) -> tuple[Recount, Recount]:
    """Compute both players' totals again, and compare every number that they were told."""
    players = Recount(), Recount()
    for exchange in transcript.exchanges:
        for message in exchange.messages:
            players[message.seat].told(message.line, players[1 - message.seat])
        for message in exchange.messages:
            mine, other = players[message.seat], players[1 - message.seat]
            times = [str(player.bank_ns // 1_000_000) for player in (mine, other)]
            if message.command in ("PHASE1", "PHASE2"):
                assert (message.limit_ns, message.line.split()[-2:]) == (mine.bank_ns, times)
            if message.command == "PHASE2":
                assert message.line.split()[2:4] == [str(mine.chips), str(other.chips)]
                assert {mine.block, other.block} == {*mine.offered}
        for seat, reply in exchange.replies.items():
            assert reply.line is not None
            players[seat].replied(reply.line, reply.elapsed_ns)
    return players


@given(numbers, st.sampled_from([0, 1, 999_999, 416_666_666]))
@examples(150)
def test_legal_play_never_faults_and_totals_are_what_the_lines_say(number: int, slow_ns: int) -> None:
    transcript = play(number, Legal(number, slow_ns))
    first, second = (player.half_points() for player in recount(transcript))
    assert (transcript.result.points, transcript.result.faults) == ((Fraction(first, 2), Fraction(second, 2)), {})
    assert transcript.result.ranks == (1 + (first < second), 1 + (second < first))
    (final,) = events(transcript, "final")
    assert [2 * float(total) for total in final["total"]] == [first, second]


class Passive:
    """Always wants block A (or B), bets only in round 1, and never places a block."""

    def __init__(self, wants: int, first_bet: int = 0) -> None:
        self.wants, self.bet = wants, first_bet

    def __call__(self, message: Message) -> str | None:
        bet = self.bet
        if message.command == "PHASE1":
            self.bet = 0
            return f"BET {message.line.split()[1 + self.wants]} {bet}"
        return {"READY": "OK", "PHASE2": "PLACE 0"}.get(message.command)


@pytest.mark.parametrize(("bets", "ranks"), [((0, 0), (1, 1)), ((3, 3), (1, 1)), ((3, 2), (2, 1)), ((0, 1), (1, 2))])
def test_b12_half_a_point_decides_and_equal_totals_are_a_draw(bets: tuple[int, int], ranks: tuple[int, int]) -> None:
    result = play(0, Passive(0, bets[0]), Passive(1, bets[1])).result
    assert (result.ranks, result.points) == (ranks, (Fraction(24 - bets[0], 2), Fraction(24 - bets[1], 2)))
    assert result.rated


def test_b10_a_player_without_chips_bets_nothing_and_plays_on() -> None:
    """Four bets of 5 and one of 4 on blocks that the other does not want spend all chips; a sixth bet of 1 fails."""

    def spender(bets: str) -> Player:
        left = iter(bets)

        def answer(message: Message) -> str | None:
            if message.command == "PHASE1":
                return f"BET {message.line.split()[1]} {next(left, '0')}"
            return Passive(0)(message)

        return answer

    poor = play(0, spender("55554"), Passive(1))
    assert (events(poor, "bets")[4]["chips"], poor.result.points) == ([0, 24], (0, 12))
    broke = play(0, spender("555541"), Passive(1))
    assert broke.result.faults == {0: Fault.ILLEGAL}
    assert events(broke, "fault")[0]["why"] == "a bet of 1 with 0 chips"


@given(numbers)
@examples(25)
def test_b04_no_bet_changes_the_blocks_of_a_seed(number: int) -> None:
    """Every round draws block A, block B and the coin, and nothing else."""
    chance, expected = Chance(seed(number)), []
    for _ in range(12):
        a = NAMES[chance.below(21)]
        expected.append((a, [name for name in NAMES if name != a][chance.below(20)], chance.below(2)))
    for transcript in (play(number), play(number, Legal(1), Legal(1)), play(number, Passive(0), Passive(0))):
        assert [(event["a"], event["b"]) for event in events(transcript, "offer")] == [(a, b) for a, b, _ in expected]
        for event, (_, _, coin) in zip(events(transcript, "bets"), expected, strict=True):
            if event["coin"]:
                assert event["acquired"][coin] == event["choices"][coin]


# The bank --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("at_prompt", [1, 2, 12, 24])
@pytest.mark.parametrize("before_ns", [0, 1, 9_999_999_999])
def test_b11_the_whole_bank_is_in_time_and_a_nanosecond_more_is_not(seat: int, at_prompt: int, before_ns: int) -> None:
    """The bank is spent in one prompt, or partly in an earlier one."""
    for late_ns in (0, 1):
        spent = {at_prompt: BANK_NS + late_ns - (before_ns if at_prompt > 1 else 0)}
        players: list[Player] = [Legal(0), Legal(1)]
        players[seat] = timed(players[seat], {1: before_ns} | spent)
        transcript = play(7, *players)
        assert transcript.result.faults == ({seat: Fault.TIMEOUT} if late_ns else {})
        (final,) = events(transcript, "final")
        assert (final["bank_ns"][seat], final["bank_ns"][1 - seat]) == (0, BANK_NS)


def test_b11_with_an_empty_bank_only_a_reply_that_takes_no_time_is_in_time() -> None:
    """A prompt with a limit of 0 ns is still a prompt, and shows 0 ms."""
    for late_ns in (0, 1):
        transcript = play(7, timed(Legal(0), {1: BANK_NS, 2: late_ns}))
        prompt = transcript.exchanges[2].messages[0]
        assert (prompt.command, prompt.limit_ns, prompt.line.split()[-2:]) == ("PHASE2", 0, ["0", "10000"])
        assert transcript.result.faults == ({0: Fault.TIMEOUT} if late_ns else {})
        assert replay(GAME, transcript) == transcript


@pytest.mark.parametrize(
    ("elapsed_ns", "shown"),
    [(0, "10000"), (1, "9999"), (999_999, "9999"), (1_000_000, "9999"), (1_000_001, "9998"), (9_999_000_001, "0")],
)
def test_b11_times_are_shown_in_whole_milliseconds_rounded_down(elapsed_ns: int, shown: str) -> None:
    """Both players are told in their next prompt."""
    transcript = play(7, timed(Legal(0), {1: elapsed_ns}))
    first, second = (message.line.split()[-2:] for message in transcript.exchanges[2].messages)
    assert (first, second) == ([shown, "10000"], ["10000", shown])


@given(numbers, st.lists(st.integers(0, 2_000_000_000), min_size=24, max_size=24))
@examples(100)
def test_b11_a_bot_is_never_told_more_than_it_has(number: int, times_ns: list[int]) -> None:
    transcript = play(number, timed(Legal(0), dict(enumerate(times_ns, 1))))
    bank_ns, late = BANK_NS, False
    for prompt in transcript.prompts():
        if prompt.message.seat == 0 and prompt.message.command != "READY":
            assert not late
            told_ms = int(prompt.message.line.split()[-2])
            assert told_ms * 1_000_000 <= bank_ns < (told_ms + 1) * 1_000_000
            assert prompt.limit_ns == bank_ns
            bank_ns, late = bank_ns - prompt.reply.elapsed_ns, prompt.reply.fault is Fault.TIMEOUT
    assert (sum(times_ns) > BANK_NS) == late == (transcript.result.faults == {0: Fault.TIMEOUT})


def test_b11_a_bank_runs_only_for_its_owner_and_ready_is_free() -> None:
    transcript = play(7, timed(Legal(0), {0: 3_000_000_000, 1: 5_000_000_000, 2: 4_000_000_000}))
    assert events(transcript, "place")[0]["bank_ns"] == 1_000_000_000
    assert events(transcript, "final")[0]["bank_ns"] == [1_000_000_000, BANK_NS]
    assert play(7, timed(Legal(0), {0: 3_000_000_001})).result.faults == {0: Fault.TIMEOUT}


def test_b11_a_forged_time_diverges_where_it_would_have_been_told() -> None:
    transcript = play(7, timed(Legal(0), {4: 5_000_000}))
    fourth = transcript.exchanges[4]
    forged = {**fourth.replies, 0: fourth.replies[0]._replace(elapsed_ns=4_000_000)}
    exchanges = (*transcript.exchanges[:4], fourth._replace(replies=forged), *transcript.exchanges[5:])
    with pytest.raises(Diverged) as diverged:
        replay(GAME, replace(transcript, exchanges=exchanges))
    assert diverged.value.at_exchange == 5


# Faults ----------------------------------------------------------------------------------------------------------


def test_c13_the_score_so_far_is_kept_for_display() -> None:
    """The two matches are the same up to the fault at prompt 21, a PHASE1: ten rounds."""
    whole, cut = play(5), play(5, faulty(Legal(10), 21, None))
    assert whole.exchanges[:21] == cut.exchanges[:21]
    (final,) = events(cut, "final")
    tenth = events(whole, "place")[18:20]
    assert final["cells"] == [event["filled"] for event in tenth]
    assert final["total"] == [event["total"] for event in tenth]
    assert cut.result.points is None
