"""Other people's bots under bubblewrap, started by an ordinary user: what they must not reach, and what is measured."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.engine.core import NS_PER_MS, NS_PER_S, Fault, Message, Reply
from deadheat.sandbox.box import Limits, Program, SandboxError
from deadheat.sandbox.bubblewrap import SYSTEM, BubblewrapSandbox
from deadheat.sandbox.build import BuildFailed, build
from deadheat.sandbox.languages import LANGUAGES
from deadheat.sandbox.pipes import PipeTransport
from tests.sandbox.boxes import alive, alive_after_a_while, asker, stop, stops_unless_asked

SOMEBODY = 61234
"""An ordinary user without an account."""

PYTHON = "/usr/bin/python3"

PRELUDE = """
import ctypes, glob, json, os, resource, signal, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def what(does, *arguments):
    try:
        return repr(does(*arguments))
    except BaseException as error:
        return type(error).__name__
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder of the ordinary user, whom this process becomes for the test."""
    if not shutil.which("bwrap"):
        pytest.skip("no bubblewrap is installed (Debian: bubblewrap)")
    was_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory(prefix="bwrap-") as name:
        home = Path(name)
        groups = os.getgroups()
        if was_root:
            os.chown(home, SOMEBODY, SOMEBODY)
            os.setgroups([])
            os.setresgid(SOMEBODY, SOMEBODY, 0)
            os.setresuid(SOMEBODY, SOMEBODY, 0)
        try:
            yield home
        finally:
            if was_root:
                os.setresuid(0, 0, 0)
                os.setresgid(0, 0, 0)
                os.setgroups(groups)


def program(home: Path, code: str, name: str = "bot") -> Program:
    folder = home / name
    folder.mkdir()
    (folder / "main.py").write_text(PRELUDE + code)
    return Program(folder, (PYTHON, "-IS", "main.py"), name)


def said(home: Path, expressions: str, limits: Limits | None = None) -> dict[str, str]:
    """Return what a bot gets for each line `name: call, argument, ...`."""
    pairs = [line.strip().split(": ", 1) for line in expressions.strip().splitlines()]
    code = "input(); print(json.dumps({" + ", ".join(f"{name!r}: what({does})" for name, does in pairs) + "}))"
    with closing(BubblewrapSandbox().open(program(home, code), limits or Limits())) as box:
        reply = asker(box)("GO")
        ended = stop(box)
        assert reply.line is not None, ended.stderr
        found: dict[str, str] = json.loads(reply.line)
        return found


def test_a_bot_sees_no_file_but_programs_and_its_own(home: Path) -> None:
    (home / "secret").write_text("diary")
    program(home, "", "opponent")
    theirs = home / "opponent" / "main.py"
    found = said(
        home,
        f"""
        secret: open, {str(home / "secret")!r}
        opponent: open, {str(theirs)!r}
        homes: glob.glob, "/home/*"
        roots: glob.glob, "/root"
        accounts: open, "/etc/passwd"
        services: glob.glob, "/run/*"
        sysfs: glob.glob, "/sys/*"
        root: os.listdir, "/"
        own: os.listdir, "/bot"
        here: os.getcwd
        open: os.listdir, "/proc/self/fd"
        environment: sorted, os.environ
        """,
    )
    root = set(json.loads(found.pop("root").replace("'", '"')))
    assert root <= {"bot", "dev", "etc", "proc", "tmp", *(path.split("/")[1] for path in SYSTEM)}
    assert found == {
        "secret": "FileNotFoundError",
        "opponent": "FileNotFoundError",
        "homes": "[]",
        "roots": "[]",
        "accounts": "FileNotFoundError",
        "services": "[]",
        "sysfs": "[]",
        "own": "['main.py']",
        "here": "'/bot'",
        "open": "['0', '1', '2', '3']",  # the last is the listing's own descriptor
        "environment": "['HOME', 'LANG', 'PATH', 'PWD', 'PYTHONDONTWRITEBYTECODE']",
    }


def test_a_bot_writes_nowhere_but_to_a_small_tmp(home: Path) -> None:
    fill = "lambda place: [open(f'{place}/{n}', 'wb').write(bytes(1 << 20)) for n in range(100)]"
    places = ["/bot", "/", "/dev", "/etc", "/usr", "/usr/bin", "/proc/sys/kernel"]
    tries = "\n".join(f"in {place}: open, '{place}/new', 'w'" for place in places)
    found = said(
        home,
        f"""{tries}
        own program: open, "main.py", "a"
        settings: open, "/proc/sys/kernel/core_pattern", "w"
        stays: open, "/tmp/stays", "w"
        tmp: {fill}, "/tmp"
        shm: {fill}, "/dev/shm"
        """,
        Limits(tmp_bytes=20 * 2**20),
    )
    refused = {name: answer for name, answer in found.items() if name not in ("tmp", "shm", "stays")}
    assert set(refused.values()) <= {"OSError", "PermissionError", "FileNotFoundError"}, refused
    assert (found["tmp"], found["shm"]) == ("OSError", "OSError"), "no space left"
    assert sorted(path.name for path in (home / "bot").iterdir()) == ["main.py"]
    shutil.rmtree(home / "bot")
    assert said(home, "tmp: os.listdir, '/tmp'") == {"tmp": "[]"}


def test_a_bot_has_no_network(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(f"\0deadheat-{os.getpid()}")
        local.listen()
        found = said(
            home,
            f"""
            here: socket.create_connection, ("127.0.0.1", {server.getsockname()[1]}), 5
            outside: socket.create_connection, ("192.0.2.1", 80), 5
            abstract: socket.socket(socket.AF_UNIX).connect, "\\0deadheat-{os.getpid()}"
            interfaces: socket.if_nameindex
            """,
        )
    interfaces = found.pop("interfaces")
    assert "lo" in interfaces and "eth" not in interfaces
    assert set(found.values()) <= {"ConnectionRefusedError", "OSError"}, found


def test_a_bot_reaches_no_other_process(home: Path) -> None:
    neighbour = subprocess.Popen(["sleep", "1000"])
    try:
        found = said(
            home,
            f"""
            processes: sorted, (name for name in os.listdir("/proc") if name.isdigit())
            kill: os.kill, {neighbour.pid}, 9
            kill us: os.kill, {os.getpid()}, 0
            kill all: os.kill, -1, 9
            memory: open, "/proc/{neighbour.pid}/mem"
            trace: libc.ptrace, 16, {neighbour.pid}, 0, 0
            namespace: lambda: libc.unshare(0x10000000)
            mount: lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)
            root: os.setuid, 0
            """,
        )
        assert neighbour.poll() is None
    finally:
        neighbour.kill()
        neighbour.wait()
    assert found == {
        "processes": "['1', '2']",
        "kill": "ProcessLookupError",
        "kill us": "ProcessLookupError",
        "kill all": "ProcessLookupError",  # the namespace's first process ignores it, and there is no other
        "memory": "FileNotFoundError",
        "trace": "-1",
        "namespace": "-1",
        "mount": "-1",
        "root": "OSError",  # there is no such user
    }


def test_what_a_bot_may_use_is_limited(home: Path) -> None:
    fork = "lambda: [os.fork() or __import__('time').sleep(1000) for _ in range(500)]"
    found = said(
        home,
        f"""
        memory: lambda: len(bytearray(300 << 20))
        files: lambda: [open("/dev/null") for _ in range(1000)]
        first to go: open("/proc/self/oom_score_adj").read
        crash: resource.getrlimit, resource.RLIMIT_CORE
        fork: {fork}
        """,
        Limits(memory_bytes=100 << 20, processes=20),
    )
    assert found == {
        "memory": "MemoryError",
        "files": "OSError",
        "first to go": "'1000\\n'",
        "crash": "(1, 1)",
        "fork": "BlockingIOError",
    }


LONG = str(10_000_000 + os.getpid())
"""How long some processes sleep. No other process sleeps that long, so they are found by it."""

LONGEVITY = f"""
import time
input()
for start_new_session in (False, True):
    subprocess.Popen(["sleep", "{LONG}"], start_new_session=start_new_session, env={{}}, close_fds=False)
subprocess.run(["setsid", "-f", "env", "-i", "sleep", "{LONG}"], check=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("OK", flush=True)
time.sleep(1000)
"""


def test_nothing_of_a_run_outlives_it(home: Path) -> None:
    with closing(BubblewrapSandbox().open(program(home, LONGEVITY), Limits())) as box:
        assert asker(box)("GO").line == "OK"
        assert len(alive_after_a_while(LONG, 3)) == 3, "setsid's child may not have become `sleep` yet"
        assert stop(box, 10 * NS_PER_MS).lingered
        assert alive(LONG) == {}, "at once: the kernel had ended all of them before the run counted as ended"


def test_the_bots_end_with_the_process_that_opened_them(home: Path) -> None:
    bot = program(home, LONGEVITY)
    sandbox = BubblewrapSandbox()
    child = os.fork()  # another interpreter may not be allowed to read our modules
    if not child:
        with contextlib.suppress(BaseException):
            channel = sandbox.open(bot, Limits()).start()
            os.write(channel.stdin_fd, b"GO\n")
            os.set_blocking(channel.stdout_fd, True)
            if os.read(channel.stdout_fd, 10) == b"OK\n":
                os.kill(os.getpid(), signal.SIGKILL)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert alive_after_a_while(LONG) == {}


def test_no_bot_begins_if_that_process_is_killed_before(home: Path) -> None:
    """Bubblewrap itself leaves a waiting process behind in about one of 200 cases."""
    folder = program(home, "__import__('time').sleep(1000)").directory
    bot = Program(folder, (PYTHON, "-IS", "main.py", folder.as_posix()), "bot")
    sandbox = BubblewrapSandbox()
    for delay_ms in range(12):
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                sandbox.open(bot, Limits()).start()
                time.sleep(1000)
            os._exit(1)
        time.sleep(delay_ms / 1000)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    left = alive_after_a_while(str(folder))
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert list(left.values()) in ([], [shutil.which("bwrap")])


def test_an_end_is_told_as_of_a_plain_program(home: Path) -> None:
    sandbox = BubblewrapSandbox()
    for code, fault, ended in (
        ("input(); sys.exit(7)", Fault.EXITED, (7, None)),
        ("input(); os.kill(os.getpid(), 9)", Fault.EXITED, (None, 9)),
        ("input(); os.abort()", Fault.EXITED, (None, 6)),
        ("input(); os.close(1); os.close(2); input()", Fault.EXITED, (None, None)),
        ("input(); sys.stderr.write('help'); print('OK')", None, (0, None)),
    ):
        with closing(sandbox.open(program(home, code, str(abs(hash(code)))), Limits())) as box:
            reply = asker(box)("GO")
            assert (reply.fault, reply.line) == (fault, None if fault else "OK")
            end = stop(box, 200 * NS_PER_MS if ended == (None, None) else 60 * NS_PER_S)
            assert (end.exit_code, end.signal) == ended
            assert end.stderr == (b"" if fault else b"help")


def test_the_bots_own_time_is_measured(home: Path) -> None:
    """The meter follows the bot inside and not bubblewrap, so a bot that computes too long is late."""
    code = """
import time
for line in sys.stdin:
    end = time.process_time() + 0.05
    while time.process_time() < end: pass
    print("OK", flush=True)
    if "LOOP" in line:
        while True: pass
"""
    with closing(BubblewrapSandbox().open(program(home, code), Limits())) as box:
        channel = box.start()
        transport = PipeTransport([channel])

        def asked(line: str, limit_ns: int) -> Reply:
            return transport.exchange([Message(0, line, limit_ns)])[0]

        # The measurement begins after our write. If others keep us waiting just then, we miss the start.
        measured = (asked("GO", 20 * NS_PER_S).cpu_ns or 0 for _ in range(50))
        assert any(49 * NS_PER_MS < cpu_ns < 5 * NS_PER_S for cpu_ns in measured)
        before = channel.meter.counters()
        assert before.cpu_ns is not None and before.delay_ns is not None
        assert asked("LOOP", 20 * NS_PER_S).line == "OK"
        assert asked("GO", 100 * NS_PER_MS).fault is Fault.TIMEOUT


def test_a_bot_that_is_not_asked_is_stopped_with_all_children(home: Path) -> None:
    """The child has a session of its own, so it is in none of the bot's process groups."""
    code = "if not os.fork():\n    os.setsid()\n    while True: pass\nprint(input(), flush=True)\nwhile True: pass\n"
    with closing(BubblewrapSandbox().open(program(home, code), Limits())) as box:
        channel = box.start()
        assert PipeTransport([channel]).exchange([Message(0, "GO", 20 * NS_PER_S)])[0].line == "GO"
        bot = channel.meter._pid  # type: ignore[attr-defined]
        (child,) = Path(f"/proc/{bot}/task/{bot}/children").read_text().split()
        for pid in (bot, child):
            stops_unless_asked(box, lambda: int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]))  # noqa: B023


def test_a_build_is_confined_too(home: Path) -> None:
    sources = home / "sources"
    sources.mkdir()
    (sources / "main.c").write_text('#include <stdio.h>\nint main(void) { puts("OK"); }\n')
    sandbox = BubblewrapSandbox()
    assert b"bot" in build(sandbox, sources, LANGUAGES["c"]).tar
    (home / "secret.h").write_text("int secret;\n")
    (sources / "main.c").write_text(f'#include "{home}/secret.h"\nint main(void) {{ return secret; }}\n')
    with pytest.raises(BuildFailed, match="exit code 1") as failed:
        build(sandbox, sources, LANGUAGES["c"])
    assert "No such file or directory" in failed.value.log


def test_who_cannot_use_it_is_told_why(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = home / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(SandboxError, match=r"does not work here: .* setting up uid map: Permission denied; "):
        BubblewrapSandbox()
    refusing.unlink()
    with pytest.raises(SandboxError, match="bubblewrap is not installed"):
        BubblewrapSandbox()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(SandboxError, match="an ordinary account"):
        BubblewrapSandbox()
