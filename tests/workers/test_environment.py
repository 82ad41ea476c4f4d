"""A worker describes the image that it judges with, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.league.service.bots import bots
from deadheat.league.service.bots.bots import installed_languages
from deadheat.workers import environment
from deadheat.workers.context import Context
from deadheat.workers.environment import describe_environment
from tests.league.ground import settings
from tests.league.world import World


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Context]:
    world = World(settings(tmp_path))
    made = Context(world.settings)
    made.__dict__["database"] = world.db
    yield made
    world.close()


@pytest.mark.containers
def test_an_image_is_described_once_and_then_confirmed(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    describe_environment(context)
    with context.database.reading() as session:
        assert installed_languages(session) == {"python", "c", "cpp"}
    monkeypatch.setattr(environment, "describe", lambda *_: 1 / 0)
    describe_environment(context)


def test_bots_that_nothing_confines_have_no_environment(context: Context) -> None:
    context.settings = context.settings.model_copy(update={"sandbox": "local"})
    describe_environment(context)
    with context.database.reading() as session:
        assert bots.environment(session) is None
