"""Strangers' text is made fit for the database."""

import json
import math
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from deadheat.league.service.ground.steps import MOST_DETAIL, evidence_json, storable, storable_tail, storable_word
from deadheat.league.tables import MOST_WORD, Attempt, GameTable, LatencySummary, Participant

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_any_text_becomes_text_that_every_database_keeps(text: str) -> None:
    for made in (storable(text), storable_tail(text, 100)):
        assert "\0" not in made
        made.encode()


def test_a_word_is_as_long_as_the_columns_of_words() -> None:
    assert storable_word("x" * 100) == "x" * MOST_WORD
    cut = [(Attempt, "cause"), (GameTable, "cause"), (Participant, "fault_command"), (LatencySummary, "command")]
    assert {table.__table__.c[name].type.length for table, name in cut} == {MOST_WORD}  # type: ignore[attr-defined]


def test_a_text_keeps_its_beginning_and_a_log_its_end() -> None:
    assert storable("ab" * MOST_DETAIL) == "ab" * (MOST_DETAIL // 2)
    assert storable_tail("x" * 100 + "end", 3) == "end"
    assert len(storable_tail("é" * 100, 9).encode()) <= 12


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
        max_leaves=10,
    )
)
def test_any_evidence_becomes_json(value: object) -> None:
    json.dumps(evidence_json({"value": value}), allow_nan=False).encode()


def test_evidence_of_odd_kinds_is_kept_as_text() -> None:
    assert evidence_json({"at": datetime(2026, 1, 1, tzinfo=UTC), "x": math.inf, "b": b"\xff", "n": (1, 2.5)}) == {
        "at": "2026-01-01 00:00:00+00:00",
        "x": "inf",
        "b": "b'\\xff'",
        "n": [1, 2.5],
    }


def test_evidence_that_contains_itself_ends() -> None:
    loop: dict[str, object] = {}
    loop["again"] = loop
    json.dumps(evidence_json(loop))
