"""What facts about a host say about its fitness to judge."""

from dataclasses import replace

import pytest

from deadheat.sandbox.host.fitness import Facts, Level, Report, judged, percentiles

GOOD = Facts(runtime="runc")


def remarks(report: Report) -> tuple[str, ...]:
    return tuple(finding.text for finding in report.findings if finding.level is Level.REMARK)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (replace(GOOD, signals=()), "Nothing shows whether a bot was kept from running"),
        (replace(GOOD, clock="jiffies"), "The clock counts in ticks"),
        (replace(GOOD, convicted=1), "Of 60 reference bots that were in time, 1 were judged late"),
        (replace(GOOD, acquitted=2), "Of 60 reference bots that were late, 2 were judged in time"),
        (replace(GOOD, escaped=49), "Of 60 reference bots that were late, 49 were not caught"),
    ],
)
def test_a_host_is_unfit_where_verdicts_are_wrong_or_have_no_end(facts: Facts, reason: str) -> None:
    report = judged(facts)
    assert not report.fit
    (said,) = report.reasons
    assert said.startswith(reason)
    assert all(finding.mend for finding in report.findings if finding.level is Level.UNFIT)


@pytest.mark.parametrize(
    ("facts", "remark"),
    [
        (replace(GOOD, disturbed=60, escaped=48), "108 of 120 known verdicts were void or in doubt"),
        (replace(GOOD, disturbed=4, escaped=3, busy_share=1.0), "7 of 120 known verdicts were void or in doubt"),
        (replace(GOOD, late_ns=(6_000_000, 9_000_000, 90_000_000)), "The referee is late by 6000 us"),
        (replace(GOOD, steal_share=0.3), "The hypervisor took 30.0 %"),
        (replace(GOOD, steal_told=False), "The hypervisor has reported no stolen time"),
        (replace(GOOD, signals=("run-delay",)), "No cpu.pressure"),
        (replace(GOOD, signals=("pressure",)), "No run-queue delay"),
        (replace(GOOD, runtime="runsc (gVisor)", margin_ms=10), "Bots run under runsc (gVisor), which may itself"),
        (replace(GOOD, cgroups="1"), "Control groups version 1 alone"),
        (replace(GOOD, clock="hpet"), "Reading the clock is slow"),
        (replace(GOOD, realtime=False), "The referee may not use SCHED_FIFO"),
        (replace(GOOD, governors=("ondemand", "performance")), "CPUs change speed"),
        (replace(GOOD, waiters=5_491_533), "fs.epoll.max_user_watches is 5,491,533"),
        (replace(GOOD, swap=True), "This host swaps"),
        (
            replace(GOOD, bots=8, memory_bytes=8 * 2**30),
            "8 bots at a time may use 9.0 GiB of this machine's 8.0: a bot that fills it voids its match.",
        ),
        (replace(GOOD, shared_cores="0-1"), "CPUs 0-1 share a core"),
        (replace(GOOD, favours=False), "A bot that is not asked keeps its weight"),
        (replace(GOOD, weight=None), "Boxes have no control group of their own"),
        (replace(GOOD, weight=0.5), "On each processor, bots weigh 0.5 times as much as another process, not 1 times"),
        (replace(GOOD, weight=4.0, weight_wanted=16.0), "On each processor, bots weigh 4 times"),
        (replace(GOOD, nice=5), "The engine runs at nice 5"),
        (replace(GOOD, nice=-5), "The engine runs at nice -5"),
    ],
)
def test_what_only_makes_judging_dearer_is_a_remark(facts: Facts, remark: str) -> None:
    report = judged(facts)
    assert report.fit
    (said,) = remarks(report)
    assert said.startswith(remark)
    assert all(finding.mend for finding in report.findings if finding.level is Level.REMARK)


@pytest.mark.parametrize(
    "facts", [GOOD, replace(GOOD, disturbed=3, escaped=3), replace(GOOD, governors=("performance",))]
)
def test_a_quiet_host_has_nothing_to_mend(facts: Facts) -> None:
    report = judged(facts)
    assert report.fit and remarks(report) == ()


@pytest.mark.parametrize(("voids", "mostly"), [(60, False), (61, True)])
def test_a_check_that_was_mostly_void_says_so_and_leaves_the_host_fit(voids: int, mostly: bool) -> None:
    """862 matches were played without a void on a machine whose canary matches were void."""
    report = judged(replace(GOOD, disturbed=30, escaped=voids - 30))
    assert report.fit and report.mostly_void is mostly
    (said,) = remarks(report)
    assert said.endswith("a worker checks again soon.") is mostly


@pytest.mark.parametrize("wrong", [{"convicted": 1}, {"acquitted": 1}])
def test_one_wrong_verdict_is_enough_however_many_were_void(wrong: dict[str, int]) -> None:
    assert not judged(replace(GOOD, disturbed=59, **wrong)).fit  # type: ignore[arg-type]


def test_everything_together_is_told_once_each() -> None:
    worst = {"runtime": "runc", "cgroups": "1", "signals": (), "clock": "pit", "realtime": False, "swap": True}
    worst |= {"governors": ("powersave",), "waiters": 10**6, "shared_cores": "0,1", "late_ns": (10**7,) * 3}
    counts = {"innocent": 10, "guilty": 10, "convicted": 1, "acquitted": 1, "disturbed": 9, "escaped": 9}
    report = judged(Facts(**worst, **counts, steal_share=0.5))  # type: ignore[arg-type]
    assert len(report.reasons) == 5
    assert len(set(report.reasons + remarks(report))) == len(report.reasons + remarks(report))
    assert report.as_dict()["fit"] is False
    assert "Bots run under runc." in [finding.text for finding in report.findings]


def test_percentiles_of_few_values_and_of_none() -> None:
    assert percentiles([3, 1, 2]) == (2, 3, 3)
    assert percentiles([]) == (0, 0, 0)
