"""The tree that bots play in, kept in memory for all boxes of a host.

Theory of operation
-------------------
Once a page of a file has been read from a disk, the next read is two hundred times as fast, in any box: 32 of 32 bits
passed that way. Looking up a missing name leaves a similar trace. So bots never read from a disk. One container per
judge image, the *keeper*, copies the image's /play (see deploy/images/play.py) into a tmpfs volume once, locks all its
pages in memory and waits. Walls mount that volume read-only. A file system in memory has no backing store to search and
evicts no locked page, so no bot's action there changes anything that another could time.

The keeper is found by its name, so all workers of a host share one, and it costs the size of the tree: 62 MB for core.
Like the image it outlives them; `deploy/images/build --force` removes it. On a cold machine with the image `full`, the
copy takes longer than init would wait, so opening a wall waits for the copy; init waits for the lock.
"""

from __future__ import annotations

import contextlib
import time

import docker
from docker.errors import APIError, NotFound
from docker.types import DriverConfig, LogConfig, Mount

from deadheat.sandbox.box import SandboxError

RESIDENT_LABEL = "deadheat.resident"
MEMORY_OPTIONS = "mode=755,nr_inodes=100000"
# IPC_LOCK: lock memory beyond every limit.
CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "IPC_LOCK", "MKNOD"]
CONFLICT = 409
COPY = "cp -a /play/. /resident/"
KEEPER = f"[ -e /resident/complete ] || {COPY} && exec /sbin/judge-init --keep /resident"
COPY_SECONDS = 20.0
"""How long a wall waits for the copy: nobody renews a series' lease of 30 s meanwhile. The copy then goes on."""

LOOK_SECONDS = 0.1

_complete: set[tuple[str, str]] = set()
"""The keepers (id, start) that this process has seen complete. To list others' processes, the engine runs ps."""


def resident_tree(client: docker.APIClient, image_id: str) -> Mount:
    """Return the mount of the tree for a wall, once its keeper has copied it. Raises SandboxError: it has not, or has
    ended; and the engine's own errors.
    """
    name = f"deadheat-play-{image_id.removeprefix('sha256:')[:12]}"
    mount = _volume(name, "/play", read_only=True)
    with contextlib.suppress(NotFound, SandboxError):
        if _life(client, name) in _complete:  # as usual
            return mount
    give_up_at = time.monotonic() + COPY_SECONDS
    while True:
        try:
            client.start(name)
            break
        except NotFound:
            if time.monotonic() > give_up_at:
                raise
        if not _create_keeper(client, image_id, name):  # another worker does, but the engine does not find it yet
            time.sleep(LOOK_SECONDS)
    while (life := _life(client, name)) not in _complete:
        # While the copy lasts, its shell has these words in its arguments too.
        if not any(COPY in " ".join(process) for process in client.top(name)["Processes"]):
            _complete.add(life)
            break
        if time.monotonic() > give_up_at:
            raise SandboxError("engine", f"the bots' files are still being copied after {COPY_SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)
    return mount


def _life(client: docker.APIClient, name: str) -> tuple[str, str]:
    """Return a container's id and start: a restarted one may have to copy again."""
    found = client.inspect_container(name)
    state = found["State"]
    if not state["Running"]:
        ended = f"has ended with code {state['ExitCode']}"
        raise SandboxError("engine", f"the container that holds the bots' files {ended}")
    return found["Id"], state["StartedAt"]


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
