"""The settings with which a deployment refuses to start, before anything is started."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import httpx
import pytest

from deadheat.league.config import Settings
from deadheat.league.safety import SHORTEST_PASSWORD, refusal, unsafe_settings
from tests.api.site import InProcess, Site
from tests.cli.command import ROOT, in_one_process

SAFE = {
    "environment": "production",
    "database_url": "postgresql://deadheat:gGx1qkq0Zt0oXk8@db/deadheat",
    "broker_url": "redis://:7vXq0b1yQmO2sLk@queue:6379/0",
    "site_url": "https://league.example",
    "trusted_proxies": "10.0.0.2",
    "host": "0.0.0.0",
}
"""A safe deployment of several machines."""

PARTS = ("serve", "api", "worker", "scheduler")
"""The commands that start something."""


def settings(**changed: object) -> Settings:
    return Settings.model_validate(SAFE | changed)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"database_url": "", "broker_url": ""},
        {"database_url": "postgresql:///league", "broker_url": ""},
        {"broker_url": "redis://127.0.0.1:6379/0"},
        {"broker_url": "rediss://:7vXq0b1yQmO2sLk@queue:6379/0"},
    ],
)
def test_a_good_deployment_starts(changed: dict[str, str]) -> None:
    assert unsafe_settings(settings(**changed)) == []


@pytest.mark.parametrize(
    ("changed", "names", "says"),
    [
        ({"sandbox": "local"}, "SANDBOX", "without isolation"),
        ({"sandbox": "local", "host": "127.0.0.1"}, "SANDBOX", "without isolation"),
        ({"database_url": "postgresql://deadheat@db/x"}, "DATABASE_URL", "is empty"),
        ({"database_url": "postgresql://ada:deadheat@db/x"}, "DATABASE_URL", "well-known"),
        ({"database_url": "postgresql://ada:ada@db/x"}, "DATABASE_URL", "well-known"),
        ({"database_url": "postgresql://ada:Password123!@db/x"}, "DATABASE_URL", "well-known"),
        ({"database_url": "postgresql://ada:%63hangeme@db/x"}, "DATABASE_URL", "well-known"),
        ({"database_url": "postgresql://ada:x7Kq@db/x"}, "DATABASE_URL", "too short"),
        ({"database_url": "postgresql://ada:ada@localhost/x"}, "DATABASE_URL", "well-known"),
        ({"broker_url": "redis://queue:6379/0"}, "BROKER_URL", "is empty"),
        ({"broker_url": "redis://:redis@queue:6379/0"}, "BROKER_URL", "well-known"),
        ({"site_url": ""}, "SITE_URL", "plain text"),
        ({"site_url": "http://league.example"}, "SITE_URL", "plain text"),
        ({"trusted_proxies": ""}, "TRUSTED_PROXIES", "the https proxy"),
        ({"trusted_proxies": "10.0.0.2, *"}, "TRUSTED_PROXIES", "claim any address"),
        ({"trusted_proxies": "0.0.0.0/0"}, "TRUSTED_PROXIES", "claim any address"),
        ({"metrics_networks": "10.0.0.0/8, ::/0"}, "METRICS_NETWORKS", "names and states"),
        ({"database_url": "sqlite:////data/x.sqlite3"}, "DATABASE_URL", "cannot share"),
        ({"log_level": "DEBUG"}, "LOG_LEVEL", "dice"),
    ],
)
def test_what_is_not_safe_is_named_with_a_remedy(changed: dict[str, str], names: str, says: str) -> None:
    (found,) = unsafe_settings(settings(**changed))
    assert found.setting == f"DEADHEAT_{names}" and says in found.why
    assert all(sentence.endswith(".") for sentence in dataclasses.astuple(found)[1:3])
    assert str(found) in (refusal(settings(**changed)) or "")


def test_development_bears_everything_but_strangers_without_isolation() -> None:
    assert refusal(Settings()) is None
    assert unsafe_settings(Settings(sandbox="local")) == []
    (found,) = unsafe_settings(Settings(sandbox="local", host="0.0.0.0"))
    assert found.setting == "DEADHEAT_SANDBOX"


def test_a_refusal_tells_no_password() -> None:
    bad = settings(database_url="postgresql://ada:x7Kq@db/x", broker_url="redis://:hunter2@queue/0")
    told = (refusal(bad) or "") + repr(bad) + str(bad)
    assert "x7Kq" not in told and "hunter2" not in told
    assert "DEADHEAT_DATABASE_URL" in told and "DEADHEAT_BROKER_URL" in told


def test_nothing_is_started_with_settings_that_are_not_safe(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ends = in_one_process(PARTS, DEADHEAT_ENVIRONMENT="production", DEADHEAT_DATA_DIR=str(data))
    for code, said in ends:
        assert code == 1
        assert "not safe in production" in said and "DEADHEAT_SITE_URL: passwords and cookies" in said
    assert len(ends) == len(PARTS)
    assert not data.exists()


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("127.0.0.1", 200),
        ("10.1.2.3", 200),
        ("fd00::1", 200),
        ("::ffff:10.1.2.3", 200),
        ("8.8.8.8", 403),
        ("2001:db8::1", 403),
    ],
)
def test_metrics_are_told_to_some_networks_alone(site: Site, address: str, status: int) -> None:
    from_there = InProcess(site.app)
    from_there._inner.client = (address, 1)
    with httpx.Client(transport=from_there, base_url="http://league") as client:
        assert client.get("/metrics").status_code == status and client.get("/healthz").status_code == 200


@pytest.mark.parametrize("page", ["operators.md", "security.md"])
def test_the_docs_say_how_long_a_password_must_be(page: str) -> None:
    assert f"{SHORTEST_PASSWORD} characters" in " ".join((ROOT / "docs" / page).read_text().split())
