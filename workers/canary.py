"""Canary matches: does this machine still judge as it should?

Theory of operation
-------------------
Between two series a worker now and then plays a match whose every verdict is known beforehand. Its players are the
reference bots, its rules are `CanaryGame`; everything else is what any match has: boxes on the slot's processors, the
same arena, referee, clock and attribution, in the same process. It is in no season, and its result is nowhere.

An innocent bot that was convicted, or a guilty one that was acquitted, makes the machine unfit at once: whatever is
amiss, matches that count are judged by it too. A void attempt is no verdict, so it is repeated; a match without any
has the machine checked, which decides.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

from engine.chance import SEED_BYTES, Chance
from engine.core import NS_PER_MS, Fault, Message, Reply, Result, Seat, Step, TransportError
from league.service import record_canary, take_canary
from sandbox.arena import Arena, Played
from sandbox.box import bot_limits
from sandbox.reference import CHATTER, SPIN, reference_program, sleep, work
from workers import metrics
from workers.context import PLAY, Context

log = logging.getLogger(__name__)

ATTEMPTS = 3
LIMIT_MS = 50
MARGIN_MS = 10
"""Wider than that of the host check: here one wrong verdict is enough, and no innocent host should be called unfit."""

START_MS = 10_000


@dataclass(frozen=True, slots=True)
class Order:
    """What one reference bot is told to do, and how that must end."""

    line: str
    guilty: bool = False
    limit_ms: int = LIMIT_MS


START = Order(CHATTER, limit_ms=START_MS)
EARLY = Order(sleep(LIMIT_MS - MARGIN_MS))
LATE = Order(sleep(LIMIT_MS + MARGIN_MS), guilty=True)
BUSY = Order(work(LIMIT_MS / 2))
ENDLESS = Order(SPIN, guilty=True)

SCRIPT = ((START, START), (EARLY, BUSY), (BUSY, EARLY), (Order(CHATTER), Order(CHATTER)), (LATE, ENDLESS))
"""One order for each seat, exchange by exchange. Who is guilty is so at the end: a late answer ends a seat's part."""


class CanaryGame:
    """A game that follows its script. See `engine.core.Game`."""

    name = "canary"
    rules_version = 1
    seats = range(2, 3)

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        """See `engine.core.Game`."""
        faults: dict[Seat, Fault] = {}
        for orders in SCRIPT:
            asked = tuple(
                Message(seat, order.line, order.limit_ms * NS_PER_MS)
                for seat, order in enumerate(orders)
                if seat not in faults
            )
            if asked:
                replies = yield Step(asked)
                faults |= {seat: reply.fault for seat, reply in replies.items() if reply.fault is not None}
        return Result((1,) * seats, None, faults)


def play_canary_when_due(context: Context, cpus: Sequence[int]) -> None:
    """Between two series: on the processors of a slot that the caller owns."""
    with context.database.transaction() as session:
        since = take_canary(session, context.host)
    if since is not None:
        play_canary(context, cpus, since)


def play_canary(context: Context, cpus: Sequence[int], series_before: int) -> None:
    """Play one, and tell the league how it ended; `series_before` were finished here since the one before."""
    host = context.host
    played, voids = _play(context, cpus)
    wrong = None if played is None else wrong_verdicts(played)
    with context.database.transaction() as session:
        record_canary(session, host, voids, wrong, series_before)
    metrics.canaries.labels("void" if wrong is None else "wrong" if wrong else "right").inc()
    if wrong is None:
        log.warning("canary: all of %d attempts were void; %s is checked", voids, host.name)
    elif wrong:
        log.error(
            "canary: %s judges WRONGLY and judges no more: %s. Look at the %d series finished there since the last "
            "canary that went well, and at `deadheat workers`. The evidence: %s",
            host.name,
            "; ".join(str(verdict["told"]) for verdict in wrong),
            series_before,
            wrong,
        )
    else:
        log.info("canary: %s judges as it should (%d attempts void)", host.name, voids)


def _play(context: Context, cpus: Sequence[int]) -> tuple[Played | None, int]:
    """The match, None if every attempt was void, and how many were."""
    limits = [bot_limits(cpus, player) for player in (0, 1)]
    with context.folder(PLAY) as folder:
        program = reference_program(folder)
        with Arena(context.sandbox, [program, program], limits) as arena:
            for voids in range(ATTEMPTS):
                try:
                    seed = os.urandom(SEED_BYTES)
                    return arena.play(CanaryGame(), (0, 1), seed, {"canary": context.host.name}), voids
                except TransportError as error:
                    log.info("canary: void: %s: %s", error.cause, error.detail)
                    metrics.record_void(CanaryGame.name, error)
    return None, ATTEMPTS


def wrong_verdicts(played: Played) -> list[dict[str, object]]:
    """Every verdict that is not the known one, told in words, with its evidence."""
    wrong: list[dict[str, object]] = []
    for exchange, orders in zip(played.transcript.exchanges, SCRIPT, strict=False):
        for seat, reply in exchange.replies.items():
            order = orders[seat]
            if reply.fault is (Fault.TIMEOUT if order.guilty else None):
                continue
            verdict = "called in time" if reply.fault is None else f"convicted ({reply.fault})"
            truth = "late" if order.guilty else "in time"
            evidence = [found for found in played.convictions if found["seat"] == seat]
            wrong.append(
                {
                    "told": f"a bot that was {truth} ({order.line}, limit {order.limit_ms} ms) was {verdict} "
                    f"after {reply.elapsed_ns / NS_PER_MS:.1f} ms",
                    "order": order.line,
                    "limit_ms": order.limit_ms,
                    "guilty": order.guilty,
                    "fault": reply.fault,
                    "elapsed_ns": reply.elapsed_ns,
                    "cpu_ns": reply.cpu_ns,
                    "evidence": evidence,
                }
            )
    return wrong
