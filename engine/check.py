"""The conformance test for games: every registered game passes it, and anyone who adds one runs it first.

    check_game(HighCard(), Bot)    # returns, or raises `NotConforming` with a sentence

Theory of operation
-------------------
It needs the game and something that plays it legally: a class like the ``Bot`` in every game's random bot, created with
a number (equal numbers play alike) and called as ``answer(line)``, which returns a line, or None if none is wanted.

*Honest matches* come first, for each number of seats. Every step is checked (READY first, FINISH last, one prompt per
seat and nothing after it, events that survive JSON), and so is the result. Each match must replay to equality from its
bytes, even while another match of the same game object is in progress.

*Faults* are injected at every prompt or, if there are many, at some spread evenly over the match: the match must end,
keep the fault, send nothing more to that seat, and not let it win.

*Secrets.* Everything that a seat reads must follow from its legitimate knowledge: the public events so far, its own
private events (``"private": True, "seat": n``), and its own replies. So a match is replayed with the same replies and
one thing changed, a draw of chance or one reply. As long as the events that another seat may see are the same, the
lines sent to it must be the same. That makes the marks on events the only declaration that a game needs: a secret
without an event is found as well, because the line that tells it to its owner then has no source.

This cannot check whether the rules match the game's text, nor what random play hardly ever reaches.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from deadheat.engine.chance import Chance
from deadheat.engine.core import FOUND_BY_RULES, MAX_LINE_BYTES, Event, Fault, Game, Reply, Result, Seat, Step
from deadheat.engine.games.folder import NAME
from deadheat.engine.trial import (
    Bot,
    Bots,
    Enough,
    Match,
    NotConforming,
    Place,
    Recorded,
    Replies,
    advance,
    check_replay,
    check_result,
    play_match,
    seed_of,
)

__all__ = ["Bot", "NotConforming", "check_game"]

MATCHES = 3  # honest matches for each number of seats
SAMPLE = 40  # the most faults, changed draws and changed replies to try for each number of seats

FAULTS = tuple(fault for fault in Fault if fault not in FOUND_BY_RULES)  # the others are injected as faults
BAD_LINES = ("", "?", "\x00", "\udcff", "9" * 4000, "[" * 4000)  # no game accepts any of these lines

T = TypeVar("T")


def check_game(game: Game, new_bot: Callable[[int], Bot]) -> None:
    """Check everything that can be checked without knowing the rules. This takes a second or two.

    Raises:
        NotConforming: on the first thing that is wrong.
    """
    if not NAME.fullmatch(game.name):
        raise NotConforming(f"the name {game.name!r} must consist of lower-case letters, digits and single hyphens")
    if not game.title.strip():
        raise NotConforming(f"{game.name} has no title")
    if game.rules_version < 1:
        raise NotConforming(f"{game.name}: the rules' version {game.rules_version!r} is not a whole number from 1")
    if len(game.seats) == 0 or game.seats[0] < 1 or game.seats.step != 1:
        raise NotConforming(f"{game.name}: seats {game.seats!r} are not a range of numbers of seats")
    for seats in game.seats:
        try:
            matches = []
            for number in range(MATCHES):
                bots = Bots(new_bot, seats, number, doubles=True)
                match = play_match(game, seats, seed_of(number), bots)
                check_result(match, {})
                check_replay(game, match)
                match.others = bots.others
                matches.append(match)
            _check_side_by_side(game, *matches[:2])
            _check_faults(game, matches[0], new_bot)
            _check_secrets(game, matches[0])
        except NotConforming as wrong:
            raise NotConforming(f"{game.name} with {seats} seats: {wrong}") from wrong


# What is checked -------------------------------------------------------------------------------------------------


def _check_side_by_side(game: Game, *matches: Match) -> None:
    """Interleave matches: a worker's matches share all state of the game object and its module."""
    plays = [game.play(match.seats, Chance(match.seed)) for match in matches]
    come: list[Step | Result] = [next(play) for play in plays]
    for number in range(max(len(match.steps) for match in matches)):
        for place, (match, play) in enumerate(zip(matches, plays, strict=True)):
            if number < len(match.steps) and come[place] == match.steps[number]:
                come[place] = advance(play, match.replies[number], f"beside another match, after exchange {number}")
    if come != [match.result for match in matches]:
        raise NotConforming("two matches at the same time disturb each other: is anything kept on the game object?")


def _check_faults(game: Game, match: Match, new_bot: Callable[[int], Bot]) -> None:
    """Let one seat fail at every place, then all seats asked at once; the kinds of faults take turns."""
    places = [(number, seat) for number, replies in enumerate(match.replies) for seat in replies]
    kinds: list[Fault | str] = [*FAULTS, *BAD_LINES]
    injected = [(number, [seat]) for number, seat in _spread(places)]
    injected += [(number, list(match.replies[number])) for number in _spread(range(len(match.replies)))]
    for turn, (number, seats) in enumerate(injected):
        bad = {seat: kinds[(turn + seat) % len(kinds)] for seat in seats}
        if bad:
            faulty = play_match(game, match.seats, match.seed, _Faulty(Bots(new_bot, match.seats, 0), number, bad))
            check_result(faulty, {seat: kind if isinstance(kind, Fault) else None for seat, kind in bad.items()})


class _Faulty:
    """Lets bots play, but makes some seats fail at one exchange. A failed seat must not be asked again."""

    def __init__(self, bots: Bots, at: int, bad: Mapping[Seat, Fault | str]) -> None:
        self.bots = bots
        self.at = at
        self.bad = bad

    def __call__(self, number: int, step: Step) -> Replies:
        for message in step.messages:
            if number > self.at and message.seat in self.bad:
                sent = f"is sent {message.line!r} at exchange {number}: its program may be dead"
                raise NotConforming(f"seat {message.seat} failed at exchange {self.at}, and {sent}")
        replies = dict(self.bots(number, step))
        if number == self.at:
            for seat, kind in self.bad.items():
                limit_ns = next(m.limit_ns for m in step.messages if m.seat == seat and m.limit_ns is not None)
                replies[seat] = Reply(None, limit_ns, kind) if isinstance(kind, Fault) else Reply(kind, 0)
        return replies


def _check_secrets(game: Game, match: Match) -> None:
    for draw in _spread(range(match.draws)):
        varied = play_match(game, match.seats, match.seed, Recorded(match, {}), draw)
        _compare(match, varied, None, f"draw {draw} of chance been different")
    for (number, seat), other in _spread(list(match.others.items())):
        reply = match.replies[number][seat]
        same = other in (None, reply.line)
        change = Reply(None, reply.elapsed_ns, Fault.EXITED) if same else Reply(other, reply.elapsed_ns)
        varied = play_match(game, match.seats, match.seed, Recorded(match, {(number, seat): change}))
        what = f"seat {seat} replied {change.line!r} instead of {reply.line!r} at exchange {number}"
        _compare(match, varied, seat, what)


def _compare(match: Match, varied: Match, changed: Seat | None, what: str) -> None:
    for seat in range(match.seats):
        if seat == changed:
            continue
        for number, (step, other) in enumerate(zip(match.steps, varied.steps, strict=False)):
            if _seen(step, seat) != _seen(other, seat):
                break
            lines, instead = _prompted(step, seat), _prompted(other, seat)
            if lines != instead:
                raise NotConforming(
                    f"at exchange {number} seat {seat} is told {lines}, and would be told {instead} had {what}, "
                    "but the events that it may see are the same: a leak, or an event is missing"
                )


def _seen(step: Step, seat: Seat) -> list[Event]:
    return [event for event in step.events if not event.get("private") or event["seat"] == seat]


def _prompted(step: Step, seat: Seat) -> list[tuple[str, int | None]]:
    return [(message.line, message.limit_ns) for message in step.messages if message.seat == seat]


def _spread(things: Sequence[T]) -> list[T]:
    """Return all places, or SAMPLE of them spread evenly from the first to the last."""
    if len(things) <= SAMPLE:
        return list(things)
    return [things[n * (len(things) - 1) // (SAMPLE - 1)] for n in range(SAMPLE)]


ODD = (
    *("", " ", "\t", "\r", "\x00", "\x7f", "\u00a0", "\u0663", "\udcff", "é"),
    *("-1", "+1", "-0", "00", "1e9", "0x1", "1_0"),
    *("NaN", "Infinity", "null", "true", "{}", "[]", '"', "\\", ",", "9" * 9, "9" * 10, "9" * 5000, "[" * 3000),
    *('{"a":' * 500, "%s", "$(id)", "<b>", "\u202e"),
)
"""Texts that replace a word or are put beside one."""


def fuzz_replies(game: Game, new_bot: Callable[[int], Bot], tries: int = 300) -> int:
    """Put `tries` changed replies to the game, in matches of every number of seats; return how many were faults.

    Every reply of an honest match is sent again with something changed: words left out, doubled, swapped or taken from
    other replies, numbers made larger, longer, negative or no numbers, odd blanks and bytes. The game must continue or
    call it a fault of that seat; a match that ends with it must verify, and no other seat may lose by it.

    Raises:
        NotConforming: on the first reply that the game cannot handle.
    """
    chance = random.Random(0)  # noqa: S311  not for secrets
    refused = 0
    for seats in game.seats:
        honest = play_match(game, seats, seed_of(seats), Bots(new_bot, seats, 0))
        places = [(number, seat) for number, replies in enumerate(honest.replies) for seat in replies]
        honest_lines = [reply.line for replies in honest.replies for reply in replies.values() if reply.line]
        for _ in range(max(1, tries // len(game.seats))):
            place = chance.choice(places)
            line = _spoilt(honest.replies[place[0]][place[1]].line or "", honest_lines, chance)
            refused += _put(game, honest, place, line)
    return refused


def _spoilt(line: str, others: Sequence[str], chance: random.Random) -> str:
    """Return a reply with one to three changes, as a transport would hand it on: one line of bounded length."""
    for _ in range(chance.randint(1, 3)):
        words = line.split(" ")
        place = chance.randrange(len(words))
        match chance.randrange(6):
            case 0:
                words[place] = chance.choice(ODD)
            case 1:
                words.insert(place, chance.choice(ODD))
            case 2:
                del words[place]
            case 3:
                words[place] = chance.choice(chance.choice(others).split(" "))
            case 4:
                words[place] = _numbers_changed(words[place], chance)
            case _:
                at = chance.randrange(len(line) + 1)
                words = [line[:at] + chance.choice(ODD) + line[at + chance.randrange(2) :]]
        line = chance.choice((" ", " ", " ", "  ", "\t")).join(words)
    cut = line.replace("\n", " ").encode("utf-8", "surrogateescape")[:MAX_LINE_BYTES]
    return cut.decode("utf-8", "surrogateescape")


def _numbers_changed(word: str, chance: random.Random) -> str:
    """Replace one digit of a word; swap the case of a word without digits."""
    digits = [place for place, mark in enumerate(word) if mark.isdigit()]
    if not digits:
        return word.swapcase()
    at = chance.choice(digits)
    return word[:at] + chance.choice(("0", "1", "9", "17", "-1", "100", "5.0", "")) + word[at + 1 :]


def _put(game: Game, honest: Match, place: Place, line: str) -> bool:
    """Repeat the match up to the place, reply with the line there, and continue honestly while the replies fit."""
    where = f"the reply {line[:80]!r} of seat {place[1]} at exchange {place[0]}"

    def answer(number: int, step: Step) -> Replies:
        if number < place[0]:
            return honest.replies[number]
        if number == place[0]:
            return {**honest.replies[number], place[1]: Reply(line, 0)}
        if any(message.limit_ns is not None for message in step.messages):
            raise Enough  # the replies of the honest match might not fit
        return {}

    try:
        match = play_match(game, honest.seats, honest.seed, answer)
    except NotConforming as wrong:
        raise NotConforming(f"after {where}: {wrong}") from wrong
    if match.result is None:
        return False  # the line was a legal move and led to another match
    faults = match.result.faults
    if not faults.keys() <= {place[1]} or any(fault not in FOUND_BY_RULES for fault in faults.values()):
        raise NotConforming(f"{where} ends in the faults {dict(faults)}")
    check_result(match, dict.fromkeys(faults))
    check_replay(game, match)
    return bool(faults)
