"""The machines that play, as organisers and Prometheus see them."""

from __future__ import annotations

from typing import Any

from deadheat.league.jobs import Host
from deadheat.league.service.rulings.operators import ensure_organiser
from deadheat.league.service.series.hosts import host_arrives, host_seen, record_check
from tests.api.site import Site
from tests.api.test_operation import metric

REMARK = {"level": "remark", "text": "This host swaps.", "mend": "swapoff --all"}
NOISY = {"findings": [REMARK, {"level": "good", "text": "Time passes.", "mend": ""}]}
SECOND = Host("second", "boot")


def workers(site: Site) -> dict[str, dict[str, Any]]:
    found = site.ok(200, site.client.get("/v1/workers", headers=organiser(site)))
    return {worker["name"]: worker for worker in found["items"]}


def organiser(site: Site) -> dict[str, str]:
    return {"Authorization": f"Bearer {site.world.write(ensure_organiser, 'boss')}"}


def test_an_organiser_sees_who_is_there_and_why_somebody_may_not_judge(site: Site) -> None:
    site.world.write(host_arrives, SECOND, "deadheat/judge:core")
    site.world.write(record_check, SECOND, NOISY, ["No clock."], 60)
    site.world.write(host_seen, SECOND, 0.25)
    found = workers(site)
    assert found["machine"]["judges"] and found["machine"]["reasons"] == []
    second = found["second"]
    assert (found["machine"]["number"], second["number"]) == (1, 2)
    assert (second["fitness"], second["judges"]) == ("unfit", False)
    assert second["reasons"] == ["No clock."] and second["remarks"] == ["This host swaps."]
    assert second["steal_share"] == 0.25 and second["report"] == NOISY
    site.world.clock.turn(site.world.settings.lease_seconds + 1)  # only the first one's keeper is still there
    assert [worker["judges"] for worker in workers(site).values()] == [True, False]


def test_fitness_is_measured_by_machine(site: Site) -> None:
    assert metric(site, 'deadheat_host_fit{host="machine"}') == 1
    assert metric(site, 'deadheat_host_judges{host="machine"}') == 1
    site.world.write(record_check, site.world.host, {}, ["Too much noise."], 60)
    site.world.write(host_seen, site.world.host, 0.125)
    assert metric(site, 'deadheat_host_fit{host="machine"}') == 0
    assert metric(site, 'deadheat_host_judges{host="machine"}') == 0
    assert metric(site, 'deadheat_host_steal_ratio{host="machine"}') == 0.125
    assert metric(site, 'deadheat_host_seen_timestamp_seconds{host="machine"}') == site.world.clock.now.timestamp()
