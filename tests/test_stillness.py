"""Only what fails while this machine stands still is tried again, and not for ever."""

from __future__ import annotations

import time

import pytest

from tests import stillness
from tests.stillness import TRIES, unless_still


@pytest.mark.parametrize(("still", "tries"), [(True, TRIES), (False, 1)])
def test_a_failure_counts_unless_this_machine_stood_still(
    monkeypatch: pytest.MonkeyPatch, still: bool, tries: int
) -> None:
    monkeypatch.setattr(stillness, "STILL_SECONDS", 0.0 if still else 1e9)
    made: list[int] = []

    def fails() -> None:
        made.append(1)
        time.sleep(0.05)
        raise AssertionError

    with pytest.raises(AssertionError):
        unless_still(fails)
    assert len(made) == tries


def test_what_succeeds_is_told() -> None:
    assert unless_still(lambda: 7) == 7
