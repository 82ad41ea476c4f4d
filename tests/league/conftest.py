from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.league.world import World, settings


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(settings(tmp_path))
    yield made
    made.db.close()
