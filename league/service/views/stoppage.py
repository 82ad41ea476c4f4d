"""Says what stops play, or slows it down, wherever people look for matches: on pages, in the command, for operators."""

from datetime import datetime

from sqlalchemy import select as columns
from sqlmodel import Session, col

from deadheat.engine.figures import wait
from deadheat.engine.language import _
from deadheat.league.database import now, settings_of
from deadheat.league.service.series.hosts import ALIVE, NO_HOST, able, told_of
from deadheat.league.states import Fitness
from deadheat.league.tables import WorkerHost


def stopped(session: Session) -> str:
    """Return what stops or slows play, since when, as a sentence for everybody; "" if machines play."""
    session.flush()
    judges = able(settings_of(session).judge_unfit).label("judges")
    found = columns(*(col(getattr(WorkerHost, name)) for name in SHOWN), ALIVE.label("alive"), judges)
    machines = session.connection().execute(found, told_of(session, NO_HOST)).all()
    at = now(session)

    def since(instants: list[datetime]) -> str:
        return wait(max(0, int((at - max(instants)).total_seconds())))

    held = [machine for machine in machines if machine.judges and machine.held_since_at]
    if any(machine.judges for machine in machines):
        if not held:
            return ""
        who, time = ", ".join(sorted({machine.held_by for machine in held})), since([one.held_since_at for one in held])
        return _("Processors have been held by %(who)s for %(time)s, so matches run more slowly.", who=who, time=time)
    present = [machine for machine in machines if machine.alive]
    if checked := [machine.since_at for machine in present if machine.fitness is Fitness.UNCHECKED]:
        return _("The machine has been under check for %(time)s; matches begin when it passes.", time=since(checked))
    if present:
        time = since([machine.since_at for machine in present])
        return _("No machine has been fit to play for %(time)s.", time=time)
    if machines:
        time = since([machine.last_seen_at for machine in machines])
        return _("No machine has reported for %(time)s, so nothing is played.", time=time)
    return _("No machine has ever reported, so nothing is played.")


SHOWN = ("fitness", "since_at", "last_seen_at", "held_by", "held_since_at")
