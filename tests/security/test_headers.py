"""The headers of every answer for browsers and proxies, errors and files included."""

from __future__ import annotations

import pytest

from deadheat.league.service.seasons.seasons import seasons
from tests.api.browser import Browser
from tests.api.site import Site

ALWAYS = {
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=()",
}


def explode(*_: object) -> None:
    raise RuntimeError("planted detail")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("GET", "/static/site.css", 200),
        ("GET", "/healthz", 200),
        ("GET", "/metrics", 200),
        ("GET", "/v1/games", 200),
        ("GET", "/v1/openapi.json", 200),
        ("GET", "/account", 303),
        ("GET", "/nowhere", 404),
        ("GET", "/static/nothing", 404),
        ("BREW", "/v1/games", 405),
        ("POST", "/sign-in", 403),
        ("POST", "/v1/users", 422),
        ("GET", "/v1/seasons", 500),
        ("GET", "/seasons/1/statistics", 404),
    ],
)
def test_every_answer_has_them(site: Site, monkeypatch, method: str, path: str, status: int) -> None:
    monkeypatch.setattr("deadheat.api.routes.season.seasons.seasons", explode if status == 500 else seasons)
    answer = site.client.request(method, path, json={} if method == "POST" and "/v1" in path else None)
    assert answer.status_code == status
    for name, begins in ALWAYS.items():
        assert answer.headers[name].startswith(begins), name
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "server" not in answer.headers
    assert "planted" not in answer.text


def test_a_body_that_is_too_large_is_refused_with_them(site: Site) -> None:
    answer = site.client.post("/v1/users", content=b"x" * 10**6, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert ALWAYS.keys() <= answer.headers.keys()


def test_over_https_browsers_are_told_to_stay_there(site: Site) -> None:
    assert "strict-transport-security" not in site.client.get("/").headers
    assert site.client.get("https://league/").headers["strict-transport-security"] == "max-age=31536000"
    behind = site.beside(site_url="https://league.example")
    assert "strict-transport-security" in behind.client.get("/").headers


def test_what_somebody_got_by_token_or_session_is_kept_by_nobody(site: Site) -> None:
    ada = site.author("ada")
    assert site.client.get("/v1/users/me", headers=ada).headers["cache-control"] == "no-store"
    assert site.client.get("/v1/tokens", headers={"Authorization": "Bearer no"}).headers["cache-control"] == "no-store"
    browser = Browser(site).sign_in("ada")
    assert browser.client.get("/account").headers.get_list("cache-control") == ["no-store"]
    assert browser.client.get("/v1/bots").headers["cache-control"] == "no-store"
    assert browser.client.get("/").headers["cache-control"] == "no-cache"
