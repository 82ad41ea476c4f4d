"""Run Compose and the other programs that make a deployment."""

import os
import shutil
import subprocess

from tests.cli.command import ROOT

DEPLOY = ROOT / "deploy"


def compose_command() -> list[str] | None:
    """Return Docker's own `compose` if it is installed, otherwise Debian's docker-compose."""
    if shutil.which("docker"):
        known = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
        if known.returncode == 0:
            return ["docker", "compose"]
    return ["docker-compose"] if shutil.which("docker-compose") else None


def run(*command: str, seconds: float = 60, **environment: str) -> str:
    """Run a program, and return its stdout; if it fails, assert with its output."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout
