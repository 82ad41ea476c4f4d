"""Plans a tournament's games, their order and their dice, as pure functions.

The unit is a *deal*: one table of bots plays the same dice once from every seat, so that the luck of the dice and of
the seats cancels out. Its games are one group. A deal's dice follow from the tournament's seed, the names at the table
and the deal's number there; games are numbered in the order of the plan.

A plan grows in *stages*: the first has the original bots of a tournament; another follows when a bot is added or more
games are wanted. A stage only appends to those before it, so no played game changes its number, dice or seats.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from deadheat.cli.tournament.records import Kind, Request
from deadheat.engine.chance import SEED_BYTES
from deadheat.league.pairing.pairs import PairKey, lot, pair_key
from deadheat.league.pairing.seating import turns


@dataclass(frozen=True, slots=True)
class Seated:
    """One game: the bots by seat."""

    number: int
    players: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Deal:
    """Games that share their dice, one from every seat."""

    group: str
    seed: bytes
    games: tuple[Seated, ...]

    @property
    def table(self) -> tuple[int, ...]:
        return tuple(sorted(self.games[0].players))


def plan(design: Request) -> list[Deal]:
    """Return all deals in the order in which they are played. The last `panel` bots are opponents: all others play
    them, but not each other, and everybody plays the same dice against the same opponent.
    """
    met: Counter[PairKey] = Counter()
    dealt: Counter[tuple[int, ...]] = Counter()
    deals: list[Deal] = []
    number = 0
    for stage in design.stages:
        wanted = -(-stage.games // design.seats)
        for table in _tables(design, stage.bots, wanted, met):
            known = table[1:] if design.panel else table
            names = sorted(design.labels[bot] for bot in known)
            seatings = turns(table, dealt[table], seed=_digest(design.seed, "seats", *names))
            dice = _digest(design.seed, "dice", *names, str(dealt[table]))[:SEED_BYTES]
            dealt[table] += 1
            group = f"{'-'.join(map(str, known))}/{dealt[table]}"
            games = tuple(Seated(number + turn, players) for turn, players in enumerate(seatings))
            number += len(games)
            deals.append(Deal(group, dice, games))
    return deals


def missing(design: Request, deals: Sequence[Deal], played: Container[int]) -> list[Deal]:
    """Return the deals of a plan with games that were not played, those of the pairs with the fewest games first: an
    added bot catches up before the others continue.
    """
    met: Counter[PairKey] = Counter()
    left: list[Deal] = []
    for deal in deals:
        games = tuple(game for game in deal.games if game.number not in played)
        met.update(dict.fromkeys(combinations(deal.table, 2), len(deal.games) - len(games)))
        if games:
            left.append(replace(deal, games=games))
    rounds: list[tuple[int, Deal]] = []
    for deal in left:
        rounds.append((min(met[pair] for pair in combinations(deal.table, 2)), deal))
        met.update(dict.fromkeys(combinations(deal.table, 2), len(deal.games)))
    width = design.block * design.seats  # deals of one table that older folders play in a row
    return [deal for _, deal in sorted(rounds, key=lambda each: each[0] // width)]


def _tables(design: Request, bots: int, wanted: int, met: Counter[PairKey]) -> Iterator[tuple[int, ...]]:
    """Yield tables until each pair that meets has met in `wanted` deals. `met`: the meetings so far; it is updated."""
    everybody = design.kind is Kind.ROUND_ROBIN and not design.panel
    panel = range(bots - design.panel, bots) if design.panel else range(1, bots)
    candidates = range(bots - design.panel) if design.panel else range(1)
    pairs = list(combinations(range(bots), 2) if everybody else product(candidates, panel))
    if design.seats == 2:
        tables: Iterator[tuple[int, ...]] = _pairs_in_turn(pairs, wanted, met, design.block)
    else:
        tables = _larger_tables(design, pairs, wanted, met)
    for table in tables:
        met.update(pair_key(*pair) for pair in combinations(table, 2))
        yield table


def _pairs_in_turn(
    pairs: Sequence[PairKey], wanted: int, met: Counter[PairKey], block: int
) -> Iterator[tuple[int, ...]]:
    """Let every pair play one block, then every pair the next, so that a run stopped early has treated all alike."""
    before = dict(met)
    for first in range(0, wanted, block):
        for pair in pairs:
            for deal in range(first, min(first + block, wanted)):
                if deal >= before.get(pair, 0):
                    yield pair


def _larger_tables(
    design: Request, pairs: Sequence[PairKey], wanted: int, met: Counter[PairKey]
) -> Iterator[tuple[int, ...]]:
    """Begin each table with the pair that has met least, and add the bots that have met those there least. Lots decide
    among equals. The caller updates `met` between two tables.
    """
    seed = _digest(design.seed, "tables")
    meeting = set(pairs)
    bots = sorted({bot for pair in pairs for bot in pair})
    tables = 0
    while (least := min(met[pair] for pair in pairs)) < wanted:
        tables += 1
        drawn: Callable[..., int] = lambda *numbers: lot(seed, tables, *numbers)  # noqa: B023, E731  used at once
        table = list(min((pair for pair in pairs if met[pair] == least), key=lambda pair: drawn(*pair)))
        while len(table) < design.seats:
            table.append(_next_at(table, bots, meeting, met, wanted, drawn))
        yield tuple(sorted(table))


def _next_at(
    table: Sequence[int],
    bots: Sequence[int],
    meeting: set[PairKey],
    met: Counter[PairKey],
    wanted: int,
    drawn: Callable[..., int],
) -> int:
    def gain(bot: int) -> tuple[int, int, int]:
        keys = [pair_key(bot, other) for other in table]
        useful = sum(max(0, wanted - met[key]) for key in keys if key in meeting)
        return -useful, sum(met[key] for key in keys), drawn(bot)

    return min((bot for bot in bots if bot not in table), key=gain)


def _digest(*parts: str) -> bytes:
    """Hash these texts, each preceded by its length, so that no two lists have the same input."""
    encoded = [part.encode("utf-8", "surrogateescape") for part in parts]
    return hashlib.sha256(b"deadheat tournament" + b"".join(b"%d:%s" % (len(p), p) for p in encoded)).digest()
