"""A tournament's folder made of stored transcripts."""

from collections.abc import Sequence
from pathlib import Path

from deadheat.cli.tournament.records import Bot, Kind, Request, Stage, record_of, save
from deadheat.engine.transcript import decode
from tests.site.leagues import TRANSCRIPTS

STRANGE = """a</script><script>alert("1")</script><b title='x' onclick="y">&amp;\u202e"""
"""A name that a stranger may give a bot."""

LABELS = ("expert", STRANGE)


def tournament(folder: Path, names: Sequence[str], labels: Sequence[str] = LABELS) -> Path:
    """Write and return a tournament's folder whose games are these transcripts, in order."""
    (folder / "games").mkdir(parents=True)
    lines, game = [], ""
    for number, name in enumerate(names, 1):
        content = (TRANSCRIPTS / f"{name}.jsonl").read_bytes()
        path = f"games/{number:06}.jsonl"
        (folder / path).write_bytes(content)
        transcript = decode(content)
        game = transcript.game
        lines.append(record_of(number, [*labels], f"deal-{(number + 1) // 2}", transcript, 0.5, path).line)
    bots = tuple(Bot(label, f"{label}.py", "0" * 64, str(number), ("./bot",)) for number, label in enumerate(labels))
    request = Request(
        deadheat="0.3.0",
        game=game,
        rules_version=1,
        bots=bots,
        kind=Kind.ROUND_ROBIN,
        seats=2,
        games=4,
        stages=(Stage(2, 4),),
        seed="s",
        keep="all",
        sandbox="local",
        started="2026-11-23T17:00",
    )
    save(folder, request)
    (folder / "games.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder
