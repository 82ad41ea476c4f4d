"""The judging environment as a page, as JSON, and as the reason to refuse an upload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from deadheat.league.service.bots.environments import record_environment
from deadheat.sandbox.box import Limits
from deadheat.sandbox.environment import Image, _building, _language, _running
from deadheat.sandbox.languages import LANGUAGES
from tests.api.site import Site
from tests.api.test_pages import page
from tests.conftest import JUDGE_IMAGE

IMAGE = Image(JUDGE_IMAGE, "sha256:" + "1" * 64, "2" * 64, "2026-11-20T16:34:01.001435662Z", 383_091_345)
CORE = {
    "image": asdict(IMAGE),
    "cpu": "A Processor",
    "languages": [_language(LANGUAGES[name], f"{name} 1.2.3") for name in ("python", "c", "cpp")],
    "missing": ["Java", "Rust"],
    "running": _running(Limits()),
    "building": _building(),
}


def describe(site: Site, found: Mapping[str, Any] = CORE) -> None:
    site.world.write(record_environment, "f1", IMAGE.name, found, "w1")


def test_before_any_worker_has_looked_that_is_what_is_said(site: Site) -> None:
    site.problem(404, site.client.get("/v1/environment"), "not-found")
    assert f"No worker has described the image {JUDGE_IMAGE} yet" in page(site, "/environment").text


def test_languages_commands_and_limits_are_told(site: Site) -> None:
    describe(site)
    found = site.ok(200, site.client.get("/v1/environment"))
    assert [language["name"] for language in found["languages"]] == ["python", "c", "cpp"]
    assert found["languages"][1]["build"] == LANGUAGES["c"].build and found["missing"] == ["Java", "Rust"]
    assert found["running"]["memory_bytes"] == Limits().memory_bytes and found["building"]["seconds"] == 60
    assert found["uploads"]["unpacked_files"] == 2000 and found["described_at"].startswith("2026-")


def test_the_page_says_the_same(site: Site) -> None:
    describe(site)
    text = " ".join(page(site, "/environment").text.split())
    for said in (
        "cpp 1.2.3",
        LANGUAGES["cpp"].build,
        "lacks Java, Rust;",
        "512 MiB, /tmp included",
        "A Processor",
        "60 s",
    ):
        assert said in text
    assert "/environment" in page(site, "/").links


def test_a_games_page_offers_only_programs_that_this_server_takes(site: Site) -> None:
    describe(site)
    text = " ".join(page(site, "/games/yacht-auction").text.split())
    assert "random Python 3 starter C The smallest bot, in each language. hello-c C hello-cpp C++ 20" in text
    assert "learn from. counter C expert Python 3 greedy Python 3" in text
    assert "hello-java" not in text


def test_an_upload_in_a_language_that_is_not_there_is_refused(site: Site) -> None:
    author = site.author()
    bot = site.bot(author)
    site.ok(202, site.upload(author, bot, b"class Main {}", "Bot.java"))  # unknown so far; the build will show
    describe(site)
    refused = site.problem(422, site.upload(author, bot, b"class Main {}", "Bot.java"), "bad-upload")
    assert refused["detail"] == "This server's image has no Java; it has Python 3, C, C++ 20."
    site.ok(202, site.upload(author, bot, b"print()", "bot.py"))
