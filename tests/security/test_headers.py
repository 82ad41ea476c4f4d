"""The headers of every answer for browsers and proxies, errors and files included."""

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


FINE = ("/", "/static/site.css", "/healthz", "/metrics", "/v1/games", "/v1/openapi.json")
NOT_THERE = ("/nowhere", "/static/nothing", "/seasons/1/statistics")
OTHERS = (
    *(("HEAD", "/", 200), ("GET", "/account", 303), ("POST", "/sign-in", 403)),
    *(("BREW", "/v1/games", 405), ("POST", "/v1/users", 422), ("GET", "/v1/seasons", 500)),
)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [*(("GET", path, 200) for path in FINE), *(("GET", path, 404) for path in NOT_THERE), *OTHERS],
)
def test_every_answer_has_them(site: Site, monkeypatch, method: str, path: str, status: int) -> None:
    monkeypatch.setattr("deadheat.api.routes.seasons.league_seasons.seasons", explode if status == 500 else seasons)
    answer = site.client.request(method, path, json={} if method == "POST" and "/v1" in path else None)
    assert answer.status_code == status
    for name, begins in ALWAYS.items():
        assert answer.headers[name].startswith(begins), name
    assert "unsafe" not in answer.headers["content-security-policy"] and "server" not in answer.headers
    assert "planted" not in answer.text


def test_a_body_that_is_too_large_is_refused_with_them(site: Site) -> None:
    answer = site.client.post("/v1/users", content=b"x" * 10**6, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert ALWAYS.keys() <= answer.headers.keys()


def test_over_https_browsers_are_told_to_stay_there(site: Site) -> None:
    assert "strict-transport-security" not in site.client.get("/").headers
    assert site.client.get("https://league/").headers["strict-transport-security"] == "max-age=31536000"
    assert "strict-transport-security" in site.beside(site_url="https://league.example").client.get("/").headers


def test_what_somebody_got_by_token_or_session_is_kept_by_nobody(site: Site) -> None:
    assert site.client.get("/v1/users/me", headers=site.author("ada")).headers["cache-control"] == "no-store"
    assert site.client.get("/v1/tokens", headers={"Authorization": "Bearer no"}).headers["cache-control"] == "no-store"
    browser = Browser(site).sign_in("ada")
    assert browser.client.get("/account").headers.get_list("cache-control") == ["no-store"]
    assert browser.client.get("/v1/bots").headers["cache-control"] == "no-store"
    assert browser.client.get("/").headers["cache-control"] == "no-cache"
