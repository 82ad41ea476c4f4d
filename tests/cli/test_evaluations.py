"""`deadheat evaluations` and `deadheat season evaluate`, against a real server."""

from __future__ import annotations

import json

from tests.api.site import Site, token_in
from tests.cli.command import invoke


def test_an_evaluation_is_begun_shown_and_cancelled(site: Site, server: str) -> None:
    season_id = site.world.season(3, games_per_pair=2)
    site.world.play_all()
    boss = ("--server", server, "--token", token_in(site.organiser()))
    refused = invoke("season", "evaluate", str(season_id), "--rounds", "2", "--server", server, "--token", "dh_wrong")
    assert refused.returncode != 0
    begun = invoke("season", "evaluate", str(season_id), "--rounds", "2", "--matches", "4", *boss)
    assert begun.stdout == "Evaluation 1 of 3 bots is running.\n"
    site.world.play_all()
    listed = invoke("evaluations", "--season", str(season_id), "--server", server).stdout
    assert "By hand" in listed and "done" in listed
    shown = invoke("evaluations", "1", "--server", server).stdout
    assert "By hand, number 1: done, round 2 of 2." in shown and "opp. early" in shown
    told = json.loads(invoke("evaluations", "1", "--server", server, "--json").stdout)
    assert [row["place"] for row in told["standings"]] == [1, 2, 3]
    assert "bye" in invoke("evaluations", "1", "--round", "1", "--server", server).stdout
    assert invoke("season", "evaluate", str(season_id), *boss).returncode == 0
    assert invoke("season", "cancel-evaluation", "2", *boss).stdout == "Evaluation 2 is cancelled.\n"
    assert invoke("season", "cancel-evaluation", "2", *boss).returncode != 0
    assert invoke("evaluations", "--server", server).returncode != 0
