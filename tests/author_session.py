"""What an author does in an evening, by the installed command:  python tests/author_session.py

.github/workflows/authors.yml runs this on Windows and macOS with the wheel, tests/cli/test_any_computer.py where these
are imitated. It needs nothing but Python and Deadheat.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

GAME = "yacht-auction"
HOME = "bot's home"

SESSION: Sequence[tuple[int, list[str]]] = (
    (0, ["new", GAME, "--language", "python", "--folder", "my bot"]),
    (0, ["play", GAME, "my bot", "house:greedy", "--matches", "2", "--transcripts", "kept", "--seed", "x"]),
    (0, ["tournament", GAME, "my bot", "house:greedy", "--games", "4", "--keep", "all", "--folder", "t"]),
    (0, ["tournament", "--resume", "t", "--games", "6", "house:random"]),
    (0, ["replay", "t/games/000000.jsonl", "--round", "3"]),
    (0, ["view", "t/games/000000.jsonl", "--output", "match.html"]),
    (0, ["view", "t", "--output", "report.html"]),
    (0, ["explain", "t/games/000000.jsonl", "--seat", "1"]),
    (0, ["verify", "t/games/000000.jsonl"]),
    (0, ["play", GAME, "my bot", "recorded:t/games/000000.jsonl#2", "--matches", "1", "--transcripts", "again"]),
    (0, ["rate", "t/games.jsonl"]),
    (0, ["sprt", "--counts", "60,20,20", "--elo0", "0", "--elo1", "20"]),
    (0, ["better", "my bot"]),
    (0, ["better", "my bot"]),
    (0, ["better", "my bot", "--history"]),
    (0, ["losses", "1", "my bot", "--offline"]),
    (0, ["diff", "t/games/000000.jsonl", "t/games/000000.jsonl"]),
    (3, ["submit", "my bot", "--game", GAME, "--name", "mine", "--no-wait", "--server", "http://127.0.0.1:9"]),
    (2, ["play", GAME, "my bot", "house:greedy", "--sandbox", "bwrap"]),
    (2, ["run", "--", "true"]),
)
"""Commands with their exit codes; nobody answers at that server, and the last two need Linux."""


GATE = 'panel = ["house:random"]\ngames = 2\n\n[[condition]]\nno_fault_in = 2\n'


def home(below: Path) -> Path:
    """Make a folder for a session, with a gate that is soon played, and a match that the bot has lost."""
    folder = below / HOME
    kept = folder / "my bot" / ".deadheat"
    (kept / "losses").mkdir(parents=True)
    lost = Path(__file__).with_name("transcripts") / "yacht-auction-example.jsonl"
    (kept / "losses" / "match-1-2.jsonl").write_bytes(lost.read_bytes())
    (kept / "gate.toml").write_text(GATE, encoding="utf-8")
    return folder


def main() -> int:
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = home(Path(name))
        environment = os.environ | {"DEADHEAT_TOKEN": "dh_none"}
        for code, words in SESSION:
            command = [sys.executable, "-m", "deadheat.cli.main", *words]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
            output = (done.stdout + done.stderr).decode("utf-8", "replace")
            failed = done.returncode != code or "Traceback" in output
            wrong += failed
            print(f"{'FAILED' if failed else 'ok'}: deadheat {' '.join(words)}: exit code {done.returncode}\n{output}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
