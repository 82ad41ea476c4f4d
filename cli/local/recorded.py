"""BOT as `recorded:FILE#SEAT`: a program that repeats the lines of a seat, counted from 1, in a recorded match."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from deadheat.cli.local.recorded_bot import kind
from deadheat.cli.local.transcripts import read
from deadheat.engine.core import Game, Seat
from deadheat.engine.games.variants import variant_of
from deadheat.engine.transcript import BadTranscript, Exchange, Transcript
from deadheat.sandbox.box import Program

RECORDED = "recorded:"
PLAYER = Path(__file__).with_name("recorded_bot.py")
RUN = ("/usr/bin/python3", PLAYER.name)  # the interpreter of the judge image, as in sandbox.languages


class BadBot(Exception):
    """The BOT cannot be made into a program; the text is one sentence, `log` the compiler's output."""

    def __init__(self, reason: str, log: str = "") -> None:
        super().__init__(reason)
        self.log = log


def recorded(game: Game, name: str, folder: Path) -> Program:
    """Write the program for `name` into `folder`.

    Raises:
        BadBot: with a sentence for the person who named it.
    """
    transcript, seat = recording(game, name)
    shutil.copy(PLAYER, folder / PLAYER.name)
    (folder / "script.json").write_text(json.dumps(script(transcript, seat)), "ascii")
    return Program(folder, RUN, name)


def recording(game: Game, name: str) -> tuple[Transcript, Seat]:
    """Read the match that `name` stands for, and its seat. Raises BadBot as `recorded` does."""
    file, separator, number = name.removeprefix(RECORDED).rpartition("#")
    if not separator or not re.fullmatch("[0-9]{1,3}", number):
        raise BadBot(f"{name} does not end with # and a seat, as in {RECORDED}match.jsonl#1")
    try:
        transcript = read(Path(file))
    except OSError as error:
        raise BadBot(f"cannot read {file}: {error.strerror}") from error
    except BadTranscript as error:
        raise BadBot(f"{file} is not a usable transcript: {error}") from error
    if transcript.game != game.name:
        raise BadBot(f"{file} is a match of {transcript.game}, not of {game.name}")
    if transcript.variant != variant_of(game):
        raise BadBot(f"{file} was played with other parameters of {game.name}; give them with --set")
    if not 1 <= int(number) <= transcript.seats:
        raise BadBot(f"{file} has seats 1 to {transcript.seats}, but no seat {number}")
    return transcript, int(number) - 1


def parting(recording: Transcript, seat: Seat, played: Transcript, now: Seat) -> int | None:
    """Return the first exchange of a match in which a recorded bot, now in seat `now`, received other lines than in its
    recording, or None.
    """
    before = [_sent(exchange, seat) for exchange in recording.exchanges]
    for number, exchange in enumerate(played.exchanges):
        if number >= len(before) or _sent(exchange, now) != before[number]:
            return number
    return None


def _sent(exchange: Exchange, seat: Seat) -> list[str]:
    return [message.line for message in exchange.messages if message.seat == seat]


def script(transcript: Transcript, seat: Seat) -> dict[str, list[str]]:
    """Return the input of `recorded_bot`: its lines, and the kinds of line that it answers with them."""
    lines: list[str] = []
    prompts: set[str] = set()
    notices: set[str] = set()
    for exchange in transcript.exchanges:
        for message in exchange.messages:
            if message.seat == seat:
                (notices if message.limit_ns is None else prompts).add(kind(message.line))
        reply = exchange.replies.get(seat)
        if reply is not None and reply.line is not None:
            lines.append(reply.line)
    return {"lines": lines, "prompts": sorted(prompts), "notices": sorted(notices - prompts)}
