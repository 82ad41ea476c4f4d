"""The operator's page, only for administrators: waiting jobs, machines and their fitness, and recent failures."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from sqlmodel import Session

from deadheat.api.deps import Shared
from deadheat.api.edge.rates import host_of
from deadheat.api.pages.forms import Complaint, NameForm, Submitted, Visit, Visiting, checked, onward, posting, private
from deadheat.api.pages.organiser.verdict import PARTS, State, healthy, troubles
from deadheat.api.pages.pictures.timelines import timelines
from deadheat.api.pages.timeouts import course, heat_map
from deadheat.api.routes.health import readiness
from deadheat.api.routes.timeouts import found
from deadheat.api.schemas import rulings as shapes
from deadheat.api.services import Services
from deadheat.engine.games.folder import problems
from deadheat.league.database import now
from deadheat.league.records.matches import Over as Time
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings.closing import ban, ended_accounts, reopen
from deadheat.league.service.rulings.rulings import held_by_game
from deadheat.league.service.seasons.seasons import names_going_on
from deadheat.league.service.series.games import games_for
from deadheat.league.service.series.hosts import hosts_for
from deadheat.league.service.views import queues as league_conditions
from deadheat.league.service.views.queues import queues, samples
from deadheat.league.service.views.uncounted import stopped
from deadheat.league.service.views.voids import flagged_voids

router = APIRouter()

OLD_SECONDS = 120
"""The age from which waiting jobs are marked, and rankings, too, while results arrive."""


MOST_VOIDS = 50
"""The most listed versions with void attempts, the least likely first."""

LATELY = timedelta(hours=1)
"""How long the page's first lines name a machine after it was unfit."""

HOURS = {"hour": 1, "day": 24}
Over = Annotated[Literal["hour", "day"], Query()]


@router.get("/operator")
def operator(shared: Shared, request: Request, visit: Visiting, over: Over = "hour") -> Response:
    """Show the state of the deployment, with charts of the last hour or day."""
    with shared.db.reading() as session:
        names = names_going_on(session)
        state = _state(shared, session, visit.person, names, HOURS[over])
        conditions = league_conditions.conditions(session, visit.person)
        games = games_for(session, visit.person)
    standing, counted = state.standing, found(shared, None, Time.HOUR)
    commands, day = heat_map(counted), list(Time).index(Time.DAY)
    late = {key: row for key, row in commands.items() if (cell := row[day]) and cell.late.timeouts}
    return private(
        shared,
        "operator.html",
        visit,
        None,
        state=state,
        healthy=healthy(state),
        troubles=troubles(state),
        lately_unfit=[
            host for host in state.hosts if host.incident_ended_at and state.at - host.incident_ended_at < LATELY
        ],
        parts=[(name, getattr(state.ready, part)) for part, name in PARTS.items()],
        conditions=conditions,
        hosts=state.hosts,
        games=games,
        standing=standing,
        voids=[(item[0], names.get(item[0], str(item[0])), item[1]) for item in state.voids[:MOST_VOIDS]],
        ended={how: count for how, count in standing.exhibitions_ended.items() if count},
        rankings=[
            (names.get(season, str(season)), season, age) for season, age in standing.ranking_age_seconds.items()
        ],
        may_measure=shared.settings.may_measure(host_of(request)),
        old_seconds=OLD_SECONDS,
        now=state.at,
        over=over,
        counted=counted,
        map=late,
        others=len(late) < len(commands),
        chart=course(counted),
    )


def _state(shared: Services, session: Session, person: Person, season_ids: Iterable[int], hours: int) -> State:
    hosts = hosts_for(session, person)
    at, ran = now(session), samples(session, person, hours)
    return State(
        at=at,
        ready=readiness(shared),
        hosts=hosts,
        standing=queues(session),
        ran=[moment for moment in ran if at - moment.at < LATELY],
        charts=timelines(ran, at, hours, {host.number: host.name for host in hosts}),
        held=sum(held_by_game(session).values()),
        voids=sorted(flagged_voids(session, person, season_ids), key=lambda one: one[1].p_value),
        judge_unfit=shared.settings.judge_unfit,
        stop=stopped(session),
        broken_games=problems(),
    )


class BanForm(shapes.Reason, NameForm):
    """The form to ban an account for a reason."""


def _accounts(shared: Services, visit: Visit, complaint: Complaint | None = None, **_: Any) -> Response:
    with shared.db.reading() as session:
        ended = ended_accounts(session, visit.person)
    return private(shared, "operator-accounts.html", visit, complaint, ended=ended)


@router.get("/operator/accounts")
def accounts(shared: Shared, visit: Visiting) -> Response:
    """List the closed or banned accounts."""
    return _accounts(shared, visit)


@router.post("/operator/accounts/{verb}")
@posting("{verb}", _accounts)
def change_account(shared: Shared, posted: Submitted, verb: Literal["ban", "reopen"]) -> Response:
    """Ban somebody, or reopen an account."""
    with shared.db.transaction() as session:
        if verb == "ban":
            body = checked(BanForm, posted.fields)
            ban(session, posted.visit.person, body.name, body.reason)
        else:
            reopen(session, posted.visit.person, checked(NameForm, posted.fields).name)
    return onward("/operator/accounts")
