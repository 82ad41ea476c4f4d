"""A ranking in a terminal: figures and headings are whole, names are cut to fit."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from deadheat.cli.author import leaderboard
from deadheat.league.records.rankings import Leaderboard, Standing

pytestmark = pytest.mark.quick


def standing(**chosen: Any) -> Standing:
    usual: dict[str, Any] = {
        "rank": 1, "tied": True, "rank_low": 1, "rank_high": 222, "division": 1, "bot": "greedy", "author": "ada",
        "team": None, "version": 12, "elo": 1500.0, "low": 1300.0, "high": 1716.0, "games": 12345, "wins": 10000,
        "draws": 1000, "losses": 1345, "timeouts": 1, "other_faults": 22, "plackett_luce": None,
    }  # fmt: skip
    return cast(Standing, SimpleNamespace(**(usual | chosen)))


def shown(monkeypatch: pytest.MonkeyPatch, *rows: Standing, ranks: str = "placement", columns: int = 80) -> list[str]:
    console = Console(width=columns, file=io.StringIO())
    monkeypatch.setattr(leaderboard, "out", console)
    board = SimpleNamespace(season_id=1, log_sha256="", config={"ranks": ranks}, rows=list(rows), totals=None)
    with console.capture() as capture:
        console.print(leaderboard.standings_table(cast(Leaderboard, board)))
    return capture.get().splitlines()


@pytest.mark.parametrize("name", ["greedy", "g" * 32])
def test_figures_and_headings_are_whole_at_80_columns(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    rows = (standing(bot=name, author=name), standing(division=2, team=name, rank=None, rank_low=None, rank_high=None))
    _, headings, _, first, second = shown(monkeypatch, *rows)
    assert headings.split() == ["div", "#", "places", "bot", "author", "rating", "games", "W/D/L", "faults"]
    assert first.split()[:3] == ["1", "1=", "1-222"]
    assert first.rstrip().endswith("1500 ± 208  12345  10000/1000/1345      23")
    assert second.split()[:3] == ["2", "-", "-"]


@pytest.mark.parametrize("columns", [40, 60])
def test_in_a_narrow_terminal_names_stay_and_columns_go(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    rows = [standing(bot="speedy", games=140, wins=90, draws=2, losses=48), standing(division=2)]
    title, headings, _, row, *_ = shown(monkeypatch, *rows, columns=columns)
    assert title.strip() == "Season 1" and len(row) <= columns
    assert "speedy v12" in row and "1500 ± 208" in row
    assert "  ada  " in row and "author" in headings


def test_names_are_whole_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, row = shown(monkeypatch, standing(games=3, wins=1, draws=1, losses=1, team="lovelace"))
    assert "greedy v12  ada, team lovelace  " in row


def test_at_tables_of_three_and_more_it_says_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    row = standing(games=48, wins=123, draws=0, losses=21, plackett_luce=1700.0)
    for ranks, told in (("placement", "against each other bot at a table"), ("wins", "Wins are matches won alone")):
        assert told in " ".join(" ".join(shown(monkeypatch, row, ranks=ranks)).split())
    assert "Wins" not in "".join(shown(monkeypatch, standing()))
