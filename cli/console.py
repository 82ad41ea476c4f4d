"""Output of the command: data on stdout, everything else on stderr, a failure as one sentence.

The only colours are red, green and magenta, and they always repeat what words say: yellow and white vanish on a light
background, blue and dim text on a dark one.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import NoReturn

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

for _stream in (sys.stdout, sys.stderr):
    if hasattr(_stream, "reconfigure"):
        _stream.reconfigure(errors="replace")  # a terminal that lacks a character shows a mark, not a traceback


class _Harmless(Console):
    """A terminal that never receives control characters in text, whoever wrote it and whatever part shows it."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(_visible(segment.text, "\n\t"), segment.style)


out = _Harmless(highlight=False, emoji=False)
err = _Harmless(stderr=True, highlight=False, emoji=False)

ROOT = Path(__file__).resolve().parent.parent

REFUSED, USAGE, NO_ANSWER, INTERRUPTED = 1, 2, 3, 130
"""Exit codes (docs/reference/commands.md); 130 is the shell's code for a command that Ctrl-C stopped."""

AGAIN_SECONDS = 0.02
"""The pause before an ignored Ctrl-C is raised again."""


def say(*parts: RenderableType) -> None:
    """Print each part to stdout. A string may be untrusted, so it is shown without markup and control characters."""
    for part in parts:
        out.print(harmless(part) if isinstance(part, str) else part, soft_wrap=isinstance(part, str | Text))


def note(text: str, lead: str = "", colour: str = "magenta") -> None:
    """Print a sentence to stderr, with its first words `lead` in a colour. The text may be untrusted."""
    err.print(Text.assemble((lead, colour), " " if lead and text else "", harmless(text)), soft_wrap=True)


def fail(message: str, code: int = REFUSED) -> NoReturn:
    """End the command with one sentence and a non-zero exit code."""
    note(message, "error:", "red")
    raise typer.Exit(code)


def cannot(what: str, error: OSError, code: int = REFUSED) -> NoReturn:
    """End the command because the system refused an operation on a file."""
    fail(f"cannot {what}: {error.strerror}", code)


def missing(error: ModuleNotFoundError) -> str:
    """Return the package that an import lacks. Raise the error if it lacks a module of Deadheat itself."""
    if error.name is None or error.name.partition(".")[0] == "deadheat":
        raise error
    return error.name


def make_folder(folder: Path) -> None:
    """Make a folder unless it exists. End the command if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        cannot(f"make the folder {folder}", error, USAGE)


def _visible(text: str, kept: str = "\t") -> str:
    from deadheat.engine.figures import visible  # imported here: help and completions show nobody's text

    return visible(text, kept)


def harmless(text: str, style: str = "") -> Text:
    """Make untrusted text safe to show in a terminal."""
    return Text(_visible(text, "\n\t"), style=style)


def plain(text: str) -> str:
    """Make untrusted text safe to show in a terminal and inside markup."""
    return escape(harmless(text).plain)


def short(text: str, width: int) -> str:
    """Cut a name to `width` characters from the left, because the end of a path says more than its beginning."""
    shown = _visible(text.expandtabs(1))
    return shown if len(shown) <= width else "…" + shown[1 - width :]


def quoted(text: str) -> Text:
    """Mark lines as a program's output."""
    return Text("\n".join(f"  | {_visible(line)}" for line in text.removesuffix("\n").split("\n")))


def last_lines(stderr: bytes, count: int) -> str:
    """Return a program's last lines of stderr, without empty lines and the head of Python's tracebacks."""
    lines = stderr.decode("utf-8", "replace").split("\n")
    shown = [line for line in lines if line.strip() and not line.startswith("Traceback (most recent call last)")]
    return "\n".join(shown[-count:])


def milestone(count: int) -> bool:
    """Say whether a count is worth a line where no terminal shows progress: 10, 20, ..., 100, 200, ..."""
    return count >= 10 and count % 10 ** (len(str(count)) - 1) == 0


def number_in(text: str) -> int | None:
    """Return the number that a text spells, or None."""
    return int(text) if text.isascii() and text.isdigit() else None


Handler = Callable[[int, FrameType | None], object]


@contextmanager
def handling(handlers: Mapping[int, Handler]) -> Iterator[None]:
    """Handle signals in this way during a block of the main thread; no other receives signals or may set handlers."""
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ending_in_order() -> AbstractContextManager[None]:
    """Let SIGTERM end a command cleanly during a block, as Ctrl-C does."""
    return handling({signal.SIGTERM: signal.default_int_handler})


@contextmanager
def undivided() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the end of a block. A second signal ends the block at once, because it may be
    stuck writing to a reader that takes nothing.
    """
    received: set[int] = set()

    def note_once(number: int, frame: FrameType | None) -> None:
        if received:
            signal.default_int_handler(number, frame)
        received.add(number)

    stopping = (signal.SIGINT, signal.SIGTERM)
    with handling({each: note_once for each in stopping if signal.getsignal(each) is not signal.SIG_IGN}):
        yield
    for late in received:
        signal.raise_signal(late)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end a block at any point. In some callbacks, such as those that end an import, Python ignores
    exceptions; an exception that was ignored there is raised again a moment later, except on Windows.
    """
    if current_thread() is not main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    hook = sys.unraisablehook

    def again(ignored: "sys.UnraisableHookArgs") -> None:
        if ignored.exc_type is KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
        else:
            hook(ignored)

    with handling({signal.SIGALRM: signal.default_int_handler}):
        sys.unraisablehook = again
        try:
            yield
        finally:
            sys.unraisablehook = hook
            signal.setitimer(signal.ITIMER_REAL, 0)


def command(*words: str) -> str:
    """Return a command line to copy: `deadheat` with these arguments, as the user can start it."""
    script = ROOT / "deadheat"
    path = nearby(script if script.is_file() else Path(sys.argv[0]))
    return typed("deadheat" if shutil.which("deadheat") else path, *words)


def typed(*words: str) -> str:
    """Return a command line as this system's shells read it: quotes are double in those of Windows."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def renamed(now: str) -> None:
    """Tell who gives a command by a former name its present one."""
    note(f"this command is `deadheat {now}` now; the next release no longer has the old name", "warning:", "yellow")


def nearby(path: Path) -> str:
    """Return the shortest form of a path that a shell here would start: relative, or as given."""
    near = os.path.relpath(path)
    return min(near if near.startswith(os.pardir) else os.path.join(os.curdir, near), str(path), key=len)  # noqa: PTH118
