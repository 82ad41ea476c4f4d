"""Only certain states may follow each state."""

from enum import StrEnum

import pytest

from deadheat.league.states import LIVES, JobState, MatchState, Role, Scope, SeasonState, VersionState, allowed

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("kind", LIVES)
def test_every_state_has_a_row(kind: type[StrEnum]) -> None:
    assert set(LIVES[kind]) == set(kind)


def test_no_state_follows_a_last_one() -> None:
    for last in (VersionState.READY, VersionState.BROKEN, JobState.DONE, JobState.ABANDONED, MatchState.DONE):
        assert not any(allowed(last, after) for after in type(last))
    assert not any(allowed(SeasonState.CLOSED, after) for after in SeasonState)


def test_work_that_we_failed_goes_back() -> None:
    assert allowed(JobState.RUNNING, JobState.QUEUED)
    assert allowed(VersionState.BUILDING, VersionState.UPLOADED)


def test_states_of_different_things_do_not_mix() -> None:
    with pytest.raises(AssertionError):
        allowed(JobState.RUNNING, MatchState.DONE)


@pytest.mark.parametrize("ladder", [Role, Scope])
def test_each_rung_of_a_ladder_allows_what_those_below_it_allow(ladder: type[Role] | type[Scope]) -> None:
    words = list(ladder)
    for place, word in enumerate(words):
        assert [other for other in words if word.allows(other)] == words[: place + 1]
        assert list(type(word).allowing(word)) == words[place:]
