"""The commands of docs/organisers.md run in their order and do what the page says."""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path

import pytest

from deadheat.engine.games import GAMES
from deadheat.engine.games.variants import parameters
from deadheat.league.pairing.figures import CHOICE
from deadheat.league.season_file import PATHS
from deadheat.league.service.rulings.operators import house
from deadheat.league.service.seasons.declared import apply_file
from deadheat.league.service.seasons.entries import enter, entries, entry_info
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.timetable import DeclaredEvaluation
from tests.api.site import Site, token_in
from tests.cli.command import ROOT, invoke
from tests.league.world import World

PAGE = (ROOT / "docs" / "organisers.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    """Return every `deadheat season` command of the page, without its comment."""
    lines = re.findall(r"^    (deadheat season .*)$", PAGE, re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines]


def example() -> str:
    """Return the page's example of a season's file."""
    block = PAGE.partition("as `contest.toml`:\n\n")[2]
    return textwrap.dedent(block[: re.search(r"^\S", block, re.MULTILINE).start()])  # type: ignore[union-attr]


def test_the_contest_at_tables_of_four_can_be_played(site: Site) -> None:
    text = textwrap.dedent(PAGE.partition("four places in the final:\n\n")[2].partition("\nKeys are")[0])
    made = site.world.write(apply_file, site.world.boss, text)
    assert made.season_id is not None
    found = site.world.read(season_info, made.season_id)
    assert (found.seats, found.ladder, len(found.stages or ())) == (4, True, 3)
    assert not any("contests" in warning for warning in made.warnings)


def house_bots(world: World) -> None:
    """Upload the house bots that the page's panels name."""
    for name in ("random", "greedy", "expert"):
        world.bot(name, owner=world.write(house))


@pytest.fixture
def at_server(site: Site, server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Site:
    monkeypatch.chdir(tmp_path)
    Path("contest.toml").write_text(example(), encoding="utf-8")
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    monkeypatch.setenv("DEADHEAT_TOKEN", token_in(site.organiser()))
    return site


def test_the_commands_of_the_page_run_a_season(at_server: Site) -> None:
    site, told = at_server, dict[str, str]()
    authors = [site.world.author(name) for name in ("ada", "barbara")]
    bots = [site.world.bot(f"{owner.name}-bot", owner=owner)[1] for owner in authors]
    house_bots(site.world)
    for words in commands():
        if words[1] == "assign":
            site.world.write(enter, site.world.boss, int(words[2]), bots[0])
        done = invoke(*words, *(["--yes"] if words[1] == "apply" else []))  # nobody can confirm
        assert done.returncode == 0, (words, done.stderr)
        told[" ".join(words[1:3])] = done.stdout
        if words[1] == "open":
            for owner, bot_id in zip(authors, bots, strict=True):
                site.world.write(enter, owner, int(words[2]), bot_id)
        for _ in range(5):
            site.world.settle()
    assert "closed, standings published" in told["show 1"]
    with site.world.db.reading() as session:
        first, third, contest = (season_info(session, number) for number in (1, 3, 4))
        assert {entry.finals_seed for entry in entries(session, 1)} == {1, 2}
        assert entry_info(session, 2, 1).division == 1
    assert first.finals_done_at is not None
    assert (contest.name, len(contest.stages or ()), contest.finals_top) == ("Code Battle 2027", 5, None)
    assert (third.previous_id, third.divisions[0].entries) == (1, 2)


def test_every_setting_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)(?:=\w+)?`|\b([a-z_]+)=(?=\w)", PAGE))
    of_a_stage = {"rounds", "matches", "keep", "further", "third_place", "ties", "ranked_by"}
    of_an_evaluation = {*DeclaredEvaluation.model_fields, *CHOICE}
    of_a_variant = {number.name for game in GAMES.values() for number in parameters(game)}
    assert {name or other for name, other in named} <= PATHS.keys() | of_a_stage | of_an_evaluation | of_a_variant
