"""The engine's settings that confine a box. `sandbox.seccomp` has the system calls."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import docker
from docker.types import LogConfig, Mount, Ulimit

from deadheat.sandbox import seccomp
from deadheat.sandbox.box import Limits
from deadheat.sandbox.host import weight
from deadheat.sandbox.runtimes import Runtime

CAPABILITIES = ["KILL", "SETUID", "SETGID"]  # of a wall, until it has made its maker (see images/init.c)
ALONE_CAPABILITIES = [
    *CAPABILITIES,
    "SETPCAP",
]  # of the init of a single run, which drops them before the program starts
MASKED = """
/proc/acpi /proc/asound /proc/kcore /proc/keys /proc/latency_stats /proc/sched_debug /proc/scsi /proc/timer_list
/proc/timer_stats /sys/devices/virtual/powercap /sys/firmware

/proc/buddyinfo /proc/diskstats /proc/interrupts /proc/key-users /proc/locks /proc/pagetypeinfo /proc/pressure
/proc/schedstat /proc/softirqs /proc/vmstat /proc/zoneinfo
/proc/sys/fs/aio-nr /proc/sys/fs/dentry-state /proc/sys/fs/file-nr /proc/sys/fs/inode-nr /proc/sys/fs/inode-state

/proc/sys/kernel/pty /dev/pts
"""
"""Paths that a box does not see. First, as by default with engines, the machine and its keys. Then host-wide counts and
lists, which one bot can change and another can read: /proc/locks shows even the byte ranges of locks held in other
containers. (Runtimes need /proc/stat and /proc/meminfo; those remain.) Last, terminals: a host has 4096 for all."""

READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
"""What changes the host. The rest of /proc, which rooms do not have, is where a wall maps their users."""

CORE_BYTES = 1
"""Too little for a core file, and the only limit that keeps the kernel from piping a crash into a program of the host,
started as root outside the box (core(5)). A bot cannot lower it, see `sandbox.seccomp`."""


def host_config(
    client: docker.APIClient, mounts: list[Mount], limits: Limits, runtime: Runtime, *, wall: bool = False
) -> Any:
    """Return all settings that confine a container: a wall, or one that runs a single program."""
    most = {"nofile": limits.open_files, "fsize": limits.file_bytes, "core": CORE_BYTES, "msgqueue": 0, "memlock": 0}
    filter_of_calls = seccomp.profile(limits.building, says_eperm=runtime.gvisor, rooms=wall)
    tmp = f"size={limits.tmp_bytes},nr_inodes={limits.tmp_inodes},mode=1777,nosuid,nodev,noexec"
    config = client.create_host_config(
        network_mode="none",
        read_only=True,
        mounts=mounts,
        tmpfs={"/tmp": tmp, **limits.scratch},
        cap_drop=["ALL"],
        cap_add=CAPABILITIES if wall else ALONE_CAPABILITIES,
        # AppArmor's usual profile forbids mounts, in rooms too. It would guard /proc and /sys, which no room has.
        security_opt=["no-new-privileges:true", f"seccomp={filter_of_calls}", *(["apparmor=unconfined"] * wall)],
        mem_limit=limits.memory_bytes,
        memswap_limit=limits.memory_bytes,  # equal to the memory limit: no swap
        pids_limit=limits.processes,
        cpuset_cpus=limits.cpus or None,
        cgroup_parent=weight.parent(limits.building, runtime.systemd),
        ipc_mode="none",
        sysctls={"kernel.shmmni": "0", "kernel.msgmni": "0", "kernel.sem": "0 0 0 0"},  # nothing outlives a match
        ulimits=[Ulimit(name=name, soft=value, hard=value) for name, value in most.items()],
        log_config=LogConfig(type="none"),
        auto_remove=True,
    )
    # The library has no arguments for these.
    config["ReadonlyPaths"] = READ_ONLY if wall else ["/proc"]  # all of it: see `to_be_killed_first`
    config["MaskedPaths"] = MASKED.split()
    runtime.adapt(config, limits)
    return config


def to_be_killed_first(pid: int) -> None:
    """Make the kernel, when out of memory, kill a build's first process before init, however little memory it uses: a
    dead init looks like our failure. The process cannot undo this, because its /proc is read-only. In matches init does
    this.
    """
    with contextlib.suppress(OSError):  # it has already ended
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000", "ascii")
