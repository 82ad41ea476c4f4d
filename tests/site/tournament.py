"""A tournament's folder made of stored transcripts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deadheat.engine.core import NS_PER_MS
from deadheat.engine.transcript import Transcript, decode, encode_result
from tests.site.leagues import TRANSCRIPTS

STRANGE = """a</script><script>alert("1")</script><b title='x' onclick="y">&amp;\u202e"""
"""The name of a bot, as a stranger may choose it."""

LABELS = ("expert", STRANGE)


def tournament(folder: Path, names: Sequence[str], labels: Sequence[str] = LABELS) -> Path:
    """The folder of a tournament whose games are these transcripts, one after the other."""
    (folder / "games").mkdir(parents=True)
    lines, game = [], ""
    for number, name in enumerate(names, 1):
        content = (TRANSCRIPTS / f"{name}.jsonl").read_bytes()
        path = f"games/{number:06}.jsonl"
        (folder / path).write_bytes(content)
        transcript = decode(content)
        game = transcript.game
        lines.append(line(number, transcript, labels, path))
    bots = [{"label": label, "given": f"{label}.py", "sha256": "0" * 64} for label in labels]
    about = {"format": 1, "deadheat": "0.3.0", "game": game, "rules_version": 1, "kind": "round-robin", "seats": 2}
    about |= {"bots": bots, "games": 4, "seed": "s", "keep": "all", "sandbox": "local", "started": "2026-11-23T17:00"}
    (folder / "tournament.json").write_text(json.dumps(about))
    (folder / "games.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    return folder


def line(number: int, transcript: Transcript, labels: Sequence[str], path: str) -> dict[str, Any]:
    own: list[dict[str, Counter[float]]] = [{} for _ in labels]
    limits: dict[str, float] = {}
    for prompt in transcript.prompts():
        command = prompt.message.command
        limits[command] = prompt.limit_ns / NS_PER_MS
        own[prompt.message.seat].setdefault(command, Counter())[float(f"{prompt.reply.own_ns / NS_PER_MS:.2g}")] += 1
    return {
        "number": number,
        "players": list(labels),
        "ranks": list(transcript.result.ranks),
        "points": encode_result(transcript.result)["points"],
        "group": f"deal-{(number + 1) // 2}",
        "faults": [
            {"seat": seat, "fault": fault, "command": "ROLL", "elapsed_ms": 1.5}
            for seat, fault in transcript.result.faults.items()
        ],
        "void_attempts": 0,
        "seconds": 0.5,
        "times": [
            {command: {"limit_ms": limits[command], "own_ms": sorted(times.items())} for command, times in seat.items()}
            for seat in own
        ],
        "host_ms": [0.0 for _ in labels],
        "transcript": path,
    }
