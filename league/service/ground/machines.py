"""The public number of a machine, which replaces its name."""

from collections.abc import Collection

from sqlmodel import Session, col, select

from deadheat.league.tables import Machine


def machine_numbers(session: Session, workers: Collection[str | None]) -> dict[str | None, int]:
    """Return the public number of the machine of each worker process, keyed by the signature of its work (`NAME:PID`);
    machines without a number are left out.
    """
    names = {worker: worker.rpartition(":")[0] for worker in workers if worker}
    if not names:
        return {}
    known = select(Machine.name, Machine.id).where(col(Machine.name).in_(set(names.values())))
    numbers = dict(session.exec(known).all())
    return {worker: numbers[name] for worker, name in names.items() if name in numbers}
