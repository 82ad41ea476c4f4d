"""Every language in the full judge image: its hello bot becomes ready, and its runtime allows what a bot may use.

The first test builds the image where it is missing or out of date, which takes two to five minutes.
"""

import faulthandler
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.engine.core import NS_PER_S, Message, Reply
from deadheat.engine.games.folder import bots_of
from deadheat.league.service.bots import bots
from deadheat.league.service.bots.bots import installed_languages
from deadheat.league.states import VersionState
from deadheat.sandbox import arena
from deadheat.sandbox.archive import extract_program
from deadheat.sandbox.box import Exit, Program, bot_limits
from deadheat.sandbox.build import MAX_PROGRAM_BYTES, BuildFailed, build
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.images import own_image
from deadheat.sandbox.languages import LANGUAGES, detect
from deadheat.sandbox.local import LocalSandbox
from deadheat.sandbox.pipes import PipeTransport
from deadheat.workers import environment
from deadheat.workers.context import Context
from deadheat.workers.environment import describe_environment
from tests.league.ground import settings
from tests.league.people import GAME
from tests.league.world import World
from tests.workers.building import BuildingWorld, sources, zipped

FULL_IMAGE = own_image("deadheat/judge:full")
ROOT = Path(__file__).parents[2]
LARGER = ROOT / "tests" / "languages"
"""A program for each language: modules of its own, 512 MiB, eight threads, a file in /tmp."""

every_language = pytest.mark.parametrize("language", sorted(LANGUAGES))


@pytest.fixture(scope="module")
def full_image(engine_required: None) -> str:
    faulthandler.cancel_dump_traceback_later()  # the time-out is meant for tests, not for downloads
    subprocess.run([ROOT / "deploy" / "images" / "build", "full"], check=True)
    return FULL_IMAGE


@pytest.fixture
def world(tmp_path: Path, full_image: str, unhurried: None, monkeypatch) -> Iterator[BuildingWorld]:
    monkeypatch.setattr(arena, "FINISH_GRACE_NS", 60 * NS_PER_S)  # how long a runtime takes to end is not the point
    made = BuildingWorld(settings(tmp_path, image=full_image))
    yield made
    made.close()


def test_every_language_has_a_hello_bot_and_a_larger_program() -> None:
    assert {path.name.removeprefix("hello-") for path in (bots_of(GAME)).glob("hello-*")} == set(LANGUAGES)
    assert {path.name for path in LARGER.iterdir()} == set(LANGUAGES)


@pytest.mark.containers
@every_language
@pytest.mark.all
def test_a_hello_bot_plays_a_legal_match(world: BuildingWorld, language: str) -> None:
    files = sources(bots_of(GAME) / f"hello-{language}")
    if len(files) == 1:
        ((name, text),) = files.items()
        version = world.built(f"hello.{name.rpartition('.')[2]}", text)
    else:
        version = world.built("hello.zip", zipped(files))
    assert (version.state, version.reason, version.language) == (VersionState.READY, "", language), version.log
    assert ">> PUT YACHT" in version.log  # the last of its thirteen scorings
    assert "\nexit code 0\n" in version.log


@pytest.mark.containers
@every_language
@pytest.mark.all
def test_a_runtime_bears_what_a_bot_may_use(full_image: str, tmp_path: Path, language: str) -> None:
    reply, end = asked("hello", LARGER / language, full_image, tmp_path)
    assert reply.line == "hello 512 8", (reply.fault, end.stderr.decode())
    assert end.exit_code == 0


@pytest.mark.containers
@pytest.mark.all
def test_a_virtual_machine_says_nothing_on_its_bots_output(full_image: str, tmp_path: Path) -> None:
    (folder := tmp_path / "sources").mkdir()
    (folder / "Main.java").write_text(GREEDY_FOR_THREADS)
    reply, end = asked("hello", folder, full_image, tmp_path)
    assert reply.line == "no more threads"
    assert b"[warning]" in end.stderr


GREEDY_FOR_THREADS = """
public class Main {
    public static void main(String[] arguments) throws Exception {
        System.in.read();
        try {
            while (true) {
                Thread thread = new Thread(() -> { try { Thread.sleep(60_000); } catch (InterruptedException e) { } });
                thread.setDaemon(true);
                thread.start();
            }
        } catch (OutOfMemoryError e) {
            System.out.println("no more threads");
        }
    }
}
"""


def asked(line: str, folder: Path, image: str, tmp_path: Path) -> tuple[Reply, Exit]:
    """Return the reply of the program with these sources, and how it ends."""
    files = sources(folder)
    language, entry = detect("bot.zip", list(files), files.get("deadheat.toml"))
    recipe = LANGUAGES[language].starting_with(entry)
    sandbox = DockerSandbox(image, tmp_path / "run")
    program = tmp_path / "program"
    program.mkdir()
    extract_program(build(sandbox, folder, recipe).tar, program, MAX_PROGRAM_BYTES)
    box = sandbox.open(Program(program, recipe.run, language), bot_limits((0,)))
    try:
        transport = PipeTransport([box.start()])
        reply = transport.exchange([Message(0, line, 60 * NS_PER_S)])[0]
        transport.exchange([Message(0, "FINISH")])
        box.ask_stop(60 * NS_PER_S)
        return reply, box.stopped()
    finally:
        box.close()
        sandbox.close()


@pytest.mark.containers
def test_an_image_without_the_language_is_named_as_the_reason(tmp_path: Path) -> None:
    world = BuildingWorld(settings(tmp_path))
    version = world.built("Main.java", "class Main { }")
    assert (version.state, version.reason) == (VersionState.BROKEN, "this server's image has no Java")
    world.close()


def test_a_host_without_the_language_says_what_it_lacks(tmp_path: Path) -> None:
    exotic = replace(LANGUAGES["java"], tools=("no-such-compiler",))
    with pytest.raises(BuildFailed, match=r"Java is not installed here \(no-such-compiler\)"):
        build(LocalSandbox(), tmp_path, exotic)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Context]:
    world = World(settings(tmp_path))
    made = Context(world.settings)
    made.__dict__["database"] = world.db
    yield made
    world.close()


@pytest.mark.containers
def test_an_image_is_described_once_and_then_confirmed(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    describe_environment(context)
    with context.database.reading() as session:
        assert installed_languages(session) == {"python", "c", "cpp"}
    monkeypatch.setattr(environment, "describe", lambda *_: 1 / 0)
    describe_environment(context)


def test_bots_that_nothing_confines_have_no_environment(context: Context) -> None:
    context.settings = context.settings.model_copy(update={"sandbox": "local"})
    describe_environment(context)
    with context.database.reading() as session:
        assert bots.environment(session) is None
