"""The audit of dependencies is never green by mistake."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.security import audit

LOCK = "Some_Package==1.0 \\\n    --hash=sha256:aa\n# via nobody\nother==2.1\n"
WANTED = audit.locked(LOCK)


def report(*packages: dict[str, Any]) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


GOOD = {"name": "some-package", "version": "1.0", "vulns": []}
OTHER = {"name": "other", "version": "2.1", "vulns": []}
BAD = {"name": "other", "version": "2.1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.2"]}]}
SKIPPED = {"name": "other", "skip_reason": "Dependency not found"}


@pytest.mark.parametrize(
    ("text", "good", "says"),
    [
        (report(GOOD, OTHER), True, "No known vulnerability in 2 packages"),
        (report(GOOD, BAD), False, "other 2.1: PYSEC-1, mended in ['2.2']"),
        (report(BAD), False, "PYSEC-1"),
        (report(GOOD, SKIPPED), None, "NOT CHECKED for known vulnerabilities: all but 1 of them"),
        (report(GOOD), None, "NOT CHECKED"),
        (report(SKIPPED), None, "none of them"),
        (report(), None, "none of them"),
        ("", None, "NOT CHECKED"),
        ("[]", None, "NOT CHECKED"),
        ("no json", None, "NOT CHECKED"),
    ],
)
def test_what_was_not_asked_about_was_not_checked(text: str, good: bool | None, says: str) -> None:
    found, told = audit.verdict(text, WANTED)
    assert found is good
    assert says in told


def test_an_empty_lock_is_no_clean_one() -> None:
    assert audit.verdict(report(), set())[0] is None


@pytest.mark.parametrize(
    ("text", "wish", "code"),
    [("good", "required", 0), ("bad", "", 1), ("bad", "required", 1), ("", "", 3), ("", "required", 1)],
)
def test_not_checked_fails_if_required_and_is_loud_if_not(monkeypatch, capsys, text: str, wish: str, code: int) -> None:
    reports = {"good": report(GOOD, OTHER), "bad": report(GOOD, BAD), "": ""}
    done = subprocess.CompletedProcess([], 0, reports[text], "cannot be reached")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    monkeypatch.setattr(audit, "locked", lambda _: WANTED)
    monkeypatch.setenv("DEADHEAT_AUDIT", wish)
    assert audit.main() == code
    if not text:
        assert "NOT CHECKED" in capsys.readouterr().err


def test_a_deployment_asks_only_about_what_it_installs(monkeypatch, capsys) -> None:
    """A hole in a tool for development is no reason against a deployment."""
    runtime = audit.LOCK.with_name("requirements.lock")
    names = audit.locked(runtime.read_text(encoding="utf-8"))
    assert names < audit.locked(audit.LOCK.read_text(encoding="utf-8")) and "pip-audit" not in names
    told = report(*({"name": name, "version": "1", "vulns": []} for name in names))
    asked: list[list[str]] = []

    def answered(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess([], 0, told, "")

    monkeypatch.setattr(subprocess, "run", answered)
    monkeypatch.setenv("DEADHEAT_AUDIT", "required")
    assert audit.main(runtime) == 0 and str(runtime) in asked[0]
    assert audit.main() == 1, "nobody told about the packages for development"


@pytest.mark.parametrize("tagged", [False, True])
def test_a_release_is_not_green_unless_its_dependencies_were_checked(tagged: bool, tmp_path: Path) -> None:
    for name in (".ci/run", "scripts/check", "scripts/test"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('#!/bin/sh\necho "${DEADHEAT_AUDIT:-}" >>told\n')
        (tmp_path / name).chmod(0o755)
    shutil.copy(audit.LOCK.parent / ".ci" / "run", tmp_path / ".ci" / "run")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], *([["tag", "v1"]] if tagged else [])):
        subprocess.run([*git, *words], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "DEADHEAT_AUDIT"}
    subprocess.run([tmp_path / ".ci" / "run"], check=True, env=environment)
    assert (tmp_path / "told").read_text() == ("required\n" if tagged else "\n") * 2


def test_the_lock_is_read() -> None:
    found = audit.locked(audit.LOCK.read_text(encoding="utf-8"))
    assert {"fastapi", "uvicorn", "sqlmodel", "typing-extensions", "pip-audit"} <= found
