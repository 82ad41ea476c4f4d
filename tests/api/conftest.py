from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.league.service.rulings.closing import set_role
from deadheat.league.states import Role
from tests.api.browser import Browser
from tests.api.site import Site
from tests.api.test_matches import Played


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with closing(Site(tmp_path)) as made:
        yield made


@pytest.fixture
def one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock of rates, which count by the minute and the hour."""
    monkeypatch.setattr("time.time", lambda: 1_800_000_450.0)


@pytest.fixture
def played(site: Site) -> Played:
    return Played(site)


@pytest.fixture
def boss(site: Site) -> Browser:
    """An administrator, hence an organiser, in a browser."""
    browser = Browser(site).sign_up("chief")
    site.world.write(set_role, "chief", Role.ADMIN)
    return browser
