"""The wheel that a league offers."""

from __future__ import annotations

import io
import zipfile

from deadheat.api.pages.download import NAME
from tests.api.site import Site


def test_the_page_leads_to_a_wheel_that_holds_what_authors_need(site: Site) -> None:
    page = site.client.get("/download")
    assert page.status_code == 200 and f"pipx install http://league/download/{NAME}" in page.text
    wheel = site.client.get(f"/download/{NAME}")
    assert wheel.status_code == 200
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        inside = set(archive.namelist())
    needed = {
        "deadheat/__init__.py",
        "deadheat/games/yacht_auction/bots/starter/main.c",
        "deadheat/cli/main.py",
        "deadheat/dashboards/site/static/replay.js",
        "deadheat/games/liars_dice/protocol.md",
        "deadheat/league/migrations/script.py.mako",
    }
    assert needed <= inside
    assert not [name for name in inside if "__pycache__" in name or "/tests/" in name]


def test_there_is_no_other_version_to_have(site: Site) -> None:
    assert site.client.get("/download/deadheat-0.0.1-py3-none-any.whl").status_code == 404
