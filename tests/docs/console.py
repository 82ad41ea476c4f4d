"""Follows a page of the documentation as its reader does: types what it says into a terminal, and looks at what comes.

A block that begins with ```console is followed. Lines beginning with "$ " are typed into one shell, one by one, on a
terminal of 100 columns; each must end with exit code 0. Other lines are what the page says will be seen: each must
be among the command's lines, with "..." standing for anything. Questions for a password are answered. A ```python block
is run as a program. Blocks that need what no test has (an engine, another account) are plain ones.

The shell is asked for exit codes by its own prompt: what is typed ahead would be read by a question for a password.
"""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from fcntl import ioctl
from pathlib import Path

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
    """Return all commands of a page."""
    found: list[Step] = []
    for kind, block in re.findall(r"^```(console|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
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
    """A shell on a terminal of its own."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._child, self._fd = pty.fork()
        if self._child == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting"], dict(environment))
        ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
        self.run("PS1= PS2=; stty -echo; PROMPT_COMMAND='printf \"\\036%d\\036\" $?'")

    def type(self, text: str) -> None:
        """Type a line, with Enter."""
        os.write(self._fd, text.encode() + b"\n")

    def run(self, command: str) -> tuple[int, str]:
        """Run a command; return its exit code and everything that was seen."""
        self.type(command)
        output, code, _ = self._until(2).split(MARK)
        return int(code), output.replace("\r\n", "\n")

    def close(self) -> None:
        """Close the terminal."""
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


def fits(expected: str, output: str) -> bool:
    """Whether the line, with "..." for anything, is among the output's."""
    pattern = ".*".join(map(re.escape, expected.strip().split("...")))
    return any(re.fullmatch(pattern, line.strip()) for line in output.splitlines())
