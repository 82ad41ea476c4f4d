"""`deadheat serve` as its operator starts it, with bots as plain programs: a deployment within seconds."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from deadheat.cli.server.api_client import Client, Refused

ROOT = Path(__file__).parent.parent
START_SECONDS = 60


@dataclass(frozen=True)
class Deployment:
    """A deployment's address, and the environment for its operator's commands."""

    url: str
    environment: Mapping[str, str]
    organiser: str
    """The organiser's token."""


def free_port() -> int:
    """Return a TCP port for a server that is to be started, which nobody else gets meanwhile. It is below those that
    the kernel hands out, and as long as this process lives, a name tells the others that it is taken.
    """
    end = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in range(end // 2, end):
        with suppress(OSError), socket.socket(socket.AF_UNIX) as name, socket.socket() as probe:
            name.bind(f"\0deadheat-test-port-{port}")
            probe.bind(("127.0.0.1", port))
            name.detach()  # stays open
            return port
    raise AssertionError(f"all ports below {end} are taken")


@contextmanager
def serving(folder: Path, **settings: str) -> Iterator[Deployment]:
    """Run a deployment with its data in `folder`; settings are named as variables without DEADHEAT_."""
    port = free_port()
    own = {"DATA_DIR": str(folder), "PORT": str(port), "SANDBOX": "local", "JUDGE_UNFIT": "true"} | settings
    environment = {**os.environ, **{f"DEADHEAT_{name}": value for name, value in own.items()}}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "deadheat.cli.main", "serve"], cwd=ROOT, env=environment, stdout=log, stderr=log
        )
    try:
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + START_SECONDS
        while not _ready(url):
            assert server.poll() is None and time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.2)
        yield Deployment(url, environment, (folder / "organiser.token").read_text().strip())
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def _ready(url: str) -> bool:
    try:
        with Client(url) as client:
            client.call("GET", "/readyz")
    except Refused:
        return False
    return True
