"""Runs the command as on another system: `run_elsewhere`, or

    DEADHEAT_TEST_SYSTEM=win32 python -m tests.elsewhere '[["new", "yacht-auction", ...], ...]'

Deadheat's modules see only what Python's type stubs, which mypy brings, list for that system; Python and our libraries
see everything. /proc, /sys and other folders of Linux cannot be opened or started from. For Windows, texts are written
with CRLF, a text that is opened without naming an encoding is an error, and the console knows 256 characters (cp1252).

What it cannot show: how processes, signals, file locks and consoles of a real Windows or Mac behave.
"""

import ast
import builtins
import fcntl
import io
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
STUBS = Path(str(import_module("mypy").__file__)).parent / "typeshed" / "stdlib"
REDUCED = ("os", "signal", "time", "select", "socket", "sys")
UNIX_ONLY = (
    "fcntl",
    "resource",
    "pwd",
    "grp",
    "termios",
    "tty",
    "pty",
    "posix",
    "syslog",
    "readline",
    "curses",
    "spwd",
)
"""Modules that Windows lacks; macOS has them."""

PATHS = ("open", "os.listdir", "os.scandir", "os.mkdir", "subprocess.Popen")
FOREIGN = {
    "darwin": ("/proc", "/sys", "/run", "/usr/bin/python3"),
    "win32": ("/proc", "/sys", "/run", "/dev", "/bin", "/usr/bin", "/tmp/deadheat"),
}
"""The beginnings of paths that the other system has not, or (Apple's python3) should not start."""


def names_in(body: list[ast.stmt], system: str) -> Iterator[str]:
    """Yield the names that a stub defines on that system."""
    for node in body:
        if isinstance(node, ast.If):
            yield from names_in(node.body if _holds(node.test, system) else node.orelse, system)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            yield from (target.id for target in targets if isinstance(target, ast.Name))
            yield from _listed(node)
        elif isinstance(node, ast.AugAssign):
            yield from _listed(node)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            yield from (alias.asname or alias.name for alias in node.names)
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                yield from stub_names(node.module or "", system)


def _listed(node: ast.AnnAssign | ast.Assign | ast.AugAssign) -> Iterator[str]:
    """Yield the texts of a list, such as that of `__all__`."""
    if isinstance(node.value, ast.List | ast.Tuple):
        yield from (str(item.value) for item in node.value.elts if isinstance(item, ast.Constant))


def _holds(test: ast.expr, system: str) -> bool:
    """Evaluate a stub's condition on the system and on Python's version."""
    return bool(eval(compile(ast.Expression(test), "stub", "eval"), {"sys": _Sys(system), "TYPE_CHECKING": True}))


class _Sys:
    version_info = sys.version_info

    def __init__(self, platform: str) -> None:
        self.platform = platform


def stub_names(module: str, system: str) -> set[str]:
    file = STUBS / f"{module}.pyi"
    file = file if file.is_file() else STUBS / module / "__init__.pyi"
    return set(names_in(ast.parse(file.read_text(encoding="utf-8")).body, system))


END = "--- exit code "


class Reduced(ModuleType):
    """A module with only the names that it has on the other system; they are set and read in the real one."""

    def __init__(self, module: ModuleType, system: str) -> None:
        super().__init__(module.__name__)
        vars(self).update(_real=module, _known=stub_names(module.__name__, system), _system=system)

    def __getattr__(self, name: str) -> Any:
        if name == "platform" and self._real is sys:
            return self._system
        if name not in self._known:
            raise AttributeError(f"module {self._real.__name__!r} has no attribute {name!r} on {self._system}")
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real, name, value)


def hide(system: str) -> None:
    """Take from Deadheat's modules what that system lacks."""
    reduced: dict[str, ModuleType] = {name: Reduced(import_module(name), system) for name in REDUCED}
    lacking = UNIX_ONLY if system == "win32" else ()
    before = builtins.__import__

    def imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:  # noqa: A002  the names of the original
        if str((globals or {}).get("__name__")).startswith("deadheat"):
            if name in lacking:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            if name in reduced:
                return reduced[name]
        return before(name, globals, locals, fromlist, level)

    builtins.__import__ = imported
    if system == "win32":
        reduced["msvcrt"] = Msvcrt("msvcrt")
        builtins.open = io.open = _as_windows_writes(io.open)
        for stream in (sys.stdout, sys.stderr):
            assert isinstance(stream, io.TextIOWrapper)
            stream.reconfigure(newline="\r\n", encoding="cp1252")
        warnings.filterwarnings("error", category=EncodingWarning, module=r"deadheat\.")
    sys.addaudithook(partial(_refuse, tuple(f"{each}/" for each in FOREIGN[system])))


def _refuse(foreign: tuple[str, ...], event: str, args: tuple[Any, ...]) -> None:
    """Refuse paths and calls that the other system does not have."""
    if event in PATHS:
        path = os.fsdecode(args[0]) if isinstance(args[0], str | bytes | Path) else ""
        unknown = event == "subprocess.Popen" and os.sep not in path  # Windows has none of the commands of Unix
        strange = f"{path}/".startswith(foreign) and path != os.devnull
        own = path.startswith(os.environ["TMPDIR"])  # wherever that is: the tests' may be in /dev/shm
        if (strange and not own) or (unknown and "/dev/" in foreign):
            raise FileNotFoundError(2, "no such path on this system", path)
    if event in ("os.fork", "os.forkpty", "os.posix_spawn"):
        raise OSError(f"{event} on another system")


class Msvcrt(ModuleType):
    """What Windows has in place of fcntl, as its documentation describes it."""

    LK_NBLCK = 2

    @staticmethod
    def locking(fd: int, mode: int, count: int) -> None:
        """Lock bytes from the file's position on. Raises OSError: another process has them."""
        assert (mode, count) == (Msvcrt.LK_NBLCK, 1) and os.lseek(fd, 0, os.SEEK_CUR) > os.fstat(fd).st_size
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _as_windows_writes(before: Any) -> Any:
    def opened(file: Any, mode: str = "r", buffering: int = -1, *more: Any, **rest: Any) -> Any:
        if len(more) < 3 and rest.get("newline") is None and "b" not in mode and "r" not in mode:
            rest["newline"] = "\r\n"
        return before(file, mode, buffering, *more, **rest)

    return opened


def environment_of(system: str, folder: Path) -> dict[str, str]:
    here = {name: str(folder) for name in ("HOME", "TMPDIR")} | {"DEADHEAT_LOCK_DIR": str(folder / "locks")}
    python = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PYTHONWARNDEFAULTENCODING": "1", "PATH": os.environ["PATH"]}
    return here | python | {"DEADHEAT_TEST_SYSTEM": system}


def run_elsewhere(system: str, folder: Path, *commands: list[str], **environment: str) -> list[tuple[int, str]]:
    """Run commands in one process, with this folder as their own. Return each exit code with the output."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.elsewhere", json.dumps(commands)],
        cwd=folder,
        env=environment_of(system, folder) | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    parts = [
        re.split(f"{END}([0-9]+)\r?\n", text.decode("cp1252" if system == "win32" else "utf-8"))
        for text in (done.stdout, done.stderr)
    ]
    assert len(parts[0]) == 2 * len(commands) + 1, parts
    return [(int(parts[0][2 * n + 1]), parts[0][2 * n] + parts[1][2 * n]) for n in range(len(commands))]


if __name__ in ("__main__", "__mp_main__"):  # the second is that of a process that this one spawned
    hide(os.environ["DEADHEAT_TEST_SYSTEM"])
    if __name__ == "__main__":
        from deadheat.cli.main import app

        for words in json.loads(sys.argv[1]):
            code: object = 0
            try:
                app(words, prog_name="deadheat")
            except SystemExit as end:
                code = end.code
            for stream in (sys.stdout, sys.stderr):
                print(f"{END}{code}", file=stream, flush=True)
