"""The settings with which a deployment refuses to start, before anything is started."""

import dataclasses
from pathlib import Path

import httpx
import pytest

from deadheat.api.app import create_app
from deadheat.cli.operator import deployment
from deadheat.league.blobs import Blobs
from deadheat.league.config import Settings
from deadheat.league.safety import SHORTEST_PASSWORD, plain_text, refusal, unsafe_settings
from tests.api.site import PASSWORD, InProcess, NotedQueue, Site
from tests.cli.command import ROOT, in_one_process
from tests.league.ground import settings as ground_settings
from tests.league.world import World

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


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({}, ["DATABASE", "BROKER"]),
        ({"plain_hosts": "DB, queue"}, []),
        ({"plain_hosts": "db"}, ["BROKER"]),
        ({"database_url": "postgresql://db/x?sslmode=verify-full", "broker_url": "rediss://queue/0"}, []),
        ({"database_url": "postgresql://db/x?sslmode=verify-ca", "broker_url": ""}, []),
        ({"database_url": "postgresql://db/x?sslmode=require", "broker_url": ""}, ["DATABASE"]),
        ({"database_url": "postgresql://127.0.0.1/x?sslmode=require", "broker_url": ""}, []),
        ({"database_url": "", "broker_url": "rediss://queue/0?ssl_cert_reqs=CERT_NONE"}, ["BROKER"]),
        ({"database_url": "postgresql+psycopg://db/x?sslmode=prefer", "broker_url": ""}, ["DATABASE"]),
        ({"database_url": "postgresql:///x?host=/run/postgresql", "broker_url": "redis://127.0.0.1/0"}, []),
        ({"database_url": "postgresql:///x?host=localhost,db", "broker_url": "redis://[::1]/0"}, ["DATABASE"]),
        ({"database_url": "", "broker_url": "", "smtp_url": "smtp://mail"}, ["SMTP"]),
        ({"database_url": "", "broker_url": "", "smtp_url": "smtp://localhost"}, []),
        ({"database_url": "", "broker_url": "", "smtp_url": "smtp+starttls://mail"}, []),
        ({"database_url": "", "broker_url": "", "smtp_url": "smtps://mail"}, []),
    ],
)
def test_a_server_elsewhere_that_is_spoken_to_in_plain_text_is_named(changed: dict[str, str], named: list[str]) -> None:
    found = list(plain_text(settings(mail_from="league@league.example", **changed)))
    assert [unsafe.setting for unsafe in found] == [f"DEADHEAT_{name}_URL" for name in named]
    assert "gGx1qkq0Zt0oXk8" not in str(found)


def test_tls_that_checks_no_certificate_is_not_called_plain_text() -> None:
    (found,) = plain_text(settings(database_url="postgresql://db/x?sslmode=require", broker_url=""))
    assert found.why == "db is spoken to without a check of its certificate."
    assert "sslmode=verify-full" in found.mend


@pytest.mark.parametrize("environment", ["production", "development"])
def test_production_warns_of_plain_text_for_one_release(environment: str, monkeypatch, capsys) -> None:
    monkeypatch.setattr(deployment, "read_settings", lambda: settings(environment=environment))
    deployment.safe_settings()
    warned = " ".join(capsys.readouterr().err.split())
    assert warned.count("The next release will refuse this.") == (2 if environment == "production" else 0)
    assert ("DEADHEAT_DATABASE_URL: db is spoken to in plain text" in warned) == (environment == "production")


CLOSED = {"site_url": "http://league.lan:8080", "plain_hosts": "league.lan", "trusted_proxies": ""}


def test_an_http_address_is_safe_where_the_operator_calls_its_network_closed() -> None:
    assert unsafe_settings(settings(**CLOSED)) == []
    assert len(unsafe_settings(settings(**CLOSED | {"plain_hosts": "other.lan"}))) == 2
    assert len(unsafe_settings(settings(**CLOSED | {"site_url": ""}))) == 2


def test_a_browser_signs_in_by_http_in_a_closed_network(tmp_path: Path) -> None:
    """On http, browsers keep no Secure cookie, and tell the origin of a request only by Origin."""
    world = World(ground_settings(tmp_path, environment="production", **CLOSED))
    app = create_app(world.settings, queue=NotedQueue(), db=world.db, blobs=Blobs("memory:///"))
    form = {"name": "ada", "password": PASSWORD, "password_again": PASSWORD}
    with httpx.Client(transport=InProcess(app), base_url=CLOSED["site_url"]) as browser:
        done = browser.post("/sign-up", data=form, headers={"Origin": CLOSED["site_url"]})
        assert done.status_code == 303 and "Secure" not in done.headers["set-cookie"]
        assert "strict-transport-security" not in done.headers
        assert browser.get("/account").status_code == 200
        assert browser.post("/sign-up", data=form, headers={"Origin": "http://evil.lan"}).status_code == 403
    world.close()


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


def test_the_docs_say_how_long_a_password_must_be() -> None:
    page = ROOT / "docs" / "why" / "security-model.md"
    assert f"{SHORTEST_PASSWORD} characters" in " ".join(page.read_text().split())
