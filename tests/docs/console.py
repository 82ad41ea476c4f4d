"""Follow a page of the documentation as its reader does: type what it says into a terminal, and look at what comes.

A block that begins with ```console is followed. Lines beginning with "$ " are typed into one shell, one by one, on a
terminal of 100 columns; each must end with exit code 0. Other lines are expected output: each must be among the
command's lines, where "..." stands for anything. Questions for a password are answered. A ```python block is run as a
program. Blocks that need what no test has (an engine, another account) are plain ones.

The shell's own prompt tells exit codes, because a question for a password would read what is typed ahead.
"""

import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fcntl import ioctl
from pathlib import Path

from tests.cli.command import ROOT

ANSWERS = {"Password: ": "a long enough password", "Repeat for confirmation: ": "a long enough password"}
COMMAND_SECONDS = 120
MARK = "\x1e"
"""The shell's prompt; nothing that we start prints it."""


@dataclass
class Step:
    """A command and what the page says about it."""

    command: str
    expected: list[str] = field(default_factory=list)


def steps(page: str) -> list[Step]:
    """Return what docs/PAGE.md tells its reader to type."""
    found: list[Step] = []
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    for kind, block in re.findall(r"^```(console|python)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if kind == "python":
            found.append(Step(f"python - <<'END'\n{block}END"))
            continue
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Step(line[2:]))
            elif line.strip():
                found[-1].expected.append(line)
    return found


class Terminal:
    """A shell on its own terminal."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._child, self._fd = pty.fork()
        if self._child == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting"], dict(environment))
        ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
        self.run("PS1= PS2=; stty -echo; PROMPT_COMMAND='printf \"\\036%d\\036\" $?'")

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode() + b"\n")

    def run(self, command: str) -> tuple[int, str]:
        """Run a command; return its exit code and everything that was seen."""
        self.type(command)
        output, code, _ = self._until(2).split(MARK)
        return int(code), output.replace("\r\n", "\n")

    def close(self) -> None:
        os.kill(self._child, signal.SIGKILL)
        os.close(self._fd)
        os.waitpid(self._child, 0)

    def _until(self, marks: int) -> str:
        seen = b""
        answered = 0
        give_up_at = time.monotonic() + COMMAND_SECONDS
        while seen.count(MARK.encode()) < marks:
            assert time.monotonic() < give_up_at, f"no end after {COMMAND_SECONDS} s: {seen.decode()}"
            if select.select([self._fd], [], [], 1)[0]:
                seen += os.read(self._fd, 65536)
            for question, answer in ANSWERS.items():
                if seen[answered:].endswith(question.encode()):
                    answered = len(seen)
                    self.type(answer)
        return seen.decode()


PYTHON = f'PYTHONPATH="{ROOT}/src" exec "{sys.executable}"'
PROGRAMS = {"deadheat": f"{PYTHON} -m deadheat.cli.main", "python": PYTHON}
"""Programs that a reader can type, and what they start."""


@contextmanager
def terminal(folder: Path, programs: Mapping[str, str] = PROGRAMS, **environment: str) -> Iterator[Terminal]:
    """Open a terminal for `programs` in `folder / "work"`, which is also the reader's home."""
    scripts, work = folder / "bin", folder / "work"
    for made in (scripts, work):
        made.mkdir(exist_ok=True)
    for name, started in programs.items():
        (scripts / name).write_text(f'#!/bin/sh\n{started} "$@"\n')
        (scripts / name).chmod(0o755)
    path = {"PATH": f"{scripts}:{os.environ['PATH']}", "HOME": str(work), "TERM": "dumb"}
    opened = Terminal(work, path | environment)
    try:
        yield opened
    finally:
        opened.close()


def follow(reader: Terminal, todo: list[Step], here: Mapping[str, str]) -> None:
    """Type the commands, and check what is seen. `here`: what pages write, and what it is in the test."""
    assert todo
    for step in todo:
        command = step.command
        for written, real in here.items():
            command = command.replace(written, real)
        code, output = reader.run(command)
        for written, real in here.items():
            output = output.replace(real, written)
        assert code == 0, f"$ {command}\n{output}"
        for expected in step.expected:
            assert fits(expected, output), f"$ {command}\nis to say\n{expected}\nand says\n{output}"


def fits(expected: str, output: str) -> bool:
    """Return whether the output has this line, where "..." stands for anything."""
    pattern = ".*".join(map(re.escape, expected.strip().split("...")))
    return any(re.fullmatch(pattern, line.strip()) for line in output.splitlines())
