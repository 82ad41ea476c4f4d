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

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from deadheat.engine.chance import Chance
from deadheat.engine.core import FOUND_BY_RULES, Event, Fault, Game, Reply, Result, Seat, Step
from deadheat.engine.games.folder import NAME
from deadheat.engine.trial import (
    Bot,
    Bots,
    Match,
    NotConforming,
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
    _check_description(game)
    for seats in game.seats:
        try:
            _check_with(game, new_bot, seats)
        except NotConforming as wrong:
            raise NotConforming(f"{game.name} with {seats} seats: {wrong}") from wrong


def _check_description(game: Game) -> None:
    if not NAME.fullmatch(game.name):
        raise NotConforming(f"the name {game.name!r} must consist of lower-case letters, digits and single hyphens")
    if not game.title.strip():
        raise NotConforming(f"{game.name} has no title")
    if game.rules_version < 1:
        raise NotConforming(f"{game.name}: the rules' version {game.rules_version!r} is not a whole number from 1")
    if len(game.seats) == 0 or game.seats[0] < 1 or game.seats.step != 1:
        raise NotConforming(f"{game.name}: seats {game.seats!r} are not a range of numbers of seats")


def _check_with(game: Game, new_bot: Callable[[int], Bot], seats: int) -> None:
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
            told, instead = _told(step, seat), _told(other, seat)
            if told != instead:
                raise NotConforming(
                    f"at exchange {number} seat {seat} is told {told}, and would be told {instead} had {what}, "
                    "but the events that it may see are the same: a leak, or an event is missing"
                )


def _seen(step: Step, seat: Seat) -> list[Event]:
    return [event for event in step.events if not event.get("private") or event["seat"] == seat]


def _told(step: Step, seat: Seat) -> list[tuple[str, int | None]]:
    return [(message.line, message.limit_ns) for message in step.messages if message.seat == seat]


def _spread(things: Sequence[T]) -> list[T]:
    """Return all places, or SAMPLE of them spread evenly from the first to the last."""
    if len(things) <= SAMPLE:
        return list(things)
    return [things[n * (len(things) - 1) // (SAMPLE - 1)] for n in range(SAMPLE)]
