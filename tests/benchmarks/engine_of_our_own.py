"""A Docker Engine for one purpose: own data, own socket, and a control group or runtimes that the host's lacks."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from deadheat.league.config import Settings
from deadheat.sandbox import cgroup
from tests.benchmarks.cgroups import MeasuredGroup
from tests.cluster.network import die_with_us

START_SECONDS = 60
ANSWER_SECONDS = 20

MEMORY = Path("/dev/shm")
ROOM_BYTES = 4e9
"""The largest image, twice."""


class PrivateEngine:
    """Starts dockerd, copies one image into it, and stops it again."""

    def __init__(
        self, image: str, group: MeasuredGroup | None = None, runtimes: Mapping[str, object] | None = None
    ) -> None:
        """`group`: the control group of the engine and its containers. `runtimes`: as in the engine's daemon.json."""
        self._folder = Path(tempfile.mkdtemp(prefix="deadheat-engine-", dir=in_memory()))
        self.url = f"unix://{self._folder}/engine.sock"
        self._group = group
        outer = dict(os.environ)
        configuration = self._folder / "daemon.json"
        configuration.write_text(json.dumps({"runtimes": runtimes or {}}))
        self.start()
        save = subprocess.Popen(["docker", "save", image], env=outer, stdout=subprocess.PIPE)
        load = ["docker", "--host", self.url, "load", "--quiet"]
        subprocess.run(load, stdin=save.stdout, check=True, capture_output=True)
        assert save.wait() == 0

    def start(self) -> None:
        """Start it, or start it again after `stop` with all that it had."""
        group = self._group
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "dockerd",
                    f"--host={self.url}",
                    f"--data-root={self._folder}/data",
                    f"--exec-root={self._folder}/exec",
                    f"--pidfile={self._folder}/pid",
                    f"--config-file={self._folder}/daemon.json",
                    *([f"--cgroup-parent=/{group.name}/containers"] if group else []),
                    "--exec-opt=native.cgroupdriver=cgroupfs",  # systemd's driver does not accept such a parent
                    "--bridge=none",
                    "--iptables=false",
                    "--ip6tables=false",
                    "--ip-forward=false",
                ],
                stdout=log,
                stderr=log,
                preexec_fn=self._begin,  # noqa: PLW1509  we have one thread
            )
        self._wait()

    def _begin(self) -> None:
        """Prepare the process that becomes dockerd: if we are killed, it ends its containers and itself."""
        die_with_us(signal.SIGTERM)
        if self._group:
            self._group.join("engine")

    def stop(self) -> None:
        """End its containers, then the engine."""
        self._process.terminate()
        self._process.wait(60)

    def _wait(self) -> None:
        give_up_at = time.monotonic() + START_SECONDS
        ask = ["timeout", str(ANSWER_SECONDS), "docker", "--host", self.url, "version"]
        while subprocess.run(ask, check=False, capture_output=True).returncode:
            if time.monotonic() > give_up_at or self._process.poll() is not None:
                log = (self._folder / "log").read_text(errors="replace")[-2000:]
                self.close()
                raise RuntimeError(f"a Docker Engine of our own did not start:\n{log}")
            time.sleep(0.2)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def in_memory() -> Path | None:
    """Return where files are in memory, if there is room and programs may run there. On ext4 each new file looks past
    those that were deleted in the last minutes, so what one engine leaves to be deleted makes the next one dearer.
    """
    if not MEMORY.is_dir():
        return None
    found = os.statvfs(MEMORY)
    runs = not found.f_flag & os.ST_NOEXEC
    return MEMORY if runs and found.f_bavail * found.f_frsize > ROOM_BYTES else None


@contextmanager
def measured(joined: bool) -> Iterator[tuple[MeasuredGroup, Path]]:
    """Use an engine of our own, whose CPU time the group counts, and this process's if it has `joined`."""
    group = MeasuredGroup(f"deadheat-bench-{os.getpid()}")
    folder = Path(tempfile.mkdtemp(prefix="deadheat-bench-", dir=in_memory()))
    engine = PrivateEngine(Settings().image, group)
    os.environ["DOCKER_HOST"] = engine.url
    parents = cgroup.PLAY, cgroup.BUILD
    cgroup.PLAY, cgroup.BUILD = (f"{group.name}/{parent}" for parent in parents)  # else boxes would not be in the group
    if joined:
        group.join("run")
    try:
        yield group, folder
    finally:
        cgroup.PLAY, cgroup.BUILD = parents
        if joined:
            group.leave()
        engine.close()
        shutil.rmtree(folder, ignore_errors=True)
        group.close()
