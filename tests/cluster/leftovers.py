"""Finds what a cluster at rest must not leave on the machines: containers, processes, mounts, folders.

A wall stays, empty and with its folder, for as long as its worker lives (see `sandbox.rooms`).
"""

from pathlib import Path
from typing import Any

import docker

from deadheat.sandbox.containers import LABEL, is_locked
from tests.cluster.cluster import WORKERS, Cluster

WALL = 2
"""The processes of an empty wall: its launcher and its maker."""

OURS = b"deadheat.cli.main"
"""A word in the command line of every process of the league; each descends from one that was started on its machine."""


def leftovers(cluster: Cluster) -> list[str]:
    """Return everything that is left of matches, each in a sentence; call it while nothing is played."""
    return [*_containers(cluster), *_processes(cluster), *_folders(cluster), *_mounts(cluster)]


def _containers(cluster: Cluster) -> list[str]:
    client = docker.APIClient(base_url=cluster.docker_host or None, version="auto", timeout=60)
    try:
        boxes = client.containers(all=True, filters={"label": LABEL})
        mine = [box for box in boxes if box["Labels"][LABEL].startswith(f"{cluster.folder}/")]
        left = [box for box in mine if not _is_empty_wall(client, box)]
    finally:
        client.close()
    return [f"container {box['Id'][:12]} is {box['State']}" for box in left]


def _is_empty_wall(client: docker.APIClient, box: dict[str, Any]) -> bool:
    if "--rooms" not in box["Command"] or not is_locked(Path(box["Labels"][LABEL])):
        return False
    try:
        return len(client.top(box["Id"])["Processes"]) == WALL
    except docker.errors.APIError:  # it has just ended
        return False


def _processes(cluster: Cluster) -> list[str]:
    found = []
    for machine in cluster.machines():
        started = {process.pid for process in machine.started.values()}
        for pid in machine.processes():
            command = _read(Path(f"/proc/{pid}/cmdline"))
            if command and not (OURS in command and _stems_from(pid, started)):
                found.append(f"process {pid} on {machine.name}: {command.replace(bytes(1), b' ').decode()}")
    return found


def _stems_from(pid: int, started: set[int]) -> bool:
    """Return whether a process is one of these or descends from one. A process that outlived its parent does not."""
    while pid not in started and pid > 1:
        pid = int((_read(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split() or [b"", b"1"])[1])
    return pid in started


def _folders(cluster: Cluster) -> list[str]:
    runs = [cluster.machine(name).folder / "run" for name in WORKERS]
    found = [path for run in runs if run.is_dir() for path in run.iterdir() if path.name != "slots"]
    return [f"folder {path}" for path in found if not ((path / "judge" / "line").exists() and is_locked(path))]


def _mounts(cluster: Cluster) -> list[str]:
    places = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    kept = {str(cluster.blob_folder)}
    return [f"mount at {place}" for place in places if place.startswith(f"{cluster.folder}/") and place not in kept]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has just ended
        return b""
