"""The machines that play, and which of them may judge.

Theory of operation
-------------------
Each machine has a keeper (`workers.keeper`), which reports every few seconds and has it checked when it starts. A
machine may judge while its newest check or canary match in this boot found it *fit* and its keeper reported within a
lease's time. `may_judge` is that rule as a condition of the statement that claims a series, so a worker that has not
heard of a change cannot take one.

An unfit machine may still build and play trial matches, which do not check this. Every series needs a fit machine, even
an unrated one, because it decides which version plays.

Results of a machine that was found unfit meanwhile do not count (`found_unfit`): the series is played again elsewhere.
Only `DEADHEAT_JUDGE_UNFIT` lets an unfit machine judge, and then each of its attempts records this.
"""

import contextlib
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam
from sqlalchemy import select as columns
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, delete, exists, func, or_, select
from sqlmodel.sql import expression

from deadheat.engine.games.folder import Identity
from deadheat.league.causes import Cause, Trait
from deadheat.league.database import now, settings_of
from deadheat.league.jobs import Host
from deadheat.league.records import from_row
from deadheat.league.records.hosts import Worker as HostInfo
from deadheat.league.service.ground.life import Life
from deadheat.league.service.ground.steps import evidence_json, set_values, storable, update_rows, updating
from deadheat.league.service.people.notices import machine_unfit
from deadheat.league.service.people.person import Person
from deadheat.league.service.series.games import as_reported, disagreements, games_here, league_games, same_as
from deadheat.league.states import Fitness, JobState
from deadheat.league.tables import GameTable, JobRow, LeagueGame, Machine, Series, UtcDateTime, WorkerHost

log = logging.getLogger(__name__)

FORGET_DAYS = 30
"""A machine that was not seen for this long is forgotten: containers have a new name after each start."""

MAX_REASONS, MOST_HELD_BY = 20, 400
CANARY_SECONDS, CANARY_SERIES = 300, 50
"""A machine must prove its fitness in a canary match after this time, or this many series. The match takes a slot for
some seconds, and a wrong verdict costs the series since the last one.
"""

RECHECK_SECONDS = 60
"""The pause before an unfit machine is checked again: a check takes a slot and its processors for some seconds."""

DOUBT_SECONDS, MOST_DOUBT_SECONDS = 30, 3600
"""The first and the longest pause before a fit machine is checked again whose known verdicts were mostly void: that
check showed little, and what kept its bots from running may be gone. A check holds a slot for up to two minutes, so
each pause is twice the last."""

AVOID_SECONDS = 600
"""How long a series avoids the machine that failed at it; after that, any machine may play it."""

HERE = and_(col(WorkerHost.name) == bindparam("host_name"), col(WorkerHost.boot) == bindparam("host_boot"))
ALIVE = col(WorkerHost.last_seen_at) >= bindparam("alive_at", type_=UtcDateTime)
"""Conditions of statements that are built once; `told_of` returns their parameters."""

LIVE = select(WorkerHost.name).where(ALIVE)

IN_INCIDENT = and_(col(WorkerHost.incident_at).is_not(None), col(WorkerHost.incident_ended_at).is_(None))

NO_HOST = Host("", "")
"""Stands for no machine, in statements about all of them."""

NOT_SEEN = "its keeper has not reported lately"


def told_of(session: Session, host: Host) -> dict[str, object]:
    """Return the parameters of the conditions on machines."""
    at = now(session)
    return {
        "host_name": host.name,
        "host_boot": host.boot,
        "alive_at": at - timedelta(seconds=settings_of(session).lease_seconds),
        "waited_at": at - timedelta(seconds=AVOID_SECONDS),
    }


def host_arrives(session: Session, host: Host, image: str) -> bool:
    """Note the start of a machine's worker. It is checked at once; until then its fitness is unknown, unless it was
    found fit with this image since it booted: then it plays on. Return False if another machine with that name was
    alive within a lease, or if this one has started again since; then it must try again.
    """
    if session.exec(NAMESAKE, params=told_of(session, host)).one():
        return False
    at = now(session)
    session.exec(delete(WorkerHost).where(col(WorkerHost.last_seen_at) < at - timedelta(days=FORGET_DAYS)))
    known: dict[str, Any] = {
        "boot": host.boot,
        "image": image,
        "games": as_reported(),
        "fitness": Fitness.UNCHECKED,
        "since_at": at,
        "reasons": [],
        "last_seen_at": at,
        "check_due_at": at,
    }
    if session.exec(select(Machine.id).where(Machine.name == host.name)).first() is None:
        with contextlib.suppress(IntegrityError), session.begin_nested():  # another keeper has just added it
            session.add(Machine(name=host.name))
    fit = (col(WorkerHost.fitness) == Fitness.FIT, col(WorkerHost.image) == image)
    if _change(session, host, *fit, games=known["games"], last_seen_at=at, check_due_at=at):
        return True
    if set_values(session, WorkerHost, where={"name": host.name}, **known):
        return True
    try:
        with session.begin_nested():
            session.add(WorkerHost(name=host.name, first_seen_at=at, **known))
    except IntegrityError:  # another keeper of this machine has just added it
        set_values(session, WorkerHost, where={"name": host.name}, **known)
    return True


_OTHER_BOOT = and_(col(WorkerHost.name) == bindparam("host_name"), col(WorkerHost.boot) != bindparam("host_boot"))
NAMESAKE = select(exists().where(_OTHER_BOOT, ALIVE))
"""Whether a live machine has that name: a different machine, or this one before a restart that the database does not
know of yet.
"""


def host_seen(
    session: Session,
    host: Host,
    steal_share: float = 0.0,
    late_seconds: float = 0.0,
    busy_share: float = 0.0,
    held_by: str | None = None,
) -> bool:
    """Note the keeper's heartbeat. Return False if the database does not know the machine, or knows another with that
    name.

    `late_seconds`: the longest delay of the keeper's wake-ups within the last minute. `held_by`: who else holds
    processors of its slots, if that has changed; it is shown to everybody.
    """
    if held_by is not None:
        since = now(session) if held_by else None
        _change(session, host, held_by=storable(held_by)[:MOST_HELD_BY], held_since_at=since)
    figures = {"steal_share": steal_share, "late_seconds": late_seconds, "busy_share": busy_share}
    return _change(session, host, last_seen_at=now(session), **figures)


def due_check(session: Session, host: Host) -> Fitness | None:
    """Return the fitness of a machine that is due for a check, or None if it is not due."""
    fitness = session.exec(DUE, params={**told_of(session, host), "at": now(session)}).first()
    return None if fitness is None else Fitness(fitness)


DUE = select(WorkerHost.fitness).where(HERE, col(WorkerHost.check_due_at) <= bindparam("at", type_=UtcDateTime))


def record_check(
    session: Session,
    host: Host,
    report: Mapping[str, object],
    reasons: Sequence[str],
    again_seconds: float,
    doubts: int = 0,
) -> None:
    """Store the result of a check: the machine is fit if there are no `reasons`. An unfit machine is checked again
    after that pause; a fit one soon if this is one of so many checks in succession that were mostly void, which
    replaces no canary match. Series that were turned away while no machine was fit are enqueued at once.
    """
    at = now(session)
    fitness = Fitness.UNFIT if reasons else Fitness.FIT
    again_at = at + timedelta(seconds=again_seconds) if reasons else None
    facts: dict[str, Any] = {"report": evidence_json(report), "checked_at": at}
    if doubts and not reasons:
        again_at = at + timedelta(seconds=min(DOUBT_SECONDS * 2.0 ** (doubts - 1), MOST_DOUBT_SECONDS))
    else:
        facts |= {"canary_at": at, "series_since_canary": 0}
    _become(session, host, fitness, reasons, again_at, **facts)
    if fitness is Fitness.FIT:
        judged: Sequence[type[JobRow]] = (Series, GameTable)
        for table in judged:
            later = (col(table.state) == JobState.QUEUED, col(table.nudge_at) > at)
            set_values(session, table, *later, nudge_at=at)


def blame_host(session: Session, host: Host, cause: str, detail: str, match_id: int | None = None) -> None:
    """Have a machine checked before it gets any more work, if the cause of a failure requires that.

    A machine that could not even try is no longer known to be fit; otherwise all waiting series would fail there. One
    on which a watch reached its end is unfit. Its earlier results stay, because nothing shows a wrong verdict.
    """
    traits = Cause(cause).traits
    if Trait.MACHINE in traits:
        _become(session, host, Fitness.UNCHECKED, (), now(session))
    if Trait.CONDEMNS in traits:
        reasons = [storable(f"A bot got almost no processor time there, so its match was abandoned: {detail}")]
        _change(session, host, col(WorkerHost.fitness) != Fitness.UNFIT, since_at=now(session))
        _begin_incident(session, host, reasons, match_id)
        _change(session, host, fitness=Fitness.UNFIT, reasons=reasons, check_due_at=now(session))


def take_canary(session: Session, host: Host) -> int | None:
    """Return the series finished there since the last canary match, if one is due and nobody plays it yet."""
    at = now(session)
    due = or_(
        col(WorkerHost.canary_at) <= at - timedelta(seconds=CANARY_SECONDS),
        col(WorkerHost.series_since_canary) >= CANARY_SERIES,
    )
    chosen = and_(col(WorkerHost.fitness) == Fitness.FIT, due)
    counted = select(WorkerHost.series_since_canary).where(HERE, chosen)
    since = session.exec(counted, params=told_of(session, host)).first()
    if since is None or not _change(session, host, chosen, canary_at=at, series_since_canary=0):
        return None
    return since


def record_canary(
    session: Session, host: Host, voids: int, wrong: Sequence[Mapping[str, object]] | None, series_before: int
) -> None:
    """Store the end of a canary match after `voids` void attempts. `wrong`: its wrong verdicts, which make the machine
    unfit at once and have it checked after a pause; None: it never ended, so the machine is checked now.
    """
    counts: dict[str, Any] = {
        "canaries": WorkerHost.canaries + 1,
        "canary_voids": WorkerHost.canary_voids + voids,
        "canary_failures": WorkerHost.canary_failures + (1 if wrong else 0),
    }
    _change(session, host, **counts)
    if wrong is None:
        _change(session, host, check_due_at=now(session))
    elif wrong:
        again_at = now(session) + timedelta(seconds=RECHECK_SECONDS)
        reasons = list(dict.fromkeys(f"In a canary match, {verdict['told']}." for verdict in wrong))
        evidence = {"at": now(session).isoformat(), "series_before": series_before, "wrong": list(wrong)}
        _become(session, host, Fitness.UNFIT, reasons, again_at, evidence=evidence_json(evidence))


@cache
def may_judge(judge_unfit: bool) -> ColumnElement[bool]:
    """Return the condition under which a machine, given by the parameters of `told_of`, gets a series."""
    return exists().where(HERE, able(judge_unfit))


@cache
def welcome(judge_unfit: bool) -> ColumnElement[bool]:
    """Return the condition that a series may be played there: it does not avoid this machine, no other machine would
    play it, or it has waited long enough for another one.
    """
    waited = col(Series.queued_at) <= bindparam("waited_at", type_=UtcDateTime)
    elsewhere = or_(col(Series.avoid_host).is_(None), col(Series.avoid_host) != bindparam("host_name"))
    return or_(elsewhere, waited, ~_others(judge_unfit))


def others_judge(session: Session, name: str) -> bool:
    """Say whether any other machine would be given a series now."""
    others = select(_others(settings_of(session).judge_unfit))
    return bool(session.exec(others, params=told_of(session, Host(name, ""))).one())


def live_machines(session: Session) -> list[str]:
    return list(session.exec(LIVE, params=told_of(session, NO_HOST)))


def judging_slots(session: Session) -> int:
    """Return the number of matches that can be played at a time on all machines that would get a series now."""
    session.flush()
    counted = slots_judging(settings_of(session).judge_unfit)
    slots: int = session.connection().execute(counted, told_of(session, NO_HOST)).scalar_one()
    return slots


@cache
def slots_judging(judge_unfit: bool) -> Select[Any]:
    """Return the statement for that number, with the parameters of `told_of`."""
    reported = func.coalesce(col(WorkerHost.report)["slots"].as_integer(), 1)
    return columns(func.coalesce(func.sum(reported), 0)).where(able(judge_unfit))


def _others(judge_unfit: bool) -> ColumnElement[bool]:
    return exists().where(col(WorkerHost.name) != bindparam("host_name"), able(judge_unfit))


def unfit_reasons(session: Session, host: Host) -> tuple[str, ...]:
    """Return the reasons why a machine should not judge, for operators and the ledger; none if it is fit."""
    row = session.exec(FITNESS, params=told_of(session, host)).first()
    return why_unfit(*(row or (None, ())))


FITNESS = select(WorkerHost.fitness, WorkerHost.reasons).where(HERE)


def why_unfit(fitness: Fitness | None, reasons: Sequence[str]) -> tuple[str, ...]:
    """Return the reasons why a machine with this fitness should not judge; None stands for an unknown machine."""
    if fitness is None:
        return (NOT_SEEN,)
    if fitness is Fitness.FIT:
        return ()
    return tuple(reasons) or ("It has not been checked yet.",)


def turn_away(session: Session, life: Life, row_id: int, host: Host) -> bool:
    """Say whether, after a failed claim, the job waits for a fit machine that can be notified. If there is none, the
    next check that passes enqueues the job again. A fit machine that lacks a game of the league may be unable to play
    it, so the job is enqueued again in a moment.
    """
    who = _who_judges(settings_of(session).judge_unfit, games_here())
    is_able, any_able, lacking = session.exec(who, params=told_of(session, host)).one()
    waits = (col(life.table.id) == row_id, col(life.table.state) == life.waiting)
    if is_able and lacking:
        again = now(session) + timedelta(seconds=settings_of(session).retry_seconds)
        set_values(session, life.table, *waits, col(life.table.nudge_at) > again, nudge_at=again)
    if is_able or not any_able:
        return False
    again = now(session) + timedelta(seconds=settings_of(session).requeue_seconds)
    return set_values(session, life.table, *waits, nudge_at=again) == 1


@cache
def _who_judges(judge_unfit: bool, games: tuple[Identity, ...]) -> expression.Select[bool, bool, bool]:
    """Return the statement for whether this machine may judge, any machine may, and the league has other games."""
    lacks_games = exists().where(col(LeagueGame.name).not_in(same_as(games)))
    return select(may_judge(judge_unfit), exists().where(able(judge_unfit)), lacks_games)


def found_unfit(
    session: Session, started_at: datetime | None, unfit_at: datetime | None, reasons: Sequence[str]
) -> tuple[str, ...]:
    """Return why a job's results do not count: its machine was found unfit since the job was claimed."""
    if settings_of(session).judge_unfit or started_at is None or unfit_at is None or unfit_at < started_at:
        return ()
    return tuple(reasons) or ("Meanwhile it was found unfit, then fit again.",)


def count_series(session: Session, host: Host, voids: int) -> None:
    update_rows(session, COUNTED, {"name": host.name, "boot": host.boot}, more_voids=voids)


def count_given_back(session: Session, name: str) -> None:
    """Note that a lent machine did not finish a series: its void attempts."""
    set_values(session, WorkerHost, where={"name": name}, voids=WorkerHost.voids + 1)


COUNTED = updating(WorkerHost, "name", "boot").values(
    series=WorkerHost.series + 1,
    series_since_canary=WorkerHost.series_since_canary + 1,
    voids=WorkerHost.voids + bindparam("more_voids"),
)


def hosts(session: Session) -> list[HostInfo]:
    """Return all machines that are not forgotten, the most recently seen first."""
    numbered = select(WorkerHost, Machine.id, able(settings_of(session).judge_unfit))
    numbered = numbered.join(Machine, col(Machine.name) == WorkerHost.name)
    numbered = numbered.order_by(col(WorkerHost.last_seen_at).desc(), col(WorkerHost.name))
    games = league_games(session)
    return [
        from_row(
            HostInfo,
            row,
            number=number,
            judges=judges,
            reasons=tuple(row.reasons),
            disagreements=disagreements(games, row.games),
            remarks=tuple(item["text"] for item in row.report.get("findings", ()) if item["level"] == "remark"),
        )
        for row, number, judges in session.exec(numbered, params=told_of(session, NO_HOST))
    ]


def hosts_for(session: Session, organiser: Person) -> list[HostInfo]:
    organiser.must_organise()
    return hosts(session)


@cache
def able(judge_unfit: bool) -> ColumnElement[bool]:
    """Return the condition that a machine gets series, with the parameters of `told_of`."""
    return ALIVE if judge_unfit else and_(ALIVE, col(WorkerHost.fitness) == Fitness.FIT)


def _become(
    session: Session,
    host: Host,
    fitness: Fitness,
    reasons: Sequence[str],
    again_at: datetime | None,
    **values: object,
) -> None:
    kept = [storable(reason) for reason in reasons[:MAX_REASONS]]
    if fitness is Fitness.UNFIT:
        values["unfit_at"] = now(session)
        _begin_incident(session, host, kept)
    elif fitness is Fitness.FIT:
        _change(session, host, IN_INCIDENT, incident_ended_at=now(session))
    _change(session, host, col(WorkerHost.fitness) != fitness, since_at=now(session))
    _change(session, host, fitness=fitness, reasons=kept, check_due_at=again_at, **values)


def _begin_incident(session: Session, host: Host, reasons: Sequence[str], match_id: int | None = None) -> None:
    """Store why a machine becomes unfit, in place of the last incident, and tell the administrators."""
    incident: dict[str, Any] = {"incident_at": now(session), "incident_ended_at": None}
    if _change(session, host, ~IN_INCIDENT, **incident, incident={"reasons": [*reasons], "match_id": match_id}):
        machine_unfit(session, host.name, reasons[0])


def _change(session: Session, host: Host, *conditions: ColumnElement[bool], **values: Any) -> bool:
    return set_values(session, WorkerHost, *conditions, where={"name": host.name, "boot": host.boot}, **values) == 1
