"""The audit of dependencies is never green by mistake."""

from __future__ import annotations

import json
import subprocess
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


def test_the_lock_is_read() -> None:
    found = audit.locked(audit.LOCK.read_text(encoding="utf-8"))
    assert {"fastapi", "uvicorn", "sqlmodel", "typing-extensions", "pip-audit"} <= found
