"""What organisers should look at: matters that wait for a decision, and versions whose matches fail more than others'.

A void attempt blames nobody and benefits nobody. But a bot that could cause one would do so when losing, and then more
attempts than its share would fail while it was to answer. So each version is compared with the field on the same
machines: of the void attempts of a machine, given how many attempts it and the field each took part in, how many would
be its own by chance? The exact probability of as many or more is that of a sum of binomials, one for each machine (the
conditional test of two Poisson rates: Przyborowski and Wilenski, Biometrika 31, 1940).

A bot might also bring down what carries its series: the engine, the boxes, the worker. Such a failure belongs to no
match, and nobody was to answer, so it counts for every version of the series; the culprit has it in all its series, an
opponent only in a few. A series counts once for each machine that failed at it; otherwise retries while an engine is
down would look like guilt. These failures are a separate binomial in the same sum.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select as columns
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, func, select

from deadheat.engine.language import _
from deadheat.league.causes import BLAMELESS, Cause, Trait
from deadheat.league.database import now
from deadheat.league.records.rulings import VersionVoids
from deadheat.league.records.seasons import Season as SeasonInfo
from deadheat.league.service.course.states import unfinished
from deadheat.league.service.ground.counting import HELD
from deadheat.league.service.ground.lookups import machine_numbers
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.privacy import seen_by_organiser
from deadheat.league.states import IN_PLAY, ON_LADDER, AppealState, SeasonState
from deadheat.league.tables import Appeal, Attempt, Bot, BotVersion, Entry, Match, Participant

LEAST_VOIDS = 3
"""Versions with fewer void attempts are never shown as having too many."""

MOST_LIKELY = 0.001
"""Organisers are shown excesses that are less likely by chance than this. Of seasons with 100 innocent versions, one in
ten has such a case: it is a reason to look, not a verdict.
"""

NEWEST = 30_000
"""The number of the league's newest attempts that are examined. Counting all of a season of a million matches took
seconds, and organisers must see a bot's present behaviour.
"""

NO_BOTS_DOING = BLAMELESS - Cause.having(Trait.BY_BOTS)
"""Causes of a failed series that no bot can produce."""


@dataclass(frozen=True, slots=True)
class Share:
    """A version on a machine: the attempts at its matches there, and the void ones in which it was to answer; or
    (`whole_series`) its series there, and those that failed as a whole.
    """

    version_id: int
    machine: int
    attempts: int
    voids: int
    whole_series: bool = False

    @property
    def stratum(self) -> tuple[int, bool]:
        """The field with which a version is compared."""
        return self.machine, self.whole_series


@dataclass(frozen=True, slots=True)
class Excess:
    """A version compared with the field. `attempts`: those at its matches; `voids`: those in which it was to answer,
    and its series that failed as a whole. `expected`: the number at the others' rates. `by_machine`: its own, by the
    machine's number.
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


def excesses(shares: Sequence[Share]) -> list[Excess]:
    """Return every version with void attempts or failed series, the least likely first."""
    attempts: dict[tuple[int, bool], int] = defaultdict(int)
    voids: dict[tuple[int, bool], int] = defaultdict(int)
    own: dict[int, list[Share]] = defaultdict(list)
    for share in shares:
        attempts[share.stratum] += share.attempts
        voids[share.stratum] += share.voids
        own[share.version_id].append(share)
    beyond = []
    for version_id, mine in own.items():
        total = sum(share.voids for share in mine)
        if total == 0:
            continue
        expected, chances = 0.0, np.ones(1)
        by_machine: dict[int, int] = {}
        for share in mine:
            others = attempts[share.stratum] - share.attempts
            if others:
                expected += share.attempts * (voids[share.stratum] - share.voids) / others
            count, odds = voids[share.stratum], share.attempts / attempts[share.stratum]
            chances = np.convolve(chances, _binomial(count, odds))
            if share.voids:
                by_machine[share.machine] = by_machine.get(share.machine, 0) + share.voids
        p_value = min(1.0, float(chances[total:].sum()))
        tried = sum(share.attempts for share in mine if not share.whole_series)
        beyond.append(Excess(version_id, tried, total, expected, p_value, by_machine))
    return sorted(beyond, key=lambda excess: (excess.p_value, excess.version_id))


def _binomial(trials: int, odds: float) -> NDArray[np.float64]:
    """Return the chances of 0 to `trials` successes, (trials + 1,), each from its likelier neighbour: no overflow."""
    likeliest = min(trials, int((trials + 1) * odds))
    more, fewer = np.arange(likeliest + 1, trials + 1), np.arange(likeliest, 0, -1)
    above = np.cumprod((trials - more + 1) * odds / (more * (1 - odds)))
    below = np.cumprod(fewer * (1 - odds) / ((trials - fewer + 1) * odds))
    weights = np.concatenate([below[::-1], [1.0], above])
    return np.asarray(weights / weights.sum(), np.float64)


def season_voids(session: Session, organiser: Person, season_id: int) -> list[VersionVoids]:
    """Return the season's versions with void attempts or failed series among the league's newest attempts, the least
    likely first. Raises NotAllowed.
    """
    organiser.must_organise()
    return _season_voids(session, _failed(session), season_id, 1)


def flagged_voids(session: Session, organiser: Person, season_ids: Iterable[int]) -> list[tuple[int, VersionVoids]]:
    """List the versions of these seasons that an organiser should look at, each with its season. Raises NotAllowed."""
    organiser.must_organise()
    failed = _failed(session)
    return [
        (season_id, item)
        for season_id in season_ids
        for item in _season_voids(session, failed, season_id, LEAST_VOIDS)
        if item.flagged
    ]


def _season_voids(session: Session, failed: Sequence[Any], season_id: int, least: int) -> list[VersionVoids]:
    """Return the versions of a season, or nothing if none has at least `least`."""
    rows = [row for row in failed if row.season_id == season_id]
    voids = [row for row in rows if row.match_id is not None]
    of_matches = select(Participant).where(col(Participant.match_id).in_({void.match_id for void in voids}))
    seated = {(seat.match_id, seat.seat): seat.version_id for seat in session.exec(of_matches)} if voids else {}
    failures = [
        _Failure(version_id, void.worker, void.match_id)
        for void in voids
        if (version_id := seated.get((void.match_id, void.evidence.get("seat", -1)))) is not None
    ]
    failures += _failed_series(session, rows)
    match_ids: dict[int, list[int]] = defaultdict(list)
    for failure in failures:
        match_ids[failure.version_id].append(failure.match_id)
    if max(map(len, match_ids.values()), default=0) < least:
        return []
    beyond = excesses(_shares(session, season_id, failures))
    named = select(BotVersion.id, Bot.id, Bot.name, BotVersion.number).join(Bot, col(Bot.id) == BotVersion.bot_id)
    named = named.where(col(BotVersion.id).in_([excess.version_id for excess in beyond]))
    names = {version_id: (bot_id, bot, number) for version_id, bot_id, bot, number in session.exec(named)}
    return [
        VersionVoids(
            *names[excess.version_id],
            **asdict(excess),
            flagged=excess.flagged,
            match_ids=tuple(dict.fromkeys(match_ids[excess.version_id])),
        )
        for excess in beyond
    ]


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failure attributed to a version. With `series_id`, a series failed, and `match_id` is one of its matches."""

    version_id: int
    worker: str
    match_id: int
    series_id: int | None = None


def _failed(session: Session) -> Sequence[Any]:
    """Return the failed attempts by workers among the newest of the league, the oldest first."""
    newest = session.exec(select(func.max(Attempt.id))).one() or 0
    # With a condition on the season, the databases searched all its attempts instead of the table's end.
    failed = (col(Attempt.id) > newest - NEWEST, col(Attempt.cause) != Cause.PLAYED, col(Attempt.worker).is_not(None))
    shown = (getattr(Attempt, name) for name in ("season_id", "series_id", "match_id", "worker", "cause", "evidence"))
    return session.connection().execute(columns(*shown).where(*failed).order_by(col(Attempt.id))).all()


def _failed_series(session: Session, failed: Sequence[Any]) -> list[_Failure]:
    """Attribute each failed series to all its versions, once for each worker that failed at it."""
    whole = {
        (row.series_id, row.worker)
        for row in failed
        if row.match_id is None and row.series_id is not None and row.cause not in NO_BOTS_DOING
    }
    if not whole:
        return []
    of_series = col(Match.series_id).in_({series_id for series_id, _ in whole})
    seated = (
        select(Match.series_id, Participant.version_id, func.min(Match.id))
        .join(Participant, col(Participant.match_id) == Match.id)
        .where(of_series)
        .group_by(col(Match.series_id), col(Participant.version_id))
    )
    versions: dict[int | None, list[tuple[int, int]]] = defaultdict(list)
    for series_id, version_id, match_id in session.exec(seated):
        versions[series_id].append((version_id, match_id))
    return [
        _Failure(version_id, worker, match_id, series_id)
        for series_id, worker in sorted(whole)
        for version_id, match_id in versions[series_id]
    ]


def _shares(session: Session, season_id: int, failures: Sequence[_Failure]) -> list[Share]:
    """Return the shares of every version of the season on every machine."""
    # A limit on the newest attempts makes the query walk back from the table's end. With a least id, it searched all
    # attempts of the season.
    newest = select(Attempt).order_by(col(Attempt.id).desc()).limit(NEWEST)
    attempt = aliased(Attempt, newest.subquery())
    recent = (col(attempt.season_id) == season_id, col(attempt.worker).is_not(None))
    # Without this, PostgreSQL would read all participants ever; matches that are played now are seldom old.
    oldest = session.exec(select(func.min(attempt.match_id)).where(*recent)).one() or 0
    counted = (
        select(Participant.version_id, attempt.worker, func.count(), func.count(col(attempt.series_id).distinct()))
        .join(attempt, col(attempt.match_id) == Participant.match_id)
        .where(*recent, col(Participant.match_id) >= oldest)
        .group_by(col(Participant.version_id), col(attempt.worker))
    )
    rows = [(version, worker or "", matches, series) for version, worker, matches, series in session.exec(counted)]
    machines = machine_numbers(session, {worker for _, worker, *_ in rows} | {failure.worker for failure in failures})
    tries: dict[tuple[int, int, bool], int] = defaultdict(int)
    voids: dict[tuple[int, int, bool], int] = defaultdict(int)
    for version, worker, matches, series in rows:
        tries[version, machines.get(worker, 0), False] += matches
        tries[version, machines.get(worker, 0), True] += series
    of_series = set()
    for failure in failures:
        key = failure.version_id, machines.get(failure.worker, 0)
        if failure.series_id is None:
            voids[*key, False] += 1
        elif (*key, failure.series_id) not in of_series:
            of_series.add((*key, failure.series_id))
            tries[*key, True] += 1
            voids[*key, True] += 1
    return [Share(*key[:2], count, voids[key], key[2]) for key, count in tries.items()]


@dataclass(frozen=True, slots=True)
class Waiting:
    """The number of waiting matters of one kind, and since when the oldest has waited."""

    count: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class _SeasonWaits:
    """A season that waits for an organiser. `why`: a sentence."""

    season: SeasonInfo
    why: str


@dataclass(frozen=True, slots=True)
class Decisions:
    """All matters that wait. `resting`: by season, how many of its bots rest because they failed too often."""

    appeals: Waiting
    held: Waiting
    seasons: Sequence[_SeasonWaits]
    resting: Sequence[tuple[SeasonInfo, int]]


def decisions(session: Session, organiser: Person, seasons: Iterable[SeasonInfo]) -> Decisions:
    """List the matters of these seasons, and the appeals and held matches of all seasons. Raises NotAllowed."""
    organiser.must_organise()
    appeals = select(func.count(), func.min(Appeal.opened_at)).where(Appeal.state == AppealState.OPEN)
    on_hold = select(func.count(), func.min(Match.created_at)).where(HELD, seen_by_organiser(organiser))
    playing = {season.id: season for season in seasons if season.state in IN_PLAY}
    rest = select(Entry.season_id, func.count()).where(col(Entry.rests_since).is_not(None))
    rest = rest.where(col(Entry.season_id).in_(playing)).group_by(col(Entry.season_id))
    waits = ((season, _why(session, season)) for season in playing.values())
    return Decisions(
        appeals=Waiting(*session.exec(appeals).one()),
        held=Waiting(*session.exec(on_hold).one()),
        seasons=[_SeasonWaits(season, why) for season, why in waits if why],
        resting=[(playing[season_id], count) for season_id, count in session.exec(rest)],
    )


def _why(session: Session, season: SeasonInfo) -> str:
    """Say why a season does not continue by itself; empty if it does, or if nothing is due."""
    due = season.state in ON_LADDER and season.finals_at is not None and season.finals_at <= now(session)
    if due and unfinished(session, season.id).evaluation:
        return _("Its finals are due but wait for an evaluation that the service delayed. Cancel it to begin them.")
    if season.closes_at is None:
        over = season.state is SeasonState.FINALS and season.finals_done_at is not None
        finals_over = _("Its finals are over. Close it to publish the standings.")
        return finals_over if over and not season.closes_when_done else ""
    if season.closes_at <= now(session):
        open_matters = unfinished(session, season.id)
        if open_matters.holds:
            return _("It is due to close but waits for %(waits_for)s.", waits_for=", ".join(open_matters.words()))
    return ""
