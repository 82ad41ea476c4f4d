"""The matches that are kept in tests/transcripts, and names for their players."""

from functools import cache
from pathlib import Path

import pytest

from deadheat.engine.transcript import Transcript, decode

TRANSCRIPTS = Path(__file__).parent.parent / "transcripts"
NAMES = ("ada", "bob", "eve", "dan", "joe", "kim")

every_match = pytest.mark.parametrize("name", sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl")))


@cache
def read(name: str) -> Transcript:
    return decode((TRANSCRIPTS / f"{name}.jsonl").read_bytes())
