"""Logging in and out, against a real server: where the token is kept, and to whom it is shown."""

from __future__ import annotations

import json
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from deadheat.api.cursors import write_cursor
from deadheat.cli.server import follow, profiles
from deadheat.cli.server.api_client import Client, Refused
from deadheat.cli.server.client import private
from deadheat.cli.server.follow import OVERLAP, POLL_SECONDS, News, Patience, newest_end
from deadheat.league.jobs import SeriesJob
from deadheat.league.records.matches import SeatView
from deadheat.league.service.people.access import issue_token
from deadheat.league.service.people.newcomers import set_newcomer_rule
from deadheat.league.service.rulings.closing import close_account
from deadheat.league.service.views.matches import match_detail, matches
from deadheat.league.states import NewcomerRule
from deadheat.league.tables import Match
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


SERIES = 60
"""Matches in a series; two series fill more than a page."""


class Followed:
    """A season of three bots, hence three series, and a client of its server."""

    def __init__(self, site: Site, client: Client) -> None:
        self.world, self.client = site.world, client
        self.season = self.world.season(3, series_length=SERIES, games_per_pair=SERIES)
        claimed = [self.world.claim(series_id) for series_id in self.world.tick()]
        self.jobs: list[SeriesJob] = [job for job in claimed if job is not None]
        assert len(self.jobs) == 3

    def seats(self, job: SeriesJob) -> tuple[SeatView, ...]:
        return self.world.read(match_detail, job.matches[0].match_id).seats

    def news(self, bot_id: int = 0) -> News:
        made = News(self.client, bot_id, 0, newest_end(self.client))
        made.look()
        return made

    def ends(self, job: SeriesJob, seconds_later: float = 1) -> None:
        self.world.clock.turn(seconds_later)
        assert self.world.finish(job)


@pytest.fixture
def followed(site: Site, server: str) -> Iterator[Followed]:
    with Client(server, "") as client:
        yield Followed(site, client)


def numbers(*jobs: SeriesJob) -> list[int]:
    return [match.match_id for job in jobs for match in job.matches]


def test_series_that_end_between_two_looks_are_all_told_once(followed: Followed) -> None:
    first, second, third = followed.jobs
    news = followed.news()
    for job in (third, first, second):
        followed.ends(job)
    assert [match.id for match in news.look()] == numbers(third, first, second), "in the order in which they ended"
    assert news.look() == []


def test_an_earlier_series_that_ends_last_is_told(followed: Followed) -> None:
    first, second, third = followed.jobs
    followed.ends(second)
    followed.ends(third)
    news = followed.news()
    followed.ends(first, seconds_later=3600)
    assert [match.id for match in news.look()] == numbers(first)


def test_a_result_that_is_seen_late_is_told_and_nothing_is_told_again(followed: Followed) -> None:
    first, second, third = followed.jobs
    followed.ends(first)
    news = followed.news()
    followed.ends(second)
    assert len(news.look()) == SERIES
    assert followed.world.finish(third)
    late = followed.world.clock() - OVERLAP / 2
    with followed.world.db.transaction() as session:
        for number in numbers(third):
            session.get_one(Match, number).finished_at = late
    assert [match.id for match in news.look()] == numbers(third)
    assert news.look() == []


def test_who_reads_more_pages_waits_longer_for_the_next_look(followed: Followed, monkeypatch) -> None:
    asked: list[str] = []
    slept: list[float] = []
    call = followed.client.call

    def counted(method: str, path: str, **arguments: Any) -> Any:
        asked.append(path)
        return call(method, path, **arguments)

    news, patience = followed.news(), Patience(3600, "never")
    monkeypatch.setattr(followed.client, "call", counted)
    monkeypatch.setattr(follow, "time", SimpleNamespace(monotonic=time.monotonic, sleep=slept.append))
    for job in (None, *followed.jobs):
        if job is not None:
            followed.ends(job)
        asked.clear()
        news.look()
        assert news.pages == len(asked)
        patience.pause(news.pages)
    assert slept == [POLL_SECONDS, POLL_SECONDS, 2 * POLL_SECONDS, 2 * POLL_SECONDS]


def test_of_one_bot_only_its_own_matches_are_told(followed: Followed) -> None:
    bot_id = followed.world.read(matches, season_id=followed.season, limit=1)[0].seats[0].bot_id
    mine = [job for job in followed.jobs if any(seat.bot_id == bot_id for seat in followed.seats(job))]
    news = followed.news(bot_id)
    for job in followed.jobs:
        followed.ends(job)
    assert [match.id for match in news.look()] == numbers(*mine)
    assert len(mine) == 2


def test_the_list_by_end_goes_on_where_its_cursor_says(followed: Followed) -> None:
    first, second, third = followed.jobs
    followed.ends(second)
    since = followed.world.clock()
    followed.ends(third)
    followed.ends(first)
    told = [match.id for match in followed.client.matches(finished_since=since)]
    assert told == [number for job in (first, third, second) for number in reversed(numbers(job))]
    assert list(followed.client.matches(finished_since=since + OVERLAP, state="abandoned")) == []
    params = {"finished_since": since.isoformat(), "cursor": write_cursor(999_999)}
    with pytest.raises(Refused, match="cursor"):
        followed.client.call("GET", "/v1/matches", params=params)
