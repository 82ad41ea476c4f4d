"""`deadheat timeouts` against a real server."""

from __future__ import annotations

import json

from tests.api.site import Site
from tests.cli.command import invoke, succeeded
from tests.league.test_timeouts import late


def test_late_answers_are_shown_and_told(site: Site, server: str) -> None:
    season_id = site.world.season(2, games_per_pair=2, series_length=2)
    assert site.world.finish(site.world.claimed(), late)
    site.world.settle_rankings()
    shown = succeeded(invoke("timeouts", "--season", str(season_id), "--over", "hour", "--server", server)).stdout
    assert "ROLL" in shown and "17 %" in shown and "machine" in shown
    told = json.loads(invoke("timeouts", "--json", "--server", server).stdout)
    assert (told["over"], told["season_id"], [late["timeouts"] for late in told["machines"]]) == ("day", None, [2])
