"""Only verdicts that are wrong while this machine stands still are tried again, and not for ever."""

from __future__ import annotations

import time

import pytest

from tests import stillness
from tests.stillness import TRIES, Disturbed, judged, unless_still


@pytest.mark.parametrize(
    ("still", "error", "tries"), [(True, Disturbed, TRIES), (False, Disturbed, 1), (True, AssertionError, 1)]
)
def test_a_failure_counts_unless_this_machine_stood_still(
    monkeypatch: pytest.MonkeyPatch, still: bool, error: type[AssertionError], tries: int
) -> None:
    monkeypatch.setattr(stillness, "STILL_SECONDS", 0.0 if still else 1e9)
    made: list[int] = []

    def fails() -> None:
        made.append(1)
        time.sleep(0.05)
        raise error

    with pytest.raises(AssertionError):
        unless_still(fails)
    assert len(made) == tries


def test_what_succeeds_is_told() -> None:
    assert unless_still(lambda: 7) == 7
    judged(True)
    with pytest.raises(Disturbed, match="late"):
        judged(False, "late")
