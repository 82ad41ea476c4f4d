"""Every registered game passes `check_game`, which finds every way to break a game that is listed here."""

import itertools
import re
from collections.abc import Callable, Generator, Mapping
from fractions import Fraction
from typing import Any

import pytest

from deadheat.engine.chance import Chance
from deadheat.engine.check import Bot, NotConforming, check_game, fuzz_replies
from deadheat.engine.core import FOUND_BY_RULES, Event, Fault, Message, Reply, Result, Seat, Step
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import bots_of
from deadheat.engine.games.parsing import Refused, expect, illegal, line_of, number
from deadheat.games.liars_dice import rules
from tests.bots.loading import bot_class
from tests.lanes import scaled

pytestmark = pytest.mark.quick


def random_bot(game: str) -> Callable[[int], Bot]:
    """Return the class of the house's random bot, which every game must have."""
    new_bot: Callable[[int], Bot] = bot_class(bots_of(game) / "random")
    return new_bot


@pytest.mark.parametrize("name", GAMES)
def test_every_registered_game_conforms(name: str) -> None:
    check_game(GAMES[name], random_bot(name))


@pytest.mark.parametrize("name", GAMES)
def test_no_game_minds_spoilt_replies(name: str) -> None:
    assert fuzz_replies(GAMES[name], random_bot(name), scaled(1000, 60)) > 0


# A small game to break ------------------------------------------------------------------------------------------

COUNTER = itertools.count()  # no game may read this
ODD_EVENTS: dict[str, dict[str, Any]] = {
    "a tuple in an event": {"cards": (1, 2)},
    "a number as a key": {"cards": {1: 2}},
    "an event that is no JSON": {"cards": {1, 2}},
    "NaN in an event": {"odds": float("nan")},
    "a private event of nobody": {"private": True},
    "a private event of a stranger": {"private": True, "seat": 9},
}


class Tricks:
    """Two or three seats get three cards each. All play one at the same time; the highest card takes the trick."""

    name = "tricks"
    title = "Tricks"
    rules_version = 1
    seats = range(2, 4)
    commands = ("READY", "PLAY")

    def __init__(self, bug: str = "") -> None:
        self.bug = bug
        self.tricks: list[int] = []

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """See `engine.core.Game`; `bug` names one thing that goes wrong."""
        bug, everybody = self.bug, range(seats)
        faults: dict[Seat, Fault] = {}
        tricks = [0] * seats
        if bug == "state on the game":
            self.tricks = tricks
        hands = [sorted(chance.below(9) + 1 for _ in range(3)) for _ in everybody]
        replies = yield Step(self.ready(seats))
        faults |= self.read(replies, lambda _seat, line: expect(line, "OK", 0))[1]
        told, events = self.deal(hands)
        while bug == "no end":
            yield Step(())
        for round_number in range(3):
            asked = [seat for seat in everybody if seat not in faults]
            if len(asked) < 2:
                break
            told = [message for message in told if message.seat in asked or bug == "lines to the dead"]
            if bug == "prompts to the dead":
                asked = list(everybody)
            if bug == "one hears what the other plays":
                replies = yield Step((*told, Message(asked[0], "PLAY", 5)), tuple(events))
                card = replies[asked[0]].line
                others = [Message(seat, f"PLAY {card}", 5) for seat in asked[1:]]
                replies = {**replies, **(yield Step(tuple(others)))}
            else:
                replies = yield Step(tuple(told + self.prompts(asked, round_number)), tuple(events))
            cards, failed = self.read(replies, lambda seat, line: self.card(line, hands[seat]))
            events = self.failures(failed)
            faults |= failed
            if bug == "a crash at a fault" and failed:
                raise KeyError(min(failed))
            if bug == "endless at a fault" and failed:
                while True:
                    yield Step(())
            if bug == "another's reply":
                replies[seats]
            for seat, card in cards.items():
                hands[seat].remove(card)
                tricks[seat] += card == max(cards.values()) and [*cards.values()].count(card) == 1
            if bug == "the order of replies" and cards:
                tricks[next(iter(cards))] += 1
            shown = [*cards.values()] if bug == "the order of replies" else [cards.get(seat, 0) for seat in everybody]
            events.append({"type": "trick", "cards": shown})
            told = [Message(seat, "TRICK " + " ".join(map(str, shown))) for seat in everybody if seat not in faults]
            if bug == "a trick without an event":
                events.pop()
            if bug == "what is not in the seed":
                told.append(Message(asked[-1], f"NOTE {next(COUNTER)}"))
        events.append({"type": "final", "tricks": tricks})
        told = [message for message in told if message.seat not in faults]
        yield Step(tuple(told + self.farewell(everybody, faults)), tuple(events))
        return self.result(self.tricks if bug == "state on the game" else tricks, faults)

    def deal(self, hands: list[list[int]]) -> tuple[list[Message], list[Event]]:
        """Tell all seats their cards, and viewers that these are private."""
        bug, everybody, seats = self.bug, range(len(hands)), len(hands)
        deals = [Message(seat, "DEAL " + " ".join(map(str, hands[seat]))) for seat in everybody]
        told = list(deals)
        events: list[Event] = [
            {"type": "hand", "private": True, "seat": seat, "cards": list(hands[seat])} for seat in everybody
        ]
        if bug == "a hand without an event":
            events = []
        if bug == "a hand that its event gives to the wrong seat":
            events = [{**event, "seat": (int(str(event["seat"])) + 1) % seats} for event in events]
        if bug == "a hand sent to all":
            told += [Message(seat, deals[0].line.replace("DEAL", "SPY")) for seat in everybody if seat != 0]
        if bug in ODD_EVENTS:
            events.append({"type": "x", **ODD_EVENTS[bug]})
        if bug == "an event without a type":
            events.append({"kind": "x"})
        return told, events

    def ready(self, seats: int) -> tuple[Message, ...]:
        limit_ns = 5 if self.bug == "another limit for READY" else 3_000_000_000
        words = "HELLO" if self.bug == "no READY" else "READY"
        messages = [Message(seat, words, limit_ns) for seat in range(seats)]
        return tuple(messages[1:] if self.bug == "READY to some" else messages)

    def prompts(self, asked: list[Seat], round_number: int) -> list[Message]:
        line, limit_ns = "PLAY", 500_000_000
        if round_number == 1:
            line = {
                "two lines in one": "PLAY\nPLAY",
                "not ASCII": "PLAY é",
                "a long line": "PLAY" + 5000 * "x",
                "a prompt in small letters": "play",
                "an unknown prompt": "GUESS",
            }.get(self.bug, line)
            limit_ns = -1 if self.bug == "a limit below nothing" else limit_ns
        prompts = [Message(seat, line, limit_ns) for seat in asked]
        if self.bug == "two prompts to one seat":
            prompts.append(prompts[0])
        if self.bug == "a notice behind a prompt":
            prompts.append(Message(asked[0], "HINT"))
        if self.bug == "a stranger":
            prompts.append(Message(9, "HINT"))
        return prompts

    def read(
        self, replies: Mapping[Seat, Reply], read: Callable[[Seat, str], Any]
    ) -> tuple[dict[Seat, Any], dict[Seat, Fault]]:
        found, failed = {}, {}
        for seat, reply in replies.items() if self.bug == "the order of replies" else sorted(replies.items()):
            try:
                found[seat] = read(seat, line_of(reply))
            except Refused as refused:
                failed[seat] = refused.fault
        failed = {seat: fault for seat, fault in failed.items() if self.bug != f"{fault} forgiven"}
        if self.bug == "a fault by another name":
            failed = dict.fromkeys(failed, Fault.TIMEOUT)
        if self.bug == "a fault of both":
            failed = dict.fromkeys(replies, *failed.values()) if failed else {}
        return found, failed

    def card(self, line: str, hand: list[int]) -> int:
        word = expect(line, "CARD", 1)[0]
        card = int(word) if self.bug == "numbers as Python reads them" else number(word)
        if card not in hand:
            raise illegal("no such card")
        return card

    def failures(self, failed: Mapping[Seat, Fault]) -> list[Event]:
        return [{"type": "fault", "seat": seat, "fault": fault.value} for seat, fault in sorted(failed.items())]

    def farewell(self, everybody: range, faults: Mapping[Seat, Fault]) -> list[Message]:
        farewell = [Message(seat, "FINISH") for seat in everybody if seat not in faults]
        match self.bug:
            case "no FINISH":
                return []
            case "FINISH to the dead":
                return [Message(seat, "FINISH") for seat in everybody]
            case "FINISH to some":
                return farewell[1:]
            case "something after FINISH":
                return [*farewell, *(Message(message.seat, "BYE") for message in farewell)]
        return farewell

    def result(self, tricks: list[int], faults: Mapping[Seat, Fault]) -> Result:
        if self.bug == "no result":
            return None  # type: ignore[return-value]
        scores = [-1 if seat in faults else score for seat, score in enumerate(tricks)]
        if self.bug == "a winner who failed" and len(faults) == 1:
            scores = [9 if seat in faults else score for seat, score in enumerate(tricks)]
        ranks = tuple(1 + sum(other > score for other in scores) for score in scores)
        points: tuple[Any, ...] | None = None if faults else tuple(tricks)
        match self.bug:
            case "ranks from 0":
                ranks = tuple(rank - 1 for rank in ranks)
            case "a rank too many":
                ranks = (*ranks, len(ranks) + 1)
            case "a hole in the ranks":
                ranks = tuple(2 * rank - 1 for rank in ranks)
            case "half points":
                points = tuple(Fraction(trick, 2) for trick in tricks)
            case "points in floats":
                points = tuple(float(trick) for trick in tricks)
            case "a point too many":
                points = (*tricks, 0)
            case "ranks after everybody has failed":
                ranks = tuple(range(1, len(ranks) + 1)) if len(faults) == len(ranks) else ranks
        return Result(ranks, points, {} if self.bug == "no faults" else dict(faults))


class Player:
    def __init__(self, seed: int) -> None:
        self.chance = Chance(b"cards" + seed.to_bytes(4, "big"))
        self.hand: list[int] = []

    def answer(self, line: str) -> str | None:
        words = line.split()
        if words[0] == "READY":
            return "OK"
        if words[0] == "DEAL":
            self.hand = [int(card) for card in words[1:]]
        if words[0] == "PLAY":
            return f"CARD {self.hand.pop(self.chance.below(len(self.hand)))}"
        return None


def test_the_small_game_conforms() -> None:
    check_game(Tricks(), Player)
    fuzz_replies(Tricks(), Player)


def test_a_spoilt_reply_finds_what_crashes_only_at_odd_words() -> None:
    bad = Tricks("numbers as Python reads them")
    check_game(bad, Player)
    with pytest.raises(NotConforming, match=r"after the reply '.*' of seat [0-2] .* it raises ValueError"):
        fuzz_replies(bad, Player)


BUGS = {
    "no READY": "does not ask all seats READY",
    "READY to some": "does not ask all seats READY",
    "another limit for READY": "does not ask all seats READY",
    "no FINISH": "does not end with FINISH",
    "FINISH to some": "does not end with FINISH",
    "FINISH to the dead": r"is sent 'FINISH' at exchange \d+: its program may be dead",
    "something after FINISH": "does not end with FINISH",
    "two prompts to one seat": "to seat 0 behind its prompt",
    "a notice behind a prompt": "writes 'HINT' to seat 0 behind its prompt",
    "a stranger": "writes to seat 9",
    "two lines in one": "not one line of printable ASCII",
    "not ASCII": "not one line of printable ASCII",
    "a long line": "not one line of printable ASCII",
    "a prompt in small letters": "does not begin with a word in capitals",
    "an unknown prompt": "the prompt 'GUESS' is none of its commands: READY, PLAY",
    "a limit below nothing": "the limit -1 is not a time",
    "a tuple in an event": "is not JSON with a type",
    "a number as a key": "is not JSON with a type",
    "an event that is no JSON": "is not JSON with a type",
    "NaN in an event": "is not JSON with a type",
    "an event without a type": "is not JSON with a type",
    "a private event of nobody": "does not say whose",
    "a private event of a stranger": "does not say whose",
    "no end": "has not ended after 30000 exchanges",
    "endless at a fault": "has not ended after 30000 exchanges",
    "no result": "returns None and not a Result",
    "another's reply": "looks for a reply of seat 2, which it did not prompt",
    "what is not in the seed": "played again from its transcript it is another match: diverged at exchange 2",
    "the order of replies": "played again from its transcript it is another match",
    "state on the game": "disturb each other",
    "a crash at a fault": r"after exchange 1 it raises KeyError: 0",
    "prompts to the dead": "its program may be dead",
    "lines to the dead": "its program may be dead",
    "no faults": r"faults of seats \[0\] end as {}",
    **{
        f"{fault} forgiven": r"its program may be dead|faults of seats \[\d(, \d)*\] end as {}"
        for fault in Fault
        if fault not in FOUND_BY_RULES
    },
    "a fault by another name": "fault (exited|overflow) is recorded as timeout",
    "a fault of both": r"faults of seats \[0\] end as",
    "a winner who failed": "seat 0 has failed, and yet the ranks are",
    "ranks after everybody has failed": "all have failed: all must rank 1 and score None",
    "ranks from 0": "do not say for each seat how many are before it",
    "a rank too many": "do not say for each seat how many are before it",
    "a hole in the ranks": "do not say for each seat how many are before it",
    "points in floats": "are not an int or a Fraction for each seat",
    "a point too many": "are not an int or a Fraction for each seat",
    "half points": "all have failed: all must rank 1",
    "a hand sent to all": "a leak, or an event is missing",
    "a hand without an event": "a leak, or an event is missing",
    "a hand that its event gives to the wrong seat": "a leak, or an event is missing",
    "one hears what the other plays": "a leak, or an event is missing",
    "a trick without an event": "a leak, or an event is missing",
}


@pytest.mark.parametrize(("bug", "sentence"), BUGS.items(), ids=BUGS)
def test_a_broken_game_is_found_and_told_what_is_wrong(bug: str, sentence: str) -> None:
    with pytest.raises(NotConforming, match=sentence) as found:
        check_game(Tricks(bug), Player)
    assert re.match("tricks with [23] seats: ", str(found.value))


def test_a_leak_in_a_real_game_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The view tells one bit of all others' dice, in a field that the random bot does not read."""
    honest = rules._Match.frame

    def leaky(match: rules._Match, seat: Seat) -> tuple[str, str]:
        before, after = honest(match, seat)
        ones = sum(hand.count(1) for other, hand in enumerate(match.hands) if other != seat)
        return before, after.replace('"isYourTurn":true', f'"isYourTurn":{"true" if ones % 2 else "false"}')

    monkeypatch.setattr(rules._Match, "frame", leaky)
    with pytest.raises(NotConforming, match="a leak, or an event"):
        check_game(rules.LiarsDice(), random_bot("liars-dice"))


@pytest.mark.parametrize(
    ("attribute", "value", "sentence"),
    [
        ("name", "Tricks", "lower-case letters"),
        ("name", "three tricks", "lower-case letters"),
        ("name", "tricks-", "lower-case letters"),
        ("rules_version", 0, "not a whole number from 1"),
        ("seats", range(2, 2), "not a range of numbers of seats"),
        ("seats", range(3), "not a range of numbers of seats"),
        ("seats", range(2, 7, 2), "not a range of numbers of seats"),
    ],
)
def test_a_game_must_be_described(attribute: str, value: object, sentence: str) -> None:
    game = Tricks()
    setattr(game, attribute, value)
    with pytest.raises(NotConforming, match=sentence):
        check_game(game, Player)


# Its players -----------------------------------------------------------------------------------------------------


def answering(changed: Callable[[str, str | None], str | None]) -> type[Player]:
    """Return a class of players whose answers are changed."""

    class Odd(Player):
        def answer(self, line: str) -> str | None:
            return changed(line, super().answer(line))

    return Odd


class Forgetful(Player):
    """Raises an AssertionError in some matches."""

    def answer(self, line: str) -> str | None:
        if line.startswith("TRICK"):
            assert len(line.split()) > 3 - len(self.hand)
            assert self.chance.below(2)
        return super().answer(line)


@pytest.mark.parametrize(
    ("bot", "sentence"),
    [
        (answering(lambda line, card: "CARD 10" if line.startswith("PLAY") else card), r"faults of seats \[\] end as"),
        (answering(lambda line, card: None if line.startswith("PLAY") else card), r"the bot answers None to 'PLAY'"),
        (answering(lambda _, card: card or "thanks"), "the bot answers 'thanks' to 'DEAL"),
    ],
)
def test_a_bot_that_does_not_play_legally_is_told_so(bot: type[Player], sentence: str) -> None:
    with pytest.raises(NotConforming, match=sentence):
        check_game(Tricks(), bot)


def test_an_error_in_the_bot_is_shown_as_it_is() -> None:
    with pytest.raises(AssertionError):
        check_game(Tricks(), Forgetful)
