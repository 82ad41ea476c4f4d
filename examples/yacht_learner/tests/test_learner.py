"""The learner learns, what it writes plays without NumPy, and what was kept of it is as strong as the page says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent

TRAINED = """
import sys
from pathlib import Path
import train
train.train(Path(sys.argv[1]), 1.0, print)
"""

KEPT = """
import shutil, sys
from pathlib import Path
import numpy as np
import network, train
layers = [(np.array([row for row, _ in rows]).T, np.array([bias for _, bias in rows])) for rows in network.LAYERS]
kept = train.Network(layers)
train.write(Path(sys.argv[1]), kept)
print(train.compare(train.student_of(Path(sys.argv[1]), kept), "greedy", 40))
"""


def ran(program, folder):
    return subprocess.run(
        [sys.executable, "-c", program, folder], cwd=HERE, capture_output=True, text=True, check=True, timeout=120
    ).stdout


def plays(folder, matches):
    """Play a bot as a program under the referee's clock; return its faults."""
    command = [
        sys.executable,
        "-m",
        "deadheat.cli.main",
        "play",
        "yacht-auction",
        str(folder),
        "house:random",
        "--json",
    ]
    options = ["--sandbox", "local", "--matches", str(matches), "--transcripts", str(folder.parent / "transcripts")]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout.splitlines()[-1])["summary"]["bots"][0]["faults"]


def test_it_learns_and_writes_a_bot_that_plays(tmp_path):
    ran(TRAINED, tmp_path / "bot")
    assert {path.name for path in (tmp_path / "bot").glob("*.py")} == {"main.py", "network.py", "yacht_auction.py"}
    assert "numpy" not in "".join(path.read_text() for path in (tmp_path / "bot").glob("*.py"))
    assert plays(tmp_path / "bot", 1) == {}


def test_the_kept_weights_beat_greedy_and_answer_in_time(tmp_path):
    # It wins far more than four standard deviations above this bound (docs/how-to/train.md).
    assert float(ran(KEPT, tmp_path / "bot").split()[-1]) > 0.7
    assert plays(tmp_path / "bot", 1) == {}
