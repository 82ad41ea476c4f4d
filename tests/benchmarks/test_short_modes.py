"""Every benchmark runs, in its short mode, and no ratio of costs is more than a tenth behind its target. Whether the
other targets are reached is for ./scripts/bench to say.
"""

import faulthandler
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.cluster import HOUSEKEEPING
from tests.benchmarks.where import PROFILE
from tests.league import postgres

ROOT = Path(__file__).resolve().parents[2]


def short(name: str) -> str:
    faulthandler.cancel_dump_traceback_later()  # the time-out is meant for tests; a benchmark has its own below
    command = [sys.executable, "-m", f"tests.benchmarks.{name}", "--short"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode in (0, 1), done.stderr  # 1: a target was missed, as it may be on a busy machine
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def on_target(name: str, *beginnings: str) -> str:
    """Return what a benchmark prints, if no line that begins like this misses its target. Only a ratio that is
    behind twice fails: other processes run meanwhile.
    """
    table = short(name)
    if _missed(table, beginnings):
        table = short(name)
    assert not _missed(table, beginnings), table
    return table


def _missed(table: str, beginnings: tuple[str, ...]) -> bool:
    lines = [line for line in table.splitlines() if line.strip().startswith(beginnings)]
    assert sum("(<= " in line for line in lines) >= len(beginnings), table
    return any("MISSED" in line for line in lines)


@pytest.mark.alone
@pytest.mark.containers
@pytest.mark.all
def test_what_a_match_costs() -> None:
    table = on_target("match", "series of 50")
    for row in ("bare", "alone", "series of 2", "series of 10", "series of 50", "Round trip"):
        assert f"\n{row}" in table


@pytest.mark.alone
@pytest.mark.containers
@pytest.mark.all
def test_whether_the_clock_is_just() -> None:
    lines = short("clock").splitlines()
    assert sum(line.startswith(("    bare ", "    with everything on ")) for line in lines) == 4
    parts = "".join(line[1] for line in lines if line.startswith("("))
    assert parts == "abcdd" + 2 * "e" + 6 * "f" + 3 * "g" + 3 * "h" + 6 * "i" + 6 * "j"


@pytest.mark.alone
@pytest.mark.containers
@pytest.mark.all
def test_what_a_match_remembers_and_a_box_tells() -> None:
    lines = short("channels").splitlines()
    assert [line[:3] for line in lines if line.startswith("(")] == ["(a)", "(b)", "(c)"]
    assert lines[-1] == "Reached."


@pytest.mark.alone
@pytest.mark.containers
@pytest.mark.all
def test_what_a_cluster_plays_and_a_long_queue_costs() -> None:
    lines = on_target("cluster", "Ours beside playing", "Without housekeeping").splitlines()
    assert [line[:3] for line in lines if line.startswith("(")] == ["(a)", "(b)", "(c)"]
    assert sum(line.startswith(f"    {HOUSEKEEPING} ") for line in lines) == 1
    assert sum(line.strip().startswith(("SQLite: ", "PostgreSQL: ", "Redis: ")) for line in lines) == 11


@pytest.mark.containers
@pytest.mark.all
def test_where_the_time_of_a_match_goes() -> None:
    lines = short("where").splitlines()
    assert [line[:3] for line in lines if line.startswith("(")] == ["(a)", "(b)", "(c)", "(d)"]
    doing = {line[4:32].strip() for line in lines[lines.index(PROFILE) + 1 :]}
    assert {"referee and clock", "meters", "rows", "metrics"} <= doing


@pytest.mark.all
def test_how_pairing_spends_its_games() -> None:
    lines = short("pairing").splitlines()
    assert [line[:3] for line in lines if line.startswith("(")] == ["(a)", "(b)", "(c)", "(d)"]
    assert sum("(<= " in line or "(>= " in line for line in lines) == 9


@pytest.mark.all
def test_what_the_pages_of_a_large_league_cost() -> None:
    table = on_target("site", "leaderboard, page  ", "leaderboard, JSON")
    assert [line[:3] for line in table.splitlines() if line.startswith("(")] == ["(a)", "(b)"]


@pytest.mark.all
def test_what_agents_cost_and_lose_nothing_when_the_site_is_killed() -> None:
    if postgres.binaries() is None:
        pytest.skip("no PostgreSQL server is installed (Debian: postgresql)")
    lines = on_target("tables", "lost", "doubled", "substituted", "blamed").splitlines()
    assert [line[:3] for line in lines if line.startswith("(")] == ["(a)", "(b)", "(c)", "(d)"]


@pytest.mark.all
def test_a_contest_is_played_on_time_and_computed_again() -> None:
    table = short("contest")
    played = [line.partition(":")[0] for line in table.splitlines() if " teams, " in line]
    assert played == ["online", "system-test", "first-100", "final", "too-slow"]
    assert "WRONG" not in table


@pytest.mark.all
def test_how_fast_training_is() -> None:
    table = short("training")
    assert all(f"\n{row} " in table for row in ("betris-large", "liars-dice", "yacht-auction"))
    assert "(>= 50000)" in table


@pytest.mark.all
def test_what_a_tournaments_game_costs_beside_a_loop_by_hand() -> None:
    table = short("tournament")
    for row in ("by hand", "keep none", "keep all", "the bots' own", "over by hand"):
        assert row in table


@pytest.mark.all
def test_what_a_long_queue_costs_a_claim_a_planning_and_a_sweep() -> None:
    lines = on_target("growth", "claim", "plan", "sweep").splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["claim", "plan", "sweep"]
    found = [line.strip() for line in lines if line.startswith("    ")]
    assert found and all(line.startswith("SEARCH series USING INDEX") for line in found), "nothing reads all that waits"
