"""Stages and brackets by the commands."""

from __future__ import annotations

import json

import pytest

from deadheat.league.service.course.states import set_season_state
from deadheat.league.states import FinalsFormat, SeasonState
from tests.api.site import Site
from tests.cli.command import invoke
from tests.league.outcomes import lower_wins

STAGES = ["round-robin matches=2 keep=4", "knockout matches=2 third-place"]


def test_the_command_shows_stages_and_brackets(site: Site, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = site.world.season(5, games_per_pair=2, finals=FinalsFormat.STAGES, stages=STAGES)
    site.world.play_all(lower_wins)
    site.world.settle_rankings()
    site.world.write(set_season_state, site.world.boss, staged, SeasonState.FINALS)
    site.world.settle_rankings()
    site.world.play_all(lower_wins)
    site.world.settle()
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    told = invoke("season", "show", str(staged))
    assert told.returncode == 0, told.stderr
    assert "Stage 2" in told.stdout
    stages = site.ok(200, site.client.get(f"/v1/seasons/{staged}"))["stage_progress"]
    number = str(stages[1]["evaluation_id"])
    assert "advances" in invoke("evaluations", number).stdout
    bracket = json.loads(invoke("evaluations", number, "--json").stdout)["bracket"]
    assert len(bracket) == 4
    assert all(tie["winner"] for tie in bracket)
    rows = site.ok(200, site.client.get(f"/v1/seasons/{staged}/leaderboard"))["rows"]
    assert [row["finals_place"] for row in rows] == [row["rank"] for row in rows] == [1, 2, 3, 4, 5]
