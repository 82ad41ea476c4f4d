"""An author's commands on Windows and macOS, as far as a Linux machine can show (`tests.elsewhere` says how)."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deadheat.cli.local.transcripts import read
from deadheat.engine.core import Fault
from deadheat.engine.own_time import WALL_CLOCK
from tests.api.served import served
from tests.api.site import Site, token_in
from tests.author_session import SESSION, home
from tests.cli.command import GAME
from tests.elsewhere import environment_of, run_elsewhere

SYSTEMS = ("win32", "darwin")
CRLF = """import sys\r
sys.stdout.reconfigure(newline="\\r\\n")\r
exec(open("parts/player.py", encoding="utf-8").read())\r
"""


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_author_works_on_a_bot_and_uploads_it(system: str, site: Site, tmp_path: Path) -> None:
    folder = home(tmp_path)
    with served(site.app) as server:
        commands = [[server if word.startswith("http:") else word for word in words] for _, words in SESSION]
        done = run_elsewhere(system, folder, *commands, DEADHEAT_TOKEN=token_in(site.author("ada")))
    said = [text for _, text in done]
    assert [code for code, _ in done] == [0 if code == 3 else code for code, _ in SESSION], said
    assert not [text for text in said if "Traceback" in text]
    assert "my bot" in said[0] and ('deadheat play yacht-auction "my bot"' in said[0]) == (system == "win32")
    by_verb = {words[0]: text for (_, words), text in reversed([*zip(SESSION, said, strict=True)])}  # its first use
    for verb in ("play", "tournament", "replay", "explain", "verify"):
        assert WALL_CLOCK in by_verb[verb], by_verb[verb]
    expected = {
        "verify": "verified",
        "better": "base",
        "losses": "of 1 match would now be won",
        "submit": "version 1 is uploaded",
        "run": "only Linux",
    }
    for verb, sentence in expected.items():
        assert sentence in by_verb[verb], by_verb[verb]
    log = [json.loads(line) for line in (folder / "t" / "games.jsonl").read_bytes().splitlines()]
    assert sorted(game["number"] for game in log) == list(range(18)) and not any(game["faults"] for game in log)
    assert WALL_CLOCK in (folder / "t" / "report.html").read_text(encoding="utf-8")
    (kept, *_) = (folder / "kept").glob("*.jsonl")
    assert read(kept).about["time"] == "wall clock"


@pytest.mark.parametrize("system", SYSTEMS)
def test_crlf_counts_as_the_end_of_a_line_and_late_answers_and_crashes_as_faults(system: str, tmp_path: Path) -> None:
    new = ["new", GAME, "--language", "python", "--folder", "crlf"]
    run_elsewhere(system, tmp_path, new)
    (tmp_path / "crlf" / "parts").mkdir()
    (tmp_path / "crlf" / "main.py").rename(tmp_path / "crlf" / "parts" / "player.py")
    (tmp_path / "crlf" / "main.py").write_bytes(CRLF.encode())
    (tmp_path / "late.py").write_text("import time\ninput()\nprint('OK', flush=True)\ninput()\ntime.sleep(9)\n")
    (tmp_path / "crash.py").write_text("input()\nraise SystemError('no more')\n")
    (tmp_path / "broken.py").write_text("if:\n")
    play = ["play", GAME, "crlf", "--matches", "1", "--transcripts"]
    clean, late, crash, broken = run_elsewhere(
        system,
        tmp_path,
        [*play, "clean", "house:greedy"],
        [*play, "late", "late.py"],
        [*play, "crash", "crash.py"],
        [*play, "none", "broken.py"],
    )
    assert (clean[0], late[0], crash[0], broken[0]) == (0, 0, 1, 2)
    assert "no more" in crash[1] and "did not get past READY" in crash[1] and "SyntaxError" in broken[1]
    faults = {}
    for name in ("clean", "late"):
        (file,) = (tmp_path / name).glob("*.jsonl")
        faults[name] = read(file).result.faults
    assert faults == {"clean": {}, "late": {1: Fault.TIMEOUT}}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_tournament_that_ctrl_c_ends_is_continued(system: str, tmp_path: Path) -> None:
    words = ["tournament", GAME, "house:greedy", "house:random", "--games", "30", "--folder", "t", "--concurrency", "2"]
    command = [sys.executable, "-m", "tests.elsewhere", json.dumps([words])]
    environment = environment_of(system, tmp_path)
    started = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    log = tmp_path / "t" / "games.jsonl"
    while not log.exists() or not log.stat().st_size:
        assert started.poll() is None, started.communicate()
        time.sleep(0.01)
    started.send_signal(signal.SIGINT)
    said = started.communicate(timeout=60)[0].decode(errors="replace")
    played = len(log.read_bytes().splitlines())
    assert "exit code 130" in said and "To continue" in said and "Traceback" not in said, said
    assert 0 < played < 30
    ((code, text),) = run_elsewhere(system, tmp_path, ["tournament", "--resume", "t"])
    assert code == 0, text
    games = [json.loads(line) for line in log.read_bytes().splitlines()]
    assert len(games) == 30 and not any(game["faults"] for game in games)
