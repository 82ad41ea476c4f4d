"""The arithmetic of "How large" in docs/operators.md."""

from __future__ import annotations

import math
import re

from tests.cli.command import ROOT

TEXT = (ROOT / "docs" / "operators.md").read_text("utf-8").partition("### How large\n")[2].partition("**Webhooks.**")[0]


def test_the_slots_of_each_round_follow_from_its_tables() -> None:
    rounds = re.findall(r"^\| ([\d,]+) tables of (\d+) s in (\d+) min \| ([\d.]+) \| (\d+) \|$", TEXT, re.MULTILINE)
    assert len(rounds) == 3
    for tables, seconds, minutes, busy, planned in rounds:
        needed = int(tables.replace(",", "")) * int(seconds) / (60 * int(minutes))
        assert float(busy) == round(needed, 1)
        assert max(4, math.ceil(2 * needed)) <= int(planned) <= 2 * needed + 4


def test_a_million_matches_need_a_million_times_as_much() -> None:
    assert re.findall(r"\| ([\d.]+) kB.* \| ([\d.]+) GB \|", TEXT) == [(size, size) for size in ("2.7", "7.2", "3.4")]
    ((cpu_ms, minutes),) = re.findall(r"\| ([\d.]+) ms \| (\d+) minutes \|", TEXT)
    assert round(float(cpu_ms) * 1e6 / 1000 / 60) == int(minutes)
    assert "400 matches a second" in TEXT and 1000 / float(cpu_ms) == 400


def test_the_connections_of_the_example_are_allowed() -> None:
    ((slots, machines),) = re.findall(r"enough for (\d+) slots on (\w+) machines and two API processes", TEXT)
    allowed = re.findall(
        r"max_connections=(\d+)", (ROOT / "deploy" / "services" / "postgres" / "entrypoint").read_text()
    )
    assert allowed == ["300"] and f"allows {allowed[0]}," in TEXT
    each = 2 + 2  # with the default of DEADHEAT_EXHIBITIONS
    assert int(slots) + {"five": 5}[machines] * each + 2 * 45 + 3 + 1 + 10 <= int(allowed[0])
