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
    games = {"games/yacht_auction/bots/starter/main.c", "games/liars_dice/protocol.md"}
    needed = games | {"__init__.py", "cli/main.py", "dashboards/site/static/replay.js"}
    assert {f"deadheat/{name}" for name in needed | {"league/migrations/script.py.mako"}} <= inside
    assert site.client.get("/download/deadheat-0.0.1-py3-none-any.whl").status_code == 404, "there is no other version"
    assert not [name for name in inside if "__pycache__" in name or "/tests/" in name]
