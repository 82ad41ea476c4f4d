"""The operator's page, only for administrators: a verdict on the league's health with the worst troubles first, waiting
jobs, machines and their fitness, and recent failures.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from sqlmodel import Session

from deadheat.api.deps import Shared
from deadheat.api.edge.rates import host_of
from deadheat.api.pages import forms
from deadheat.api.pages.pictures.timelines import MOST_MACHINES, VOID_PERCENT, Timeline, timelines
from deadheat.api.pages.texts.markdown import source
from deadheat.api.pages.timeouts import course, found, heat_map
from deadheat.api.routes import rulings
from deadheat.api.routes.environment import Readiness, readiness
from deadheat.engine.figures import counted, wait
from deadheat.engine.games.folder import problems
from deadheat.engine.language import N_, _, gettext
from deadheat.league.database import now
from deadheat.league.records.hosts import Worker
from deadheat.league.records.matches import Over as Time
from deadheat.league.records.rulings import VersionVoids
from deadheat.league.service.machines.access import machines
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings.closing import ban, ended_accounts, reopen
from deadheat.league.service.rulings.rulings import held_by_game
from deadheat.league.service.seasons.seasons import names_going_on
from deadheat.league.service.series.games import games_for
from deadheat.league.service.series.hosts import hosts_for
from deadheat.league.service.views import queues as league_conditions
from deadheat.league.service.views.uncounted import stopped
from deadheat.league.service.views.voids import flagged_voids
from deadheat.league.states import Fitness

PARTS = {"database": N_("The database"), "blobs": N_("The blob store"), "broker": N_("The queue's broker")}
ALERTS = {"database": "DeadheatDatabaseAway", "blobs": "DeadheatMatchesFail", "broker": "DeadheatTasksSilent"}

GONE = timedelta(days=1)
"""A machine that was silent for longer counts as removed, as for the alert DeadheatHostGone."""

QUEUE_SECONDS = 300
"""The age of a waiting job that raises the alert DeadheatQueueOld."""

IDLE_SECONDS = 60
"""If a job has waited this long, idle slots are not just a pause between two series."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that is wrong. `link`: where the page says more; `alert`: the one that says what to do."""

    text: str
    link: str
    alert: str = ""

    @property
    def action(self) -> str:
        return actions().get(self.alert, "").replace("`", "")


@cache
def actions() -> dict[str, str]:
    """Return what to do about each alert, from the page that repeats it from the alerts themselves."""
    return dict(re.findall(r"^\| (Deadheat\w+) \| \w+ \| (.+) \|$", source("reference/metrics"), re.MULTILINE))


@dataclass(frozen=True, slots=True)
class State:
    """The facts for a verdict. `ran`: the samples of the last hour; `voids`: versions with more void attempts than
    chance explains, each with its season; `stop`: what stops play.
    """

    at: datetime
    ready: Readiness
    hosts: Sequence[Worker]
    standing: league_conditions.Queues
    ran: Sequence[league_conditions.Moment]
    charts: Sequence[Timeline]
    held: int
    voids: Sequence[tuple[int, VersionVoids]]
    judge_unfit: bool
    stop: str
    broken_games: Sequence[str]

    @property
    def present(self) -> list[Worker]:
        """The machines that were not removed."""
        return [host for host in self.hosts if self.at - host.last_seen_at < GONE]

    @property
    def more_machines(self) -> int:
        """The number of machines without a chart of their own."""
        there = {host.number for host in self.hosts} & self.ran[-1].machines.keys() if self.ran else ()
        return max(0, len(there) - MOST_MACHINES)

    @property
    def attempts(self) -> tuple[int, int]:
        """The number of void attempts and of all attempts in the last hour."""
        ran = [machine for moment in self.ran for machine in moment.machines.values()]
        voids = sum(machine.voids for machine in ran)
        return voids, voids + sum(machine.matches for machine in ran)


def _troubles(state: State) -> Iterator[Trouble]:
    """Yield everything that is wrong, the worst first."""
    for part, name in PARTS.items():
        if (why := getattr(state.ready, part)) != "ok":
            yield Trouble(f"{gettext(name)}: {why}.", "#parts", ALERTS[part])
    silence = state.at - state.ran[-1].at if state.ran else None
    if silence is None:
        text = _("No scheduler, or no worker of the queue control, has run in the last hour.")
        yield Trouble(text, "#course", "DeadheatTasksSilent")
    elif silence > league_conditions.GAP:
        time = wait(int(silence.total_seconds()))
        text = _("No scheduler, or no worker of the queue control, has run for %(time)s.", time=time)
        yield Trouble(text, "#course", "DeadheatTasksSilent")
    yield from _of_machines(state)
    yield from _of_matches(state)
    for chart in state.charts:
        if chart.amiss and chart.threshold is not None:
            most = chart.threshold.label
            text = _("%(chart)s: %(value)s, above %(threshold)s.", chart=chart.title, value=chart.shown, threshold=most)
            yield Trouble(text, "#course", chart.alert)


def _of_machines(state: State) -> Iterator[Trouble]:
    if state.stop:
        yield Trouble(state.stop, "#workers", "DeadheatNoWorker")
    for host in state.present:
        if host.fitness is Fitness.UNFIT:
            text = _("%(machine)s is unfit to judge: %(why)s", machine=host.name, why=" ".join(host.reasons[:1]))
            yield Trouble(text, f"#machine-{host.number}", "DeadheatHostUnfit")
        elif not host.judges and host.fitness is Fitness.UNCHECKED:
            yield Trouble(_("%(machine)s has not been checked yet.", machine=host.name), f"#machine-{host.number}")
        elif not host.judges:
            silent = wait(int((state.at - host.last_seen_at).total_seconds()))
            text = _("%(machine)s has been silent for %(time)s.", machine=host.name, time=silent)
            yield Trouble(text, "#workers", "DeadheatHostGone")
        if host.disagreements:
            text = _("%(machine)s has other versions of games than the API.", machine=host.name)
            yield Trouble(text, f"#machine-{host.number}")
    if state.judge_unfit:
        yield Trouble(_("Unfit machines judge anyway (DEADHEAT_JUDGE_UNFIT)."), "#workers")
    if state.broken_games:
        yield Trouble(_("The API cannot use a game."), "#games")


def _of_matches(state: State) -> Iterator[Trouble]:
    if state.held:
        matches = counted(state.held, "match", "matches")
        text = _("Held for an organiser: %(matches)s.", matches=matches)
        yield Trouble(text, "/desk#held", "DeadheatHeldMatches")
    for queue in state.standing.queues:
        if queue.oldest_seconds > QUEUE_SECONDS:
            time = wait(int(queue.oldest_seconds))
            text = _("A job of the queue %(queue)s has waited for %(time)s.", queue=queue.name, time=time)
            yield Trouble(text, "#queues", "DeadheatQueueOld")
    waiting = max((queue.oldest_seconds for queue in state.standing.queues), default=0.0)
    if state.standing.idle_slots * 4 > state.standing.slots and waiting > IDLE_SECONDS:
        idle = counted(state.standing.idle_slots, "slot")
        yield Trouble(_("Idle although jobs wait: %(slots)s.", slots=idle), "#queues", "DeadheatSlotsIdle")
    voids, attempts = state.attempts
    if voids * 100 > attempts * VOID_PERCENT:
        of = counted(attempts, "attempt")
        text = _("Void in the last hour: %(voids)s of %(attempts)s.", voids=voids, attempts=of)
        yield Trouble(text, "#course", "DeadheatVoids")
    if state.voids:
        versions = counted(len(state.voids), "version")
        text = _("%(versions)s: more void attempts than chance explains.", versions=versions)
        yield Trouble(text, "#voids", "DeadheatVoids")


router = APIRouter()

OLD_SECONDS = 120
"""The age from which waiting jobs are marked, and rankings, too, while results arrive."""


MOST_VOIDS = 50
LATELY = timedelta(hours=1)
"""How long the page's first lines name a machine after it was unfit."""

HOURS = {"hour": 1, "day": 24}
Over = Annotated[Literal["hour", "day"], Query()]


@router.get("/operator")
def operator(shared: Shared, request: Request, visit: forms.Visiting, over: Over = "hour") -> Response:
    with shared.db.reading() as session:
        names = names_going_on(session)
        state = _state(shared, session, visit.person, names, HOURS[over])
        conditions = league_conditions.conditions(session, visit.person)
        games = games_for(session, visit.person)
        over_http = {machine.name: machine for machine in machines(session)}
    hosts, standing, late_answers = state.hosts, state.standing, found(shared, None, Time.HOUR)
    commands, day = heat_map(late_answers), list(Time).index(Time.DAY)
    late = {key: row for key, row in commands.items() if (cell := row[day]) and cell.late.timeouts}
    ages, troubles = standing.ranking_age_seconds.items(), [*_troubles(state)]
    values = {
        "healthy": _(
            "Healthy: %(judging)s of %(machines)s may judge, nothing is held, %(voids)s in the last hour.",
            judging=sum(host.judges for host in state.present),
            machines=counted(len(state.present), "machine"),
            voids=counted(state.attempts[0], "void attempt"),
        ),
        "troubles": troubles,
        "unfolded": {trouble.link.partition("-")[0].replace("machine", "workers") for trouble in troubles},
        "lately_unfit": [host for host in hosts if (end := host.incident_ended_at) and state.at - end < LATELY],
        "parts": [(name, getattr(state.ready, part)) for part, name in PARTS.items()],
        "voids": [(item[0], names.get(item[0], str(item[0])), item[1]) for item in state.voids[:MOST_VOIDS]],
        "ended": {how: count for how, count in standing.exhibitions_ended.items() if count},
        "rankings": [(names.get(season, str(season)), season, age) for season, age in ages],
        "may_measure": shared.settings.may_measure(host_of(request)),
        "old_seconds": OLD_SECONDS,
        "map": late,
        "others": len(late) < len(commands),
        "chart": course(late_answers),
    }
    values |= {"hosts": hosts, "standing": standing, "counted": late_answers, "conditions": conditions, "games": games}
    values["over_http"] = over_http
    return forms.private(shared, "operator.html", visit, None, state=state, now=state.at, over=over, **values)


def _state(shared: Shared, session: Session, person: Person, season_ids: Iterable[int], hours: int) -> State:
    hosts = hosts_for(session, person)
    at, ran = now(session), league_conditions.samples(session, person, hours)
    return State(
        at=at,
        ready=readiness(shared),
        hosts=hosts,
        standing=league_conditions.queues(session),
        ran=[moment for moment in ran if at - moment.at < LATELY],
        charts=timelines(ran, at, hours, {host.number: host.name for host in hosts}),
        held=sum(held_by_game(session).values()),
        voids=sorted(flagged_voids(session, person, season_ids), key=lambda flagged: flagged[1].p_value),
        judge_unfit=shared.settings.judge_unfit,
        stop=stopped(session),
        broken_games=problems(),
    )


class _BanForm(rulings.Reason, forms.NameForm):
    """The form to ban an account for a reason."""


@forms.shows(router, "/operator/accounts")
def _accounts(shared: Shared, visit: forms.Visiting, complaint: forms.Complaint | None = None, **_: Any) -> Response:
    ended = shared.read(ended_accounts, visit.person)
    return forms.private(shared, "operator-accounts.html", visit, complaint, ended=ended)


@router.post("/operator/accounts/{verb}")
@forms.posting("{verb}", _accounts)
def change_account(shared: Shared, posted: forms.Submitted, verb: Literal["ban", "reopen"]) -> Response:
    with shared.db.transaction() as session:
        if verb == "ban":
            body = forms.checked(_BanForm, posted.fields)
            ban(session, posted.visit.person, body.name, body.reason)
        else:
            reopen(session, posted.visit.person, forms.checked(forms.NameForm, posted.fields).name)
    return forms.onward("/operator/accounts")
