"""What was played stays as it was judged: archives and transcripts of earlier code are right for ever."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.cli.command import ROOT, invoke

GOLDEN = ROOT / "tests" / "archives"
ARCHIVES = [file.stem for file in sorted(GOLDEN.glob("*.zip"))]


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_of_earlier_code_stays_right(name: str) -> None:
    done = invoke("season", "verify", str(GOLDEN / f"{name}.zip"), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    checks = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(check["verified"] for check in checks)
    (told,) = (check["detail"] for check in checks if check["check"] == "transcripts")
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as file:
        played = sum(member.endswith("/transcript.jsonl") for member in file.namelist())
    assert told.startswith(f"{played} matches played again")


@pytest.mark.parametrize("name", ARCHIVES)
def test_each_transcript_in_it_is_right_by_itself(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as file:
        for member in file.namelist():
            if member.endswith("/transcript.jsonl"):
                path = tmp_path / member.replace("/", "-")
                path.write_bytes(file.read(member))
                done = invoke("verify", str(path), "--json")
                assert done.returncode == 0, (member, done.stdout, done.stderr)
                assert json.loads(done.stdout)["verified"] is True
