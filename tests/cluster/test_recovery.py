"""When a season is played as before is told by its finished series alone."""

from tests.cluster.recovery import BEFORE_SECONDS, Finished, Recovery, recovery

STRUCK, OVER = 1000.0, 1030.0
BEFORE = [("w1", STRUCK - second - 1, STRUCK - second) for second in range(1, int(BEFORE_SECONDS) + 1)]
"""One series a second."""


def seen(after: list[Finished], now_at: float = OVER + 60) -> Recovery:
    return recovery([*BEFORE, *after], ("w1", "w2"), STRUCK, OVER, now_at)


def test_the_pace_is_back_when_the_next_seconds_finish_most_of_what_as_many_did_before() -> None:
    slow = [("w1", OVER + 2, OVER + 3), ("w2", OVER + 6, OVER + 8)]
    fast = [("w1", OVER + 10, OVER + 10.5 + second) for second in range(30)]
    assert seen([*slow, *fast]) == Recovery(3.0, 8.0, 8.0)  # five of six from 8.0 to 14.0; from 7.5 only four


def test_what_began_before_the_end_of_the_outage_shows_no_recovery() -> None:
    waited = [("w1", OVER - 1, OVER + second / 10) for second in range(20)]
    assert seen(waited) == Recovery(None, None, None)
    assert seen([*waited, ("w2", OVER, OVER + 4)]) == Recovery(4.0, None, None)


def test_a_window_that_is_not_over_shows_no_pace() -> None:
    fast = [("w1", OVER, OVER + second / 2) for second in range(30)]
    assert seen(fast, OVER + 5.9).pace_seconds is None
    assert seen(fast, OVER + 6).pace_seconds == 0.0
