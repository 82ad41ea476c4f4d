"""Void attempts by version, by the seat that was to answer and by machine: whose matches fail more often than others'?

A void attempt blames nobody and pays nobody. But a bot that has found a way to bring one about would use it when it is
losing, and then more attempts fail while it is to answer than its share. So each version is compared with the field on
the same machines: of the void attempts of a machine, given how many attempts each of the two took part in, how many
would be its own by chance? The exact probability of as many or more is that of a sum of binomials, one for each machine
(the conditional test of two Poisson rates: Przyborowski and Wilenski, Biometrika 31, 1940).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom
from sqlmodel import Session, col, func, select

from league.service.outcomes import PLAYED
from league.service.told import machine_numbers
from league.service.users import Person
from league.tables import Attempt, Bot, BotVersion, Participant, Season

LEAST_VOIDS = 3
"""Fewer are never shown as too many."""

MOST_LIKELY = 0.001
"""What is less likely by chance than this is shown to organisers. In a season of 100 innocent versions it befalls one
in ten seasons: it is a reason to look, and no verdict."""


@dataclass(frozen=True, slots=True)
class Share:
    """A version on a machine: the attempts at its matches there, and the void ones in which it was to answer."""

    version_id: int
    machine: int
    attempts: int
    voids: int


@dataclass(frozen=True, slots=True)
class Excess:
    """A version against the field. `expected`: void attempts that it would have at the others' rates. `by_machine`: its
    own void attempts, by the machine's number.
    """

    version_id: int
    attempts: int
    voids: int
    expected: float
    p_value: float
    by_machine: Mapping[int, int]

    @property
    def flagged(self) -> bool:
        """Whether an organiser should look at it."""
        return self.voids >= LEAST_VOIDS and self.p_value < MOST_LIKELY


@dataclass(frozen=True, slots=True)
class VersionVoids:
    """The same for people."""

    season_id: int
    season: str
    bot_id: int
    bot: str
    number: int
    excess: Excess
    match_ids: tuple[int, ...]


def excesses(shares: Sequence[Share]) -> list[Excess]:
    """Every version that was to answer in a void attempt, the least likely first."""
    attempts: dict[int, int] = defaultdict(int)
    voids: dict[int, int] = defaultdict(int)
    own: dict[int, list[Share]] = defaultdict(list)
    for share in shares:
        attempts[share.machine] += share.attempts
        voids[share.machine] += share.voids
        own[share.version_id].append(share)
    found = []
    for version_id, mine in own.items():
        total = sum(share.voids for share in mine)
        if total == 0:
            continue
        expected, chances = 0.0, np.ones(1)
        for share in mine:
            others = attempts[share.machine] - share.attempts
            if others:
                expected += share.attempts * (voids[share.machine] - share.voids) / others
            count, odds = voids[share.machine], share.attempts / attempts[share.machine]
            chances = np.convolve(chances, binom.pmf(np.arange(count + 1), count, odds))
        p_value = min(1.0, float(chances[total:].sum()))
        by_machine = {share.machine: share.voids for share in mine if share.voids}
        tried = sum(share.attempts for share in mine)
        found.append(Excess(version_id, tried, total, expected, p_value, by_machine))
    return sorted(found, key=lambda excess: (excess.p_value, excess.version_id))


def season_voids(session: Session, organiser: Person, season_id: int, least: int = 1) -> list[VersionVoids]:
    """Of the versions that were to answer in void attempts of the season, the least likely first; nothing where none
    has as many as `least`. Raises NotAllowed.
    """
    organiser.must_organise()
    failed = (Attempt.season_id == season_id, Attempt.cause != PLAYED, col(Attempt.match_id).is_not(None))
    voids = session.exec(select(Attempt).where(*failed).order_by(col(Attempt.id))).all()
    of_matches = select(Participant).where(col(Participant.match_id).in_({void.match_id for void in voids}))
    seated = {(seat.match_id, seat.seat): seat.version_id for seat in session.exec(of_matches)} if voids else {}
    blamed: dict[tuple[int, str], int] = defaultdict(int)
    match_ids: dict[int, list[int]] = defaultdict(list)
    for void in voids:
        version_id = seated.get((void.match_id or 0, void.evidence.get("seat", -1)))
        if version_id is not None and void.worker is not None and void.match_id is not None:
            blamed[version_id, void.worker] += 1
            match_ids[version_id].append(void.match_id)
    if max(map(len, match_ids.values()), default=0) < least:
        return []
    found = excesses(_shares(session, season_id, blamed))
    names = _names(session, [excess.version_id for excess in found])
    season = session.get_one(Season, season_id).name
    return [
        VersionVoids(
            season_id, season, *names[excess.version_id], excess, tuple(dict.fromkeys(match_ids[excess.version_id]))
        )
        for excess in found
    ]


def _shares(session: Session, season_id: int, blamed: Mapping[tuple[int, str], int]) -> list[Share]:
    """Every version of the season on every machine."""
    counted = (
        select(Participant.version_id, Attempt.worker, func.count())
        .join(Attempt, col(Attempt.match_id) == Participant.match_id)
        .where(Attempt.season_id == season_id, col(Attempt.worker).is_not(None))
        .group_by(col(Participant.version_id), col(Attempt.worker))
    )
    rows = [(version, worker or "", count) for version, worker, count in session.exec(counted)]
    machines = machine_numbers(session, {worker for _, worker, _ in rows})
    tries: dict[tuple[int, int], int] = defaultdict(int)
    voids: dict[tuple[int, int], int] = defaultdict(int)
    for version, worker, count in rows:
        tries[version, machines.get(worker, 0)] += count
        voids[version, machines.get(worker, 0)] += blamed.get((version, worker), 0)
    return [Share(version, machine, count, voids[version, machine]) for (version, machine), count in tries.items()]


def _names(session: Session, version_ids: Sequence[int]) -> dict[int, tuple[int, str, int]]:
    named = select(BotVersion.id, Bot.id, Bot.name, BotVersion.number).join(Bot, col(Bot.id) == BotVersion.bot_id)
    rows = session.exec(named.where(col(BotVersion.id).in_(version_ids)))
    return {version_id: (bot_id, bot, number) for version_id, bot_id, bot, number in rows}
