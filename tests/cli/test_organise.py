"""An organiser's day at the command line, against a real server."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.cli.server.api_client import Refused
from deadheat.league.tables import Match
from tests.api.site import Site
from tests.api.test_matches import Played
from tests.cli.command import ROOT, Typing, assert_one_sentence, invoke


class Desk(Typing):
    """A league with a finished series."""

    def __init__(self, site: Site, server: str) -> None:
        super().__init__(site, server)
        self.played = Played(site)
        self.headers |= {"ada": self.played.ada, "bob": self.played.bob}


@pytest.fixture
def desk(site: Site, server: str) -> Desk:
    return Desk(site, server)


def test_results_and_entries_are_ruled_on(desk: Desk) -> None:
    match, (bot, _), season = desk.played.ids[0], desk.played.bots, desk.played.season
    why = ("--reason", "the host was overloaded")
    desk.site.world.change(Match, match, comeback=2.5)
    told = desk.says("ada", "matches", match)
    assert "done, counts" in told and "The winner came back from 2.5 behind." in told
    assert "no longer counts" in desk.says("boss", "organise", "void", match, *why)
    assert "was already void; nothing changed" in desk.says("boss", "organise", "void", match, *why)
    told = desk.says("ada", "matches", match)
    assert "does not count (voided)" in told.splitlines()[0]
    assert "the host was overloaded" in told
    assert "does not count: voided" in " ".join(desk.says("ada", "matches").split())
    assert "counts again" in desk.says("boss", "organise", "restore", match, *why)
    assert "was not voided; nothing changed" in desk.says("boss", "organise", "restore", match, *why)
    assert "is played instead" in desk.says("boss", "organise", "rejudge", match, *why)
    assert f"instead of match {match}" in desk.says("ada", "matches", max(desk.played.ids) + 1)
    assert "(most recently: host-unknown)" in desk.says("ada", "matches", desk.played.ids[2])
    assert "is disqualified" in desk.says("boss", "organise", "disqualify", season, bot, *why)
    for verb in ("rejoin", "enter"):
        assert_one_sentence(desk.run("ada", verb, bot, "--season", season), "disqualified by an organiser", 1)
    assert "again" in desk.says("boss", "organise", "reinstate", season, bot, *why)
    assert "its matches count" in desk.says("boss", "organise", "withdraw", season, bot, *why)
    assert_one_sentence(desk.run("ada", "rejoin", bot, "--season", season), "withdrawn by an organiser", 1)
    assert_one_sentence(desk.run("ada", "organise", "void", match, *why), "Only an organiser may do", 1)


def test_an_appeal_from_the_author_to_the_ruling(desk: Desk) -> None:
    match = desk.played.ids[1]
    opened = desk.says("ada", "appeal", match, "my bot was quick\nand \u202e\u061c[red]sure[/] " + "of it " * 40)
    assert "It could not be re-simulated:" in opened
    listed = desk.says("boss", "organise", "appeals")
    assert not {"\u202e", "\u061c"} & set(listed)
    head, *text = listed.splitlines()
    assert head.startswith(f"Appeal 1, open: match {match}, by ") and "(it could not be re-simulated" in head
    assert text == [r"  | my bot was quick", rf"  | and \u202e\u061c[red]sure[/] {'of it ' * 40}".rstrip()]
    item = desk.json("boss", "organise", "appeals")
    ruled = desk.says("boss", "organise", "rule", item["id"], "--uphold", "--remedy", "void", "--reason", "true")
    assert f"about match {match} is upheld" in ruled
    assert "No appeal." in desk.says("boss", "organise", "appeals")
    assert "  The ruling:\n  | true\n" in desk.says("boss", "organise", "appeals", "--all")


@pytest.mark.parametrize(
    ("verified", "told", "listed"),
    [
        (True, "rules, dice and result agree at all 7 exchanges.", "(it replays)"),
        (False, "The transcript does not replay: diverged at exchange 3", "(it does not replay)"),
        (None, "It could not be re-simulated: diverged at exchange 3", "(it could not be re-simulated)"),
    ],
)
def test_an_appeal_tells_the_findings(desk: Desk, monkeypatch, verified: bool | None, told: str, listed: str) -> None:
    problem = {"problem": "diverged at exchange 3"} if not verified else {}
    findings: dict[str, object] = {"verified": verified, "exchanges": 7, "faults": [], "attempts": [], **problem}
    monkeypatch.setattr("deadheat.api.routes.rulings.league_appeals.review", lambda *_: findings)
    assert told in desk.says("ada", "appeal", desk.played.ids[1], "It was fast.")
    assert listed in desk.says("boss", "organise", "appeals")


def test_announcements(desk: Desk) -> None:
    assert "is published" in desk.says(
        "boss", "organise", "announce", "Finals", "On Sunday.", "--season", desk.played.season
    )
    assert "is removed" in desk.says("boss", "organise", "take-down", 1)


def test_the_audit_log_is_read_and_checked(desk: Desk) -> None:
    desk.says("boss", "organise", "void", desk.played.ids[0], "--reason", "a \u202e test")
    told = invoke("audit", f"match/{desk.played.ids[0]}", "--server", desk.server).stdout
    assert "boss: match-voided" in told and "\u202e" not in told
    checked = invoke("audit", "--check", "--server", desk.server).stdout
    assert "follows from the previous one" in checked
    assert invoke("audit", "--check", "--head", checked.split()[-1], "--server", desk.server).returncode == 0
    other = invoke("audit", "--check", "--head", "0" * 64, "--server", desk.server)
    assert_one_sentence(other, "the log was replaced", 1)


def test_a_season_is_exported(desk: Desk, tmp_path: Path) -> None:
    season = desk.played.season
    lines = invoke("export", str(season), "matches", "--server", desk.server).stdout.splitlines()
    assert [json.loads(line)["match_id"] for line in lines] == desk.played.ids
    file = tmp_path / "x.csv"
    done = invoke("export", str(season), "participants", "--csv", "-o", str(file), "--server", desk.server)
    assert done.returncode == 0
    assert file.read_text().startswith("match_id,seat,author,bot,")
    assert_one_sentence(invoke("export", "999", "matches", "--server", desk.server), "no season", 1)


def test_an_export_whose_reader_has_seen_enough_ends_without_a_word(desk: Desk) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "deadheat.cli.main", "export", str(desk.played.season), "matches"]
    try:
        at = ["--server", desk.server]
        done = subprocess.run([*command, *at], cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_export_that_breaks_off_leaves_no_file_that_looks_whole(desk: Desk, tmp_path: Path, monkeypatch) -> None:
    def breaks_off(*_: object) -> Iterator[bytes]:
        yield b"one\n"
        yield b"two\n"
        raise Refused(0, "no-answer", "the server is gone")

    monkeypatch.setattr("deadheat.cli.server.api_client.Client.export", breaks_off)
    new, old = tmp_path / "new.jsonl", tmp_path / "old.jsonl"
    old.write_text("whole\n")
    for file in (new, old):
        done = invoke("export", "1", "matches", "-o", str(file), "--server", desk.server)
        assert_one_sentence(done, "the server is gone", 3)
    assert [(file.name, file.read_text()) for file in tmp_path.glob("*.jsonl*")] == [("old.jsonl", "whole\n")]


def test_an_export_takes_the_place_of_no_pipe(desk: Desk, tmp_path: Path) -> None:
    """It replaces no device either, because operators write to /dev/null."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        words = ("export", str(desk.played.season), "matches", "-o", str(pipe), "--server", desk.server)
        assert invoke(*words).returncode == 0
        assert reader.communicate(timeout=60)[0].startswith('{"match_id"')
    assert pipe.is_fifo()
