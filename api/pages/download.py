"""The authors' command as a wheel that matches this server and is built from its files."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import tempfile
import threading
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from fastapi import APIRouter, Request, Response

from deadheat import __version__
from deadheat.api.deps import Shared
from deadheat.api.edge.caching import NOWHERE
from deadheat.api.pages.render import render
from deadheat.api.services import SITE
from deadheat.league.errors import NotFound
from deadheat.league.service.bots.bots import installed_languages

router = APIRouter(prefix="/download")

TREE = SITE.parents[1]
NAME = f"deadheat-{__version__}-py3-none-any.whl"
STAMP = "deadheat/league.json"
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
def wheel(shared: Shared, name: str) -> Response:
    """Return the wheel. Processes with the same files and settings return the same bytes."""
    if name != NAME or not _can_build():
        raise NotFound("download", name)
    with shared.db.reading() as session:
        languages = installed_languages(session)
    about: dict[str, object] = {} if languages is None else {"languages": sorted(languages)}
    if shared.settings.site_url:  # not the request's Host, which is anybody's choice
        about["server"] = shared.settings.site_url
    with _building:
        content = _built(json.dumps(about).encode())
    return Response(content, media_type="application/octet-stream")


def _can_build() -> bool:
    """Say whether this server runs from a source tree, because an installed package cannot be built again."""
    return (TREE / "pyproject.toml").is_file()


@lru_cache(1)
def _built(about: bytes) -> bytes:
    """Build the wheel, with what its command should know about this league as a file that its RECORD lists."""
    line = f"{STAMP},sha256={base64.urlsafe_b64encode(sha256(about).digest()).decode().rstrip('=')},{len(about)}\n"
    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="deadheat-wheel-") as folder:
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
        subprocess.run(command, cwd=TREE, check=True, capture_output=True, timeout=BUILD_SECONDS)
        with ZipFile(Path(folder) / NAME) as built, ZipFile(buffer, "w", ZIP_DEFLATED) as wheel:
            wheel.writestr(ZipInfo(STAMP), about)
            for each in built.infolist():
                more = line if each.filename.endswith(".dist-info/RECORD") else ""
                wheel.writestr(each, built.read(each) + more.encode())
    return buffer.getvalue()
