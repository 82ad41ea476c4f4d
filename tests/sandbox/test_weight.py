"""Boxes compete with everything else on a machine in groups of our own, whose weight is set by who opens them."""

from __future__ import annotations

from pathlib import Path

import pytest

from deadheat.league.config import Settings
from deadheat.sandbox.box import Limits
from deadheat.sandbox.cgroup import ALONE, MOST, SHARED, Parent, parent, wanted_weight
from deadheat.sandbox.containers import ContainerBox
from deadheat.sandbox.docker import DockerSandbox
from deadheat.sandbox.host.check import reference_program
from deadheat.sandbox.rooms import Room

V1, V2 = "cpu.shares", "cpu.weight"


def group(root: Path, name: str, file: str, value: int = 1) -> Path:
    """Make a group with one box in it; return the file with the box's own weight."""
    box = root / name / "box"
    box.mkdir(parents=True)
    (root / name / file).write_text(f"{value}\n")
    (box / file).write_text("7\n")
    return box / file


@pytest.mark.parametrize(("name", "file"), [("deadheat_play", V1), ("deadheat_build", V2), ("deadheat_play.slice", V2)])
def test_the_weight_is_that_of_the_parent_and_counted_by_processor(tmp_path: Path, name: str, file: str) -> None:
    own = group(tmp_path, name, file)
    there = Parent(own, processors=4)
    assert there.weigh(2.0) and there.weight == 2.0
    assert int((tmp_path / name / file).read_text()) == {V1: 8192, V2: 800}[file]
    assert own.read_text() == "7\n", "boxes keep their weights against each other"


@pytest.mark.parametrize("file", [V1, V2])
def test_more_than_the_kernel_accepts_is_not_asked_of_it(tmp_path: Path, file: str) -> None:
    there = Parent(group(tmp_path, "deadheat_play", file), processors=64)
    assert there.weigh(ALONE) and there.weight == there.greatest < ALONE
    assert int((tmp_path / "deadheat_play" / file).read_text()) == MOST[file]


@pytest.mark.parametrize("name", ["docker", "system.slice", "deadheat_players"])
def test_nobody_elses_group_is_touched(tmp_path: Path, name: str) -> None:
    there = Parent(group(tmp_path, name, V1, 1024))
    assert not there.weigh(ALONE) and there.weight is None
    assert (tmp_path / name / V1).read_text() == "1024\n"


def test_what_cannot_be_written_or_read_is_no_error(tmp_path: Path) -> None:
    own = group(tmp_path, "deadheat_play", V1, 1024)
    file = tmp_path / "deadheat_play" / V1
    file.unlink()
    file.mkdir()
    there = Parent(own)
    assert not there.weigh(1.0) and there.weight is None
    assert not Parent(None).weigh(1.0) and Parent(None).weight is None


def test_builds_outweigh_nobody() -> None:
    assert [wanted_weight(building, alone) for alone in (False, True) for building in (False, True)] == [
        SHARED,
        1,
        ALONE,
        1,
    ]


def test_systemd_wants_slices_and_no_dash_nests_them() -> None:
    assert [parent(building, systemd=False) for building in (False, True)] == ["/deadheat_play", "/deadheat_build"]
    slices = [parent(building, systemd=True) for building in (False, True)]
    assert slices == ["deadheat_play.slice", "deadheat_build.slice"] and not any("-" in name for name in slices)


@pytest.mark.containers
def test_boxes_are_in_our_groups_with_the_weight_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    program = reference_program(tmp_path / "program")
    for only_plays in (True, False):
        sandbox = DockerSandbox(Settings().image, tmp_path / "run", "", only_plays)
        for building in (False, True):
            box = sandbox.open(program, Limits(building=building))
            assert isinstance(box, Room | ContainerBox)
            try:
                box.start()
                asked = min(wanted_weight(building, only_plays), box.parent.greatest)
                assert box.parent.weigh(asked) and box.parent.weight == pytest.approx(asked, rel=0.01)
                box.favour(False)
                assert box.parent.weight == pytest.approx(asked, rel=0.01), "nothing else changes it"
            finally:
                box.close()
        sandbox.close()
