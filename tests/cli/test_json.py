"""Every verb with output can print JSON, and exit codes are those of docs/client.md."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

from tests.api.served import served
from tests.api.site import Site
from tests.cli.command import ROOT, invoke, verbs

EXCEPTIONS = {
    "replay": "the transcript is JSON Lines itself",
    "export": "JSON Lines by itself",
    "run": "it becomes the command that it runs",
    **dict.fromkeys(("serve", "api", "worker", "scheduler"), "it runs until it is stopped"),
    **dict.fromkeys(("migrate", "upgrade"), "its exit code is the answer"),
}
"""Verbs without --json, each with the reason."""

PAGE = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")


def test_every_verb_has_json_or_a_reason() -> None:
    found = {verb: any("--json" in option.opts for option in command.params) for verb, command in verbs()}
    assert len(found) > 50
    assert {verb for verb, has_json in found.items() if not has_json} == set(EXCEPTIONS)
    _, _, after = PAGE.partition("These have no `--json`: ")
    stated, _, _ = after.partition("\n\n")
    assert set(re.findall(r"`([a-z]+)`", stated)) - {"download"} | {"export"} == set(EXCEPTIONS)


def test_a_new_bot_and_its_loss_are_told_to_programs(tmp_path: Path) -> None:
    folder = tmp_path / "bot"
    made = json.loads(invoke("new", "yacht-auction", "--language", "python", "--folder", str(folder), "--json").stdout)
    assert Path(made["file"]).is_file()
    assert all("deadheat" in step["command"] or "less" in step["command"] for step in made["next"])
    transcript = ROOT / "tests" / "transcripts" / "yacht-auction-forfeit.jsonl"
    lost = json.loads(invoke("explain", str(transcript), "--seat", "2", "--json").stdout)
    won = json.loads(invoke("explain", str(transcript), "--seat", "1", "--json").stdout)
    fault, happy = (lost, won) if lost["fault"] else (won, lost)
    assert fault["verified"] and fault["happened"] and fault["cure"]
    assert str(fault["seat"]) in happy["others"] and happy["fault"] is None
    assert 0 < len(happy["last_exchanges"]) <= 4
    assert "play yacht-auction" in fault["again"]
    first = json.loads(invoke("season", "settings", "--json").stdout.splitlines()[0])
    assert first.keys() == {"name", "default", "changes_until", "meaning"}


def test_exit_codes_are_the_documented_ones(tmp_path: Path) -> None:
    documented = [int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)]
    assert documented == [0, 1, 2, 3, 130]  # 130, Ctrl-C: tests/cli/test_submit.py
    site = Site(tmp_path)
    with served(site.app) as server:
        assert invoke("season", "list", "--server", server).returncode == 0
        assert invoke("matches", "99", "--server", server).returncode == 1, "refused"
    site.close()
    assert invoke("matches", "--no-such-option").returncode == 2
    assert invoke("explain", str(tmp_path / "missing.jsonl"), "--seat", "1").returncode == 2
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        port = nobody.getsockname()[1]
        assert invoke("whoami", "--server", f"http://127.0.0.1:{port}", "--token", "dh_x").returncode == 3
