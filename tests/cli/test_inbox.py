"""The inbox at the command line and in the client."""

from __future__ import annotations

import asyncio
import json

import pytest

from deadheat.cli.server.async_client import AsyncClient
from tests.api.site import Site, token_in
from tests.cli.test_season import Desk


@pytest.fixture
def desk(site: Site, server: str) -> Desk:
    """Ada, whose bot has a version that is ready."""
    desk = Desk(site, server)
    desk.author("ada", "swift")
    return desk


def test_the_inbox_is_shown_and_read(desk: Desk) -> None:
    shown = desk.says("ada", "inbox", "--limit", 5)
    assert "new Version 1 of swift is ready." in shown and "/bots/1/versions/1" in shown
    assert "Version 1" in desk.says("ada", "inbox", "--read")
    assert desk.says("ada", "inbox", "--unread") == "There is nothing new."
    told = json.loads(desk.says("ada", "inbox", "--json"))
    assert (told["kind"], told["about"]["bot"], bool(told["read_at"])) == ("version-ready", "swift", True)


def test_programs_read_it_too(desk: Desk) -> None:
    async def ask() -> tuple[list[str], int]:
        async with AsyncClient(desk.server, token_in(desk.headers["ada"])) as league:
            found = [notice async for notice in league.inbox(unread=True)]
            return [notice.text for notice in found], await league.mark_read(found[0].id)

    assert asyncio.run(ask()) == (["Version 1 of swift is ready."], 0)
