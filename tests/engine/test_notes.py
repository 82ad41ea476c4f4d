"""Notes on stderr stand beside the moves that they are about, or beside none."""

from __future__ import annotations

import pytest

from deadheat.engine.notes import Note, notes
from deadheat.engine.scenes import scenes
from tests.engine.golden import NAMES, read

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("name", ["yacht-auction", "betris-large", "liars-dice", "liars-dice-six", "betris-large-bank"])
def test_each_answer_has_its_scene(name: str) -> None:
    """Numbered and unnumbered notes, one for each answer, point to the scene that shows that answer."""
    transcript = read(name)
    told = scenes(transcript, NAMES)
    for seat in range(transcript.seats):
        prompts = [p for p in transcript.prompts() if p.message.seat == seat and p.message.command != "READY"]
        numbered = "".join(f"# note {n}: answer {n}\n" for n in range(1, len(prompts) + 1))
        plain = "".join(f"# note answer {n}\n" for n in range(1, len(prompts) + 1))
        found = notes(numbered, transcript, told, seat)
        assert (notes(plain, transcript, told, seat), len(found)) == (found, len(prompts))
        for note, prompt in zip(found, prompts, strict=True):
            assert note.scene is not None
            shown = told[note.scene]
            if shown.fault is None and shown.round is not None:
                times = [(a.seat, a.command, a.elapsed_ms) for a in shown.answers]
                assert (seat, prompt.message.command, round(prompt.reply.elapsed_ns / 1e6, 3)) in times


@pytest.mark.parametrize(
    "stderr",
    [
        "# note only one\n",  # ambiguous: there are many answers
        "# note 0: before the first\n",
        "# note 26: after the last\n",
        "# note 999999: far after it\n",
        "".join("# note same\n" for _ in range(25)) + "# note one too many\n",
        "".join("# note same\n" for _ in range(24)) + "\n[... 99 bytes left out ...]\n",
    ],
)
def test_what_cannot_be_told_belongs_to_no_move(stderr: str) -> None:
    transcript = read("yacht-auction")  # 24 answers of each seat after READY
    found = notes(stderr, transcript, scenes(transcript, NAMES), 0)
    assert found and {note.scene for note in found} == {None}


def test_other_lines_are_no_notes() -> None:
    transcript = read("yacht-auction")
    stderr = "# notes 1: x\n#note x\n # note 1: indented\ndebug # note x\n# note\n# note 2:\n# note 3: kept \n"
    assert [note.text for note in notes(stderr, transcript, scenes(transcript, NAMES), 0)] == ["2:", "kept"]
    assert notes("", transcript, scenes(transcript, NAMES), 0) == []
    assert Note(None, "2:") in notes(stderr, transcript, scenes(transcript, NAMES), 0)
