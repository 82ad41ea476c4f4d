"""The pictures of the quick starts show what the pages still have."""

import re

import pytest

from tests.docs.pictures import FOLDER, MOST_BYTES, SHOTS, address, shown, state_of
from tests.site.conftest import League, Open


@pytest.mark.parametrize("name", SHOTS)
def test_a_page_has_what_its_picture_shows(visit: Open, league: League, name: str) -> None:
    shot = SHOTS[name]
    page = visit(address(league, shot), storage_state=state_of(league, shot))
    shown(page, shot)


@pytest.mark.parametrize("name", SHOTS)
def test_a_picture_is_small_and_a_quick_start_shows_it(name: str) -> None:
    assert (FOLDER / f"{name}.png").stat().st_size <= MOST_BYTES
    starts = [file.read_text("utf-8") for file in (FOLDER.parent / "start").glob("*.md")]
    assert any(re.search(rf"!\[[^\]]{{20,}}\]\(\.\./pictures/{name}\.png\)", start) for start in starts)
