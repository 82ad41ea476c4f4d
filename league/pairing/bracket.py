"""A knock-out: pairings, winners and final places. All of it follows from seeds and points.

Byes for the best seeds fill the field up to a power of two. Seeds are laid out so that the first and the second can
meet in the final at the earliest, the first four in the semifinals, and so on. Two players that are level after their
matches play as many again, up to a declared number of times; then the better seed advances. Optionally, the losers of
the semifinals play for the third place.

Places: a player that was knocked out later comes first; among those knocked out in the same round, the better seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from deadheat.league.pairing.contest import Placed
from deadheat.league.pairing.figures import DIGITS, TIES_WON, Meeting
from deadheat.league.pairing.pairs import PairKey, pair_key


@dataclass(frozen=True, slots=True)
class Tie:
    """A place in the bracket where two meet, or a table (`league.pairing.heats`). `round` and `slot` count from 1. The
    final is slot 1 of the last round, and the match for the third place slot 2.

    `players`: None until they are known; at a table by seat, and none until all are known. The second of two stays None
    if the first has a bye (`is_bye`); at tables, who has one is alone. `points`: theirs. `times`: how often they have
    met here. `advancing`: the best first; None: not decided.
    """

    round: int
    slot: int
    players: tuple[int | None, ...] = ()
    points: tuple[float, ...] = ()
    times: int = 0
    advancing: tuple[int, ...] | None = None
    is_bye: bool = False

    @property
    def winner(self) -> int | None:
        """The first of those that advance, once it is decided."""
        return self.advancing[0] if self.advancing else None

    @property
    def loser(self) -> int | None:
        """The other one of two, once it is decided; None for a bye."""
        first, second = self.players
        return None if self.winner is None or self.is_bye else second if self.winner == first else first


def rounds_of(players: int) -> int:
    """Return the number of rounds that halve the field down to one."""
    return (players - 1).bit_length()


def bracket(seeded: Sequence[int], played: Sequence[Meeting], further: int, third_place: bool) -> list[Tie]:
    """Return all ties, round by round from the top, with the results so far. `further`: how often two level players may
    meet again.
    """
    met: dict[PairKey, list[Meeting]] = defaultdict(list)
    for meeting in played:
        if len(meeting.players) == 2:
            met[pair_key(*meeting.players)].append(meeting)
    seed = {player: number for number, player in enumerate(seeded)}
    rounds = rounds_of(len(seeded))
    lines: list[int | None] = [seeded[place] if place < len(seeded) else None for place in _layout(rounds)]
    ties: list[Tie] = []
    for number in range(1, rounds + 1):
        pairs = list(zip(lines[::2], lines[1::2], strict=True))
        ties_now = [_tie(number, slot, one, other, met, seed, further) for slot, (one, other) in enumerate(pairs, 1)]
        if number == rounds and third_place and rounds > 1:
            one, other = (tie.loser for tie in ties[-2:])
            ties_now.append(_tie(number, 2, one, other, met, seed, further, byes=False))
        ties += ties_now
        lines = [tie.winner for tie in ties_now]
    return ties


def _layout(rounds: int) -> list[int]:
    """Return the seeds, counted from 0, in the order of the first round's lines."""
    order = [0]
    for number in range(1, rounds + 1):
        order = [place for one in order for place in (one, 2**number - 1 - one)]
    return order


def _tie(
    number: int,
    slot: int,
    one: int | None,
    other: int | None,
    met: dict[PairKey, list[Meeting]],
    seed: dict[int, int],
    further: int,
    byes: bool = True,
) -> Tie:
    if one is None or other is None:
        is_bye = byes and number == 1
        return Tie(number, slot, (one, other), (0.0, 0.0), 0, (one,) if is_bye and one is not None else None, is_bye)
    meetings = met[pair_key(one, other)]
    points = {one: 0.0, other: 0.0}
    for meeting in meetings:
        for player, taken in zip(meeting.players, meeting.points, strict=True):
            points[player] += taken
    advancing = None
    if meetings and points[one] != points[other]:
        advancing = (one if points[one] > points[other] else other,)
    elif len(meetings) > further:
        advancing = (min(one, other, key=seed.__getitem__),)
    return Tie(number, slot, (one, other), (points[one], points[other]), len(meetings), advancing)


def next_ties(ties: Sequence[Tie]) -> list[tuple[int, ...]]:
    """Return the tables that play now. The better seed sits first, or the seats are reversed when they meet again."""
    found = []
    for tie in ties:
        known = tuple(player for player in tie.players if player is not None)
        if tie.advancing is None and known and len(known) == len(tie.players):
            found.append(known if tie.times % 2 == 0 else known[::-1])
    return found


def bracket_standings(seeded: Sequence[int], ties: Sequence[Tie]) -> list[Placed]:
    """Rank all players, the best first. While ties are open, the ranking is provisional."""
    points: dict[int, float] = dict.fromkeys(seeded, 0.0)
    won: dict[int, int] = dict.fromkeys(seeded, 0)
    reached: dict[int, tuple[float, ...]] = dict.fromkeys(seeded, (0,))
    for tie in ties:
        for player, taken in zip(tie.players, tie.points, strict=True):
            if player is not None:
                outcome = 0 if tie.advancing is None else 1 if player in tie.advancing else -1
                points[player] += taken
                won[player] += outcome == 1 and not tie.is_bye
                # A later round ranks higher, the final above the match for third place, and a winner above a loser.
                slot = -tie.slot if tie.round == ties[-1].round else 0
                each = (
                    round(taken / max(1, tie.times), DIGITS) if len(tie.players) > 2 else 0.0
                )  # a table may meet again
                reached[player] = (tie.round, slot, outcome, each)
    order = sorted(enumerate(seeded, 1), key=lambda one: (*(-figure for figure in reached[one[1]]), one[0]))
    return [
        Placed(player, number, place, {"points": round(points[player], DIGITS), TIES_WON.name: won[player]})
        for place, (number, player) in enumerate(order, 1)
    ]
