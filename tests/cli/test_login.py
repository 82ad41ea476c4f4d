"""Logging in and out, against a real server: where the token is kept, and to whom it is shown."""

import json
import socket
import stat
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deadheat.cli.server import profiles
from deadheat.cli.server.client import private
from deadheat.league.service.people.access import issue_token
from deadheat.league.service.people.users import set_newcomer_rule
from deadheat.league.service.rulings.closing import close_account
from deadheat.league.states import NewcomerRule
from tests.api.served import served
from tests.api.site import PASSWORD, Site, token_in
from tests.cli.command import assert_one_sentence, invoke, succeeded


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of logins, which does not exist yet; the environment has no tokens."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("DEADHEAT_SERVER", "DEADHEAT_TOKEN", "DEADHEAT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return profiles.path()


@pytest.mark.parametrize(
    ("named", "folder"), [("{home}/other", "other"), (None, ".config"), ("", ".config"), ("other", ".config")]
)
def test_logins_are_in_the_folder_of_the_environment(named, folder: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    if named is not None:
        monkeypatch.setenv("XDG_CONFIG_HOME", named.format(home=tmp_path))
    assert profiles.path() == tmp_path / folder / "deadheat" / "profiles.json"


def login(name: str, server: str, *words: str) -> subprocess.CompletedProcess[str]:
    return invoke("login", name, "--password-stdin", "--server", server, *words, stdin=PASSWORD + "\n")


def told(*words: str) -> str:
    return succeeded(invoke(*words)).stdout


def test_from_nothing_to_known_and_out_again(server: str, settings: Path) -> None:
    assert_one_sentence(login("ada", server), "Wrong name or password.", 1)
    assert not settings.exists()
    assert "You are ada" in login("ada", server, "--sign-up").stdout
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600 and stat.S_IMODE(settings.parent.stat().st_mode) == 0o700
    assert [path.name for path in settings.parent.iterdir()] == ["profiles.json"]
    assert told("whoami") == f"ada (author) at {server}\n"
    token = profiles.load()["default"].token
    assert "logged out" in told("logout")
    assert token not in settings.read_text()
    assert_one_sentence(invoke("whoami", "--server", server, "--token", token), "`deadheat login`", 1)
    assert_one_sentence(invoke("logout"), "not logged in", 1)


def test_who_closed_an_account_is_not_told_to_log_in(site: Site, server: str) -> None:
    owner = site.world.author()
    token = site.world.write(issue_token, owner.id, "laptop")
    site.world.write(close_account, owner)
    done = invoke("whoami", "--server", server, "--token", token.secret)
    assert (done.returncode, done.stderr) == (1, "error: This account is closed.\n")


def test_an_invitation_code_opens_the_door(site: Site, server: str) -> None:
    site.world.write(set_newcomer_rule, site.world.boss, NewcomerRule.CODE, "tea")
    assert_one_sentence(login("ada", server, "--sign-up"), "need a valid invitation code", 1)
    assert "You are ada" in login("ada", server, "--sign-up", "--code", "tea").stdout


def test_a_login_of_an_earlier_release_is_read(settings: Path) -> None:
    settings.parent.mkdir(parents=True)
    old = """{"profiles": {"default": {"server": "http://x", "name": "ada", "token": "dh_1", "token_id": null}}}"""
    settings.write_text(old)
    assert profiles.load()["default"] == profiles.Profile("http://x", "ada", "dh_1", None)


def test_a_second_login_revokes_the_first_ones_token(server: str) -> None:
    login("ada", server, "--sign-up")
    first = profiles.load()["default"].token
    assert login("ada", server).returncode == 0
    assert_one_sentence(invoke("whoami", "--server", server, "--token", first), "`deadheat login`", 1)
    assert "ada" in told("whoami")


def test_several_logins_are_kept_apart(server: str) -> None:
    login("ada", server, "--sign-up")
    done = invoke(
        "--profile", "work", "login", "bob", "--password-stdin", "--sign-up", "--server", server, stdin=PASSWORD
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(told("whoami", "--json"))["name"] == "ada"
    assert json.loads(told("--profile", "work", "whoami", "--json"))["name"] == "bob"


def test_a_token_made_elsewhere_is_remembered_and_not_revoked(site: Site, server: str) -> None:
    token = token_in(site.author())
    assert "You are ada" in told("login", "--server", server, "--token", token)
    assert "ada" in told("whoami")
    assert "stays valid" in told("logout")
    told("login", "--server", server, "--token", token)
    assert json.loads(told("logout", "--json"))["revoked"] is False
    assert "ada" in told("whoami", "--server", server, "--token", token)


def test_a_token_is_sent_to_its_own_server_only(site: Site, server: str) -> None:
    login("ada", server, "--sign-up")
    with served(site.app) as other:
        assert_one_sentence(invoke("whoami", "--server", other), "requires an access token", 1)
    assert "ada" in told("whoami", "--server", server + "/")


def test_logging_out_without_the_server_forgets_and_says_so(settings: Path, site: Site) -> None:
    with served(site.app) as address:
        login("ada", address, "--sign-up")
    with socket.socket() as nobody:
        nobody.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        nobody.bind(("127.0.0.1", urlsplit(address).port))  # so that no other server gets it; it does not listen
        done = invoke("logout")
    assert done.returncode == 3 and "did not revoke" in done.stderr
    assert profiles.load() == {}


def test_what_cannot_be_asked_for_is_a_wrong_call(server: str) -> None:
    assert_one_sentence(invoke("login", "ada", "--server", server), "no terminal to ask")
    assert_one_sentence(invoke("login", "--password-stdin", "--server", server), "--password-stdin needs a name")
    assert_one_sentence(invoke("whoami", "--server", "league.example"), "not an address")
    assert_one_sentence(invoke("whoami", "--server", server, "--token", "dh_\nx"), "invalid characters")


def test_a_damaged_file_is_named(server: str, settings: Path) -> None:
    settings.parent.mkdir(parents=True)
    settings.write_text("{")
    assert_one_sentence(invoke("whoami"), "is damaged; delete it", 1)


def test_in_ci_the_environment_is_enough_and_nothing_is_written(
    site: Site, server: str, settings: Path, monkeypatch
) -> None:
    monkeypatch.setenv("DEADHEAT_SERVER", server)
    monkeypatch.setenv("DEADHEAT_TOKEN", token_in(site.author()))
    assert told("whoami") == f"ada (author) at {server}\n"
    assert not settings.parent.exists()


@pytest.mark.parametrize("server", ["http://league.example", "http://192.0.2.7:8080", "http://127.0.0.1.example"])
def test_no_password_or_token_goes_out_in_clear_unasked(server: str, settings: Path) -> None:
    told_of = f"would be sent to {server} unencrypted"
    assert_one_sentence(login("ada", server), f"your password {told_of}", 2)
    assert_one_sentence(invoke("login", "--server", server, "--token", "dh_x"), f"your token {told_of}", 2)
    assert not settings.exists()


def test_in_clear_is_what_others_can_read() -> None:
    for server in ("https://league.example", "http://localhost:8080", "http://127.1.2.3", "http://[::1]:8080"):
        assert private(server)
    assert not private("http://[2001:db8::1]")


def test_whoever_says_so_logs_in_in_clear(server: str) -> None:
    port = server.rpartition(":")[2]
    assert not private(f"http://0.0.0.0:{port}")
    assert "You are ada" in login("ada", f"http://0.0.0.0:{port}", "--sign-up", "--insecure").stdout
