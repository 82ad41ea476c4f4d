"""The sandbox on a Docker Engine: rooms for matches (`sandbox.rooms`), a container for each build or run under gVisor
(`sandbox.containers`).
"""

import contextlib
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import APIError, NotFound
from docker.utils import kwargs_from_env

from deadheat.sandbox.box import Box, Limits, Program, SandboxError
from deadheat.sandbox.cgroup import sweep_unified, thaw, wanted_weight
from deadheat.sandbox.containers import LABEL, ContainerBox, EngineFailure, is_locked
from deadheat.sandbox.rooms import Room, Wall
from deadheat.sandbox.runtimes import find_runtime, why_not_started

ENGINE_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class Image:
    """One judge image; `recipe` is the hash that deploy/images/build gave it, `created_at` is the engine's value."""

    name: str
    id: str
    recipe: str
    created_at: str
    size_bytes: int


class DockerSandbox:
    """Opens boxes on the engine that the environment names (DOCKER_HOST, or the local socket)."""

    def __init__(self, image: str, run_dir: Path, runtime: str = "", only_plays: bool | None = None) -> None:
        """`run_dir` must have the same path for the engine. `runtime` is one registered with it; "" is its default.
        `only_plays`: whether bots outweigh everything else here (`sandbox.cgroup`); None leaves that to workers.
        Raises SandboxError: no engine answers, it lacks the image or a runtime that works, or it maps users.
        """
        self._image = image
        self.only_plays = only_plays
        self._run_dir = run_dir.resolve()
        self._run_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._walls: list[Wall] = []
        try:
            self._client = docker.APIClient(**kwargs_from_env(), version="auto", timeout=ENGINE_TIMEOUT_S)
            self._client.trust_env = False  # engines have no proxy; looking for one took a tenth of each request
            self._client.inspect_image(image)
            self.runtime = find_runtime(self._client.info(), runtime)
        except NotFound as error:
            cure = f"build it with deploy/images/build {image.rpartition(':')[2].partition('-')[0]}"
            raise SandboxError("no-image", f"the engine has no image {image}; {cure}") from error
        except EngineFailure as error:
            raise SandboxError("no-engine", f"no Docker Engine answers: {error}") from error
        sweep_unified(self._run_dir)

    def open(self, program: Program, limits: Limits) -> Box:
        weight = None if self.only_plays is None else wanted_weight(limits.building, self.only_plays)
        try:
            if limits.building or self.runtime.gvisor:
                return ContainerBox(self._client, self._image, self._run_dir, program, limits, self.runtime, weight)
            return Room(self._wall(limits.cpus), program, limits, weight)
        except (*EngineFailure, OSError) as error:
            raise SandboxError("engine", f"no box could be opened: {why_not_started(error)}") from error

    def _wall(self, cpus: str) -> Wall:
        """Return a wall on these processors: one that is there, one without rooms pinned anew, or a new one."""
        for wall in [*self._walls]:
            wall.broken = wall.broken or wall.has_ended()
            if wall.broken and not wall.rooms:
                self._walls.remove(wall)
                wall.close()
        usable = [wall for wall in self._walls if not wall.broken]
        for wall in sorted(usable, key=lambda wall: wall.cpus != cpus):
            if wall.cpus == cpus or not wall.rooms:
                wall.pin(cpus)
                return wall
        self._walls.append(Wall(self._client, self._image, self._run_dir, self.runtime, cpus))
        return self._walls[-1]

    def prove(self) -> None:
        """Check that boxes can be opened here. Raises SandboxError: why not, in a sentence."""
        with tempfile.TemporaryDirectory() as nothing:
            program = Program(Path(nothing), ("/bin/true",), "true")
            with closing(self.open(program, Limits())) as box:
                box.start()

    def image(self) -> Image:
        """Return the image with which boxes are opened now; its tag may have moved to another."""
        try:
            details = self._client.inspect_image(self._image)
        except EngineFailure as error:
            raise SandboxError("no-image", f"the engine does not describe its image {self._image}: {error}") from error
        recipe = (details["Config"].get("Labels") or {}).get("deadheat.recipe", "")
        return Image(self._image, details["Id"], recipe, details["Created"], details["Size"])

    def sweep(self) -> int:
        """Remove containers that were frozen, or never ran, when their owner was killed. Return how many."""
        swept = 0
        try:
            alive = {"label": LABEL, "status": ["created", "running", "paused"]}
            for there in self._client.containers(all=True, filters=alive):
                folder = Path(there["Labels"][LABEL])
                if folder.parent != self._run_dir:
                    continue
                if not (folder.exists() if there["State"] == "created" else is_locked(folder)):
                    with contextlib.suppress(APIError):  # it is just going, or does not go now
                        thaw(there["Id"])
                        self._client.remove_container(there["Id"], force=True)
                        swept += 1
        except EngineFailure as error:
            raise SandboxError("engine", f"the engine does not list its containers: {error}") from error
        sweep_unified(self._run_dir)
        return swept

    def close(self) -> None:
        """End all containers, and close the connection to the engine."""
        while self._walls:
            self._walls.pop().close()
        self._client.close()
