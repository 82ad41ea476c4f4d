from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.api.served import served
from tests.api.site import Site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with closing(Site(tmp_path / "league")) as made:
        yield made


@pytest.fixture
def server(site: Site) -> Iterator[str]:
    """The address at which a real server serves `site`."""
    with served(site.app) as address:
        yield address
