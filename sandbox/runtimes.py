"""Adapts boxes to container runtimes other than the engine's usual one.

gVisor's `runsc` puts its own kernel between the bot and ours: the *sentry*, an ordinary process without privileges; a
second one, the *gofer*, opens files for it. Tried with Debian 12's version, 0.0~20221219:

* Host FIFOs work only with ``--host-fifo=open``, and only from a writable mount: otherwise the gofer refuses to open
  them for writing. The folder belongs to root inside as well, and bots are not root.
* A host FIFO does not report how much there is to read, without which Java reads nothing: init relays the bot's input
  through a pipe inside (0.1 ms).
* Its network stack needs ``--network=none`` (on new kernels it mistakes every namespace for the host's own and gives
  up). It obeys a system-call filter only with ``--oci-seccomp``, and then refuses only with EPERM.
* The bot's actions cost threads and memory of the sentry, in the container's own control groups: usage there is the
  bot's doing, but a limit on threads there kills the sentry. So processes are limited inside, by user.
* The sentry joins no unified control group besides those of version 1 (`sandbox.cgroup.join_unified` does, for the
  pressure). The threads of the bot's first process cannot be told from outside, so there is no run-queue delay.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from docker.types import Ulimit

from deadheat.sandbox.box import Limits, SandboxError

GVISOR_FLAGS = ("--network=none", "--host-fifo=open", "--oci-seccomp")
HOST_THREADS_PER_PROCESS = 64
"""The sentry may need a host thread for each pair of a running thread and an address space: for 64 processes, 330."""

MARGIN_MS, GVISOR_MARGIN_MS = 3, 10
"""How close to a deadline verdicts on reference bots must be right. Under gVisor, 6 of 300 sleepers that aimed 3 ms
before it were late through its kernel's activity, which no counter shows; of 400 that aimed 10 ms before, none was."""

_HOW = "docs/how-to/machines.md says how to register one"
_USER_NAMESPACES = {"name=rootless": "is rootless", "name=userns": "maps users (userns-remap)"}

NO_PARSER = "this machine's kernel has AppArmor, and its parser is missing"
NO_PARSER_CURE = "install the Debian package apparmor on the engine's machine"


@dataclass(frozen=True, slots=True)
class Runtime:
    """A container runtime of the engine."""

    name: str  # the engine's; "" if it does not name its default
    gvisor: bool = False
    systemd: bool = False  # the engine leaves control groups to it

    def __str__(self) -> str:
        return f"{self.name} (gVisor)" if self.gvisor else self.name or "the engine's default"

    @property
    def margin_ms(self) -> int:
        return GVISOR_MARGIN_MS if self.gvisor else MARGIN_MS

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the environment variables that tell init about the runtime."""
        return {"JUDGE_RELAY": "1"} if self.gvisor else {}

    def adapt(self, config: dict[str, Any], limits: Limits) -> None:
        """Adapt the engine's host configuration of a box to this runtime."""
        if self.name:
            config["Runtime"] = self.name
        if not self.gvisor:
            return
        for mount in config["Mounts"]:
            if mount["Target"] == "/judge":
                mount["ReadOnly"] = False
        config["PidsLimit"] = limits.processes * HOST_THREADS_PER_PROCESS
        config["Ulimits"].append(Ulimit(name="nproc", soft=limits.processes, hard=limits.processes))


NO_RUNTIME = Runtime("")
"""The runtime of bots outside an engine."""


def find_runtime(info: Mapping[str, Any], wanted: str) -> Runtime:
    """Find the runtime `wanted` ("": the default) in the engine's description. Raises SandboxError: none that works, or
    the engine maps users. It then has 65536, none of them for a bot: we choose from a billion.
    """
    for option, how in _USER_NAMESPACES.items():
        if option in (info.get("SecurityOptions") or ()):
            why = f"the Docker Engine {how}, so bots cannot get users of their own; use one that runs as root"
            raise SandboxError("no-runtime", why)
    name = wanted or info.get("DefaultRuntime") or ""
    known = info.get("Runtimes") or {}
    if wanted and wanted not in known:
        there = ", ".join(sorted(known)) or "none"
        raise SandboxError("no-runtime", f"the Docker Engine has no runtime {wanted!r} (it has {there}); {_HOW}")
    systemd = info.get("CgroupDriver") == "systemd"
    entry = known.get(name) or {}
    program = PurePath(entry.get("path") or "").name
    if not program.startswith("runsc"):
        return Runtime(name, "runsc" in (entry.get("runtimeType") or ""), systemd)
    if missing := [flag for flag in GVISOR_FLAGS if flag not in (entry.get("runtimeArgs") or ())]:
        raise SandboxError("no-runtime", f"the runtime {name!r} is registered without {' '.join(missing)}; {_HOW}")
    return Runtime(name, gvisor=True, systemd=systemd)


def why_not_started(error: Exception) -> str:
    """Return why a container does not start, in the engine's words, or in ours if those are unclear."""
    if re.search(r"apparmor_parser.*executable file not found", str(error), re.DOTALL):
        return f"{NO_PARSER}: {NO_PARSER_CURE}"
    unseen = re.search(r"bind source path does not exist: (\S+)/box-", str(error))
    return f"the engine does not see {unseen[1]}, which must have the same path for it" if unseen else str(error)
