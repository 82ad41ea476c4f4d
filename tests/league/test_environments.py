"""The database keeps descriptions of judge images."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from deadheat.league.service.bots import bots
from tests.conftest import JUDGE_IMAGE
from tests.league.clock import START
from tests.league.world import World


def document(*languages: str) -> dict[str, Any]:
    return {"languages": [{"name": name} for name in languages]}


def record(world: World, fingerprint: str, image: str, *languages: str) -> None:
    world.write(bots.record_environment, fingerprint, image, document(*languages), "w1")


def test_nobody_knows_what_no_worker_has_seen(world: World) -> None:
    assert not world.write(bots.confirm_environment, "f1")
    record(world, "f1", "deadheat/judge:full", "python", "java")
    assert world.write(bots.environment) is None, "another image is another matter"
    assert world.write(bots.installed_languages) is None


def test_the_description_found_true_last_is_the_one_that_counts(world: World) -> None:
    record(world, "f1", JUDGE_IMAGE, "python")
    world.clock.turn(10)
    record(world, "f2", JUDGE_IMAGE, "python", "java")
    assert world.write(bots.installed_languages) == {"python", "java"}
    world.clock.turn(10)
    assert world.write(bots.confirm_environment, "f1")
    found = world.write(bots.environment)
    assert found is not None
    assert (found.document, found.described_at) == (document("python"), START + timedelta(seconds=20))
