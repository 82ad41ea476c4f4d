"""Sends spoilt replies to a game: each must be a fault or a move, and nothing else.

Every reply of an honest match is sent again with something changed: words left out, doubled, swapped or taken from
other replies, numbers made larger, longer, negative or no numbers, odd blanks and bytes. The game must continue or call
it a fault of that seat; a match that ends with it must verify, and no other seat may lose by it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from deadheat.engine.core import FOUND_BY_RULES, MAX_LINE_BYTES, Game, Reply, Seat, Step
from deadheat.engine.trial import (
    Bot,
    Bots,
    Enough,
    Match,
    NotConforming,
    Place,
    check_replay,
    check_result,
    play_match,
    seed_of,
)

ODD = (
    *("", " ", "\t", "\r", "\x00", "\x7f", "\u00a0", "\u0663", "\udcff", "é"),
    *("-1", "+1", "-0", "00", "1e9", "0x1", "1_0"),
    *("NaN", "Infinity", "null", "true", "{}", "[]", '"', "\\", ",", "9" * 9, "9" * 10, "9" * 5000, "[" * 3000),
    *('{"a":' * 500, "%s", "$(id)", "<b>", "\u202e"),
)
"""Texts that replace a word or are put beside one."""


def fuzz_replies(game: Game, new_bot: Callable[[int], Bot], tries: int = 300) -> int:
    """Put `tries` changed replies to the game, in matches of every number of seats; return how many were faults.

    Raises:
        NotConforming: on the first reply that the game cannot handle.
    """
    chance = random.Random(0)  # noqa: S311  not for secrets
    refused = 0
    for seats in game.seats:
        honest = play_match(game, seats, seed_of(seats), Bots(new_bot, seats, 0))
        places = [(number, seat) for number, replies in enumerate(honest.replies) for seat in replies]
        said = [reply.line for replies in honest.replies for reply in replies.values() if reply.line]
        for _ in range(max(1, tries // len(game.seats))):
            place = chance.choice(places)
            line = spoilt(honest.replies[place[0]][place[1]].line or "", said, chance)
            refused += _put(game, honest, place, line)
    return refused


def spoilt(line: str, said: Sequence[str], chance: random.Random) -> str:
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
                words[place] = chance.choice(chance.choice(said).split(" "))
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
    try:
        match = play_match(game, honest.seats, honest.seed, _Instead(honest, place, line))
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


class _Instead:
    """Gives the replies of an honest match up to the replaced one; later ones might not fit."""

    def __init__(self, honest: Match, place: Place, line: str) -> None:
        self.honest = honest
        self.place = place
        self.line = line

    def __call__(self, number: int, step: Step) -> Mapping[Seat, Reply]:
        at, seat = self.place
        if number < at:
            return self.honest.replies[number]
        if number == at:
            return {**self.honest.replies[number], seat: Reply(self.line, 0)}
        if any(message.limit_ns is not None for message in step.messages):
            raise Enough
        return {}
