"""What steps cost: CPU time, statements to the database, and by how much each raised the process's memory."""

import resource
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import event

from deadheat.league.database import Database


class Step:
    """One step; the code that carries it out gives it a name."""

    name = "nothing to do"


class Ledger:
    """Adds up costs by the name of the step."""

    def __init__(self, database: Database) -> None:
        self._statements = 0
        self._costs: dict[str, list[tuple[float, int]]] = defaultdict(list)
        self._grown: dict[str, int] = defaultdict(int)
        for opened in (database.transaction, database.reading):
            with opened() as session:
                event.listen(session.get_bind(), "before_cursor_execute", self._count)

    @contextmanager
    def step(self) -> Iterator[Step]:
        """Measure what is done within the block."""
        step, asked, peak, began = Step(), self._statements, _peak_kib(), time.process_time()
        yield step
        self._costs[step.name].append((1000 * (time.process_time() - began), self._statements - asked))
        self._grown[step.name] += _peak_kib() - peak

    def table(self) -> str:
        """Return a line for each step, the most expensive first."""
        lines = [
            f"    {'step':34}{'times':>8}{'CPU, ms: median':>17}{'most':>9}{'sum, s':>9}{'statements':>12}{'+MiB':>7}"
        ]
        for name, costs in sorted(self._costs.items(), key=lambda item: -sum(ms for ms, _ in item[1])):
            spent = [ms for ms, _ in costs]
            asked = statistics.median(count for _, count in costs)
            lines.append(
                f"    {name:34}{len(costs):8}{statistics.median(spent):17.1f}{max(spent):9.1f}{sum(spent) / 1000:9.1f}"
                f"{asked:12.0f}{self._grown[name] / 1024:7.0f}"
            )
        return "\n".join([*lines, f"    Memory of the process at its highest: {_peak_kib() / 1024:.0f} MiB."])

    def _count(self, *_: object) -> None:
        self._statements += 1


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
