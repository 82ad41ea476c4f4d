"""Seasons by their file, and by the commands of the organisers' page."""

from __future__ import annotations

import re
import shlex
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from deadheat.cli.organiser import season_file
from deadheat.cli.server.api_client import Client
from deadheat.engine.games import GAMES
from deadheat.engine.games.variants import parameters
from deadheat.league.pairing.figures import CHOICE
from deadheat.league.season_file import PATHS
from deadheat.league.service.rulings.closing import house
from deadheat.league.service.seasons.declared import apply_file
from deadheat.league.service.seasons.entries import enter, entries, entry_info
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.timetable import DeclaredEvaluation
from tests.api.site import Site, token_in
from tests.cli.command import ROOT, Typing, assert_one_sentence, invoke
from tests.league.people import GAME
from tests.league.world import World

FILE = f"""[season]
name = "Winter"
game = "{GAME}"
[matches]
games_per_pair = 20
[dates]
opens_at = 2098-12-01T18:00:00+09:00
"""


@pytest.fixture
def contest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A season's file, read by somebody in New York."""
    path = tmp_path / "contest.toml"
    path.write_text(FILE, encoding="utf-8")
    with monkeypatch.context() as there:
        there.setenv("TZ", "America/New_York")
        time.tzset()
        yield path
    time.tzset()


def test_a_season_is_previewed_made_changed_and_written(site: Site, server: str, contest: Path) -> None:
    desk = Typing(site, server)
    seen = desk.says("boss", "season", "apply", contest, "--dry-run")
    assert "matches.games_per_pair" in seen and "2098-12-01 04:00 EST" in seen and "days" in seen
    assert "23 bots" in desk.says("boss", "season", "apply", contest, "--dry-run", "--bots", 23)
    assert "no seasons" in invoke("season", "list", "--server", server).stdout
    assert_one_sentence(desk.run("boss", "season", "apply", contest), "pass --yes to apply this", 2)
    assert "Season 1 is created." in desk.says("boss", "season", "apply", contest, "--yes")
    assert_one_sentence(desk.run("boss", "season", "apply", contest, "--yes"), "season 1 has this name", 1)
    assert "nothing to change" in desk.says("boss", "season", "apply", contest, "--season", 1)
    assert "an estimate" in desk.says("boss", "season", "forecast", 1, "--bots", 23)
    assert desk.json("boss", "season", "forecast", 1, "--bots", 23)["ladder_matches"] == 253 * 20
    desk.says("boss", "season", "export", 1, "-o", contest)
    assert desk.says("boss", "season", "export", 1) == contest.read_text(encoding="utf-8")
    assert "nothing to change" in desk.says("boss", "season", "apply", contest, "--season", 1)
    contest.write_text(FILE.replace("20\n", "30\n"), encoding="utf-8")
    told = desk.json("boss", "season", "apply", contest, "--season", 1, "--yes")
    assert told["changes"] == [{"path": "matches.games_per_pair", "now": 20, "then": 30}]
    with Client(server, token_in(desk.headers["boss"])) as client:
        assert client.season(1).games_per_pair == 30
        assert client.apply_season_file(client.season_file(1), 1).changes == []


def test_a_person_is_asked(site: Site, server: str, contest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("season", "apply", str(contest), "--server", server, "--token", token_in(site.organiser()))
    monkeypatch.setattr(season_file, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    done = invoke(*words, stdin="n\n")
    assert (done.returncode, "2098-12-01 04:00 EST" in done.stdout) == (1, True)
    assert "Create this season? [y/N]" in done.stderr and "nothing was changed" in done.stderr
    done = invoke(*words, stdin="y\n")
    assert "Season 1 is created." in done.stdout


def test_what_is_wrong_is_said_line_by_line(site: Site, server: str, contest: Path) -> None:
    desk = Typing(site, server)
    contest.write_text(FILE.replace("= 20\n", "= '20'\n").replace("name", "nam"), encoding="utf-8")
    done = desk.run("boss", "season", "apply", contest)
    assert done.stderr.splitlines() == [
        "error: The file has 3 mistakes:",
        "season.nam: there is no such key; did you mean name.",
        "matches.games_per_pair: it should be a whole number.",
        "season.name: this is required.",
    ]
    contest.write_bytes(b"\xff")
    assert_one_sentence(desk.run("boss", "season", "apply", contest), "is not UTF-8", 2)
    assert_one_sentence(desk.run("boss", "season", "apply", contest.with_name("none")), "No such file", 2)


PAGE = (ROOT / "docs" / "organisers.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    """Return every `deadheat season` command of the page, without its comment."""
    lines = re.findall(r"^    (deadheat season .*)$", PAGE, re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines]


def example() -> str:
    """Return the page's example of a season's file."""
    block = PAGE.partition("as `contest.toml`:\n\n")[2]
    return textwrap.dedent(block[: re.search(r"^\S", block, re.MULTILINE).start()])  # type: ignore[union-attr]


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


def test_the_contest_at_tables_of_four_can_be_played(site: Site) -> None:
    text = textwrap.dedent(PAGE.partition("four places in the final:\n\n")[2].partition("\nKeys are")[0])
    made = site.world.write(apply_file, site.world.boss, text)
    assert made.season_id is not None
    found = site.world.read(season_info, made.season_id)
    assert (found.seats, found.ladder, len(found.stages or ())) == (4, True, 3)
    assert not any("contests" in warning for warning in made.warnings)


def test_every_setting_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)(?:=\w+)?`|\b([a-z_]+)=(?=\w)", PAGE))
    of_a_stage = {"rounds", "matches", "keep", "further", "third_place", "ties", "ranked_by"}
    of_an_evaluation = {*DeclaredEvaluation.model_fields, *CHOICE}
    of_a_variant = {number.name for game in GAMES.values() for number in parameters(game)}
    assert {name or other for name, other in named} <= PATHS.keys() | of_a_stage | of_an_evaluation | of_a_variant
