"""A cluster under one disturbance after another. ./scripts/chaos starts it:

    ./scripts/chaos [--seed N] [--minutes M] [--only WORDS] [--shipped]

A season is opened and plays; something happens to the cluster (`tests.cluster.disturbances`), and meanwhile somebody
uploads (`tests.cluster.uploading`) and somebody plays against a bot (`tests.cluster.playing`); its cause goes away.
Then every machine must play again, the upload be ready, the person's match be over with all moves that were taken, and
as much be played as before, within `BOUND_SECONDS`; the season is closed, and once what runs is played and standings
are published, every invariant must hold, no match may be given up on, no innocent bot convicted or called broken, and
nothing may be left on the machines. A failing run is repeated by its seed, as far as a cluster repeats itself.
"""

import argparse
import contextlib
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple

from deadheat.league.config import Settings
from tests.benchmarks.engine_of_our_own import PrivateEngine
from tests.cluster.cluster import WORKERS, Cluster
from tests.cluster.disturbances import DISTURBANCES
from tests.cluster.leftovers import leftovers
from tests.cluster.playing import Guest
from tests.cluster.recovery import BEFORE_SECONDS, Recovery, recovery
from tests.cluster.servers import until
from tests.cluster.uploading import Author
from tests.invariants import given_up, unfinished

BOTS, SERIES = 3, 4
BOUND_SECONDS = 90.0
"""Within this time after a disturbance, every machine has played a series that it began since. A lease runs out after
21 s here, a message is sent again after 4 s, a dead connection is given up after 10 s, a broker is tried again after as
long; a worker starts and has its machine checked in 10 s. On a machine that is busy with other things all of that takes
three times as long. With the settings as shipped a lease is 30 s, and a message is sent again after a minute.
"""

STRIKE_SECONDS = 3.0
"""The latest upload after the strike: most disturbances are under way then, or about to begin."""


class Chaos:
    """The cluster, the bots that play there, and the random numbers that decide what happens."""

    def __init__(self, cluster: Cluster, bots: list[tuple[str, int]], seed: int) -> None:
        self.cluster, self.bots, self.chance = cluster, bots, random.Random(seed)
        self.author = Author(cluster)
        self.guest = Guest(cluster, bots[0][1], self.chance)

    def order(self, words: str = "") -> Iterator[str]:
        """Yield the disturbances whose names contain these words, all in random order, repeatedly."""
        while True:
            names = sorted(name for name in DISTURBANCES if words in name)
            if not names:
                raise SystemExit(f"no disturbance has these words: {words}")
            self.chance.shuffle(names)
            yield from names

    def strike(self, name: str) -> str:
        """Cause one disturbance, check what must hold afterwards, and return a line to print. Raises AssertionError."""
        cluster = self.cluster
        season_id = cluster.season(self.bots, series_length=SERIES)
        until("every machine plays", self._all_play(), BOUND_SECONDS)
        time.sleep(BEFORE_SECONDS)
        struck_at, results = time.time(), cluster.results(season_id)
        with self.guest.plays(), self.author.uploads(self.chance.uniform(0, STRIKE_SECONDS)):
            time.sleep(self.chance.uniform(0.2, 2))
            cluster.outage_at = time.time()
            DISTURBANCES[name](cluster, self.chance)
            over_at = time.time()
        until("what was uploaded meanwhile is built", self.author.is_built, 3 * BOUND_SECONDS)
        built = time.time() - over_at

        def seen() -> Recovery:
            return recovery(cluster.series(season_id), WORKERS, struck_at, over_at, time.time())

        until("every machine plays as before", lambda: None not in astuple(seen()), 3 * BOUND_SECONDS)
        until("the person's match is over", self.guest.is_done, 3 * BOUND_SECONDS)
        assert not (wrong := self.guest.wrong()), wrong
        assert not (wrong := cluster.broken()), wrong
        cluster.close(season_id)
        assert not (wrong := cluster.broken()), wrong
        with cluster.database.reading() as session:
            assert not (wrong := unfinished(session)), wrong
            assert not (wrong := given_up(session, cluster.poisoned)), wrong
        assert results <= cluster.results(season_id), "results from before are lost or changed"
        until(f"nothing is left: {leftovers(cluster)}", lambda: leftovers(cluster) == [], BOUND_SECONDS)
        first, back, fast = astuple(seen())
        assert back <= BOUND_SECONDS, f"every machine played again after {back:.0f} s only"
        assert built <= BOUND_SECONDS, f"what was uploaded meanwhile was built after {built:.0f} s only"
        waited = self.guest.worst_wait_afterwards_seconds
        assert waited <= BOUND_SECONDS, f"a person waited for {waited:.0f} s after it was over"
        assert fast <= BOUND_SECONDS, f"as fast as before after {fast:.0f} s only"
        lasted = f"{cluster.played(season_id):4} matches; the outage lasted {over_at - cluster.outage_at:4.1f} s"
        played = f"a series was finished after {first:4.1f} s, by every machine after {back:4.1f} s"
        served = f"the pace was back after {fast:4.1f} s, an upload ready after {built:4.1f} s"
        return f"{name:36} {lasted}; {played}, {served}; {self.guest.told()}"

    def _all_play(self) -> Callable[[], bool]:
        since = self.cluster.now()
        return lambda: all(self.cluster.finished_by(since).values())


def main() -> int:
    """See the top of this file. Return the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--minutes", type=float, default=10.0, help="begin no further disturbance after so long")
    parser.add_argument("--only", default="", help="disturbances whose name has these words")
    parser.add_argument("--shipped", action="store_true", help="leases and messages as shipped, not in short times")
    chosen = parser.parse_args()
    times = {"LEASE_SECONDS": "30", "REQUEUE_SECONDS": "60"} if chosen.shipped else {}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaves every `with`, so nothing stays behind
    print(f"Seed {chosen.seed}", flush=True)
    with contextlib.closing(PrivateEngine(Settings().image)) as engine, Cluster(times, engine) as cluster:
        chaos = Chaos(cluster, cluster.bots(BOTS), chosen.seed)
        end_at = time.monotonic() + 60 * chosen.minutes
        for name in chaos.order(chosen.only):
            try:
                print(chaos.strike(name), flush=True)
            except BaseException:
                print(f"{name}: failed, seed {chosen.seed}\n{cluster.log()}", flush=True)
                raise
            if time.monotonic() > end_at:
                break
    print("Every invariant held.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
