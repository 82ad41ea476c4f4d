"""Where nothing measures own time, the same rules hold by the wall clock; and bots are built without a shell."""

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.engine.core import MAX_LINE_BYTES, NS_PER_MS, NS_PER_S, Fault, Message
from deadheat.sandbox import elsewhere
from deadheat.sandbox.box import HEAD_BYTES, TAIL_BYTES, Box, Limits, Program, Sandbox, SandboxError
from deadheat.sandbox.build import BuildFailed
from deadheat.sandbox.elsewhere import Elsewhere, Threaded, WallClock
from deadheat.sandbox.languages import LANGUAGES
from deadheat.sandbox.local import LocalSandbox
from deadheat.sandbox.pipes import InTurn, PipeTransport
from tests.sandbox.boxes import until

ANSWERS = {
    "input(); print('OK', flush=True); input()": ("OK", None),
    "import sys; input(); sys.stdout.write('OK\\r\\n'); sys.stdout.flush(); input()": ("OK", None),
    "import sys; input(); print(end='O', flush=True); print('K', flush=True); input()": ("OK", None),
    "input()": (None, Fault.EXITED),
    "print('early', flush=True); input(); input()": (None, Fault.UNEXPECTED),
    f"input(); print('x' * {MAX_LINE_BYTES}, flush=True); input()": ("x" * MAX_LINE_BYTES, None),
    f"input(); print('x' * {MAX_LINE_BYTES + 1}, flush=True); input()": (None, Fault.OVERFLOW),
    "import os, time; os.close(1); time.sleep(9)": (None, Fault.EXITED),
    "import time; input(); time.sleep(9)": (None, Fault.TIMEOUT),
    "input(); print('\\udcff', flush=True)": ("\udcff", None),
    "import os; input(); print(os.path.exists('seen')); open('seen', 'w')": ("False", None),
}


UTF8 = ("-I", "-X", "utf8", "-c", "import sys; sys.stdout.reconfigure(errors='surrogateescape'); exec(sys.argv[1])")


@contextmanager
def running(sandbox: Sandbox, folder: Path, *command: str) -> Iterator[tuple[Box, WallClock | PipeTransport]]:
    folder.mkdir(exist_ok=True)
    with closing(sandbox.open(Program(folder, command, "test"), Limits())) as box:
        yield box, started(box)


def started(box: Box) -> WallClock | PipeTransport:
    channel = box.start()
    return (
        WallClock([channel], lambda: None, InTurn([box], b""))
        if isinstance(channel, Threaded)
        else PipeTransport([channel])
    )


@pytest.mark.parametrize("code", ANSWERS)
@pytest.mark.parametrize("kind", [LocalSandbox, Elsewhere])
def test_the_same_answers_and_faults_as_with_plain_programs_of_linux(
    kind: type[LocalSandbox | Elsewhere], code: str, tmp_path: Path
) -> None:
    typed = code if kind is Elsewhere else code.replace("\\r", "")
    with running(kind(tmp_path / "copies"), tmp_path / "bot", sys.executable, *UTF8, typed) as (box, first):
        clock = first
        for _ in range(2):
            if "early" in code or "close(1)" in code:
                time.sleep(0.3)
            limit_ns = 200 * NS_PER_MS if "sleep(9)" in code else 9 * NS_PER_S
            reply = clock.exchange([Message(0, "GO", limit_ns)])[0]
            assert (reply.line, reply.fault) == ANSWERS[code]
            box.ask_stop(0)
            box.stopped()
            clock = started(box)


def test_a_bot_that_never_reads_or_writes_too_much_holds_nobody(tmp_path: Path) -> None:
    deaf = "import sys, time\nsys.stderr.write('x' * 9**7)\nsys.stderr.flush()\ntime.sleep(9)"
    with running(Elsewhere(tmp_path / "copies"), tmp_path / "bot", sys.executable, "-c", deaf) as (box, clock):
        for _ in range(40):
            clock.exchange([Message(0, "x" * 60_000)])
        reply = clock.exchange([Message(0, "GO", 500 * NS_PER_MS)])[0]
        assert reply.fault is Fault.TIMEOUT and reply.evidence is not None and reply.evidence.signal == "none"
        box.ask_stop(0)
        end = box.stopped()
    assert end.lingered and len(end.stderr) < HEAD_BYTES + TAIL_BYTES + 100 and b"bytes left out" in end.stderr


CHILD = """
import subprocess, sys
input()
print(subprocess.Popen(['sleep', '99']).pid, flush=True)
input()
sys.exit(7)
"""


def test_children_end_with_the_run_and_exit_codes_are_told(tmp_path: Path) -> None:
    with running(Elsewhere(tmp_path / "copies"), tmp_path / "bot", sys.executable, "-c", CHILD) as (box, clock):
        child = clock.exchange([Message(0, "GO", 9 * NS_PER_S)])[0].line
        clock.exchange([Message(0, "FINISH")])
        box.ask_stop(9 * NS_PER_S)
        assert box.stopped().exit_code == 7
        status = Path(f"/proc/{child}/stat")
        assert until(lambda: not status.exists() or ") Z" in status.read_text(), 9)
    with pytest.raises(SandboxError, match="cannot start test"), running(Elsewhere(tmp_path), tmp_path / "bot", "./no"):
        pass


def test_variables_are_set_without_the_command_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code = "import os; input(); print(os.environ['DEPTH'], os.environ['WIDTH'], flush=True); input()"
    command = ("env", "DEPTH=3", "WIDTH=a=b", sys.executable, "-c", code)
    with running(Elsewhere(tmp_path / "copies"), tmp_path / "bot", *command) as (_, clock):
        assert clock.exchange([Message(0, "GO", 9 * NS_PER_S)])[0].line == "3 a=b"


C = """#include <stdio.h>
int other(void);
int main(void) { getchar(); printf("%d\\n", other()); fflush(stdout); getchar(); return 0; }
"""


@pytest.mark.parametrize("language", ["c", "cpp"])
def test_several_files_are_built_without_a_shell(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Windows, where what is built needs a suffix."""
    monkeypatch.setattr(elsewhere, "SYSTEM", "win32")
    sources, sandbox = tmp_path / "sources", Elsewhere(tmp_path / "copies")
    sources.mkdir()
    (sources / f"main.{language}").write_text(C)
    (sources / f"other.{language}").write_text("int other(void) { return 42; }\n")
    command = sandbox.build(sources, LANGUAGES[language])
    assert (sources / "bot.exe").is_file() and command == ("./bot",)
    with running(sandbox, sources, *command) as (_, clock):
        assert clock.exchange([Message(0, "GO", 9 * NS_PER_S)])[0].line == "42"


def test_what_cannot_be_built_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = Elsewhere(tmp_path / "copies")
    (tmp_path / "main.c").write_text("int main(void) { return x; }")
    with pytest.raises(BuildFailed, match="exit code 1") as failed:
        sandbox.build(tmp_path, LANGUAGES["c"])
    assert "undeclared" in failed.value.log
    slow = replace(LANGUAGES["python"], build="sleep 9")
    monkeypatch.setattr(elsewhere, "BUILD_SECONDS", 0.2)
    with pytest.raises(BuildFailed, match="took longer than"):
        sandbox.build(tmp_path, slow)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    for language, sentence in {
        "c": "C is not installed here .gcc",
        "go": "install a shell",
        "java": "Java is not",
    }.items():
        with pytest.raises(BuildFailed, match=sentence):
            sandbox.build(tmp_path, LANGUAGES[language])
