"""`deadheat contest` for evaluations, and its former names: stages and brackets, against a real server."""

from __future__ import annotations

import json

import pytest

from deadheat.league.service.course.states import set_season_state
from deadheat.league.states import FinalsFormat, SeasonState
from tests.api.site import Site, token_in
from tests.cli.command import invoke, succeeded
from tests.league.outcomes import lower_wins

STAGES = ["round-robin matches=2 keep=4", "knockout matches=2 third-place"]


def test_an_evaluation_is_begun_shown_and_cancelled(site: Site, server: str) -> None:
    season_id = site.world.season(3, games_per_pair=2)
    site.world.play_all()
    boss = ("--server", server, "--token", token_in(site.organiser()))
    refused = invoke("season", "evaluate", str(season_id), "--rounds", "2", "--server", server, "--token", "dh_wrong")
    assert refused.returncode != 0
    begun = invoke("season", "evaluate", str(season_id), "--rounds", "2", "--matches", "4", *boss)
    assert begun.stdout == "Contest 1 of 3 bots is running.\n" and "contest start" in begun.stderr
    site.world.play_all()
    assert "By hand" in invoke("evaluations", "--season", str(season_id), "--server", server).stdout
    listed = invoke("contest", "list", "--season", str(season_id), "--server", server).stdout
    assert "By hand" in listed and "done" in listed
    shown = invoke("contest", "show", "1", "--server", server).stdout
    assert "By hand, number 1: done, round 2 of 2." in shown and "opp. early" in shown
    told = json.loads(invoke("evaluations", "1", "--server", server, "--json").stdout)
    assert [row["place"] for row in told["standings"]] == [1, 2, 3]
    assert "bye" in invoke("contest", "show", "1", "--round", "1", "--server", server).stdout
    assert invoke("contest", "start", "--season", str(season_id), *boss).returncode == 0
    assert invoke("season", "cancel-evaluation", "2", *boss).stdout == "Evaluation 2 is cancelled.\n"
    assert invoke("season", "cancel-evaluation", "2", *boss).returncode != 0
    assert invoke("season", "resume-evaluation", "2", *boss).stdout == "Evaluation 2 goes on.\n"
    assert invoke("evaluations", "--server", server).returncode != 0


def test_the_command_shows_stages_and_brackets(site: Site, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = site.world.season(5, games_per_pair=2, finals=FinalsFormat.STAGES, stages=STAGES)
    site.world.play_all(lower_wins)
    site.world.settle_rankings()
    site.world.write(set_season_state, site.world.boss, staged, SeasonState.FINALS)
    site.world.settle_rankings()
    site.world.play_all(lower_wins)
    site.world.settle()
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    assert "Stage 2" in succeeded(invoke("season", "show", str(staged))).stdout
    number = str(site.ok(200, site.client.get(f"/v1/seasons/{staged}"))["stage_progress"][1]["evaluation_id"])
    assert "advances" in invoke("contest", "show", number).stdout
    bracket = json.loads(invoke("evaluations", number, "--json").stdout)["bracket"]
    assert len(bracket) == 4
    assert all(tie["winner"] for tie in bracket)
    rows = site.ok(200, site.client.get(f"/v1/seasons/{staged}/leaderboard"))["rows"]
    assert [row["finals_place"] for row in rows] == [row["rank"] for row in rows] == [1, 2, 3, 4, 5]
