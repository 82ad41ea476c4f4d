"""deadheat user: roles and passwords on the server."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from deadheat.cli.main import app
from deadheat.league.database import Database
from deadheat.league.errors import BadToken
from deadheat.league.service.jobs.builds import BUILDS
from deadheat.league.service.people.access import issue_token, look_up
from deadheat.league.service.people.users import check_password
from deadheat.league.states import Role, TokenKind
from deadheat.workers.broker import queue
from tests.league.world import World, settings

PASSWORD = "another long enough password"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path))
    world = World(settings(tmp_path))
    world.author("ada")
    world.close()
    return world


def test_somebody_is_made_an_organiser_and_an_author_again(world: World) -> None:
    token = world.write(issue_token, 2, "laptop").secret
    for role in (Role.ORGANISER, Role.ADMIN, Role.AUTHOR):
        result = CliRunner().invoke(app, ["user", "role", "ADA", role.value])
        assert result.exit_code == 0, result.output
        assert f"ada is {role.value}" in result.output
        assert world.read(look_up, token, TokenKind.TOKEN).person.role is role


def test_nobody_is_made_anything_who_is_not_there(world: World) -> None:
    result = CliRunner().invoke(app, ["user", "role", "bob", "organiser"])
    assert result.exit_code != 0
    assert "no user 'bob'" in result.output
    assert "Traceback" not in result.output


def test_a_new_password_ends_what_the_old_one_opened(world: World) -> None:
    token = world.write(issue_token, 2, "laptop").secret
    short = CliRunner().invoke(app, ["user", "password", "ada"], input="short\nshort\n")
    assert short.exit_code != 0
    result = CliRunner().invoke(app, ["user", "password", "ada"], input=f"{PASSWORD}\n{PASSWORD}\n")
    assert result.exit_code == 0, result.output
    assert PASSWORD not in result.output
    database = Database(world.settings)
    with database.reading() as session:
        assert check_password(session, "ada", PASSWORD).name == "ada"
        with pytest.raises(BadToken):
            look_up(session, token, TokenKind.TOKEN)
    database.close()


def test_somebody_is_banned_and_let_in_again(world: World) -> None:
    token = world.write(issue_token, 2, "laptop").secret
    assert CliRunner().invoke(app, ["user", "ban", "ada"]).exit_code != 0, "a ban has a reason"
    result = CliRunner().invoke(app, ["user", "ban", "ADA", "--reason", "wrote insults"])
    assert "ada is banned" in result.output
    database = Database(world.settings)
    with database.reading() as session, pytest.raises(BadToken):
        look_up(session, token, TokenKind.TOKEN)
    assert "ada may sign in again" in CliRunner().invoke(app, ["user", "reopen", "ada"]).output
    with database.reading() as session:
        assert check_password(session, "ada", "a long enough password").name == "ada"
    database.close()


def test_house_bots_are_uploaded_once_and_a_season_may_name_them(world: World, monkeypatch) -> None:
    sent: list[tuple[object, int]] = []
    monkeypatch.setattr(queue, "enqueue", lambda *job: sent.append(job))
    words = ["user", "house", "yacht-auction", "greedy", "counter"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "house/greedy version 1, house/counter version 1" in result.output
    assert sent == [(BUILDS, 1), (BUILDS, 2)], "they are built at once"
    assert "there already" in CliRunner().invoke(app, words).output
    assert len(sent) == 2
    assert world.season(0, panel=["house/greedy", "HOUSE/counter"])
    unknown = CliRunner().invoke(app, ["user", "house", "yacht-auction", "nobody"])
    assert unknown.exit_code == 2
    assert "there is no house bot 'nobody'" in unknown.output
