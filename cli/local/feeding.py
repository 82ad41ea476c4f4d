"""Plays a recorded match again to a bot that runs under a debugger: `replay --into COMMAND`.

The bot gets its seat's lines, each prompt when it has answered the one before, for however long somebody looks at it.
Answers are compared with the recorded ones; after the first different one, the lines are still those of the recording.

A debugger needs the terminal that a bot's lines usually take. There are two ways:

* The command's input and output are the match, and the debugger uses the terminal by another name (`deadheat_pdb`), or
  is attached from elsewhere (gdbserver, an editor).
* The command has the terminal, and the match goes through two named pipes, whose names replace ``{lines}`` and
  ``{answers}``. gdb starts the bot with these (``run < {lines} > {answers}``); each `run` begins the match anew.

Ctrl-C belongs to the debugger. This command ends when the other does.
"""

import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from deadheat.cli.console import USAGE, cannot, fail, handling, note
from deadheat.cli.local import deadheat_pdb
from deadheat.engine.core import Seat
from deadheat.engine.figures import counted, seat_number
from deadheat.engine.transcript import Transcript

LINES, ANSWERS = "{lines}", "{answers}"
LOOK_SECONDS = 0.1
MOST_ANSWER_BYTES = 64 * 1024


class _Ended(Exception):
    """The bot or its debugger has ended."""


def feed(transcript: Transcript, seat: Seat, command: str) -> None:
    """Play a seat's match to a command until that ends, and tell how the answers compare."""
    if not hasattr(os, "mkfifo"):
        fail("--into needs Linux or macOS", USAGE)
    try:
        words = shlex.split(command)
    except ValueError as error:
        fail(f"--into: {error}", USAGE)
    if not words or (LINES in command) != (ANSWERS in command):
        fail(f"--into takes a command, with both {LINES} and {ANSWERS} or with neither", USAGE)
    with tempfile.TemporaryDirectory(prefix="deadheat-replay-") as work:
        shutil.copy(deadheat_pdb.__file__, work)
        path = os.pathsep.join([work, *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = os.environ | {"PYTHONPATH": path, "PYTHONBREAKPOINT": "deadheat_pdb.set_trace"}
        lines, answers = Path(work, "lines"), Path(work, "answers")
        piped = LINES not in command
        if not piped:  # made before the command starts, so that there is always one
            os.mkfifo(lines)
            os.mkfifo(answers)
            words = [word.replace(LINES, str(lines)).replace(ANSWERS, str(answers)) for word in words]
        ends = subprocess.PIPE if piped else None
        with handling({signal.SIGINT: lambda *_: None}):  # not SIG_IGN, which the command would inherit
            try:
                child = subprocess.Popen(words, stdin=ends, stdout=ends, env=environment)
            except OSError as error:
                cannot(f"start {words[0]}", error, USAGE)
            with child:
                if child.stdin is not None and child.stdout is not None:
                    _Feeding(transcript, seat, child).run(child.stdin.fileno(), child.stdout.fileno())
                    with contextlib.suppress(BrokenPipeError):
                        child.stdin.close()
                else:
                    _again_and_again(lines, answers, child, _Feeding(transcript, seat, child).run)


def _again_and_again(
    lines: Path, answers: Path, child: "subprocess.Popen[bytes]", run: Callable[[int, int], None]
) -> None:
    """Play the match whenever the debugger starts the bot, until the debugger ends. Each time has pipes of its own,
    because the bot may be started again before we have seen the end of the one before.
    """
    with contextlib.ExitStack() as until_ended:
        while child.poll() is None:
            from_bot = os.open(answers, os.O_RDONLY | os.O_NONBLOCK)
            until_ended.callback(os.close, from_bot)  # a bot that still writes is not killed
            while child.poll() is None:
                try:
                    to_bot = os.open(lines, os.O_WRONLY | os.O_NONBLOCK)
                except OSError:  # nobody reads yet
                    time.sleep(LOOK_SECONDS)
                    continue
                os.set_blocking(to_bot, True)
                run(to_bot, from_bot)
                for pipe in (lines, answers):
                    pipe.unlink()
                    os.mkfifo(pipe)
                os.close(to_bot)
                break


def _nobody_reads(to_bot: int) -> bool:
    """Return whether the bot that had the other end of this pipe has ended."""
    poller = select.poll()
    poller.register(to_bot, 0)
    return any(event & select.POLLERR for _, event in poller.poll(0))


class _Feeding:
    def __init__(self, transcript: Transcript, seat: Seat, child: "subprocess.Popen[bytes]") -> None:
        self._transcript = transcript
        self._seat = seat
        self._child = child

    def run(self, to_bot: int, from_bot: int) -> None:
        """Play the match once, and tell each different answer and the sum."""
        unread = bytearray()
        same = different = 0
        with contextlib.suppress(_Ended):
            for number, exchange in enumerate(self._transcript.exchanges):
                mine = [message for message in exchange.messages if message.seat == self._seat]
                text = "".join(f"{message.line}\n" for message in mine)
                try:
                    os.write(to_bot, text.encode("utf-8", "surrogateescape"))
                except BrokenPipeError:
                    break
                if not any(message.limit_ns is not None for message in mine):
                    continue
                now, then = self._answer(to_bot, from_bot, unread), exchange.replies[self._seat].line
                same, different = same + (now == then), different + (now != then)
                if now != then:
                    note(f"recorded {then or 'no answer'}, now {now}", f"exchange {number}:")
        replies = sum(self._seat in exchange.replies for exchange in self._transcript.exchanges)
        seat = seat_number(self._seat)
        note(f"{same} of {counted(replies, 'answer')} of seat {seat} as recorded, {different} different")

    def _answer(self, to_bot: int, from_bot: int, unread: bytearray) -> str:
        """Wait for a line without a deadline. Raises _Ended."""
        while b"\n" not in unread:
            if not select.select([from_bot], [], [], LOOK_SECONDS)[0]:
                continue
            data = os.read(from_bot, MOST_ANSWER_BYTES)
            if not data:  # closed, or not opened yet
                if self._child.stdout is not None or _nobody_reads(to_bot):
                    raise _Ended
                time.sleep(LOOK_SECONDS)
            unread += data
        line, _, rest = bytes(unread).partition(b"\n")
        unread[:] = rest
        return line.rstrip(b"\r").decode("utf-8", "surrogateescape")
