"""Transcripts as files: reads and checks them, and names and writes the files beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from deadheat.cli.console import fail
from deadheat.engine.core import Seat
from deadheat.engine.figures import seat_number
from deadheat.engine.games import GAMES
from deadheat.engine.games.folder import SETTING
from deadheat.engine.games.variants import rules_of
from deadheat.engine.replay import Diverged, replay
from deadheat.engine.transcript import MAX_TRANSCRIPT_BYTES, BadTranscript, Transcript, decode, encode
from deadheat.engine.verdicts import own_ms

if TYPE_CHECKING:
    from deadheat.sandbox.arena import Played

MAX_NUMBER = 2**62
"""The largest number of nanoseconds. A larger one is not a time, and would not fit into a floating-point number."""

_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_SUFFIXES = (".zst", ".jsonl")


def read(file: Path) -> Transcript:
    """Read the transcript in a file, compressed or not. Raises OSError, BadTranscript."""
    with file.open("rb") as stream:
        return _sane(stream.read(MAX_TRANSCRIPT_BYTES + 1))


def _sane(data: bytes) -> Transcript:
    """Decode a transcript, and check that it contains nothing that would harm a program that shows it."""
    if data.startswith(_ZSTANDARD):
        try:
            import zstandard
        except ModuleNotFoundError:
            raise BadTranscript("it is compressed; to open it, `pip install zstandard`") from None
        try:
            reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
            data = reader.read(MAX_TRANSCRIPT_BYTES + 1)
        except zstandard.ZstdError as error:
            raise BadTranscript(f"damaged compression: {error}") from error
    transcript = decode(data)
    times = ((p.limit_ns, *p.reply, *(p.reply.evidence or ())) for p in transcript.prompts())
    if any(isinstance(value, int) and abs(value) > MAX_NUMBER for values in times for value in values):
        raise BadTranscript("it has a time of more than a hundred years")
    return transcript


def load(file: Path) -> Transcript:
    """Load the transcript in a file. End the command with a sentence if there is none."""
    try:
        return read(file)
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}", 2)
    except BadTranscript as error:
        fail(f"{file}: {error}")


def parsed(data: bytes, name: str) -> Transcript:
    """Parse the transcript in these bytes. End the command with a sentence about `name` if there is none."""
    try:
        return _sane(data)
    except BadTranscript as error:
        fail(f"{name}: {error}")


def doubt(transcript: Transcript) -> str | None:
    """Say why this does not follow from the rules; None if it does, and only then its events have a known form."""
    if transcript.game not in GAMES:
        return f"the game {transcript.game!r} is not known here; name its folder in {SETTING}"
    try:
        replay(rules_of(transcript), transcript)
    except (Diverged, ValueError) as error:
        return str(error)
    return None


def players(transcript: Transcript) -> list[str]:
    """Return the names by seat, as far as the transcript has them. They may be untrusted text."""
    names = transcript.about.get("players")
    if not isinstance(names, list) or len(names) != transcript.seats:
        return ["unnamed"] * transcript.seats
    return [str(name) for name in names]


STDERR, KILLED = "stderr", "killed"
"""The endings of files beside a transcript: what a seat wrote to stderr, and that it had to be killed after FINISH."""


def beside(transcript: Path, seat: int, ending: str) -> Path:
    """Return the path of a seat's file, whether or not it exists. The name counts seats from 1, for people."""
    name = transcript.name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return transcript.with_name(f"{name}.seat{seat_number(seat)}.{ending}")


def note_killed(transcript: Path, seat: int, killed: bool) -> None:
    """Note beside a transcript, since it is not part of the match, whether a program was killed after FINISH."""
    note = beside(transcript, seat, KILLED)
    if killed:
        note.write_text("It was still running a second after FINISH and was killed.\n", encoding="ascii")
    else:
        note.unlink(missing_ok=True)


def keep(file: Path, played: Played) -> set[Seat]:
    """Write a match's transcript, and beside it each seat's stderr. Note and return the seats whose programs were
    killed after FINISH; a seat that failed is not sent FINISH.
    """
    transcript = played.transcript
    file.write_bytes(encode(transcript))
    killed = {seat for seat, ended in played.exits.items() if ended.lingered and seat not in transcript.result.faults}
    for seat in range(transcript.seats):
        note_killed(file, seat, seat in killed)
        if seat in played.exits and played.exits[seat].stderr:
            beside(file, seat, STDERR).write_bytes(played.exits[seat].stderr)
        else:  # left by an earlier match with the same name
            beside(file, seat, STDERR).unlink(missing_ok=True)
    return killed


def faults_of(transcript: Transcript) -> list[dict[str, Any]]:
    """Return the faults of a match with the command and own time of the prompt at which each was committed. An
    own time that was not measured is None.
    """
    faults = []
    for seat, fault in sorted(transcript.result.faults.items()):
        prompt = transcript.last_prompt(seat)
        elapsed_ms = own_ms(transcript, prompt) if prompt else None
        command = prompt.message.command if prompt else None
        rounded = None if elapsed_ms is None else round(elapsed_ms, 3)
        faults.append({"seat": seat, "fault": fault.value, "command": command, "elapsed_ms": rounded})
    return faults
