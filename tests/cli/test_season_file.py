"""`deadheat season apply` and `export`, against a real server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from deadheat.cli.organiser import season_file
from deadheat.cli.server.api_client import Client
from tests.api.site import Site, token_in
from tests.cli.command import Typing, assert_one_sentence, invoke
from tests.league.people import GAME

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
