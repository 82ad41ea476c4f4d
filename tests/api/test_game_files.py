"""Browsers get only the `web` of a game's folder, at an address that changes with the folder."""

from __future__ import annotations

from deadheat.engine.games.folder import folders, web_address
from tests.api.site import Site
from tests.league.people import GAME


def test_a_games_picture_has_an_address_for_ever(site: Site) -> None:
    address = web_address(GAME, "picture.svg")
    assert address is not None
    answer = site.client.get(address)
    assert answer.status_code == 200 and answer.content == (folders()[GAME].path / "web" / "picture.svg").read_bytes()
    assert answer.headers["Content-Type"].startswith("image/svg+xml") and "immutable" in answer.headers["Cache-Control"]
    assert "default-src" in answer.headers["Content-Security-Policy"]
    assert address in site.client.get(f"/games/{GAME}", headers={"Accept": "text/html"}).text


def test_nothing_else_of_the_folder_is_served(site: Site) -> None:
    address = web_address(GAME, "picture.svg")
    assert address is not None
    start = address.removesuffix("picture.svg")
    other = start.replace(start.split("/")[4], "0" * 12)
    inside = ("../rules.py", "%2e%2e/rules.py", "..%2frules.py", "/etc/passwd", "nothing.js", "")
    outside = (f"{other}picture.svg", "/static/games/unheard-of/0/picture.svg", f"/static/games/{GAME}")
    for path in (*(f"{start}{path}" for path in inside), *outside):
        assert site.client.get(path).status_code == 404, path
