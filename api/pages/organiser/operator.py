"""The operator's page: what waits, which machines work and are fit, and recent failures. Administrators only."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from deadheat.api.deps import Shared
from deadheat.api.pages.forms import (
    Complaint,
    NameForm,
    Submitted,
    Visit,
    Visiting,
    checked,
    onward,
    posting,
    private,
)
from deadheat.api.pages.organiser.verdict import PARTS, State, healthy, troubles
from deadheat.api.pages.pictures.timelines import MOST_MACHINES, timelines
from deadheat.api.readiness import readiness
from deadheat.api.schemas import rulings as shapes
from deadheat.api.services import Services
from deadheat.engine.games.folder import problems
from deadheat.league.database import now
from deadheat.league.service.course.schedule import seasons_going_on
from deadheat.league.service.rulings.closing import ban, ended_accounts, reopen
from deadheat.league.service.rulings.held import held_by_game
from deadheat.league.service.seasons.seasons import seasons
from deadheat.league.service.series.games import games_for
from deadheat.league.service.series.hosts import hosts_for
from deadheat.league.service.views import conditions as league_conditions
from deadheat.league.service.views.queues import queues
from deadheat.league.service.views.samples import samples
from deadheat.league.service.views.voids import season_voids

router = APIRouter(include_in_schema=False)

OLD_SECONDS = 120
"""The age from which waiting jobs are marked, and rankings while results arrive."""


MOST_VOIDS = 50
"""The number of listed versions with void attempts, the least likely first."""

LATELY = timedelta(hours=1)
"""How long the page's first lines name a machine that was unfit."""

HOURS = {"hour": 1, "day": 24}
Over = Annotated[Literal["hour", "day"], Query()]


@router.get("/operator")
def operator(shared: Shared, request: Request, visit: Visiting, over: Over = "hour") -> Response:
    """Show how the deployment runs, with charts of the last hour or day."""
    with shared.db.reading() as session:
        conditions = league_conditions.conditions(session, visit.person)
        hosts = hosts_for(session, visit.person)
        games = games_for(session, visit.person)
        going_on = seasons_going_on(session)
        held = sum(held_by_game(session).values())
        standing = queues(session)
        names = {season.id: season.name for season in seasons(session)}
        voids = [
            (season, names.get(season, str(season)), item)
            for season in going_on
            for item in season_voids(session, visit.person, season)
        ]
        at = now(session)
        ran = samples(session, visit.person, HOURS[over])
    voids = sorted((found for found in voids if found[2].flagged), key=lambda found: found[2].p_value)
    machines = {host.number: host.name for host in hosts}
    charts = timelines(ran, at, HOURS[over], machines)
    ready = readiness(shared)
    state = State(
        at=at,
        ready=ready,
        hosts=hosts,
        standing=standing,
        ran=[moment for moment in ran if at - moment.at < LATELY],
        charts=charts,
        held=held,
        flagged=len(voids),
        judge_unfit=shared.settings.judge_unfit,
        broken_games=problems(),
    )
    return private(
        shared,
        "operator.html",
        visit,
        None,
        conditions=conditions,
        hosts=hosts,
        games=games,
        broken_games=state.broken_games,
        healthy=healthy(state),
        troubles=troubles(state),
        lately_unfit=[host for host in hosts if host.incident_ended_at and at - host.incident_ended_at < LATELY],
        parts=[(name, getattr(ready, part)) for part, name in PARTS.items()],
        standing=standing,
        voids=voids[:MOST_VOIDS],
        held=held,
        ended={how: count for how, count in standing.exhibitions_ended.items() if count},
        rankings=[
            (names.get(season, str(season)), season, age) for season, age in standing.ranking_age_seconds.items()
        ],
        judge_unfit=shared.settings.judge_unfit,
        may_measure=shared.settings.may_measure(request.client.host if request.client is not None else ""),
        old_seconds=OLD_SECONDS,
        now=at,
        over=over,
        charts=charts,
        more_machines=max(0, len(machines.keys() & ran[-1].machines.keys()) - MOST_MACHINES) if ran else 0,
    )


class BanForm(shapes.Reason, NameForm):
    """The form to ban an account, with the reason."""


def _accounts(shared: Services, visit: Visit, complaint: Complaint | None = None, **_: Any) -> Response:
    with shared.db.reading() as session:
        ended = ended_accounts(session, visit.person)
    return private(shared, "operator-accounts.html", visit, complaint, ended=ended)


@router.get("/operator/accounts")
def accounts(shared: Shared, visit: Visiting) -> Response:
    """List accounts that are closed or banned."""
    return _accounts(shared, visit)


@router.post("/operator/accounts/{verb}")
@posting("{verb}", _accounts)
def change_account(shared: Shared, posted: Submitted, verb: Literal["ban", "reopen"]) -> Response:
    """Ban somebody, or reopen their account."""
    with shared.db.transaction() as session:
        if verb == "ban":
            body = checked(BanForm, posted.fields)
            ban(session, posted.visit.person, body.name, body.reason)
        else:
            reopen(session, posted.visit.person, checked(NameForm, posted.fields).name)
    return onward("/operator/accounts")
