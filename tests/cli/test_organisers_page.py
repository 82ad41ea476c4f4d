"""docs/organisers.md, followed to the letter: its commands run in their order, and do what it says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from league.service.rankings.publishing import publish, seasons_to_publish
from league.service.rankings.standings import refit, seasons_to_refit
from league.service.seasons.entries import enter, entries, entry_info
from league.service.seasons.seasons import season_info
from league.terms import TERMS
from tests.api.served import served
from tests.api.site import Site
from tests.cli.command import ROOT, invoke

PAGE = (ROOT / "docs" / "organisers.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    """Every `deadheat season` of the page, without its comment."""
    lines = re.findall(r"^    (deadheat season .*)$", PAGE, re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site(tmp_path)
    with served(made.app) as server:
        monkeypatch.setenv("DEADHEAT_SERVER", server)
        monkeypatch.setenv("DEADHEAT_TOKEN", made.organiser()["Authorization"].removeprefix("Bearer "))
        yield made
    made.close()


def finish(site: Site) -> None:
    """Scheduler, workers and rankings, until there is nothing more to do."""
    world = site.world
    for _ in range(5):
        world.play_all()
        world.clock.turn(world.settings.refit_seconds)
        with world.db.transaction() as session:
            due, over = seasons_to_refit(session), seasons_to_publish(session)
        for season_id in due:
            with world.db.transaction() as session:
                refit(session, season_id)
        for season_id in over:
            with world.db.transaction() as session:
                publish(session, season_id)


def test_the_commands_of_the_page_run_a_season(site: Site) -> None:
    told: dict[str, str] = {}
    authors = [site.world.author(name) for name in ("ada", "barbara")]
    bots = [site.world.bot(f"{owner.name}-bot", owner=owner)[1] for owner in authors]
    for words in commands():
        if words[1] == "assign":
            with site.world.db.transaction() as session:
                enter(session, site.world.boss, int(words[2]), bots[0])
        done = invoke(*words)
        assert done.returncode == 0, (words, done.stderr)
        told[" ".join(words[1:3])] = done.stdout
        if words[1] == "open":
            for owner, bot_id in zip(authors, bots, strict=True):
                with site.world.db.transaction() as session:
                    enter(session, owner, int(words[2]), bot_id)
        finish(site)
    assert "closed, standings published" in told["show 1"]
    with site.world.db.reading() as session:
        first, third = season_info(session, 1), season_info(session, 3)
        assert {entry.finals_seed for entry in entries(session, 1)} == {1, 2}
        assert entry_info(session, 2, 1).division == 1
    assert first.finals_done_at is not None
    assert (third.previous_id, third.divisions[0].entries) == (1, 2)


def test_every_setting_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)(?:=\w+)?`|\b([a-z_]+)=(?=\w)", PAGE))
    assert {name or other for name, other in named} <= TERMS.keys()
