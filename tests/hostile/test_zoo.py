"""Every case of the zoo ends as it should, harms nobody and leaves nothing behind."""

import logging
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from deadheat.engine.core import STDERR_KEPT_BYTES
from deadheat.engine.games import GAMES
from deadheat.league.config import Settings
from deadheat.league.jobs import ProgramRef
from deadheat.sandbox.build import BUILD_LIMITS
from tests.hostile.residue import nothing_left
from tests.hostile.zoo import (
    CASES,
    CHARGED_SHARE,
    UNCHARGED_NS,
    BuildCase,
    MatchCase,
    Zoo,
    ending_of,
    fault_fits,
    fits,
    load,
    names,
    upload_of,
    was_late,
)
from tests.lanes import Lane
from tests.league.ground import migrated_file, settings
from tests.stillness import judged, unless_still
from tests.workers.building import BuildingWorld


@pytest.fixture(scope="session")
def zoo(engine_required: None, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Zoo]:
    anew = Lane.everything or Settings().runtime
    opened = Zoo(tmp_path_factory.mktemp("zoo"), None if anew else pytestconfig.cache.mkdir("zoo"))
    migrated_file()  # created once and kept, so it must not look left behind by a case
    for game in GAMES:
        opened.honest(game)
    yield opened
    opened.close()


@pytest.fixture
def clean(zoo: Zoo, tmp_path: Path, monkeypatch, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fails when anything is left of a test, and shows why a box was lost."""
    caplog.set_level(logging.INFO, "deadheat.sandbox")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    zoo.sandbox.traces.forget()
    with nothing_left(zoo.sandbox.traces, zoo.context.run_dir, tmp_path):
        yield


def of_kind(kind: str) -> list[ParameterSet]:
    """Return the cases of a kind. Variants of others run only with everything."""
    cases = {name: case for name in names() if (case := load(name)).kind == kind}
    return [pytest.param(name, marks=[pytest.mark.all] * bool(case.like)) for name, case in cases.items()]


def test_every_folder_is_a_case_and_every_expectation_can_be_read() -> None:
    folders = sorted(path.name for path in CASES.iterdir() if path.is_dir() and path.name != "__pycache__")
    assert folders == names()
    for name in folders:
        for runtime in ("runc", "runsc"):
            case = load(name, runtime)
            assert not case.like or not load(case.like).like
            assert (CASES / name / ("make.py" if case.make else "bot")).exists()
            if isinstance(case, MatchCase):
                for answers in (case.expect.faults, case.expect.commands, case.expect.ends):
                    assert answers is None or len(answers) == case.matches, name


@pytest.mark.containers
@pytest.mark.parametrize("name", of_kind("match"))
def test_a_match(zoo: Zoo, clean: None, name: str) -> None:
    case = load(name, zoo.settings.runtime)
    assert isinstance(case, MatchCase)
    upload, content = zoo.accept(*upload_of(name, case))
    bot = zoo.build(upload, content)
    unless_still(lambda: ends_as_expected(zoo, case, bot))
    if Lane.everything or name == of_kind("match")[-1].values[0]:  # the next case needs an honest opponent too
        unless_still(lambda: assert_fit(zoo, case.game))


def ends_as_expected(zoo: Zoo, case: MatchCase, bot: ProgramRef) -> None:
    lingers = case.expect.ends is None or any("killed" in end for end in case.expect.ends)
    opponent = zoo.honest(case.opponent or case.game)
    played = zoo.play(bot, opponent, case.game, case.matches, lingers, quick=not case.opponent)
    told = "\n".join(f"{match.fault} {ending_of(match.ending)}" for match in played)
    print(told)
    faults = [match.fault for match in played]
    timed = any("TIMEOUT" in expected for expected in case.expect.faults) or any(map(was_late, faults))
    as_expected = all(map(fault_fits, case.expect.faults, faults)) and (
        case.expect.commands is None
        or all(map(fits, case.expect.commands, [fault.command if fault else "" for fault in faults]))
    )
    judged(as_expected or not timed, told)
    assert as_expected, told
    ends = [ending_of(match.ending) for match in played]
    assert all(map(fits, case.expect.ends, ends)) if case.expect.ends is not None else "lost" not in ends, told
    for match in played:
        said = match.ending.stderr.decode("utf-8", "replace") if match.ending is not None else ""
        breaches = frozenset(re.findall(r"^BREACH: (.*)", said, re.MULTILINE))
        assert not said or breaches == case.expect.granted, said
        if case.expect.tried is not None and match.ending is not None and not match.fault:
            assert len(re.findall(r"^tried: ", said, re.MULTILINE)) == case.expect.tried, said
        if case.expect.charged:
            (used_ns,) = map(int, re.findall(r"^used: (\d+)$", said, re.MULTILINE))
            free_ns = UNCHARGED_NS * len(match.charged_ns)
            judged(sum(match.charged_ns) >= CHARGED_SHARE * used_ns - free_ns, f"{match.charged_ns} for {used_ns}")


def assert_fit(zoo: Zoo, game: str) -> None:
    (after,) = zoo.play(zoo.honest(game), zoo.honest(game), game, 1)
    assert (after.fault, ending_of(after.ending)) == (None, "exit 0"), "the worker is not fit for the next match"


@pytest.mark.containers
@pytest.mark.parametrize("name", of_kind("build"))
def test_a_build(zoo: Zoo, clean: None, tmp_path_factory: pytest.TempPathFactory, monkeypatch, name: str) -> None:
    case = load(name, zoo.settings.runtime)
    assert isinstance(case, BuildCase)
    if case.seconds is not None:
        monkeypatch.setattr("deadheat.sandbox.build.BUILD_SECONDS", case.seconds)
    if case.memory_mib is not None:
        lower = replace(BUILD_LIMITS, memory_bytes=case.memory_mib * 2**20)
        monkeypatch.setattr("deadheat.sandbox.build.BUILD_LIMITS", lower)
    world = BuildingWorld(settings(tmp_path_factory.mktemp("league")))
    world.context.__dict__["sandbox"] = zoo.sandbox
    try:
        version = world.built(*upload_of(name, case))
        print(version.state, version.reason, version.log[-2000:], sep="\n")
        assert version.state == case.expect.state and case.expect.reason in version.reason
        assert case.expect.log in version.log and len(version.log) <= STDERR_KEPT_BYTES
        assert [path.name for path in world.context.run_dir.iterdir()] == []
    finally:
        world.close()
