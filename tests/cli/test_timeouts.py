"""`deadheat timeouts` against a real server, and in terminals of any width."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deadheat.cli.author.timeouts import SPARED, _text
from deadheat.cli.console import out, say
from deadheat.league.records.timeouts import Late, Over, Timeouts
from tests.api.site import Site
from tests.cli.command import invoke, succeeded
from tests.league.test_timeouts import late


def test_late_answers_are_shown_and_told(site: Site, server: str) -> None:
    assert succeeded(invoke("timeouts", "--server", server)).stdout == "No matches yet.\n"
    season_id = site.world.season(2, games_per_pair=2, series_length=2)
    assert site.world.finish(site.world.claimed(), late)
    site.world.settle_rankings()
    shown = succeeded(invoke("timeouts", "--season", str(season_id), "--over", "hour", "--server", server)).stdout
    assert "ROLL" in shown and "17 %" in shown and "machine" in shown
    titles = ("By game and command, in the last hour", "By machine, in the last hour", "in the whole season")
    assert all(title in shown for title in titles)
    told = json.loads(invoke("timeouts", "--json", "--server", server).stdout)
    assert (told["over"], told["season_id"], [late["timeouts"] for late in told["machines"]]) == ("day", None, [2])


def many(**about: Any) -> Late:
    return Late(1_234_567, 789, 789 / 1_234_567, (0.0006, 0.0007), 12, 3, **about)


FOUND = Timeouts(
    season_id=None,
    over=Over.DAY,
    commands=[
        many(over=Over.DAY, game="yacht-auction", command="SCORE", used=(0.0001, 0.25, 1.5)),
        many(over=Over.HOUR),
    ],
    course=[],
    machines=[many(machine=7)],
    bots=[many(bot="a-long-named-bot", author="somebody")],
)


@pytest.mark.parametrize(("width", "lacking"), [(130, 0), (120, 1), (100, 1), (80, 3), (60, 4), (40, 6)])
def test_a_narrow_terminal_leaves_out_whole_columns(
    width: int, lacking: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(out, "width", width)
    say(*_text(FOUND))
    shown = capsys.readouterr().out
    head = next(line for line in shown.splitlines() if line.split()[:1] == ["game"])
    assert [word for word in SPARED if word not in head] == list(SPARED[:lacking])
    assert all(whole in shown for whole in ("yacht-auction", "SCORE", "somebody/a-long-named-bot", "0.064 %"))
    assert max(len(line) for line in shown.splitlines() if line.startswith(" ")) <= width
