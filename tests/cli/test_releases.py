"""The releases: which commit each one is, and that a league of an older one is upgraded."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deadheat.league.database import Database
from deadheat.league.storage.schema import FIRST_RELEASE
from tests.cli.command import ROOT, invoke, succeeded
from tests.league.ground import drifted, settings

RELEASES = re.findall(r"^## (\d\S+) .*\n\nCommit `(\w+)`", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
LEAGUE = ROOT / "tests" / "archives" / "0.2.0-league.tar.xz"

SAME = (
    "SELECT id, series_id, season_id, number, seed, state, rated, transcript_sha256 FROM match ORDER BY id",
    "SELECT match_id, seat, version_id, rank FROM participant ORDER BY match_id, seat",
    "SELECT id, log_sha256, standings FROM rating_snapshot ORDER BY id",
    "SELECT name, role, password_hash FROM user_account ORDER BY id",
    "SELECT id, bot_id, number, state, source_sha256, program_sha256 FROM bot_version ORDER BY id",
)


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_each_release_is_named_by_its_commit() -> None:
    headings = re.findall(r"^## (\d\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert [name for name, _ in RELEASES] == headings
    assert RELEASES[-1][1] == FIRST_RELEASE, "the oldest one, which can upgrade what is older still"


def test_that_commit_is_the_release() -> None:
    if not (ROOT / ".git").exists() or git("rev-parse", "--is-shallow-repository").strip() == "true":
        pytest.skip("this is no checkout with its history")
    for name, commit in RELEASES:
        git("merge-base", "--is-ancestor", commit, "HEAD")
        first = re.search(r"^## (.*)", git("show", f"{commit}:CHANGELOG.md"), re.MULTILINE)
        assert first is not None and first[1].startswith(f"{name} ")


def read(file: Path) -> list[list[Any]]:
    with closing(sqlite3.connect(file)) as database:
        return [database.execute(query).fetchall() for query in SAME]


def test_a_league_of_the_first_release_is_upgraded_and_its_matches_play_as_they_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(LEAGUE) as file:
        file.extractall(tmp_path)
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path / "league"))
    before = read(tmp_path / "league" / "deadheat.sqlite3")
    assert len(before[0]) == 6
    assert "0024" in succeeded(invoke("upgrade", "--backup", str(tmp_path / "backups"))).stdout
    assert read(tmp_path / "league" / "deadheat.sqlite3") == before
    upgraded = Database(settings(tmp_path / "league"))
    assert drifted(upgraded) is None
    upgraded.close()
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path / "again"))
    restored = succeeded(invoke("restore", str(tmp_path / "backups"))).stdout
    assert "6 transcripts, of which 6 end as they did" in restored
    assert read(tmp_path / "again" / "deadheat.sqlite3") == before
