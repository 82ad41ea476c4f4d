"""Answers that are the same for everyone, and files, are compressed for clients that read gzip."""

from __future__ import annotations

import pytest

from tests.api.site import Site

PLAIN = {"Accept-Encoding": "identity"}


@pytest.mark.parametrize("path", ["/", "/static/site.css", "/static/reference/swagger-ui.css"])
def test_what_everyone_sees_is_smaller_and_says_the_same(site: Site, path: str) -> None:
    site.world.ranked(3)
    plain = site.client.get(path, headers=PLAIN)
    packed = site.client.get(path, headers={"Accept-Encoding": "br, gzip"})
    assert plain.headers.get("content-encoding") is None
    assert packed.headers["content-encoding"] == "gzip"
    assert all("accept-encoding" in one.headers["vary"].lower() for one in (plain, packed))
    assert packed.content == plain.content and int(packed.headers["content-length"]) < len(plain.content) / 2
    for tag in (plain.headers["etag"], packed.headers["etag"]):
        for accepted in ("gzip", "identity"):
            again = site.client.get(path, headers={"If-None-Match": tag, "Accept-Encoding": accepted})
            assert (again.status_code, again.content) == (304, b"")
            assert "content-encoding" not in again.headers


@pytest.mark.parametrize("accepted", ["identity", "gzip;q=0", "br, gzip; q=0.0", "xgzip"])
def test_nobody_is_sent_what_they_do_not_read(site: Site, accepted: str) -> None:
    for path in ("/", "/static/site.css"):
        assert "content-encoding" not in site.client.get(path, headers={"Accept-Encoding": accepted}).headers


def test_what_has_a_secret_of_its_reader_or_is_small_is_sent_as_it_is(site: Site) -> None:
    for path in ("/sign-up", "/static/icon.svg"):
        assert "content-encoding" not in site.client.get(path, headers={"Accept-Encoding": "gzip"}).headers
