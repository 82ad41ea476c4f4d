"""The wheel that a league offers."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from contextlib import closing
from pathlib import Path

from deadheat.api.pages.download import NAME
from deadheat.league.service.bots.environments import record_environment
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
    assert "deadheat/league.json" in inside
    assert not [name for name in inside if "__pycache__" in name or "/tests/" in name]


def test_the_wheel_knows_the_league_that_offers_it(tmp_path: Path) -> None:
    with closing(Site(tmp_path, site_url="https://league.example")) as site:
        document = {"languages": [{"name": "python"}, {"name": "c"}]}
        site.world.write(record_environment, "f1", site.world.settings.image, document, "w1")
        wheels = [site.client.get(f"/download/{NAME}").content for _ in range(2)]
    assert wheels[0] == wheels[1]
    with zipfile.ZipFile(io.BytesIO(wheels[0])) as archive:
        content = archive.read("deadheat/league.json")
        (record,) = (archive.read(name) for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
        files = {line.split(",")[0] for line in record.decode().splitlines()}
        assert files == set(archive.namelist()), "pip and others install what RECORD lists"
    assert json.loads(content) == {"server": "https://league.example", "languages": ["c", "python"]}
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    assert f"deadheat/league.json,sha256={digest},{len(content)}" in record.decode().splitlines()
