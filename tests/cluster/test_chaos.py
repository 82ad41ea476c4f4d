"""A few of the disturbances of ./scripts/chaos, in every run of all tests. A failing one names its seed."""

import pytest

from tests.cluster.chaos import Chaos
from tests.cluster.cluster import Cluster

pytestmark = [pytest.mark.alone, pytest.mark.containers, pytest.mark.all]

SEED = 7
SHORT = (
    "a person's worker dies",
    "the queue is restarted",
    "a worker without either",
)


@pytest.mark.parametrize("name", SHORT)
def test_after_a_disturbance_all_machines_play_again_and_every_invariant_holds(
    cluster: Cluster, bots: list[tuple[str, int]], name: str
) -> None:
    print(Chaos(cluster, bots, SEED).strike(name))
