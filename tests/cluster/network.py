"""Machines of a test: network namespaces on one bridge, each with a host name and a boot of its own.

Theory of operation
-------------------
`Network` moves the thread that enters it into a fresh network namespace, in which there is nothing but a bridge; it is
back where it was when it leaves. So the host's own interfaces and packet filter are never touched, and what the thread
starts or connects meanwhile (servers, clients, a database's driver) is in the tests' network.

A `Machine` is a process that sleeps in network, mount and host name spaces of its own, with an interface whose other
end is on the bridge. Programs are started in those spaces. Process numbers and control groups are the host's, because
the Docker Engine is, and workers read the counters of its containers by process number.

The kernel takes all of it away with the last process that is in it, and every process here is killed with the thread
that started it: a test that is itself killed leaves no interface, no name and no server behind.
"""

import ctypes
import itertools
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

BRIDGE = "bridge"
SUBNET = "10.77.0"
PROJECT = Path(__file__).resolve().parents[2]
BOOT_ID = "/proc/sys/kernel/random/boot_id"
PROGRAMS = ("ip", "iptables", "nsenter", "setpriv", "unshare")

_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_C = ctypes.CDLL(None, use_errno=True)


def missing() -> str | None:
    """Return why machines are impossible here, if they are."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"these programs are missing: {', '.join(absent)}" if absent else None


class Network:
    """See the top of the file. `folder`: where the machines keep their files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.machines: dict[str, Machine] = {}
        self._numbers = itertools.count(10)
        self._home = -1

    def __enter__(self) -> Self:
        self._home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        _call(_C.unshare, _CLONE_NEWNET)
        try:
            _ip("link", "set", "lo", "up")
            _ip("link", "add", BRIDGE, "type", "bridge")
            _ip("address", "add", f"{SUBNET}.1/24", "dev", BRIDGE)
            _ip("link", "set", BRIDGE, "up")
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for machine in self.machines.values():
            machine.close()
        self._leave()

    def _leave(self) -> None:
        _call(_C.setns, self._home, _CLONE_NEWNET)
        os.close(self._home)

    def machine(self, name: str) -> "Machine":
        self.machines[name] = Machine(name, f"{SUBNET}.{next(self._numbers)}", self.folder / name)
        return self.machines[name]

    def remove(self, machine: "Machine") -> None:
        del self.machines[machine.name]
        machine.close()

    def forget_addresses(self) -> None:
        """Make all machines forget an address that has moved to another machine."""
        _ip("neigh", "flush", "all")
        for machine in self.machines.values():
            machine.do("ip", "neigh", "flush", "all")


class Machine:
    """One host. Its folder is its disk."""

    def __init__(self, name: str, address: str, folder: Path) -> None:
        self.name, self.address, self.folder = name, address, folder
        self.environment: dict[str, str] = {}
        self.started: dict[str, subprocess.Popen[bytes]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        (folder / "boot_id").write_text(f"{uuid.uuid4()}\n")
        prepare = f'hostname "{name}" && mount --bind "{folder}/boot_id" {BOOT_ID} && echo ready && exec sleep infinity'
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "--uts", "sh", "-c", prepare],
            stdout=subprocess.PIPE,
            preexec_fn=die_with_us,  # noqa: PLW1509  one thread, or one whose locks we do not need
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"ready\n", f"machine {name} did not start"
        self._link = f"to-{name}"
        _ip("link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", str(self._holder.pid))
        _ip("link", "set", self._link, "master", BRIDGE, "up")
        self.do("ip", "address", "add", f"{address}/24", "dev", "eth0")
        self.do("ip", "link", "set", "eth0", "up")
        self.do("ip", "link", "set", "lo", "up")

    def do(self, *command: str | Path, user: str = "") -> str:
        """Run a program there to its end, and return its output."""
        done = subprocess.run(self._inside(user, command), capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 0, f"{self.name}: {command}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self, name: str, *command: str | Path, user: str = "", environment: Mapping[str, str] = {}) -> None:
        """Start a program there; its output is `NAME.log` in the machine's folder."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.started[name] = subprocess.Popen(
                self._inside(user, command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/" if user else PROJECT,
                env={**os.environ, **self.environment, **environment},
                start_new_session=True,
                preexec_fn=die_with_us,  # noqa: PLW1509
            )

    def processes(self, word: str = "") -> list[int]:
        """Return the processes that run there and have the word in their command line."""
        space = Path(f"/proc/{self._holder.pid}/ns/net").readlink()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == self._holder.pid:
                continue
            try:
                if (entry / "ns/net").readlink() == space and word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:  # it has just ended
                continue
        return found

    def signal(self, number: signal.Signals, word: str = "") -> int:
        """Send a signal to all processes there, and return their number."""
        found = self.processes(word)
        for pid in found:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        return len(found)

    def kill(self, word: str = "") -> None:
        """Kill everything as a power failure would: SIGKILL to all, and again to processes started meanwhile."""
        while self.signal(signal.SIGKILL, word):
            time.sleep(0.02)
            for process in self.started.values():
                process.poll()  # so that no zombie remains

    def stop(self, name: str, seconds: float = 60) -> None:
        """Send SIGTERM and wait for the end: a worker continues for 20 s, and may take 25 more to hand work back."""
        process = self.started.pop(name)
        process.terminate()
        process.wait(seconds)

    def cut(self, *addresses: str) -> None:
        """Lose every packet to and from these addresses, silently, from now on."""
        for address in addresses:
            for chain, side in (("INPUT", "-s"), ("OUTPUT", "-d")):
                self.do("iptables", "-w", "-A", chain, side, address, "-j", "DROP")

    def heal(self) -> None:
        """Undo every `cut`."""
        self.do("iptables", "-w", "-F")

    def close(self) -> None:
        self.kill()
        for process in self.started.values():
            process.wait()
        self._holder.kill()
        self._holder.wait()
        assert self._holder.stdout is not None
        self._holder.stdout.close()

    def _inside(self, user: str, command: Sequence[str | Path]) -> list[str]:
        enter = ["nsenter", "--target", str(self._holder.pid), "--net", "--mount", "--uts", "--wd=."]
        if user:  # changing the user cancels the request to die with us, so repeat it
            switch = ["--reuid", user, "--regid", user, "--init-groups", "--pdeathsig", "KILL"]
            enter += ["setpriv", *switch]
        return [*enter, *map(str, command)]


def die_with_us(number: signal.Signals = signal.SIGKILL) -> None:
    """Let the kernel send this signal to the calling process, a new one, when the thread that started it has ended."""
    _C.prctl(_PR_SET_PDEATHSIG, number)


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"


def _call(function: "ctypes._NamedFuncPointer", *arguments: int) -> None:
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
