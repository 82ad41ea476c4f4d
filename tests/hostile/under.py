"""The zoo under another container runtime than the engine's own. ./scripts/zoo sees to what it needs and starts it:

    python -m tests.hostile.under runsc [PYTEST ARGUMENT ...]

The runtime is registered with an engine that is started for this alone and deleted afterwards.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

from deadheat.league.config import Settings
from deadheat.sandbox.runtimes import GVISOR_FLAGS
from tests.benchmarks.engine_of_our_own import PrivateEngine

RUNTIMES = {"runsc": list(GVISOR_FLAGS)}
"""The flags with which each is registered; its program has the same name."""


def zoo_under(runtime: str, arguments: Sequence[str]) -> int:
    program = shutil.which(runtime)
    if program is None:
        sys.exit(f"there is no {runtime} here; ./scripts/zoo installs it")
    began = time.monotonic()
    engine = PrivateEngine(Settings().image, runtimes={runtime: {"path": program, "runtimeArgs": RUNTIMES[runtime]}})
    try:
        print(f"An engine with {runtime} runs after {time.monotonic() - began:.0f} s.", flush=True)
        environment = {**os.environ, "DOCKER_HOST": engine.url, "DEADHEAT_RUNTIME": runtime}
        # The kernel's usual runtime gives the engine's control group its processors; runsc expects them there.
        prepare = ["docker", "run", "--rm", "--network=none", Settings().image, "/bin/true"]
        subprocess.run(prepare, env=environment, check=True)
        command = [sys.executable, "-m", "pytest", "tests/hostile/test_zoo.py", *arguments]
        return subprocess.run(command, env=environment, check=False).returncode
    finally:
        engine.close()


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in RUNTIMES:
        sys.exit(f"usage: python -m tests.hostile.under RUNTIME [PYTEST ARGUMENT ...]; RUNTIME: {', '.join(RUNTIMES)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaves no engine behind
    return zoo_under(sys.argv[1], sys.argv[2:])


if __name__ == "__main__":
    raise SystemExit(main())
