"""Some of the zoo under gVisor, one case of each kind; ./scripts/zoo runs all of it there.

The runtime is registered with an engine that is started for this: the one of this host stays as it is.
"""

import faulthandler
import shutil
import subprocess
import sys

import pytest

CASES = ("half-a-line", "kills-itself", "network", "signals", "survivors")
"""A missed deadline, an end of its own, walls, init's safety, and an end that it fights; five seconds each."""


@pytest.mark.containers
@pytest.mark.all
def test_bots_meet_the_same_verdicts_and_walls_under_gvisor() -> None:
    if shutil.which("runsc") is None:
        pytest.skip("runsc is not installed (apt-get install runsc)")
    faulthandler.cancel_dump_traceback_later()  # the time-out is meant for tests, not for starting engines
    chosen = " or ".join(f"test_a_match[{case}]" for case in CASES)
    command = [sys.executable, "-m", "tests.hostile.under", "runsc", "-q", "-k", chosen]
    done = subprocess.run(command, capture_output=True, text=True, timeout=540, check=False)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2000:]
    assert f"\n{len(CASES)} passed" in done.stdout
