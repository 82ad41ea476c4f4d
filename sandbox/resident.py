"""The tree that bots play in, kept in memory for all boxes of a host.

Theory of operation
-------------------
Once a page of a file has been read from a disk, the next read is two hundred times as fast, in any box: 32 of 32 bits
passed that way. Looking up a missing name leaves a similar trace. So bots never read from a disk. One container per
judge image, the *keeper*, copies the image's /play (see deploy/images/play.py) into a tmpfs volume once, locks all its
pages in memory and waits. Walls mount that volume read-only. A file system in memory has no backing store to search and
evicts no locked page, so no bot's action there changes anything that another could time.

The keeper is found by its name, so all workers of a host share one, and it costs the size of the tree: 62 MB for core.
Like the image it outlives them; `deploy/images/build --force` removes it. A wall's maker waits until the tree is
complete (images/init.c), which on a cold machine with the image `full` takes a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import docker
from docker.errors import APIError, NotFound
from docker.types import DriverConfig, LogConfig, Mount

from deadheat.sandbox.box import SandboxError

RESIDENT_LABEL = "deadheat.resident"
MEMORY_OPTIONS = "mode=755,nr_inodes=100000"
# IPC_LOCK: lock memory beyond every limit.
CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "IPC_LOCK", "MKNOD"]
CONFLICT = 409
KEEPER = "[ -e /resident/complete ] || cp -a /play/. /resident/ && exec /sbin/judge-init --keep /resident"
COPY_SECONDS = 20.0
"""How long a wall waits for the copy: nobody renews a series' lease of 30 s meanwhile. The copy then goes on."""

LOOK_SECONDS = 0.1


def resident_tree(client: docker.APIClient, image_id: str) -> Mount:
    """Return the mount of the tree for a wall, which its keeper copies if need be. Raises the engine's errors."""
    name = f"deadheat-play-{image_id.removeprefix('sha256:')[:12]}"
    give_up_at = time.monotonic() + COPY_SECONDS
    while True:
        try:
            client.start(name)  # which may already run
            return _volume(name, "/play", read_only=True)
        except NotFound:
            if time.monotonic() > give_up_at:
                raise
        if not _create_keeper(client, image_id, name):  # another worker does, but the engine does not find it yet
            time.sleep(LOOK_SECONDS)


def await_tree(client: docker.APIClient, tree: Mount, complete: Callable[[float], bool]) -> None:
    """Wait until `complete`, which waits for this many seconds, says that the tree is. Raises SandboxError: it takes
    too long, or its keeper has ended; and the engine's errors.
    """
    give_up_at = time.monotonic() + COPY_SECONDS
    while not complete(LOOK_SECONDS):
        state = client.inspect_container(tree["Source"])["State"]
        if not state["Running"]:
            ended = f"has ended with code {state['ExitCode']}"
            raise SandboxError("engine", f"the container that holds the bots' files {ended}")
        if time.monotonic() > give_up_at:
            raise SandboxError("engine", f"the bots' files are still being copied after {COPY_SECONDS:.0f} s")


def _volume(name: str, where: str, *, read_only: bool) -> Mount:
    memory = DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": MEMORY_OPTIONS})
    return Mount(where, name, type="volume", read_only=read_only, no_copy=True, driver_config=memory)


def _create_keeper(client: docker.APIClient, image_id: str, name: str) -> bool:
    """Return whether it was created; otherwise another worker was faster."""
    config = client.create_host_config(
        network_mode="none",
        read_only=True,
        mounts=[_volume(name, "/resident", read_only=False)],
        cap_drop=["ALL"],
        cap_add=CAPABILITIES,
        security_opt=["no-new-privileges:true"],
        log_config=LogConfig(type="none"),
    )
    try:
        client.create_container(
            image_id,
            command=["/bin/sh", "-c", KEEPER],
            name=name,
            network_disabled=True,
            labels={RESIDENT_LABEL: image_id},
            host_config=config,
        )
    except APIError as error:
        if error.status_code != CONFLICT:
            raise
        return False
    return True
