"""The tree that bots play in, kept in memory for all boxes of a host.

Theory of operation
-------------------
Whoever has read a page of a file from a disk makes the next one's reading of it two hundred times as fast, whatever box
either is in: 32 of 32 bits passed so. A name that was looked for and is not there leaves a trace of the same kind. So
what bots read is never on a disk. One container for each judge image, the *keeper*, copies the image's /play (see
deploy/images/play.py) into a tmpfs volume once, locks every page of it in memory and waits; every box mounts that
volume, read-only and without times of access. A file system in memory looks nothing up elsewhere and evicts nothing
that is locked, so what one bot does there changes nothing that another could time.

The keeper is found by its name, so all workers of a host share one, and it costs the size of the tree: 62 MB for core.
It outlives them, as the image does; whoever rebuilds the image removes it (deploy/images/build), and boxes that have
mounted its volume keep it until they end. A box waits for a tree that is not complete yet.
"""

from __future__ import annotations

import docker
from docker.errors import APIError, NotFound
from docker.types import DriverConfig, LogConfig, Mount

RESIDENT_LABEL = "deadheat.resident"
MEMORY_OPTIONS = "mode=755,nr_inodes=100000"
# IPC_LOCK locks beyond every limit.
CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "IPC_LOCK", "MKNOD"]
CONFLICT = 409
KEEPER = "[ -e /resident/complete ] || cp -a /play/. /resident/ && exec /sbin/judge-init --keep /resident"


def resident_tree(client: docker.APIClient, image_id: str) -> Mount:
    """The mount of the tree for a box, whose keeper runs afterwards. Raises the engine's errors."""
    name = f"deadheat-play-{image_id.removeprefix('sha256:')[:12]}"
    try:
        client.start(name)
    except NotFound:
        _create_keeper(client, image_id, name)
        client.start(name)
    return _volume(name, "/play", read_only=True)


def _volume(name: str, where: str, *, read_only: bool) -> Mount:
    memory = DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": MEMORY_OPTIONS})
    return Mount(where, name, type="volume", read_only=read_only, no_copy=True, driver_config=memory)


def _create_keeper(client: docker.APIClient, image_id: str, name: str) -> None:
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
        if error.status_code != CONFLICT:  # another worker was quicker
            raise
