"""Plays canary matches, which show whether this machine still judges correctly.

Theory of operation
-------------------
Between two series a worker now and then plays a match with known verdicts. Its players are the reference bots, its
rules are a game of its own. All else is as in any match: boxes on the slot's processors, and the same arena, referee,
clock and attribution in the same process. It belongs to no season, and its result is not stored.

An innocent bot that was convicted, or a guilty one that was acquitted, makes the machine unfit at once, because the
same fault affects matches that count. The game records every verdict at once, so a wrong one is not lost if the attempt
then ends void. Otherwise a void attempt says nothing and is repeated; if every attempt is void, the machine is checked,
and the check decides. An attempt is also void if a late bot was acquitted for time that, by this machine's own
counters, the machine took from it: that is no wrong verdict.
"""

import logging
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass

from deadheat.engine.chance import SEED_BYTES, Chance
from deadheat.engine.core import NS_PER_MS, Fault, Message, Reply, Result, Seat, Step, TransportError
from deadheat.engine.verdicts import took
from deadheat.sandbox.arena import Arena
from deadheat.sandbox.box import bot_limits
from deadheat.sandbox.host.check import CHATTER, REFERENCE_WATCH_NS, SLEEP, SPIN, WORK, doubtful, reference_program
from deadheat.workers import metrics
from deadheat.workers.context import PLAY, Context

log = logging.getLogger(__name__)

ATTEMPTS = 3
LIMIT_MS = 50
MARGIN_MS = 10
"""Wider than the host check's margin: here one wrong verdict is enough, and no good host should be called unfit."""

START_MS = 10_000


@dataclass(frozen=True, slots=True)
class Order:
    """An order for one reference bot, and the correct outcome."""

    line: str
    guilty: bool = False
    limit_ms: int = LIMIT_MS


START = Order(CHATTER, limit_ms=START_MS)
EARLY = Order(SLEEP.format(LIMIT_MS - MARGIN_MS))
LATE = Order(SLEEP.format(LIMIT_MS + MARGIN_MS), guilty=True)
BUSY = Order(WORK.format(LIMIT_MS / 10))  # a small share, because otherwise every attempt on a busy host would be void
NOTHING = Order(CHATTER)
ENDLESS = Order(SPIN, guilty=True)

SCRIPT: tuple[Mapping[Seat, Order], ...] = (
    {0: START, 1: START},
    {0: EARLY, 1: BUSY},
    {0: BUSY, 1: EARLY},
    {0: NOTHING, 1: NOTHING},
    {0: LATE, 1: NOTHING},
    {1: ENDLESS},
)
"""The orders, exchange by exchange. A seat's guilty order is its last one, because a late answer ends its part."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of an order."""

    seat: Seat
    order: Order
    reply: Reply

    @property
    def right(self) -> bool:
        """Whether the verdict is the correct one."""
        return self.reply.fault is (Fault.TIMEOUT if self.order.guilty else None)

    @property
    def in_doubt(self) -> bool:
        """Whether a late bot was acquitted for time that this machine is known to have taken."""
        late = self.order.guilty and self.reply.fault is None
        return late and doubtful(self.reply, self.order.limit_ms * NS_PER_MS)

    def as_dict(self) -> dict[str, object]:
        """Return the verdict in words, with its figures."""
        truth = "late" if self.order.guilty else "in time"
        verdict = "called in time" if self.reply.fault is None else f"convicted ({self.reply.fault})"
        what = f"a bot that was {truth} ({self.order.line}, limit {self.order.limit_ms} ms) was {verdict}"
        return {
            "told": f"{what} after {took(self.reply)}",
            "seat": self.seat,
            "order": asdict(self.order),
            "reply": {**self.reply._asdict(), "evidence": self.reply.evidence and self.reply.evidence._asdict()},
        }


class _CanaryGame:
    """A game that follows `SCRIPT` and records the verdicts. See `engine.core.Game`."""

    name = "canary"
    title = "Canary"
    rules_version = 1
    seats = range(2, 3)
    commands = tuple(sorted({order.line.split()[0] for orders in SCRIPT for order in orders.values()}))

    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []

    def play(self, seats: int, chance: Chance) -> Generator[Step, Mapping[Seat, Reply], Result]:
        faults: dict[Seat, Fault] = {}
        for orders in SCRIPT:
            due = {seat: order for seat, order in orders.items() if seat not in faults}
            if due:
                prompts = [Message(seat, order.line, order.limit_ms * NS_PER_MS) for seat, order in due.items()]
                replies = yield Step(tuple(prompts))
                self.verdicts += [Verdict(seat, due[seat], reply) for seat, reply in sorted(replies.items())]
                faults |= {seat: reply.fault for seat, reply in replies.items() if reply.fault is not None}
        return Result((1,) * seats, None, faults)


def play_canary_when_due(context: Context, cpus: Sequence[int]) -> None:
    """Play a canary match if one is due, between two series, on the processors of a slot that the caller owns."""
    since = context.link.take_canary()
    if since is not None:
        play_canary(context, cpus, since)


def play_canary(context: Context, cpus: Sequence[int], series_before: int) -> None:
    """Play a canary match and report its outcome; `series_before` series were finished here since the last one."""
    host = context.host
    wrong, voids = _play(context, cpus)
    context.link.record_canary(voids, wrong, series_before)
    metrics.canaries.labels("void" if wrong is None else "wrong" if wrong else "right").inc()
    if wrong is None:
        log.warning("canary: all %d attempts were void; checking %s", voids, host.name)
    elif wrong:
        log.error(
            "canary: %s judges WRONGLY and judges no more: %s. Look at the %d series finished there since the last "
            "canary that went well, and at `deadheat workers`. The evidence: %s",
            host.name,
            "; ".join({str(verdict["told"]) for verdict in wrong}),
            series_before,
            wrong,
        )
    else:
        log.info("canary: %s judges correctly (%d attempts void)", host.name, voids)


def _play(context: Context, cpus: Sequence[int]) -> tuple[list[dict[str, object]] | None, int]:
    """Return the wrong verdicts (None if every attempt was void without any), and the number of void attempts."""
    with context.folder(PLAY) as folder:
        program = reference_program(folder)
        referee_cpus = context.slots.referee(cpus)
        with Arena(context.sandbox, [program] * 2, bot_limits(cpus), referee_cpus, True, REFERENCE_WATCH_NS) as arena:
            for attempt in range(ATTEMPTS):
                game, void = _CanaryGame(), 0
                try:
                    arena.play(game, (0, 1), os.urandom(SEED_BYTES), {"canary": context.host.name})
                except TransportError as error:
                    log.info("canary: void: %s: %s", error.cause, error.detail)
                    void = 1
                for verdict in game.verdicts:
                    if verdict.in_doubt:
                        log.info("canary: void, because this machine stood still: %s", verdict.as_dict())
                        void = 1
                wrong = [verdict.as_dict() for verdict in game.verdicts if not (verdict.right or verdict.in_doubt)]
                if wrong or not void:
                    return wrong, attempt + void
    return None, ATTEMPTS
