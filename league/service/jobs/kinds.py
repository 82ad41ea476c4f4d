"""Every kind of job. The sweep, the queues, their metrics and the workers' options follow from this table.

docs/architecture.md lists what else a new kind of job needs.
"""

from collections.abc import Callable, Mapping

from sqlmodel import Session

from deadheat.league.jobs import Failure
from deadheat.league.service.ground.life import Life
from deadheat.league.service.jobs.builds import BUILDS, give_back_build
from deadheat.league.service.jobs.exhibiting import EXHIBITIONS, give_back_exhibition
from deadheat.league.service.series.carrying_out import SERIES, give_back_series

GiveBack = Callable[[Session, int, int, str | None, Failure], bool]
"""Takes a row back from a worker's attempt because of that failure. Returns False, changing nothing, if it is too late.
"""

KINDS: Mapping[Life, GiveBack] = {
    BUILDS: give_back_build,
    SERIES: give_back_series,
    EXHIBITIONS: give_back_exhibition,
}
"""How a job of each kind is taken back from a silent worker."""
