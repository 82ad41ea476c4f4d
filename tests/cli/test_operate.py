"""Commands of operators: processes, machines, users and the first organiser."""

import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Self
from unittest.mock import MagicMock

import pytest
from sqlmodel import col, update

from deadheat.cli.operator import demo, deployment, tree
from deadheat.cli.server.api_client import Refused
from deadheat.league import errors, measured
from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.errors import BadToken
from deadheat.league.jobs import Host
from deadheat.league.service.jobs.builds import BUILDS
from deadheat.league.service.people.access import issue_token, look_up
from deadheat.league.service.people.users import check_password, existing_user
from deadheat.league.service.rulings.closing import Standing, set_role
from deadheat.league.service.series.hosts import host_arrives, record_check
from deadheat.league.states import Role, TokenKind
from deadheat.league.tables import Token
from deadheat.workers.broker import queue
from tests.api.site import Site
from tests.cli.command import Typing, assert_one_sentence, deadheat, invoke, succeeded
from tests.league.ground import migrated_file, settings
from tests.league.world import World


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings with which APIs were started; none of them really runs."""
    found: list[Settings] = []
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path))
    for name in ("DEADHEAT_HOST", "DEADHEAT_PORT"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(deployment, "check_schema", lambda _: None)
    monkeypatch.setattr(deployment, "check_port", lambda _: None)
    monkeypatch.setattr(deployment, "_share_port", lambda settings, _: found.append(settings))
    return found


def test_the_api_listens_where_it_is_told(started: list[Settings]) -> None:
    deployment.api(processes=2)
    deployment.api(host="127.0.0.2", port=4711, processes=2)
    assert [(settings.host, settings.port) for settings in started] == [("127.0.0.1", 8080), ("127.0.0.2", 4711)]
    assert Settings().port == 4711, "the processes that it starts look there"


def test_a_second_teller_of_the_same_metrics_warns(tmp_path: Path, monkeypatch, capsys) -> None:
    deployment.tell_metrics(tmp_path)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(measured, "told_alone", lambda _: False)
    deployment.tell_metrics(tmp_path)
    assert "counts everything twice" in capsys.readouterr().err


def test_so_does_a_second_api_of_several_processes(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(deployment, "Tree", MagicMock())
    for warns in (False, True):  # the first lock is held until this process ends
        deployment._share_port(Settings(metrics_dir=tmp_path, port=0), 2)
        assert ("counts everything twice" in capsys.readouterr().err) is warns


def test_a_tree_that_ends_leaves_no_files_of_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[Path] = []
    monkeypatch.setattr(measured, "fold", folded.append)
    monkeypatch.setattr("deadheat.cli.operator.tree.signal.signal", lambda *_: None)
    tree.Tree({"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}, stopping=True).run()
    assert folded == [tmp_path]


def test_a_worker_takes_all_jobs_by_one_name_but_those_that_have_processes_of_their_own() -> None:
    assert deployment._named("jobs,control") == ["build", "play", "control"] and deployment._named("play") == ["play"]


class Unready:
    """A client whose server is ready at try number `answers_at`."""

    answers_at = 0

    def __init__(self, _: str) -> None:
        self.tries = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, *_: str) -> None:
        self.tries += 1
        if self.tries < self.answers_at:
            raise Refused(503, "not-ready", "Not yet.")


@pytest.fixture
def demo_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A running server with a log. The clock advances ten seconds at each reading."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "serve.log").write_text("starting\nmigrating the database [0017]\n")
    clock = SimpleNamespace(monotonic=itertools.count(0, 10).__next__, sleep=lambda _: None)
    monkeypatch.setattr(demo, "time", clock)
    monkeypatch.setattr(demo, "Client", Unready)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process


def test_a_slow_server_is_awaited_and_quoted(
    demo_server: subprocess.Popen[bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Unready, "answers_at", 30)
    demo.wait_until_ready("http://nowhere", demo_server, settings(tmp_path))
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "    The server is not ready after 20 s; its last log line: migrating the database [0017]"
    assert 10 < len(told) < 20


def test_a_server_that_ends_is_not_waited_for(
    demo_server: subprocess.Popen[bytes], tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(Unready, "answers_at", 1_000_000)
    demo_server.kill()
    demo_server.wait()
    with pytest.raises(demo.Broken, match="the server ended: migrating"):
        demo.wait_until_ready("http://nowhere", demo_server, settings(tmp_path))


@pytest.mark.containers
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["worker", "--queues", "build"], marks=pytest.mark.all),
        ["worker", "--queues", "play"],
        pytest.param(["serve"], marks=pytest.mark.all),
        ["check-host"],
    ],
    ids=" ".join,
)
def test_a_runtime_that_the_engine_does_not_have_is_refused_in_a_sentence(arguments: list[str], tmp_path: Path) -> None:
    shutil.copy(migrated_file(), tmp_path)  # a worker looks at its database first
    done = deadheat(*arguments, DEADHEAT_RUNTIME="nobodys", DEADHEAT_DATA_DIR=str(tmp_path), DEADHEAT_PORT="0")
    assert done.returncode == 1, done.stderr
    assert "has no runtime 'nobodys'" in done.stderr and "Traceback" not in done.stderr


Ask = Callable[..., subprocess.CompletedProcess[str]]
HOSTILE = Host("red\x1b[31m-[bold]host" + "x" * 60, "boot")


@pytest.fixture
def ask(site: Site, server: str) -> Ask:
    return lambda *words: Typing(site, server).run("boss", "workers", *words)


def check(site: Site, host: Host, *reasons: str) -> None:
    site.world.write(host_arrives, host, "image")
    site.world.write(record_check, host, {}, reasons, 60)


def test_a_fit_machine_is_shown_with_what_it_did(site: Site, ask: Ask) -> None:
    done = succeeded(ask())
    assert "machine" in done.stdout and "fit" in done.stdout and "yes" in done.stdout
    assert "No machine" not in done.stdout


def test_without_a_fit_machine_it_says_so_and_fails(site: Site, ask: Ask) -> None:
    check(site, site.world.host, "Too much noise.")
    done = ask()
    assert done.returncode == 1 and "machine: Too much noise." in done.stdout
    assert "fit to judge: matches wait." in done.stdout
    as_json = ask("--json")
    assert as_json.returncode == 1
    found = json.loads(as_json.stdout)
    assert (found["judge_unfit"], found["items"][0]["judges"]) == (False, False)


def test_a_remark_comes_with_its_cure(site: Site, ask: Ask) -> None:
    finding = {"level": "remark", "text": "It creaks.", "mend": "oil it"}
    site.world.write(record_check, site.world.host, {"findings": [finding]}, (), 60)
    assert "machine: It creaks. (Fix: oil" in ask().stdout


def test_a_machines_name_cannot_paint_the_terminal(site: Site, ask: Ask) -> None:
    check(site, HOSTILE, "It said \x1b[2J[red].")
    done = ask()
    assert "\x1b" not in done.stdout and "[bold]host" in done.stdout
    table = [line for line in done.stdout.splitlines() if "It said" not in line]
    assert max(map(len, table)) <= 80
    assert "unfit" in table[3] + table[4]  # only the name is cut short


PASSWORD = "another long enough password"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path))
    with closing(World(settings(tmp_path))) as made:
        made.author("ada")
        yield made


@pytest.fixture
def token(world: World) -> str:
    return world.write(issue_token, 2, "laptop").secret


def user(*words: str, stdin: str = "") -> str:
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
    assert_one_sentence(invoke("user", "house", "yacht-auction", "nobody"), "there is no house bot")


YESTERDAY = datetime.now(UTC) - timedelta(days=1)


class Kept:
    """The file of the organiser's token, and the league that the token opens."""

    def __init__(self, folder: Path) -> None:
        made = World(settings(folder))  # with the schema
        made.close()
        self.database = Database(settings(folder))
        self.file = folder / "organiser.token"
        assert self.starts() == ""

    def starts(self) -> str:
        """Return the line about the token that `serve` prints at its start."""
        return deployment.keep_token(self.database, self.file)

    @property
    def token(self) -> str:
        return self.file.read_text().strip()

    def changes_tokens(self, **values: datetime) -> None:
        with self.database.transaction() as session:
            session.exec(update(Token).where(col(Token.id) > 0).values(**values))

    def loses(self, what: str) -> str:
        """Lose the token in this way, and return the token that opens nothing."""
        before = self.token
        if what == "file":
            self.file.unlink()
        elif what == "unknown":
            before = "dh_of-another-league"
            self.file.write_text(f"{before}\n")
        elif what == "expired":
            self.changes_tokens(expires_at=YESTERDAY)
        return before

    def has_role(self, role: Role) -> None:
        with self.database.transaction() as session:
            set_role(session, deployment.NAME, role)

    def organises(self, token: str) -> bool:
        try:
            with self.database.reading() as session:
                return look_up(session, token, TokenKind.TOKEN).person.organises
        except errors.BadToken:
            return False


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path))
    made = Kept(tmp_path)
    with closing(made.database):
        yield made


def is_replaced(kept: Kept, before: str) -> bool:
    assert kept.starts() == ""
    assert kept.file.stat().st_mode & 0o777 == 0o600
    return kept.token != before and kept.organises(kept.token) and not kept.organises(before)


def test_a_token_that_opens_is_kept(kept: Kept) -> None:
    before = kept.token
    assert kept.starts() == "" and kept.token == before and kept.organises(before)


@pytest.mark.parametrize("lost", ["file", "unknown", "expired"])
def test_a_token_that_opens_nothing_is_replaced(kept: Kept, lost: str) -> None:
    assert is_replaced(kept, kept.loses(lost))


@pytest.mark.parametrize("expired", [False, True])
def test_a_revoked_token_stays_in_its_file_until_that_is_deleted(kept: Kept, expired: bool) -> None:
    before = kept.token
    kept.changes_tokens(revoked_at=YESTERDAY, **({"expires_at": YESTERDAY} if expired else {}))
    assert "was revoked" in kept.starts() and kept.token == before and not kept.organises(before)
    kept.file.unlink()
    assert is_replaced(kept, before)


@pytest.mark.parametrize("lost", ["nothing", "file", "unknown", "expired"])
def test_a_demoted_account_stays_demoted_whatever_became_of_its_token(kept: Kept, lost: str) -> None:
    assert invoke("user", "role", deployment.NAME, "author").returncode == 0
    kept.loses(lost)
    before = kept.file.read_text() if kept.file.exists() else None
    assert "no longer an organiser" in kept.starts()
    assert (kept.file.read_text() if kept.file.exists() else None) == before
    with kept.database.reading() as session:
        assert existing_user(session, deployment.NAME).role is Role.AUTHOR
    assert deployment.standing(kept.database, kept.file) is Standing.DEMOTED
    kept.has_role(Role.ORGANISER)
    assert kept.starts() == "" and kept.organises(kept.token)
