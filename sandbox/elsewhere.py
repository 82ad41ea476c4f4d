"""Plain programs on Windows and macOS, where no counter tells which time was a bot's own: limits bound the wall clock.

Windows can wait for several pipes only with threads. So each run has three: one reads the bot's output and stamps what
it reads, one keeps the ends of its stderr, and one writes, because a bot that does not read would hold the referee. The
referee sleeps at a queue, a tenth of a second at most, so that Ctrl-C reaches it on Windows, too.

Stamps decide, as in `sandbox.pipes`, whose rules these are otherwise: seats are asked one after the other, output
before the prompt is a fault, and time is judged before the content. A line may end with CR and LF, as on Windows.

Bots begin in a process group of their own, so that Ctrl-C ends the command and no bot's game. At the end of a run its
group is killed, on Windows the tree of processes below it. Builds run without a shell where the recipe needs none.
"""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from queue import Empty, Queue, SimpleQueue
from time import perf_counter_ns  # on Windows, monotonic_ns moves in steps of 16 ms

from deadheat.engine.core import MAX_LINE_BYTES, NS_PER_MS, NS_PER_S, Fault, Message, Reply, Seat
from deadheat.engine.own_time import Evidence
from deadheat.sandbox.box import (
    HEAD_BYTES,
    SYSTEM,
    TAIL_BYTES,
    Box,
    Channel,
    Exit,
    Limits,
    Plain,
    Program,
    SandboxError,
)
from deadheat.sandbox.build import BUILD_SECONDS, BuildFailed
from deadheat.sandbox.copies import Copies
from deadheat.sandbox.languages import Recipe
from deadheat.sandbox.pipes import READ_BYTES, InTurn, by_seat

KEPT = (
    *("PATH", "HOME", "TMPDIR", "TEMP", "TMP", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
)
"""The variables that a bot gets from its author's environment; without SYSTEMROOT, little starts on Windows."""

SET = {"LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
MOST_WAITING = 16
"""The most pieces of output that wait for the referee; then the bot waits."""

SLEEP_SECONDS = 0.1
LATE_NS = 20 * NS_PER_MS
"""How long after a deadline its answer may reach the referee; its stamp decides."""

REAP_SECONDS = 10
NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
PROGRAM_SUFFIXES = ("", ".exe", ".bat", ".cmd")


class Threaded(Channel):
    """One run of a bot, whose pipes threads serve."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        super().__init__(-1, -1)
        self.process = process
        self._ended = False
        self._output: Queue[tuple[int, bytes]] = Queue(MOST_WAITING)
        self._input: SimpleQueue[bytes] = SimpleQueue()
        self._head, self._tail, self._left_out = b"", b"", 0
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._read, self._keep, self._write)]
        for thread in self._threads:
            thread.start()

    def send(self, text: str) -> None:
        self._input.put(text.encode("ascii"))

    def hear(self, seconds: float) -> int | None:
        """Add the next output to what is unread. Return its stamp, or None if there was none in that time."""
        try:
            stamp_ns, data = self._output.get(timeout=seconds) if seconds > 0 else self._output.get_nowait()
        except Empty:
            return None
        self.unread += data
        self._ended = not data
        return stamp_ns

    def over(self) -> bool:
        """Say whether the end of the output was heard."""
        return self._ended

    def stderr(self) -> bytes:
        """Return the ends of what the bot wrote to stderr so far."""
        middle = b"\n[... %d bytes left out ...]\n" % self._left_out if self._left_out else b""
        return self._head + middle + self._tail

    def close(self) -> None:
        """End the threads of a run that is over. A process that got away may keep one waiting, which ends with us."""
        self._input.put(b"")
        until_ns = perf_counter_ns() + NS_PER_S
        while any(thread.is_alive() for thread in self._threads) and perf_counter_ns() < until_ns:
            self.hear(0.001)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and not any(thread.is_alive() for thread in self._threads):
                with contextlib.suppress(OSError):
                    pipe.close()

    def _read(self) -> None:
        data = b"?"
        while data:
            data = _read_from(self.process.stdout)
            self._output.put((perf_counter_ns(), data))

    def _keep(self) -> None:
        while data := _read_from(self.process.stderr):
            if (room := HEAD_BYTES - len(self._head)) > 0:
                self._head += data[:room]
                data = data[room:]
            kept = self._tail + data
            self._left_out += max(0, len(kept) - TAIL_BYTES)
            self._tail = kept[-TAIL_BYTES:]

    def _write(self) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError):  # the end of its output shows that it is gone
            while data := self._input.get():
                while data:
                    data = data[os.write(stdin.fileno(), data) :]


def _read_from(pipe: object) -> bytes:
    try:
        return os.read(pipe.fileno(), READ_BYTES)  # type: ignore[attr-defined]
    except OSError:  # on Windows, that of a process that was killed
        return b""


class WallClock:
    """The transport of threaded channels; see `sandbox.pipes.PipeTransport`."""

    def __init__(self, channels: Sequence[Threaded], heartbeat: Callable[[], None], turns: InTurn) -> None:
        self._channels = channels
        self._heartbeat = heartbeat
        self._turns = turns
        self.convictions: list[dict[str, object]] = []

    def exchange(self, messages: Sequence[Message]) -> Mapping[Seat, Reply]:
        """Write all lines, and wait until every prompted seat is decided, each alone (ruling C-01)."""
        self._heartbeat()
        texts, limits = by_seat(messages)
        for seat, text in texts.items():
            if seat not in limits:
                self._channels[seat].send(text)
        return {seat: self._ask(seat, texts[seat], limits[seat]) for seat in self._turns.order([*limits])}

    def _ask(self, seat: Seat, text: str, limit_ns: int) -> Reply:
        channel = self._channels[seat]
        while not channel.over() and channel.hear(0) is not None:
            continue
        if channel.unread:
            return Reply(None, 0, Fault.UNEXPECTED)
        if channel.over():
            return Reply(None, 0, Fault.EXITED)
        started_ns = perf_counter_ns()
        channel.send(text)
        while True:
            left_ns = started_ns + limit_ns + LATE_NS - perf_counter_ns()
            stamp_ns = channel.hear(min(SLEEP_SECONDS, left_ns / NS_PER_S))
            if stamp_ns is None:
                if left_ns > 0:
                    continue
                stamp_ns = perf_counter_ns()
            end = channel.unread.find(b"\n")
            elapsed_ns = stamp_ns - started_ns
            if elapsed_ns > limit_ns:
                evidence = Evidence(elapsed_ns)
                self.convictions.append({"seat": seat, "limit_ns": limit_ns, **evidence.as_dict()})
                return Reply(None, elapsed_ns, Fault.TIMEOUT, evidence=evidence)
            if end < 0 and not channel.over() and len(channel.unread) <= MAX_LINE_BYTES:
                continue
            if channel.over():
                return Reply(None, elapsed_ns, Fault.EXITED)
            if not 0 <= end <= MAX_LINE_BYTES:
                return Reply(None, elapsed_ns, Fault.OVERFLOW)
            line, channel.unread = channel.unread[:end], channel.unread[end + 1 :]
            return Reply(line.removesuffix(b"\r").decode(errors="surrogateescape"), elapsed_ns)


class Elsewhere(Plain):
    """See `sandbox.box.Sandbox`. It knows none of the limits."""

    def __init__(self, copies: Path) -> None:
        """Bots run in copies below this folder."""
        self._copies = Copies(copies)

    def open(self, program: Program, limits: Limits) -> Box:
        return _Box(program, self._copies)

    def build(self, sources: Path, recipe: Recipe) -> tuple[str, ...]:
        """Build a bot where its sources are, and return the command that starts it. Raises BuildFailed, OSError."""
        command = _direct(recipe, sources)
        code: int | None = None
        try:
            done = subprocess.run(
                command,
                cwd=sources,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=BUILD_SECONDS,
                check=False,
            )
            log, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as error:
            log = error.stdout or b""
        if code != 0:
            how = f"the build took longer than {BUILD_SECONDS} s" if code is None else f"exit code {code}"
            how = how if code is None else f"the build command failed with {how}"
            raise BuildFailed(how, log[-TAIL_BYTES:].decode("utf-8", "replace"))
        if SYSTEM == "win32" and (sources / "bot").is_file():  # Windows starts only what has a known suffix
            (sources / "bot").replace(sources / "bot.exe")
        first, *rest = recipe.run
        return (first if first.startswith("./") else _tool(first, recipe), *rest)


def _tool(name: str, recipe: Recipe) -> str:
    """Return where a tool is on this machine. The league's paths lead nowhere on Windows, or to stand-ins on macOS."""
    tool = PurePosixPath(name).name
    if name == sys.executable:
        return name
    if (path := shutil.which(tool)) is None:
        raise BuildFailed(f"{recipe.title} is not installed here ({tool})", "")
    return path


def _direct(recipe: Recipe, folder: Path) -> list[str]:
    """Return a recipe's build as a command without a shell, with the names of files that shell and find insert."""
    words = shlex.split(recipe.build)
    if "&&" in words:
        if (shell := shutil.which("sh")) is None:
            raise BuildFailed(f"to build {recipe.title} here, install a shell (sh), such as Git for Windows has", "")
        return [shell, "-c", recipe.build]
    if words[0] == "find":
        patterns = [words[place + 1] for place, word in enumerate(words) if word == "-name"]
        search = folder.glob if "-maxdepth" in words else folder.rglob
        names = sorted({path.relative_to(folder).as_posix() for pattern in patterns for path in search(pattern)})
        words = [*words[words.index("-exec") + 1 : words.index("{}")], *names]
    inserted = [sorted(path.name for path in folder.glob(word[2:])) if "/*" in word else [word] for word in words[1:]]
    return [_tool(words[0], recipe), *(name for names in inserted for name in names)]


class _Box:
    """See `sandbox.box.Box`."""

    def __init__(self, program: Program, copies: Copies) -> None:
        self._program, self._copies = program, copies
        self._copy = copies.take(program.directory)
        self._run: Threaded | None = None
        self._grace_ends_ns = 0
        self._closed = False

    def start(self) -> Channel:
        try:
            folder = self._copy.fresh()
            environment = {**SET, **{name: os.environ[name] for name in KEPT if name in os.environ}}
            first, *words = self._program.command
            if first == "env":  # a command of Unix, with which `deadheat tune` sets a bot's variables
                while (pair := words[0].partition("="))[0].isidentifier() and pair[1]:
                    environment[pair[0]] = pair[2]
                    words.pop(0)
                first = words.pop(0)
            process = subprocess.Popen(
                [_in(folder, first), *words],
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                creationflags=NEW_GROUP,
            )
        except (OSError, shutil.Error) as error:
            raise SandboxError("no-start", f"cannot start {self._program.label}: {error}") from error
        self._run = Threaded(process)
        return self._run

    def favour(self, yes: bool) -> None:
        """Do nothing: no ordinary user may."""

    def rest(self, yes: bool) -> None:
        """Do nothing: nobody plays against a person here."""

    def stderr_so_far(self) -> bytes:
        assert self._run is not None
        return self._run.stderr()

    def ask_stop(self, grace_ns: int) -> None:
        self._grace_ends_ns = perf_counter_ns() + grace_ns

    def stopped(self) -> Exit:
        assert self._run is not None
        run, self._run = self._run, None
        try:
            run.process.wait(max(0, self._grace_ends_ns - perf_counter_ns()) / NS_PER_S)
            lingered = False
        except subprocess.TimeoutExpired:
            lingered = True
        _kill(run.process, lingered)
        try:
            code = run.process.wait(REAP_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise SandboxError("container-stuck", f"process {run.process.pid} cannot be killed") from error
        run.close()
        if lingered:
            return Exit(None, None, True, run.stderr())
        return Exit(code if code >= 0 else None, -code if code < 0 else None, False, run.stderr())

    def close(self) -> None:
        if self._run is not None:
            self.ask_stop(0)
            self.stopped()
        if not self._closed:
            self._closed = True
            self._copies.give_back(self._copy)


def _in(folder: Path, command: str) -> str:
    """Return the path of a program in its folder, with the suffix that it has."""
    if not command.startswith("./"):
        return command
    names = (folder / f"{command[2:]}{suffix}" for suffix in PROGRAM_SUFFIXES)
    return str(next((path for path in names if path.is_file()), folder / command[2:]))


def _kill(process: "subprocess.Popen[bytes]", runs: bool) -> None:
    """Kill a run's processes: its group, or on Windows, while the first one `runs`, those that it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif runs:
        with contextlib.suppress(OSError):
            ending = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
            subprocess.run(ending, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        with contextlib.suppress(OSError):  # it has just ended
            process.kill()
