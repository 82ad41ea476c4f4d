"""`deadheat user`: roles, passwords, bans and house bots."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.league.errors import BadToken
from deadheat.league.service.jobs.builds import BUILDS
from deadheat.league.service.people.access import issue_token, look_up
from deadheat.league.service.people.users import check_password
from deadheat.league.states import Role, TokenKind
from deadheat.workers.broker import queue
from tests.cli.command import assert_one_sentence, invoke, succeeded
from tests.league.ground import settings
from tests.league.world import World

PASSWORD = "another long enough password"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path))
    with closing(World(settings(tmp_path))) as made:
        made.author("ada")
        yield made


@pytest.fixture
def token(world: World) -> str:
    """A token of the author ada."""
    return world.write(issue_token, 2, "laptop").secret


def user(*words: str, stdin: str = "") -> str:
    """Run a command that succeeds, and return all its output."""
    done = succeeded(invoke("user", *words, stdin=stdin))
    return done.stdout + done.stderr


def test_somebody_is_made_an_organiser_and_an_author_again(world: World, token: str) -> None:
    for role in (*Role, Role.AUTHOR):
        assert f"ada is {role.value}" in user("role", "ADA", role.value)
        assert world.read(look_up, token, TokenKind.TOKEN).person.role is role
    assert_one_sentence(invoke("user", "role", "bob", "organiser"), "no user 'bob'", 1)


def test_a_new_password_ends_what_the_old_one_opened(world: World, token: str) -> None:
    assert invoke("user", "password", "ada", stdin="short\nshort\n").returncode != 0
    assert PASSWORD not in user("password", "ada", stdin=f"{PASSWORD}\n{PASSWORD}\n")
    assert world.write(check_password, "ada", PASSWORD).name == "ada"
    with pytest.raises(BadToken):
        world.read(look_up, token, TokenKind.TOKEN)


def test_somebody_is_banned_and_let_in_again(world: World, token: str) -> None:
    assert invoke("user", "ban", "ada").returncode != 0, "a ban has a reason"
    assert "ada is banned" in user("ban", "ADA", "--reason", "wrote insults")
    with pytest.raises(BadToken):
        world.read(look_up, token, TokenKind.TOKEN)
    assert "ada may sign in again" in user("reopen", "ada")
    assert world.write(check_password, "ada", "a long enough password").name == "ada"


def test_house_bots_are_uploaded_once_and_a_season_may_name_them(world: World, monkeypatch) -> None:
    sent: list[tuple[object, int]] = []
    monkeypatch.setattr(queue, "enqueue", lambda *job: sent.append(job))
    words = ("house", "yacht-auction", "greedy", "counter")
    assert "house/greedy version 1, house/counter version 1" in user(*words)
    assert sent == [(BUILDS, 1), (BUILDS, 2)], "they are built at once"
    assert "there already" in user(*words)
    assert len(sent) == 2
    assert world.season(0, panel=["house/greedy", "HOUSE/counter"])
    assert_one_sentence(invoke("user", "house", "yacht-auction", "nobody"), "there is no house bot 'nobody'")
