"""Sites for the command line. What imports the application waits until a fixture needs it, for pure tests do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.site import Site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    from tests.api.site import Site

    with closing(Site(tmp_path / "league")) as made:
        yield made


@pytest.fixture
def server(site: Site) -> Iterator[str]:
    from tests.api.served import served

    with served(site.app) as address:
        yield address
