"""The authors' command as a wheel that matches this server and is built from its files."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response

from deadheat import __version__
from deadheat.api.deps import Shared
from deadheat.api.edge.caching import NOWHERE
from deadheat.api.pages.render import render
from deadheat.api.services import SITE
from deadheat.league.errors import NotFound

router = APIRouter(prefix="/download")

TREE = SITE.parents[1]
NAME = f"deadheat-{__version__}-py3-none-any.whl"
BUILD_SECONDS = 60

_building = threading.Lock()


@router.get("")
def download(shared: Shared, request: Request) -> Response:
    """Show how to install the command."""
    site = shared.settings.site_url or str(request.base_url).rstrip("/")
    wheel = f"{site}/download/{NAME}" if _can_build() else None
    page = render(shared, "download.html", wheel=wheel, site=site, file=NAME, version=__version__)
    kept = {} if shared.settings.site_url else {"Cache-Control": NOWHERE}  # it then contains the request's Host
    return Response(page, headers=kept, media_type="text/html")


@router.get("/{name}")
def wheel(name: str) -> Response:
    """Return the wheel. Processes with the same files return the same bytes."""
    if name != NAME or not _can_build():
        raise NotFound("download", name)
    with _building:
        content = _built()
    return Response(content, media_type="application/octet-stream")


def _can_build() -> bool:
    """Say whether this server runs from a source tree, because an installed package cannot be built again."""
    return (TREE / "pyproject.toml").is_file()


@cache
def _built() -> bytes:
    with tempfile.TemporaryDirectory(prefix="deadheat-wheel-") as folder:
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
        subprocess.run(command, cwd=TREE, check=True, capture_output=True, timeout=BUILD_SECONDS)
        return (Path(folder) / NAME).read_bytes()
